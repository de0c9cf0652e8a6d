"""The direction of imports: a folder uses only folders to its left, and `gpu`, which everybody may use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "generator" / "warpglass"

#: Left to right; inside a column the written order counts.
ORDER = (
    "gpu", "inputs", "cuda", "ptx", "sass", "cutlass", "ncu", "flow", "machine",
    "pipeline", "analysis", "report",
)  # fmt: skip

#: Modules at the top of the package that stand below all folders.
GROUND = {"errors", "files", "patterns", "resources"}

#: The only folder that starts programs, and the modules with which a program is started.
STARTS_PROGRAMS = "inputs"
PROGRAM_MODULES = {"subprocess", "pty"}


def imports(tree: ast.AST, module: tuple[str, ...], is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, relative imports resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                keep = len(module) - node.level + is_package
                base = ".".join([*module[:keep], *([node.module] if node.module else [])])
            yield node.lineno, base
            if base == "warpglass":
                for alias in node.names:
                    yield node.lineno, f"warpglass.{alias.name}"


def wrong_imports(package: Path) -> list[str]:
    """Every import that goes to the right, as `file:line: reason`."""
    found = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package.parent)
        module = relative.with_suffix("").parts
        is_package = module[-1] == "__init__"
        module = module[:-1] if is_package else module
        folder = module[1] if len(module) > 1 else ""
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8")), module, is_package):
            parts = name.split(".")
            where = f"{relative}:{line}"
            if parts[0] in PROGRAM_MODULES and folder != STARTS_PROGRAMS:
                found.append(f"{where}: only {STARTS_PROGRAMS}/ starts programs")
            if parts[0] != package.name or len(parts) < 2 or folder not in ORDER:
                continue
            target = parts[1]
            if target in GROUND or target == folder:
                continue
            if target not in ORDER:
                if (package / f"{target}.py").exists():
                    found.append(f"{where}: {folder}/ imports the top-level module {target}")
                continue
            if ORDER.index(target) > ORDER.index(folder):
                found.append(f"{where}: {folder}/ imports {target}/, which stands to its right")
    return found


def test_imports_go_left() -> None:
    assert wrong_imports(PACKAGE) == []


def test_every_folder_has_its_place() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == set(ORDER)


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("flow/a.py", "from warpglass.ptx import parse", 0),
        ("flow/a.py", "from warpglass.machine.launch import Launch", 1),
        ("flow/a.py", "from ..machine import launch", 1),
        ("flow/a.py", "from .. import machine", 1),
        ("flow/a.py", "def f():\n    import warpglass.report", 1),
        ("flow/a.py", "import warpglass.flow.b, warpglass.errors", 0),
        ("flow/a.py", "import subprocess", 1),
        ("inputs/a.py", "import subprocess", 0),
        ("report/sections/a.py", "from ..payload import x\nfrom ...machine import y", 0),
        ("ptx/__init__.py", "from .sub import x\nfrom ..flow import y", 1),
    ],
)
def test_the_check_finds_what_it_should(tmp_path: Path, path: str, text: str, wrong: int) -> None:
    file = tmp_path / "warpglass" / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    assert len(wrong_imports(tmp_path / "warpglass")) == wrong

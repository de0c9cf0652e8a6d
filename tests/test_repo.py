"""What holds for the whole repository: what files may say, how long they are, what the documents claim."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "generator" / "warpglass"

#: A module has one job and stays under about this many lines.
MOST_LINES = 440

#: Words that have no place in any file, written in pieces so that this one may stand here.
FORBIDDEN = re.compile(
    "|".join(
        re.escape(word)
        for word in (
            "py" + "pi.org", "python" + "hosted", "npm" + "js.org", "npm" + "js.com", "deb" + "ian.org",
            "/wo" + "rk/", "/tm" + "p/wg", "Chat" + "GPT", "Cla" + "ude", "Open" + "AI",
            "language" + " model",
        )
    ),
    re.IGNORECASE,
)  # fmt: skip
TEXT = {".py", ".md", ".toml", ".js", ".ts", ".json", ".cu", ".cuh", ".h", ".cpp", ".ptx", ".j2", ".css",
        ".sh", ".html", ""}  # fmt: skip


def tracked() -> list[Path]:
    """Files that git knows."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_forbidden_words() -> None:
    found = []
    for path in tracked():
        if path.suffix not in TEXT or path.stat().st_size > 4_000_000:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_modules_stay_short() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}


def test_no_file_is_huge() -> None:
    """A page may be large; a checkout should not be."""
    sizes = {str(path.relative_to(ROOT)): path.stat().st_size for path in tracked()}
    assert {name: size for name, size in sizes.items() if size > 4_000_000} == {}


def test_readme_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md", "examples/README.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\bmake ([a-z]+)\b", text)) <= targets, name


def test_links_in_documents_lead_somewhere() -> None:
    broken = []
    for path in tracked():
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_ci_runs_what_the_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "exec make test"
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[<>=!~ ;\[]", text, maxsplit=1)[0] for group in groups for text in group}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(name for name in names if f"`{name}`" not in text) == []

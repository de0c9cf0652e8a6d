"""The examples: each is complete, listed, launches all its kernels, and compiles for what it claims."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from warpglass.inputs.toolchain import find_tool

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/kernel.cu"))
KEYS = {
    "kernel", "label", "arch", "gpu", "grid", "block", "cluster", "shared_bytes", "cooperative", "args",
}  # fmt: skip

#: The oldest architecture each example needs, where that is not the oldest that the compiler knows.
NEEDS = {
    "cp_async_double_buffer": 80, "mma_sync_tile": 80, "spin_lock": 80, "findings": 80,
    "warp_specialised": 80, "cluster_reduce": 90,
}  # fmt: skip
ARCHITECTURES = (75, 80, 90, 120)


def kernels(folder: Path) -> set[str]:
    text = (folder / "kernel.cu").read_text(encoding="utf-8")
    return set(re.findall(r"__global__\s+void\s+(?:__\w+\([^)]*\)\s+)?(\w+)\(", text))


def test_there_are_enough() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_launch_file(folder: Path) -> None:
    tables = tomllib.loads((folder / "warpglass.toml").read_text(encoding="utf-8"))["launch"]
    for table in tables:
        assert set(table) <= KEYS
        assert {"kernel", "grid", "block", "args"} <= set(table)
    assert {table["kernel"] for table in tables} == kernels(folder)


def test_readme_lists_all() -> None:
    listed = set(re.findall(r"^\| \[(\w+)\]", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE))
    assert listed == {folder.name for folder in EXAMPLES}


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_compiles_everywhere(folder: Path, tmp_path: Path) -> None:
    tool = find_tool("nvcc")
    if tool is None:
        pytest.skip("nvcc is missing")
    least = NEEDS.get(folder.name, min(ARCHITECTURES))
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES if a >= least]
    command = [str(tool.path), *codes, "-Werror=all-warnings", "-c", "-o", str(tmp_path / "k.o"), "kernel.cu"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr

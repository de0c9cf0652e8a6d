"""Compiled kernels for the SASS tests: one nvcc run a kernel and architecture, once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpglass.inputs.process import run_tool
from warpglass.inputs.toolchain import find_tool

HERE = Path(__file__).parent
KERNELS = sorted(path.stem for path in (HERE / "kernels").glob("*.cu"))
#: Kernels that only some architectures can have: in tests/sass/special.
SPECIAL = {
    "fragments": ("sm_80", "sm_90a", "sm_120"),
    "hopper": ("sm_90a",),
    "blackwell": ("sm_100a",),
}
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120")
Build = Callable[[str, str], Path]


def listing(name: str) -> str:
    """A stored listing."""
    return (HERE / "listings" / name).read_text("utf-8")


def _need(name: str) -> Path:
    tool = find_tool(name)
    if tool is None:
        pytest.skip(f"{name} is not installed")
    return tool.path


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """``build("saxpy", "sm_80")`` is the path of that cubin, made with -lineinfo."""
    nvcc = _need("nvcc")
    folder = tmp_path_factory.mktemp("cubins")

    def make(kernel: str, arch: str) -> Path:
        path = folder / f"{kernel}.{arch}.cubin"
        if not path.exists():
            source = HERE / ("special" if kernel in SPECIAL else "kernels") / f"{kernel}.cu"
            args = [nvcc, f"-arch={arch}", "-lineinfo", "-cubin", "-o", path, source.name]
            result = run_tool(args, cwd=source.parent, timeout=120)
            assert result.returncode == 0, result.error_text
        return path

    return make


@pytest.fixture(scope="session")
def nvdisasm() -> Callable[..., str]:
    """``nvdisasm(path, "-c", "-hex")``: what the program prints."""
    tool = _need("nvdisasm")

    def run(path: Path, *options: str) -> str:
        result = run_tool([tool, *options, path], timeout=120)
        assert result.returncode == 0, result.error_text
        return result.text

    return run

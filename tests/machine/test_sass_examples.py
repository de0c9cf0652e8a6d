"""Every example kernel leaves the same memory as PTX and as SASS, on every architecture."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from warpglass import machine
from warpglass.collect import CodeUnit, collect, read_inputs
from warpglass.errors import WarpglassError
from warpglass.inputs.toolchain import find_tool
from warpglass.launchfile import PlannedLaunch, plan_launches
from warpglass.machine import RunOptions
from warpglass.machine.result import RunResult
from warpglass.options import ReportOptions

pytestmark = pytest.mark.cuda
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/kernel.cu"))
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120")
#: These alone are part of the quick tests.
QUICK = {("tiled_matmul", "sm_80"), ("reduction_shuffle", "sm_120")}
OPTIONS = RunOptions(trace_blocks=(), value_budget=0)

#: Kernels whose results depend on how warps interleave, on purpose (a race), with the reason.
RACING = {
    "missing_barrier": "reads what another warp may not have written yet",
    "lockstep_tail": "warps of the tail do not wait for each other's words",
    "uninitialised_sum": "adds words of shared memory that nobody wrote",
}


@functools.cache
def unit(name: str, arch: str) -> CodeUnit | None:
    """The example compiled for one architecture; None where the compiler does not take it."""
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is missing")
    files = read_inputs([EXAMPLES / name / "kernel.cu"])
    try:
        (found,) = collect(files, ReportOptions(arch=(arch,)))
    except WarpglassError:
        return None
    # Where the assembler refuses what the compiler wrote there is PTX alone.
    return found if found.compiled is not None and found.compiled.cubin is not None else None


def launches(code: CodeUnit, name: str, arch: str) -> tuple[PlannedLaunch, ...]:
    """What warpglass.toml asks for on this architecture."""
    options = ReportOptions(launch_file=EXAMPLES / name / "warpglass.toml")
    planned = plan_launches(
        code.kernels,
        options,
        code.source,
        text=code.source.text if code.source else "",
        folder=EXAMPLES / name,
    )
    number = int("".join(filter(str.isdigit, arch)))
    return tuple(p for p in planned if p.arch is None or int(p.arch[3:].rstrip("af")) <= number)


def check(name: str, arch: str) -> None:
    """Compare all buffers of all launches."""
    code = unit(name, arch)
    if code is None:
        pytest.skip(f"{name} cannot be compiled for {arch}")
    assert code.module is not None
    assert code.sass is not None
    planned = launches(code, name, arch)
    if not planned:
        pytest.skip(f"{name} needs a later GPU than {arch}")
    for one in planned:
        as_ptx = machine.execute(code.module, one.function, one.launch, OPTIONS)
        as_sass = machine.execute_sass(code.sass, one.function, one.launch, OPTIONS)
        assert as_sass.complete == as_ptx.complete, (one.function.name, as_ptx.stopped, as_sass.stopped)
        if not any(text in one.function.name for text in RACING):
            same_memory(one.function.name, as_ptx, as_sass)


def same_memory(kernel: str, as_ptx: RunResult, as_sass: RunResult) -> None:
    """Bit for bit."""
    for left, right in zip(as_ptx.buffers, as_sass.buffers, strict=True):
        assert (left is None) == (right is None)
        if left is not None and right is not None:
            a, b = (np.ascontiguousarray(x.array).view(np.uint8) for x in (left, right))
            assert a.shape == b.shape, (kernel, left.name)
            wrong = np.flatnonzero(a != b)
            assert not wrong.size, (kernel, left.name, wrong.size, left.array, right.array)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        pytest.param(name, arch, marks=[] if (name, arch) in QUICK else [pytest.mark.slow])
        for name in NAMES
        for arch in ARCHES
    ],
)
def test_same_memory(name: str, arch: str) -> None:
    check(name, arch)

"""Every example, executed as the machine code of every architecture that the assembler accepts it for.

The memory each kernel leaves is the same as after its PTX, bit for bit; where an approximate unit takes part,
within a few units in the last place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpglass
from kernels.test_machine_code import ARCHES, assembled
from warpglass import machine
from warpglass.inputs.toolchain import find_tool
from warpglass.options import ReportOptions

pytestmark = [pytest.mark.cuda, pytest.mark.slow]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/kernel.cu"))
#: Examples with exponentials or tensor-core sums.
APPROXIMATE = {"softmax": 2e-6, "mma_sync_tile": 1e-6}
#: Made to fail, or to depend on the order of threads: their races leave what the order leaves.
UNORDERED = {"missing_barrier", "lockstep_tail", "off_by_one", "uninitialised_sum", "misaligned_vector"}


def _compare(name: str, arch: str, kernel: str, ptx_run: Any, sass_run: Any) -> None:
    assert sass_run.complete == ptx_run.complete, (arch, kernel, sass_run.stopped)
    if any(word in kernel for word in UNORDERED) or not ptx_run.complete:
        return
    for number, (a, b) in enumerate(zip(ptx_run.buffers, sass_run.buffers, strict=True)):
        if a is None or b is None:
            continue
        x, y = a.array.reshape(-1), b.array.reshape(-1)
        if name in APPROXIMATE and x.dtype.kind == "f":
            np.testing.assert_allclose(y, x, rtol=APPROXIMATE[name], atol=1e-7)
        else:
            different = np.flatnonzero(x.view(np.uint8) != y.view(np.uint8))
            assert different.size == 0, (arch, kernel, number, different[:5])


@pytest.mark.parametrize("name", NAMES)
def test_same_memory_on_every_architecture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is missing")
    execute = machine.execute
    accepted: set[str] = set()

    def everywhere(module: Any, function: Any, launch: Any, options: Any = None) -> Any:
        first = execute(module, function, launch, options=options)
        for arch in ARCHES:
            image = assembled(module.text, arch)
            if isinstance(image, str):
                assert "requires" in image or "not supported" in image, image
                continue
            accepted.add(arch)
            second = machine.execute_sass(image, function, launch, options)
            _compare(name, arch, function.name, first, second)
        return first

    monkeypatch.setattr(machine, "execute", everywhere)
    folder = EXAMPLES / name
    options = ReportOptions(launch_file=folder / "warpglass.toml", charts="static", isa="ptx")
    warpglass.make_report([folder / "kernel.cu"], options)
    assert {"sm_90a", "sm_100a", "sm_120"} <= accepted

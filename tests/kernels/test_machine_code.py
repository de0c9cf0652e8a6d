"""The truth tests again, with the kernels executed as machine code of each architecture.

Every test of the other files is called with a runner that assembles the test's PTX, executes the machine
code as well, compares all memory with what the PTX left, and hands the machine code's result to the test,
which compares it with numpy.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpglass import api_run, machine, sass
from warpglass.inputs.toolchain import find_tool
from warpglass.machine import RunOptions

pytestmark = [pytest.mark.cuda, pytest.mark.slow]

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120")
FILES = (
    "atomics", "control", "floats", "integers", "memory", "output", "ptx", "synchronisation", "tensor",
    "warps",
)  # fmt: skip
#: Kernels of approximate units: their last bits may differ, the test's own bounds hold.
APPROXIMATE = {"fast_functions", "approximate_instructions", "double_functions"}
#: Tests of how runs end or of what PTX alone has.
LEFT_OUT: set[str] = set()


def _tests() -> list[tuple[str, str]]:
    found = []
    for name in FILES:
        module = importlib.import_module(f"kernels.test_truth_{name}")
        for test, function in inspect.getmembers(module, inspect.isfunction):
            if (
                test.startswith("test_")
                and not inspect.signature(function).parameters
                and test not in LEFT_OUT
            ):
                found.append((name, test))
    return found


@functools.lru_cache(maxsize=32)
def assembled(text: str, arch: str) -> sass.Module | str:
    """Machine code of the PTX text, or why the assembler refuses it for the architecture."""
    tool = find_tool("ptxas")
    if tool is None:
        pytest.skip("ptxas is missing")
    text = re.sub(r"^\.version .*$", ".version 8.8", text, count=1, flags=re.M)
    text = re.sub(r"^\.target .*$", f".target {arch}", text, count=1, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        source, image = Path(folder) / "t.ptx", Path(folder) / "t.cubin"
        source.write_text(text)
        done = subprocess.run(
            [str(tool.path), f"-arch={arch}", str(source), "-o", str(image)],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if done.returncode:
            return done.stdout + done.stderr
        return sass.load(image.read_bytes())


def _same(ptx_run: Any, sass_run: Any) -> None:
    for number, (a, b) in enumerate(zip(ptx_run.buffers, sass_run.buffers, strict=True)):
        if a is None or b is None:
            continue
        x, y = a.array.reshape(-1).view(np.uint8), b.array.reshape(-1).view(np.uint8)
        assert x.shape == y.shape
        assert np.array_equal(x, y), (number, np.flatnonzero(x != y)[:5])


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(("name", "test"), _tests())
def test_as_machine_code(name: str, test: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: dict[int, str] = {}
    load, execute = api_run._module, api_run.execute

    def remember(source: Any, wanted: Any) -> Any:
        module, cuda = load(source, wanted)
        if isinstance(source, str):
            sources[id(module)] = source
        return module, cuda

    def both(module: Any, function: Any, launch: Any, options: Any = None) -> Any:
        first = execute(module, function, launch, options=options)
        image = assembled(sources[id(module)], arch)
        if isinstance(image, str):
            assert "requires" in image or "not supported" in image, image
            pytest.skip(f"not for {arch}: {image.splitlines()[0][:120]}")
        budget = int(first.active_histogram.sum()) * 40 + 20000
        options = replace(options or RunOptions(), max_warp_instructions=budget)
        second = machine.execute_sass(image, function, launch, options)
        assert second.complete == first.complete, second.stopped
        if function.name not in APPROXIMATE:
            _same(first, second)
        return second

    monkeypatch.setattr(api_run, "_module", remember)
    monkeypatch.setattr(api_run, "execute", both)
    function: Callable[[], None] = getattr(importlib.import_module(f"kernels.test_truth_{name}"), test)
    function()

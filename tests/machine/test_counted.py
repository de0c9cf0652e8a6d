"""Instructions that are counted but not executed: kernels run on, and what they make is never shown."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from warpglass import cuda, machine, ptx, sass
from warpglass.inputs.toolchain import find_tool
from warpglass.machine import Argument, Launch, RunOptions
from warpglass.machine.result import RunResult

pytestmark = [pytest.mark.cuda, pytest.mark.slow]
FOLDER = Path(__file__).parent / "counted"


@functools.cache
def compiled(name: str, arch: str) -> tuple[sass.Module, ptx.Module]:
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is missing")
    made = cuda.compile(FOLDER / f"{name}.cu", arch)
    assert made.cubin is not None
    return sass.load(made.cubin), ptx.parse(made.ptx)


def run(
    file: str, arch: str, kernel: str, block: int, values: list[object]
) -> tuple[RunResult, dict[str, int]]:
    """The result on two blocks, and executions by opcode without modifiers."""
    code, text = compiled(file, arch)
    signature = next(k for k in text.kernels if k.name == kernel)
    args = {
        p.name: Argument(p.name, "buffer", str(v.dtype), v)
        if isinstance(v, np.ndarray)
        else Argument(p.name, "scalar", p.type, v)  # type: ignore[arg-type]
        for p, v in zip(signature.params, values, strict=True)
    }
    result = machine.execute_sass(code, signature, Launch((2, 1, 1), (block, 1, 1), args=args), RunOptions())
    function = next(f for f in code.functions if f.name == kernel)
    counts: dict[str, int] = {}
    for i, on in zip(function.instructions, result.counters["warp_on"], strict=False):
        counts[i.base] = counts.get(i.base, 0) + int(on)
    return result, counts


def halves(count: int) -> np.ndarray:
    return np.ones(count, np.float16)


def test_products_of_a_warp_group_are_counted_and_not_given_back() -> None:
    result, counts = run(
        "warp_group", "sm_90a", "wgmma_tile", 128, [halves(4096), halves(512), np.zeros(512, np.float32), 3]
    )
    assert result.complete
    assert counts["HGMMA"] == 2 * 3 * 4  # blocks, steps, warps
    assert counts["STG"] == 2 * 4 * 4
    a, _, c = result.buffers[:3]
    assert a is not None
    assert a.unknown is None
    assert a.array.size == 4096
    assert c is not None
    assert c.unknown is not None
    assert c.array.size == 0
    assert "HGMMA.64x8x16.F32 makes at line" in c.unknown
    assert any(text.startswith("HGMMA is counted, not executed") for text in result.assumptions)
    # Values are recorded up to the first unknown one, stored data not at all.
    (trace,) = result.traces
    assert trace.writes is not None
    assert not trace.writes.complete
    assert result.findings == ()


def test_a_branch_on_a_product_stops_and_names_both() -> None:
    result, counts = run("warp_group", "sm_90a", "needs_product", 128, [np.zeros(512, np.float32)])
    assert not result.complete
    assert result.stopped is not None
    assert result.stopped.kind == "unsupported"
    assert "depends on what HGMMA.64x8x16.F32 makes at line" in result.stopped.message
    assert "which is counted but not executed" in result.stopped.message
    assert counts["HGMMA"] > 0


def test_tensor_copies_arrive_with_unknown_data() -> None:
    out = np.zeros(512, np.float32)
    result, counts = run("tensor_copy", "sm_90a", "tma_tile", 256, [bytes(128), out, 6])
    assert result.complete, result.stopped
    assert counts["UTMALDG"] == 2 * 6  # one thread of a block, once a step
    assert counts["LDS"] == 2 * 6 * 8
    buffer = result.buffers[1]
    assert buffer is not None
    assert buffer.unknown is not None
    assert "UTMALDG.2D" in buffer.unknown
    assert result.findings == ()


def test_a_tensor_store_needs_nothing() -> None:
    result, counts = run("tensor_copy", "sm_90a", "tma_store", 256, [bytes(128), 2.0])
    assert result.complete
    assert counts["UTMASTG"] == 2


def test_tensor_memory() -> None:
    result, counts = run(
        "tensor_memory", "sm_100a", "tcgen05_tile", 128, [np.zeros(2048, np.float32), 0, 0, 0, 3]
    )
    assert result.complete, result.stopped
    assert counts["UTCHMMA"] == counts["UTCBAR"] == 2 * 3
    assert counts["LDTM"] == 2 * 4
    assert counts["UTCATOMSWS"] == 2 + 2  # allocated and given back
    buffer = result.buffers[0]
    assert buffer is not None
    assert buffer.unknown is not None
    assert "LDTM" in buffer.unknown
    assert result.findings == ()


def test_bytes_of_tensor_copies_are_unknown_to_the_roofline() -> None:
    from warpglass.analysis.access import uncounted_copies
    from warpglass.analysis.sass_listing import sass_listing

    for kernel, values, word in (
        ("tma_tile", [bytes(128), np.zeros(512, np.float32), 1], "UTMALDG"),
        ("tma_store", [bytes(128), 2.0], "UTMASTG"),
    ):
        result, _ = run("tensor_copy", "sm_90a", kernel, 256, values)
        listing = sass_listing(compiled("tensor_copy", "sm_90a")[0], kernel, result.functions)
        assert (
            uncounted_copies(listing, result)
            == f"bytes moved by {word} are not counted; a profiler would tell"
        )
    result, _ = run("tensor_memory", "sm_100a", "tcgen05_tile", 128, [np.zeros(2048, np.float32), 0, 0, 0, 1])
    listing = sass_listing(compiled("tensor_memory", "sm_100a")[0], "tcgen05_tile", result.functions)
    assert uncounted_copies(listing, result) is None

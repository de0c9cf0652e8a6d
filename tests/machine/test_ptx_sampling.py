"""Grids beyond the budget: sampled where the PTX proves the counts to be the same, else cut and said so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from machine.kernelkit import HEAD, REGISTERS, text
from warpglass import make_report, ptx, run
from warpglass.machine import RunOptions, RunResult
from warpglass.machine.ptx_affine import why_not_affine
from warpglass.options import ReportOptions

TILES = f"""{HEAD}
.visible .entry k(.param .u32 w, .param .u32 h, .param .u64 .ptr .global in, .param .u64 .ptr .global out)
{{{REGISTERS}
    .shared .align 4 .b8 tile[4096];
    ld.param.u32 %r10, [w]; ld.param.u32 %r11, [h];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;
    mad.lo.s32 %r3, %ctaid.x, 16, %r1;
    mad.lo.s32 %r4, %ctaid.y, 8, %r2;
    setp.ge.s32 %p1, %r3, %r10;
    setp.ge.s32 %p2, %r4, %r11;
    or.pred %p3, %p1, %p2;
    @%p3 bra done;
    mad.lo.s32 %r5, %r4, %r10, %r3;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r6, %r1, 6;
    mov.u32 %r7, tile;
    add.s32 %r8, %r7, %r6;
    st.shared.f32 [%r8], %f1;
    mov.u32 %r9, 0;
again:
    add.s32 %r9, %r9, 1;
    min.s32 %r12, %r4, 5;
    setp.lt.s32 %p4, %r9, %r12;
    @%p4 bra again;
    add.s64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f1;
done:
    ret;
}}
"""


def _same_counts(a: RunResult, b: RunResult) -> None:
    for name, column in b.counters.items():
        np.testing.assert_array_equal(a.counters[name], column, err_msg=name)
    np.testing.assert_array_equal(a.active_histogram, b.active_histogram)


def test_sampled_counts_are_those_of_all_blocks() -> None:
    shape = {"grid": (97, 60), "block": (16, 8), "args": {"w": 1544, "h": 473}}
    full = run(TILES, options=RunOptions(sample=False), **shape)
    assert full.complete
    sampled = run(TILES, options=RunOptions(max_warp_instructions=200_000), **shape)
    assert sampled.complete
    assert sampled.scaled is not None
    assert sampled.blocks_executed < 200
    _same_counts(sampled, full)


def test_a_grid_of_half_a_billion_threads_is_exact() -> None:
    body = """
    ld.param.u32 %r5, [n];
    setp.ge.s32 %p1, %r1, %r5;
    @%p1 bra done;
    ld.global.u32 %r6, [%rd2];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd2], %r6;
done:
    ret;
    """
    source = text(body, ".param .u64 .ptr .global out, .param .u32 n")
    n = (1 << 29) - 300
    result = run(source, grid=1 << 21, block=256, args={"n": n}, options=RunOptions())
    assert result.complete
    warps = -(-n // 32)
    store = next(i for i, x in enumerate(ptx.parse(source).kernels[0].instructions) if x.base == "st")
    assert result.counters["requests"][store] == warps
    assert result.counters["thread_executed"][store] == n
    assert result.counters["sectors"][store] == -(-n * 4 // 32)


FOOTPRINTS = {
    "disjoint": "ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r6; ret;",
    "one element on": "ld.global.u32 %r6, [%rd2+4]; st.global.u32 [%rd2], %r6; ret;",
    "the same for all": "mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd1, %rd5; "
    "ld.global.u32 %r6, [%rd6]; ret;",
    "every other sector": "shl.b32 %r6, %r1, 4; cvt.u64.u32 %rd5, %r6; add.s64 %rd6, %rd1, %rd5; "
    "st.global.u32 [%rd6], %r6; ret;",
}


@pytest.mark.parametrize("name", FOOTPRINTS)
def test_sectors_of_buffers_are_those_of_all_blocks(name: str) -> None:
    source = text(FOOTPRINTS[name])
    full = run(source, grid=(40, 50), block=64, options=RunOptions(sample=False))
    full_line = run(source, grid=2000, block=64, options=RunOptions(sample=False))
    options = RunOptions(max_warp_instructions=10_000)
    for whole, grid in ((full, (40, 50)), (full_line, (2000, 1))):
        sampled = run(source, grid=grid, block=64, options=options)
        assert whole.scaled is None
        assert sampled.scaled is not None
        assert sampled.buffers[0] is not None
        assert whole.buffers[0] is not None
        assert sampled.buffers[0].sectors == whole.buffers[0].sectors
        assert sampled.blocks_counted == whole.blocks_counted == 2000


def test_a_large_copy_is_bound_by_memory(tmp_path: Path) -> None:
    path = tmp_path / "copy.ptx"
    path.write_text(text("ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r6; ret;"))
    data = make_report([path], ReportOptions(grid=(1 << 21, 1, 1), block=(256, 1, 1))).data
    (verdict,) = next(s for s in data["sections"] if s["id"] == "verdict")["data"]["launches"]
    assert verdict["text"].startswith("Memory-bound: device memory takes longest")


def test_blocks_to_trace_are_executed_beside_the_classes() -> None:
    body = "ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd2], %r6; ret;"
    options = RunOptions(max_warp_instructions=20_000, trace_blocks=(0, 77))
    result = run(text(body), grid=4000, block=64, options=options)
    assert result.scaled is not None
    assert [t.block for t in result.traces] == [(0, 0, 0), (77, 0, 0)]


def test_a_fault_in_the_last_blocks_alone_is_found() -> None:
    body = "mov.u32 %r6, 1; st.global.u32 [%rd2], %r6; ret;"
    data = np.zeros(3900 * 64, dtype=np.uint32)
    full = run(text(body), grid=4000, block=64, args=[data], options=RunOptions(sample=False))
    options = RunOptions(max_warp_instructions=20_000)
    sampled = run(text(body), grid=4000, block=64, args=[data], options=options)
    assert sampled.scaled is not None
    assert [(f.kind, f.pc, f.count) for f in full.findings] == [("memcheck", full.findings[0].pc, 100 * 64)]
    assert [(f.kind, f.pc, f.count, f.block, f.thread) for f in sampled.findings] == [
        (f.kind, f.pc, f.count, f.block, f.thread) for f in full.findings
    ]


SKIP = "@%p1 bra done; st.global.u32 [%rd2], %r6; done: ret;"
STORE = "mul.wide.u32 %rd5, %r6, 4; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r6; ret;"

REFUSED = {
    "a branch on loaded data": (
        "ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; " + SKIP,
        "bra done depends on loaded data",
    ),
    "an address from memory": (
        "ld.global.u32 %r6, [%rd2]; mul.wide.u32 %rd5, %r6, 4; add.s64 %rd6, %rd1, %rd5; "
        "st.global.u32 [%rd6], %r6; ret;",
        "the address of st.global.u32",
    ),
    "a product of two affine values": (
        "mul.lo.s32 %r6, %r2, %r2; setp.gt.s32 %p1, %r6, 9; " + SKIP,
        "depends on",
    ),
    "bits of the block index": (
        "and.b32 %r6, %r2, 7; setp.gt.s32 %p1, %r6, 3; " + SKIP,
        "depends on",
    ),
    "a remainder of the block index": (
        "rem.u32 %r6, %r2, 7; " + STORE,
        "the address of",
    ),
    "the high half of a product": (
        "mul.hi.u32 %r6, %r2, 77; setp.gt.s32 %p1, %r6, 3; " + SKIP,
        "depends on",
    ),
    "16 bits of the block index": (
        "cvt.u16.u32 %h1, %r2; setp.gt.u16 %p1, %h1, 3; " + SKIP,
        "depends on",
    ),
    "a carry": (
        "add.cc.u32 %r6, %r2, 7; addc.u32 %r7, 0, 0; setp.gt.s32 %p1, %r7, 0; @%p1 bra done; "
        "st.global.u32 [%rd2], %r6; done: ret;",
        "depends on",
    ),
    "a clock": (
        "mov.u32 %r6, %clock; setp.gt.s32 %p1, %r6, 3; " + SKIP,
        "depends on",
    ),
    "the multiprocessor's number": (
        "mov.u32 %r6, %smid; " + STORE,
        "the address of",
    ),
    "a vote": (
        "ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; vote.sync.any.pred %p2, %p1, -1; @%p2 bra done; "
        "st.global.u32 [%rd2], %r6; done: ret;",
        "depends on",
    ),
    "a mask of lanes from data": (
        "ld.global.u32 %r6, [%rd2]; bar.warp.sync %r6; st.global.u32 [%rd2], %r6; ret;",
        "bar.warp.sync",
    ),
    "a loop that carries it round": (
        "mov.u32 %r7, 0; again: setp.gt.s32 %p1, %r7, 9; @%p1 bra done; ld.global.u32 %r6, [%rd2]; "
        "add.u32 %r7, %r7, %r6; bra again; done: ret;",
        "depends on loaded data",
    ),
    "a divisor that may be zero": (
        "ld.global.u32 %r6, [%rd2]; div.u32 %r7, %r6, %r6; st.global.u32 [%rd2], %r7; ret;",
        "div.u32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proven_is_not_sampled(name: str) -> None:
    body, reason = REFUSED[name]
    source = text(body)
    told = why_not_affine(ptx.parse(source).kernels[0])
    assert told is not None
    assert reason in told
    result = run(source, grid=4000, block=64, options=RunOptions(max_warp_instructions=30_000))
    assert not result.complete
    assert result.scaled is None


def test_a_cut_grid_is_no_endless_loop() -> None:
    body, _ = REFUSED["bits of the block index"]
    result = run(text(body), grid=4000, block=64, options=RunOptions(max_warp_instructions=30_000))
    assert result.stopped is not None
    assert result.blocks_executed > 0
    assert f"{result.blocks_executed:,} of 4,000 blocks came to their end" in result.stopped.message
    assert [(f.kind, f.severity) for f in result.findings if f.kind == "budget"] == [("budget", "warning")]


def test_an_endless_loop_is_still_one() -> None:
    body = "again: add.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra again; ret;"
    result = run(text(body), grid=4, block=32, options=RunOptions(max_warp_instructions=3000))
    assert result.stopped is not None
    assert "may loop without end" in result.stopped.message
    assert [f.severity for f in result.findings if f.kind == "budget"] == ["critical"]


def test_memory_that_is_asked_for_is_never_sampled() -> None:
    data = np.zeros(3000 * 64, dtype=np.uint32)
    result = run(text("st.global.u32 [%rd2], %r1; ret;"), grid=3000, block=64, args=[data])
    assert result.complete
    buffer = result.buffers[0]
    assert buffer is not None
    np.testing.assert_array_equal(buffer.array, np.arange(3000 * 64, dtype=np.uint32))


@pytest.mark.parametrize("trips", [40, 400])
def test_short_code_that_loops_for_long_is_sampled_too(trips: int) -> None:
    """Its length promises a run within the budget; the loop is what needs more."""
    body = f"mov.u32 %r3, 0; more: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {trips}; @%p1 bra more; ret;"
    shape = {"grid": 400, "block": 32}
    full = run(text(body), options=RunOptions(sample=False), **shape)
    for budget in (full.counts["warp_executed"] // 2, full.counts["warp_executed"]):
        sampled = run(text(body), options=RunOptions(max_warp_instructions=budget), **shape)
        assert sampled.complete
        assert (sampled.scaled is None) == (budget == full.counts["warp_executed"])
        _same_counts(sampled, full)


def test_blocks_side_by_side_that_all_fall_short_are_sampled() -> None:
    """None of them ends within the budget of all; one alone does."""
    body = "mov.u32 %r3, 0; more: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 4000; @%p1 bra more; ret;"
    shape = {"grid": 40, "block": 32}
    full = run(text(body), options=RunOptions(sample=False), **shape)
    sampled = run(text(body), options=RunOptions(max_warp_instructions=100_000), **shape)
    assert sampled.complete
    assert sampled.scaled is not None
    _same_counts(sampled, full)

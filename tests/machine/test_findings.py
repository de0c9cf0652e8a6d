"""What a run finds, and what it does not find in kernels that are fine."""

from __future__ import annotations

import numpy as np
import pytest

from machine.kernelkit import kinds, launch, out, words
from warpglass.machine import RunOptions, RunResult
from warpglass.machine.result import Finding

SHARED = ".shared .align 4 .b32 box[256]; .reg .b32 %a<8>; mov.u32 %a1, box; mad.lo.u32 %a2, %r4, 4, %a1;"


def only(result: RunResult, kind: str) -> Finding:
    (finding,) = [f for f in result.findings if f.kind == kind]
    return finding


def exchange(between: str, block: int = 64, distance: int = 32) -> RunResult:
    body = f"""{SHARED}
        st.shared.u32 [%a2], %r4; {between} xor.b32 %r5, %r4, {distance}; mad.lo.u32 %a3, %r5, 4, %a1;
        ld.shared.u32 %r6, [%a3]; st.global.u32 [%rd2], %r6; ret;
    """
    return launch(body, [words(block)], grid=1, block=block)


def test_a_missing_barrier_is_a_race() -> None:
    finding = only(exchange(""), "racecheck")
    assert finding.severity == "critical"
    assert finding.count == 64
    assert "read-after-write" in finding.message
    assert finding.detail["other_line"] == int(finding.line or 0) - 3


@pytest.mark.parametrize(
    "between", ["bar.sync 0;", "barrier.sync 3, 64;", "barrier.cluster.arrive; barrier.cluster.wait;"]
)
def test_a_barrier_orders(between: str) -> None:
    assert "racecheck" not in kinds(exchange(between))


def test_lanes_of_a_warp_are_unordered_until_they_meet() -> None:
    assert "racecheck" in kinds(exchange("", block=32, distance=1))
    assert "racecheck" not in kinds(exchange("bar.warp.sync 0xffffffff;", block=32, distance=1))
    # A warp barrier does not order other warps.
    assert "racecheck" in kinds(exchange("bar.warp.sync 0xffffffff;", block=64, distance=32))
    assert "racecheck" not in kinds(exchange("bar.warp.sync 0xffffffff;", block=64, distance=1))


def test_reading_then_overwriting_is_a_race() -> None:
    body = f"""{SHARED}
        st.shared.u32 [%a2], %r4; bar.sync 0; xor.b32 %r5, %r4, 32; mad.lo.u32 %a3, %r5, 4, %a1;
        ld.shared.u32 %r6, [%a3]; st.shared.u32 [%a2], %r6; ret;
    """
    assert "write-after-read" in only(launch(body, [words(1)], grid=1, block=64), "racecheck").message


def test_everyone_reading_and_atomics_are_no_race() -> None:
    body = f"""{SHARED}
        st.shared.u32 [%a2], 0; bar.sync 0; atom.shared.add.u32 %r5, [box], 1;
        atom.shared.add.u32 %r5, [box], 1;
        bar.sync 0; ld.shared.u32 %r6, [box]; ld.shared.u32 %r7, [box]; st.global.u32 [%rd2], %r6; ret;
    """
    result = launch(body, [words(64)], grid=1, block=64)
    assert out(result) == [128] * 64
    assert kinds(result) == set()


def test_bytes_side_by_side_are_no_race() -> None:
    body = """
        .shared .align 4 .b8 box[64]; .reg .b32 %a<4>; mov.u32 %a1, box; add.u32 %a2, %a1, %r4;
        st.shared.u8 [%a2], %r4; ld.shared.u8 %r5, [%a2]; st.global.u32 [%rd2], %r5; ret;
    """
    assert kinds(launch(body, [words(64)], grid=1, block=64)) == set()


def test_races_are_found_in_every_block_and_batch() -> None:
    body = f"""{SHARED}
        setp.ne.u32 %p1, %r2, 37; st.shared.u32 [%a2], %r4; @%p1 bar.sync 0;
        xor.b32 %r5, %r4, 32; mad.lo.u32 %a3, %r5, 4, %a1; ld.shared.u32 %r6, [%a3]; ret;
    """
    result = launch(body, None, grid=40, block=64, options=RunOptions(batch_lanes=512))
    assert only(result, "racecheck").block == (37, 0, 0)


def test_reads_of_shared_memory_that_nobody_wrote() -> None:
    body = f"""{SHARED}
        setp.lt.u32 %p1, %r4, 30; @%p1 st.shared.u32 [%a2], %r4; bar.sync 0; ld.shared.u32 %r5, [%a2];
        st.global.u32 [%rd2], %r5; ret;
    """
    result = launch(body, [words(32)], grid=1)
    finding = only(result, "initcheck")
    assert finding.count == 2
    assert finding.thread == (30, 0, 0)
    assert out(result)[30:] == [0, 0]


def test_registers_read_before_they_are_written() -> None:
    assert (
        "%r20" in only(launch("st.global.u32 [%rd2], %r20; ret;", [words(32)], grid=1), "initcheck").message
    )
    guarded = "setp.lt.u32 %p1, %r4, 5; @%p1 mov.u32 %r20, 1; @%p1 st.global.u32 [%rd2], %r20; ret;"
    assert kinds(launch(guarded, [words(32)], grid=1)) == set()


def test_a_shuffle_from_the_lane_that_wrote_is_no_uninitialised_read() -> None:
    body = """
    setp.ne.u32 %p1, %r4, 0; @%p1 bra go; mov.u32 %r20, 5;
    go: shfl.sync.idx.b32 %r6, %r20, 0, 31, -1; st.global.u32 [%rd2], %r6; ret;
    """
    result = launch(body, [words(32)], grid=1)
    assert "initcheck" not in kinds(result)
    assert out(result) == [5] * 32
    index = "shfl.sync.idx.b32 %r6, %r4, %r20, 31, -1; st.global.u32 [%rd2], %r6; ret;"
    assert "%r20" in only(launch(index, [words(32)], grid=1), "initcheck").message


def test_division_by_zero() -> None:
    body = "sub.u32 %r5, %r4, 7; div.u32 %r6, 100, %r5; rem.s32 %r7, 5, %r5; st.global.u32 [%rd2], %r6; ret;"
    found = [f for f in launch(body, [words(32)], grid=1).findings if f.kind == "division-by-zero"]
    assert [(f.count, f.thread) for f in found] == [(1, (7, 0, 0))] * 2
    masked = "setp.ne.u32 %p1, %r4, 0; @%p1 div.u32 %r6, 100, %r4; @%p1 st.global.u32 [%rd2], %r6; ret;"
    assert kinds(launch(masked, [words(32)], grid=1)) == set()


def test_decisions_on_data_that_nobody_gave() -> None:
    body = """
        ld.global.u32 %r5, [%rd2]; setp.gt.u32 %p1, %r5, 3; @%p1 bra SKIP; st.global.u32 [%rd2], 1;
        SKIP: ret;
    """
    finding = only(launch(body, None, grid=1), "default-data")
    assert finding.severity == "info"
    assert finding.evidence == "static"
    assert "out" in finding.message
    assert kinds(launch(body, [words(32)], grid=1)) == set()
    through_shared = f"""{SHARED}
        ld.global.u32 %r5, [%rd2]; st.shared.u32 [%a2], %r5; bar.sync 0; ld.shared.u32 %r6, [%a2];
        mul.wide.u32 %rd4, %r6, 4; add.s64 %rd4, %rd1, %rd4; st.global.u32 [%rd4], 1; ret;
    """
    assert "address" in only(launch(through_shared, None, grid=1), "default-data").message
    own = "st.global.u32 [%rd2], 1; ld.global.u32 %r5, [%rd2]; setp.gt.u32 %p1, %r5, 3; @%p1 exit; ret;"
    assert kinds(launch(own, None, grid=1)) == set()


def test_traps_stop_the_run() -> None:
    result = launch("st.global.u32 [%rd2], 1; setp.eq.u32 %p1, %r4, 9; @%p1 trap; ret;", [words(32)], grid=1)
    assert result.stopped is not None
    assert result.stopped.kind == "trap"
    assert only(result, "trap").thread == (9, 0, 0)
    assert result.buffers[0] is not None
    assert result.buffers[0].array.tolist() == [1] * 32


def test_findings_point_into_the_trace() -> None:
    result = launch(
        "add.u32 %r5, %r4, 1; st.global.u32 [%rd2+4096], %r5; ret;", [words(32)], grid=1, block=96
    )
    finding = only(result, "memcheck")
    trace = result.traces[0]
    assert finding.step is not None
    assert trace.pc[finding.step] == finding.pc
    assert trace.warp[finding.step] == 0


def test_recursion_without_end_is_a_stack_overflow() -> None:
    before = """
    .func deep(.param .b32 x)
    {
        .reg .b32 %r<4>;
        .param .b32 y;
        ld.param.b32 %r1, [x];
        add.u32 %r1, %r1, 1;
        st.param.b32 [y], %r1;
        call deep, (y);
        ret;
    }
    """
    body = ".param .b32 a; st.param.b32 [a], %r4; call deep, (a); ret;"
    result = launch(body, [words(1)], grid=1, before=before)
    assert result.stopped is not None
    assert result.stopped.kind == "fault"
    assert "call stack overflows" in result.stopped.message


def test_arrays_given_are_never_changed() -> None:
    data = np.arange(32, dtype=np.uint32)
    launch("st.global.u32 [%rd2], 0; ret;", [data], grid=1)
    assert data.tolist() == list(range(32))


def test_reads_of_local_memory_that_the_thread_did_not_write() -> None:
    body = """
        .local .align 4 .b32 l[4]; setp.lt.u32 %p1, %r4, 20; @%p1 st.local.u32 [l+8], 5;
        ld.local.u32 %r5, [l+8]; st.global.u32 [%rd2], %r5; ret;
    """
    result = launch(body, [words(32)], grid=1)
    finding = only(result, "initcheck")
    assert finding.count == 12
    assert finding.thread == (20, 0, 0)
    assert out(result) == [5] * 20 + [0] * 12
    assert kinds(launch(body.replace("@%p1 ", ""), [words(32)], grid=1)) == set()

"""Traces: what they say must be what was counted, and replaying them must give the memory."""

from __future__ import annotations

import numpy as np
import pytest

from machine.kernelkit import HEAD, launch, words
from warpglass import ptx
from warpglass.api_run import run
from warpglass.machine import RunOptions, RunResult
from warpglass.machine.result import BlockTrace

TREE = (
    HEAD
    + """
.visible .entry tree(.param .u64 .ptr .global .align 4 out)
{
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<4>;
    .shared .align 4 .b32 box[128];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, box;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    mul.lo.u32 %r5, %r1, 7;
    st.shared.u32 [%r4], %r5;
    mov.u32 %r6, 64;
NEXT:
    bar.sync 0;
    setp.ge.u32 %p1, %r1, %r6;
    @%p1 bra SKIP;
    shl.b32 %r7, %r6, 2;
    add.u32 %r8, %r4, %r7;
    ld.shared.u32 %r9, [%r8];
    ld.shared.u32 %r10, [%r4];
    add.u32 %r11, %r9, %r10;
    st.shared.u32 [%r4], %r11;
SKIP:
    shr.u32 %r6, %r6, 1;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra NEXT;
    mov.u32 %r12, %ctaid.x;
    mul.wide.u32 %rd2, %r12, 4;
    add.s64 %rd3, %rd1, %rd2;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 st.global.u32 [%rd3], %r11;
    ret;
}
"""
)


def tree(**options: object) -> RunResult:
    result = run(TREE, grid=3, block=128, args=[words(3)], options=RunOptions(**options))  # type: ignore[arg-type]
    assert result.stopped is None, result.stopped
    assert result.buffers[0] is not None
    assert result.buffers[0].array.tolist() == [7 * 127 * 64] * 3
    return result


def popcount(masks: np.ndarray) -> int:
    return sum(int(m).bit_count() for m in masks)


def test_a_full_trace_adds_up_to_the_counters() -> None:
    result = tree(trace_blocks=(0, 1, 2))
    size = len(result.counters["warp_executed"])
    assert [t.index for t in result.traces] == [0, 1, 2]
    assert not any(t.truncated for t in result.traces)
    steps = sum(np.bincount(t.pc, minlength=size) for t in result.traces)
    assert np.array_equal(steps, result.counters["warp_executed"])
    lanes = np.zeros(size, np.int64)
    for trace in result.traces:
        for pc, mask in zip(trace.pc.tolist(), trace.mask.tolist(), strict=True):
            lanes[pc] += mask.bit_count()
    assert np.array_equal(lanes, result.counters["thread_executed"])


def test_in_a_round_each_warp_issues_once() -> None:
    trace = tree().traces[0]
    assert (np.diff(trace.round.astype(np.int64)) >= 0).all()
    assert trace.round[0] == 0
    pairs = {(int(r), int(w)) for r, w in zip(trace.round, trace.warp, strict=True)}
    assert len(pairs) == trace.steps
    # No round is empty, and one warp alone never makes two steps where the others make none.
    assert set(range(int(trace.round[-1]) + 1)) == set(trace.round.tolist())


def replay_registers(trace: BlockTrace, warp: int) -> dict[str, np.ndarray]:
    writes = trace.writes
    assert writes is not None
    held: dict[str, np.ndarray] = {}
    for step, register, offset in zip(writes.step, writes.register, writes.offset, strict=True):
        if trace.warp[step] != warp:
            continue
        name, kind = writes.names[register], writes.types[register]
        mask = np.array([int(trace.mask[step]) >> lane & 1 for lane in range(32)], dtype=bool)
        if kind == "pred":
            value = np.array([int(writes.words[offset]) >> lane & 1 for lane in range(32)], dtype=np.uint64)
        else:
            value = writes.words[offset : offset + 32].astype(np.uint64)
            if kind.endswith("64"):
                value |= writes.words[offset + 32 : offset + 64].astype(np.uint64) << np.uint64(32)
        held[name] = np.where(mask, value, held.get(name, np.zeros(32, np.uint64)))
    return held


def test_register_writes_replay() -> None:
    trace = tree().traces[0]
    assert trace.writes is not None
    assert trace.writes.complete
    assert trace.writes.warps == (0, 1, 2, 3)
    for warp in range(4):
        held = replay_registers(trace, warp)
        assert held["%r1"].tolist() == list(range(32 * warp, 32 * warp + 32))
        assert held["%p3"].tolist() == [int(warp == 0 and lane == 0) for lane in range(32)]
    result = tree()
    buffer = result.buffers[0]
    assert buffer is not None
    assert int(replay_registers(result.traces[0], 0)["%rd1"][5]) == buffer.base


def test_a_small_value_budget_keeps_the_first_warps() -> None:
    whole = tree().traces[0].writes
    assert whole is not None
    one = tree(value_budget=whole.words.size // 2).traces[0].writes
    assert one is not None
    assert one.warps == (0,)
    assert one.complete
    none = tree(value_budget=100).traces[0].writes
    assert none is not None
    assert not none.complete
    assert none.words.nbytes <= 400
    asked = tree(value_warps=(2,)).traces[0]
    assert asked.writes is not None
    assert set(asked.warp[asked.writes.step].tolist()) == {2}


def test_accesses_replay_shared_memory() -> None:
    accesses = tree().traces[0].accesses
    assert accesses is not None
    assert accesses.complete
    memory: dict[int, int] = {}
    for i in range(accesses.step.shape[0]):
        if accesses.space[i] != 1:
            continue
        count = int(accesses.mask[i]).bit_count()
        at = accesses.addresses[accesses.offset[i] : accesses.offset[i] + count].tolist()
        if accesses.kind[i] == 1:
            data = accesses.data[accesses.data_offset[i] : accesses.data_offset[i] + count].tolist()
            memory.update(zip(at, data, strict=True))
        else:
            assert all(a in memory for a in at)
            assert accesses.data_offset[i] == 0xFFFFFFFF
    assert memory[0] == 7 * 127 * 64
    assert memory[4 * 127] == 7 * 127


def test_barrier_events_pair_up() -> None:
    trace = tree().traces[0]
    barriers = trace.barriers
    assert barriers is not None
    arrivals, releases = (barriers.kind == 0), (barriers.kind == 2)
    assert int(arrivals.sum()) == int(releases.sum()) == 7 * 4
    assert (trace.pc[barriers.step[arrivals]] == ptx.parse(TREE).kernels[0].labels["NEXT"]).all()
    # Nobody is released before everyone has come.
    for k in range(7):
        came = barriers.round[arrivals][4 * k : 4 * k + 4]
        left = barriers.round[releases][4 * k : 4 * k + 4]
        assert came.max() <= left.min()


def test_a_used_up_trace_budget_is_marked() -> None:
    trace = tree(trace_steps=50).traces[0]
    assert trace.truncated
    assert trace.steps <= 50
    assert trace.writes is None or not trace.writes.complete


@pytest.mark.parametrize("size", [1, 2, 8])
def test_data_of_narrow_and_wide_stores(size: int) -> None:
    register = {1: "%r4", 2: "%h1", 8: "%rd4"}[size]
    body = f"""
        cvt.u16.u32 %h1, %r4; cvt.u64.u32 %rd4, %r4; mul.lo.s64 %rd4, %rd4, 0x100000001;
        mul.wide.u32 %rd5, %r4, {size}; add.s64 %rd5, %rd1, %rd5;
        st.global.u{8 * size} [%rd5], {register}; ret;
    """
    accesses = launch(body, [words(64)], grid=1).traces[0].accesses
    assert accesses is not None
    assert accesses.size.tolist() == [size]
    want = list(range(32)) if size < 8 else [lane for lane in range(32) for _ in range(2)]
    assert accesses.data.tolist() == want


def test_results_of_reductions_and_waits_are_recorded() -> None:
    body = "setp.lt.u32 %p1, %r4, 40; bar.red.popc.u32 %r5, 0, %p1; st.global.u32 [%rd2], %r5; ret;"
    result = launch(body, [words(64)], grid=1, block=64)
    for warp in range(2):
        assert replay_registers(result.traces[0], warp)["%r5"].tolist() == [40] * 32

"""Divergence, merging, fairness, and lanes that wait for each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from machine.kernelkit import by_opcode, kinds, launch, out, text, words
from warpglass.api_run import run
from warpglass.machine import RunOptions


def test_sides_of_a_branch_merge_at_the_post_dominator() -> None:
    body = """
        and.b32 %r5, %r4, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra EVEN;
        mul.lo.u32 %r6, %r4, 3; bra JOIN;
        EVEN: shr.u32 %r6, %r4, 1;
        JOIN: add.u32 %r6, %r6, 1; st.global.u32 [%rd2], %r6; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=64, args=[words(64)])
    assert out(result) == [t // 2 + 1 if t % 2 == 0 else 3 * t + 1 for t in range(64)]
    assert by_opcode(result, source, "mul.lo", "warp_executed") == 2
    assert by_opcode(result, source, "shr", "thread_executed") == 32
    assert by_opcode(result, source, "st.global", "warp_executed") == 2  # merged again
    assert by_opcode(result, source, "bra", "branch_divergent") == 2


def test_lanes_that_leave_a_loop_one_by_one_meet_behind_it() -> None:
    body = """
        mov.u32 %r5, 0;
        LOOP: setp.ge.u32 %p1, %r5, %r4; @%p1 bra DONE; add.u32 %r5, %r5, 1; bra LOOP;
        DONE: st.global.u32 [%rd2], %r5; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=32, args=[words(32)])
    assert out(result) == list(range(32))
    assert by_opcode(result, source, "st.global", "warp_executed") == 1
    assert by_opcode(result, source, "setp", "warp_executed") == 32
    assert by_opcode(result, source, "setp", "thread_executed") == 32 * 33 // 2


def test_nested_divergence_meets_inside_out() -> None:
    body = """
        mov.u32 %r6, 0; and.b32 %r5, %r4, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra OUTER;
        and.b32 %r5, %r4, 2; setp.eq.u32 %p2, %r5, 0; @%p2 bra INNER;
        add.u32 %r6, %r6, 100;
        INNER: add.u32 %r6, %r6, 10;
        OUTER: add.u32 %r6, %r6, 1; st.global.u32 [%rd2], %r6; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=32, args=[words(32)])
    assert out(result) == [1 + (10 if t & 1 else 0) + (100 if t & 1 and t & 2 else 0) for t in range(32)]
    adds = list(result.counters["warp_executed"].tolist())
    assert by_opcode(result, source, "st.global", "warp_executed") == 1
    assert max(adds) == 1


def test_exits_inside_divergence_let_the_rest_meet() -> None:
    body = """
        setp.lt.u32 %p1, %r4, 20; @%p1 bra LOW;
        setp.lt.u32 %p2, %r4, 25; @%p2 exit; add.u32 %r5, %r4, 0; bra JOIN;
        LOW: add.u32 %r5, %r4, 100;
        JOIN: st.global.u32 [%rd2], %r5; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=32, args=[words(32)])
    assert out(result) == [t + 100 if t < 20 else 0 if t < 25 else t for t in range(32)]
    assert by_opcode(result, source, "st.global", "warp_executed") == 1


SPIN = """
    .reg .b64 %lock; ld.param.u64 %lock, [lock];
    TRY: atom.global.cas.b32 %r5, [%lock], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra TRY;
    ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;
    membar.gl; atom.global.exch.b32 %r7, [%lock], 0; ret;
"""


def test_a_spin_lock_whose_exit_is_the_merge_point_makes_progress() -> None:
    result = launch(
        SPIN, [words(1), words(1)], grid=2, block=64, params=".param .u64 .ptr out, .param .u64 .ptr lock"
    )
    assert out(result) == [128]


def test_lanes_of_one_warp_produce_and_consume() -> None:
    body = """
        .shared .align 4 .b32 flag; .shared .align 4 .b32 box;
        setp.eq.u32 %p1, %r4, 0; @%p1 bra PRODUCE;
        WAIT: ld.volatile.shared.u32 %r5, [flag]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
        ld.volatile.shared.u32 %r6, [box]; bra JOIN;
        PRODUCE: mov.u32 %r6, 77; st.volatile.shared.u32 [box], %r6; mov.u32 %r7, 1;
        membar.cta; st.volatile.shared.u32 [flag], %r7;
        JOIN: st.global.u32 [%rd2], %r6; ret;
    """
    assert out(launch(body, [words(32)])) == [77] * 32


def test_blocks_that_wait_for_a_later_batch_take_turns() -> None:
    body = """
        setp.ne.u32 %p1, %r2, 0; @%p1 bra SET;
        WAIT: ld.volatile.global.u32 %r5, [%rd1+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
        add.u32 %r5, %r5, 5; st.global.u32 [%rd1], %r5; ret;
        SET: st.global.u32 [%rd1+4], %r2; ret;
    """
    result = launch(body, [words(2)], grid=2, block=1, options=RunOptions(batch_lanes=32))
    assert out(result) == [6, 1]


def test_an_endless_loop_ends_with_a_finding() -> None:
    for body in ("LOOP: bra LOOP;", "mov.u32 %r5, 0; LOOP: add.u32 %r5, %r5, 1; bra LOOP;"):
        result = launch(body, [words(32)], options=RunOptions(max_warp_instructions=60_000))
        assert result.stopped is not None
        assert result.stopped.kind == "budget"
        assert "budget" in kinds(result)
        assert result.stopped.line == result.findings[0].line
        assert result.counts["warp_executed"] <= 60_100


def test_a_repeating_state_is_found_before_the_budget() -> None:
    result = launch("LOOP: bra LOOP;", [words(32)], grid=1)
    assert result.stopped is not None
    assert "repeat exactly" in result.stopped.message
    assert result.counts["warp_executed"] < 200_000


def test_a_deadlock_is_said_in_words() -> None:
    body = """
        setp.lt.u32 %p1, %r4, 32; @%p1 bra ONE; bar.sync 1, 96; ret;
        ONE: bar.sync 2, 64; ret;
    """
    result = launch(body, [words(64)], block=64)
    assert result.stopped is not None
    assert result.stopped.kind == "deadlock"
    message = result.stopped.message
    assert "warp 0 of block (0,0,0) at barrier 2" in message
    assert "warp 1 of block (0,0,0) at barrier 1" in message
    assert "deadlock" in kinds(result)
    assert not result.complete


def test_sync_operations_wait_for_the_lanes_they_name() -> None:
    # The two halves come to the shuffle one after the other, and it still sees all lanes.
    body = """
        mov.u32 %r6, %r4; setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW;
        mul.lo.u32 %r6, %r6, 10;
        LOW: shfl.sync.bfly.b32 %r7, %r6, 16, 31, 0xffffffff; st.global.u32 [%rd2], %r7; ret;
    """
    assert out(launch(body, [words(32)])) == [10 * (t + 16) if t < 16 else t - 16 for t in range(32)]


def test_sync_operations_at_different_places_act_together() -> None:
    body = """
        setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW;
        shfl.sync.bfly.b32 %r7, %r4, 16, 31, 0xffffffff; bra JOIN;
        LOW: shfl.sync.bfly.b32 %r7, %r4, 16, 31, 0xffffffff;
        JOIN: st.global.u32 [%rd2], %r7; ret;
    """
    assert out(launch(body, [words(32)])) == [t ^ 16 for t in range(32)]


def test_a_mask_that_names_only_half_a_warp_waits_for_no_one_else() -> None:
    body = """
        setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW; bra JOIN;
        LOW: redux.sync.add.u32 %r7, %r4, 0xffff; st.global.u32 [%rd2], %r7;
        JOIN: ret;
    """
    assert out(launch(body, [words(32)])) == [120] * 16 + [0] * 16


def test_functions_return_together() -> None:
    before = """
    .func (.param .b32 r) pick(.param .b32 x)
    {
        .reg .pred %p<2>; .reg .b32 %r<4>;
        ld.param.b32 %r1, [x];
        setp.gt.u32 %p1, %r1, 15;
        @%p1 bra HIGH;
        add.u32 %r1, %r1, 1000;
        st.param.b32 [r], %r1;
        ret;
    HIGH:
        st.param.b32 [r], 5;
        ret;
    }
    """
    body = """
        .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), pick, (a);
        ld.param.b32 %r5, [b]; st.global.u32 [%rd2], %r5; ret;
    """
    source = text(body, before=before)
    result = run(source, grid=1, block=32, args=[words(32)])
    assert out(result) == [t + 1000 if t < 16 else 5 for t in range(32)]
    assert by_opcode(result, source, "st.global", "warp_executed") == 1


@pytest.mark.parametrize("block", [32, 33, 96])
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_random_control_flow_gives_what_one_thread_alone_gives(block: int, data: st.DataObject) -> None:
    """Straight pieces between branches on bits of a hash: each lane must follow its own way."""
    pieces = data.draw(st.integers(3, 9))
    goals = [
        (
            data.draw(st.integers(n + 1, pieces)),
            data.draw(st.integers(n + 1, pieces)),
            data.draw(st.integers(0, 31)),
        )
        for n in range(pieces)
    ]
    factors = [data.draw(st.integers(3, 1000)) | 1 for _ in range(pieces)]
    body = "mul.lo.u32 %r5, %r4, 0x9e3779b1; mov.u32 %r6, 1;"
    for n, ((yes, no, bit), factor) in enumerate(zip(goals, factors, strict=True)):
        body += f"L{n}: mad.lo.u32 %r6, %r6, {factor}, {n};"
        body += f"shr.u32 %r7, %r5, {bit}; and.b32 %r7, %r7, 1; setp.ne.u32 %p1, %r7, 0;"
        body += f"@%p1 bra L{yes}; bra L{no};"
    body += f"L{pieces}: st.global.u32 [%rd2], %r6; ret;"
    got = out(launch(body, [words(block)], block=block))
    for t in range(block):
        hashed, value, at = t * 0x9E3779B1 % 2**32, 1, 0
        while at < pieces:
            value = (value * factors[at] + at) % 2**32
            at = goals[at][0] if hashed >> goals[at][2] & 1 else goals[at][1]
        assert got[t] == value
    assert isinstance(got, list)
    assert np.array(got).shape == (block,)

"""Launches from the outside: arguments, defaults, counters, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from machine.kernelkit import HEAD, by_opcode, launch, out, text, words
from warpglass.api_run import run
from warpglass.errors import LaunchError
from warpglass.machine import RunOptions

ADD = (
    HEAD
    + """
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<12>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra END;
    mul.wide.s32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd7], %f3;
END:
    ret;
}
"""
)


def test_vector_add_counts_what_the_profiler_would() -> None:
    a, b = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    result = run(ADD, grid=8, block=128, args=[a, b, np.zeros(1000, np.float32), 1000])
    buffer = result.buffers[2]
    assert buffer is not None
    assert np.array_equal(buffer.array, a + b)
    assert result.buffers[3] is None
    assert result.complete
    assert result.blocks_executed == 8
    counts = result.counters
    # 32 warps come to the branch, 31 go past it whole, one with 8 lanes.
    assert counts["warp_executed"][9] == 32
    assert counts["branch_divergent"][9] == 1
    assert counts["branch_taken"][9] == 24
    assert counts["requests"][14] == 32
    assert counts["sectors"][14] == 125
    assert counts["thread_executed"][14] == 1000
    assert counts["bytes"][14] == 4000
    # Lanes that left early meet the others at the return, so that it issues once a warp.
    assert counts["warp_executed"][18] == 32
    assert counts["thread_executed"][18] == 1024
    assert result.active_histogram[14, 32] == 31
    assert result.active_histogram[14, 8] == 1
    assert int(result.active_histogram.sum()) == result.counts["warp_executed"]
    assert result.functions == (("add", 0, 19),)


@pytest.mark.parametrize("lanes", [32, 128, 1024, 1 << 16])
def test_the_size_of_batches_changes_nothing(lanes: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(3000, np.float32), rng.random(3000, np.float32)
    args = [a, b, np.zeros(3000, np.float32), 2950]
    whole = run(ADD, grid=30, block=100, args=args)
    result = run(ADD, grid=30, block=100, args=args, options=RunOptions(batch_lanes=lanes))
    assert dict(whole.counts) == dict(result.counts)
    left, right = whole.buffers[2], result.buffers[2]
    assert left is not None
    assert right is not None
    assert np.array_equal(left.array, right.array)
    assert whole.traces[0].steps == result.traces[0].steps


def test_arguments_by_name_position_and_default() -> None:
    n = 64
    a = np.ones(n, np.float32)
    by_name = run(ADD, grid=1, block=n, args={"a": a, "b": a, "c": np.zeros(n, np.float32), 3: n})
    assert by_name.buffers[2] is not None
    assert by_name.buffers[2].array.tolist() == [2.0] * n
    bare = run(ADD, grid=2, block=n)
    c = bare.buffers[2]
    # Default floats lie in [0, 1); only what the kernel touched is given back.
    assert c is not None
    assert not c.given
    assert c.touched == (0, 4 * 2 * n)
    assert c.array.shape == (2 * n,)
    assert float(c.array.min()) > 0
    assert float(c.array.max()) < 2
    assert bare.complete
    again, other = run(ADD, grid=2, block=n), run(ADD, grid=2, block=n, seed=7)
    assert again.buffers[2] is not None
    assert np.array_equal(again.buffers[2].array, c.array)
    assert other.buffers[2] is not None
    assert not np.array_equal(other.buffers[2].array, c.array)


def test_the_same_array_is_one_buffer() -> None:
    x = np.arange(32, dtype=np.float32)
    result = run(ADD, block=32, args=[x, x, x, 32])
    buffers = [b for b in result.buffers if b is not None]
    assert len({b.base for b in buffers}) == 1
    assert buffers[0].array.tolist() == (2 * x).tolist()
    assert x[1] == 1
    apart = run(ADD, block=32, args=[x, x.copy(), x.copy(), 32])
    assert len({b.base for b in apart.buffers if b is not None}) == 3
    assert all(b.base % 256 == 0 for b in apart.buffers if b is not None)


@pytest.mark.parametrize(
    ("args", "match"),
    [
        ([1, 2, 3, 4, 5], "4 parameters"),
        ({"nobody": 1}, "no parameter"),
        ([np.zeros(4, np.float32)] * 3 + [2**40], "n"),
        ([np.zeros(4, np.float32)] * 3 + [0.5], "integer"),
        ([np.zeros(4, np.float32)] * 3 + [np.zeros(4)], "no pointer"),
        ([np.array([object()])] * 3 + [1], "memory"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, match: str) -> None:
    with pytest.raises(LaunchError, match=match):
        run(ADD, block=32, args=args)


def test_launches_that_do_not_fit() -> None:
    with pytest.raises(LaunchError, match="no kernel"):
        run(ADD, "mul", block=32)
    with pytest.raises(LaunchError, match="cluster"):
        run(ADD, grid=3, block=32, cluster=2)
    with pytest.raises(LaunchError, match="requires a block"):
        run(ADD.replace(".param .u32 n)", ".param .u32 n) .reqntid 64"), block=32)


def test_unknown_instructions_keep_what_came_before() -> None:
    body = "st.global.u32 [%rd2], 7; wgmma.fence.sync.aligned; st.global.u32 [%rd2], 8; ret;"
    result = launch(body, [words(32)])
    assert result.stopped is not None
    assert result.stopped.kind == "unsupported"
    assert "wgmma.fence.sync.aligned is not executed yet" in result.stopped.message
    assert result.stopped.message.startswith(f"stopped at line {result.stopped.line}:")
    assert result.buffers[0] is not None
    assert result.buffers[0].array.tolist() == [7] * 32
    assert not result.complete


def test_special_registers_of_a_partial_block() -> None:
    body = """
        mov.u32 %r5, %laneid; mov.u32 %r6, %warpid; mad.lo.u32 %r7, %r6, 100, %r5;
        st.global.u32 [%rd2], %r7; ret;
    """
    got = out(launch(body, [words(80)], grid=2, block=40))
    assert got == [100 * (t // 32) + t % 32 for _ in range(2) for t in range(40)]


def test_guards_count_issued_and_on_apart() -> None:
    body = "setp.lt.u32 %p1, %r4, 0; @%p1 st.global.u32 [%rd2], 1; @!%p1 st.global.u32 [%rd2], 2; ret;"
    source = text(body)
    result = run(source, grid=1, block=64, args=[words(64)])
    assert out(result) == [2] * 64
    assert by_opcode(result, source, "st.global", "warp_executed") == 4
    assert by_opcode(result, source, "st.global", "warp_on") == 2
    assert by_opcode(result, source, "st.global", "requests") == 2
    assert by_opcode(result, source, "st.global", "thread_active") == 128


def test_moves_share_nothing() -> None:
    # A moved register keeps its value when the source is changed under a guard, and the other way round.
    body = """
        add.u32 %r5, %r4, 1; mov.u32 %r6, %r5; setp.lt.u32 %p1, %r4, 16;
        @%p1 add.u32 %r5, %r5, 100; mov.u32 %r7, %r5; @!%p1 mov.u32 %r5, 0;
        mad.lo.u32 %r8, %r6, 1000000, %r7; mad.lo.u32 %r8, %r5, 1000, %r8;
        st.global.u32 [%rd2], %r8; ret;
    """
    got = out(launch(body, [words(32)]))
    for t in range(32):
        r6, r7 = t + 1, t + 1 + (100 if t < 16 else 0)
        assert got[t] == r6 * 1000000 + (r7 if t < 16 else 0) * 1000 + r7


def test_clusters_are_kept_together() -> None:
    from warpglass.machine.batches import blocks_from
    from warpglass.machine.launch import Launch

    launch_of = Launch(grid=(6, 4, 2), block=(32, 1, 1), cluster=(3, 2, 1))
    order = blocks_from(launch_of, 0, 48)
    assert sorted(order.tolist()) == list(range(48))
    assert order[:6].tolist() == [0, 1, 2, 6, 7, 8]
    assert np.array_equal(np.concatenate([blocks_from(launch_of, n, 12) for n in range(0, 48, 12)]), order)


def test_a_huge_grid_costs_no_memory() -> None:
    result = launch(
        "ret;", None, grid=(2**31 - 1, 65535, 65535), block=1024,
        options=RunOptions(max_warp_instructions=20_000),
    )  # fmt: skip
    assert result.stopped is not None
    assert result.stopped.kind == "budget"


def test_many_registers_and_much_shared_memory_make_small_batches() -> None:
    from warpglass.machine.batches import batch_size
    from warpglass.machine.launch import Launch

    plain = Launch(grid=(4096, 1, 1), block=(64, 1, 1))
    options = RunOptions()
    assert batch_size(plain, options, False) == 512
    assert batch_size(plain, options, False, lane_bytes=1 << 20) == 3
    assert batch_size(plain, options, False, block_bytes=100 << 10) == 163
    with pytest.raises(LaunchError, match="cooperative"):
        batch_size(Launch(grid=(10**6, 1, 1), block=(64, 1, 1)), options, True)

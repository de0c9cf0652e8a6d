"""Barriers of blocks and clusters, and what waits at them."""

from __future__ import annotations

import pytest

from machine.kernelkit import kinds, launch, out, words

SHARED = ".shared .align 4 .b32 box[1024]; .reg .b32 %a<8>; mov.u32 %a1, box; mad.lo.u32 %a2, %r4, 4, %a1;"


def test_exited_lanes_count_as_arrived() -> None:
    body = f"""{SHARED}
        setp.ge.u32 %p1, %r4, 70; @%p1 exit; st.shared.u32 [%a2], %r4; bar.sync 0;
        sub.u32 %r5, 69, %r4; mad.lo.u32 %r5, %r5, 4, %a1; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd2], %r6; ret;
    """
    assert out(launch(body, [words(128)], block=128)) == [69 - t if t < 70 else 0 for t in range(128)]


def test_divergent_warps_meet_at_one_barrier() -> None:
    body = f"""{SHARED}
        st.shared.u32 [%a2], %r4; and.b32 %r5, %r4, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra EVEN;
        barrier.sync 0; bra JOIN;
        EVEN: barrier.sync 0;
        JOIN: xor.b32 %r5, %r4, 33; mad.lo.u32 %r5, %r5, 4, %a1; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd2], %r6; ret;
    """
    result = launch(body, [words(64)], block=64)
    assert out(result) == [t ^ 33 for t in range(64)]
    assert "racecheck" not in kinds(result)


def test_arrive_and_sync_hand_over_between_warps() -> None:
    body = f"""{SHARED}
        setp.lt.u32 %p1, %r4, 32; @%p1 bra MAKE;
        bar.sync 3, 64; sub.u32 %r5, %r4, 32; mad.lo.u32 %r5, %r5, 4, %a1; ld.shared.u32 %r6, [%r5];
        st.global.u32 [%rd2], %r6; ret;
        MAKE: add.u32 %r6, %r4, 500; st.shared.u32 [%a2], %r6; bar.arrive 3, 64; ret;
    """
    assert out(launch(body, [words(64)], block=64))[32:] == [500 + t for t in range(32)]


def test_barriers_named_by_a_register() -> None:
    body = """
        shr.u32 %r5, %r4, 6; add.u32 %r5, %r5, 4; mov.u32 %r6, 64; barrier.sync %r5, %r6;
        st.global.u32 [%rd2], %r5; ret;
    """
    assert out(launch(body, [words(256)], block=256)) == [4 + t // 64 for t in range(256)]


@pytest.mark.parametrize(("kind", "want"), [("popc.u32 %r6", 21), ("and.pred %p3", 0), ("or.pred %p3", 1)])
def test_reductions_over_a_block(kind: str, want: int) -> None:
    show = "mov.u32 %r7, %r6;" if "%r6" in kind else "selp.u32 %r7, 1, 0, %p3;"
    body = f"setp.lt.u32 %p1, %r4, 21; bar.red.{kind}, 0, %p1; {show} st.global.u32 [%rd2], %r7; ret;"
    assert out(launch(body, [words(96)], grid=3, block=96, options=None))[:96] == [want] * 96


def test_an_aligned_barrier_must_be_one_instruction_for_a_warp() -> None:
    body = """
        setp.lt.u32 %p1, %r4, 16; @%p1 bra LOW; bar.sync 0; bra JOIN;
        LOW: bar.sync 0;
        JOIN: st.global.u32 [%rd2], 1; ret;
    """
    result = launch(body, [words(64)], grid=1, block=64)
    assert out(result) == [1] * 64
    assert "synccheck" in kinds(result)
    fine = launch(body.replace("bar.sync", "barrier.sync"), [words(64)], grid=1, block=64)
    assert "synccheck" not in kinds(fine)


DIVIDED = """
    setp.lt.u32 %p1, %r4, 16; @!%p1 bra JOIN; bar.sync 0;
    JOIN: st.global.u32 [%rd2], 1; ret;
"""


@pytest.mark.parametrize("block", [32, 64])
def test_a_divided_warp_at_an_aligned_barrier(block: int) -> None:
    result = launch(DIVIDED, [words(64)], grid=1, block=block)
    assert out(result)[:block] == [1] * block
    (finding,) = (f for f in result.findings if f.kind == "synccheck")
    assert finding.severity == "critical"
    assert "16 come to barrier 0, 16 went another way" in finding.message
    assert finding.thread == (0, 0, 0)
    free = launch(DIVIDED.replace("bar.sync", "barrier.sync"), [words(64)], grid=1, block=block)
    assert kinds(free) == set()


def test_a_barrier_in_a_loop_of_unequal_length() -> None:
    body = """
        mov.u32 %r5, 0;
        AGAIN: bar.sync 0; add.u32 %r5, %r5, 7; setp.lt.u32 %p1, %r5, %r4; @%p1 bra AGAIN;
        st.global.u32 [%rd2], %r5; ret;
    """
    assert "synccheck" in kinds(launch(body, [words(64)], grid=1, block=64))


@pytest.mark.parametrize(
    "body",
    [
        # Early returns: what left has arrived.
        "setp.gt.u32 %p1, %r4, 40; @%p1 bra OUT; bar.sync 0; st.global.u32 [%rd2], 1; OUT: ret;",
        "setp.gt.u32 %p1, %r4, 40; @%p1 ret; bar.sync 0; st.global.u32 [%rd2], 1; ret;",
        # Whole warps on either side.
        "setp.gt.u32 %p1, %r4, 31; @%p1 bra OUT; bar.sync 1, 32; OUT: st.global.u32 [%rd2], 1; ret;",
        # Parted before, together again.
        "setp.lt.u32 %p1, %r4, 9; @%p1 bra A; add.u32 %r5, %r5, 1; A: bar.sync 0; ret;",
    ],
)
def test_barriers_that_are_met_as_they_should_be(body: str) -> None:
    assert "synccheck" not in kinds(launch(body, [words(64)], grid=1, block=64))


def test_arriving_twice_is_a_finding() -> None:
    body = """
        setp.ge.u32 %p1, %r4, 32; @%p1 bra OTHER; bar.arrive 1, 96; bar.arrive 1, 96; ret;
        OTHER: bar.sync 1, 64; ret;
    """
    assert "synccheck" in kinds(launch(body, [words(64)], block=64))


def test_a_cluster_reads_the_memory_of_its_blocks() -> None:
    body = f"""{SHARED}
        .reg .b32 %rank; .reg .b32 %peer; mov.u32 %rank, %cluster_ctarank;
        mad.lo.u32 %r5, %r2, 1000, %r4; st.shared.u32 [%a2], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;
        add.u32 %peer, %rank, 1; and.b32 %peer, %peer, 3; mapa.shared::cluster.u32 %r6, %a2, %peer;
        ld.shared::cluster.u32 %r7, [%r6]; barrier.cluster.arrive; barrier.cluster.wait;
        st.global.u32 [%rd2], %r7; ret;
    """
    got = out(launch(body, [words(8 * 32)], grid=8, block=32, cluster=4))
    assert got == [1000 * (b // 4 * 4 + (b + 1) % 4) + t for b in range(8) for t in range(32)]


def test_an_mbarrier_that_nobody_completes_is_a_deadlock() -> None:
    body = """
        .shared .align 8 .b64 mb; setp.ne.u32 %p1, %r4, 0; @%p1 bra WAIT;
        mbarrier.init.shared::cta.b64 [mb], 33; mbarrier.arrive.shared::cta.b64 %rd5, [mb];
        WAIT: bar.warp.sync 0xffffffff;
        AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [mb], 0; @!%p2 bra AGAIN; ret;
    """
    result = launch(body, [words(1)])
    assert result.stopped is not None
    assert result.stopped.kind == "deadlock"
    assert "for the mbarrier at shared offset 0 (32 arrivals missing" in result.stopped.message

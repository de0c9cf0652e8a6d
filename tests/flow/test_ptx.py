"""PTX under the flow analyses."""

from __future__ import annotations

import pytest

from warpglass import ptx
from warpglass.flow import ptx_cfg, ptx_liveness, reads_writes, register_units

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def kernel(text: str, before: str = "") -> ptx.Function:
    m = ptx.parse(
        f"{HEAD}{before}\n.entry k(.param .u64 p0)\n{{\n"
        f".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .pred %p<5>;\n"
        f".reg .f32 %f<20>; .reg .v4 .f32 %v; .reg .b16 %h<4>; .reg .f64 %fd<4>;\n{text}\n}}\n"
    )
    assert m.diagnostics == ()
    return m.kernels[0]


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("add.u32 %r1, %r2, %r3", "%r2 %r3", "%r1"),
        ("@%p1 add.u32 %r1, %r2, 5", "%p1 %r2", "%r1"),
        ("@!%p1 ret", "%p1", ""),
        ("mov.u32 %r1, %tid.x", "", "%r1"),
        ("ld.global.u32 %r1, [%rd1+4]", "%rd1", "%r1"),
        ("ld.global.v4.f32 {%f1,%f2,_,%f4}, [%rd1]", "%rd1", "%f1 %f2 %f4"),
        ("ld.global.v4.f32 %v, [%rd1]", "%rd1", "%v"),
        ("st.global.v2.f32 [%rd1], {%f1,%f2}", "%rd1 %f1 %f2", ""),
        ("st.shared.u32 [%r1], %r2", "%r1 %r2", ""),
        ("red.global.add.u32 [%rd1], %r1", "%rd1 %r1", ""),
        ("atom.global.add.u32 %r1, [%rd1], %r2", "%rd1 %r2", "%r1"),
        ("atom.global.add.u32 _, [%rd1], %r2", "%rd1 %r2", ""),
        ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3", "%rd1 %r2 %r3", "%r1"),
        ("setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p3", "%r1 %r2 %p3", "%p1 %p2"),
        ("setp.eq.u32 %p1|_, %r1, 0", "%r1", "%p1"),
        ("shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, %r4", "%r2 %r3 %r4", "%r1 %p1"),
        ("vote.sync.ballot.b32 %r1, %p1, -1", "%p1", "%r1"),
        ("selp.b32 %r1, %r2, %r3, %p1", "%r2 %r3 %p1", "%r1"),
        ("mov.b64 {%r1,%r2}, %rd1", "%rd1", "%r1 %r2"),
        ("mov.b64 %rd1, {%r1,%r2}", "%r1 %r2", "%rd1"),
        ("mov.f32 %v.x, %f1", "%f1", "%v"),
        ("add.f32 %f1, %v.x, %v.y", "%v", "%f1"),
        ("bar.sync 0", "", ""),
        ("bar.sync %r1, %r2", "%r1 %r2", ""),
        ("barrier.sync.aligned %r1", "%r1", ""),
        ("bar.arrive %r1, %r2", "%r1 %r2", ""),
        ("bar.red.popc.u32 %r1, 0, %p1", "%p1", "%r1"),
        ("bar.warp.sync %r1", "%r1", ""),
        ("barrier.cluster.arrive.aligned", "", ""),
        ("nanosleep.u32 %r1", "%r1", ""),
        ("mbarrier.init.shared.b64 [%r1], %r2", "%r1 %r2", ""),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1]", "%r1", "%rd1"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2", "%r1 %r2", ""),
        ("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2", "%r1 %r2", "%p1"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 16", "%r1 %rd1", ""),
        ("cp.async.wait_group 1", "", ""),
        ("prefetch.global.L2 [%rd1]", "%rd1", ""),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1,%r2}, [%r3]", "%r3", "%r1 %r2"),
        ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1,%r2}", "%r3 %r1 %r2", ""),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, "
            "{%f5,%f6,%f7,%f8}",
            "%r1 %r2 %r3 %f5 %f6 %f7 %f8", "%f1 %f2 %f3 %f4",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, "
            "0",
            "%rd1 %rd2 %p1 %f1 %f2 %f3 %f4", "%f1 %f2 %f3 %f4",
        ),
        ("wgmma.wait_group.sync.aligned 0", "", ""),
        ("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1,%f2}, %r1", "%rd1 %f1 %f2 %r1", ""),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r2", "%r1 %r2", ""),
        ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r2", "%r1 %r2", ""),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1,%r2}, [%r3]", "%r3", "%r1 %r2"),
        ("tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1,%r2}", "%r3 %r1 %r2", ""),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}]", "%rd1 %f5 %f6", "%f1 %f2 %f3 %f4"),
        ("sust.b.2d.b32.trap [%rd1, {%r1,%r2}], {%r3}", "%rd1 %r1 %r2 %r3", ""),
        ("multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, [%rd1]", "%rd1", "%f1"),
        ("multimem.red.relaxed.gpu.global.add.f32 [%rd1], %f1", "%rd1 %f1", ""),
        ("elect.sync _|%p1, -1", "", "%p1"),
        ("call (%r1, %r2), f, (%r3, %rd1)", "%r3 %rd1", "%r1 %r2"),
        ("call f, (%r3)", "%r3", ""),
        ("call (%r1), %rd1, (%r3), pr", "%rd1 %r3", "%r1"),
        ("stackrestore.u64 %rd1", "%rd1", ""),
        ("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2", "%r2 %r3 %r4 %p2", "%r1 %p1"),
    ],
)  # fmt: skip
def test_reads_and_writes(text: str, reads: str, writes: str) -> None:
    k = kernel(f"pr: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n{text};", ".func f;")
    found = reads_writes(k.instructions[0])
    assert (set(found[0]), set(found[1])) == (set(reads.split()), set(writes.split()))


def test_branches_calls_and_exits() -> None:
    k = kernel(
        "@%p1 bra A;\n bra.uni B;\nA: call f;\n@%p2 exit;\nts: .branchtargets A, B, C;\nbrx.idx %r1, ts;\n"
        "B: @%p1 trap;\nret;\nC: trap;",
        ".func f;",
    )
    cfg = ptx_cfg(k)
    assert [(b.start, b.end, b.successors, b.leaves) for b in cfg.blocks] == [
        (0, 1, (1, 2), False), (1, 2, (4,), False), (2, 4, (3,), True), (4, 5, (2, 4, 6), False),
        (5, 6, (5,), True), (6, 7, (), True), (7, 8, (), True),
    ]  # fmt: skip


def test_calls_that_do_not_return() -> None:
    k = kernel("@%p1 bra A;\ncall g;\nA: ret;", ".func f; .func g;")
    assert ptx_cfg(k).blocks[1].successors == (2,)
    dead = ptx_cfg(k, noreturn={"g"})
    assert dead.blocks[1].successors == ()
    assert dead.merge[0] == 2
    assert ptx_cfg(k, noreturn={"f"}).blocks[1].successors == (2,)


def test_reconvergence_of_a_loop_with_a_divergent_body() -> None:
    k = kernel(
        "mov.u32 %r1, 0;\nLOOP: setp.lt.u32 %p1, %r1, %r2;\n@%p1 bra ELSE;\nadd.u32 %r3, %r3, 1;\nbra JOIN;\n"
        "ELSE: add.u32 %r3, %r3, 2;\nJOIN: add.u32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 9;\n@%p2 bra LOOP;\n"
        "ret;"
    )
    cfg = ptx_cfg(k)
    assert cfg.reconvergence() == {2: k.labels["JOIN"], 8: 9}
    assert len(cfg.loops) == 1
    assert cfg.loop_depth(k.labels["ELSE"]) == 1
    assert cfg.loop_depth(9) == 0


@pytest.mark.parametrize(
    ("kind", "units"),
    [
        ("b32", 1),
        ("f64", 2),
        ("pred", 0),
        ("b16", 1),
        ("b128", 4),
        ("v4.f32", 4),
        ("v2.b64", 4),
        ("f16x2", 1),
    ],
)
def test_units(kind: str, units: int) -> None:
    assert register_units(kind) == units


def test_live_counts_and_their_peak() -> None:
    k = kernel(
        "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, 1;\nmov.u32 %r2, 2;\nadd.u32 %r3, %r1, %r2;\n"
        "setp.eq.u32 %p1, %r3, 3;\n@%p1 mov.u32 %r3, 7;\nst.global.u32 [%rd1], %r3;\nret;"
    )
    found = ptx_liveness(k)
    assert found is not None
    assert found.live == (2, 3, 4, 4, 3, 3, 3, 0)
    assert found.predicates == (0, 0, 0, 0, 1, 1, 0, 0)
    assert (found.peak, found.peak_pc, found.peak_predicates) == (4, 2, 1)


def test_component_writes_do_not_kill() -> None:
    k = kernel("mov.f32 %v.x, %f1;\nmov.f32 %v.y, %f2;\nst.global.v4.f32 [%rd1], %v;\nret;")
    found = ptx_liveness(k)
    assert found is not None
    assert found.live[0] == 4 + 2 + 1 + 1


def test_empty_body() -> None:
    k = ptx.parse(HEAD + ".entry k { }").kernels[0]
    found = ptx_liveness(k)
    assert found is not None
    assert (found.live, found.peak, found.peak_pc) == ((), 0, None)

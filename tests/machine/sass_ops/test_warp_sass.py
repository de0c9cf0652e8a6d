"""Machine instructions across the lanes of a warp, tensor cores included, against their PTX."""

from __future__ import annotations

import numpy as np
import pytest

from machine.sass_ops.kernels import Cases, both, chosen

pytestmark = pytest.mark.cuda

CASES: Cases = {
    "shuffles": (
        "shfl.sync.idx.b32 %r8|%p0,%r0,%r1,0x1f,-1; shfl.sync.up.b32 %r9|%p1,%r2,%r3,0,-1;"
        "shfl.sync.down.b32 %r10|%p2,%r4,3,0x1f,-1; shfl.sync.bfly.b32 %r11,%r5,5,0x1c1f,-1;",
        "%r8 %r9 %r10 %r11 %p0 %p1 %p2", "int",
    ),
    "votes": (
        "setp.lt.u32 %p0,%r0,%r1; vote.sync.all.pred %p1,%p0,-1; vote.sync.any.pred %p2,%p0,-1;"
        "vote.sync.uni.pred %p3,%p0,-1; vote.sync.ballot.b32 %r8,%p0,-1; setp.ne.u32 %p4,%r31,-1;"
        "vote.sync.all.pred %p5,%p4,-1; activemask.b32 %r9; vote.sync.uni.pred %p6,%p4,-1;",
        "%r8 %r9 %p1 %p2 %p3 %p5 %p6", "int",
    ),
    "matches": (
        "and.b32 %s0,%r0,3; match.any.sync.b32 %r8,%s0,-1; match.any.sync.b64 %r9,%d1,-1;"
        "match.all.sync.b32 %r10|%p0,%s0,-1; match.all.sync.b64 %r11|%p1,%d2,-1; mov.u32 %s1,7;"
        "match.all.sync.b32 %r12|%p2,%s1,-1;",
        "%r8 %r9 %r10 %r11 %r12 %p0 %p1 %p2", "int",
    ),
}  # fmt: skip

HALVES: Cases = {
    "products of halves, m16n8k8": (
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f8,%f9,%f10,%f11},{%r0,%r1},{%r2},"
        "{%f4,%f5,%f6,%f7};"
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r12,%r13},{%r3,%r4},{%r5},{%r6,%r7};",
        "%f8 %f9 %f10 %f11 %r12 %r13", "small",
    ),
    "transposition": ("movmatrix.sync.aligned.m8n8.trans.b16 %r8,%r0;", "%r8", "small"),
    "products of bytes, m8n8k16": (
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r8,%r9},{%r0},{%r1},{%r2,%r3};"
        "mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32 {%r10,%r11},{%r4},{%r5},{%r6,%r7};"
        "mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32 {%r12,%r13},{%r0},{%r1},{%r2,%r3};",
        "%r8 %r9 %r10 %r11 %r12 %r13", "int",
    ),
}  # fmt: skip

AMPERE: Cases = {
    "reductions": (
        "redux.sync.add.u32 %r8,%r0,-1; redux.sync.min.u32 %r9,%r1,-1; redux.sync.max.s32 %r10,%r2,-1;"
        "redux.sync.and.b32 %r11,%r3,-1; redux.sync.or.b32 %r12,%r4,-1; redux.sync.xor.b32 %r13,%r5,-1;"
        "redux.sync.min.s32 %r14,%r6,-1; redux.sync.max.u32 %r15,%r7,-1;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15", "int",
    ),
    "products of halves, m16n8k16": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f8,%f9,%f10,%f11},{%r0,%r1,%r2,%r3},{%r4,%r5},"
        "{%f6,%f7,%f6,%f7};"
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f12,%f13,%f14,%f15},{%r0,%r1,%r2,%r3},"
        "{%r4,%r5},"
        "{%f6,%f7,%f6,%f7};",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "small",
    ),
    "products of tf32": (
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f8,%f9,%f10,%f11},{%r0,%r1,%r2,%r3},{%r4,%r5},"
        "{%f6,%f7,%f6,%f7};"
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f12,%f13,%f14,%f15},{%r0,%r1},{%r4},"
        "{%f6,%f7,%f6,%f7};",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "products of bytes, m16n8k32": (
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r8,%r9,%r10,%r11},{%r0,%r1,%r2,%r3},{%r4,%r5},"
        "{%r6,%r7,%r6,%r7};"
        "mma.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {%r12,%r13,%r14,%r15},{%r0,%r1,%r2,%r3},{%r4,%r5},"
        "{%r6,%r7,%r6,%r7};",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15", "int",
    ),
    "products of bits": (
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r8,%r9,%r10,%r11},{%r0,%r1,%r2,%r3},"
        "{%r4,%r5},{%r6,%r7,%r6,%r7};",
        "%r8 %r9 %r10 %r11", "int",
    ),
    "products of doubles": (
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e4,%e5},{%e0},{%e1},{%e2,%e3};",
        "%e4 %e5", "f64",
    ),
}  # fmt: skip
ADA: Cases = {
    "products of 8-bit floats": (
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f8,%f9,%f10,%f11},{%r0,%r1,%r2,%r3},"
        "{%r4,%r5},"
        "{%f6,%f7,%f6,%f7};",
        "%f8 %f9 %f10 %f11", "int",
    ),
}  # fmt: skip
HOPPER: Cases = {
    "election": (
        "elect.sync %r8|%p0,-1; setp.gt.u32 %p1,%r0,%r1; @%p1 add.u32 %r0,%r0,9;", "%r8 %r0 %p0", "int",
    ),
}  # fmt: skip
BLACKWELL: Cases = {
    "reductions of singles": (
        "redux.sync.min.f32 %f8,%f0,-1; redux.sync.max.abs.f32 %f9,%f1,-1;"
        "redux.sync.max.NaN.f32 %f10,%f2,-1;"
        "redux.sync.min.abs.NaN.f32 %f11,%f3,-1;", "%f8 %f9 %f10 %f11", "f32",
    ),
}  # fmt: skip


def table(arch: str) -> Cases:
    """The cases of an architecture."""
    found = {**CASES, **HALVES}
    sm = int("".join(c for c in arch if c.isdigit()))
    for least, cases in ((80, AMPERE), (90, HOPPER)):
        if sm >= least:
            found.update(cases)
    if sm in (89, 120):
        found.update(ADA)
    if arch == "sm_100a":
        found.update(BLACKWELL)
    if sm > 80:
        found.pop("products of bytes, m8n8k16")  # emulated by a call into another section
    return found


@pytest.mark.parametrize(("name", "arch"), chosen(table))
def test_same_as_ptx(name: str, arch: str) -> None:
    expected, got, _ = both(table(arch), name, arch)
    assert np.array_equal(expected, got), np.argwhere(expected != got)[:5]

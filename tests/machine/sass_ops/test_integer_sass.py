"""Integer machine instructions against the PTX they were compiled from, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from machine.sass_ops.kernels import Cases, both, chosen

pytestmark = pytest.mark.cuda

CASES = {
    "sums": (
        "add.u32 %r8,%r0,%r1; sub.u32 %r9,%r2,%r3; add.u64 %d5,%d0,%d2; sub.u64 %d6,%d1,%d3;"
        "neg.s32 %r14,%r4;"
        "add.sat.s32 %r15,%r5,%r6;", "%r8 %r9 %d5 %d6 %r14 %r15",
    ),
    "carry chains": (
        "add.cc.u32 %r8,%r0,%r1; addc.cc.u32 %r9,%r2,%r3; addc.u32 %r10,%r4,%r5;"
        "sub.cc.u32 %r11,%r0,%r1; subc.cc.u32 %r12,%r2,%r3; subc.u32 %r13,%r4,%r5;"
        "mad.lo.cc.u32 %r14,%r0,%r1,%r2; madc.hi.u32 %r15,%r0,%r1,%r3;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "immediates": (
        "add.u32 %r8,%r0,-5; sub.u32 %r9,100,%r1; add.u64 %d5,%d0,-8; and.b32 %r12,%r2,0xFF00FF;"
        "mad.lo.u32 %r13,%r3,-12,%r4; mul.lo.u32 %r14,%r5,24; add.u64 %d6, %d1, 0x123456789;"
        "cvt.u32.u64 %r15,%d6;",
        "%r8 %r9 %d5 %r12 %r13 %r14 %r15",
    ),
    "products": (
        "mul.lo.u32 %r8,%r0,%r1; mul.hi.u32 %r9,%r2,%r3; mul.hi.s32 %r10,%r4,%r5;"
        "mad.lo.u32 %r11,%r0,%r1,%r2;"
        "mul.wide.s32 %d6,%r3,%r4; mad.wide.u32 %d7,%r5,%r6,%d0;", "%r8 %r9 %r10 %r11 %d6 %d7",
    ),
    "products 2": (
        "mad.hi.u32 %r8,%r0,%r1,%r2; mad.hi.s32 %r9,%r2,%r3,%r4; mul.lo.u64 %d5,%d0,%d1;"
        "mul.hi.u64 %d6,%d2,%d3;"
        "mul24.lo.s32 %r14,%r5,%r6; mul.hi.s64 %t0,%d0,%d3; cvt.u32.u64 %r15,%t0;"
        "", "%r8 %r9 %d5 %d6 %r14 %r15",
    ),
    "division": (
        "div.u32 %r8,%r0,%r1; rem.u32 %r9,%r2,%r3; div.s32 %r10,%r4,%r5; rem.s32 %r11,%r6,%r7;"
        "div.u32 %r12,%r0,7; div.s32 %r13,%r1,-10; rem.u32 %r14,%r2,1000; div.s32 %r15,%r3,16;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "division 64": (
        "div.u64 %d4,%d0,%d1; rem.u64 %d5,%d2,%d3; div.s64 %d6,%d0,%d2; rem.s64 %d7,%d1,%d3;"
        "", "%d4 %d5 %d6 %d7",
    ),
    "shifts": (
        "shl.b32 %r8,%r0,%r1; shr.u32 %r9,%r2,%r3; shr.s32 %r10,%r4,%r5; shl.b64 %d6,%d0,%r6;"
        "shr.s64 %d7,%d1,%r7;"
        "shr.u32 %r11,%r1,3;", "%r8 %r9 %r10 %r11 %d6 %d7",
    ),
    "funnel": (
        "shf.l.clamp.b32 %r8,%r0,%r1,%r2; shf.l.wrap.b32 %r9,%r0,%r1,%r2; shf.r.clamp.b32 %r10,%r3,%r4,%r5;"
        "shf.r.wrap.b32 %r11,%r3,%r4,%r5; shr.u64 %d6,%d2,%r6; shl.b64 %d7,%d3,7;"
        "", "%r8 %r9 %r10 %r11 %d6 %d7",
    ),
    "logic": (
        "and.b32 %r8,%r0,%r1; or.b32 %r9,%r2,%r3; xor.b32 %r10,%r4,%r5; not.b32 %r11,%r6;"
        "cnot.b32 %r12,%r7;"
        "lop3.b32 %r13,%r0,%r1,%r2,0x1b; lop3.b32 %r14,%r3,%r4,%r5,0xe4; xor.b64 %t0,%d0,%d3;"
        "cvt.u32.u64 %r15,%t0;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "fields": (
        "bfe.u32 %r8,%r0,%r1,%r2; bfe.s32 %r9,%r3,%r4,%r5; bfi.b32 %r10,%r6,%r7,%r0,%r1;"
        "bfi.b32 %r11,%r2,%r3,5,9;"
        "bfe.u32 %r12,%r4,3,7; bfe.s32 %r13,%r5,8,8; szext.wrap.s32 %r14,%r6,%r7;"
        "szext.clamp.u32 %r15,%r6,%r7;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "bits": (
        "popc.b32 %r8,%r0; clz.b32 %r9,%r1; brev.b32 %r10,%r2; bfind.u32 %r11,%r3;"
        "bfind.shiftamt.s32 %r12,%r4;"
        "bmsk.clamp.b32 %r13,%r5,%r6; bmsk.wrap.b32 %r14,%r5,%r6; clz.b64 %r15,%d3;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "permutation": (
        "prmt.b32 %r8,%r0,%r1,%r2; prmt.b32 %r9,%r0,%r1,0x5410; prmt.b32 %r10,%r3,%r4,0x9ab1;"
        "prmt.b32.f4e %r11,%r0,%r1,%r2; prmt.b32.b4e %r12,%r0,%r1,%r2; prmt.b32.rc8 %r13,%r0,%r1,%r2;"
        "prmt.b32.ecl %r14,%r0,%r1,%r2; prmt.b32.rc16 %r15,%r0,%r1,%r2;"
        "", "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15",
    ),
    "extremes": (
        "min.u32 %r8,%r0,%r1; max.s32 %r9,%r2,%r3; abs.s32 %r10,%r4; min.s64 %d6,%d0,%d1;"
        "max.u64 %d7,%d2,%d3;"
        "sad.s32 %r11,%r5,%r6,%r7;", "%r8 %r9 %r10 %r11 %d6 %d7",
    ),
    "extremes of three": (
        "max.u32 %s0,%r0,%r1; max.u32 %r8,%s0,%r2; min.s32 %s0,%r3,%r4; min.s32 %r9,%s0,%r5;"
        "max.s16x2 %s0,%r0,%r1; max.s16x2 %r10,%s0,%r2; max.s32 %s0,%r4,%r5; max.s32.relu %r11,%s0,%r6;"
        "max.s32 %s0,%r0,%r1; min.s32 %r12,%s0,%r2; min.u32 %s0,%r3,%r4; max.u32 %r13,%s0,%r5;",
        "%r8 %r9 %r10 %r11 %r12 %r13",
    ),
    "bytes": (
        "dp4a.u32.u32 %r8,%r0,%r1,%r2; dp4a.s32.u32 %r9,%r0,%r1,%r2; dp2a.lo.s32.s32 %r10,%r3,%r4,%r5;"
        "dp2a.hi.u32.s32 %r11,%r3,%r4,%r5; vabsdiff4.u32.u32.u32 %r12,%r0,%r1,%r2;"
        "vabsdiff4.u32.u32.u32.add %r13,%r0,%r1,%r2; sad.u32 %r14,%r5,%r6,%r7;"
        "", "%r8 %r9 %r10 %r11 %r12 %r13 %r14",
    ),
    "packs": (
        "cvt.pack.sat.s16.s32 %r8,%r0,%r1; cvt.pack.sat.u8.s32.b32 %r9,%r2,%r3,%r4;"
        "cvt.sat.s8.s32 %r10,%r5;"
        "cvt.sat.u16.s32 %r11,%r6; cvt.s32.s8 %r12,%r7; cvt.u16.u32 %h2,%r1; cvt.s32.s16 %r13,%h2;"
        "cvt.s64.s32 %d7,%r0;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %d7",
    ),
    "comparisons": (
        "setp.lt.u32 %p0,%r0,%r1; setp.ge.s32 %p1,%r0,%r1; setp.eq.and.u32 %p2,%r2,%r3,%p0;"
        "setp.ne.xor.s32 %p3,%r4,%r5,%p1; setp.lt.u64 %p4,%d0,%d1; setp.le.s64 %p5,%d2,%d3;"
        "setp.ne.u64 %p6,%d0,%d2;"
        "setp.gt.s32 %p7,%r6,-1;", "%p0 %p1 %p2 %p3 %p4 %p5 %p6 %p7",
    ),
    "predicates": (
        "setp.lt.u32 %p0|%p1,%r0,%r1; and.pred %p2,%p0,%p1; or.pred %p3,%p0,%p1;"
        "xor.pred %p4,%p0,%p1; not.pred %p5,%p0; selp.b32 %r8,%r2,%r3,%p0; selp.b64 %d5,%d1,%d2,%p1;"
        "slct.u32.s32 %r9,%r4,%r5,%r6; set.ge.u32.s32 %r12,%r0,%r1; @%p0 add.u32 %r8,%r8,1;",
        "%r8 %r9 %d5 %r12 %p2 %p4 %p5",
    ),
    "scaled sums": (
        "shl.b32 %s0,%r0,4; add.u32 %r8,%s0,%r1; mul.wide.s32 %t0,%r2,8; add.u64 %d5,%d0,%t0;"
        "mul.wide.u32 %t1,%r3,4; add.u64 %d6,%d1,%t1; shl.b64 %t2,%d2,3; add.u64 %d7,%t2,%d3;"
        "sub.u32 %r9,%r1,%s0;",
        "%r8 %r9 %d5 %d6 %d7",
    ),
}  # fmt: skip


#: Packed minima and .relu came with sm_90.
SINCE_90 = ("extremes of three",)


def table(arch: str) -> Cases:
    """The cases of an architecture."""
    young = int("".join(c for c in arch if c.isdigit())) >= 90
    return {name: (*case, "int") for name, case in CASES.items() if young or name not in SINCE_90}


@pytest.mark.parametrize(("name", "arch"), chosen(table))
def test_same_as_ptx(name: str, arch: str) -> None:
    expected, got, _ = both(table(arch), name, arch)
    assert np.array_equal(expected, got), np.argwhere(expected != got)[:5]

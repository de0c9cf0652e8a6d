"""Floating-point machine instructions against the PTX they were compiled from.

Everything that rounds correctly is compared bit for bit, divisions and roots included: ptxas builds them
from approximations that correct themselves. Approximate functions are compared within a few units in the
last place, since PTX's own result and the machine code's are different roundings of the same value.
"""

from __future__ import annotations

import numpy as np
import pytest

from machine.sass_ops.kernels import Cases, both, chosen

pytestmark = pytest.mark.cuda

CASES = {
    "single": (
        "add.f32 %f8,%f0,%f1; sub.f32 %f9,%f2,%f3; mul.f32 %f10,%f4,%f5; fma.rn.f32 %f11,%f0,%f1,%f2;"
        "abs.f32 %f12,%f6; neg.f32 %f13,%f7; fma.rn.f32 %f14,%f3,%f4,1.5; neg.f32 %f15,%f0;"
        "mul.f32 %f15,%f15,0f40490FDB;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "rounding": (
        "add.rm.f32 %f8,%f0,%f1; sub.rp.f32 %f9,%f2,%f3; mul.rz.f32 %f10,%f4,%f5;"
        "fma.rm.f32 %f11,%f0,%f1,%f2;"
        "fma.rp.f32 %f12,%f3,%f4,%f5; fma.rz.f32 %f13,%f4,%f5,%f6; mul.rp.f32 %f14,%f6,%f7;"
        "add.rz.f32 %f15,%f0,%f7;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "ftz and sat": (
        "add.ftz.f32 %f8,%f0,%f1; mul.ftz.sat.f32 %f9,%f2,%f3; fma.rn.ftz.f32 %f10,%f4,%f5,%f6;"
        "add.sat.f32 %f11,%f6,%f7;"
        "fma.rn.sat.f32 %f12,%f1,%f2,%f3; min.ftz.f32 %f13,%f0,%f1; abs.ftz.f32 %f14,%f5;"
        "cvt.sat.f32.f32 %f15,%f7;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "extremes": (
        "min.f32 %f8,%f0,%f1; max.f32 %f9,%f2,%f3; min.f32 %f10,%f4,0f40000000;"
        "setp.lt.f32 %p0,%f0,%f1; setp.geu.f32 %p1,%f2,%f3; setp.nan.f32 %p2,%f4,%f5;"
        "setp.ne.and.f32 %p3,%f6,%f7,%p0;"
        "setp.equ.ftz.f32 %p4,%f0,%f2;",
        "%f8 %f9 %f10 %p0 %p1 %p2 %p3 %p4", "f32",
    ),
    "selections": (
        "setp.gt.f32 %p0,%f0,%f1; selp.f32 %f8,%f2,%f3,%p0; set.lt.f32.f32 %f9,%f0,%f1;"
        "set.ge.u32.f32 %r10,%f2,%f3;"
        "slct.f32.f32 %f11,%f4,%f5,%f6; copysign.f32 %f12,%f0,%f1; testp.finite.f32 %p1,%f2;"
        "testp.subnormal.f32 %p2,%f3;",
        "%f8 %f9 %r10 %f11 %f12 %p1 %p2", "f32",
    ),
    "division": (
        "div.rn.f32 %f8,%f0,%f1; div.rn.f32 %f9,%f2,%f3; rcp.rn.f32 %f10,%f4; sqrt.rn.f32 %f11,%f5;"
        "div.rn.ftz.f32 %f12,%f6,%f7;"
        "div.rn.f32 %f13,%f4,%f7; sqrt.rn.ftz.f32 %f14,%f3; rcp.rn.ftz.f32 %f15,%f2;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "division, directed": (
        "div.rm.f32 %f8,%f0,%f1; div.rp.f32 %f9,%f2,%f3; div.rz.f32 %f10,%f4,%f5;"
        "rcp.rm.f32 %f11,%f6; rcp.rp.f32 %f12,%f7;"
        "sqrt.rm.f32 %f13,%f0; sqrt.rp.f32 %f14,%f2; sqrt.rz.f32 %f15,%f4;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "double": (
        "add.f64 %e4,%e0,%e1; mul.f64 %e5,%e2,%e3; fma.rn.f64 %e6,%e0,%e1,%e2; sub.f64 %e7,%e1,%e3;",
        "%e4 %e5 %e6 %e7", "f64",
    ),
    "double, directed": (
        "add.rm.f64 %e4,%e0,%e1; mul.rp.f64 %e5,%e2,%e3; fma.rz.f64 %e6,%e0,%e1,%e2;"
        "fma.rm.f64 %e7,%e1,%e3,1.5;",
        "%e4 %e5 %e6 %e7", "f64",
    ),
    "double comparisons": (
        "min.f64 %e4,%e0,%e1; max.f64 %e5,%e2,%e3; setp.lt.f64 %p0,%e0,%e1; setp.neu.f64 %p1,%e2,%e3;"
        "setp.num.f64 %p2,%e0,%e2; abs.f64 %e8,%e1; add.f64 %e6,%e8,2.5;", "%e4 %e5 %e6 %p0 %p1", "f64",
    ),
    "double division": (
        "div.rn.f64 %e4,%e0,%e1; rcp.rn.f64 %e5,%e2; sqrt.rn.f64 %e6,%e3; div.rn.f64 %e7,%e2,%e3;",
        "%e4 %e5 %e6 %e7", "f64",
    ),
    "conversions of singles": (
        "cvt.rni.s32.f32 %r8,%f0; cvt.rzi.u32.f32 %r9,%f1; cvt.rmi.s32.f32 %r10,%f2;"
        "cvt.rpi.s32.f32 %r11,%f3;"
        "cvt.rzi.s64.f32 %d6,%f4; cvt.rni.f32.f32 %f14,%f5; cvt.rzi.ftz.s32.f32 %r15,%f6;",
        "%r8 %r9 %r10 %r11 %d6 %f14 %r15", "f32",
    ),
    "small conversions of singles": (
        "cvt.rmi.f32.f32 %f8,%f0; cvt.rzi.f32.f32 %f9,%f1; cvt.rpi.f32.f32 %f10,%f2;"
        "cvt.rzi.u64.f32 %d6,%f3;"
        "cvt.rzi.s16.f32 %h0,%f4; cvt.s32.s16 %r11,%h0; cvt.rzi.u8.f32 %h1,%f5;"
        "cvt.u32.u16 %r14,%h1; cvt.f64.f32 %e8,%f6;"
        "add.f64 %e8,%e8,%e8; cvt.rn.f32.f64 %f15,%e8;",
        "%f8 %f9 %f10 %r11 %d6 %r14 %f15", "f32",
    ),
    "conversions of doubles": (
        "cvt.rzi.s32.f64 %r8,%e0; cvt.rni.u32.f64 %r9,%e1; cvt.rzi.s64.f64 %d5,%e2;"
        "cvt.rn.f32.f64 %f12,%e3;"
        "cvt.rz.f32.f64 %f13,%e0; cvt.rmi.f64.f64 %e7,%e1;", "%r8 %r9 %d5 %f12 %f13 %e7", "f64",
    ),
    "conversions of integers": (
        "cvt.rn.f32.s32 %f8,%r0; cvt.rz.f32.u32 %f9,%r1; cvt.rn.f64.s32 %e5,%r2; cvt.rn.f64.u64 %e6,%d2;"
        "cvt.rn.f32.u64 %f14,%d3; cvt.u16.u32 %h1,%r3; cvt.rn.f32.s16 %f15,%h1;",
        "%f8 %f9 %e5 %e6 %f14 %f15", "int",
    ),
    "conversions of integers 2": (
        "cvt.rp.f32.s32 %f8,%r0; cvt.rm.f32.u64 %f9,%d1; cvt.u16.u32 %h1,%r1;"
        "cvt.rn.f32.u8 %f10,%h1; cvt.rn.f32.s8 %f11,%h1;"
        "cvt.rn.f64.s64 %e6,%d2; cvt.rn.f16.s32 %h2,%r7; cvt.u32.u16 %r14,%h2; cvt.rz.f32.s64 %f15,%d3;",
        "%f8 %f9 %f10 %f11 %e6 %r14 %f15", "int",
    ),
    "halves": (
        "add.f16x2 %r8,%r0,%r1; mul.f16x2 %r9,%r2,%r3; fma.rn.f16x2 %r10,%r4,%r5,%r6;"
        "sub.f16x2 %r11,%r6,%r7;"
        "neg.f16x2 %r12,%r0; abs.f16x2 %r13,%r1; fma.rn.sat.f16x2 %r14,%r0,%r2,%r4;"
        "add.sat.f16x2 %r15,%r3,%r5;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15", "half",
    ),
    "single halves": (
        "mov.b32 {%h0,%h1},%r0; mov.b32 {%h2,%h3},%r1; add.f16 %h4,%h0,%h3;"
        "fma.rn.f16 %h5,%h1,%h2,%h3; mul.f16 %h6,%h0,%h1;"
        "cvt.f32.f16 %f8,%h0; cvt.f32.f16 %f9,%h3; setp.lt.f16 %p0,%h0,%h2;"
        "cvt.rzi.s32.f16 %r11,%h1; cvt.f64.f16 %e8,%h2;"
        "cvt.rn.f32.f64 %f12,%e8;", "%f8 %f9 %h4 %r11 %f12 %h5 %h6 %p0", "half",
    ),
    "half comparisons": (
        "set.lt.f16x2.f16x2 %r8,%r0,%r1; set.ne.u32.f16x2 %r9,%r2,%r3; setp.ge.f16x2 %p0|%p1,%r4,%r5;"
        "set.geu.f16x2.f16x2 %r10,%r6,%r7;", "%r8 %r9 %r10 %p0 %p1", "half",
    ),
    "to halves": (
        "cvt.rn.f16.f32 %h0,%f0; cvt.rz.f16.f32 %h1,%f1; cvt.rn.f16.f64 %h2,%e1;"
        "cvt.rn.sat.f16.f32 %h3,%f4;",
        "%h0 %h1 %h3", "f32",
    ),
}  # fmt: skip

AMPERE = {
    "half extremes": (
        "min.f16x2 %r8,%r0,%r1; max.f16x2 %r9,%r2,%r3; max.NaN.f16x2 %r10,%r4,%r5;"
        "fma.rn.relu.f16x2 %r11,%r5,%r6,%r7;"
        "min.bf16x2 %r12,%r0,%r1; fma.rn.bf16x2 %r13,%r2,%r3,%r4; neg.bf16x2 %r14,%r5;"
        "fma.rn.relu.bf16x2 %r15,%r0,%r6,%r7;",
        "%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15", "half",
    ),
    "packs": (
        "cvt.rn.f16x2.f32 %r8,%f0,%f1; cvt.rz.f16x2.f32 %r9,%f2,%f3; cvt.rn.bf16x2.f32 %r10,%f4,%f5;"
        "cvt.rn.relu.f16x2.f32 %r11,%f6,%f7; cvt.rn.bf16.f32 %h0,%f0;"
        "cvt.rz.bf16x2.f32 %r13,%f1,%f2; min.NaN.f32 %f14,%f3,%f4;"
        "min.f32 %f16,%f5,0f7F000000; cvt.rna.tf32.f32 %r15,%f16;"
        "", "%r8 %r9 %r10 %r11 %h0 %r13 %f14 %r15", "f32",
    ),
}  # fmt: skip
HOPPER = {
    "bf16": (
        "add.bf16x2 %r8,%r0,%r1; mul.bf16x2 %r9,%r2,%r3; sub.bf16x2 %r10,%r4,%r5;"
        "set.lt.bf16x2.bf16x2 %r11,%r6,%r7;",
        "%r8 %r9 %r10 %r11", "half",
    ),
    "small floats": (
        "cvt.rn.satfinite.e4m3x2.f32 %h0,%f0,%f1; cvt.rn.satfinite.relu.e5m2x2.f32 %h1,%f2,%f3;"
        "cvt.rn.f16x2.e4m3x2 %r10,%h0; cvt.rn.f16x2.e5m2x2 %r11,%h1; cvt.rn.f16x2.f32 %s0,%f4,%f5;"
        "cvt.rn.satfinite.e4m3x2.f16x2 %h2,%s0; cvt.rn.relu.f16x2.e4m3x2 %r13,%h2;"
        "", "%h0 %h1 %r10 %r11 %h2 %r13", "f32",
    ),
}  # fmt: skip
BLACKWELL = {
    "pairs of singles": (
        "fma.rn.f32x2 %d4,%d0,%d1,%d2; add.rz.ftz.f32x2 %d5,%d1,%d3; mul.rn.f32x2 %d6,%d0,%d3;"
        "add.rn.f32x2 %d7,%d2,%d3;",
        "%d4 %d5 %d6 %d7", "f32",
    ),
}  # fmt: skip


def table(arch: str) -> Cases:
    """The cases of an architecture."""
    found = dict(CASES)
    sm = int("".join(c for c in arch if c.isdigit()))
    for least, cases in ((80, AMPERE), (90, HOPPER), (100, BLACKWELL)):
        if sm >= least:
            found.update(cases)
    return found


@pytest.mark.parametrize(("name", "arch"), chosen(table))
def test_same_as_ptx(name: str, arch: str) -> None:
    expected, got, _ = both(table(arch), name, arch)
    assert np.array_equal(expected, got), np.argwhere(expected != got)[:5]

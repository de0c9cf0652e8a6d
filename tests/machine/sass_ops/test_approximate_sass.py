"""Approximate functions: machine code and PTX are roundings of the same value, a few units apart at most."""

from __future__ import annotations

import numpy as np
import pytest

from machine.sass_ops.kernels import Cases, both, chosen

pytestmark = pytest.mark.cuda

CASES: Cases = {
    "special functions": (
        "rcp.approx.f32 %f8,%f0; rsqrt.approx.f32 %f9,%f1; sqrt.approx.f32 %f10,%f2;"
        "lg2.approx.f32 %f11,%f3;"
        "div.approx.f32 %f12,%f4,%f5; div.full.f32 %f13,%f6,%f7; ex2.approx.f32 %f14,%f0;"
        "tanh.approx.f32 %f15,%f1;",
        "%f8 %f9 %f10 %f11 %f12 %f13 %f14 %f15", "f32",
    ),
    "with flush to zero": (
        "rcp.approx.ftz.f32 %f8,%f0; rsqrt.approx.ftz.f32 %f9,%f1; sqrt.approx.ftz.f32 %f10,%f2;"
        "lg2.approx.ftz.f32 %f11,%f3; ex2.approx.ftz.f32 %f14,%f0; div.approx.ftz.f32 %f15,%f4,%f5;",
        "%f8 %f9 %f10 %f11 %f14 %f15", "f32",
    ),
}  # fmt: skip
ANGLES: Cases = {
    "angles": (
        "cvt.rn.f32.s32 %f0,%r0; mul.f32 %f0,%f0,0f2F000000; sin.approx.f32 %f8,%f0;"
        "cos.approx.f32 %f9,%f0;",
        "%f8 %f9", "int",
    ),
}  # fmt: skip


def table(arch: str) -> Cases:
    """The cases of an architecture."""
    return CASES


@pytest.mark.parametrize(("name", "arch"), chosen(table))
def test_within_a_few_units(name: str, arch: str) -> None:
    expected, got, _ = both(CASES, name, arch)
    x, y = expected.view(np.float32).astype(np.float64), got.view(np.float32).astype(np.float64)
    assert np.array_equal(np.isnan(x), np.isnan(y))
    same = (expected == got) | np.isnan(x)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= np.maximum(np.abs(x) * 4 * 2.0**-24, 2.0**-126)
    assert (same | near).all(), np.argwhere(~(same | near))[:5]


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_angles(arch: str) -> None:
    """Sine and cosine lose the bits that the multiplication by 1/(2 pi) rounds away: angles up to 16 here."""
    expected, got, _ = both(ANGLES, "angles", arch)
    x, y = expected.view(np.float32), got.view(np.float32)
    assert np.abs(x - y).max() < 4e-6

"""Floating-point opcodes against exact fractions rounded once, in every mode."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine import scalar_reference as ref
from machine.lanes import FAST, floats, patterns, run

MODES = ("rn", "rz", "rm", "rp")


def check(opcode, name, rule, *columns):
    """Patterns equal; any NaN matches a NaN for f64 (payloads pass through), the canonical one elsewhere."""
    got = run(opcode, *columns)
    for row, value in zip(zip(*columns, strict=True), got, strict=True):
        want = rule(*row)
        if name == "f64" and ref.is_nan(want, name):
            assert ref.is_nan(value, name), (opcode, [hex(v) for v in row], hex(value))
        else:
            assert value == want, (opcode, [hex(v) for v in row], hex(value), hex(want))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@given(st.data())
@FAST
def test_add_mul_fma_div_sqrt(name, mode, data):
    a, b, c = (data.draw(floats(name)) for _ in range(3))
    sign = 1 << (31 if name == "f32" else 63)
    check(f"add.{mode}.{name}", name, lambda x, y: ref.add(x, y, name, mode), a, b)
    check(f"sub.{mode}.{name}", name, lambda x, y: ref.add(x, y ^ sign, name, mode), a, b)
    check(f"mul.{mode}.{name}", name, lambda x, y: ref.mul(x, y, name, mode), a, b)
    check(f"fma.{mode}.{name}", name, lambda x, y, z: ref.fma(x, y, z, name, mode), a, b, c)
    check(f"div.{mode}.{name}", name, lambda x, y: ref.div(x, y, name, mode), a, b)
    check(f"sqrt.{mode}.{name}", name, lambda x: ref.sqrt(x, name, mode), a)
    one = 0x3F800000 if name == "f32" else 0x3FF0000000000000
    check(f"rcp.{mode}.{name}", name, lambda x: ref.div(one, x, name, mode), a)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@given(st.data())
@FAST
def test_fma_of_products_that_nearly_cancel(name, mode, data):
    a, b = data.draw(floats(name)), data.draw(floats(name))
    sign = 1 << (31 if name == "f32" else 63)
    product = run(f"mul.rn.{name}", a, b)
    nudge = data.draw(st.lists(st.integers(-2, 2), min_size=len(a), max_size=len(a)))
    top = 2 * sign - 1
    c = [((p ^ sign) + k) & top for p, k in zip(product, nudge)]
    check(f"fma.{mode}.{name}", name, lambda x, y, z: ref.fma(x, y, z, name, mode), a, b, c)


@pytest.mark.parametrize("mode", MODES)
@given(st.data())
@FAST
def test_f64_fma_at_the_ends_of_the_range(mode, data):
    word = st.builds(
        lambda s, e, m: (s << 63) | (e << 52) | m,
        st.integers(0, 1),
        st.sampled_from([0, 1, 2, 3, 50, 511, 512, 960, 1023, 1500, 2044, 2045, 2046]),
        st.one_of(st.integers(0, 2**52 - 1), st.sampled_from([0, 1, 2**52 - 1, 2**51])),
    )
    column = st.lists(word, min_size=24, max_size=24)
    a, b, c = data.draw(column), data.draw(column), data.draw(column)
    check(f"fma.{mode}.f64", "f64", lambda x, y, z: ref.fma(x, y, z, "f64", mode), a, b, c)
    check(f"mul.{mode}.f64", "f64", lambda x, y: ref.mul(x, y, "f64", mode), a, b)
    check(f"add.{mode}.f64", "f64", lambda x, y: ref.add(x, y, "f64", mode), a, b)
    check(f"div.{mode}.f64", "f64", lambda x, y: ref.div(x, y, "f64", mode), a, b)


def test_f32_fma_that_double_rounding_gets_wrong():
    # 1 + 2^-23 squared plus a tiny value: the float64 sum falls exactly between two floats.
    a = 0x3F800001
    c = struct.unpack("<I", struct.pack("<f", 2.0**-77))[0]
    assert run("fma.rn.f32", [a], [0x3F800000], [c]) == [a]
    x, y, z = 0x3F800800, 0x3F800800, 0x27000001
    assert run("fma.rn.f32", [x], [y], [z]) == [ref.fma(x, y, z, "f32")]
    # 0x1.000002p0 * 0x1.000002p0 has its last bit 2^-46; a sticky far below must break the tie upwards.
    assert run("fma.rn.f32", [0x3F800001], [0x34000000], [0x3F800000]) == [
        ref.fma(0x3F800001, 0x34000000, 0x3F800000, "f32")
    ]


@pytest.mark.parametrize("name", ["f16", "bf16"])
@given(st.data())
@FAST
def test_half_arithmetic(name, data):
    a, b, c = (data.draw(floats(name)) for _ in range(3))
    check(f"add.{name}", name, lambda x, y: ref.add(x, y, name), a, b)
    check(f"sub.rn.{name}", name, lambda x, y: ref.add(x, y ^ 0x8000, name), a, b)
    check(f"mul.{name}", name, lambda x, y: ref.mul(x, y, name), a, b)
    check(f"fma.rn.{name}", name, lambda x, y, z: ref.fma(x, y, z, name), a, b, c)

    def rectified(x, y, z):
        r = ref.fma(x, y, z, name)
        return r if ref.is_nan(r, name) else 0 if r & 0x8000 else r

    check(f"fma.rn.relu.{name}", name, rectified, a, b, c)
    pairs = [[(hi << 16) | lo for hi, lo in zip(col[1:] + col[:1], col)] for col in (a, b, c)]
    got = run(f"fma.rn.{name}x2", *pairs)
    for x, y, z, r in zip(*pairs, got):
        for k in (0, 16):
            assert (r >> k) & 0xFFFF == ref.fma(x >> k & 0xFFFF, y >> k & 0xFFFF, z >> k & 0xFFFF, name)


def _flush(bits):
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


def _sat(bits):
    value = ref.signed_value(bits, "f32")
    if value in ("nan", "-inf"):
        return 0
    if value == "inf":
        return 0x3F800000
    return ref.round_fraction(min(max(value, Fraction(0)), Fraction(1)), "f32", "rn", 0)


@pytest.mark.parametrize("mode", MODES)
@given(floats("f32"), floats("f32"), floats("f32"))
@FAST
def test_f32_flush_and_saturate(mode, a, b, c):
    def ftz(rule):
        return lambda *xs: _flush(rule(*map(_flush, xs)))

    check(f"add.{mode}.ftz.f32", "f32", ftz(lambda x, y: ref.add(x, y, "f32", mode)), a, b)
    check(f"mul.{mode}.ftz.f32", "f32", ftz(lambda x, y: ref.mul(x, y, "f32", mode)), a, b)
    check(f"fma.{mode}.ftz.f32", "f32", ftz(lambda x, y, z: ref.fma(x, y, z, "f32", mode)), a, b, c)
    check(f"fma.{mode}.sat.f32", "f32", lambda x, y, z: _sat(ref.fma(x, y, z, "f32", mode)), a, b, c)
    check(
        f"add.{mode}.ftz.sat.f32", "f32",
        lambda x, y: _sat(ftz(lambda p, q: ref.add(p, q, "f32", mode))(x, y)), a, b,
    )  # fmt: skip
    check("div.rn.ftz.f32", "f32", ftz(lambda x, y: ref.div(x, y, "f32")), a, b)
    check("div.full.f32", "f32", lambda x, y: ref.div(x, y, "f32"), a, b)
    check("abs.f32", "f32", lambda x: x & 0x7FFFFFFF, [x for x in a if not ref.is_nan(x, "f32")] or [0])
    check("neg.ftz.f32", "f32", lambda x: _flush(x) ^ 0x80000000, [0, 1, 0x3F800000])


@given(floats("f32"), floats("f32"), floats("f32"))
@FAST
def test_packed_f32x2(a, b, c):
    pairs = [[(hi << 32) | lo for hi, lo in zip(col[1:] + col[:1], col)] for col in (a, b, c)]
    for mode in MODES:
        got = run(f"fma.{mode}.f32x2", *pairs)
        for x, y, z, r in zip(*pairs, got):
            for k in (0, 32):
                low = 0xFFFFFFFF
                assert r >> k & low == ref.fma(x >> k & low, y >> k & low, z >> k & low, "f32", mode)
    assert run("add.rn.f32x2", pairs[0], pairs[1]) == [
        ref.add(x & 0xFFFFFFFF, y & 0xFFFFFFFF, "f32") | ref.add(x >> 32, y >> 32, "f32") << 32
        for x, y in zip(pairs[0], pairs[1])
    ]


@pytest.mark.parametrize("source", ["f16", "bf16"])
@given(st.data())
@FAST
def test_mixed_precision(source, data):
    a, b = data.draw(floats(source)), data.draw(floats(source))
    c = data.draw(floats("f32"))

    def wide(x):
        return ref.convert(x, source, "f32")

    for mode in MODES:
        check(f"add.{mode}.f32.{source}", "f32", lambda x, z: ref.add(wide(x), z, "f32", mode), a, c)
        check(
            f"sub.{mode}.f32.{source}", "f32", lambda x, z: ref.add(wide(x), z ^ (1 << 31), "f32", mode), a, c
        )
        check(
            f"fma.{mode}.f32.{source}", "f32",
            lambda x, y, z: ref.fma(wide(x), wide(y), z, "f32", mode), a, b, c,
        )  # fmt: skip


def _extreme(larger, propagate, name, width):
    nan = ref.FORMATS[name][3]
    sign = 1 << (width - 1)

    def rule(x, y):
        xn, yn = ref.is_nan(x, name), ref.is_nan(y, name)
        if (xn and yn) or (propagate and (xn or yn)):
            return nan
        if xn or yn:
            return y if xn else x

        def key(v):
            value = ref.signed_value(v, name)
            value = {"inf": math.inf, "-inf": -math.inf}.get(value, value)
            return (value, 0 if v & sign else 1)

        return max(x, y, key=key) if larger else min(x, y, key=key)

    return rule


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "bf16"])
@given(st.data())
@FAST
def test_min_max(name, data):
    width = ref.FORMATS[name][2]
    a, b = data.draw(floats(name)), data.draw(floats(name))
    for larger, base in ((True, "max"), (False, "min")):
        check(f"{base}.{name}", name, _extreme(larger, False, name, width), a, b)
        if name == "f64":
            continue
        check(f"{base}.NaN.{name}", name, _extreme(larger, True, name, width), a, b)
        magnitude = (1 << (width - 1)) - 1
        plain = _extreme(larger, False, name, width)

        def xorsign(x, y, plain=plain):
            r = plain(x & magnitude, y & magnitude)
            return r if ref.is_nan(r, name) else r | ((x ^ y) & ~magnitude)

        check(f"{base}.xorsign.abs.{name}", name, xorsign, a, b)


def test_min_max_by_hand():
    assert run("max.f32", [0x80000000, 0x7FC00001, 0x7FC00001], [0, 0x3F800000, 0x7F800001]) == [
        0, 0x3F800000, 0x7FFFFFFF,
    ]  # fmt: skip
    assert run("min.f32", [0, 0x80000000], [0x80000000, 0]) == [0x80000000, 0x80000000]
    assert run("max.NaN.f32", [0x7FC00001], [0x3F800000]) == [0x7FFFFFFF]
    assert run("max.f32", [0x3F800000], [0x40000000], [0x40400000]) == [0x40400000]
    assert run("min.abs.f32", [0xBF800000], [0x40000000], [0xC0400000]) == [0x3F800000]


COMPARE = {
    "eq": (lambda x, y: x == y, False), "ne": (lambda x, y: x != y, False), "lt": (lambda x, y: x < y, False),
    "le": (lambda x, y: x <= y, False), "gt": (lambda x, y: x > y, False), "ge": (lambda x, y: x >= y, False),
    "equ": (lambda x, y: x == y, True), "neu": (lambda x, y: x != y, True), "ltu": (lambda x, y: x < y, True),
    "leu": (lambda x, y: x <= y, True), "gtu": (lambda x, y: x > y, True), "geu": (lambda x, y: x >= y, True),
    "num": (lambda x, y: True, False), "nan": (lambda x, y: False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "bf16"])
@given(st.data())
@FAST
def test_comparisons(name, data):
    a, b = data.draw(floats(name)), data.draw(floats(name))
    a = a + b[:4] + [0x8000 << (ref.FORMATS[name][2] - 16)]
    b = b + b[:4] + [0]

    def value(bits):
        v = ref.signed_value(bits, name)
        return {"inf": math.inf, "-inf": -math.inf}.get(v, v)

    for cmp, (rule, unordered) in COMPARE.items():

        def want(x, y, rule=rule, unordered=unordered):
            if ref.is_nan(x, name) or ref.is_nan(y, name):
                return unordered
            return rule(value(x), value(y))

        assert run(f"setp.{cmp}.{name}", a, b) == [int(want(x, y)) for x, y in zip(a, b)]
        if name == "f32":
            assert run(f"set.{cmp}.f32.f32", a, b) == [0x3F800000 * want(x, y) for x, y in zip(a, b)]
        p, q = run(f"setp.{cmp}.or.{name}", a, b, [0, 1] * 14 + [0], shape="p r r r")
        assert p == [int(want(x, y) or k % 2 == 1) for k, (x, y) in enumerate(zip(a, b))]
        assert q == [int(not want(x, y) or k % 2 == 1) for k, (x, y) in enumerate(zip(a, b))]


def test_setp_pairs_and_flush():
    assert run("setp.gt.f16x2", [0x3C004000], [0x40003C00], shape="p r r") == ([1], [0])
    assert run("setp.eq.ftz.f32", [1], [0x80000001]) == [1]
    assert run("setp.eq.f32", [1], [0x80000001]) == [0]
    assert run("set.gt.f16x2.f16x2", [0x3C004000], [0x40003C00]) == [0x00003C00]
    assert run("slct.f32.f32", [1] * 3, [2] * 3, [0x80000000, 0x7FC00000, 0xBF800000]) == [1, 2, 2]


def test_testp_and_copysign():
    column = [0, 0x80000000, 1, 0x00800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]
    assert run("testp.finite.f32", column) == [1, 1, 1, 1, 0, 0, 0, 1]
    assert run("testp.infinite.f32", column) == [0, 0, 0, 0, 1, 1, 0, 0]
    assert run("testp.number.f32", column) == [1, 1, 1, 1, 1, 1, 0, 1]
    assert run("testp.notanumber.f32", column) == [0, 0, 0, 0, 0, 0, 1, 0]
    assert run("testp.normal.f32", column) == [1, 1, 0, 1, 0, 0, 0, 1]
    assert run("testp.subnormal.f32", column) == [0, 0, 1, 0, 0, 0, 0, 0]
    assert run("testp.subnormal.f64", [1, 1 << 52]) == [1, 0]
    # copysign.f32 d, a, b: sign of a, magnitude of b.
    assert run("copysign.f32", [0x80000000], [0x3F800000]) == [0xBF800000]
    assert run("copysign.f64", [0], [0xBFF0000000000000]) == [0x3FF0000000000000]


def _ulps(got: int, exact: float) -> float:
    value = struct.unpack("<f", struct.pack("<I", got))[0]
    spacing = max(abs(exact) * 2.0**-23, 2.0**-149)
    return abs(value - exact) / spacing


@given(st.lists(st.floats(-100, 100, width=32), min_size=16, max_size=16))
@FAST
def test_approximate_functions_stay_inside_the_stated_bounds(values):
    bits = [struct.unpack("<I", struct.pack("<f", v))[0] for v in values]
    for name, function, domain in (
        ("ex2.approx", lambda x: 2.0**x, lambda x: True),
        ("sin.approx", math.sin, lambda x: True),
        ("cos.approx", math.cos, lambda x: True),
        ("tanh.approx", math.tanh, lambda x: True),
        ("lg2.approx", math.log2, lambda x: x > 0),
        ("sqrt.approx", math.sqrt, lambda x: x > 0),
        ("rsqrt.approx", lambda x: 1 / math.sqrt(x), lambda x: x > 0),
        ("rcp.approx", lambda x: 1 / x, lambda x: abs(x) > 1e-37),
    ):
        for got, x in zip(run(f"{name}.f32", bits), values):
            if domain(x):
                assert _ulps(got, function(x)) <= 1.0, (name, x)


def test_special_cases_of_approximate_functions():
    inf, ninf, nan, zero, nzero, one = 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0, 0x80000000, 0x3F800000
    assert run("rcp.approx.f32", [inf, ninf, zero, nzero, 0x7FC00000]) == [zero, nzero, inf, ninf, nan]
    assert run("rsqrt.approx.f32", [zero, nzero, inf, ninf, 0xBF800000]) == [inf, ninf, zero, nan, nan]
    assert run("sqrt.approx.f32", [zero, nzero, inf, ninf]) == [zero, nzero, inf, nan]
    assert run("lg2.approx.f32", [zero, nzero, inf, 0xBF800000, one]) == [ninf, ninf, inf, nan, zero]
    assert run("ex2.approx.f32", [ninf, inf, zero, nzero]) == [zero, inf, one, one]
    assert run("sin.approx.f32", [inf, zero, nzero]) == [nan, zero, nzero]
    assert run("cos.approx.f32", [ninf, zero]) == [nan, one]
    assert run("tanh.approx.f32", [inf, ninf, zero]) == [one, 0xBF800000, zero]
    assert run("ex2.approx.ftz.f32", [0xC3000000 - 0x10000, 0xC2FE0000]) == [
        run("ex2.approx.f32", [0xC3000000 - 0x10000])[0] & 0x80000000
        if run("ex2.approx.f32", [0xC3000000 - 0x10000])[0] & 0x7F800000 == 0
        else run("ex2.approx.f32", [0xC3000000 - 0x10000])[0],
        0,
    ]
    # div.approx: a divisor above 2^126 gives a signed zero, infinity over it NaN.
    assert run("div.approx.f32", [0x3F800000, 0xBF800000, inf, one], [0x7F000001] * 3 + [0x7E800000]) == [
        zero, nzero, nan, 0x00800000,
    ]  # fmt: skip
    assert run("rcp.approx.ftz.f64", [0x4000000000000000, 1, 0x7FE8000000000000]) == [
        0x3FE0000000000000, 0x7FF0000000000000, 0,
    ]  # fmt: skip
    assert run("ex2.approx.f16", [0x4000]) == [0x4400]
    assert run("tanh.approx.bf16x2", [0x00003F80]) == [0x00003F43]
    assert run("ex2.approx.ftz.bf16", [0x4000]) == [0x4080]


@given(patterns(64))
@FAST
def test_f64_signs_and_saturation_of_patterns(a):
    assert run("neg.f64", a) == [x ^ (1 << 63) for x in a]
    assert run("abs.f64", a) == [x & ((1 << 63) - 1) for x in a]

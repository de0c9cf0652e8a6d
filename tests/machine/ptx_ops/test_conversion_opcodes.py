"""cvt in all type pairs against exact fractions, and the packed 8-, 6- and 4-bit forms."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine import scalar_reference as ref
from machine.lanes import FAST, floats, patterns, run

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")


def limits(kind):
    w = int(kind[1:])
    return (-(1 << (w - 1)), (1 << (w - 1)) - 1) if kind[0] == "s" else (0, (1 << w) - 1)


def number(bits, kind):
    w = int(kind[1:])
    bits &= (1 << w) - 1
    return bits - (1 << w) if kind[0] == "s" and bits >> (w - 1) else bits


def container(value, kind):
    """Pattern in the container: 8-bit results fill 16 bits by their sign."""
    return value & ((1 << max(16, int(kind[1:]))) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("dest", "source"), list(itertools.product(INTS, INTS)))
@given(st.data())
@FAST
def test_int_to_int(dest, source, data):
    a = data.draw(patterns(max(16, int(source[1:]))))
    low, high = limits(dest)
    want = [container(number(number(x, source), dest), dest) for x in a]
    assert run(f"cvt.{dest}.{source}", a) == want
    sat = [container(max(low, min(high, number(x, source))), dest) for x in a]
    assert run(f"cvt.sat.{dest}.{source}", a) == sat


@pytest.mark.slow
@pytest.mark.parametrize(("dest", "source"), list(itertools.product(FLOATS, INTS)))
@given(st.data())
@FAST
def test_int_to_float(dest, source, data):
    a = data.draw(patterns(max(16, int(source[1:]))))
    for mode in ("rn", "rz", "rm", "rp"):
        want = [ref.round_fraction(Fraction(number(x, source)), dest, mode, 0) for x in a]
        assert run(f"cvt.{mode}.{dest}.{source}", a) == want, mode


def to_integer(value: Fraction, mode: str) -> int:
    floor = value.numerator // value.denominator
    rest = value - floor
    if mode == "rni":
        up = rest * 2 > 1 or (rest * 2 == 1 and floor % 2 == 1)
    elif mode == "rzi":
        up = value < 0 and rest != 0
    elif mode == "rpi":
        up = rest != 0
    else:
        up = False
    return floor + int(up)


@pytest.mark.slow
@pytest.mark.parametrize(("dest", "source"), list(itertools.product(INTS, FLOATS)))
@given(st.data())
@FAST
def test_float_to_int(dest, source, data):
    a = data.draw(st.one_of(floats(source), patterns(ref.FORMATS[source][2])))
    low, high = limits(dest)
    w = int(dest[1:])
    for mode in ("rni", "rzi", "rmi", "rpi"):
        want = []
        for x in a:
            value = ref.signed_value(x, source)
            if value == "nan":
                special = source == "f64" or w == 64
                r = number(1 << (w - 1), dest) if special else 0
            elif value in ("inf", "-inf"):
                r = high if value == "inf" else low
            else:
                r = max(low, min(high, to_integer(value, mode)))
            want.append(container(r, dest))
        assert run(f"cvt.{mode}.{dest}.{source}", a) == want, mode


@pytest.mark.parametrize(("dest", "source"), [p for p in itertools.product(FLOATS, FLOATS) if p[0] != p[1]])
@given(st.data())
@FAST
def test_float_to_float(dest, source, data):
    a = data.draw(st.one_of(floats(source), patterns(ref.FORMATS[source][2])))
    a = a + [
        ref.round_fraction(Fraction(3, 2) * Fraction(2) ** k, source, "rn")
        for k in (-25, -24, -14, -126, -134)
    ]
    for mode in ("rn", "rz", "rm", "rp"):
        got = run(f"cvt.{mode}.{dest}.{source}", a)
        for x, r in zip(a, got):
            want = ref.convert(x, source, dest, mode)
            if ref.is_nan(want, dest) and dest == "f64":
                assert ref.is_nan(r, dest)
            else:
                assert r == want, (mode, hex(x), hex(r), hex(want))


@pytest.mark.parametrize("name", FLOATS)
@given(st.data())
@FAST
def test_float_to_integral_float(name, data):
    a = data.draw(floats(name))
    for mode in ("rni", "rzi", "rmi", "rpi"):
        for x, r in zip(a, run(f"cvt.{mode}.{name}.{name}", a)):
            sign, value = ref.decode(x, name)
            if value == "nan":
                assert ref.is_nan(r, name)
            elif value == "inf":
                assert r == x
            else:
                whole = Fraction(to_integer(-value if sign else value, mode))
                assert r == ref.round_fraction(whole, name, "rn", sign), (mode, hex(x), hex(r))


def test_modifiers():
    assert run("cvt.sat.f32.f32", [0xBF800000, 0x40000000, 0x7FC00000, 0x3F000000, 0x80000000]) == [
        0, 0x3F800000, 0, 0x3F000000, 0,
    ]  # fmt: skip
    assert run("cvt.ftz.f32.f32", [1, 0x80000001]) == [0, 0x80000000]
    assert run("cvt.rni.ftz.s32.f32", [0x3F000000, 0x3FC00000, 0xBFC00000]) == [0, 2, 0xFFFFFFFE]
    assert run("cvt.rn.ftz.f32.f64", [0x3800000000000000]) == [0]
    assert run("cvt.rn.relu.f16.f32", [0xBF800000, 0x3F800000]) == [0, 0x3C00]
    assert run("cvt.rn.satfinite.f16.f32", [0x7F800000, 0xFF7FFFFF, 0x7FC00000]) == [0x7BFF, 0xFBFF, 0x7FFF]
    assert run("cvt.rz.f32.f64", [0x3FF0000030000000]) == [0x3F800001]
    # tf32: 10 bits of mantissa in an f32; rna rounds a tie away from zero.
    assert run("cvt.rna.tf32.f32", [0x3F801000, 0x3F800FFF, 0xBF801000]) == [
        0x3F802000,
        0x3F800000,
        0xBF802000,
    ]
    assert run("cvt.rn.tf32.f32", [0x3F801000, 0x3F803000]) == [0x3F800000, 0x3F804000]
    assert run("cvt.rz.tf32.f32", [0x3F801FFF]) == [0x3F800000]
    assert run("cvt.pack.sat.s16.s32.b32", [0x12345], [0xFFFF0000], [0]) == [0x7FFF8000]
    assert run("cvt.pack.sat.u16.s32", [0x12345], [0xFFFFFFFF]) == [0xFFFF0000]
    assert run("cvt.pack.sat.u8.s32.b32", [300], [5], [0xABCD1234]) == [0x1234FF05]
    assert run("cvt.pack.sat.s8.s32.b32", [0xFFFFFF00], [0x7F], [0x1]) == [0x1807F]
    assert run("cvt.u32.u8", [0xFFFF]) == [0xFF]
    assert run("cvt.s32.s8", [0xFF80]) == [0xFFFFFF80]


@given(floats("f32"), floats("f32"))
@FAST
def test_pairs_of_halves(a, b):
    for name, (mode, relu) in itertools.product(
        ("f16", "bf16"), itertools.product(("rn", "rz"), ("", ".relu"))
    ):
        got = run(f"cvt.{mode}{relu}.{name}x2.f32", a, b)
        for x, y, r in zip(a, b, got):
            for value, part in ((x, r >> 16), (y, r & 0xFFFF)):
                want = ref.convert(value, "f32", name, mode)
                if relu and not ref.is_nan(want, name) and want & 0x8000:
                    want = 0
                assert part == want, (name, mode, relu, hex(value))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
@given(floats("f32"), floats("f32"))
@FAST
def test_small_formats_from_f32(name, a, b):
    step = 4 if name == "e2m1" else 8
    top = {"e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 7}.get(name)
    a = [*a, 0x43E00001, 0x7F800000, 0xFF800000, 0x7FC00000, 0x43E80000, 0xC3F00000]
    b = [*b, *[0x3F800000] * 6]
    for x, y, r in zip(a, b, run(f"cvt.rn.satfinite.{name}x2.f32", a, b)):
        for value, part in ((x, r >> step), (y, r & ((1 << step) - 1))):
            want = ref.convert(value, "f32", name, "rn", saturate=True)
            if top is not None and ref.is_nan(value, "f32"):
                want = top
            assert part == want, (hex(value), hex(part), hex(want))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_small_formats_to_f16_and_back(name):
    width = ref.FORMATS[name][2]
    step = 4 if name == "e2m1" else 8
    every = list(range(1 << width))
    pairs = [v | (v << step) for v in every]
    wide = run(f"cvt.rn.f16x2.{name}x2", pairs)
    for v, r in zip(every, wide):
        assert r & 0xFFFF == r >> 16 == ref.convert(v, name, "f16"), hex(v)
    if name in ("e4m3", "e5m2"):
        back = run(f"cvt.rn.satfinite.{name}x2.f16x2", wide)
        for v, r in zip(every, back):
            value = ref.signed_value(v, name)
            if value not in ("nan", "inf", "-inf"):
                assert r == v | v << 8


def test_scales():
    one, two, three, tiny = 0x3F800000, 0x40000000, 0x40400000, 1
    assert run("cvt.rz.satfinite.ue8m0x2.f32", [one, three], [two, tiny]) == [0x7F80, 0x8000]
    assert run("cvt.rp.satfinite.ue8m0x2.f32", [one, three], [two, tiny]) == [0x7F80, 0x8100]
    assert run("cvt.rp.satfinite.ue8m0x2.f32", [0x7F800000], [0x7FC00000]) == [0xFEFF]
    assert run("cvt.rz.ue8m0x2.f32", [0x7F800000], [0x7F7FFFFF]) == [0xFFFE]
    assert run("cvt.rn.bf16x2.ue8m0x2", [0x7F80]) == [0x3F804000]


@given(floats("f32"), floats("f32"), patterns(32))
@FAST
def test_stochastic_rounding(a, b, random):
    """Down or up as the random bits say; exactly at the threshold it goes up."""
    for name, man, bias, scale in (("f16", 10, 15, 13), ("bf16", 7, 127, 16)):
        top = 0x7BFF if name == "f16" else 0x7F7F
        for x, y, bits, r in zip(a, b, random, run(f"cvt.rs.{name}x2.f32", a, b, random), strict=True):
            for value, part, chance in ((x, r >> 16, bits >> 16), (y, r & 0xFFFF, bits & 0xFFFF)):
                sign, size = ref.decode(value, "f32")
                if size not in ("nan", "inf") and size >= ref.signed_value(top, name):
                    continue  # at the top the step up is an infinity; checked below
                if size in ("nan", "inf"):
                    assert part == ref.convert(value, "f32", name)
                    continue
                down = ref.round_fraction(size, name, "rz", 0)
                if size == ref.signed_value(down, name):
                    want = down
                else:
                    up = down + 1
                    quantum = Fraction(2) ** (max((down >> man) & 0xFF, 1) - bias - man)
                    share = (size - ref.signed_value(down, name)) / quantum
                    want = up if share + Fraction(chance & ((1 << scale) - 1), 1 << scale) >= 1 else down
                assert part == want | sign << 15, (name, hex(value), hex(chance))
    assert run("cvt.rs.f16x2.f32", [0x477FF000], [0xC7800000], [0xFFFFFFFF]) == [0x7C00FC00]
    assert run("cvt.rs.satfinite.f16x2.f32", [0x477FF000], [0xFF800000], [0xFFFFFFFF]) == [0x7BFFFBFF]
    assert run("cvt.rs.relu.bf16x2.f32", [0xBF800000], [0x3F800000], [0]) == [0x00003F80]

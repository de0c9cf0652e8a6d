"""Floating point: bit for bit where PTX promises a rounding, else within the distance that it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels import exact
from kernels.exact import BF16, F16, F32, F64, MODES, table
from kernels.harness import Array, random, run, ulps

pytestmark = pytest.mark.cuda
FILE = "floats.cu"
N = 96
GRID = {"grid": 3, "block": 32}


def same_bits(got: Array, want: Array) -> None:
    """Equal patterns; any NaN equals any other."""
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
    want = np.asarray(want).astype(got.dtype).reshape(got.shape)
    different = (got.view(kind) != want.view(kind)) & ~(np.isnan(got) & np.isnan(want))
    assert not different.any(), [(i, got[tuple(i)], want[tuple(i)]) for i in np.argwhere(different)[:5]]


def spread(seed: int, dtype: type, count: int = N) -> Array:
    """Numbers of all magnitudes, subnormal ones included; every fourth with few bits set, for ties."""
    rng = random(seed)
    kind = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    top = np.iinfo(kind).max
    bits = rng.integers(0, top, count, dtype=np.uint64, endpoint=True).astype(kind)
    bits[::4] &= kind(top << {2: 6, 4: 14, 8: 30}[np.dtype(dtype).itemsize] & top)
    values = bits.view(dtype).copy()
    near = rng.standard_normal(count).astype(dtype)
    values[1::2] = near[1::2]
    values[~np.isfinite(values)] = 1.5
    return values


def test_float_rounding() -> None:
    a, b, c = (spread(seed, np.float32) for seed in (1, 2, 3))
    a[:4], b[:4], c[:4] = [1.0, 0.0, -0.0, 3e38], [-1.0, -0.0, -0.0, 3e38], [0.5, 1.0, -1.0, -3e38]
    b[b == 0] = 1.0
    out = run(FILE, "float_rounding", [a, b, c, np.zeros(20 * N, np.float32), N], **GRID)[3].reshape(N, 20)
    for k, mode in enumerate(MODES):
        same_bits(out[:, k], table(lambda x, y, m=mode: exact.add(x, y, F32, m), a, b))
        same_bits(out[:, 4 + k], table(lambda x, y, m=mode: exact.mul(x, y, F32, m), a, b))
        same_bits(out[:, 8 + k], table(lambda x, y, z, m=mode: exact.fma(x, y, z, F32, m), a, b, c))
        same_bits(out[:, 12 + k], table(lambda x, y, m=mode: exact.div(x, y, F32, m), a, b))
        same_bits(out[:, 16 + k], table(lambda x, m=mode: exact.sqrt(x, F32, m), np.abs(a)))


def test_double_rounding() -> None:
    a, b, c = (spread(seed, np.float64) for seed in (4, 5, 6))
    out = run(FILE, "double_rounding", [a, b, c, np.zeros(15 * N), N], **GRID)[3].reshape(N, 15)
    for k, mode in enumerate(MODES):
        same_bits(out[:, k], table(lambda x, y, m=mode: exact.add(x, y, F64, m), a, b))
        same_bits(out[:, 4 + k], table(lambda x, y, m=mode: exact.mul(x, y, F64, m), a, b))
        same_bits(out[:, 8 + k], table(lambda x, y, z, m=mode: exact.fma(x, y, z, F64, m), a, b, c))
    same_bits(out[:, 12], table(lambda x, y: exact.div(x, y, F64, "rn"), a, b))
    same_bits(out[:, 13], table(lambda x: exact.sqrt(x, F64, "rn"), np.abs(a)))
    same_bits(out[:, 14], table(lambda y: exact.div(1.0, y, F64, "rn"), b))


SPECIALS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38]


def test_float_specials() -> None:
    a = np.repeat(np.array(SPECIALS, np.float32), 10)[:N]
    b = np.tile(np.array(SPECIALS, np.float32), 10)[:N]
    out, flags = run(
        FILE, "float_specials", [a, b, np.zeros(7 * N, np.float32), np.zeros(N, np.uint32), N], **GRID
    )[2:]
    rows = out.reshape(N, 7)
    for row, x, y in zip(rows, a.tolist(), b.tolist(), strict=True):
        nan = math.isnan(x) or math.isnan(y)
        if nan:
            low = y if math.isnan(x) else x
            high = low
        else:  # -0 counts as less than +0
            key = lambda v: (v, math.copysign(1, v))  # noqa: E731
            low, high = min(x, y, key=key), max(x, y, key=key)
        with np.errstate(all="ignore"):
            total = float(np.float32(x) + np.float32(y))
        saturated = 0.0 if math.isnan(total) else min(max(total, 0.0), 1.0)
        want = [low, high, abs(x), math.copysign(x, y), -x, math.nan if nan else low, saturated + 0.0]
        same_bits(row, np.array(want, np.float32))
    want_flags = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        tests = [x < y, x <= y, x == y, x != y, x > y, x >= y, not x < y, math.isnan(x), math.isinf(x),
                 math.copysign(1, x) < 0, math.isfinite(x)]  # fmt: skip
        want_flags.append(sum(int(t) << k for k, t in enumerate(tests)))
    skip_sign = np.isnan(a)  # the sign of a NaN is nobody's business
    keep = np.where(skip_sign, ~np.uint32(1 << 9), ~np.uint32(0))
    assert np.array_equal(flags & keep, np.array(want_flags, np.uint32) & keep)


def test_flush_to_zero() -> None:
    a, b = spread(7, np.float32), spread(8, np.float32)
    a[:4], b[:4] = [1e-40, 1e-20, 2e-38, 1e-38], [1.0, 1e-20, -1.5e-38, 1e-39]
    out = run(FILE, "flush_to_zero", [a, b, np.zeros(4 * N, np.float32), N], **GRID)[2].reshape(N, 4)

    def flushed(v: float) -> float:
        return math.copysign(0.0, v) if abs(v) < 2.0**-126 else v

    x, y = table(flushed, a), table(flushed, b)
    same_bits(out[:, 0], table(lambda p, q: flushed(exact.mul(p, q, F32, "rn")), x, y))
    same_bits(out[:, 1], table(lambda p, q: flushed(exact.add(p, q, F32, "rn")), x, y))
    same_bits(out[:, 2], table(lambda p, q: flushed(exact.fma(p, q, p, F32, "rn")), x, y))
    same_bits(out[:, 3], table(lambda p, q: exact.mul(p, q, F32, "rn"), a, b))


def whole(value: float, mode: str, low: int, high: int) -> int:
    """Float to integer with clamping; NaN gives 0 for the types up to 32 bits."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    function = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[mode]
    return min(max(function(value), low), high)


def test_float_to_int() -> None:
    rng = random(9)
    a = (rng.standard_normal(N) * 10.0 ** rng.integers(0, 21, N)).astype(np.float32)
    a[:12] = [0.5, 1.5, 2.5, -0.5, -1.5, 300.5, -3e9, 3e9, math.inf, -math.inf, 1e20, -0.0]
    args = [a, np.zeros(6 * N, np.int32), np.zeros(2 * N, np.int64), np.zeros(2 * N, np.uint32), N]
    out, wide, narrow = run(FILE, "float_to_int", args, **GRID)[1:]
    rows = out.reshape(N, 6)
    i32 = (-(2**31), 2**31 - 1)
    for row, w, n, x in zip(rows, wide.reshape(N, 2), narrow.reshape(N, 2), a.tolist(), strict=True):
        want = [whole(x, mode, *i32) for mode in MODES]
        want += [whole(x, "rz", 0, 2**32 - 1), whole(x * 1.5, "rn", *i32)]
        assert [int(v) % 2**32 for v in row] == [v % 2**32 for v in want], x
        assert int(w[0]) == whole(x, "rz", -(2**63), 2**63 - 1)
        assert int(w[1]) % 2**64 == whole(x, "rn", 0, 2**64 - 1)
        assert [int(n[0]), int(n[1]) % 2**32] == [
            whole(x, "rn", 0, 255),
            whole(x, "rz", -32768, 32767) % 2**32,
        ]


def test_float_nan_to_int() -> None:
    a = np.full(N, math.nan, np.float32)
    args = [a, np.zeros(6 * N, np.int32), np.zeros(2 * N, np.int64), np.zeros(2 * N, np.uint32), N]
    out = run(FILE, "float_to_int", args, **GRID)[1]
    assert not out.reshape(N, 6)[:, :5].any()


def test_int_to_float() -> None:
    rng = random(10)
    a = rng.integers(-(2**31), 2**31, N).astype(np.int32)
    b = rng.integers(-(2**63), 2**63 - 1, N) >> rng.integers(0, 40, N)
    args = [a, b, np.zeros(7 * N, np.float32), np.zeros(2 * N), N]
    out, wide = run(FILE, "int_to_float", args, **GRID)[2:]
    rounded = lambda v, fmt, mode: exact.round_fraction(exact.Fraction(v), fmt, mode)  # noqa: E731
    want = [
        [*(rounded(x, F32, mode) for mode in MODES), rounded(x % 2**32, F32, "rn"), rounded(y, F32, "rn"),
         rounded(y % 2**64, F32, "rz")]
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]  # fmt: skip
    same_bits(out.reshape(N, 7), np.array(want))
    want = [[rounded(y, F64, "rn"), rounded(y % 2**64, F64, "rd")] for y in b.tolist()]
    same_bits(wide.reshape(N, 2), np.array(want))


def test_round_to_whole() -> None:
    a = (random(11).standard_normal(N) * 50).astype(np.float32)
    a[:10] = [0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, -0.0, math.inf, 3e38]
    out, wide = run(FILE, "round_to_whole", [a, np.zeros(5 * N, np.float32), np.zeros(2 * N), N], **GRID)[1:]
    half_away = np.copysign(np.floor(np.abs(a.astype(np.float64)) + 0.5), a)
    same_bits(out.reshape(N, 5), np.stack([np.floor(a), np.ceil(a), np.trunc(a), np.rint(a), half_away], 1))
    d = a.astype(np.float64)
    same_bits(wide.reshape(N, 2), np.stack([np.floor(d), np.rint(d * 0.5)], 1))


def test_float_widths() -> None:
    rng = random(12)
    a = (rng.standard_normal(N) * 10.0 ** rng.integers(-9, 5, N)).astype(np.float32)
    b = rng.standard_normal(N) * 10.0 ** rng.integers(-46, 39, N)
    args = [
        a,
        b,
        np.zeros(4 * N, np.float32),
        np.zeros(N),
        np.zeros(2 * N, np.float16),
        np.zeros(2 * N, np.uint16),
        N,
    ]
    out, wide, half, brain = run(FILE, "float_widths", args, **GRID)[2:]
    rounded = lambda v, fmt, mode: math.copysign(exact.round_fraction(exact.Fraction(v), fmt, mode), v)  # noqa: E731
    same_bits(out.reshape(N, 4), np.array([[rounded(v, F32, m) for m in MODES] for v in b.tolist()]))
    same_bits(wide, a.astype(np.float64))
    same_bits(half.reshape(N, 2), np.array([[rounded(v, F16, m) for m in ("rn", "rz")] for v in a.tolist()]))
    assert np.array_equal(brain.reshape(N, 2), np.stack([exact.bf16_bits(a, m) for m in ("rn", "rz")], 1))


def halves(seed: int) -> Array:
    return np.clip(spread(seed, np.float16, 2 * N), -1000, 1000).astype(np.float16)


def test_half_arith() -> None:
    a, b, c = halves(13), halves(14), halves(15)
    out = run(FILE, "half_arith", [a, b, c, np.zeros(14 * N, np.float16), N], **GRID)[3].reshape(N, 7, 2)
    x, y, z = (v.reshape(N, 2) for v in (a, b, c))
    both = lambda f, *v: np.stack([table(f, *(w[:, k] for w in v)) for k in (0, 1)], 1)  # noqa: E731
    same_bits(out[:, 0], both(lambda p, q: exact.add(p, q, F16, "rn"), x, y))
    same_bits(out[:, 1], both(lambda p, q: exact.mul(p, q, F16, "rn"), x, y))
    fused = both(lambda p, q, r: exact.fma(p, q, r, F16, "rn"), x, y, z)
    same_bits(out[:, 2], fused)
    same_bits(out[:, 3], np.minimum(x, y))
    same_bits(out[:, 4], np.abs(x))
    same_bits(out[:, 5], np.clip(fused, 0, 1) + 0.0)
    difference = table(lambda p, q: exact.add(p, -q, F16, "rn"), x[:, 0], y[:, 1])
    same_bits(out[:, 6], np.stack([difference, z[:, 0]], 1))


def test_half_compare() -> None:
    a, b = halves(16), halves(17)
    b[::3] = a[::3]
    args = [a, b, np.zeros(3 * N, np.uint32), np.zeros(2 * N, np.int32), N]
    out, whole_numbers = run(FILE, "half_compare", args, **GRID)[2:]
    x, y = a.reshape(N, 2), b.reshape(N, 2)
    less, greater_equal, differ = x < y, x >= y, x != y
    rows = out.reshape(N, 3)
    assert np.array_equal(rows[:, 0], less[:, 0] * 0xFFFF + less[:, 1] * 0xFFFF0000)
    assert np.array_equal(rows[:, 1], greater_equal[:, 0] * 0x3C00 + greater_equal[:, 1] * 0x3C000000)
    assert np.array_equal(rows[:, 2], differ.all(1) * 2 + (x[:, 0] > y[:, 0]))
    want = np.stack([np.rint(x[:, 0].astype(float)), np.trunc(x[:, 1].astype(float))], 1)
    assert np.array_equal(whole_numbers.reshape(N, 2), want)


def test_bfloat_arith() -> None:
    a, b, c = (exact.bf16_bits(random(s).standard_normal(2 * N) * 3) for s in (18, 19, 20))
    out = run(FILE, "bfloat_arith", [a, b, c, np.zeros(8 * N, np.uint16), N], **GRID)[3].reshape(N, 4, 2)
    x, y, z = (exact.bf16_floats(v) for v in (a, b, c))
    pattern = lambda v: (np.asarray(v, np.float32).view(np.uint32) >> 16).reshape(N, 2)  # noqa: E731
    assert np.array_equal(out[:, 0], pattern(table(lambda p, q, r: exact.fma(p, q, r, BF16, "rn"), x, y, z)))
    assert np.array_equal(out[:, 1], pattern(np.maximum(x, y)))
    assert np.array_equal(out[:, 2], pattern(-x))
    assert np.array_equal(out[:, 3], pattern(table(lambda p, q: exact.mul(p, q, BF16, "rn"), x, y)))


def eight_bits(value: float, exponent_bits: int, mantissa_bits: int, bias: int, largest: float) -> int:
    """Pattern of an 8-bit float: nearest even, clamped to the largest finite number."""
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    fmt = exact.Format(mantissa_bits + 1, 1 - bias, 100)
    size = min(exact.round_fraction(exact.Fraction(abs(value)), fmt, "rn"), largest)
    if size == 0:
        return sign
    exponent = max(math.frexp(size)[1] - 1, 1 - bias)
    mantissa = int(size / 2.0 ** (exponent - mantissa_bits))
    field = exponent + bias if mantissa >> mantissa_bits else 0
    return sign | field << mantissa_bits | mantissa & ((1 << mantissa_bits) - 1)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
def test_eight_bit_floats(arch: str) -> None:
    rng = random(21)
    a = (rng.standard_normal(2 * N) * 10.0 ** rng.integers(-6, 4, 2 * N)).astype(np.float32)
    a[:6] = [0.0, -0.0, 448.0, 1e9, -1e9, 2.0**-9]
    args = [a, np.zeros(N, np.uint16), np.zeros(N, np.uint16), np.zeros(4 * N, np.float16), N]
    e4m3, e5m2, back = run(FILE, "eight_bit_floats", args, arch=arch, **GRID)[1:]
    want4 = np.array([eight_bits(v, 4, 3, 7, 448.0) for v in a.tolist()], np.uint8)
    want5 = np.array([eight_bits(v, 5, 2, 15, 57344.0) for v in a.tolist()], np.uint8)
    assert np.array_equal(e4m3.view(np.uint8), want4)
    assert np.array_equal(e5m2.view(np.uint8), want5)
    pairs = back.reshape(N, 2, 2)
    same_bits(pairs[:, 1].ravel(), (want5.astype(np.uint16) << 8).view(np.float16))
    m, e = want4 & 7, want4 >> 3 & 15
    value = np.where(e == 0, m / 8 * 2.0**-6, (1 + m / 8) * 2.0 ** (e.astype(float) - 7))
    same_bits(pairs[:, 0].ravel(), np.where(want4 & 128, -value, value))


#: Largest errors in ulp that the CUDA programming guide's table of mathematical functions allows.
FLOAT_ULP = [1, 1, 2, 2, 4, 2, 4, 2, 1, 2, 3, 2, 1, 1, 3, 4]


def test_float_functions() -> None:
    rng = random(22)
    a = (rng.random(N) * 9.9 + 0.05).astype(np.float32)
    b = (rng.random(N) * 4 + 0.1).astype(np.float32)
    out = run(FILE, "float_functions", [a, b, np.zeros(16 * N, np.float32), N], **GRID)[2].reshape(N, 16)
    x, y = a.astype(np.float64), b.astype(np.float64)
    five, tenth = (a - np.float32(5)).astype(np.float64), (a * np.float32(0.1)).astype(np.float64)
    erf = np.array([math.erf(v) for v in five])
    want = [np.exp(x), np.log(x), np.sin(x), np.cos(x), np.tan(x), np.tanh(x), x**y, 1 / np.sqrt(x),
            np.cbrt(x), erf, np.arctan2(x, y), np.exp2(x), np.log2(x), np.log1p(x), np.hypot(x, y),
            np.arcsin(tenth)]  # fmt: skip
    for k, (values, allowed) in enumerate(zip(want, FLOAT_ULP, strict=True)):
        assert ulps(out[:, k], values) <= allowed + 0.5, k


def test_fast_functions() -> None:
    rng = random(23)
    a = (rng.random(N) * 9.9 + 0.05).astype(np.float32)
    b = (rng.random(N) * 4 + 0.1).astype(np.float32)
    out = run(FILE, "fast_functions", [a, b, np.zeros(8 * N, np.float32), N], **GRID)[2].reshape(N, 8)
    x, y = a.astype(np.float64), b.astype(np.float64)
    angle = (a * np.float32(0.3)).astype(np.float64)
    assert ulps(out[:, 0], np.exp(x)) <= 2 + np.floor(1.173 * x.max())
    assert np.abs(out[:, 1] - np.log(x)).max() <= 4e-7  # 2**-21.41 near 1, 3 ulp elsewhere
    assert np.abs(out[:, 2] - np.sin(angle)).max() <= 2.0**-20
    assert np.abs(out[:, 3] - np.cos(angle)).max() <= 2.0**-20
    assert np.abs(out[:, 4] / x**y - 1).max() <= 1e-5
    assert ulps(out[:, 5], x / y) <= 2
    assert ulps(out[:, 6], 1 / np.sqrt(x)) <= 0.5000001
    assert ulps(out[:, 7], 1 / x) <= 0.5000001


def test_approximate_instructions() -> None:
    """The bounds that the PTX ISA document states for each instruction."""
    a = (random(24).random(N) * 9.9 + 0.05).astype(np.float32)
    out = run(FILE, "approximate_instructions", [a, np.zeros(9 * N, np.float32), N], **GRID)[1].reshape(N, 9)
    x, angle = a.astype(np.float64), (a * np.float32(0.3)).astype(np.float64)
    assert np.abs(out[:, 0] / np.exp2(x) - 1).max() <= 2.0**-22
    assert np.abs(out[:, 1] - np.log2(x)).max() <= 2.0**-22 * np.maximum(np.abs(np.log2(x)), 1).max()
    assert ulps(out[:, 2], 1 / x) <= 1
    assert np.abs(out[:, 3] * np.sqrt(x) - 1).max() <= 2.0**-22.9
    assert np.abs(out[:, 4] / np.sqrt(x) - 1).max() <= 2.0**-23 * 1.5
    assert np.abs(out[:, 5] - np.sin(angle)).max() <= 2.0**-20.5
    assert np.abs(out[:, 6] - np.cos(angle)).max() <= 2.0**-20.5
    assert np.abs(out[:, 7] / np.tanh(x) - 1).max() <= 2.0**-11
    assert ulps(out[:, 8], x / np.float64(np.float32(3.7))) <= 2


#: The same table's bounds for double precision.
DOUBLE_ULP = [1, 1, 2, 2, 2, 1, 2, 1, 1, 0]


def test_double_functions() -> None:
    rng = random(25)
    a, b = rng.random(N) * 9.9 + 0.05, rng.random(N) * 4 + 0.1
    out = run(FILE, "double_functions", [a, b, np.zeros(10 * N), N], **GRID)[2].reshape(N, 10)
    x, y = a.astype(np.longdouble), b.astype(np.longdouble)
    seven = (a * 7.0).astype(np.longdouble)
    want = [np.exp(x), np.log(x), np.sin(x), np.cos(x), x**y, np.tanh(x), np.arctan(x), 1 / np.sqrt(x),
            np.cbrt(x), np.fmod(seven, y)]  # fmt: skip
    for k, (values, allowed) in enumerate(zip(want, DOUBLE_ULP, strict=True)):
        assert ulps(out[:, k], values) <= allowed + 0.5, k


def test_mandelbrot() -> None:
    out = run(FILE, "mandelbrot", [np.zeros(64 * 32, np.int32), 64, 60], grid=(4, 4), block=(16, 8))[0]
    f = np.float32
    py, px = np.indices((32, 64)).astype(f)
    cx, cy = px * f(0.05) + f(-2.1), py * f(0.05) + f(-0.8)
    x = y = np.zeros_like(cx)
    times = np.full(cx.shape, 60)
    with np.errstate(all="ignore"):
        for k in range(60):
            xx, yy = x * x, y * y
            times[(xx + yy > 4) & (times == 60)] = k
            y, x = f(2) * x * y + cy, xx - yy + cx
    assert np.array_equal(out.reshape(32, 64), times)


def fused32(x: Array, y: Array, z: Array) -> Array:
    """x * y + z in single precision, rounded once: the double sum is made odd where it was not exact."""
    product = x.astype(np.float64) * y.astype(np.float64)  # exact: 48 bits
    other = z.astype(np.float64)
    total = product + other
    back = total - product
    error = (product - (total - back)) + (other - back)
    bits = total.view(np.int64)
    towards = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where((error != 0) & (bits & 1 == 0), bits + np.where(total != 0, towards, 0), bits)
    return odd.view(np.float64).astype(np.float32)


def test_fused32_agrees_with_fractions() -> None:
    a, b, c = (random(s).standard_normal(2000).astype(np.float32) for s in (26, 27, 28))
    c *= np.float32(2.0) ** random(29).integers(-40, 10, 2000).astype(np.float32)
    same_bits(fused32(a, b, c), table(lambda x, y, z: exact.fma(x, y, z, F32, "rn"), a, b, c))


def test_tiled_matmul() -> None:
    n = 64
    a, b = (random(s).standard_normal((n, n)).astype(np.float32) for s in (30, 31))
    out = run(FILE, "tiled_matmul", [a.ravel(), b.ravel(), np.zeros(n * n, np.float32), n], grid=(4, 4),
              block=(16, 16))[2]  # fmt: skip
    c = np.zeros((n, n), np.float32)
    for k in range(n):
        c = fused32(np.broadcast_to(a[:, k : k + 1], (n, n)), np.broadcast_to(b[k : k + 1], (n, n)), c)
    same_bits(out.reshape(n, n), c)


def test_kahan() -> None:
    data = (random(32).random((32, 50)) * 1000).astype(np.float32)
    out = run(FILE, "kahan", [data.ravel(), np.zeros(64, np.float32), 50])[1].reshape(32, 2)
    total = error = np.zeros(32, np.float32)
    for column in data.T:
        y = column - error
        t = total + y
        error, total = (t - total) - y, t
    same_bits(out, np.stack([total, error], 1))

"""f16 and bf16 arithmetic on uint16 containers, correctly rounded.

f16 goes through f32, where a second rounding of sums and products is harmless (24 >= 2 * 11 + 2) and the
fused sum is rounded to odd; bf16 goes through float64 rounded to odd. NaN results are the canonical 0x7FFF.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.exact import odd_add, odd_fma, two_sum
from warpglass.machine.numeric.formats import FORMATS, round_f64

__all__ = [
    "add",
    "canonical",
    "encode",
    "flush",
    "fma",
    "maximum",
    "minimum",
    "mul",
    "nearest",
    "relu",
    "saturate",
    "single",
    "split",
    "stochastic",
    "sub",
    "value",
]

_NAN = np.uint16(0x7FFF)
_SIGN = np.uint16(0x8000)
_INF = {"f16": np.uint16(0x7C00), "bf16": np.uint16(0x7F80)}


def split(a: Array) -> tuple[Array, Array]:
    """Low and high halves of a packed pair."""
    return a.astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)


#: float32 of every f16 pattern: a look-up is many times faster than numpy's own conversion.
_F16 = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)


def single(a: Array, name: str) -> Array:
    """float32 values."""
    if name == "f16":
        return _F16.take(a)
    return np.left_shift(a, np.uint32(16), dtype=np.uint32).view(np.float32)


def value(a: Array, name: str) -> Array:
    """float64 values."""
    return single(a, name).astype(np.float64)


def nearest(x: Array, name: str) -> Array:
    """float32 values (exact, or rounded to odd) to the nearest f16 or bf16."""
    x = np.asarray(x)
    if name == "f16":
        rounded: Array = x.astype(np.float16).view(np.uint16)
    else:
        bits = x.view(np.uint32)
        half = np.uint32(0x7FFF) + (np.right_shift(bits, np.uint32(16)) & np.uint32(1))
        rounded = np.right_shift(bits + half, np.uint32(16)).astype(np.uint16)
    nan = np.isnan(x)
    return np.where(nan, _NAN, rounded) if nan.any() else rounded


def stochastic(x: Array, random: Array, name: str, finite: bool = False) -> Array:
    """float32 values truncated after adding ``random`` (uint16) to what is cut off.

    13 random bits stand below the last place of f16, 16 below that of bf16 (PTX ISA, cvt, ``rbits``);
    subnormal results cut off more, and the random bits stay at the top of it.
    """
    fmt = FORMATS[name]
    scale = 13 if name == "f16" else 16
    wide = x.astype(np.float64)
    # One unit in the last place of the result, so that rounding down afterwards truncates.
    lead = np.where(wide == 0, 1 - fmt.bias, np.frexp(np.abs(wide))[1] - 1)
    exponent = np.maximum(lead, 1 - fmt.bias) - fmt.man
    share = np.ldexp((random & np.uint16((1 << scale) - 1)).astype(np.float64), exponent - scale)
    moved = wide + np.where(np.signbit(wide), -share, share)
    moved = np.where(np.isfinite(wide), moved, wide)
    bits = round_f64(moved, fmt, "rz")
    top = np.uint64(fmt.top)
    over = (np.abs(moved) >= np.ldexp(1.0, fmt.bias + 1)) & np.isfinite(moved)
    over = over | (np.isinf(moved) & finite)
    sign = np.signbit(moved).astype(np.uint64) << np.uint64(15)
    limit = top if finite else np.uint64(0 if fmt.inf is None else fmt.inf)
    return np.where(over, sign | limit, bits).astype(np.uint16)


def encode(x: Array, name: str, mode: str = "rn") -> Array:
    """float64 values (rounded to odd where they were inexact) in the format."""
    if mode == "rn":
        return nearest(_narrow_odd(x), name)
    return round_f64(x, FORMATS[name], mode).astype(np.uint16)


def _narrow_odd(x: Array) -> Array:
    """float64 to float32 rounded to odd; beyond the range of f32, infinity and zero will do for 16 bits."""
    r = np.asarray(x).astype(np.float32)
    rest = x - r
    bits = r.view(np.int32)
    fix = (rest != 0) & ((bits & 1) == 0) & (r != 0) & np.isfinite(r)
    return np.where(fix, bits + np.where((rest > 0) == (r > 0), 1, -1).astype(np.int32), bits).view(
        np.float32
    )


def flush(a: Array, name: str) -> Array:
    """Subnormals to zero of the same sign."""
    return np.where((a & _INF[name]) == 0, a & _SIGN, a)


def saturate(a: Array, name: str) -> Array:
    """Clamped to [0, 1], NaN to +0."""
    one = np.uint16(0x3C00 if name == "f16" else 0x3F80)
    x = single(a, name)
    return np.where(x > 0, np.where(x >= 1, one, a), np.uint16(0))


def canonical(a: Array, name: str) -> Array:
    """NaNs replaced by the canonical one."""
    return np.where((a & np.uint16(0x7FFF)) > _INF[name], _NAN, a)


def relu(a: Array, name: str) -> Array:
    """Negative values to +0; NaN canonical."""
    nan = (a & np.uint16(0x7FFF)) > _INF[name]
    return np.where(nan, _NAN, np.where((a & _SIGN) != 0, np.uint16(0), a))


def add(a: Array, b: Array, name: str) -> Array:
    """Sum."""
    if name == "f16":
        return nearest(single(a, name) + single(b, name), name)
    return encode(odd_add(value(a, name), value(b, name)), name)


def sub(a: Array, b: Array, name: str) -> Array:
    """Difference."""
    return add(a, b ^ _SIGN, name)


def mul(a: Array, b: Array, name: str) -> Array:
    """Product."""
    if name == "f16":
        return nearest(single(a, name) * single(b, name), name)  # 22 bits: exact in f32
    return encode(value(a, name) * value(b, name), name)


def fma(a: Array, b: Array, c: Array, name: str) -> Array:
    """``a * b + c`` with one rounding."""
    if name == "f16":
        # The product is exact in f32, and the sum with its error is rounded to odd there.
        s, e = two_sum(single(a, name) * single(b, name), single(c, name))
        bits = np.asarray(s).view(np.int32)
        fix = (e != 0) & ((bits & 1) == 0) & np.isfinite(e)
        odd = np.where(fix, bits + np.where((e > 0) == (s > 0), 1, -1).astype(np.int32), bits)
        return nearest(odd.view(np.float32), name)
    return encode(odd_fma(value(a, name), value(b, name), value(c, name)), name)


def _pick(a: Array, b: Array, name: str, larger: bool, propagate: bool) -> Array:
    x, y = single(a, name), single(b, name)
    first = (x > y) if larger else (x < y)
    bits = np.where(first, a, b)
    bits = np.where(x == y, (a & b) if larger else (a | b), bits)
    x_nan, y_nan = np.isnan(x), np.isnan(y)
    if propagate:
        return np.where(x_nan | y_nan, _NAN, bits)
    bits = np.where(x_nan, b, np.where(y_nan, a, bits))
    return np.where(x_nan & y_nan, _NAN, bits)


def minimum(a: Array, b: Array, name: str, propagate: bool = False) -> Array:
    """The smaller one, -0 below +0; a single NaN loses, or wins with ``propagate``."""
    return _pick(a, b, name, False, propagate)


def maximum(a: Array, b: Array, name: str, propagate: bool = False) -> Array:
    """The larger one, +0 above -0; a single NaN loses, or wins with ``propagate``."""
    return _pick(a, b, name, True, propagate)

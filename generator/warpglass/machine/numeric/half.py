"""f16 and bf16 arithmetic on uint16 containers, correctly rounded.

f16 sums and products go through f32, where the second rounding is harmless (24 >= 2 * 11 + 2); everything
else through float64 rounded to odd. NaN results are the canonical 0x7FFF.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.exact import odd_add, odd_fma
from warpglass.machine.numeric.formats import FORMATS, decode, round_f64

__all__ = [
    "add", "encode", "flush", "fma", "maximum", "minimum", "mul", "relu", "saturate", "single", "split",
    "sub", "value",
]  # fmt: skip

_NAN = np.uint16(0x7FFF)
_SIGN = np.uint16(0x8000)
_INF = {"f16": np.uint16(0x7C00), "bf16": np.uint16(0x7F80)}


def split(a: Array) -> tuple[Array, Array]:
    """Low and high halves of a packed pair."""
    return a.astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)


def value(a: Array, name: str) -> Array:
    """float64 values."""
    return decode(a, FORMATS[name])


def single(a: Array, name: str) -> Array:
    """float32 values."""
    if name == "f16":
        return a.view(np.float16).astype(np.float32)
    return (a.astype(np.uint32) << np.uint32(16)).view(np.float32)


def encode(x: Array, name: str, mode: str = "rn") -> Array:
    """float64 values (rounded to odd where they were inexact) in the format."""
    if name == "f16" and mode == "rn":
        h = np.asarray(x).astype(np.float16)
        return np.where(np.isnan(h), _NAN, h.view(np.uint16))
    return round_f64(x, FORMATS[name], mode).astype(np.uint16)


def flush(a: Array, name: str) -> Array:
    """Subnormals to zero of the same sign."""
    return np.where((a & _INF[name]) == 0, a & _SIGN, a)


def saturate(a: Array, name: str) -> Array:
    """Clamped to [0, 1], NaN to +0."""
    one = np.uint16(0x3C00 if name == "f16" else 0x3F80)
    x = single(a, name)
    return np.where(x > 0, np.where(x >= 1, one, a), np.uint16(0))


def relu(a: Array, name: str) -> Array:
    """Negative values to +0; NaN canonical."""
    nan = (a & np.uint16(0x7FFF)) > _INF[name]
    return np.where(nan, _NAN, np.where((a & _SIGN) != 0, np.uint16(0), a))


def add(a: Array, b: Array, name: str) -> Array:
    """Sum."""
    if name == "f16":
        h = a.view(np.float16) + b.view(np.float16)
        return np.where(np.isnan(h), _NAN, h.view(np.uint16))
    return encode(odd_add(value(a, name), value(b, name)), name)


def sub(a: Array, b: Array, name: str) -> Array:
    """Difference."""
    return add(a, b ^ _SIGN, name)


def mul(a: Array, b: Array, name: str) -> Array:
    """Product."""
    return encode(value(a, name) * value(b, name), name)


def fma(a: Array, b: Array, c: Array, name: str) -> Array:
    """``a * b + c`` with one rounding."""
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

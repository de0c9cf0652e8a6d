"""Single precision arithmetic: every rounding mode, ftz and saturation, on uint32 containers.

NaN results are the canonical 0x7FFFFFFF, as the hardware leaves them.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.exact import odd_add, odd_divide, odd_fma, odd_sqrt
from warpglass.machine.numeric.formats import FORMATS, round_f64

__all__ = [
    "add", "as_float", "canonical", "copysign", "divide", "flush", "fma", "from_wide", "maximum", "minimum",
    "mul", "saturate", "sqrt", "sub", "wide",
]  # fmt: skip

_U32 = np.uint32
_NAN = np.uint32(0x7FFFFFFF)
_NAN_FLOAT = np.array([0x7FFFFFFF], dtype=np.uint32).view(np.float32)[0]
_SIGN = np.uint32(0x80000000)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_EXPONENT = np.uint32(0x7F800000)
_TINY = np.float32(2.0**-126)
_F32 = FORMATS["f32"]


def as_float(a: Array) -> Array:
    """The container seen as float32."""
    return a.view(np.float32)


def canonical(r: Array) -> Array:
    """Container of float32 results, NaNs made canonical."""
    nan = np.isnan(r)
    bits: Array = r.view(_U32)
    return np.where(nan, _NAN, bits) if nan.any() else bits


def wide(a: Array) -> Array:
    """float64 values of f32 containers."""
    return a.view(np.float32).astype(np.float64)


def from_wide(x: Array, mode: str) -> Array:
    """f32 containers of float64 values that were rounded to odd."""
    if mode == "rn":
        return canonical(np.asarray(x).astype(np.float32))
    return round_f64(x, _F32, mode).astype(_U32)


def flush(a: Array) -> Array:
    """Subnormals to zero of the same sign (``.ftz``)."""
    # Zero wraps to the top, so this finds subnormals alone; most arrays have none.
    subnormal = ((a & _MAGNITUDE) - _U32(1)) < _U32(0x007FFFFF)
    return np.where(subnormal, a & _SIGN, a) if subnormal.any() else a


def saturate(a: Array) -> Array:
    """Clamped to [0, 1], NaN to +0 (``.sat``)."""
    f = a.view(np.float32)
    return np.where(f > 0, np.minimum(f, np.float32(1)), np.float32(0)).view(_U32)


def add(a: Array, b: Array, mode: str = "rn") -> Array:
    """Sum."""
    if mode == "rn":
        return canonical(a.view(np.float32) + b.view(np.float32))
    return from_wide(odd_add(wide(a), wide(b), mode == "rm"), mode)


def sub(a: Array, b: Array, mode: str = "rn") -> Array:
    """Difference."""
    if mode == "rn":
        return canonical(a.view(np.float32) - b.view(np.float32))
    return add(a, b ^ _SIGN, mode)


def mul(a: Array, b: Array, mode: str = "rn") -> Array:
    """Product."""
    if mode == "rn":
        return canonical(a.view(np.float32) * b.view(np.float32))
    return from_wide(wide(a) * wide(b), mode)  # 48 bits: exact in float64


def fma(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """``a * b + c`` with one rounding."""
    product = a.view(np.float32).astype(np.float64) * b.view(np.float32)
    addend = c.view(np.float32)
    if mode != "rn":
        return from_wide(odd_add(product, addend.astype(np.float64), mode == "rm"), mode)
    total = product + addend
    result = total.astype(np.float32)
    # Two roundings differ from one only where the float64 sum stands exactly between two floats, or where
    # the result is subnormal and the middle lies higher: those go the exact way.
    middle = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    tiny = np.abs(result) <= _TINY
    if middle.any() or (tiny.any() and (tiny & (total != 0)).any()):
        result = odd_fma(wide(a), wide(b), wide(c)).astype(np.float32)
    return canonical(result)


def divide(a: Array, b: Array, mode: str = "rn") -> Array:
    """Quotient, correctly rounded."""
    if mode == "rn":
        return canonical(a.view(np.float32) / b.view(np.float32))
    return from_wide(odd_divide(wide(a), wide(b)), mode)


def sqrt(a: Array, mode: str = "rn") -> Array:
    """Square root, correctly rounded."""
    if mode == "rn":
        return canonical(np.sqrt(a.view(np.float32)))
    return from_wide(odd_sqrt(wide(a)), mode)


def copysign(a: Array, b: Array) -> Array:
    """PTX ``copysign d, a, b``: the magnitude of ``b`` with the sign of ``a``."""
    return (a & _SIGN) | (b & _MAGNITUDE)


def _is_nan(a: Array) -> Array:
    return (a & _MAGNITUDE) > _EXPONENT


def _pick(a: Array, b: Array, larger: bool, propagate: bool) -> Array:
    x, y = a.view(np.float32), b.view(np.float32)
    bits = np.where((x > y) if larger else (x < y), a, b)
    # Equal values may be zeros of opposite sign: +0 is the larger one.
    bits = np.where(x == y, (a & b) if larger else (a | b), bits)
    x_nan, y_nan = np.isnan(x), np.isnan(y)
    if not (x_nan.any() or y_nan.any()):
        return bits
    if propagate:
        return np.where(x_nan | y_nan, _NAN, bits)
    return np.where(y_nan, np.where(x_nan, _NAN, a), np.where(x_nan, b, bits))


def minimum(a: Array, b: Array, propagate: bool = False) -> Array:
    """The smaller one, -0 below +0; a single NaN loses, or wins with ``propagate`` (``.NaN``)."""
    return _pick(a, b, False, propagate)


def maximum(a: Array, b: Array, propagate: bool = False) -> Array:
    """The larger one, +0 above -0; a single NaN loses, or wins with ``propagate`` (``.NaN``)."""
    return _pick(a, b, True, propagate)

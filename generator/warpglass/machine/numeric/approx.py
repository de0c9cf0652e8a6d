"""The ``.approx`` functions, computed in float64 and rounded once.

The hardware's own tables are not public; PTX states bounds on their error. These results are within half an
ulp of the true value (plus float64's own error), so they lie inside the stated bounds, but their last bits
may differ from a GPU's. docs/numerics.md lists the bounds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpglass.machine.numeric import float32
from warpglass.machine.numeric.bits import Array

__all__ = ["UNARY", "divide_approx", "rcp_f64", "rsqrt_f64", "unary_f32"]

_HIGH_WORD = np.uint64(0xFFFFFFFF00000000)
_U64 = np.uint64


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)  # -0 gives -inf, as PTX wants


def _lg2(x: Array) -> Array:
    return np.where(x == 0, -np.inf, np.log2(x))


#: float64 to float64, by opcode base.
UNARY: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "sin": np.sin,
    "cos": np.cos,
    "lg2": _lg2,
    "ex2": np.exp2,
    "tanh": np.tanh,
}


def unary_f32(name: str, a: Array) -> Array:
    """The function on f32 containers."""
    return float32.canonical(np.asarray(UNARY[name](float32.wide(a)).astype(np.float32)))


def divide_approx(a: Array, b: Array) -> Array:
    """``div.approx.f32``: where \\|b\\| is above 2^126 a signed zero, or NaN for infinite a (PTX ISA)."""
    x, y = a.view(np.float32), b.view(np.float32)
    quotient = float32.canonical(x / y)
    huge = (np.abs(y) > np.float32(2.0**126)) & np.isfinite(y) & ~np.isnan(x)
    sign = (a ^ b) & np.uint32(0x80000000)
    return np.where(huge, np.where(np.isinf(x), np.uint32(0x7FFFFFFF), sign), quotient)


def _flush64(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**-1022, np.copysign(0.0, x), x)


def _high(x: Array) -> Array:
    """Upper word kept, lower word zero: what the approximate f64 forms return; NaN canonical."""
    bits = np.asarray(_flush64(x)).view(_U64) & _HIGH_WORD
    return np.where(np.isnan(x), _U64(0x7FFFFFFF00000000), bits)


def rcp_f64(a: Array) -> Array:
    """``rcp.approx.ftz.f64``: 20 bits of mantissa, subnormals flushed on both sides."""
    return _high(1.0 / _flush64(a.view(np.float64)))


def rsqrt_f64(a: Array, ftz: bool) -> Array:
    """``rsqrt.approx{.ftz}.f64``: with ftz 20 bits of mantissa, subnormals flushed."""
    x = a.view(np.float64)
    if ftz:
        return _high(_rsqrt(_flush64(x)))
    r = _rsqrt(x)
    return np.asarray(r).view(_U64)

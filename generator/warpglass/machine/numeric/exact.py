"""Error-free transforms in float64 and results rounded to odd.

A result rounded to odd keeps, in its last bit, the fact that it was inexact; rounding it again to a format
with at least two bits less equals rounding the exact value once (S. Boldo, G. Melquiond, "Emulation of FMA
and correctly rounded sums", 2008). That carries all f32, f16 and bf16 arithmetic in every rounding mode.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array

__all__ = ["odd_add", "odd_divide", "odd_fma", "odd_sqrt", "to_odd", "two_product", "two_sum"]

_SPLIT = 134217729.0  # 2^27 + 1


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded sum and its exact error (Knuth); no condition on magnitudes."""
    s = a + b
    bb = s - a
    return s, (a - (s - bb)) + (b - bb)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded product and its exact error (Dekker); factors must stay clear of over- and underflow."""
    p = a * b
    t = _SPLIT * a
    ah = t - (t - a)
    al = a - ah
    t = _SPLIT * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def to_odd(value: Array, error: Array) -> Array:
    """Nearest float64 ``value`` turned to the odd neighbour, where ``error`` has the sign of the rest."""
    bits = np.asarray(value, dtype=np.float64).view(np.int64)
    # Moving one step towards the error where the last bit is even: up in magnitude if the signs agree.
    away = (error > 0) == (value > 0)
    fix = (error != 0) & ((bits & 1) == 0) & np.isfinite(value) & (value != 0) & ~np.isnan(error)
    return np.where(fix, bits + np.where(away, 1, -1), bits).view(np.float64)


def odd_add(a: Array, b: Array, down: bool = False) -> Array:
    """Sum rounded to odd; ``down`` makes an exact zero of opposite signs -0 (IEEE 754, 6.3)."""
    s, e = two_sum(a, b)
    odd = to_odd(s, e)
    return np.where((odd == 0) & (np.signbit(a) != np.signbit(b)), -0.0, odd) if down else odd


def odd_fma(a: Array, b: Array, c: Array, down: bool = False) -> Array:
    """``a * b + c`` rounded to odd, for factors of at most 26 bits (f32 and narrower)."""
    return odd_add(a * b, c, down)


def odd_divide(a: Array, b: Array) -> Array:
    """Quotient rounded to odd, for f32 operands (their range keeps the residual exact)."""
    q = a / b
    p, e = two_product(q, b)
    rest = (a - p) - e
    return to_odd(q, np.where(b < 0, -rest, rest))


def odd_sqrt(a: Array) -> Array:
    """Square root rounded to odd, for f32 operands."""
    s = np.sqrt(a)
    p, e = two_product(s, s)
    return to_odd(s, (a - p) - e)

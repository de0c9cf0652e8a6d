"""Double precision arithmetic: every rounding mode, on uint64 containers.

Round-to-nearest sums, products, quotients and roots are the host's own (IEEE 754). The fused multiply-add
and the directed modes use error-free transforms on operands scaled to [1, 2): the nearest float64 plus the
sign of what it misses is enough to round in any mode and at any exponent. NaN operands pass through
quieted, the first one first, as PTX allows.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.exact import to_odd, two_product, two_sum
from warpglass.machine.numeric.formats import FORMATS, pack

__all__ = ["add", "copysign", "divide", "fma", "maximum", "minimum", "mul", "saturate", "sqrt", "sub"]

_U64 = np.uint64
_I64 = np.int64
_F64 = FORMATS["f64"]
_SIGN = np.uint64(1 << 63)
_MAGNITUDE = np.uint64((1 << 63) - 1)
_QUIET = np.uint64(0x0008000000000000)


def _float(a: Array) -> Array:
    return a.view(np.float64)


def _scaled(x: Array) -> tuple[Array, Array]:
    """``x = m * 2^e`` with |m| in [1, 2) (or 0)."""
    m, e = np.frexp(x)
    return m * 2.0, e.astype(_I64) - 1


def _round(value: Array, error: Array, exponent: Array, mode: str) -> Array:
    """Round ``(value + error) * 2^exponent``; only the sign of ``error`` matters, ``value`` is nearest."""
    m, e = np.frexp(np.abs(value))
    significand = np.ldexp(m, 63).astype(_U64)
    negative = np.signbit(value)
    lead = e.astype(_I64) - 1 + exponent
    outward = (error != 0) & ((error > 0) != negative)
    inward = (error != 0) & ~outward
    significand = significand + outward.astype(_U64) - inward.astype(_U64)
    dropped = inward & (significand < np.uint64(1 << 62))
    significand = np.where(dropped, (significand << np.uint64(1)) | np.uint64(1), significand)
    return pack(negative, lead - dropped, significand, _F64, mode)


def _finish(rounded: Array, native: Array, ordinary: Array) -> Array:
    """``rounded`` where all operands were finite and non-zero, else what the host's own operation says."""
    return np.where(ordinary, rounded, native.view(_U64))


def _ordinary(*xs: Array) -> Array:
    ok: Array = np.isfinite(xs[0]) & (xs[0] != 0)
    for x in xs[1:]:
        ok = ok & np.isfinite(x) & (x != 0)
    return ok


def _fma_any(x: Array, y: Array, z: Array, mode: str) -> Array:
    """Fused multiply-add of finite operands (x, y non-zero) in any mode, at any exponent."""
    mx, ex = _scaled(x)
    my, ey = _scaled(y)
    mz, ez = _scaled(z)
    p, e = two_product(mx, my)
    gap = ez - (ex + ey)
    # Beyond these gaps one side is only a sticky bit of the other, so its exact distance does not matter.
    near = np.clip(gap, -200, 120)
    c = np.ldexp(mz, near.astype(np.int32))
    exponent = ex + ey + np.where((gap > 120) & (z != 0), gap - near, 0)
    uh, ul = two_sum(c, e)
    th, tl = two_sum(p, uh)
    lh, ll = two_sum(tl, ul)
    value, error = two_sum(th, to_odd(lh, ll))
    bits = _round(value, error, exponent, mode)
    if mode == "rm":
        cancelled = (value == 0) & (error == 0) & (np.signbit(z) != np.signbit(p))
        return np.where(cancelled, _SIGN, bits)
    return np.where((value == 0) & (error == 0) & (np.signbit(z) != np.signbit(p)), _U64(0), bits)


def fma(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """``a * b + c`` with one rounding."""
    x, y, z = _float(a), _float(b), _float(c)
    if mode == "rn":
        # Boldo and Melquiond: exact product and sums, the tail rounded to odd. Valid clear of the ends.
        p, e = two_product(x, y)
        uh, ul = two_sum(z, e)
        th, tl = two_sum(p, uh)
        lh, ll = two_sum(tl, ul)
        fast = th + to_odd(lh, ll)
        size = np.abs(p)
        good = (
            (size < 1e280) & (size > 1e-250) & (np.abs(z) < 1e280) & (np.abs(x) < 1e280) & (np.abs(y) < 1e280)
        )
        good = good & ((np.abs(z) > 1e-250) | (z == 0))
        if good.all():
            return np.asarray(fast).view(_U64)
    ordinary = _ordinary(x, y) & np.isfinite(z)
    native = x * y + z
    # A finite product that overflows must not meet an infinite addend.
    native = np.where(np.isinf(z) & np.isfinite(x) & np.isfinite(y), z, native)
    # Infinite or zero products, and infinite or NaN addends, are exact or special: the host is right there.
    result = _finish(_fma_any(x, y, z, mode), np.asarray(native), ordinary)
    if mode == "rm":
        product = x * y
        cancelled = ~ordinary & (product == 0) & (z == 0) & (np.signbit(product) != np.signbit(z))
        result = np.where(cancelled, _SIGN, result)
    return result


def add(a: Array, b: Array, mode: str = "rn") -> Array:
    """Sum."""
    if mode == "rn":
        return (_float(a) + _float(b)).view(_U64)
    return fma(a, np.broadcast_to(np.float64(1.0).view(_U64), np.shape(a)), b, mode)


def sub(a: Array, b: Array, mode: str = "rn") -> Array:
    """Difference."""
    if mode == "rn":
        # By the sum of the negative, as the machine does it: the sign of a NaN shows the difference.
        return (_float(a) + _float(b ^ _SIGN)).view(_U64)
    return add(a, b ^ _SIGN, mode)


def mul(a: Array, b: Array, mode: str = "rn") -> Array:
    """Product."""
    x, y = _float(a), _float(b)
    if mode == "rn":
        return (x * y).view(_U64)
    mx, ex = _scaled(x)
    my, ey = _scaled(y)
    p, e = two_product(mx, my)
    return _finish(_round(p, e, ex + ey, mode), np.asarray(x * y), _ordinary(x, y))


def divide(a: Array, b: Array, mode: str = "rn") -> Array:
    """Quotient."""
    x, y = _float(a), _float(b)
    if mode == "rn":
        return (x / y).view(_U64)
    mx, ex = _scaled(x)
    my, ey = _scaled(y)
    q = mx / my
    p, e = two_product(q, my)
    rest = (mx - p) - e
    rest = np.where(my < 0, -rest, rest)
    return _finish(_round(q, rest, ex - ey, mode), np.asarray(x / y), _ordinary(x, y))


def sqrt(a: Array, mode: str = "rn") -> Array:
    """Square root."""
    x = _float(a)
    if mode == "rn":
        return np.sqrt(x).view(_U64)
    m, e = _scaled(x)
    odd = (e & 1) != 0
    m = np.where(odd, m * 2.0, m)
    half = (e - odd) >> 1
    s = np.sqrt(m)
    p, err = two_product(s, s)
    return _finish(_round(s, (m - p) - err, half, mode), np.asarray(np.sqrt(x)), _ordinary(x) & (x > 0))


def saturate(a: Array) -> Array:
    """Clamped to [0, 1], NaN to +0."""
    f = _float(a)
    return np.where(f > 0, np.minimum(f, 1.0), 0.0).view(_U64)


def copysign(a: Array, b: Array) -> Array:
    """PTX ``copysign d, a, b``: the magnitude of ``b`` with the sign of ``a``."""
    return (a & _SIGN) | (b & _MAGNITUDE)


def _pick(a: Array, b: Array, larger: bool) -> Array:
    x, y = _float(a), _float(b)
    bits = np.where((x > y) if larger else (x < y), a, b)
    bits = np.where(x == y, (a & b) if larger else (a | b), bits)
    x_nan, y_nan = np.isnan(x), np.isnan(y)
    # Of two NaNs compiled code keeps the second, made quiet.
    return np.where(y_nan, np.where(x_nan, b | _QUIET, a), np.where(x_nan, b, bits))


def minimum(a: Array, b: Array) -> Array:
    """The smaller one, -0 below +0; a single NaN loses."""
    return _pick(a, b, False)


def maximum(a: Array, b: Array) -> Array:
    """The larger one, +0 above -0; a single NaN loses."""
    return _pick(a, b, True)

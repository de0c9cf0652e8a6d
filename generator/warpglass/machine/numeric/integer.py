"""Integer arithmetic in two's complement on unsigned containers of 16, 32 and 64 bits."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np

from warpglass.machine.numeric.bits import Array, signed, width_of

__all__ = [
    "absolute", "add_carry", "clamp", "divide", "dot2", "dot4", "limits", "maximum", "minimum", "mul24",
    "mul_high", "mul_wide", "remainder", "sad", "saturating_add", "saturating_sub", "sub_borrow",
]  # fmt: skip

_U32: Any = np.uint32
_U64: Any = np.uint64
_I64: Any = np.int64
_WIDER: dict[int, type[np.unsignedinteger[Any]]] = {16: np.uint32, 32: np.uint64}


def absolute(a: Array) -> Array:
    """Absolute value; the most negative number stays itself."""
    return np.abs(signed(a)).view(a.dtype)


def minimum(a: Array, b: Array, is_signed: bool) -> Array:
    """The smaller one."""
    return np.minimum(signed(a), signed(b)).view(a.dtype) if is_signed else np.minimum(a, b)


def maximum(a: Array, b: Array, is_signed: bool) -> Array:
    """The larger one."""
    return np.maximum(signed(a), signed(b)).view(a.dtype) if is_signed else np.maximum(a, b)


def mul_wide(a: Array, b: Array, is_signed: bool) -> Array:
    """The full product of 16- or 32-bit factors, twice as wide."""
    wide = _WIDER[width_of(a)]
    if not is_signed:
        return np.multiply(a, b, dtype=wide)
    swide = signed(np.zeros(0, dtype=wide)).dtype
    return np.multiply(signed(a), signed(b), dtype=swide).view(wide)


def mul_high(a: Array, b: Array, is_signed: bool) -> Array:
    """The upper half of the full product (16, 32 or 64 bits)."""
    width = width_of(a)
    if width < 64:
        return (mul_wide(a, b, is_signed) >> _WIDER[width](width)).astype(a.dtype)
    low32 = _U64(0xFFFFFFFF)
    shift = _U64(32)
    a0, a1, b0, b1 = a & low32, a >> shift, b & low32, b >> shift
    mid = a1 * b0 + ((a0 * b0) >> shift)
    mid2 = a0 * b1 + (mid & low32)
    high: Array = a1 * b1 + (mid >> shift) + (mid2 >> shift)
    if is_signed:
        high = high - np.where(signed(a) < 0, b, _U64(0)) - np.where(signed(b) < 0, a, _U64(0))
    return high


def mul24(a: Array, b: Array, is_signed: bool, high: bool) -> Array:
    """Product of the low 24 bits: its low 32 bits, or bits 16 to 47."""
    if is_signed:
        x = (signed(np.left_shift(a, _U32(8))) >> np.int32(8)).astype(_I64)
        y = (signed(np.left_shift(b, _U32(8))) >> np.int32(8)).astype(_I64)
        product: Array = (x * y).view(_U64)
    else:
        product = (a & _U32(0xFFFFFF)).astype(_U64) * (b & _U32(0xFFFFFF))
    return (product >> _U64(16) if high else product).astype(_U32)


def divide(a: Array, b: Array, is_signed: bool) -> Array:
    """Quotient truncated towards zero; all ones where the divisor is 0 (as the hardware leaves)."""
    ones = ~a.dtype.type(0)
    if not is_signed:
        return np.where(b == 0, ones, np.floor_divide(a, b))
    quotient = np.floor_divide(absolute(a), absolute(b))
    negative = signed(a ^ b) < 0
    return np.where(b == 0, ones, np.where(negative, a.dtype.type(0) - quotient, quotient))


def remainder(a: Array, b: Array, is_signed: bool) -> Array:
    """Remainder with the sign of the dividend; all ones where the divisor is 0 (as compiled code leaves)."""
    ones = ~a.dtype.type(0)
    if not is_signed:
        return np.where(b == 0, ones, np.remainder(a, b))
    rest = np.remainder(absolute(a), absolute(b))
    return np.where(b == 0, ones, np.where(signed(a) < 0, a.dtype.type(0) - rest, rest))


def limits(width: int, is_signed: bool) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)


def clamp(wide: Array, width: int, is_signed: bool) -> Array:
    """An int64 array clamped to an integer type of at most 32 bits, sign-extended int64 again."""
    low, high = limits(width, is_signed)
    return np.clip(wide, low, high)


def saturating_add(a: Array, b: Array) -> Array:
    """Signed 32-bit sum clamped to its type."""
    return clamp(signed(a).astype(_I64) + signed(b), 32, True).astype(np.int32).view(_U32)


def saturating_sub(a: Array, b: Array) -> Array:
    """Signed 32-bit difference clamped to its type."""
    return clamp(signed(a).astype(_I64) - signed(b), 32, True).astype(np.int32).view(_U32)


def add_carry(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    """Sum and carry out; ``carry`` in is a predicate or None."""
    total = a + b
    out = total < a
    if carry is not None:
        total = total + carry.astype(a.dtype)
        out = out | (carry & (total == 0))
    return total, out


def sub_borrow(a: Array, b: Array, borrow: Array | None) -> tuple[Array, Array]:
    """Difference ``a - (b + borrow)`` and borrow out."""
    result = a - b
    out = a < b
    if borrow is not None:
        out = out | (borrow & (result == 0))
        result = result - borrow.astype(a.dtype)
    return result, out


def sad(a: Array, b: Array, c: Array, is_signed: bool) -> Array:
    """``c + |a - b|``."""
    return c + (maximum(a, b, is_signed) - minimum(a, b, is_signed))


def _field(x: Array, position: int, width: int, is_signed: bool) -> Array:
    part = np.right_shift(x, _U32(position)).astype(np.uint8 if width == 8 else np.uint16)
    return (signed(part) if is_signed else part).astype(_I64)


def dot4(a: Array, b: Array, c: Array, a_signed: bool, b_signed: bool) -> Array:
    """``c`` plus the four products of the bytes of ``a`` and ``b``, modulo 2^32."""
    total: Array = c.astype(_I64)
    for lane in range(4):
        total = total + _field(a, 8 * lane, 8, a_signed) * _field(b, 8 * lane, 8, b_signed)
    return total.astype(_U32)


def dot2(a: Array, b: Array, c: Array, a_signed: bool, b_signed: bool, high: bool) -> Array:
    """``c`` plus two products of the halves of ``a`` with the low (or high) two bytes of ``b``."""
    total: Array = c.astype(_I64)
    for lane in range(2):
        byte = _field(b, 8 * lane + (16 if high else 0), 8, b_signed)
        total = total + _field(a, 16 * lane, 16, a_signed) * byte
    return total.astype(_U32)

"""Bit fields, shifts, permutations and counts on unsigned containers."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array", "as_bool", "bfe_s", "bfe_u", "bfi", "bfind", "bmsk", "brev", "clz", "fns", "funnel_left",
    "funnel_right", "lop3", "popc", "prmt", "sar", "shl", "shr", "signed", "szext", "top_bit", "width_of",
]  # fmt: skip

Array = npt.NDArray[Any]

_SIGNED: dict[np.dtype[Any], type[np.signedinteger[Any]]] = {
    np.dtype(np.uint8): np.int8,
    np.dtype(np.uint16): np.int16,
    np.dtype(np.uint32): np.int32,
    np.dtype(np.uint64): np.int64,
}
_U32: Any = np.uint32
_U64: Any = np.uint64


def width_of(a: Array) -> int:
    """Bits of the container of ``a``."""
    return a.dtype.itemsize * 8


def signed(a: Array) -> Array:
    """``a`` seen as two's complement of the same width (a view)."""
    return a.view(_SIGNED[a.dtype])


def as_bool(a: Array) -> Array:
    """True where any bit is set."""
    return a != 0


def shl(a: Array, amount: Array) -> Array:
    """Left shift; amounts at or beyond the width give 0 (numpy defines the same clamp)."""
    if amount.dtype == a.dtype:
        return np.left_shift(a, amount)
    width = width_of(a)
    return np.left_shift(a, np.minimum(amount, _U32(width)).astype(a.dtype))


def shr(a: Array, amount: Array) -> Array:
    """Logical right shift; amounts at or beyond the width give 0."""
    if amount.dtype == a.dtype:
        return np.right_shift(a, amount)
    width = width_of(a)
    return np.right_shift(a, np.minimum(amount, _U32(width)).astype(a.dtype))


def sar(a: Array, amount: Array) -> Array:
    """Arithmetic right shift; amounts beyond the width fill with the sign."""
    width = width_of(a)
    clamped = np.minimum(amount, amount.dtype.type(width - 1)).astype(a.dtype)
    return np.right_shift(signed(a), signed(clamped)).view(a.dtype)


def funnel_left(low: Array, high: Array, amount: Array, wrap: bool) -> Array:
    """Most significant 32 bits of ``high:low << amount``, the amount clamped to 32 or taken modulo 32."""
    n = (amount & _U32(31)) if wrap else np.minimum(amount, _U32(32))
    both = (high.astype(_U64) << _U64(32)) | low
    return (np.left_shift(both, n.astype(_U64)) >> _U64(32)).astype(_U32)


def funnel_right(low: Array, high: Array, amount: Array, wrap: bool) -> Array:
    """Least significant 32 bits of ``high:low >> amount``, the amount clamped to 32 or taken modulo 32."""
    n = (amount & _U32(31)) if wrap else np.minimum(amount, _U32(32))
    both = (high.astype(_U64) << _U64(32)) | low
    return np.right_shift(both, n.astype(_U64)).astype(_U32)


def lop3(a: Array, b: Array, c: Array, table: int) -> Array:
    """Any boolean function of three inputs: bit ``4a + 2b + c`` of ``table`` is the result."""
    table &= 0xFF
    known = _LOP3.get(table)
    if known is not None:
        return known(a, b, c)
    # Sum of minterms, over the smaller of the function and its complement.
    invert = bin(table).count("1") > 4
    terms = table ^ 0xFF if invert else table
    result: Array | None = None
    for index in range(8):
        if terms >> index & 1:
            term = (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
            result = term if result is None else result | term
    if result is None:
        result = (a | b | c) & a.dtype.type(0)
    return ~result if invert else result


_LOP3: dict[int, Any] = {
    0x80: lambda a, b, c: a & b & c,
    0xFE: lambda a, b, c: a | b | c,
    0x96: lambda a, b, c: a ^ b ^ c,
    0xCA: lambda a, b, c: (a & b) | (~a & c),
    0xE8: lambda a, b, c: (a & b) | (c & (a | b)),
    0xF8: lambda a, b, c: a | (b & c),
    0xEA: lambda a, b, c: (a & b) | c,
    0xC0: lambda a, b, c: a & b,
    0xFC: lambda a, b, c: a | b,
    0x3C: lambda a, b, c: a ^ b,
    0x78: lambda a, b, c: a ^ (b & c),
    0x6A: lambda a, b, c: (a & b) ^ c,
}


def popc(a: Array) -> Array:
    """Number of set bits, as uint32."""
    return np.bitwise_count(a).astype(_U32)


def top_bit(a: Array) -> Array:
    """Position of the most significant set bit as int64; -1 for zero."""
    x = a.astype(_U64)
    high = (x >> _U64(32)) != 0
    part = np.where(high, x >> _U64(32), x).astype(np.float64)  # 32 bits: exact, so frexp cannot round up
    exponent = np.frexp(part)[1].astype(np.int64) - 1
    return np.where(x == 0, np.int64(-1), exponent + np.where(high, np.int64(32), np.int64(0)))


def clz(a: Array) -> Array:
    """Leading zeros, as uint32; the width for zero."""
    return (np.int64(width_of(a) - 1) - top_bit(a)).astype(_U32)


def bfind(a: Array, is_signed: bool, shift_amount: bool) -> Array:
    """Position of the most significant non-sign bit (or the left shift that normalises); 2^32-1 if none."""
    x = np.where(signed(a) < 0, ~a, a) if is_signed else a
    top = top_bit(x)
    found = np.int64(width_of(a) - 1) - top if shift_amount else top
    return np.where(top < 0, np.int64(0xFFFFFFFF), found).astype(_U32)


def brev(a: Array) -> Array:
    """Bits in reverse order (32 or 64 wide)."""
    x = a.astype(_U64)
    for step, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
    ):
        x = ((x >> _U64(step)) & _U64(mask)) | ((x & _U64(mask)) << _U64(step))
    if width_of(a) == 32:
        return x.astype(_U32)
    return (x >> _U64(32)) | (x << _U64(32))


def _ones(count: Array) -> Array:
    """``count`` low ones as uint64; 64 and more give all ones."""
    return ~np.left_shift(~_U64(0), np.minimum(count, _U32(64)).astype(_U64))


def bfe_u(a: Array, position: Array, length: Array) -> Array:
    """Bit field extract, zero-extended; ``position`` and ``length`` count modulo 256."""
    pos, n = position & _U32(0xFF), length & _U32(0xFF)
    field = np.right_shift(a.astype(_U64), np.minimum(pos, _U32(64)).astype(_U64)) & _ones(n)
    return field.astype(a.dtype)


def bfe_s(a: Array, position: Array, length: Array) -> Array:
    """Bit field extract, sign-extended; the sign is bit min(pos+len-1, msb), or 0 for an empty field."""
    width = width_of(a)
    pos, n = position & _U32(0xFF), length & _U32(0xFF)
    top = np.minimum(pos + n - _U32(1) * (n != 0), _U32(width - 1))
    sign = (np.right_shift(a.astype(_U64), top.astype(_U64)) & _U64(1)).astype(bool) & (n != 0)
    # Bits at or beyond the msb read as the sign: an arithmetic shift does that, then mask to the length.
    wide = signed(a).astype(np.int64)
    shifted = np.right_shift(wide, np.minimum(pos, _U32(63)).astype(np.int64)).view(_U64)
    mask = _ones(n)
    return np.where(sign, shifted | ~mask, shifted & mask).astype(a.dtype)


def bfi(a: Array, b: Array, position: Array, length: Array) -> Array:
    """Bits ``[0, length)`` of ``a`` inserted into ``b`` at ``position``; parts beyond the msb are dropped."""
    pos, n = position & _U32(0xFF), length & _U32(0xFF)
    shift = np.minimum(pos, _U32(64)).astype(_U64)
    mask = np.left_shift(_ones(n), shift)
    return ((b.astype(_U64) & ~mask) | (np.left_shift(a.astype(_U64), shift) & mask)).astype(a.dtype)


def bmsk(a: Array, b: Array, wrap: bool) -> Array:
    """Mask of ``b`` ones from bit ``a`` on, clamped at 32 or modulo 32."""
    if wrap:
        start, count = a & _U32(31), b & _U32(31)
    else:
        start, count = np.minimum(a, _U32(32)), np.minimum(b, _U32(32))
    mask = np.left_shift(_ones(count), start.astype(_U64))
    return (mask & _U64(0xFFFFFFFF)).astype(_U32)


def szext(a: Array, n: Array, is_signed: bool, wrap: bool) -> Array:
    """The low ``n`` bits of ``a`` sign- or zero-extended to 32; n clamped at 32 or modulo 32."""
    count = (n & _U32(31)) if wrap else np.minimum(n, _U32(32))
    mask = _ones(count).astype(_U32)
    low = a & mask
    if not is_signed:
        return low
    top = np.maximum(count, _U32(1)) - _U32(1)
    negative = ((np.right_shift(a, top) & _U32(1)) != 0) & (count != 0)
    return np.where(negative, low | ~mask, low)


def fns(mask: Array, base: Array, offset: Array) -> Array:
    """Position of the ``offset``-th set bit from bit ``base`` on (down, if negative); 2^32-1 if none."""
    m, start, off = np.broadcast_arrays(mask, base, offset)
    count = off.astype(_U32).view(np.int32).astype(np.int64)
    result = np.full(m.shape, 0xFFFFFFFF, dtype=_U32)
    # An offset of 0 asks for the base bit itself; +-k for the k-th set bit, the base bit included.
    at_base = (count == 0) & ((np.right_shift(m, start) & _U32(1)) != 0)
    result = np.where(at_base, start, result)
    step = np.sign(count)
    left = np.abs(count)
    position = np.where(start < 32, start.astype(np.int64), np.int64(-64))
    for _ in range(32):
        inside = (position >= 0) & (position < 32) & (step != 0)
        bit = inside & ((np.right_shift(m, np.where(inside, position, 0).astype(_U32)) & _U32(1)) != 0)
        left = left - bit
        result = np.where(bit & (left == 0), position.astype(_U32), result)
        position = position + step
    return result


def prmt(a: Array, b: Array, selector: Array, mode: str = "") -> Array:
    """Four bytes picked out of ``{b, a}`` (byte 0 is the low byte of ``a``).

    ``mode`` is ``""`` (bit 3 of each selector nibble replicates the sign), or one of f4e, b4e, rc8, ecl,
    ecr, rc16, in which only the two low bits of the selector count.
    """
    if np.size(selector) == 1 and mode == "" and not int(selector.flat[0]) & 0x8888:
        return _prmt_constant(a, b, int(selector.flat[0]))
    both = (b.astype(_U64) << _U64(32)) | a
    result: Array = (a ^ a).astype(_U32)
    for lane in range(4):
        if mode == "":
            nibble = np.right_shift(selector, _U32(4 * lane)) & _U32(15)
            index = nibble & _U32(7)
        else:
            index = _PRMT_MODES[mode][lane][selector & _U32(3)]
        byte = (np.right_shift(both, index.astype(_U64) * _U64(8)) & _U64(0xFF)).astype(_U32)
        if mode == "":
            sign = np.where((byte & _U32(0x80)) != 0, _U32(0xFF), _U32(0))
            byte = np.where((nibble & _U32(8)) != 0, sign, byte)
        result = result | np.left_shift(byte, _U32(8 * lane))
    return result


def _prmt_constant(a: Array, b: Array, selector: int) -> Array:
    """The usual case, one selector for all lanes and no sign: shifts by constants."""
    if selector == 0x5410:
        return (a & _U32(0xFFFF)) | (b << _U32(16))
    if selector == 0x7632:
        return (a >> _U32(16)) | (b & _U32(0xFFFF0000))
    total: Array | None = None
    for lane in range(4):
        index = selector >> (4 * lane) & 7
        source = b if index & 4 else a
        byte = (source >> _U32(8 * (index & 3))) & _U32(0xFF)
        byte = byte << _U32(8 * lane)
        total = byte if total is None else total | byte
    assert total is not None
    return total


def _mode_rows(rows: tuple[str, str, str, str]) -> tuple[Array, ...]:
    """Rows as the ISA prints them (a selector each, top byte first), turned to [byte][selector]."""
    return tuple(np.array([int(rows[s][3 - lane]) for s in range(4)], dtype=_U32) for lane in range(4))


#: PTX ISA, prmt: source byte of each result byte, d.b3 to d.b0, for selector values 0 to 3.
_PRMT_MODES: dict[str, tuple[Array, ...]] = {
    "f4e": _mode_rows(("3210", "4321", "5432", "6543")),
    "b4e": _mode_rows(("5670", "6701", "7012", "0123")),
    "rc8": _mode_rows(("0000", "1111", "2222", "3333")),
    "ecl": _mode_rows(("3210", "3211", "3222", "3333")),
    "ecr": _mode_rows(("0000", "1110", "2210", "3210")),
    "rc16": _mode_rows(("1010", "3232", "1010", "3232")),
}

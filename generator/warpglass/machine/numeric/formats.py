"""Binary floating-point formats and one correctly rounding packer for all of them.

A value on its way to a format is (sign, exponent of the leading bit, 63-bit significand): the leading one
stands at bit 62 and bit 0 is sticky, so that every rounding mode is exact. Formats narrower than f64 are
also reached from a float64 that was rounded to odd: with at least two bits to spare, the second rounding
then equals one rounding of the exact value, in every mode.
"""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpglass.machine.numeric.bits import Array

__all__ = ["FORMATS", "Format", "decode", "is_nan", "pack", "round_f64", "unpack_f64"]

_U64 = np.uint64
_I64 = np.int64
_ONE = np.uint64(1)


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: ``width`` bits in the container, ``exp`` exponent and ``man`` mantissa bits.

    ``top`` is the pattern of the largest finite magnitude, ``nan`` the canonical NaN (None where the format
    has none), ``inf`` the pattern of infinity (None where it has none). ``shift`` is the number of unused
    low bits in the container (tf32).
    """

    name: str
    width: int
    exp: int
    man: int
    bias: int
    top: int
    nan: int | None
    inf: int | None
    shift: int = 0


#: The formats PTX names. Canonical NaNs: PTX ISA, "Floating Point Instructions" and "cvt".
FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("f64", 64, 11, 52, 1023, 0x7FEFFFFFFFFFFFFF, 0x7FF8000000000000, 0x7FF0000000000000),
        Format("f32", 32, 8, 23, 127, 0x7F7FFFFF, 0x7FFFFFFF, 0x7F800000),
        Format("tf32", 19, 8, 10, 127, 0x3FBFF, 0x3FFFF, 0x3FC00, shift=13),
        Format("f16", 16, 5, 10, 15, 0x7BFF, 0x7FFF, 0x7C00),
        Format("bf16", 16, 8, 7, 127, 0x7F7F, 0x7FFF, 0x7F80),
        Format("e5m2", 8, 5, 2, 15, 0x7B, 0x7F, 0x7C),
        Format("e4m3", 8, 4, 3, 7, 0x7E, 0x7F, None),
        Format("e3m2", 6, 3, 2, 3, 0x1F, None, None),
        Format("e2m3", 6, 2, 3, 1, 0x1F, None, None),
        Format("e2m1", 4, 2, 1, 1, 0x7, None, None),
    )
}


#: float64 of every f16 pattern: a look-up is many times faster than numpy's own conversion.
_F16 = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)


def pack(
    negative: Array,
    exponent: Array,
    significand: Array,
    fmt: Format,
    mode: str = "rn",
    saturate: bool = False,
) -> Array:
    """Round ``(-1)^negative * significand * 2^(exponent-62)`` to ``fmt``; patterns as uint64.

    ``mode``: rn (ties to even), rna (ties away), rz, rm, rp. Overflow gives infinity or the largest finite
    value as IEEE 754 says for the mode; the latter always with ``saturate`` or without an infinity.
    A zero significand gives a signed zero.
    """
    man = fmt.man
    biased = np.clip(exponent + fmt.bias, -2000, (1 << fmt.exp) + 1).astype(_I64)
    drop = (62 - man) + np.maximum(_I64(0), 1 - biased)
    far = drop > 63
    shift = np.minimum(drop, 63).astype(_U64)
    sig = np.where(far, (significand != 0).astype(_U64), significand)
    kept = np.right_shift(sig, shift)
    rest = sig & (np.left_shift(_ONE, shift) - _ONE)
    half = np.left_shift(_ONE, shift - _ONE)
    inexact = rest != 0
    if mode == "rn":
        up = (rest > half) | ((rest == half) & ((kept & _ONE) != 0))
    elif mode == "rna":
        up = rest >= half
    elif mode == "rz":
        up = np.zeros_like(inexact)
    elif mode == "rm":
        up = inexact & negative
    else:
        up = inexact & ~negative
    # For a normal number the hidden bit of `kept` adds one to the exponent field, and a carry out of the
    # mantissa adds another: exactly what the encoding wants.
    bits = kept + up.astype(_U64) + np.left_shift((np.maximum(biased, 1) - 1).astype(_U64), _U64(man))
    bits = np.where(significand == 0, _U64(0), bits)
    over = bits > _U64(fmt.top)
    if fmt.inf is None or saturate or mode == "rz":
        bits = np.where(over, _U64(fmt.top), bits)
    elif mode in ("rn", "rna"):
        bits = np.where(over, _U64(fmt.inf), bits)
    else:
        to_inf = negative if mode == "rm" else ~negative
        bits = np.where(over, np.where(to_inf, _U64(fmt.inf), _U64(fmt.top)), bits)
    return np.left_shift(bits | (negative.astype(_U64) << _U64(fmt.width - 1)), _U64(fmt.shift))


def unpack_f64(x: Array) -> tuple[Array, Array, Array]:
    """Sign, exponent of the leading bit and significand (leading one at bit 62) of finite float64 values."""
    fraction, exponent = np.frexp(np.abs(x))
    significand = np.ldexp(np.where(np.isfinite(x), fraction, 0.0), 63).astype(_U64)
    return np.signbit(x), exponent.astype(_I64) - 1, significand


def round_f64(x: Array, fmt: Format, mode: str = "rn", saturate: bool = False) -> Array:
    """Patterns (uint64) of float64 values, possibly rounded to odd before, in ``fmt``.

    NaN becomes the canonical NaN (the largest finite value where the format has none); infinity stays
    infinite unless ``saturate`` or the format asks for the largest finite value.
    """
    negative, exponent, significand = unpack_f64(x)
    bits = pack(negative, exponent, significand, fmt, mode, saturate)
    sign = negative.astype(_U64) << _U64(fmt.width - 1 + fmt.shift)
    infinite = fmt.top if fmt.inf is None or saturate else fmt.inf
    bits = np.where(np.isinf(x), sign | _U64(infinite << fmt.shift), bits)
    nan = _U64((fmt.top if fmt.nan is None else fmt.nan) << fmt.shift)
    return np.where(np.isnan(x), nan, bits)


def decode(bits: Array, fmt: Format) -> Array:
    """float64 values of patterns (any unsigned dtype) of a format narrower than f64; exact."""
    if fmt.name == "f32":
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if fmt.name == "f16":
        return _F16.take(bits)
    if fmt.name == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    raw = bits.astype(_U64) >> _U64(fmt.shift)
    magnitude = raw & _U64((1 << (fmt.width - 1)) - 1)
    field = (magnitude >> _U64(fmt.man)).astype(_I64)
    mantissa = (magnitude & _U64((1 << fmt.man) - 1)).astype(np.float64)
    full = np.where(field == 0, mantissa, mantissa + float(1 << fmt.man))
    value = np.ldexp(full, (np.maximum(field, 1) - fmt.bias - fmt.man).astype(np.int32))
    if fmt.inf is not None:
        value = np.where(magnitude == _U64(fmt.inf), np.inf, value)
        value = np.where(magnitude > _U64(fmt.inf), np.nan, value)
    elif fmt.nan is not None:
        value = np.where(magnitude == _U64(fmt.nan), np.nan, value)
    negative = (raw >> _U64(fmt.width - 1)) & _ONE
    return np.where(negative != 0, -value, value)


def is_nan(bits: Array, fmt: Format) -> Array:
    """Where a pattern is a NaN of the format."""
    if fmt.nan is None:
        return np.zeros(np.shape(bits), dtype=bool)
    magnitude = (bits.astype(_U64) >> _U64(fmt.shift)) & _U64((1 << (fmt.width - 1)) - 1)
    return magnitude > _U64(fmt.top if fmt.inf is None else fmt.inf)

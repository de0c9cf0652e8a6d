"""Conversions between integer and floating-point containers, one rounding each.

An integer type is named ``s8`` to ``u64``; 8-bit integers live in the low byte of a uint16. A float type
is a name of :data:`~warpglass.machine.numeric.formats.FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import float32, half
from warpglass.machine.numeric.bits import Array, signed, top_bit
from warpglass.machine.numeric.formats import FORMATS, decode, pack, round_f64
from warpglass.machine.numeric.integer import limits

__all__ = [
    "CONTAINER", "extend", "float_container", "float_to_float", "float_to_int", "from_ue8m0", "int_to_float",
    "int_to_int", "integral", "relu", "saturate_unit", "to_ue8m0", "value_of",
]  # fmt: skip

_U64 = np.uint64
_I64 = np.int64

#: Container of an integer type by its width.
CONTAINER: dict[int, type[np.unsignedinteger[Any]]] = {
    8: np.uint16,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}

_INTEGRAL: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def _parse(name: str) -> tuple[bool, int]:
    return name[0] == "s", int(name[1:])


def extend(a: Array, source: str) -> Array:
    """An integer container as int64 (signed or up to 32 bits) or uint64, its value unchanged."""
    is_signed, width = _parse(source)
    if width == 8:
        low = a.astype(np.uint8)
        return (signed(low) if is_signed else low).astype(_I64)
    if is_signed:
        return signed(a).astype(_I64)
    return a.astype(_U64 if width == 64 else _I64)


def int_to_int(a: Array, source: str, dest: str, saturate: bool = False) -> Array:
    """Extended, truncated, or clamped with ``saturate``; an 8-bit result fills its container."""
    wide = extend(a, source)
    is_signed, width = _parse(dest)
    low, high = limits(width, is_signed)
    if saturate:
        if wide.dtype == _U64:
            wide = np.minimum(wide, _U64(high))
        elif width < 64:
            wide = np.clip(wide, low, high)
        elif not is_signed:
            wide = np.maximum(wide, 0)
    if width == 8:
        return (signed(wide.astype(np.uint8)) if is_signed else wide.astype(np.uint8)).astype(np.uint16)
    return wide.astype(CONTAINER[width])


def float_container(bits: Array, name: str) -> Array:
    """uint64 patterns narrowed to the container of a float format (8-bit and smaller ones: uint16)."""
    width = FORMATS[name].width + FORMATS[name].shift
    return bits.astype(CONTAINER[max(8, 1 << (width - 1).bit_length())])


def int_to_float(a: Array, source: str, dest: str, mode: str = "rn") -> Array:
    """The nearest float in the given direction."""
    wide = extend(a, source)
    if mode == "rn" and dest in ("f32", "f64"):
        # C's conversions round once; numpy's are C's.
        return (
            wide.astype(np.float32).view(np.uint32) if dest == "f32" else wide.astype(np.float64).view(_U64)
        )
    negative = wide < 0
    magnitude = np.where(negative, -wide, wide).astype(_U64)
    lead = top_bit(magnitude)
    up = np.clip(62 - lead, 0, 62).astype(_U64)
    # A 64-bit value has one bit too many for the packer: its last bit becomes sticky.
    significand = np.where(
        lead == 63, (magnitude >> _U64(1)) | (magnitude & _U64(1)), np.left_shift(magnitude, up)
    )
    return float_container(pack(negative, lead, significand, FORMATS[dest], mode), dest)


def value_of(a: Array, source: str) -> Array:
    """float64 values of a float container, exact."""
    return np.asarray(a).view(np.float64) if source == "f64" else decode(a, FORMATS[source])


def float_to_int(a: Array, source: str, dest: str, mode: str = "rzi") -> Array:
    """Rounded to an integer and clamped to the type.

    NaN gives 0, or the pattern of the sign bit alone where f64 or a 64-bit integer takes part (PTX ISA, cvt).
    """
    is_signed, width = _parse(dest)
    low, high = limits(width, is_signed)
    x = _INTEGRAL[mode](value_of(a, source))
    nan = np.isnan(x)
    if width < 64:
        whole = np.clip(np.where(nan, 0.0, x), low, high).astype(_I64)
    else:
        over = x >= float(high)
        under = x <= float(low)
        safe = np.where(nan | over | under, 0.0, x)
        whole = safe.astype(_I64 if is_signed else _U64).view(_U64)
        whole = np.where(over, _U64(high), whole)
        whole = np.where(under, _U64(low & (2**64 - 1)), whole)
    special = (1 << (width - 1)) if source == "f64" or width == 64 else 0
    if width == 8:
        special = special | 0xFF00 if is_signed and special else special
        return np.where(nan, np.uint16(special), whole.astype(np.uint16))
    kind = CONTAINER[width]
    return np.where(nan, kind(special), whole.astype(kind))


def saturate_unit(x: Array) -> Array:
    """float64 values clamped to [0, 1], NaN to +0."""
    return np.where(x > 0, np.minimum(x, 1.0), 0.0)


def relu(x: Array) -> Array:
    """float64 values, negative ones replaced by +0; NaN stays."""
    return np.where(x <= 0, 0.0, x)


def integral(a: Array, source: str, mode: str) -> Array:
    """float64 values of ``a`` rounded to integral values (rni, rzi, rmi, rpi)."""
    return _INTEGRAL[mode](value_of(a, source))


def float_to_float(
    a: Array, source: str, dest: str, mode: str = "rn", finite: bool = False, rectify: bool = False
) -> Array:
    """Another float format, rounded once. ``finite``: clamp to the largest finite; ``rectify``: relu."""
    if mode == "rn" and not finite and not rectify:
        if source == "f32" and dest in ("f16", "bf16"):
            return half.nearest(a.view(np.float32), dest)
        if dest == "f32" and source in ("f16", "bf16"):
            return float32.canonical(half.single(a, source))
        if dest == "f32" and source != "f64":
            return float32.canonical(value_of(a, source).astype(np.float32))
        if source == "f64" and dest == "f32":
            return float32.canonical(np.asarray(a.view(np.float64).astype(np.float32)))
        if dest == "f64":
            return value_of(a, source).view(_U64)
    x = value_of(a, source)
    if rectify:
        x = relu(x)
    return float_container(round_f64(x, FORMATS[dest], mode, finite), dest)


def to_ue8m0(a: Array, source: str, mode: str, finite: bool = True) -> Array:
    """Power-of-two scale of a magnitude: its exponent rounded down (rz) or up (rp).

    NaN is 0xFF; infinity and anything above 2^127 is 0xFE with ``finite``, else 0xFF.
    """
    x = np.abs(value_of(a, source))
    fraction, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    code = exponent.astype(_I64) - 1 + 127
    if mode == "rp":
        code = code + (fraction != 0.5)
    code = np.where(x == 0, 0, np.maximum(code, 0))
    code = np.where(np.isinf(x), 0xFF, code)
    if finite:
        code = np.minimum(code, 0xFE)
    return np.where(np.isnan(x), 0xFF, code).astype(np.uint16)


def from_ue8m0(code: Array) -> Array:
    """float64 values of ue8m0 scales."""
    c = code.astype(np.int32)
    return np.where(c == 0xFF, np.nan, np.ldexp(1.0, c - 127))

"""Video arithmetic: sub-word operands, clamping, merging; scalar (one value) and SIMD (two or four lanes).

Semantics follow the pseudo code of the PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
Values travel as int64; 33- and 34-bit intermediates therefore never overflow.
"""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric.bits import Array, signed

__all__ = ["LANE_OPERATIONS", "lane_selection", "mask_lanes", "merge", "pick", "saturate", "secondary"]

_U32: Any = np.uint32
_I64: Any = np.int64


def _extended(part: Array, width: int, is_signed: bool) -> Array:
    wide = part.astype(_I64)
    if not is_signed:
        return wide
    half = 1 << (width - 1)
    return ((wide & ((1 << width) - 1)) ^ half) - half


def pick(a: Array, selector: str, is_signed: bool) -> Array:
    """``a.b0`` … ``a.h1`` (or all of ``a`` for ``""``), extended to int64."""
    if not selector:
        return signed(a).astype(_I64) if is_signed else a.astype(_I64)
    width = 8 if selector[0] == "b" else 16
    part = np.right_shift(a, _U32(width * int(selector[1]))) & _U32((1 << width) - 1)
    return _extended(part, width, is_signed)


def saturate(x: Array, is_signed: bool, selector: str) -> Array:
    """Clamped to the part of the destination that will be written."""
    width = {"": 32, "b": 8, "h": 16}[selector[:1]]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    return np.clip(x, low, high)


def merge(x: Array, selector: str, c: Array) -> Array:
    """The low bits of ``x`` written over the selected part of ``c``."""
    width = 8 if selector[0] == "b" else 16
    shift = width * int(selector[1])
    mask = _U32(((1 << width) - 1) << shift)
    return (c & ~mask) | (np.left_shift(x.astype(_U32), _U32(shift)) & mask)


def secondary(name: str, x: Array, c: Array, is_signed: bool) -> Array:
    """``x op c`` with op add, min or max, as 32 bits."""
    if name == "add":
        return x.astype(_U32) + c
    low = x.astype(_U32)
    if is_signed:
        fold = np.minimum if name == "min" else np.maximum
        return fold(signed(low), signed(c)).view(_U32)
    return np.minimum(low, c) if name == "min" else np.maximum(low, c)


def lane_selection(selector: str, lanes: int) -> tuple[int, ...]:
    """Source lane of each result lane, low first: ``h10``, ``b7531``; operand b counts from ``lanes`` on."""
    digits = [int(ch) for ch in selector[1:]]
    if len(digits) != lanes or max(digits) >= 2 * lanes:
        raise ValueError(selector)
    return tuple(reversed(digits))


def mask_lanes(selector: str, lanes: int) -> tuple[bool, ...]:
    """Which lanes a destination mask (``b20``, ``h1``) names; all for ``""``."""
    if not selector:
        return (True,) * lanes
    named = {int(ch) for ch in selector[1:]}
    if max(named) >= lanes:
        raise ValueError(selector)
    return tuple(i in named for i in range(lanes))


def _average(a: Array, b: Array) -> Array:
    total = a + b
    return (total + (total >= 0)) >> 1


#: On int64 lanes.
LANE_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "avrg": _average,
    "absdiff": lambda a, b: np.abs(a - b),
    "min": np.minimum,
    "max": np.maximum,
}

"""Tensor-core products from fragments: gather, multiply, scatter.

A register is an array ``[W, 32]``; a fragment is a list of registers. Sums of f16, bf16, tf32 and 8-bit
float products are taken in float64, k ascending, the accumulator last, and rounded once: an approximation of
the hardware's own, unpublished order (docs/numerics.md). Integer sums are exact; f64 is a chain of fused
multiply-adds, k ascending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from warpglass.machine.numeric import float32, float64
from warpglass.machine.numeric.bits import Array, signed
from warpglass.machine.numeric.convert import float_container
from warpglass.machine.numeric.formats import FORMATS, decode, round_f64
from warpglass.machine.numeric.fragments import Places

__all__ = [
    "ELEMENT_BITS",
    "expand_sparse",
    "gather",
    "multiply",
    "pack_elements",
    "popcount_product",
    "scatter",
    "unpack_elements",
]

#: Bits an element takes in a register; fp6 and fp4 stand in bytes (``.kind::f8f6f4``).
ELEMENT_BITS: dict[str, int] = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32, "e3m2": 8, "e2m3": 8, "e2m1": 8,
}  # fmt: skip

_TF32 = np.uint32(0xFFFFE000)


def unpack_elements(registers: Sequence[Array], bits: int) -> Array:
    """Raw elements ``[W, 32, E]`` of a fragment, in register order, low bits first."""
    if bits >= 32:
        return np.stack(np.broadcast_arrays(*registers), axis=-1)
    mask = np.uint32((1 << bits) - 1)
    per = 32 // bits
    parts = [np.right_shift(r, np.uint32(bits * i)) & mask for r in registers for i in range(per)]
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def pack_elements(elements: Array, bits: int) -> tuple[Array, ...]:
    """Registers of raw elements ``[W, 32, E]``: the inverse of :func:`unpack_elements`."""
    if bits >= 32:
        return tuple(elements[..., i] for i in range(elements.shape[-1]))
    per = 32 // bits
    out = []
    for start in range(0, elements.shape[-1], per):
        total = elements[..., start].astype(np.uint32)
        for i in range(1, per):
            total = total | np.left_shift(elements[..., start + i].astype(np.uint32), np.uint32(bits * i))
        out.append(total)
    return tuple(out)


def _numbers(raw: Array, kind: str) -> Array:
    """Raw elements as float64 or int64 values."""
    if kind == "tf32":
        return decode(raw & _TF32, FORMATS["f32"])
    if kind == "f64":
        return raw.view(np.float64)
    if kind == "e2m1":
        return decode((raw >> np.uint32(2)) & np.uint32(0xF), FORMATS[kind])  # the middle of its byte
    if kind in FORMATS:
        width = FORMATS[kind].width
        return decode(raw & np.uint32((1 << width) - 1), FORMATS[kind])
    if kind == "s8":
        return signed(raw.astype(np.uint8)).astype(np.int64)
    if kind == "s4":
        return ((raw.astype(np.int64) ^ 8) & 15) - 8
    if kind == "s32":
        return signed(raw).astype(np.int64)
    return raw.astype(np.int64)


def gather(registers: Sequence[Array], places: Places, shape: tuple[int, int], kind: str) -> Array:
    """Matrix ``[W, rows, columns]`` of values from a fragment."""
    values = _numbers(unpack_elements(registers, ELEMENT_BITS[kind]), kind)
    matrix = np.zeros((values.shape[0], *shape), dtype=values.dtype)
    matrix[:, places[0], places[1]] = values
    return matrix


def scatter(matrix: Array, places: Places, kind: str) -> tuple[Array, ...]:
    """Registers of a matrix of values, rounded to ``kind``."""
    values = matrix[:, places[0], places[1]]
    if kind == "f64":
        raw = values.view(np.uint64)
    elif kind == "s32":
        raw = values.astype(np.int64).astype(np.uint32)
    elif kind == "f32":
        raw = float32.canonical(values.astype(np.float32))
    else:
        raw = float_container(round_f64(values, FORMATS[kind]), kind)
    return pack_elements(raw, ELEMENT_BITS[kind])


def multiply(a: Array, b: Array, c: Array, kind: str, saturate: bool = False, mode: str = "rn") -> Array:
    """``a @ b + c`` on ``[W, M, K]``, ``[W, K, N]``, ``[W, M, N]``.

    ``kind``: ``f64`` (fused chain in ``mode``), ``int`` (exact; clamped to 32 bits with ``saturate``), else
    sums in float64.
    """
    steps = range(a.shape[2])
    if kind == "f64":
        total = np.ascontiguousarray(c).view(np.uint64)
        for k in steps:
            x = np.broadcast_to(a[:, :, k, None], c.shape).copy().view(np.uint64)
            y = np.broadcast_to(b[:, None, k, :], c.shape).copy().view(np.uint64)
            total = float64.fma(x, y, total, mode)
        return total.view(np.float64)
    total = a[:, :, 0, None] * b[:, None, 0, :]
    for k in steps[1:]:
        total = total + a[:, :, k, None] * b[:, None, k, :]
    total = total + c
    return np.clip(total, -(1 << 31), (1 << 31) - 1) if kind == "int" and saturate else total


def expand_sparse(stored: Array, metadata: Array, selector: int) -> Array:
    """Dense ``[W, 16, K]`` of a 2:4 sparse A ``[W, 16, K/2]`` with 16-bit elements.

    Two bits an element give its place among four. A metadata word holds eight elements of row g in its lower
    half and of row g + 8 in its upper half; it lies in lane ``4 g + selector`` for K = 16, and for K = 32 in
    lanes ``4 g + 2 selector`` (first eight elements) and the next (PTX ISA, "Sparse matrix storage").
    """
    warps, rows, half = stored.shape
    row, column = np.indices((rows, half))
    lane = 4 * (row % 8) + (selector & 3 if half == 8 else 2 * (selector & 1) + column // 8)
    shift = (16 * (row // 8) + 2 * (column % 8)).astype(np.uint32)
    place = (np.right_shift(metadata[:, lane], shift) & np.uint32(3)).astype(np.intp)
    dense = np.zeros((warps, rows, 2 * half), dtype=stored.dtype)
    dense[np.arange(warps)[:, None, None], row, 4 * (column // 2) + place] = stored
    return dense


def popcount_product(a: Array, b: Array, c: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """Single-bit product: ``c`` plus the number of ones in ``combine(row, column)``."""
    total = c
    for k in range(a.shape[2]):
        total = total + combine(a[:, :, k, None], b[:, None, k, :])
    return total

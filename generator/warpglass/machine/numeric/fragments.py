"""Which matrix element each lane holds in each register of a tensor-core fragment.

Every function returns ``(rows, columns)``, two int arrays ``[32, E]``: element ``e`` of lane ``l`` stands at
``(rows[l, e], columns[l, e])``. Elements count through the registers in order, low bits of a register first:
with 16-bit elements, element 3 is the upper half of register 1.

The layouts are those of the PTX ISA, "Matrix Fragments for mma": a group of four lanes shares a row (or a
column of B); register r of A covers rows 0-7 (r even) or 8-15 (r odd).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = [
    "Places",
    "mma_a",
    "mma_b",
    "mma_c",
    "quad_pair_a",
    "quad_pair_b",
    "quad_pair_c",
    "tile8x8",
    "wmma_fragment",
    "wmma_registers",
]

Places = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

_LANE = np.arange(32, dtype=np.intp)
_GROUP = _LANE >> 2  # which row (of A and C) or column (of B)
_MEMBER = _LANE & 3  # which lane of the four


def _grid(elements: int) -> npt.NDArray[np.intp]:
    return np.arange(elements, dtype=np.intp)[None, :]


@lru_cache(maxsize=64)
def mma_a(m: int, k: int, bits: int) -> Places:
    """A (m x k) of ``mma.sync`` with elements of ``bits``; a register holds 32 bits (64 for f64)."""
    per = max(1, 32 // bits)
    halves = m // 8
    e = _grid(m * k // 32)
    register, inside = e // per, e % per
    rows = _GROUP[:, None] + 8 * (register % halves)
    columns = (register // halves) * 4 * per + _MEMBER[:, None] * per + inside
    return rows, columns


@lru_cache(maxsize=64)
def mma_b(k: int, n: int, bits: int) -> Places:
    """B (k x n, n = 8) of ``mma.sync``."""
    per = max(1, 32 // bits)
    e = _grid(k * n // 32)
    register, inside = e // per, e % per
    rows = register * 4 * per + _MEMBER[:, None] * per + inside
    return rows, np.broadcast_to(_GROUP[:, None], rows.shape)


@lru_cache(maxsize=64)
def mma_c(m: int, n: int = 8) -> Places:
    """C and D (m x 8) of ``mma.sync``: two neighbours in a row, then the same eight rows down."""
    e = _grid(m * n // 32)
    rows = _GROUP[:, None] + 8 * (e // 2)
    columns = _MEMBER[:, None] * 2 + e % 2
    return rows, np.broadcast_to(columns, rows.shape)


def tile8x8(transposed: bool = False) -> Places:
    """One 8x8 matrix of 16-bit elements as ldmatrix and stmatrix spread it: one register, two elements."""
    rows = np.broadcast_to(_GROUP[:, None], (32, 2))
    columns = _MEMBER[:, None] * 2 + _grid(2)
    return (columns, rows) if transposed else (rows, columns)


# mma.m8n8k4 with f16 (sm_70): four independent products, one a "quad pair": lanes 4q..4q+3 and 16+4q..19+4q.


def quad_pair_a(row_major: bool) -> Places:
    """A (8 x 4) of ``mma.m8n8k4.f16``; the lane's product is ``(lane % 16) // 4``."""
    upper = 4 * (_LANE >= 16)[:, None]
    own = np.broadcast_to(_MEMBER[:, None], (32, 4))
    steps = np.broadcast_to(_grid(4), (32, 4))
    return (own + upper, steps) if row_major else (steps + upper, own)


def quad_pair_b(row_major: bool) -> Places:
    """B (4 x 8) of ``mma.m8n8k4.f16``."""
    upper = 4 * (_LANE >= 16)[:, None]
    own = np.broadcast_to(_MEMBER[:, None], (32, 4))
    steps = np.broadcast_to(_grid(4), (32, 4))
    return (own, steps + upper) if row_major else (steps, own + upper)


def quad_pair_c(single: bool) -> Places:
    """C and D (8 x 8) of ``mma.m8n8k4.f16``; ``single``: in f32, else in f16."""
    upper = 4 * (_LANE >= 16)[:, None]
    i = _grid(8)
    if not single:
        return np.broadcast_to(_MEMBER[:, None] + upper, (32, 8)), np.broadcast_to(i, (32, 8))
    rows = (_LANE[:, None] & 1) + (i & 2) + upper
    columns = (i & 4) + (_LANE[:, None] & 2) + (i & 1)
    return rows, columns


#: Registers a lane of wmma fragments (PTX ISA, "Matrix Fragments for WMMA"), by (matrix, type, shape).
#: Elements a register: 32 / width, one for f32, s32 and f64.
_WMMA_AB: dict[str, dict[str, tuple[int, int]]] = {
    "f16": {"m16n16k16": (8, 8), "m32n8k16": (8, 8), "m8n32k16": (8, 8)},
    "bf16": {"m16n16k16": (4, 4), "m32n8k16": (8, 2), "m8n32k16": (2, 8)},
    "s8": {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)},
    "u8": {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)},
    "tf32": {"m16n16k8": (4, 4)},
    "f64": {"m8n8k4": (1, 1)},
    "s4": {"m8n8k32": (1, 1)},
    "u4": {"m8n8k32": (1, 1)},
    "b1": {"m8n8k128": (1, 1)},
}
_BITS = {
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "tf32": 32,
    "f64": 64,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "f32": 32,
    "s32": 32,
}


def _sizes(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def wmma_registers(matrix: str, shape: str, kind: str) -> int:
    """Registers a lane gives to fragment ``matrix`` (a, b, c or d); KeyError for what the ISA lacks."""
    if matrix in ("a", "b"):
        return _WMMA_AB[kind][shape][0 if matrix == "a" else 1]
    m, n, _ = _sizes(shape)
    return m * n // 32 // (2 if kind == "f16" else 1)


@lru_cache(maxsize=128)
def wmma_fragment(matrix: str, shape: str, kind: str) -> Places:
    """Places of a wmma fragment's elements.

    The ISA leaves the order open; this is the machine's own, the same for load, store and mma. Accumulators
    of 16 x 16 are two m16n8 tiles side by side, as current GPUs have them; everything else is cut into equal
    runs of the row-major matrix. Where the ISA gives a fragment more registers than the matrix has elements
    (f16 A and B), the run repeats.
    """
    m, n, k = _sizes(shape)
    rows_total, columns_total = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    if matrix in ("c", "d") and (rows_total, columns_total) == (16, 16):
        rows, columns = mma_c(16)
        return np.concatenate([rows, rows], 1), np.concatenate([columns, columns + 8], 1)
    count = wmma_registers(matrix, shape, kind) * max(1, 32 // _BITS[kind])
    distinct = rows_total * columns_total // 32
    index = _LANE[:, None] * distinct + _grid(count) % distinct
    return index // columns_total, index % columns_total

"""Atomic updates of one step, applied in block, warp and lane order.

Lanes that share an address are served one after the other. Short chains are applied rank by rank (the
first lane of every address, then the second …); a long chain of an operation that numpy can accumulate is
one scan in the same order, so that float sums round as they would one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints

__all__ = ["CHAIN", "OPERATIONS", "apply_atomic", "element_dtype"]

Array = npt.NDArray[Any]
Operation = Callable[[Array, Array, Array], Array]

#: Lanes at one address from which on a chain is scanned instead of stepped through.
CHAIN = 24


def _inc(old: Array, b: Array, c: Array) -> Array:
    return np.where(old >= b, 0, old + 1).astype(old.dtype)


def _dec(old: Array, b: Array, c: Array) -> Array:
    return np.where((old == 0) | (old > b), b, old - 1).astype(old.dtype)


#: New value from (old, b, c).
OPERATIONS: Mapping[str, Operation] = {
    "add": lambda old, b, c: old + b,
    "sub": lambda old, b, c: old - b,
    "min": lambda old, b, c: np.fmin(old, b) if old.dtype.kind == "f" else np.minimum(old, b),
    "max": lambda old, b, c: np.fmax(old, b) if old.dtype.kind == "f" else np.maximum(old, b),
    "and": lambda old, b, c: old & b,
    "or": lambda old, b, c: old | b,
    "xor": lambda old, b, c: old ^ b,
    "exch": lambda old, b, c: b,
    "inc": _inc,
    "dec": _dec,
    "cas": lambda old, b, c: np.where(old == b, c, old),
}

_SCANS: Mapping[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def element_dtype(kind: str) -> np.dtype[Any] | None:
    """Numpy type in which memory is updated for a PTX type; None for bfloat16, which numpy lacks."""
    if kind.startswith("bf16"):
        return None
    if kind.startswith("f16"):
        return np.dtype(np.float16)
    letter = {"s": "i", "f": "f"}.get(kind[0], "u")
    return np.dtype(f"{letter}{int(kind[1:]) // 8}")


def bfloat_add(old: Array, b: Array, c: Array) -> Array:
    """Sum of bfloat16 patterns, rounded to nearest even."""
    wide = (old.astype(np.uint32) << 16).view(np.float32) + (b.astype(np.uint32) << 16).view(np.float32)
    bits = wide.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(wide), np.uint32(0x7FFF), rounded).astype(np.uint16)


def bfloat_order(pick: Callable[[Array, Array], Array]) -> Operation:
    """Minimum or maximum of bfloat16 patterns."""

    def apply(old: Array, b: Array, c: Array) -> Array:
        wide = pick(
            (old.astype(np.uint32) << 16).view(np.float32), (b.astype(np.uint32) << 16).view(np.float32)
        )
        return (wide.view(np.uint32) >> 16).astype(np.uint16)

    return apply


def apply_atomic(
    view: Array, units: Ints, name: str, b: Array, c: Array, operation: Operation | None = None
) -> Array:
    """Apply ``name`` at ``view[units]`` in order, with operands ``b``, ``c``; gives the old values."""
    step = operation or OPERATIONS[name]
    count = units.shape[0]
    b = np.broadcast_to(b, (count,))
    c = np.broadcast_to(c, (count,))
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    fresh = np.ones(count, dtype=np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(fresh)
    lengths = np.diff(np.append(starts, count))
    old = np.empty(count, dtype=view.dtype)
    if starts.shape[0] == count:
        old = view[units]
        view[units] = step(old, b, c)
        return old
    rank = np.arange(count) - np.repeat(starts, lengths)
    long = np.repeat(lengths > CHAIN, lengths)
    short = ~long
    if short.any():
        for turn in range(int(lengths[lengths <= CHAIN].max())):
            mine = order[short & (rank == turn)]
            at = units[mine]
            was = view[at]
            old[mine] = was
            view[at] = step(was, b[mine], c[mine])
    for start, length in zip(
        starts[lengths > CHAIN].tolist(), lengths[lengths > CHAIN].tolist(), strict=True
    ):
        mine = order[start : start + length]
        old[mine] = _chain(view, int(ordered[start]), name, step, b[mine], c[mine], operation is None)
    return old


def _chain(view: Array, at: int, name: str, step: Operation, b: Array, c: Array, plain: bool) -> Array:
    """A long chain at one address; gives the old values in its order."""
    if name == "exch":
        old = np.concatenate([view[at : at + 1], b[:-1]])
        view[at] = b[-1]
        return old
    scan = _SCANS.get(name) if plain else None
    if scan is not None and not (view.dtype.kind == "f" and name != "add"):
        values = np.concatenate([view[at : at + 1], b.astype(view.dtype)])
        # Accumulation goes strictly from left to right, one rounding a step, also for floats.
        running = scan.accumulate(values, dtype=view.dtype)
        view[at] = running[-1]
        return running[:-1]
    if name == "cas" and view.dtype.kind == "u":
        return _chain_cas(view, at, b, c)
    old = np.empty(b.shape, dtype=view.dtype)
    cell = view[at : at + 1].copy()
    for index in range(b.shape[0]):
        old[index] = cell[0]
        cell = step(cell, b[index : index + 1], c[index : index + 1])
    view[at] = cell[0]
    return old


def _chain_cas(view: Array, at: int, b: Array, c: Array) -> Array:
    cell = int(view[at])
    old = []
    for wanted, new in zip(b.tolist(), c.tolist(), strict=True):
        old.append(cell)
        if cell == wanted:
            cell = new
    view[at] = cell
    return np.array(old, dtype=view.dtype)

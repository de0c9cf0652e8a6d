"""Keeps the register values of all traces of a report within what they may cost in its page."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from warpglass.report.pack import pack_column

__all__ = ["fit_values", "packed_size"]

_ACCESSES = ("addresses", "data")
_COLUMNS = ("step", "register", "offset", "words")
_RISING = frozenset({"step", "offset", "addresses"})
#: Columns are compressed anew at most so often for one trace.
_TRIES = 6


def packed_size(values: Mapping[str, Any]) -> int:
    """Bytes of the page that a trace's values cost, as they are packed there."""
    return _size(values, _COLUMNS)


def _size(values: Mapping[str, Any], names: Sequence[str]) -> int:
    total = 0
    for name in names:
        packed = pack_column(values[name], rising=name in _RISING)
        total += 0 if packed is None else len(packed["d"])
    return total


def fit_values(launches: Sequence[Mapping[str, Any]], budget: int) -> None:
    """Cut ``traces[].values`` of ``launches`` in place so that together they cost at most ``budget`` bytes.

    What the accesses of the traces hold of addresses and data is taken off first, half of the budget at
    most. Every trace gets an equal share; what one does not need goes to the others. What does not fit
    loses whole warps, last ones first, then the later steps of the only warp left, and is marked
    incomplete then.
    """
    accesses = 0
    held: list[tuple[int, MutableMapping[str, Any], MutableMapping[str, Any]]] = []
    for launch in launches:
        for run in launch.get("runs") or []:
            for trace in run.get("traces") or []:
                if trace.get("accesses"):
                    accesses += _size(trace["accesses"], _ACCESSES)
                if trace.get("values"):
                    held.append((packed_size(trace["values"]), trace, trace["values"]))
    held.sort(key=lambda one: one[0])  # stable: the order of the report decides among equals
    left = budget - min(budget // 2, accesses)
    for index, (size, trace, values) in enumerate(held):
        share = left // (len(held) - index)
        if size > share:
            size = _cut(trace, values, share)
        left -= size


def _cut(trace: Mapping[str, Any], values: MutableMapping[str, Any], share: int) -> int:
    """Make ``values`` cost at most ``share`` bytes; the bytes that they cost then."""
    warp_of = np.asarray(trace["columns"]["warp"], dtype=np.int64)[np.asarray(values["step"], dtype=np.int64)]
    warps = list(values["warps"])
    whole = dict(values)
    low, high, best = 0, len(warps), 0
    size = 0
    for _ in range(_TRIES):
        if high - low <= 1:
            break
        # Warps of one kernel cost about the same: the first guess is seldom far off.
        middle = (low + high) // 2
        kept = _rows(whole, np.isin(warp_of, warps[:middle]), warps[:middle], whole["complete"])
        cost = packed_size(kept)
        if cost <= share:
            low, best, size = middle, middle, cost
            values.update(kept)
        else:
            high = middle
    if best:
        return size
    mine = np.flatnonzero(warp_of == warps[0]) if warps else np.zeros(0, np.int64)
    count = len(mine)
    for _ in range(2 * _TRIES):
        chosen = np.zeros(len(warp_of), np.bool_)
        chosen[mine[:count]] = True
        kept = _rows(whole, chosen, warps[:1], False)
        size = packed_size(kept)
        if size <= share or not count:
            break
        count = min(count - 1, int(count * share / size * 0.95))
    values.update(kept)
    return size


def _rows(values: Mapping[str, Any], chosen: Any, warps: list[int], complete: bool) -> dict[str, Any]:
    """The values of ``chosen`` rows, their words moved together."""
    offset = np.asarray(values["offset"], dtype=np.int64)
    words = np.asarray(values["words"], dtype=np.int64)
    # A row's words end where the next row's begin; rows need not lie in the order of their words.
    order = np.argsort(offset, kind="stable")
    length = np.empty(len(offset), np.int64)
    length[order] = np.diff(np.append(offset[order], len(words)))
    picked = np.flatnonzero(chosen)
    starts = np.cumsum(length[picked]) - length[picked]
    total = int(length[picked].sum())
    at = np.repeat(offset[picked] - starts, length[picked]) + np.arange(total)
    columns = {
        name: np.asarray(values[name], dtype=np.int64)[picked].tolist() for name in ("step", "register")
    }
    kept = {"offset": starts.tolist(), "words": words[at].tolist(), "warps": warps, "complete": complete}
    return {**columns, **kept}

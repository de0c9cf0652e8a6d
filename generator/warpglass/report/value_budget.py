"""Keeps register values and memory data of all traces of a report within what they may cost in its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from warpglass.report.pack import pack_column

__all__ = ["fit_values", "packed_size"]

_COLUMNS = ("step", "register", "offset", "words")
_RISING = frozenset({"step", "offset"})
#: ``data_offset`` of an access whose data was not kept (docs/json-schema.md).
NOT_KEPT = 4294967295
#: Columns are compressed anew at most so often for one trace.
_TRIES = 6

Columns = MutableMapping[str, Any]


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
    """Cut the values and memory data of all traces in place: together at most ``budget`` bytes of the page.

    Memory data gets half of the budget at most, register values the rest. First traces of the runs come
    before their second ones, and so on; among those, every trace gets an equal share, and what one does not
    need goes to the others. Of values, whole warps go, last ones first, then the later steps of the only
    warp left, which is marked incomplete then; of memory data, later accesses keep their addresses alone.
    """
    runs = [run for launch in launches for run in launch.get("runs") or []]
    most = max((len(run.get("traces") or []) for run in runs), default=0)
    turns = [
        [run["traces"][position] for run in runs if position < len(run.get("traces") or [])]
        for position in range(most)
    ]
    left = budget // 2
    for traces in turns:
        held = [one["accesses"] for one in traces if one.get("accesses")]
        left = _share(left, [(_cost(one, ("data",), budget), partial(_cut_data, one)) for one in held])
    left += budget - budget // 2
    for traces in turns:
        kept = [one for one in traces if one.get("values")]
        sized = [(_cost(one["values"], _COLUMNS, budget), one) for one in kept]
        left = _share(left, [(size, partial(_cut, one, one["values"])) for size, one in sized])


def _cost(values: Mapping[str, Any], names: Sequence[str], budget: int) -> int:
    """What columns cost; where there is nothing to spend any cost is too much, and none is worked out."""
    return _size(values, names) if budget > 0 else 1


def _share(left: int, held: list[tuple[int, Callable[[int], int]]]) -> int:
    """Cut what is beyond its share of ``left`` bytes; what is left then.

    ``held`` are sizes, each with what cuts it to so many bytes and tells the bytes that it costs then.
    """
    held.sort(key=lambda one: one[0])  # stable: the order of the report decides among equals
    for index, (size, cut) in enumerate(held):
        share = left // (len(held) - index)
        left -= size if size <= share else cut(share)
    return left


def _cut_data(accesses: Columns, share: int) -> int:
    """Keep the data of the first accesses only, at most ``share`` bytes; the bytes that it costs then."""
    whole = np.asarray(accesses["data"], dtype=np.int64)
    offset = np.asarray(accesses["data_offset"], dtype=np.int64)
    kept = np.flatnonzero(offset != NOT_KEPT)
    count, size = len(kept), 0
    if np.any(np.diff(offset[kept]) < 0):
        count = 0  # not in the order of the steps: cannot be cut anywhere
    if share <= 0:
        count = 0
    for _ in range(2 * _TRIES):
        end = int(offset[kept[count]]) if count < len(kept) else len(whole)
        data = whole[: end if count else 0].tolist()
        size = _size({"data": data}, ("data",))
        if size <= share or not count:
            break
        count = min(count - 1, int(count * share / size * 0.97))
    offset[kept[count:]] = NOT_KEPT
    accesses.update(data=data, data_offset=offset.tolist())
    return size


def _cut(trace: Mapping[str, Any], values: MutableMapping[str, Any], share: int) -> int:
    """Make ``values`` cost at most ``share`` bytes; the bytes that they cost then."""
    warp_of = np.asarray(trace["columns"]["warp"], dtype=np.int64)[np.asarray(values["step"], dtype=np.int64)]
    warps = list(values["warps"])
    whole = dict(values)
    low, high, best = 0, len(warps), 0
    size = 0
    for _ in range(_TRIES):
        if high - low <= 1 or share <= 0:
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
    count = len(mine) if share > 0 else 0
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

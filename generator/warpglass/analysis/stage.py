"""How many stages of a pipeline shared memory holds: what a block fills between two barriers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpglass.analysis.subject import Subject

__all__ = ["Stages", "find_stages"]

#: Intervals between barriers in which a block fills shared memory, before they count as the turns of a loop.
_LEAST = 3
_MOST_STAGES = 8
_MOST_LANES = 1_000_000


@dataclass(frozen=True, slots=True)
class Stages:
    """``filled`` bytes are written between two barriers (median of the traced block's turns), so that the
    block's shared memory holds ``number`` stages of ``tile`` bytes each, padding included."""

    filled: int
    number: int
    tile: int


def find_stages(subject: Subject) -> Stages | None:
    """Stages of the first traced block, None where no loop fills shared memory between barriers.

    Worked example: 37,888 bytes, of which each turn fills 16,384: two stages of 18,944 bytes.
    """
    total = subject.static_shared + subject.launch.shared_bytes
    trace = next((t for t in subject.result.traces if t.accesses is not None), None)
    if not total or trace is None or trace.accesses is None:
        return None
    bars = [pc for pc, row in enumerate(subject.listing.rows) if row.kind == "barrier"]
    if not bars:
        return None
    # Barriers that each warp has passed at each of its steps.
    passed = np.zeros(trace.steps, dtype=np.int64)
    at_barrier = np.isin(trace.pc, bars)
    for warp in range(trace.warps):
        mine = np.flatnonzero(trace.warp == warp)
        passed[mine] = np.cumsum(at_barrier[mine])
    a = trace.accesses
    wanted = np.flatnonzero((a.space == 1) & (a.kind == 1))
    lanes = np.bitwise_count(a.mask[wanted]).astype(np.int64)
    kept = int(np.searchsorted(np.cumsum(lanes), _MOST_LANES, side="right"))
    wanted, lanes = wanted[:kept], lanes[:kept]
    if not lanes.size:
        return None
    starts = np.concatenate(([0], np.cumsum(lanes)[:-1]))
    index = np.repeat(a.offset[wanted].astype(np.int64) - starts, lanes) + np.arange(lanes.sum())
    turn = np.repeat(passed[a.step[wanted].astype(np.int64)], lanes)
    size = np.repeat(a.size[wanted].astype(np.int64), lanes)
    _, first = np.unique(turn << 32 | (a.addresses[index].astype(np.int64) & 0xFFFFFFFF), return_index=True)
    filled = np.bincount(turn[first], weights=size[first])
    filled = filled[filled > 0]
    if filled.size < _LEAST:
        return None
    each = int(np.median(filled))
    number = max(1, total // each)
    if number > _MOST_STAGES:
        return None  # a table or the upper levels of a tree, no tile
    return Stages(each, number, -(-total // number))

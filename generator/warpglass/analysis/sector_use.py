"""How much of the sectors that are fetched is used at all, by one request or another."""

from __future__ import annotations

import numpy as np

from warpglass.analysis.subject import Subject

__all__ = ["sector_use"]

_MOST_LANES = 1_000_000


def sector_use(subject: Subject) -> float | None:
    """Share of the bytes of distinct sectors that the grid uses, None where no block was traced.

    Of the first traced block: distinct bytes over the bytes of their sectors. Blocks that share sectors use
    more of them together: as often as the blocks' sectors, counted apart, exceed those of the grid. Worked
    example: one float of structures of 32 bytes uses an eighth; a row walked by each lane, one float after
    the other, uses all, however many sectors each request touches.
    """
    trace = next((t for t in subject.result.traces if t.accesses is not None), None)
    if trace is None or trace.accesses is None:
        return None
    a = trace.accesses
    wanted = np.flatnonzero(a.space == 0)
    lanes = np.bitwise_count(a.mask[wanted]).astype(np.int64)
    kept = int(np.searchsorted(np.cumsum(lanes), _MOST_LANES, side="right"))
    wanted, lanes = wanted[:kept], lanes[:kept]
    if not lanes.size:
        return None
    starts = np.concatenate(([0], np.cumsum(lanes)[:-1]))
    index = np.repeat(a.offset[wanted].astype(np.int64) - starts, lanes) + np.arange(lanes.sum())
    addresses, first = np.unique(a.addresses[index].astype(np.int64), return_index=True)
    used = int(np.repeat(a.size[wanted].astype(np.int64), lanes)[first].sum())
    sectors = int(np.unique(addresses // 32).size)
    unique = sum(max(b.sectors) for b in subject.result.buffers if b is not None and b.sectors is not None)
    blocks = max(1, subject.result.blocks_counted)
    together = max(1.0, sectors * blocks / unique) if unique else 1.0
    return min(1.0, together * used / (32 * sectors))

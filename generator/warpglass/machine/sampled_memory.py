"""What a sampled grid touches of its buffers: from one block and its neighbours to all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warpglass.machine.launch import Launch
from warpglass.machine.result import Buffer, RunResult
from warpglass.machine.sampling import Sampled

__all__ = ["whole_footprint"]


def whole_footprint(
    found: Sampled, launch: Launch, run_blocks: Callable[[tuple[int, ...]], RunResult]
) -> tuple[Buffer | None, ...]:
    """The buffers of the largest class's run, with the sectors that the whole grid reads and writes.

    Addresses are affine, so each step along an axis of the grid moves what a block touches by the same
    distance and adds the same number of sectors; ``run_blocks`` executes the neighbours that tell how many.
    Exact where blocks are disjoint or touch the same along an axis; blocks at edges count as whole ones.
    """
    largest = max(range(len(found.classes)), key=lambda i: found.classes[i].count)
    box, one = found.classes[largest], found.runs[largest]
    x, y, _ = launch.grid
    scale = (1, x, x * y)
    first = sum(at * step for at, step in zip(box.low, scale, strict=True))
    grown = []
    for axis in range(3):
        if launch.grid[axis] == 1:
            continue
        ahead = box.low[axis] + 1 < launch.grid[axis]
        other = first + (scale[axis] if ahead else -scale[axis])
        grown.append((launch.grid[axis], run_blocks((first, other))))
    buffers = []
    for index, buffer in enumerate(one.buffers):
        pairs = [(count, run.buffers[index]) for count, run in grown]
        buffers.append(None if buffer is None else _whole(buffer, pairs))
    return tuple(buffers)


def _whole(buffer: Buffer, pairs: list[tuple[int, Buffer | None]]) -> Buffer:
    if buffer.sectors is None:
        return buffer
    sectors = []
    for which, alone in enumerate(buffer.sectors):
        total = float(alone)
        for count, pair in pairs:
            both = pair.sectors[which] if pair is not None and pair.sectors is not None else alone
            more = min(max(both - alone, 0), alone)
            total *= 1 + (count - 1) * more / alone if alone else 1
        sectors.append(min(round(total), -(-buffer.size // 32)))
    return replace(buffer, sectors=(sectors[0], sectors[1]))

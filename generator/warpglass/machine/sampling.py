"""Sample the blocks of a grid where its parts provably do the same.

Where every branch and every address is affine in the block index, each comparison holds on a half-space of
the grid. A box of blocks whose corners take the same path therefore takes it everywhere: a half-space that
holds (or misses) all corners holds (or misses) the box. Boxes whose corners differ are cut in two, where the
blocks begin to differ. What the proof leaves open, wrap-around of 32-bit numbers and the alignment of
addresses, is guarded by the corners' neighbours and by blocks inside: one that differs makes the box be cut,
too. Blocks are the same if their counts and their findings are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from warpglass.machine.launch import Dim3
from warpglass.machine.result import RunResult

__all__ = ["BlockClass", "Sampled", "sample_grid"]

#: Blocks executed at most; a grid that needs more is no case for sampling.
MOST_BLOCKS = 400

Low = tuple[int, int, int]
Columns = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class BlockClass:
    """A box of blocks that do the same as block ``low``: extents ``low`` to ``high``, both included."""

    low: Dim3
    high: Dim3

    @property
    def count(self) -> int:
        """Blocks of the box."""
        return int(np.prod([high - low + 1 for low, high in zip(self.low, self.high, strict=True)]))


@dataclass(frozen=True, slots=True)
class Sampled:
    """Classes of blocks, and the run of each class's first block."""

    classes: tuple[BlockClass, ...]
    runs: tuple[RunResult, ...]
    executed: int

    def counters(self) -> dict[str, npt.NDArray[np.int64]]:
        """Counters of the whole grid: each class's times its blocks."""
        names = self.runs[0].counters
        return {
            name: np.asarray(
                sum(run.counters[name] * c.count for c, run in zip(self.classes, self.runs, strict=True))
            )
            for name in names
        }

    def histogram(self) -> npt.NDArray[np.int64]:
        """Active lanes of the whole grid, as :attr:`RunResult.active_histogram`."""
        return np.asarray(
            sum(run.active_histogram * c.count for c, run in zip(self.classes, self.runs, strict=True))
        )


def sample_grid(
    grid: Dim3,
    run_block: Callable[[int], RunResult],
    alike: Callable[[tuple[int, ...], RunResult], bool] | None = None,
) -> Sampled | None:
    """Cut ``grid`` into boxes of equal blocks; ``run_block`` executes one by its linear index.

    ``alike`` executes several together and says whether each did what a run of one block did: where they
    are, none of them has to be executed alone. None where a block does not run to its end, or the boxes are
    too many.
    """
    cache: dict[Low, RunResult] = {}
    together: set[Low] = set()
    x, y, _ = grid

    def linear(at: Low) -> int:
        return at[0] + x * (at[1] + y * at[2])

    def run(at: Low) -> RunResult:
        if at not in cache:
            if len(cache) >= MOST_BLOCKS:
                raise _TooManyError
            cache[at] = run_block(linear(at))
            if not cache[at].complete:
                raise _TooManyError
        return cache[at]

    def same(box: BlockClass, first: RunResult) -> bool:
        probes = [at for at in _probes(box) if at != box.low]
        fresh = [at for at in probes if at not in cache]
        if alike is not None and len(fresh) > 1:
            together.update(fresh)
            if alike(tuple(sorted(linear(at) for at in fresh)), first):
                return all(_same(first, cache[at]) for at in probes if at in cache)
        return all(_same(first, run(at)) for at in probes)

    classes: list[BlockClass] = []
    boxes = [BlockClass((0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1))]
    try:
        while boxes:
            box = boxes.pop()
            first = run(box.low)
            if same(box, first):
                classes.append(box)
            else:
                boxes.extend(_parts(box, run))
    except _TooManyError:
        return None
    classes.sort(key=lambda c: (c.low[2], c.low[1], c.low[0]))
    return Sampled(tuple(classes), tuple(cache[c.low] for c in classes), len(together | set(cache)))


class _TooManyError(Exception):
    """More blocks differ than sampling is for."""


def _same(a: RunResult, b: RunResult) -> bool:
    return all(np.array_equal(a.counters[name], b.counters[name]) for name in a.counters) and (
        [(f.kind, f.pc, f.count) for f in a.findings] == [(f.kind, f.pc, f.count) for f in b.findings]
    )


def _probes(box: BlockClass) -> list[Low]:
    """Corners, their neighbours inside along each axis, the middle, and two more inside."""
    points: dict[Low, None] = {}
    for ends in product((0, 1), repeat=3):
        corner = tuple((box.low, box.high)[e][axis] for axis, e in enumerate(ends))
        points[corner[0], corner[1], corner[2]] = None
        for axis in range(3):
            step = list(corner)
            step[axis] += 1 if ends[axis] == 0 else -1
            if box.low[axis] <= step[axis] <= box.high[axis]:
                points[step[0], step[1], step[2]] = None
    for numerator, denominator in ((1, 2), (2, 7), (5, 7)):
        inside = [
            low + (high - low) * numerator // denominator for low, high in zip(box.low, box.high, strict=True)
        ]
        points[inside[0], inside[1], inside[2]] = None
    return list(points)


def _parts(box: BlockClass, run: Callable[[Low], RunResult]) -> list[BlockClass]:
    """A box in two: between two neighbours on an edge that differ, else in the middle of the longest axis."""
    extents = [high - low for low, high in zip(box.low, box.high, strict=True)]
    edges = {axis: _differing(box, axis, run) for axis in range(3) if extents[axis]}
    axis = max(edges, key=lambda a: (len(edges[a]), extents[a]))
    if edges[axis]:
        last = _last_alike(edges[axis][0], axis, box.high[axis], run)
    else:
        axis = int(np.argmax(extents))
        last = box.low[axis] + extents[axis] // 2
    upper, lower = list(box.high), list(box.low)
    upper[axis], lower[axis] = last, last + 1
    return [
        BlockClass(box.low, (upper[0], upper[1], upper[2])),
        BlockClass((lower[0], lower[1], lower[2]), box.high),
    ]


def _moved(at: Low, axis: int, to: int) -> Low:
    place = [*at]
    place[axis] = to
    return place[0], place[1], place[2]


def _differing(box: BlockClass, axis: int, run: Callable[[Low], RunResult]) -> list[Low]:
    """Low ends of the edges along ``axis`` whose two ends differ."""
    across = [sorted({low, high}) for low, high in zip(box.low, box.high, strict=True)]
    across[axis] = [box.low[axis]]
    corners = [(x, y, z) for x in across[0] for y in across[1] for z in across[2]]
    return [at for at in corners if not _same(run(at), run(_moved(at, axis, box.high[axis])))]


def _last_alike(at: Low, axis: int, high: int, run: Callable[[Low], RunResult]) -> int:
    """The last place along ``axis`` that is like ``at`` with its neighbour unlike, by bisection."""
    first, alike, unlike = run(at), at[axis], high
    while unlike - alike > 1:
        middle = (alike + unlike) // 2
        if _same(first, run(_moved(at, axis, middle))):
            alike = middle
        else:
            unlike = middle
    return alike

"""A role's stream as a program with loops: what repeats with the k-tiles and with the output tiles.

A header was run with K, K+1 and K+3 k-tiles and three output tiles. What the second run has more than the
first is the body of the loop over k-tiles, wherever its turns stand; the third run must come out of that
loop exactly, else nothing is folded. Likewise the second output tile is what every later one repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpglass.cutlass.values import Op

__all__ = ["Folded", "Step", "fold", "split_tiles"]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation and how far its state moves on behind it.

    ``base + slope · (K − first K)`` stages; None where that is unknown.
    """

    op: Op
    base: int | None
    slope: int = 0

    @property
    def key(self) -> tuple[str, str, int, str, int]:
        """What two runs must agree on."""
        return self.op.kind, self.op.pipe, self.op.n, self.op.header, self.op.line


@dataclass(frozen=True, slots=True)
class Folded:
    """Head, body of the loop over k-tiles and tail. The loop has ``K + extra`` turns; without a body none."""

    head: tuple[Step, ...]
    body: tuple[Step, ...]
    tail: tuple[Step, ...]
    extra: int = 0


def steps_of(ops: Sequence[Op]) -> list[Step]:
    """Each operation with the distance to the next one of its kind at its pipeline."""
    found: list[Step] = []
    last: dict[tuple[str, str], int] = {}
    for op in ops:
        if op.count >= 0:
            before = last.get((op.pipe, op.kind))
            if before is not None:
                found[before] = Step(found[before].op, op.count - found[before].op.count)
            last[op.pipe, op.kind] = len(found)
        found.append(Step(op, None))
    return found


def split_tiles(ops: Sequence[Op]) -> tuple[list[Step], list[list[Step]], list[Step]]:
    """(before the tiles, each tile, behind them). What the last tile has more than the second is behind."""
    steps = steps_of(ops)
    marks = [number for number, step in enumerate(steps) if step.op.kind == "tile"]
    if not marks:
        return steps, [], []
    ends = [*marks[1:], len(steps)]
    tiles = [steps[start + 1 : end] for start, end in zip(marks, ends, strict=True)]
    behind: list[Step] = []
    if len(tiles) >= 3:
        length = len(tiles[-2])
        if [s.key for s in tiles[-1][:length]] == [s.key for s in tiles[-2]]:
            behind = tiles[-1][length:]
            tiles[-1] = tiles[-1][:length]
    return steps[: marks[0]], tiles, behind


def _same(one: Sequence[Step], other: Sequence[Step]) -> bool:
    return len(one) == len(other) and all(
        a.key == b.key and (a.base is None or b.base is None or a.base == b.base)
        for a, b in zip(one, other, strict=True)
    )


def _linear(one: Sequence[Step], other: Sequence[Step]) -> tuple[Step, ...]:
    """Steps of the run with K, with the slope that the run with K+1 shows."""
    found = []
    for a, b in zip(one, other, strict=True):
        slope = b.base - a.base if a.base is not None and b.base is not None else 0
        found.append(Step(a.op, a.base if a.base is not None else b.base, slope))
    return tuple(found)


def fold(one: Sequence[Step], two: Sequence[Step], three: Sequence[Step], k: int) -> Folded | None:
    """The loop over k-tiles in runs with ``k``, ``k`` + 1 and ``k`` + 3; None where they are not alike."""
    period = len(two) - len(one)
    if period == 0:
        same = [s.key for s in one] == [s.key for s in two] == [s.key for s in three]
        return Folded(_linear(one, two), (), ()) if same else None
    if period < 0:
        return None
    common = 0
    while common < len(one) and one[common].key == two[common].key:
        common += 1
    start = common
    while start > 0 and two[start - 1].key == two[start - 1 + period].key:
        start -= 1
    turns = (common - start) // period + 1
    body = two[start : start + period]
    end = start + turns * period
    head, tail = two[:start], two[end:]
    # The first turns and the last may move their states differently: only whole equal turns are a loop.
    for turn in range(1, turns - 1):
        if not _same(body, two[start + turn * period : start + (turn + 1) * period]):
            return None
    last = two[end - period : end]
    if turns > 1 and not _same(body, last):
        turns, tail = turns - 1, [*last, *tail]
    extra = turns - (k + 1)
    rebuilt = [*head, *((k + 3 + extra) * list(body)), *tail]
    if [s.key for s in rebuilt] != [s.key for s in three] or turns < 2:
        return None
    shorter = one[: len(head)], one[len(one) - len(tail) :] if tail else []
    return Folded(_linear(shorter[0], head), tuple(body), _linear(shorter[1], tail), extra)

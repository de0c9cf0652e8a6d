"""What each stage of each pipeline held, and when: a row of spans a stage."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from warpglass.pipeline.expand import MMA, WAIT
from warpglass.pipeline.simulate import FLIP, Run

__all__ = ["STATES", "Span", "StageRow", "stage_rows"]

#: ``held`` is the stage whose MMAs have retired but which is not yet released.
STATES = ("filling", "full", "consuming", "held")


@dataclass(frozen=True, slots=True)
class Span:
    """A stage from ``start`` to ``end`` in one of :data:`STATES`, holding a k-tile of an output tile."""

    state: str
    start: int
    end: int
    tile: int
    step: int


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage of one pipe; the time between its spans it was empty."""

    pipe: str
    stage: int
    spans: tuple[Span, ...]


def stage_rows(run: Run) -> tuple[StageRow, ...]:
    """A row for each stage of each pipe, in the order of the program, one CTA after the other."""
    flat = run.flat
    ops = flat.operations()
    flips: dict[int, list[int]] = {}
    passes: dict[int, list[tuple[int, int, int]]] = {}  # time, tile, step
    reads: dict[int, list[tuple[int, int]]] = {}  # start and end of MMAs by full barrier
    for kind, who, start, end, operation, _ in run.events:
        if kind == FLIP:
            flips.setdefault(who, []).append(start)
        elif kind == WAIT:
            op = ops[operation][1]
            if flat.sites[op.site].cause != "tail":
                passes.setdefault(op.a, []).append((end, op.tile, op.step))
        elif kind == MMA:
            op = ops[operation][1]
            if op.c >= 0:
                reads.setdefault(op.c, []).append((start, end))
    rows = []
    for pipe in flat.pipes:
        full, empty = flat.bar_base[f"{pipe}.full"], flat.bar_base[f"{pipe}.empty"]
        for stage in range(flat.bar_size[f"{pipe}.full"]):
            spans = _spans(
                passes.get(empty + stage, []), flips.get(full + stage, []), passes.get(full + stage, []),
                reads.get(full + stage, []), flips.get(empty + stage, []), run.total,
            )  # fmt: skip
            rows.append(StageRow(pipe, stage, tuple(spans)))
    return tuple(rows)


def _spans(
    acquired: list[tuple[int, int, int]],
    filled: list[int],
    taken: list[tuple[int, int, int]],
    read: list[tuple[int, int]],
    released: list[int],
    total: int,
) -> list[Span]:
    """Spans of one stage: the n-th fill belongs to the n-th acquire and the n-th release.

    A consumer's wait or MMA belongs to the last fill before it: the next fill needs the release in between.
    """
    first: dict[int, int] = {}
    for time, _, _ in taken:
        first.setdefault(bisect_right(filled, time) - 1, time)
    retired: dict[int, int] = {}
    for start, end in read:
        visit = bisect_right(filled, start) - 1
        retired[visit] = max(retired.get(visit, 0), end)
    spans: list[Span] = []

    def add(state: str, start: int, end: int, tile: int, step: int) -> None:
        if end > start:
            spans.append(Span(state, start, end, tile, step))

    for visit, (time, tile, step) in enumerate(acquired):
        full = filled[visit] if visit < len(filled) else total
        free = released[visit] if visit < len(released) else total
        taken_at = min(first.get(visit, free), free)
        done = min(max(retired.get(visit, free), taken_at), free)
        add("filling", time, full, tile, step)
        add("full", full, taken_at, tile, step)
        add("consuming", taken_at, done, tile, step)
        add("held", done, free, tile, step)
    return spans

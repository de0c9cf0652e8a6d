"""What a piece of advice is, and what its rules look at."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from warpglass.analysis.access import AccessRow
from warpglass.analysis.occupancy_view import OccupancyView
from warpglass.analysis.reads import Reads
from warpglass.analysis.resources import Model
from warpglass.analysis.roofline import Roofline
from warpglass.analysis.sass_loops import LoopView
from warpglass.analysis.stalls import Tightening
from warpglass.analysis.subject import Subject

__all__ = ["LEAST_GAIN", "Advice", "Case", "make"]

Gain = tuple[float, float]
#: Advice that promises less than this at best is not given.
LEAST_GAIN = 1.04


@dataclass(frozen=True, slots=True)
class Advice:
    """One recommendation. ``id`` names the strategy; ``numbers`` are this kernel's own figures in words, of
    which there is at least one; ``gain`` a range of speed-ups with its ``derivation``; ``lines`` are
    (path, line) of the evidence, foremost first; ``pcs`` the instructions; ``confirm`` what would prove it.
    """

    id: str
    title: str
    text: str
    severity: str
    category: str
    evidence: str
    gain: Gain
    derivation: str
    conflicts: tuple[str, ...]
    confirm: str
    lines: tuple[tuple[str, int], ...]
    pcs: tuple[int, ...]

    @property
    def score(self) -> float:
        """What advice is ranked by: the middle of the gain, in logarithms."""
        return math.sqrt(self.gain[0] * self.gain[1])


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that a rule may look at. ``counted`` is the evidence of its counts: ``executed``, or
    ``measured`` where a profiler took them; ``read_bytes`` what device memory read, where known."""

    subject: Subject
    model: Model
    roof: Roofline
    rows: tuple[AccessRow, ...]
    loops: tuple[LoopView, ...]
    occupancy: OccupancyView | None
    tight: tuple[Tightening, ...]
    reads: Reads | None = None
    counted: str = "executed"
    read_bytes: float | None = None

    def count(self, name: str) -> int:
        """Whole-run sum of a counter."""
        return int(self.subject.result.counters[name].sum())

    def executed(self, kinds: frozenset[str]) -> Iterator[tuple[int, int]]:
        """(pc, warp executions) of executed instructions of some kinds."""
        column = self.subject.result.counters["warp_executed"]
        for pc, row in enumerate(self.subject.listing.rows):
            if row.kind in kinds and column[pc]:
                yield pc, int(column[pc])

    def warps(self, starts: tuple[str, ...]) -> int:
        """Warp executions of the instructions whose opcodes start so."""
        column = self.subject.result.counters["warp_executed"]
        rows = self.subject.listing.rows
        return sum(int(column[pc]) for pc, row in enumerate(rows) if row.opcode.startswith(starts))

    @property
    def hot(self) -> LoopView | None:
        """The hottest innermost loop."""
        return next((loop for loop in self.loops if not loop.nest), None)

    def start(self, loop: LoopView | None) -> tuple[int, ...]:
        """The first instruction of a loop as one of the run's, none where the loop is of other code."""
        return (loop.start,) if loop is not None and loop.isa == self.subject.listing.isa else ()

    def staged(self) -> bool:
        """Whether the kernel puts what it loads into shared memory already."""
        stores = sum(row.lanes * row.requests for row in self.rows if _shared_store(row))
        loads = sum(row.lanes * row.requests for row in self.rows if row.operation == "load" and row.sectors)
        return self.asynchronous() or stores >= 0.25 * max(1.0, loads)

    def asynchronous(self) -> bool:
        """Whether the kernel copies asynchronously anywhere already."""
        from warpglass.analysis.operations import is_async_copy

        views = [self.subject.listing, *([self.subject.sass_listing] if self.subject.sass_listing else [])]
        return any(is_async_copy(row, view.isa) for view in views for row in view.rows)


def _shared_store(row: AccessRow) -> bool:
    return row.space == "shared" and row.operation == "store"


HOW = "busy cycles of every resource before and after, from perfect overlap to none"


def make(
    case: Case,
    name: str,
    title: str,
    text: str,
    category: str,
    gain: Gain,
    *,
    pcs: tuple[int, ...] = (),
    lines: tuple[tuple[str, int], ...] = (),
    conflicts: tuple[str, ...] = (),
    confirm: str,
    evidence: str = "modelled",
    derivation: str = HOW,
) -> Advice:
    """An advice with its severity by its gain and its lines by its instructions."""
    places = [line for pc in pcs if (line := case.subject.line_of(pc)) is not None]
    high = gain[1]
    severity = "critical" if high >= 2 else "warning" if high >= 1.2 else "info"
    return Advice(
        name,
        title,
        text,
        severity,
        category,
        evidence,
        gain,
        derivation,
        conflicts,
        confirm,
        tuple(dict.fromkeys((*lines, *places))),
        pcs,
    )

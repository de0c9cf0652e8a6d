"""Instruction mix, branches and per-line sums of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.analysis.listing import Listing, own_frame
from warpglass.machine.result import RunResult

__all__ = [
    "LINE_COUNTERS",
    "BranchRow",
    "LineRow",
    "MixRow",
    "branch_table",
    "line_table",
    "loop_trips",
    "mix_table",
]

LINE_COUNTERS = (
    "warp_executed", "thread_executed", "requests", "sectors", "sectors_ideal", "wavefronts",
    "wavefronts_ideal", "branch_uniform", "branch_divergent",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MixRow:
    """Executions of one opcode (its whole dotted text)."""

    opcode: str
    kind: str
    warp: int
    thread: int


@dataclass(frozen=True, slots=True)
class BranchRow:
    """One executed branch: how often the group stayed together, how often it split."""

    pc: int
    executions: int
    uniform: int
    divergent: int
    taken_lanes: int
    active_lanes: int


@dataclass(frozen=True, slots=True)
class LineRow:
    """Counter sums of one source line; ``counters`` has the keys of :data:`LINE_COUNTERS`."""

    path: str
    line: int
    counters: Mapping[str, int]


def mix_table(listing: Listing, result: RunResult) -> tuple[MixRow, ...]:
    """Executed opcodes, most frequent first."""
    sums: dict[str, list[int]] = {}
    kinds: dict[str, str] = {}
    warp, thread = result.counters["warp_executed"], result.counters["thread_executed"]
    for pc, row in enumerate(listing.rows):
        if warp[pc]:
            entry = sums.setdefault(row.opcode, [0, 0])
            entry[0] += int(warp[pc])
            entry[1] += int(thread[pc])
            kinds[row.opcode] = row.kind
    order = sorted(sums, key=lambda opcode: (-sums[opcode][0], opcode))
    return tuple(MixRow(opcode, kinds[opcode], sums[opcode][0], sums[opcode][1]) for opcode in order)


def branch_table(listing: Listing, result: RunResult) -> tuple[BranchRow, ...]:
    """Branches that were executed, in code order."""
    c = result.counters
    rows = []
    for pc, row in enumerate(listing.rows):
        uniform, divergent = int(c["branch_uniform"][pc]), int(c["branch_divergent"][pc])
        if row.kind == "branch" and uniform + divergent:
            rows.append(
                BranchRow(
                    pc,
                    uniform + divergent,
                    uniform,
                    divergent,
                    int(c["branch_taken"][pc]),
                    int(c["thread_active"][pc]),
                )
            )
    return tuple(rows)


def line_table(listing: Listing, result: RunResult, own: frozenset[str]) -> tuple[LineRow, ...]:
    """Counters summed by the user's own source line, in (path, line) order."""
    sums: dict[tuple[str, int], dict[str, int]] = {}
    for pc, row in enumerate(listing.rows):
        frame = own_frame(row.frames, own)
        if frame is None:
            continue
        entry = sums.setdefault((frame.path, frame.line), dict.fromkeys(LINE_COUNTERS, 0))
        for name in LINE_COUNTERS:
            entry[name] += int(result.counters[name][pc])
    return tuple(LineRow(path, line, sums[path, line]) for path, line in sorted(sums))


def loop_trips(listing: Listing, result: RunResult) -> tuple[float | None, ...]:
    """Mean iterations of a lane each time it enters a loop, None where no lane ever did.

    Lanes at the header / (lanes at the header - lanes that came over a back edge), all counted.
    """
    c = result.counters
    trips: list[float | None] = []
    for loop in listing.loops:
        start = listing.blocks[loop.header].start
        arrived = int(c["thread_active"][start])
        again = 0
        for latch in loop.latches:
            block = listing.blocks[latch]
            last = block.end - 1
            if len(block.successors) == 1:
                again += int(c["thread_active"][last])
            elif block.end == start:  # the header follows: the lanes that did not branch away
                again += int(c["thread_active"][last]) - int(c["branch_taken"][last])
            else:
                again += int(c["branch_taken"][last])
        trips.append(arrived / (arrived - again) if arrived > again else None)
    return tuple(trips)

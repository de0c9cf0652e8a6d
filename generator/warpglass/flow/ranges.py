"""Occupied registers, as a disassembler that works on hyperblocks sees them.

``nvdisasm`` computes live ranges over hyperblocks: one entry, any number of side exits through conditional
branches. From one hyperblock to the one before, a write under a guard ends a range like any other write;
inside a hyperblock it does not, so a register that a hyperblock hands on occupies it from its start, and
reads see through guarded writes. A uniform predicate is no guard in this sense: it holds for the whole warp,
and the write ends the range. These rules were found by comparing with ``nvdisasm -plr`` register by
register, over fifty kernels on eight architectures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpglass.flow.graph import Flow

__all__ = ["Masks", "occupied"]


@dataclass(frozen=True, slots=True)
class Masks:
    """Bit masks of what an instruction reads and writes; ``guarded`` where some lanes may not."""

    reads: int
    writes: int
    guarded: bool


def _starts(count: int, flows: Mapping[int, Flow], leaders: Iterable[int]) -> list[int]:
    starts = {0} if count else set()
    starts.update(pc for pc in leaders if 0 <= pc < count)
    for pc, flow in flows.items():
        starts.update(target for target in flow.targets if 0 <= target < count)
        if not flow.falls and pc + 1 < count:
            starts.add(pc + 1)
    return sorted(starts)


def _entry(
    start: int, end: int, flows: Mapping[int, Flow], accesses: Sequence[Masks], entries: Mapping[int, int]
) -> int:  # fmt: skip
    """What is live at the start of the hyperblock, given what is live at the start of the others."""
    carried = _after(end, flows, entries)
    local = 0
    for pc in range(end - 1, start - 1, -1):
        flow = flows.get(pc)
        if flow is not None:
            for target in flow.targets:
                carried |= entries.get(target, 0)
        access = accesses[pc]
        carried &= ~access.writes
        local &= ~(0 if access.guarded else access.writes)
        local |= access.reads
    return carried | local


def _after(end: int, flows: Mapping[int, Flow], entries: Mapping[int, int]) -> int:
    """Live behind the last instruction by falling through; branches are joined where they stand."""
    flow = flows.get(end - 1)
    return entries.get(end, 0) if flow is None or flow.falls else 0


def _rows(
    start: int, end: int, flows: Mapping[int, Flow], accesses: Sequence[Masks], entries: Mapping[int, int],
    rows: list[int],
) -> None:  # fmt: skip
    carried = _after(end, flows, entries)
    local = 0
    for pc in range(end - 1, start - 1, -1):
        flow = flows.get(pc)
        if flow is not None:
            for target in flow.targets:
                carried |= entries.get(target, 0)
        access = accesses[pc]
        after = carried | local
        ended = 0 if access.guarded else access.writes
        carried &= ~ended
        local &= ~ended
        local |= access.reads
        rows[pc] = after | carried | local | access.writes


def occupied(flows: Mapping[int, Flow], leaders: Iterable[int], accesses: Sequence[Masks]) -> list[int]:
    """Per instruction the mask of registers that are live before it, live after it or written by it.

    ``flows`` and ``leaders`` are those of :func:`~warpglass.flow.graph.build_cfg`.
    """
    count = len(accesses)
    starts = _starts(count, flows, leaders)
    ends = [*starts[1:], count][: len(starts)]
    block_of = {start: index for index, start in enumerate(starts)}
    before: list[set[int]] = [set() for _ in starts]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for pc in range(start, end):
            flow = flows.get(pc)
            for target in flow.targets if flow is not None else ():
                if target in block_of:
                    before[block_of[target]].add(index)
        last = flows.get(end - 1)
        if (last is None or last.falls) and end in block_of:
            before[block_of[end]].add(index)
    entries = dict.fromkeys(starts, 0)
    waiting = [True] * len(starts)
    work = list(range(len(starts)))
    while work:
        index = work.pop()
        waiting[index] = False
        live = _entry(starts[index], ends[index], flows, accesses, entries)
        if live != entries[starts[index]]:
            entries[starts[index]] = live
            for other in before[index]:
                if not waiting[other]:
                    waiting[other] = True
                    work.append(other)
    rows = [0] * count
    for start, end in zip(starts, ends, strict=True):
        _rows(start, end, flows, accesses, entries, rows)
    return rows

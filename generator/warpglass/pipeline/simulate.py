"""The event simulator: lanes, mbarriers, named barriers and engines; it knows nothing of CUTLASS.

An mbarrier has a phase parity, pending arrivals and pending transaction counts; the phase flips when both
are zero; a wait for parity P passes as soon as the current parity is not P (PTX ISA, "mbarrier"). Engines
take operations in order: a copy occupies its engine for its duration and completes a latency later, the
tensor core and the store engine run one operation after the other.

``static_js/pipeline-core.js`` is the same simulator; a test holds both to the same list of events.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from warpglass.pipeline.expand import (
    ARRIVE,
    ASYNC,
    BARRIVE,
    BUSY,
    MMA,
    OPS,
    STORE,
    STWAIT,
    SYNC,
    TCARRIVE,
    WAIT,
    WGWAIT,
    Flat,
)

__all__ = ["END", "FLIP", "Event", "Fault", "Run", "Stuck", "simulate"]

FLIP = len(OPS)
END = FLIP + 1

#: (kind, who, start, end, operation, by). ``who`` is a lane; an engine for async, mma and store; a barrier
#: for FLIP. ``by`` is the operation that ended a wait or kept the engine busy, -1 none.
Event = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A lane that never ended: the operation it waits in, since when."""

    lane: int
    operation: int
    since: int


@dataclass(frozen=True, slots=True)
class Fault:
    """More arrivals than a barrier counts: the operation that arrived once too often."""

    kind: str
    operation: int
    barrier: int
    time: int


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that happened. ``busy`` is the time each engine was occupied."""

    flat: Flat
    events: tuple[Event, ...]
    total: int
    busy: tuple[int, ...]
    stuck: tuple[Stuck, ...] = ()
    fault: Fault | None = None

    @property
    def complete(self) -> bool:
        """Whether every lane ran to its end."""
        return not self.stuck and self.fault is None


class _Barrier:
    __slots__ = ("count", "parity", "pending", "tx", "waiters")

    def __init__(self, count: int) -> None:
        self.count = self.pending = count
        self.tx = self.parity = 0
        self.waiters: list[tuple[int, int, int, int]] = []


class _Overrun(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


@dataclass(slots=True)
class _Named:
    arrived: int = 0
    waiters: list[tuple[int, int, int]] = field(default_factory=list)


class _Simulator:
    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.now = 0
        self.queue: list[tuple[int, int, int, int, int, int]] = []
        self.pushed = 0
        self.events: list[Event] = []
        self.bars = [_Barrier(count) for _, _, count in flat.bars]
        self.named = [_Named() for _ in flat.named]
        self.free = [0] * len(flat.engines)
        self.busy = [0] * len(flat.engines)
        self.last = [-1] * len(flat.engines)
        self.offsets = flat.offsets
        lanes = len(flat.lanes)
        self.at = [0] * lanes
        self.groups: list[list[tuple[int, int]]] = [[] for _ in range(lanes)]
        self.stores: list[list[tuple[int, int]]] = [[] for _ in range(lanes)]
        self.ended = [False] * lanes

    # The queue holds (time, order, what, …): 0 steps a lane, 1 completes transactions, 2 arrives.
    def push(self, time: int, what: int, a: int, b: int = 0, c: int = 0) -> None:
        self.pushed += 1
        heapq.heappush(self.queue, (time, self.pushed, what, a, b, c))

    def check(self, number: int, by: int) -> None:
        bar = self.bars[number]
        if bar.pending or bar.tx:
            return
        bar.parity ^= 1
        bar.pending = bar.count
        self.events.append((FLIP, number, self.now, self.now, by, -1))
        waiting, bar.waiters = bar.waiters, []
        for waiter in waiting:
            lane, parity, since, operation = waiter
            if bar.parity == parity:
                bar.waiters.append(waiter)
                continue
            self.events.append((WAIT, lane, since, self.now, operation, by))
            self.push(self.now, 0, lane)

    def arrive(self, number: int, arrivals: int, tx: int, by: int) -> None:
        bar = self.bars[number]
        if bar.pending < arrivals:
            raise _Overrun(Fault("over-arrival", by, number, self.now))
        bar.pending -= arrivals
        bar.tx += tx
        self.check(number, by)

    def occupy(self, engine: int, duration: int) -> tuple[int, int]:
        """Start of an operation on an in-order engine, and the operation it queued behind (-1 none)."""
        start = max(self.now, self.free[engine])
        behind = self.last[engine] if start > self.now else -1
        self.free[engine] = start + duration
        self.busy[engine] += duration
        return start, behind

    def outstanding(self, kept: list[tuple[int, int]], left: int) -> tuple[int, int, list[tuple[int, int]]]:
        """(time until which to wait, the operation waited for, what stays outstanding)."""
        until, by = kept[-1 - left] if len(kept) > left else (0, -1)
        return until, by, kept[max(0, len(kept) - left) :] if left else []

    def step(self, lane: int) -> None:
        code = self.flat.lanes[lane]
        base = self.offsets[lane]
        events = self.events
        while True:
            position = self.at[lane]
            if position == len(code):
                self.ended[lane] = True
                events.append((END, lane, self.now, self.now, -1, -1))
                return
            self.at[lane] = position + 1
            op = code[position]
            number = base + position
            kind = op.code
            if kind == BUSY:
                events.append((BUSY, lane, self.now, self.now + op.a, number, -1))
                if op.a:
                    self.push(self.now + op.a, 0, lane)
                    return
            elif kind == WAIT:
                bar = self.bars[op.a]
                if bar.parity == op.b:
                    bar.waiters.append((lane, op.b, self.now, number))
                    return
                events.append((WAIT, lane, self.now, self.now, number, -1))
            elif kind == ARRIVE:
                events.append((ARRIVE, lane, self.now, self.now, number, -1))
                self.arrive(op.a, op.b, op.c, number)
            elif kind == ASYNC:
                start, behind = self.occupy(op.a, op.b)
                end = start + op.b + self.flat.engines[op.a][2]
                self.last[op.a] = number
                events.append((ASYNC, op.a, start, end, number, behind))
                if op.c >= 0:
                    self.push(end, 1, op.c, op.d, number)
            elif kind == MMA:
                start, behind = self.occupy(op.a, op.b)
                self.last[op.a] = number
                events.append((MMA, op.a, start, start + op.b, number, behind))
                self.groups[lane].append((start + op.b, number))
            elif kind == STORE:
                start, behind = self.occupy(op.a, op.b)
                self.last[op.a] = number
                events.append((STORE, op.a, start, start + op.b, number, behind))
                self.stores[lane].append((start + op.b, number))
            elif kind in (WGWAIT, STWAIT):
                kept = self.groups if kind == WGWAIT else self.stores
                until, by, kept[lane] = self.outstanding(kept[lane], op.a)
                blocked = until > self.now
                events.append((kind, lane, self.now, max(self.now, until), number, by if blocked else -1))
                if blocked:
                    self.push(until, 0, lane)
                    return
            elif kind == TCARRIVE:
                group = self.groups[lane]
                until = max(self.now, group[-1][0]) if group else self.now
                self.push(until, 2, op.a, op.b, number)
            elif not self.meet(lane, kind, op.a, op.b, number):
                return

    def meet(self, lane: int, kind: int, name: int, needed: int, number: int) -> bool:
        """Arrive at a named barrier; whether the lane goes on."""
        entry = self.named[name]
        entry.arrived += 1
        if kind == SYNC:
            entry.waiters.append((lane, self.now, number))
        else:
            self.events.append((BARRIVE, lane, self.now, self.now, number, -1))
        if entry.arrived > needed:
            raise _Overrun(Fault("named over-arrival", number, name, self.now))
        if entry.arrived == needed:
            self.named[name] = _Named()
            for other, since, operation in entry.waiters:
                by = number if other != lane else -1
                self.events.append((SYNC, other, since, self.now, operation, by))
                if other != lane:
                    self.push(self.now, 0, other)
            return True
        return kind != SYNC

    def run(self) -> Fault | None:
        for lane in range(len(self.flat.lanes)):
            self.push(0, 0, lane)
        try:
            while self.queue:
                self.now, _, what, a, b, c = heapq.heappop(self.queue)
                if what == 0:
                    self.step(a)
                elif what == 1:
                    self.bars[a].tx -= b
                    self.check(a, c)
                else:
                    self.events.append((TCARRIVE, -1, self.now, self.now, c, -1))
                    self.arrive(a, b, 0, c)
        except _Overrun as overrun:
            return overrun.fault
        return None

    def stuck(self) -> tuple[Stuck, ...]:
        found = {}
        for bar in self.bars:
            for lane, _, since, operation in bar.waiters:
                found[lane] = Stuck(lane, operation, since)
        for entry in self.named:
            for lane, since, operation in entry.waiters:
                found[lane] = Stuck(lane, operation, since)
        return tuple(found[lane] for lane in sorted(found))


def simulate(flat: Flat) -> Run:
    """Run ``flat`` to its end, to a deadlock, or to an arrival that its barrier does not count.

    Ends always: every operation is executed at most once.
    """
    simulator = _Simulator(flat)
    fault = simulator.run()
    total = max((event[3] for event in simulator.events), default=0)
    stuck = () if fault is not None else simulator.stuck()
    return Run(flat, tuple(simulator.events), total, tuple(simulator.busy), stuck, fault)

"""What a simulated schedule means: total, fill, drain, bounds, time by cause, critical path, least stages.

``static_js/pipeline-results.js`` computes the same from the same events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpglass.errors import InputError
from warpglass.pipeline.deadlock import problems
from warpglass.pipeline.expand import ASYNC, BUSY, MMA, STORE, STWAIT, SYNC, WAIT, WGWAIT, expand
from warpglass.pipeline.expressions import evaluate
from warpglass.pipeline.simulate import FLIP, Run, simulate

__all__ = [
    "Delta", "LaneTime", "Segment", "Summary", "critical_path", "least_stages", "run_program", "summarise",
    "sweep", "what_if",
]  # fmt: skip

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LaneTime:
    """Time of one lane by cause: ``busy`` kinds and waits; the rest up to the total it had ended."""

    lane: str
    causes: tuple[tuple[str, int], ...]
    end: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one schedule, in its own units of time. None is unknown, never 0.

    ``period`` is the mean time between the MMAs of two successive k-tiles in the second half of the middle
    output tile; tensor-core use is over all CTAs of a cluster. ``bounds`` are (name, value) of the
    program, ``bound`` the largest.
    """

    total: int
    complete: bool
    problems: tuple[str, ...]
    fill: int | None
    drain: int | None
    busy: int
    use: float | None
    use_between: float | None
    period: float | None
    bounds: tuple[tuple[str, int], ...]
    bound: str | None
    least_stages: int | None
    lanes: tuple[LaneTime, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the critical path: who was at what, from ``start`` to ``end``."""

    who: str
    what: str
    start: int
    end: int
    operation: int
    source: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Delta:
    """What another value of one knob does to the total; None where the schedule then gets stuck."""

    knob: str
    value: int
    total: int | None
    change: int | None


def run_program(program: Json, knobs: Mapping[str, int] | None = None) -> Run:
    """Unroll and simulate."""
    return simulate(expand(program, knobs))


def summarise(run: Run, program: Json) -> Summary:
    """The figures of ``run``, a simulation of ``program``."""
    flat = run.flat
    mma = [event for event in run.events if event[0] == MMA]
    first = min((event[2] for event in mma), default=None)
    last = max((event[3] for event in mma), default=None)
    busy = sum(event[3] - event[2] for event in mma)
    bounds = tuple((str(b["name"]), evaluate(b["value"], flat.knobs)) for b in program.get("bounds", ()))
    bound = max(bounds, key=lambda item: item[1])[0] if bounds else None
    least = evaluate(program["least_stages"], flat.knobs) if "least_stages" in program else None
    cores = max(1, sum(kind == "tc" for _, kind, _ in flat.engines))
    between = last - first if first is not None and last is not None else 0
    return Summary(
        total=run.total,
        complete=run.complete,
        problems=problems(run),
        fill=first,
        drain=run.total - last if last is not None else None,
        busy=busy,
        use=busy / (cores * run.total) if mma and run.total else None,
        use_between=busy / (cores * between) if between else None,
        period=_period(run, mma),
        bounds=bounds,
        bound=bound,
        least_stages=least,
        lanes=_lane_times(run),
    )


def _period(run: Run, mma: Sequence[tuple[int, ...]]) -> float | None:
    ops = run.flat.operations()
    starts: dict[int, dict[int, int]] = {}
    for event in mma:
        op = ops[event[4]][1]
        if op.step >= 0:
            steps = starts.setdefault(op.tile, {})
            steps[op.step] = min(steps.get(op.step, event[2]), event[2])
    if not starts:
        return None
    steps = starts[sorted(starts)[len(starts) // 2]]
    ordered = [steps[step] for step in sorted(steps)]
    half = (len(ordered) - 1) // 2
    if len(ordered) - 1 - half < 1:
        return None
    return (ordered[-1] - ordered[half]) / (len(ordered) - 1 - half)


def _lane_times(run: Run) -> tuple[LaneTime, ...]:
    flat = run.flat
    ops = flat.operations()
    times: list[dict[str, int]] = [{} for _ in flat.lanes]
    ends = [0] * len(flat.lanes)
    for kind, who, start, end, operation, _ in run.events:
        if kind in (BUSY, WAIT, WGWAIT, STWAIT, SYNC) and operation >= 0:
            site = flat.sites[ops[operation][1].site]
            name = site.kind if kind == BUSY else site.cause
            ends[who] = max(ends[who], end)
            if end > start:
                times[who][name] = times[who].get(name, 0) + end - start
    for stuck in run.stuck:
        site = flat.sites[ops[stuck.operation][1].site]
        times[stuck.lane][site.cause] = times[stuck.lane].get(site.cause, 0) + run.total - stuck.since
    return tuple(
        LaneTime(name, tuple(sorted(causes.items())), end)
        for name, causes, end in zip(flat.lane_names, times, ends, strict=True)
    )


def critical_path(run: Run) -> tuple[Segment, ...]:
    """From the end of the schedule back to its start: always what the next piece had to wait for.

    A wait leads to the operation that ended it; an operation that queued for its engine, to the one before
    it; everything else to what its lane did before.
    """
    if not run.complete:
        return ()
    flat = run.flat
    ops = flat.operations()
    by_operation = {event[4]: event for event in run.events if event[4] >= 0 and event[0] < FLIP}
    latest = max(
        (event for event in run.events if event[0] < FLIP and event[3] == run.total and event[4] >= 0),
        key=lambda event: event[4],
        default=None,
    )
    offsets = flat.offsets
    path: list[Segment] = []
    operation = latest[4] if latest is not None else -1
    until = run.total
    while operation >= 0:
        kind, who, start, end, _, by = by_operation[operation]
        lane = ops[operation][0]
        site = flat.sites[ops[operation][1].site]
        waited = kind in (WAIT, WGWAIT, STWAIT, SYNC) and by >= 0
        if not waited and min(end, until) > start:
            name = flat.engines[who][0] if kind in (ASYNC, MMA, STORE) else flat.lane_names[lane]
            what = site.label or site.cause or site.op
            path.append(Segment(name, what, start, min(end, until), operation, site.source, site.line))
            until = start
        if (waited and end > start) or (kind in (ASYNC, MMA, STORE) and by >= 0):
            operation = by
        else:
            operation = operation - 1 if operation > offsets[lane] else -1
    return tuple(reversed(path))


def sweep(
    program: Json, knobs: Mapping[str, int], name: str, values: Sequence[int]
) -> list[tuple[int, int | None]]:
    """(value, total) for each value of the knob ``name``; None where the schedule does not end."""
    found: list[tuple[int, int | None]] = []
    for value in values:
        try:
            run = run_program(program, {**knobs, name: value})
        except InputError:
            found.append((value, None))
            continue
        found.append((value, run.total if run.complete else None))
    return found


def least_stages(swept: Sequence[tuple[int, int | None]]) -> int | None:
    """The fewest stages whose total is within 1 % of the best of the sweep."""
    totals = [total for _, total in swept if total is not None]
    if not totals:
        return None
    best = min(totals)
    return next(value for value, total in swept if total is not None and total * 100 <= best * 101)


def what_if(program: Json, knobs: Mapping[str, int]) -> tuple[Delta, ...]:
    """The total with each knob one step lower and higher (times halved and doubled)."""
    base = run_program(program, knobs)
    values = base.flat.knobs
    found = []
    for knob in program["knobs"]:
        if knob["group"] == "memory":
            continue
        name, value = str(knob["name"]), values[str(knob["name"])]
        timed = knob["unit"] == "time"
        for other in (value // 2, value * 2) if timed else (value - 1, value + 1):
            if other == value or not int(knob["min"]) <= other <= int(knob["max"]):
                continue
            total = sweep(program, values_of(program, values), name, (other,))[0][1]
            change = total - base.total if total is not None and base.complete else None
            found.append(Delta(name, other, total, change))
    return tuple(found)


def values_of(program: Json, values: Mapping[str, int]) -> dict[str, int]:
    """The knobs among ``values``, without the names derived from them."""
    return {str(knob["name"]): values[str(knob["name"])] for knob in program["knobs"]}

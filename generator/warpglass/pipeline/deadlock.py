"""Why a schedule did not end, in sentences: who waits for what, and who would have to give it."""

from __future__ import annotations

from warpglass.pipeline.expand import ARRIVE, ASYNC, BARRIVE, SYNC, TCARRIVE, WAIT
from warpglass.pipeline.simulate import Run

__all__ = ["problems"]


def _bar(run: Run, number: int) -> str:
    name, index, _ = run.flat.bars[number]
    return f"{name}[{index}]" if run.flat.bar_size[name] > 1 else name


def _line(run: Run, operation: int) -> str:
    line = run.flat.sites[run.flat.operations()[operation][1].site].line
    return f", line {line}" if line else ""


def problems(run: Run) -> tuple[str, ...]:
    """One sentence for each lane that is stuck, or for the arrival too many; none for a run that ended."""
    flat = run.flat
    ops = flat.operations()
    if run.fault is not None:
        lane = flat.lane_names[ops[run.fault.operation][0]]
        named = run.fault.kind.startswith("named")
        name = flat.named[run.fault.barrier] if named else _bar(run, run.fault.barrier)
        count = "" if named else f", which counts {flat.bars[run.fault.barrier][2]} arrivals a phase"
        where = _line(run, run.fault.operation)
        return (f"{lane} arrives once too often at {name}{count} (time {run.fault.time}{where})",)
    offsets = flat.offsets
    found = []
    stopped = {stuck.lane: stuck.operation for stuck in run.stuck}
    for stuck in run.stuck:
        op = ops[stuck.operation][1]
        named = op.code == SYNC
        what = flat.named[op.a] if named else _bar(run, op.a)
        givers = []
        for other_lane, operation in stopped.items():
            rest = flat.lanes[other_lane][operation - offsets[other_lane] + 1 :]
            if any(_gives(other.code, other.a, other.c, op.code, op.a) for other in rest):
                givers.append(flat.lane_names[other_lane])
        names = " and ".join(dict.fromkeys(givers))
        if not givers:
            tail = "nobody arrives there any more"
        elif givers == [flat.lane_names[stuck.lane]]:
            tail = "only it would arrive there, later"
        else:
            tail = f"{names} would arrive there, but waits itself"
        where = _line(run, stuck.operation)
        found.append(f"{flat.lane_names[stuck.lane]} waits for {what} since {stuck.since}{where}: {tail}")
    return tuple(found)


def _gives(code: int, a: int, c: int, waiting: int, barrier: int) -> bool:
    if waiting == WAIT:
        return (code in (ARRIVE, TCARRIVE) and a == barrier) or (code == ASYNC and c == barrier)
    return code in (SYNC, BARRIVE) and a == barrier

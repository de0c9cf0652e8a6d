"""What the static forms of stepper and schedule read from a trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.report import view

__all__ = ["STATES", "States", "column", "first_trace", "states"]

#: Names by state number, as in static_js/waveform-core.js.
STATES = ("not recorded", "issue", "memory", "barrier wait", "diverged", "finished", "waits")
NONE, ISSUE, MEMORY, BARRIER, DIVERGED, FINISHED, WAITS = range(7)
_MEMORY_KINDS = ("load", "store", "atomic", "async")
#: Of equally frequent states the rarer kind of news wins, as in the script.
_RANK = (0, 3, 4, 5, 6, 1, 2)

I64 = npt.NDArray[np.int64]


def column(trace: Mapping[str, Any], name: str) -> I64:
    """A column of the trace as int64."""
    return np.asarray((trace.get("columns") or {}).get(name) or [], dtype=np.int64)


def first_trace(launch: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The primary run, else any, that has a trace with steps, and its first such trace."""
    primary = view.primary_run(launch)
    for run in [primary, *(launch.get("runs") or [])]:
        for trace in (run or {}).get("traces") or []:
            if run is not None and _sound(run, trace):
                return run, trace
    return None


def _sound(run: Mapping[str, Any], trace: Mapping[str, Any]) -> bool:
    """True for a trace whose columns fit together: a report may come from anybody's JSON."""
    kinds = ((run.get("code") or {}).get("instructions") or {}).get("kind") or []
    try:
        columns = [column(trace, name) for name in ("pc", "warp", "round", "mask", "group")]
        warps, threads = int(trace["warps"]), int(trace["threads"])
    except (TypeError, ValueError, KeyError, OverflowError):
        return False
    pc, warp, when, *masks = columns
    if not len(pc) or any(one.ndim != 1 or len(one) != len(pc) or one.min() < 0 for one in columns):
        return False
    # A round in which nobody issues is possible while all wait, but not most of the time.
    sane = 0 < warps <= 4096 and threads >= 0 and when.max() <= 4 * len(pc) + 1024
    masked = all(mask.max() < 2**32 for mask in masks)
    return bool(
        sane and masked and pc.max() < len(kinds) and warp.max() < warps and np.all(np.diff(when) >= 0)
    )


@dataclass(frozen=True, slots=True)
class States:
    """What each warp does, in ``buckets`` equal slices of the rounds.

    ``dominant`` is [warps, buckets] of state numbers, ``totals`` [warps, 7] rounds in each state.
    """

    rounds: int
    dominant: npt.NDArray[np.uint8]
    totals: I64


def _launched(threads: int, warps: int) -> I64:
    lanes = np.clip(threads - 32 * np.arange(warps, dtype=np.int64), 0, 32)
    return (np.int64(1) << lanes) - 1


def _step_states(trace: Mapping[str, Any], kinds: I64) -> npt.NDArray[np.uint8]:
    """Diverged, memory or issue for each step; ``kinds`` is 1 memory, 2 barrier, 3 exit by instruction."""
    warp, pc, group = column(trace, "warp"), column(trace, "pc"), column(trace, "group")
    warps = int(trace["warps"])
    kind = kinds[pc]
    out = np.where(kind == 1, MEMORY, ISSUE).astype(np.uint8)
    for w in range(warps):
        steps = np.flatnonzero(warp == w)
        if not steps.size:
            continue
        mine = group[steps]
        # Lanes leave at the last step they take part in; from then on a smaller group is whole.
        seen = np.bitwise_or.accumulate(mine[::-1])[::-1]
        alive = np.concatenate(([_launched(int(trace["threads"]), warps)[w]], seen[1:]))
        ends = np.concatenate(([False], kind[steps][:-1] == 3))
        # Before the first exit every launched lane is alive, whether it runs again or not.
        left = np.cumsum(ends) > 0
        whole = np.where(left, alive | mine, alive[0])
        out[steps[mine != whole]] = DIVERGED
    return out


def states(trace: Mapping[str, Any], kinds: list[str], buckets: int) -> States:
    """Dominant states of every warp of a trace, by the rules of the page's waveform."""
    codes = np.array(
        [1 if k in _MEMORY_KINDS else 2 if k == "barrier" else 3 if k == "exit" else 0 for k in kinds],
        dtype=np.int64,
    )
    warp, pc, when = column(trace, "warp"), column(trace, "pc"), column(trace, "round")
    warps, rounds = int(trace["warps"]), int(when.max()) + 1 if len(when) else 1
    buckets = min(buckets, rounds)
    each = _step_states(trace, codes)
    dominant = np.zeros((warps, buckets), np.uint8)
    totals = np.zeros((warps, len(STATES)), np.int64)
    edges = (np.arange(buckets + 1, dtype=np.int64) * rounds) // buckets
    rank = np.array(_RANK, dtype=np.int64)
    for w in range(warps):
        row = np.full(rounds, FINISHED, np.uint8)
        steps = np.flatnonzero(warp == w)
        if steps.size:
            at = when[steps]
            # Between two steps a warp waits: at a barrier if its last step was one.
            waiting = np.where(codes[pc[steps]] == 2, BARRIER, WAITS).astype(np.uint8)
            last = np.searchsorted(at, np.arange(rounds), side="right") - 1
            row = np.where(last < 0, WAITS, waiting[np.maximum(last, 0)]).astype(np.uint8)
            row[at] = each[steps]
            ended = codes[pc[steps[-1]]] == 3
            if ended or trace.get("truncated"):
                row[at[-1] + 1 :] = FINISHED if ended else NONE
        counts = np.stack(
            [np.diff(np.concatenate(([0], np.cumsum(row == s)))[edges]) for s in range(len(STATES))]
        )
        totals[w] = counts.sum(axis=1)
        dominant[w] = np.argmax(counts * 8 + rank[:, None] * (counts > 0), axis=0)
    return States(rounds, dominant, totals)

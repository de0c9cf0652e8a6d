"""The schedule. The static form is a waveform as SVG and a table of what each warp did."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from warpglass.report import view
from warpglass.report.trace_view import (
    BARRIER,
    DIVERGED,
    FINISHED,
    ISSUE,
    MEMORY,
    STATES,
    first_trace,
    states,
)

TITLE = "Schedule"

#: Slices of the static figure, of the first launch and of each other.
BUCKETS = (320, 160)
#: Warps times slices: what the figure may cost in bytes, however busy the trace.
MAX_CELLS = 3600
#: Warps drawn in the static figure; the table lists no more either.
MAX_WARPS = 64
_WIDTH, _ROW, _LEFT = 960, 14, 56
#: Top and height of a state's bar within its row, and its class: the form tells states apart without colour.
_SHAPES = {ISSUE: (2, 10, "issue"), MEMORY: (2, 10, "memory"), BARRIER: (7, 2, "barrier"),
           DIVERGED: (5, 7, "diverged"), FINISHED: (11, 1, "finished"), 6: (9, 2, "waiting")}  # fmt: skip


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A figure and a table for each launch with a trace, or None."""
    groups = [_group(index, launch) for index, launch in enumerate(report.get("launches") or [])]
    shown = [group for group in groups if group is not None]
    return {"groups": shown} if shown else None


def _group(index: int, launch: Mapping[str, Any]) -> dict[str, Any] | None:
    found = first_trace(launch)
    if found is None:
        return None
    run, trace = found
    drawn = max(1, min(MAX_WARPS, int(trace["warps"])))
    buckets = max(60, min(BUCKETS[index > 0], MAX_CELLS // drawn))
    result = states(trace, run["code"]["instructions"]["kind"], buckets)
    warps = min(MAX_WARPS, len(result.dominant))
    return {
        "index": index,
        "isa": str(run.get("isa")).upper(),
        "kernel": view.short_name(launch),
        "block": view.place(trace.get("block")),
        "rounds": result.rounds,
        "steps": trace.get("steps"),
        "truncated": bool(trace.get("truncated")),
        "left_out": len(result.dominant) - warps,
        "svg": _svg(result.dominant[:warps], result.rounds),
        "states": [(STATES[s], _SHAPES[s][2]) for s in (ISSUE, MEMORY, DIVERGED, BARRIER, 6, FINISHED)],
        "rows": [
            {
                "warp": w,
                "counts": [int(result.totals[w, s]) for s in (ISSUE, MEMORY, DIVERGED, BARRIER, 6, FINISHED)],
            }
            for w in range(warps)
        ],
    }


def _svg(dominant: np.ndarray[Any, np.dtype[np.uint8]], rounds: int) -> Markup:
    """Runs of equal states as one stroked path a state: few bytes for any number of steps."""
    warps, buckets = dominant.shape
    scale = (_WIDTH - _LEFT) / buckets
    paths: dict[int, list[str]] = {state: [] for state in _SHAPES}
    # Where each path's pen stands: moves are relative, a run is a gap and a length.
    pen: dict[int, tuple[int, float]] = {}
    for w in range(warps):
        cuts = np.flatnonzero(np.diff(dominant[w])) + 1
        bounds = [0, *cuts.tolist(), buckets]
        for start, end in pairwise(bounds):
            state = int(dominant[w, start])
            if state in _SHAPES:
                top, height, _ = _SHAPES[state]
                y = w * _ROW + top + height / 2
                x, row = pen.get(state, (0, -1.0))
                move = f"m{start - x} 0" if row == y else f"M{start} {y:g}"
                paths[state].append(f"{move}h{end - start}")
                pen[state] = end, y
    height = warps * _ROW + 18
    parts = [
        f'<svg class="fig fig-wave" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="State of {warps} warps over {rounds} rounds; the table below holds the sums">'
    ]
    parts += [
        f'<text class="t" x="{_LEFT - 6}" y="{w * _ROW + 11}" text-anchor="end">warp {w}</text>'
        for w in range(warps)
    ]
    # Slices are whole numbers before the scale: half the bytes of pixels with decimals.
    parts.append(f'<g transform="translate({_LEFT}) scale({scale:.5g},1)">')
    parts += [
        f'<path style="fill:none;stroke:var(--state-{_SHAPES[state][2]});stroke-width:{_SHAPES[state][1]}" '
        f'd="{"".join(bits)}"/>'
        for state, bits in paths.items()
        if bits
    ]
    parts.append("</g>")
    parts.append(
        f'<text class="t" x="{_LEFT}" y="{height - 4}">round 0</text>'
        f'<text class="t" x="{_WIDTH}" y="{height - 4}" text-anchor="end">{rounds:,}</text></svg>'
    )
    return Markup("".join(parts))  # noqa: S704 - numbers and fixed words only

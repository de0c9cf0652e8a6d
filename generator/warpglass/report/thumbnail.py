"""A small picture of a launch: a row a warp, a column a slice of its rounds, coloured by the state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from warpglass.report.text import escaped
from warpglass.report.trace_view import BARRIER, DIVERGED, FINISHED, ISSUE, MEMORY, WAITS, first_trace, states

__all__ = ["thumbnail"]

_WIDTH, _HEIGHT, _BUCKETS, _WARPS = 240, 72, 80, 16
_CLASS = {
    ISSUE: "issue", MEMORY: "memory", BARRIER: "barrier", DIVERGED: "diverged", FINISHED: "finished",
    WAITS: "waiting",
}  # fmt: skip
#: States in which a warp issues nothing are drawn thin, so that the picture reads without colour too.
_THIN = (BARRIER, FINISHED, WAITS)


def thumbnail(launch: Mapping[str, Any], label: str) -> Markup | None:
    """The picture as SVG, or None where no trace was kept."""
    found = first_trace(launch)
    if found is None:
        return None
    run, trace = found
    dominant = states(trace, run["code"]["instructions"]["kind"], _BUCKETS).dominant[:_WARPS]
    warps, buckets = dominant.shape
    row, column = _HEIGHT / warps, _WIDTH / buckets
    paths: dict[int, list[str]] = {state: [] for state in _CLASS}
    for warp in range(warps):
        cuts = [0, *(np.flatnonzero(np.diff(dominant[warp])) + 1).tolist(), buckets]
        for start, end in pairwise(cuts):
            state = int(dominant[warp, start])
            if state in _CLASS:
                tall = row * (0.2 if state in _THIN else 0.74)
                y, wide = row * warp + (row - tall) / 2, column * (end - start)
                paths[state].append(f"M{column * start:.4g} {y:.4g}h{wide:.4g}v{tall:.3g}h-{wide:.4g}z")
    body = "".join(
        f'<path class="st-{_CLASS[state]}" d="{"".join(bits)}"/>' for state, bits in paths.items() if bits
    )
    head = (
        f'<svg class="fig thumb" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{escaped(label)}">'
    )
    return Markup(f"{head}{body}</svg>")  # noqa: S704 - the label was escaped, the rest is fixed

"""Figures of a profiled launch: lines over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["spark_svg"]

Json = Mapping[str, Any]

_POINTS = 160


def spark_svg(series: Json, *, width: float = 560, height: float = 44) -> Markup:
    """One sampled metric over the time of the launch; gaps where samples are missing."""
    values = series["v"]
    times = series["t"] if series["t"] is not None else [i * series["step"] for i in range(len(values))]
    known = [v for v in values if isinstance(v, (int, float))]
    top = max(known, default=0.0) or 1.0
    end = max(times, default=0) or 1
    parts = [
        f'<svg class="fig fig-spark" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escaped(series["label"])}: at most {num(top)}">'
    ]
    path, pen = [], False
    # Of each few samples the largest: a line of this width shows no more, and a peak must not vanish.
    every = max(1, math.ceil(len(values) / _POINTS))
    for at in range(0, len(values), every):
        time = times[at]
        chunk = [v for v in values[at : at + every] if isinstance(v, (int, float))]
        value = max(chunk, default=None)
        if not isinstance(value, (int, float)):
            pen = False
            continue
        px, py = width * time / end, height - 2 - (height - 4) * max(0.0, value) / top
        path.append(f"{'L' if pen else 'M'}{px:.0f} {py:.1f}")
        pen = True
    parts.append(f'<path class="spark" d="{"".join(path)}"/>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers

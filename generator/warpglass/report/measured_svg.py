"""Figures of a profiled launch: rooflines on logarithmic axes, and lines over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["roofline_svg", "spark_svg"]

Json = Mapping[str, Any]

_POINTS = 160


def _si(value: float, unit: str) -> str:
    for size, name in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{num(round(value / size, 3))} {name}{unit}"
    return f"{num(round(value, 3))} {unit}"


def roofline_svg(roofline: Json, *, width: float = 620, height: float = 330) -> Markup:
    """Roofs and achieved points: operations a byte across, operations a second up, both logarithmic.

    Rooflines of one peak and several traffic levels (hierarchical) or several peaks (tensor) are the same
    drawing: a line for each roof.
    """
    roofs: Sequence[Json] = roofline["roofs"]
    points: Sequence[Json] = roofline["achieved"]
    ridges = [r["work"] / r["traffic"] for r in roofs]
    xs = [*ridges, *(p["work"] / p["traffic"] for p in points)]
    ys = [*(r["work"] for r in roofs), *(p["work"] for p in points)]
    x0, x1 = math.floor(math.log10(min(xs)) - 0.3), math.ceil(math.log10(max(xs)) + 0.3)
    y0, y1 = math.floor(math.log10(min(ys)) - 0.3), math.ceil(math.log10(max(ys)) + 0.1)
    left, right, top, bottom = 64.0, 14.0, 12.0, 40.0

    def x(value: float) -> float:
        share = (math.log10(value) - x0) / (x1 - x0)
        return round(left + (width - left - right) * share, 1)

    def y(value: float) -> float:
        share = (math.log10(value) - y0) / (y1 - y0)
        return round(height - bottom - (height - top - bottom) * share, 1)

    parts = [
        f'<svg class="fig fig-roofline" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escaped(_spoken(roofline))}">'
    ]
    for power in range(x0, x1 + 1):
        px = x(10**power)
        parts.append(
            f'<line class="gridline" x1="{px}" x2="{px}" y1="{top}" y2="{height - bottom}"/>'
            f'<text class="t" x="{px}" y="{height - bottom + 15}" text-anchor="middle">'
            f"{10**power:g}</text>"
        )
    for power in range(y0, y1 + 1):
        py = y(10**power)
        parts.append(
            f'<line class="gridline" x1="{left}" x2="{width - right}" y1="{py}" y2="{py}"/>'
            f'<text class="t" x="{left - 6}" y="{py + 4}" text-anchor="end">{_si(10**power, "op/s")}</text>'
        )
    parts.append(
        f'<text class="t" x="{(left + width - right) / 2}" y="{height - 6}" text-anchor="middle">'
        "operations a byte of traffic</text>"
    )
    for number, (roof, ridge) in enumerate(zip(roofs, ridges, strict=True)):
        start = 10.0**x0
        low = roof["traffic"] * start
        if low < 10.0**y0:
            start, low = 10.0**y0 / roof["traffic"], 10.0**y0
        parts.append(
            f'<path class="roof k{number % 6 + 1}" d="M{x(start)} {y(low)}L{x(ridge)} {y(roof["work"])}'
            f'H{width - right}"><title>{escaped(roof["label"])}: {_si(roof["work"], "op/s")}, '
            f"{_si(roof['traffic'], 'B/s')}</title></path>"
            f'<text class="t" x="{width - right - 2}" y="{y(roof["work"]) - 4}" text-anchor="end">'
            f"{escaped(roof['label'][:60])}</text>"
        )
    for number, point in enumerate(points):
        at = point["work"] / point["traffic"]
        parts.append(
            f'<circle class="s{number % 6 + 1}" cx="{x(at)}" cy="{y(point["work"])}" r="5"><title>'
            f"{escaped(point['label'])}: {_si(point['work'], 'op/s')} at {num(round(at, 3))} op/B"
            "</title></circle>"
            f'<text class="v" x="{x(at)}" y="{y(point["work"]) - 9}" text-anchor="middle">'
            f"{_si(point['work'], 'op/s')}</text>"
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def _spoken(roofline: Json) -> str:
    said = [f"{p['label']}: {_si(p['work'], 'operations a second')}" for p in roofline["achieved"]]
    return f"{roofline['title']}. {'; '.join(said) or 'no achieved point'}"


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

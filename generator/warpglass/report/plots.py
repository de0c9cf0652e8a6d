"""Line figures: curves with marked points, linear or logarithmic, as SVG and as a Plotly figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["lines_spec", "lines_svg"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 14.0, 40.0
#: Colours of series; after the last one they start again with another dash (Plotly's name, SVG's lengths).
_COLOURS = 6
_DASHES = (("solid", ""), ("dash", "7 4"), ("dot", "2 3"))
#: Shapes of the first and the second marked point.
_SYMBOLS = ("circle", "diamond")
_MOST_SERIES = 24
_MOST_LABEL = 30


def _numbers(values: Any) -> list[float | None]:
    out: list[float | None] = []
    for value in values or []:
        good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        out.append(float(value) if good else None)
    return out


def _points(block: Mapping[str, Any]) -> list[tuple[str, list[tuple[float, float]]]]:
    log = bool(block.get("log"))
    made = []
    for one in (block.get("series") or [])[:_MOST_SERIES]:
        pairs = [
            (x, y)
            for x, y in zip(_numbers(one.get("x")), _numbers(one.get("y")), strict=False)
            if x is not None and y is not None and (not log or (x > 0 and y > 0))
        ]
        made.append((str(one.get("name") or ""), pairs))
    return made


def lines_svg(block: Mapping[str, Any], *, width: float = 560, height: float = 300) -> Markup:
    """A ``lines`` block (see :mod:`warpglass.report.custom`) as SVG; empty where it has no point."""
    log = bool(block.get("log"))
    curves = _points(block)
    marks = [
        (str(p.get("name") or ""), float(p["x"]), float(p["y"]))
        for p in block.get("points") or []
        if all(n is not None and (not log or n > 0) for n in _numbers([p.get("x"), p.get("y")]))
    ]
    every = [p for _, pairs in curves for p in pairs] + [(x, y) for _, x, y in marks]
    if not every:
        return Markup("")
    scale = (lambda v: math.log10(v)) if log else (lambda v: v)
    xs, ys = [scale(x) for x, _ in every], [scale(y) for _, y in every]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = (min(ys) if log else 0.0), max(ys)
    span_x, span_y = (high_x - low_x) or 1.0, (high_y - low_y) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (scale(x) - low_x) / span_x * (width - _LEFT - _RIGHT),
            height - _BOTTOM - (scale(y) - low_y) / span_y * (height - _TOP - _BOTTOM),
        )

    label = escaped(str(block.get("caption") or "Figure"))
    parts = [
        f'<svg class="fig fig-lines" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" '
        f'role="img" aria-label="{label}">'
    ]
    parts += _axes(low_x, span_x, low_y, span_y, log, width, height)
    for title, x, y, anchor in (
        (block.get("x_title"), width - _RIGHT, height - 6, "end"),
        (block.get("y_title"), 4, 11, "start"),
    ):
        if title:
            parts.append(
                f'<text class="t" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escaped(str(title))}</text>'
            )
    bold = _bold(block)
    ends: dict[float, list[str]] = {}
    for name, pairs in curves:
        if pairs and name and len(curves) > 1:
            ends.setdefault(round(place(*pairs[-1])[1]), []).append(name)
    for index, (name, pairs) in enumerate(curves):
        path = " ".join(
            f"{'M' if i == 0 else 'L'}{px:.1f} {py:.1f}"
            for i, (px, py) in enumerate(place(*p) for p in pairs)
        )
        dash = _DASHES[index // _COLOURS % len(_DASHES)][1]
        style = f' stroke-dasharray="{dash}"' if dash else ""
        style += ' style="stroke-width:4"' if index in bold else ""
        parts.append(
            f'<path class="roof k{index % _COLOURS + 1}" d="{path}"{style}>'
            f"<title>{escaped(name)}</title></path>"
        )
        names = ends.pop(round(place(*pairs[-1])[1]), []) if pairs else []
        if names:
            # Curves that end at one height share a label.
            px, py = place(*pairs[-1])
            parts.append(
                f'<text class="t" x="{px:.1f}" y="{py - 4:.1f}" text-anchor="end">'
                f"<title>{escaped('; '.join(names))}</title>{escaped(_joint(names))}</text>"
            )
    for number, (name, x, y) in enumerate(marks):
        px, py = place(x, y)
        anchor = "end" if px > width * 0.6 else "start"
        dx = -8 if anchor == "end" else 8
        # Two numbers with thousands separators in one bracket read as three or four.
        text = f"{name}: {num(y)} at {num(x)}" if name else f"{num(y)} at {num(x)}"
        parts.append(
            f'{_mark(number, px, py)}<text class="v mark" x="{px + dx:.1f}" '
            f'y="{py + 16:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def _bold(block: Mapping[str, Any]) -> set[int]:
    """Series that the figure is about."""
    listed = (block.get("series") or [])[:_MOST_SERIES]
    return {i for i, one in enumerate(listed) if one.get("main") is True}


def _mark(number: int, x: float, y: float) -> str:
    """A marked point; its shape tells the second from the first where colours do not."""
    if _SYMBOLS[number % len(_SYMBOLS)] == "circle":
        return f'<circle class="s2" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    corners = ((x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6))
    return f'<path class="s2" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in corners)}Z"/>'


def _joint(names: Sequence[str]) -> str:
    """Names of curves with one end, or the first and how many more where they would run into the curves."""
    text = "; ".join(names)
    return text if len(text) <= _MOST_LABEL else f"{names[0]} and {len(names) - 1} more"


def _axes(
    low_x: float, span_x: float, low_y: float, span_y: float, log: bool, width: float, height: float
) -> list[str]:
    parts = [
        f'<line class="axis" x1="{_LEFT:g}" y1="{height - _BOTTOM:g}" x2="{width - _RIGHT:g}" '
        f'y2="{height - _BOTTOM:g}"/>'
    ]
    for value in _ticks(low_x, low_x + span_x, log):
        at = _LEFT + (value - low_x) / span_x * (width - _LEFT - _RIGHT)
        text = num(10**value if log else value)
        parts.append(
            f'<text class="t" x="{at:.1f}" y="{height - _BOTTOM + 15:g}" text-anchor="middle">'
            f"{escape(text)}</text>"
        )
    for value in _ticks(low_y, low_y + span_y, log):
        at = height - _BOTTOM - (value - low_y) / span_y * (height - _TOP - _BOTTOM)
        text = num(10**value if log else value)
        parts.append(
            f'<line class="gridline" x1="{_LEFT:g}" y1="{at:.1f}" x2="{width - _RIGHT:g}" y2="{at:.1f}"/>'
            f'<text class="t" x="{_LEFT - 6:g}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    return parts


def _ticks(low: float, high: float, log: bool) -> Sequence[float]:
    if log:
        whole = [float(e) for e in range(math.ceil(low), math.floor(high) + 1)]
        step = max(1, len(whole) // 7)
        return whole[::step]
    raw = (high - low) / 5 or 1.0
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 4, 5, 10) if size * m >= raw)
    first = math.ceil(low / step)
    return [i * step for i in range(first, math.floor(high / step) + 1)]


def lines_spec(block: Mapping[str, Any]) -> dict[str, Any]:
    """The Plotly figure of the same block."""
    kind = "log" if block.get("log") else "linear"
    data: list[dict[str, Any]] = []
    bold = _bold(block)
    for index, (name, pairs) in enumerate(_points(block)):
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": [x for x, _ in pairs],
                "y": [y for _, y in pairs],
                "line": {
                    "color": f"$series-{index % _COLOURS + 1}",
                    "dash": _DASHES[index // _COLOURS % len(_DASHES)][0],
                    "width": 4 if index in bold else 2,
                },
            }
        )
    for number, point in enumerate(block.get("points") or []):
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": str(point.get("name") or "here"),
                "x": [point.get("x")],
                "y": [point.get("y")],
                "marker": {"size": 11, "color": "$series-2", "symbol": _SYMBOLS[number % len(_SYMBOLS)]},
            }
        )
    axes = {
        f"{axis}axis": {
            "title": {"text": str(block.get(f"{axis}_title") or "")},
            "type": kind,
            "showgrid": True,
        }
        for axis in "xy"
    }
    return {"data": data, "layout": {**axes, "height": 340, "showlegend": len(data) > 1}}

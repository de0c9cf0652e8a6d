"""Curves of a profiled launch: occupancy over one resource, as a stair with the launch's own place on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["measured_curve_svg"]

Json = Mapping[str, Any]


def _ticks(top: float, wanted: int) -> list[float]:
    """Round numbers from 0 to at most ``top``: powers of two where it is a large one (bytes, warps)."""
    if top <= 0:
        return [0.0]
    step = 1.0
    while top / step > wanted:
        step *= 2
    while top / step < wanted / 2:
        step /= 2
    return [i * step for i in range(int(top / step) + 1)]


def measured_curve_svg(
    curve: Json, axes: Sequence[str], title: str, *, width: float = 420, height: float = 190
) -> Markup:
    """The values hold from one point to the next: a stair. The launch is a marked point with its value."""
    xs, ys = curve["x"], curve["y"]
    low, high, top = min(xs), max(xs) or 1, max(ys) or 1
    left, right, above, below = 40.0, 14.0, 14.0, 36.0

    def x(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(left + (width - left - right) * share, 1)

    def y(value: float) -> float:
        return round(height - below - (height - above - below) * value / (1.08 * top), 1)

    now = curve["now"]
    at = None
    if now is not None and low <= now <= high:
        at = next(value for known, value in zip(reversed(xs), reversed(ys), strict=True) if known <= now)
    spoken = f"{title}: {num(at)} at {num(now)}" if at is not None else title
    parts = [
        f'<svg class="fig fig-curve" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escaped(spoken)}">'
    ]
    for tick in _ticks(top, 5):
        parts.append(
            f'<line class="gridline" x1="{left:g}" x2="{width - right:g}" y1="{y(tick)}" y2="{y(tick)}"/>'
            f'<text class="t" x="{left - 6:g}" y="{y(tick) + 4:g}" text-anchor="end">{num(tick)}</text>'
        )
    for tick in _ticks(high, 6):
        if tick >= low:
            anchor = "end" if x(tick) > width - right - 12 else "middle"  # it would leave the figure
            parts.append(
                f'<text class="t" x="{x(tick)}" y="{height - below + 14:g}" text-anchor="{anchor}">'
                f"{_size(tick)}</text>"
            )
    parts.append(
        f'<text class="t" x="{(left + width - right) / 2:g}" y="{height - 5:g}" text-anchor="middle">'
        f"{escaped(axes[0][:60])}</text>"
        f'<text class="t" x="{left - 34:g}" y="10">{escaped(axes[1][:40])}</text>'
    )
    path = f"M{x(xs[0])} {y(ys[0])}"
    for px, py in zip(xs[1:], ys[1:], strict=True):
        path += f"H{x(px)}V{y(py)}"
    parts.append(f'<path class="stair" d="{path}"/>')
    if at is not None:
        anchor, aside = ("end", -8) if x(now) > width - 120 else ("start", 8)
        # A label at the top left would lie on the axis' name: it goes below its point there.
        beside = y(at) + 16 if y(at) < 30 and x(now) < 110 else max(above + 2, y(at) - 7)
        parts.append(
            f'<line class="here" x1="{x(now)}" x2="{x(now)}" y1="{above:g}" y2="{height - below:g}"/>'
            f'<circle class="here" cx="{x(now)}" cy="{y(at)}" r="4.5">'
            f"<title>{escaped(spoken)}</title></circle>"
            f'<text class="v" x="{x(now) + aside:g}" y="{beside:g}" '
            f'text-anchor="{anchor}">{num(at)} at {num(now)}</text>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def _size(value: float) -> str:
    """Axis numbers: whole kibibytes are shorter than bytes."""
    return f"{value / 1024:g}K" if value >= 4096 and value % 1024 == 0 else num(value)

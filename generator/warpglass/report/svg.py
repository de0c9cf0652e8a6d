"""Static figures as SVG, coloured by the page's CSS variables so that they follow light, dark and print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["Bar", "bars", "columns", "lane_strip"]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, its length, and what it says at its end."""

    label: str
    value: float
    text: str = ""
    series: int = 1


def _fmt(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _open(width: float, height: float, label: str, css: str) -> str:
    return (
        f'<svg class="fig {css}" viewBox="0 0 {_fmt(width)} {_fmt(height)}" width="{_fmt(width)}" '
        f'height="{_fmt(height)}" role="img" aria-label="{escaped(label)}">'
    )


#: Width of a letter of a label, a little more than the mean of common fonts at 12 pixels.
_LETTER = 6.6
_MOST_LABEL = 36


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bars(items: Sequence[Bar], label: str, *, width: float = 560, label_width: float = 140) -> Markup:
    """Horizontal bars from zero. Raises ValueError for negative values (a length cannot show them)."""
    if any(item.value < 0 for item in items):
        raise ValueError("bars show amounts from 0")
    row, top = 22, max((item.value for item in items), default=0) or 1
    longest = max((len(_shorten(item.label, _MOST_LABEL)) for item in items), default=0)
    label_width = max(label_width, 12 + _LETTER * longest)
    room = width - label_width - 112
    parts = [_open(width, row * len(items) + 4, label, "fig-bars")]
    for index, item in enumerate(items):
        y = row * index + 2
        length = max(1.0, room * item.value / top)
        text = escaped(item.text or num(item.value))
        name = escaped(_shorten(item.label, _MOST_LABEL))
        parts.append(
            f'<text class="t" x="{_fmt(label_width - 8)}" y="{y + 14}" text-anchor="end">'
            f"{name}</text>"
            f'<rect class="s{item.series}" x="{_fmt(label_width)}" y="{y + 3}" width="{_fmt(length)}" '
            f'height="{row - 8}" rx="2"/>'
            f'<text class="v" x="{_fmt(label_width + length + 6)}" y="{y + 14}">{text}</text>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def columns(
    values: Sequence[float],
    label: str,
    *,
    first: int = 0,
    width: float = 560,
    height: float = 150,
    every: int = 4,
) -> Markup:
    """A histogram: one column a value, ticks named from ``first`` on each ``every`` columns."""
    top = max(values, default=0) or 1
    left, bottom, head = 8.0, 20.0, 16.0
    step = (width - 2 * left) / max(1, len(values))
    room = height - bottom - head
    parts = [_open(width, height, label, "fig-columns")]
    parts.append(
        f'<line class="axis" x1="{_fmt(left)}" y1="{_fmt(height - bottom)}" x2="{_fmt(width - left)}" '
        f'y2="{_fmt(height - bottom)}"/>'
    )
    for index, value in enumerate(values):
        x = left + step * index
        tall = room * value / top
        if value > 0:
            tall = max(tall, 1.5)
            parts.append(
                f'<rect class="s1" x="{_fmt(x + step * 0.12)}" y="{_fmt(height - bottom - tall)}" '
                f'width="{_fmt(step * 0.76)}" height="{_fmt(tall)}" rx="1"/>'
            )
        if value == top and value > 0:
            anchor = "end" if x > width * 0.8 else "start" if x < width * 0.2 else "middle"
            at = x + step * (0.88 if anchor == "end" else 0.12 if anchor == "start" else 0.5)
            parts.append(
                f'<text class="v" x="{_fmt(at)}" y="{_fmt(height - bottom - tall - 4)}" '
                f'text-anchor="{anchor}">{escape(num(value))}</text>'
            )
        if index % every == 0 or index == len(values) - 1:
            parts.append(
                f'<text class="t" x="{_fmt(x + step / 2)}" y="{_fmt(height - 6)}" '
                f'text-anchor="middle">{first + index}</text>'
            )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def lane_strip(shares: Sequence[float], label: str, *, width: float = 240, height: float = 56) -> Markup:
    """A small profile for thumbnails: columns of 0 to 1 without text."""
    step = width / max(1, len(shares))
    parts = [_open(width, height, label, "fig-strip")]
    for index, share in enumerate(shares):
        tall = max(1.5, (height - 4) * min(1.0, max(0.0, share)))
        parts.append(
            f'<rect class="s1" x="{_fmt(index * step)}" y="{_fmt(height - tall)}" '
            f'width="{_fmt(max(0.6, step - 0.8))}" height="{_fmt(tall)}"/>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers only

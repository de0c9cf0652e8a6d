"""Rooflines of a profiled launch: roofs paired with what was achieved under them, as a table and a figure.

Rooflines of one peak and several levels of memory (hierarchical) and of several peaks over one memory
(precisions, operands of tensor cores) are the same drawing: a line for each roof.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from warpglass.report.labels_apart import Labels
from warpglass.report.text import escaped
from warpglass.report.view import num

__all__ = ["RoofRow", "operation", "roof_rows", "roofline_svg", "roofline_table"]

Json = Mapping[str, Any]

#: Colours of the page's series.
_COLOURS = 6
_WORDS = re.compile(r"\s*\b(?:roofline|achieved value)\b", re.IGNORECASE)
_UNIT = re.compile(r"\[([A-Za-z]{1,8})/(?:s|byte)\]")


@dataclass(frozen=True, slots=True)
class RoofRow:
    """A roof and the point under it, in operations/s and bytes/s; None where the report lacks one of them."""

    name: str
    colour: int
    peak: float | None
    bandwidth: float | None
    work: float | None
    traffic: float | None

    @property
    def ridge(self) -> float | None:
        """Operations a byte from which the peak of work binds, not the memory."""
        return self.peak / self.bandwidth if self.peak is not None and self.bandwidth else None

    @property
    def intensity(self) -> float | None:
        """Operations a byte of the point; None where nothing was done or no byte moved."""
        return self.work / self.traffic if self.work and self.traffic else None

    @property
    def bound(self) -> float | None:
        """Operations a second that the roof allows where the point stands."""
        if self.intensity is None or self.peak is None or self.bandwidth is None:
            return None
        return min(self.peak, self.bandwidth * self.intensity)

    @property
    def share(self) -> float | None:
        """The point's part of its bound, 1 on the roof."""
        return self.work / self.bound if self.work is not None and self.bound else None


def _name(label: str) -> str:
    """What roof and point are called alike: ``DRAM`` of ``DRAM Roofline`` and ``DRAM Achieved Value``."""
    return _WORDS.sub("", label).strip() or label


def _possible(value: float) -> float | None:
    """The number, None where it is beyond every machine: logarithms of it would break the figure."""
    return value if value == 0 or 1e-6 <= value <= 1e24 else None


def roof_rows(roofline: Json) -> list[RoofRow]:
    """A row for each roof with the point of the same name, then points without a roof."""
    points: dict[str, list[Json]] = {}
    for point in roofline["achieved"]:
        points.setdefault(_name(point["label"]), []).append(point)
    rows: list[RoofRow] = []
    for number, roof in enumerate(roofline["roofs"]):
        name = _name(roof["label"])
        own = points[name].pop(0) if points.get(name) else None
        peak, bandwidth = _possible(roof["work"]), _possible(roof["traffic"])
        rows.append(RoofRow(name, number % _COLOURS + 1, peak, bandwidth, *_achieved(own)))
    for name, left in points.items():
        rows += [RoofRow(name, len(rows) % _COLOURS + 1, None, None, *_achieved(point)) for point in left]
    return rows


def _achieved(point: Json | None) -> tuple[float | None, float | None]:
    return (None, None) if point is None else (_possible(point["work"]), _possible(point["traffic"]))


def operation(axes: Sequence[str]) -> str:
    """What an operation is called by the definition's axes: ``FLOP`` of ``Performance [FLOP/s]``."""
    found = (_UNIT.search(axis) for axis in reversed(axes))
    return next((match[1] for match in found if match), "op")


def _si(value: float, unit: str) -> str:
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{num(round(value / size, 3))} {prefix}{unit}"
    return f"{num(round(value, 3))} {unit}"


def roofline_table(rows: Sequence[RoofRow], axes: Sequence[str], key: str) -> list[dict[str, Any]]:
    """Rows for the page; a cell is (text, number, key), with the same key in every launch."""
    op = operation(axes)

    def cell(row: RoofRow, what: str, number: float | None, text: str) -> dict[str, Any]:
        shown = "n/a" if number is None else text
        return {"text": shown, "number": number, "key": f"{key}:{row.name}:{what}"}

    def quotient(number: float | None) -> str:
        return "" if number is None else num(round(number, 4))

    return [
        {
            "name": row.name,
            "colour": row.colour,
            "cells": [
                cell(row, "peak", row.peak, _si(row.peak or 0, f"{op}/s")),
                cell(row, "bandwidth", row.bandwidth, _si(row.bandwidth or 0, "B/s")),
                cell(row, "ridge", row.ridge, quotient(row.ridge)),
                cell(row, "work", row.work, _si(row.work or 0, f"{op}/s")),
                cell(row, "intensity", row.intensity, quotient(row.intensity)),
                cell(row, "share", row.share, "" if row.share is None else f"{100 * row.share:.3g} %"),
            ],
        }
        for row in rows
    ]


def _power(power: int) -> str:
    """A power of ten in few letters: 0.01, 100, 10k, 1M."""
    size, letter = next(((s, n) for s, n in ((9, "G"), (6, "M"), (3, "k")) if power >= s), (0, ""))
    return f"{10.0 ** (power - size):g}{letter}"


class _Axes:
    """Both axes, logarithmic: operations a byte across, operations a second up."""

    left, right, top, bottom = 76.0, 14.0, 22.0, 42.0

    def __init__(self, rows: Sequence[RoofRow], width: float, height: float) -> None:
        xs = [x for row in rows for x in (row.ridge, row.intensity) if x]
        ys = [y for row in rows for y in (row.peak, row.work if row.intensity else None) if y]
        self.x0, self.x1 = math.floor(math.log10(min(xs)) - 0.3), math.ceil(math.log10(max(xs)) + 0.3)
        self.y0, self.y1 = math.floor(math.log10(min(ys)) - 0.3), math.ceil(math.log10(max(ys)) + 0.1)
        if self.y1 - self.y0 < 2:
            self.y0 -= 1  # roofs alone: a slope has to have room to be seen
        self.width, self.height = width, height

    def x(self, value: float) -> float:
        share = (math.log10(value) - self.x0) / (self.x1 - self.x0)
        return round(self.left + (self.width - self.left - self.right) * share, 1)

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.y0) / (self.y1 - self.y0)
        return round(self.height - self.bottom - (self.height - self.top - self.bottom) * share, 1)

    def grid(self, op: str) -> list[str]:
        """Lines at powers of ten; where they are many, every second or third is named."""
        foot, end = self.height - self.bottom, self.width - self.right
        across, up = (math.ceil((b - a) / 9) for a, b in ((self.x0, self.x1), (self.y0, self.y1)))
        parts = []
        for power in range(self.x0, self.x1 + 1, across):
            px = self.x(10.0**power)
            anchor = "end" if px > end - 14 else "middle"  # a long number would leave the figure
            parts.append(
                f'<line class="gridline" x1="{px}" x2="{px}" y1="{self.top}" y2="{foot}"/>'
                f'<text class="t" x="{px}" y="{foot + 15}" text-anchor="{anchor}">{_power(power)}</text>'
            )
        for power in range(self.y0, self.y1 + 1, up):
            py = self.y(10.0**power)
            parts.append(
                f'<line class="gridline" x1="{self.left}" x2="{end}" y1="{py}" y2="{py}"/>'
                f'<text class="t" x="{self.left - 6}" y="{py + 4}" text-anchor="end">'
                f"{escaped(_si(10.0**power, f'{op}/s'))}</text>"
            )
        return parts


def roofline_svg(
    roofline: Json, axes: Sequence[str] = ("", ""), *, width: float = 620, height: float = 340
) -> Markup:
    """The figure: roofs, achieved points below them, and for each point the way up to its own roof."""
    rows = roof_rows(roofline)
    op = operation(axes)
    if not any(row.ridge for row in rows):
        return Markup("")
    at = _Axes(rows, width, height)
    labels = Labels(at.left, at.top - 12, width - at.right, height - at.bottom)
    names = [(axis.strip() or other)[:60] for axis, other in zip(
        axes, ("operations a byte of traffic", ""), strict=True
    )]  # fmt: skip
    parts = [
        f'<svg class="fig fig-roofline" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escaped(_spoken(roofline["title"], rows, op))}">',
        *at.grid(op),
        f'<text class="t" x="{(at.left + width - at.right) / 2}" y="{height - 6}" text-anchor="middle">'
        f"{escaped(names[0])}</text>"
        f'<text class="t" x="4" y="11">{escaped(names[1])}</text>',
    ]
    placed = [row for row in rows if row.intensity is not None and row.work]
    for row in placed:
        labels.block(at.x(row.intensity or 1) - 7, at.y(row.work or 1) - 7, 14, 14)
    for row in rows:
        if row.peak is not None and row.bandwidth is not None:
            parts.append(_roof(row, at, op))
    parts += _peaks(rows, at, labels, op)
    parts += _slopes(rows, at, labels)
    for row in placed:
        parts.append(_point(row, at, op))
    for row in placed:
        px, py = at.x(row.intensity or 1), at.y(row.work or 1)
        # Where the whole name has no place, its first word may.
        for name in dict.fromkeys((row.name[:40], row.name.split(" ", 1)[0][:40])):
            spot = labels.beside(name, px, py)
            if spot is not None:
                parts.append(
                    f'<text class="v mark" x="{spot.x:g}" y="{spot.y:g}" text-anchor="{spot.anchor}">'
                    f"{escaped(name)}</text>"
                )
                break
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - texts were escaped, the rest is numbers


def _roof(row: RoofRow, at: _Axes, op: str) -> str:
    peak, bandwidth = row.peak or 1.0, row.bandwidth or 1.0
    start = max(10.0**at.x0, 10.0**at.y0 / bandwidth)
    said = f"{row.name}: {_si(peak, f'{op}/s')}, {_si(bandwidth, 'B/s')}, ridge at {num(row.ridge)} {op}/B"
    return (
        f'<path class="roof k{row.colour}" d="M{at.x(start)} {at.y(bandwidth * start)}'
        f'L{at.x(peak / bandwidth)} {at.y(peak)}H{at.width - at.right}"><title>{escaped(said)}</title></path>'
    )


def _alike(rows: Sequence[RoofRow], what: str) -> list[tuple[float, list[RoofRow]]]:
    """Rows by (almost) the same peak or bandwidth, largest first."""
    found: list[tuple[float, list[RoofRow]]] = []
    known = [(getattr(row, what), row) for row in rows if getattr(row, what) is not None]
    for value, row in sorted(known, key=lambda pair: -pair[0]):
        if found and value > 0.98 * found[-1][0]:
            found[-1][1].append(row)
        else:
            found.append((value, [row]))
    return found


def _peaks(rows: Sequence[RoofRow], at: _Axes, labels: Labels, op: str) -> list[str]:
    """Each height of the roofs once, at their right end: by name where the roofs differ in it."""
    groups = _alike(rows, "peak")
    parts = []
    for peak, alike in groups:
        name = ", ".join(row.name for row in alike)[:48] if len(groups) > 1 else ""
        text = f"{name} {_si(peak, f'{op}/s')}".strip()
        spot = labels.at(text, at.width - at.right - 2, at.y(peak) - 5, "end")
        if spot is not None:
            parts.append(
                f'<text class="t mark" x="{spot.x:g}" y="{spot.y:g}" text-anchor="end">{escaped(text)}</text>'
            )
    return parts


def _slopes(rows: Sequence[RoofRow], at: _Axes, labels: Labels) -> list[str]:
    """Each slope of the roofs once, along it: by name where the roofs differ in it."""
    groups = _alike(rows, "bandwidth")
    steep = -math.degrees(math.atan2(at.y(10.0**at.y0) - at.y(10.0 ** (at.y0 + 1)),
                                     at.x(10.0 ** (at.x0 + 1)) - at.x(10.0**at.x0)))  # fmt: skip
    parts = []
    for bandwidth, alike in groups:
        name = ", ".join(row.name for row in alike)[:32] if len(groups) > 1 else ""
        text = f"{name} {_si(bandwidth, 'B/s')}".strip()
        start = max(10.0**at.x0, 10.0**at.y0 / bandwidth)
        end = max(row.ridge or 0 for row in alike)
        spot = labels.along(
            text, (at.x(start), at.y(bandwidth * start)), (at.x(end), at.y(bandwidth * end)), steep
        )
        if spot is not None:
            parts.append(
                f'<text class="t mark" x="0" y="0" text-anchor="middle" '
                f'transform="translate({spot.x:g} {spot.y:g}) rotate({steep:.1f})">{escaped(text)}</text>'
            )
    return parts


def _point(row: RoofRow, at: _Axes, op: str) -> str:
    work, intensity = row.work or 1.0, row.intensity or 1.0
    px, py = at.x(intensity), at.y(work)
    up = ""
    share = ""
    if row.bound is not None and row.share is not None:
        up = f'<line class="headroom k{row.colour}" x1="{px}" x2="{px}" y1="{py}" y2="{at.y(row.bound)}"/>'
        share = f", {100 * row.share:.3g} % of its roof"
    said = f"{row.name}: {_si(work, f'{op}/s')} at {num(round(intensity, 4))} {op}/B{share}"
    return (
        f'{up}<circle class="s{row.colour}" cx="{px}" cy="{py}" r="5"><title>{escaped(said)}</title></circle>'
    )


def _spoken(title: str, rows: Sequence[RoofRow], op: str) -> str:
    said = [f"{row.name}: {_si(row.work, f'{op}/s')}" for row in rows if row.work]
    return f"{title}. {'; '.join(said) or 'no achieved point'}"

"""Figures and tables by instance of a profiled launch, as the report's JSON holds them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from warpglass.ncu.curve import curve
from warpglass.ncu.layout import SectionLayout
from warpglass.ncu.link_tables import link_table
from warpglass.ncu.model import Launch, Metric, Value
from warpglass.ncu.roofline import roofline
from warpglass.ncu.timeline import series
from warpglass.report.measured_text import cut, plain, short

__all__ = ["figures"]

Json = dict[str, Any]

_MAX_BARS = 40


def figures(launch: Launch, sections: Sequence[SectionLayout]) -> Json:
    """The members ``rooflines``, ``curves``, ``tables``, ``instances`` and ``timelines`` of a launch."""
    return {
        "rooflines": [
            {
                "section": cut(section.id),
                "title": cut(block.title),
                "roofs": [_point(p.label, p.work, p.traffic) for p in roofs],
                "achieved": [_point(p.label, p.work, p.traffic) for p in achieved],
            }
            for section in sections
            for block in section.blocks
            if block.kind == "roofline"
            for roofs, achieved in [roofline(launch, block)]
            if roofs
        ],
        "curves": [
            {
                "section": cut(section.id),
                "title": cut(block.title),
                "x": [plain(x)[0] for x in found.x],
                "y": [plain(y)[0] for y in found.y],
                "now": plain(found.now)[0],
            }
            for section in sections
            for block in section.blocks
            if block.kind == "curve"
            for found in [curve(launch, block)]
            if found is not None
        ],
        "tables": [
            {
                "section": cut(section.id),
                "title": cut(block.title),
                "columns": [[head, unit] for head, unit in made.columns],
                "rows": [[_cell(value) for value in row] for row in made.rows],
            }
            for section in sections
            for block in section.blocks
            if block.kind == "links"
            for made in [link_table(launch, ((cell.label, cell.metric) for cell in block.cells))]
            if made is not None
        ],
        "instances": _instances(launch, sections),
        "timelines": [
            {
                "group": cut(s.group),
                "label": cut(s.label),
                "metric": cut(s.metric),
                "unit": s.unit,
                "step": s.step,
                "t": None if s.step else list(s.t),
                "v": [short(v) for v in s.v],
            }
            for s in series(launch, sections)
        ],
    }


def _cell(value: Value) -> Any:
    shown = plain(value)[0]
    return cut(shown) if isinstance(shown, str) else shown


def _point(label: str, work: float, traffic: float) -> Json:
    return {"label": cut(label), "work": work, "traffic": traffic}


def _instances(launch: Launch, sections: Sequence[SectionLayout]) -> Json:
    """Metrics that a section shows instance by instance (the opcode histogram)."""
    out: Json = {}
    for section in sections:
        for block in section.blocks:
            for cell in block.cells:
                metric = launch.metrics.get(cell.metric)
                if cell.instances and metric is not None and metric.instances:
                    out[cut(metric.name)] = _largest(metric)
    return out


def _largest(metric: Metric) -> list[list[Any]]:
    rows = [
        (cut(str(entry.key)), float(entry.value))
        for entry in metric.instances
        if isinstance(entry.value, (int, float)) and math.isfinite(entry.value)
    ]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return [[key, plain(value)[0]] for key, value in rows[:_MAX_BARS]]

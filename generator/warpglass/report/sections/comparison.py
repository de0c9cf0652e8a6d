"""Repeated launches of a kernel as one, each metric by its own roll-up, with the spread between launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warpglass.ncu.rollup import aggregate_values
from warpglass.report import view
from warpglass.report.measured_view import Measured, scaled

TITLE = "Repeated launches"

Json = Mapping[str, Any]

#: Groups shown; an application has a few dozen kernels.
_MOST_GROUPS = 60


def context(report: Json) -> dict[str, Any] | None:
    """One table a kernel that was profiled more than once, or None where none was."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    launches = report.get("launches") or []
    for index, launch in enumerate(launches):
        measured = launch.get("measured")
        if measured and report.get("profile"):
            shape = launch.get("launch") or {}
            key = (measured["file"], launch["kernel"]["name"], tuple(shape.get("block") or ()))
            groups.setdefault(key, []).append(index)
    made = [
        _group(report, [launches[i] for i in indexes], indexes)
        for indexes in groups.values()
        if len(indexes) > 1
    ]
    return {"groups": made[:_MOST_GROUPS], "more": max(0, len(made) - _MOST_GROUPS)} if made else None


def _headline(report: Json, launch: Json) -> Iterator[tuple[str, int]]:
    """(label, metric) of the sections' headers: what a person reads of one launch."""
    seen = set()
    for section in report["profile"]["layouts"][launch["measured"]["layout"]]:
        for cell in section["header"]:
            for metric in cell["metrics"][:1]:
                if metric not in seen:
                    seen.add(metric)
                    yield cell["label"], metric


def _group(report: Json, launches: list[Json], indexes: list[int]) -> dict[str, Any]:
    measured = [Measured(report, launch) for launch in launches]
    units = report["profile"]["metrics"]["unit"]
    rows = []
    for label, metric in _headline(report, launches[0]):
        values = [one.value(metric) for one in measured]
        numbers = [float(v) for v in values if isinstance(v, (int, float))]
        made = aggregate_values(measured[0].name(metric), numbers)
        if made is None:
            continue
        texts = [" ".join(scaled(v, units[metric])).strip() for v in (made.value, made.low, made.high)]
        rows.append(
            {
                "label": label,
                "name": made.name,
                "metric": metric,
                "how": made.how,
                "value": texts[0],
                "low": texts[1],
                "high": texts[2],
                "spread": "" if made.spread is None else f"{100 * made.spread:.1f} %",
                "count": made.count,
            }
        )
    return {
        "kernel": view.short_name(launches[0]),
        "full": view.kernel_name(launches[0]),
        "file": report["profile"]["files"][launches[0]["measured"]["file"]]["name"],
        "block": view.dim((launches[0].get("launch") or {}).get("block")),
        "indexes": indexes,
        "launches": [{"href": view.fragment(i), "text": str(i + 1)} for i in indexes],
        "rows": rows,
    }

"""Every metric of a profiled launch in one table to search, with its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report.measured_view import Measured
from warpglass.report.sections.profile import PLAIN_LAUNCHES

TITLE = "Metrics"

#: On pages of more launches the script fills every table when it is first seen: thousands of cells that
#: nobody looks at would cost a quarter of the time that the page takes to open.
_FEW = 24


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A table a launch, or None in a report without a profile."""
    profiled = [(i, x) for i, x in enumerate(report.get("launches") or []) if x.get("measured")]
    if not profiled or not report.get("profile"):
        return None
    many = len(profiled) > _FEW
    plain = 0 if many else PLAIN_LAUNCHES
    return {
        "many": many,
        "groups": [
            {
                "index": index,
                "bare": many,
                "lazy": n >= plain,
                "rows": _rows(report, launch) if n < plain else [],
            }
            for n, (index, launch) in enumerate(profiled)
        ],
    }


def _rows(report: Mapping[str, Any], launch: Mapping[str, Any]) -> list[dict[str, Any]]:
    measured = Measured(report, launch)
    about = report["profile"]["metrics"]["about"]
    rows = []
    for index in sorted(measured.ids(), key=measured.name):
        name = measured.name(index)
        if name.startswith(("breakdown:", "group:", "device__attribute_")):
            continue
        rows.append({"name": name, "about": about[index] or "", **measured.cell([index])})
    return rows

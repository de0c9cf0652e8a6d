"""Sections whose data is blocks for each launch: ``{"launches": [{"blocks": [block]} or null]}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import custom, view


def context(report: Mapping[str, Any], section: str) -> dict[str, Any] | None:
    """Blocks for each launch as the partial of custom sections draws them, or None without any."""
    data = view.section_data(report, section) or {}
    keyed = bool(report.get("profile"))  # a baseline can be chosen on the page: numbers need names then
    groups = []
    for index, one in enumerate(data.get("launches") or []):
        made = custom.context({"id": f"{section}-{index}", "data": one}, keyed) if one else None
        if made is not None:
            groups.append({"index": index, "blocks": made["blocks"]})
    return {"groups": groups} if groups else None

"""Advice, foremost first, or why there is none; absent until an analysis looked for any.

Data: ``{"launches": [[{"title", "text", "evidence", "gain"?, "source"?, "line"?}]]}``, one list a launch. An
analysis adds ``severity``, ``category``, ``derivation``, ``conflicts``, ``confirm`` and further ``lines``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view, words

TITLE = "Advice"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Lists for each launch, or None without data."""
    data = view.section_data(report, "advice")
    lists = (data or {}).get("launches") or []
    if all(items is None for items in lists):
        return None
    launches = report.get("launches") or []
    return {
        "groups": [
            {
                "index": index,
                "items": [_item(report, index, item) for item in items or []],
                "none": view.sentence(f"None: {words.no_advice(launches[index])}."),
            }
            for index, items in enumerate(lists[: len(launches)])
        ]
    }


def _item(report: Mapping[str, Any], index: int, item: Mapping[str, Any]) -> dict[str, Any]:
    line = item.get("line")
    return {
        "title": str(item.get("title") or ""),
        "text": view.sentence(str(item.get("text") or "")),
        "gain": None if item.get("gain") is None else str(item["gain"]),
        "evidence": str(item.get("evidence") or "modelled"),
        "where": f"{view.source_name(report, item.get('source'))}:{line}" if line is not None else "",
        "href": view.fragment(index, line=(item.get("source"), line)),
        "severity": item.get("severity") if item.get("severity") in ("critical", "warning", "info") else None,
        "category": str(item.get("category") or ""),
        "derivation": str(item.get("derivation") or ""),
        "conflicts": [str(one) for one in item.get("conflicts") or []],
        "confirm": str(item.get("confirm") or ""),
        "more": [
            {"text": f"line {one[1]}", "href": view.fragment(index, line=(one[0], one[1]))}
            for one in (item.get("lines") or [])[1:6]
            if isinstance(one, list) and len(one) == 2
        ],
    }

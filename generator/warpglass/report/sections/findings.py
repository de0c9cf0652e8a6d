"""What the execution found, as a table that filters by severity and category without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view, words

TITLE = "Findings"

#: More rows than this help nobody; the JSON keeps them all.
MAX_ROWS = 300
MAX_PRINTED = 200


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tables and printed lines of each launch, or None where no run found or printed anything."""
    launches = report.get("launches") or []
    groups = [_group(report, index, launch) for index, launch in enumerate(launches)]
    shown = any(group["rows"] or group["printed"] for group in groups)
    return {"groups": groups} if shown else None


def _group(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = view.primary_run(launch) or {}
    ordered = words.foremost(run.get("findings") or [])
    categories = sorted({str(one.get("category") or "other") for one in ordered})
    severities = sorted({str(one.get("severity") or "info") for one in ordered}, key=view.severity_rank)
    rows = [_row(report, index, run, one, categories) for one in ordered[:MAX_ROWS]]
    return {
        "index": index,
        "isa": str(run.get("isa", "")).upper(),
        "rows": rows,
        "printed": [str(text).rstrip("\n") for text in (run.get("printed") or [])[:MAX_PRINTED]],
        "printed_left_out": max(0, len(run.get("printed") or []) - MAX_PRINTED),
        "left_out": max(0, len(ordered) - MAX_ROWS),
        "severities": [
            (one, sum(1 for row in ordered if str(row.get("severity") or "info") == one))
            for one in severities
        ],
        "categories": [
            (number, one, sum(1 for row in ordered if str(row.get("category") or "other") == one))
            for number, one in enumerate(categories)
        ],
    }


def _row(
    report: Mapping[str, Any],
    index: int,
    run: Mapping[str, Any],
    one: Mapping[str, Any],
    categories: list[str],
) -> dict[str, Any]:
    category = str(one.get("category") or "other")
    line = one.get("line")
    return {
        "severity": str(one.get("severity") or "info"),
        "category": category,
        "category_index": categories.index(category),
        "kind": str(one.get("kind") or ""),
        "message": str(one.get("message") or ""),
        "count": one.get("count"),
        "evidence": str(one.get("evidence") or "executed"),
        "where": f"{view.source_name(report, one.get('source'))}:{line}" if line is not None else "",
        "line_href": view.fragment(index, isa=run.get("isa"), line=(one.get("source"), line)),
        "pc": one.get("pc"),
        "place": _place(one),
        # A sum over the launch has neither a place nor a step.
        "whole": line is None and one.get("pc") is None and one.get("thread") is None,
        "steps": _steps(index, run, one),
        "detail": [(str(key), _value(value)) for key, value in sorted((one.get("detail") or {}).items())],
    }


def _value(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(
            view.num(item) if not isinstance(item, list | dict) else str(item) for item in value[:16]
        )
        return shown + (f", … ({len(value)})" if len(value) > 16 else "")
    return view.num(value)


def _place(one: Mapping[str, Any]) -> str:
    parts = []
    if one.get("block") is not None:
        parts.append(f"block ({', '.join(map(str, one['block']))})")
    if one.get("thread") is not None:
        parts.append(f"thread ({', '.join(map(str, one['thread']))})")
    if isinstance(one.get("address"), int):
        parts.append(f"address {one['address']:#x}")
    return ", ".join(parts)


def _steps(index: int, run: Mapping[str, Any], one: Mapping[str, Any]) -> list[dict[str, str]]:
    """Links to the first and the worst step, where a trace holds them."""
    traces = run.get("traces") or []
    trace = one.get("trace")
    if not isinstance(trace, int) or not 0 <= trace < len(traces):
        return []
    columns = traces[trace].get("columns") or {}
    links: list[dict[str, str]] = []
    for label, step in (("first", one.get("step")), ("worst", one.get("worst_step"))):
        if not isinstance(step, int) or (links and step == one.get("step")):
            continue
        warps = columns.get("warp")
        warp = warps[step] if isinstance(warps, list) and 0 <= step < len(warps) else None
        href = view.fragment(
            index, isa=run.get("isa"), block=traces[trace].get("index"), warp=warp, step=step
        )
        links.append({"label": label, "step": str(step), "href": href})
    return links

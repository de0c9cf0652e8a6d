"""What a profiler measured for each launch, laid out as the report's own section definitions say.

Launches beyond the first few are packed in the page and unpacked when they are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from warpglass.report import view
from warpglass.report.hot_spots import hot_lines, hot_spots
from warpglass.report.measured_curves import measured_curve_svg
from warpglass.report.measured_svg import spark_svg
from warpglass.report.measured_view import Measured, scaled
from warpglass.report.measured_words import STALL, failed_rules, ranked_rules, stall_shares
from warpglass.report.memory_chart_svg import memory_chart_svg
from warpglass.report.roofline_figure import operation, roof_rows, roofline_svg, roofline_table

TITLE = "Profile"

#: Launches whose tables stand in the HTML as they are; more would slow the page's opening.
PLAIN_LAUNCHES = 1
_ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
_THEORETICAL = "sm__maximum_warps_per_active_cycle_pct"

Json = Mapping[str, Any]


def context(report: Json) -> dict[str, Any] | None:
    """Everything measured, a group a launch; None in a report without a profile."""
    launches = report.get("launches") or []
    profiled = [(i, launch) for i, launch in enumerate(launches) if launch.get("measured")]
    if not profiled or not report.get("profile"):
        return None
    return {
        "files": [_file(file) for file in report["profile"]["files"]],
        "groups": [_group(report, i, launch, n >= PLAIN_LAUNCHES) for n, (i, launch) in enumerate(profiled)],
        "comparable": len(profiled) > 1,
    }


def _file(file: Json) -> dict[str, Any]:
    session = file.get("session") or {}
    return {
        "name": file["name"],
        "launches": file["launches"],
        "problems": file["problems"],
        "versions": sorted((file.get("versions") or {}).items()),
        "devices": file.get("devices") or [],
        "session": [
            (key.replace("_", " "), _moment(value) if key == "created" else str(value))
            for key, value in sorted(session.items())
            if value
        ],
    }


def _moment(seconds: Any) -> str:
    """Seconds since 1970 as a date; what no calendar holds stays a number."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _group(report: Json, index: int, launch: Json, lazy: bool) -> dict[str, Any]:
    measured = Measured(report, launch)
    data = launch["measured"]
    sections = [measured.section(s) for s in report["profile"]["layouts"][data["layout"]]]
    for section in sections:
        for block in section["blocks"] if section else []:
            _draw(report, index, launch, block)
    return {
        "index": index,
        "lazy": lazy,
        "nvtx": data["nvtx"],
        "call_stack": data["call_stack"],
        "sections": [s for s in sections if s is not None],
        "rules": [_rule(report, index, rule) for rule in ranked_rules(launch)],
        "failed": failed_rules(launch),
        "stalls": _stalls(report, launch, measured),
        "lines": hot_lines(report, index, launch),
        "occupancy": _occupancy(measured, data["occupancy"]),
        "timelines": [_timeline(series) for series in data["timelines"]],
        "predicted": [_predicted(report, row) for row in data["predicted"]],
        "code_note": (data["code"] or {}).get("note"),
    }


def _draw(report: Json, index: int, launch: Json, block: dict[str, Any]) -> None:
    """Put the figure or the rows into a block that is not a table of metrics."""
    if block["kind"] == "roofline":
        drawn, axes = block["roofline"], block["axes"]
        block["svg"] = roofline_svg(drawn, axes)
        block["operation"] = operation(axes)
        block["rows"] = roofline_table(roof_rows(drawn), axes, f"roof:{drawn['section']}:{drawn['title']}")
    elif block["kind"] == "curve":
        block["svg"] = measured_curve_svg(block["curve"], block["axes"], block["title"])
    elif block["kind"] == "memory":
        block["svg"] = memory_chart_svg(block["links"])
    elif block["kind"] == "hotspots":
        block["rows"] = hot_spots(report, index, launch, block["metrics"])


def _rule(report: Json, index: int, rule: Json) -> dict[str, Any]:
    places: dict[str, dict[str, str]] = {}
    for marker in rule["markers"][:24]:
        if marker["source"] is not None and marker["line"]:
            href = view.fragment(index, line=(marker["source"], marker["line"]))
            text = view.line_place(report, marker["source"], marker["line"])
            # Several messages of a rule may point at one line: one link says them all.
            found = places.setdefault(href, {"href": href, "text": text, "message": ""})
            if marker["message"] and marker["message"] not in found["message"]:
                found["message"] = f"{found['message']}; {marker['message']}".removeprefix("; ")[:800]
    severity = {"error": "critical", "warning": "warning", "optimization": "warning"}.get(
        rule["severity"], "info"
    )
    return {
        "title": rule["title"] or rule["rule"],
        "text": rule["text"],
        "severity": severity,
        "number": rule["speedup"],
        "gain": None if rule["speedup"] is None else f"{rule['speedup']:.1f} %",
        "scope": rule["scope"] or "",
        "places": list(places.values())[:12],
        "focus": [f"{name} = {view.num(value)}" for name, value, _ in rule["focus"] if value is not None],
    }


def _stalls(report: Json, launch: Json, measured: Measured) -> list[dict[str, Any]]:
    rows = stall_shares(report, launch)
    total = sum(value for _, value in rows)
    if not total:
        return []
    return [
        {
            "label": reason.replace("_", " "),
            "m": measured.index(STALL.format(reason)),
            "text": f"{value:.3f}",
            "share": 100 * value / total,
            "percent": f"{100 * value / total:.1f} %",
        }
        for reason, value in rows
        if value > 0
    ]


def _occupancy(measured: Measured, own: Json | None) -> dict[str, Any] | None:
    achieved, theoretical = measured.number(_ACHIEVED), measured.number(_THEORETICAL)
    if achieved is None and theoretical is None and own is None:
        return None
    limits = []
    for name, blocks in (own or {}).get("limits", {}).items():
        if blocks is not None:
            limits.append(
                {"name": name, "blocks": blocks, "limits": name in own["limiters"] if own else False}
            )
    return {
        "m": [-1 if (at := measured.index(name)) is None else at for name in (_ACHIEVED, _THEORETICAL)],
        "achieved": None if achieved is None else f"{achieved:.1f} %",
        "theoretical": None if theoretical is None else f"{theoretical:.1f} %",
        "share": None if own is None else own["warps"] / own["max_warps"],
        "own": None if own is None else f"{100 * own['warps'] / own['max_warps']:.1f} %",
        "warps": None if own is None else f"{own['warps']} of {own['max_warps']} warps",
        "limiters": ", ".join(own["limiters"]) if own else "",
        "limits": limits,
    }


def _timeline(series: Json) -> dict[str, Any]:
    known = [v for v in series["v"] if isinstance(v, (int, float))]
    end = series["t"][-1] if series["t"] else (series["step"] or 0) * max(0, len(series["v"]) - 1)
    top, unit = scaled(max(known, default=None), series["unit"])
    length, length_unit = scaled(end, "ns")
    return {
        "group": series["group"],
        "label": series["label"],
        "svg": spark_svg(series),
        "top": f"{top} {unit}".strip(),
        "number": max(known, default=None),
        "length": f"{length} {length_unit}",
        "metric": series["metric"],
    }


def _predicted(report: Json, row: Json) -> dict[str, Any]:
    difference = row["value"] - row["measured"]
    share = f"{100 * difference / row['measured']:+.2f} %" if row["measured"] else ""
    return {
        "metric": row["metric"],
        "numbers": (row["measured"], row["value"]),
        "predicted": view.num(row["value"]),
        "measured": view.num(row["measured"]),
        "difference": f"{difference:+,.0f}" if difference else "none",
        "share": share if difference else "",
        "evidence": row["evidence"],
    }

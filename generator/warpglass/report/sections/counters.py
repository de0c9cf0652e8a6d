"""Counters under the profiler's own names, as the executed machine code predicts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view

TITLE = "Counters"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Groups of counters and executions by opcode for each launch, or None where no machine code ran."""
    launches = [_launch(index, launch) for index, launch in enumerate(report.get("launches") or [])]
    shown = [one for one in launches if one["counters"]]
    groups = list(dict.fromkeys(group["name"] for one in shown for group in one["counters"]))
    return {"launches": launches, "groups": groups} if shown else None


def counted_run(launch: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The run that has counters, or None."""
    found: Mapping[str, Any] | None = next(
        (run for run in launch.get("runs") or [] if run.get("counters")), None
    )
    return found


def _launch(index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = counted_run(launch)
    if run is None:
        return {"index": index, "counters": [], "opcodes": [], "brief": [], "scaled": False}
    rows = [_row(number) for number in run["counters"]]
    names = list(dict.fromkeys(row["group"] for row in rows))
    return {
        "index": index,
        "counters": [{"name": name, "rows": [row for row in rows if row["group"] == name]} for name in names],
        # What readers without scripts see of launches that are not shown first.
        "brief": [(row["name"], row["value"]) for row in rows if row["value"]],
        "opcodes": [_opcode(row, run) for row in run.get("opcode_counts") or []],
        "scaled": bool(run.get("scaled")),
    }


def _row(number: Mapping[str, Any]) -> dict[str, Any]:
    value, unit = number.get("value"), str(number.get("unit") or "")
    return {
        "group": str(number.get("group") or "other"),
        "name": str(number.get("name")),
        "value": value,
        "unit": "" if unit == "1" else unit,
        "evidence": number.get("evidence"),
        "rule": number.get("rule") if value is not None else number.get("why_unknown"),
        "zero": value == 0,
    }


def _opcode(row: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    opcode, warp = str(row.get("opcode")), row.get("warp") or 0
    lanes = view.ratio(row.get("thread"), warp)
    known = (run.get("code") or {}).get("opcodes") or {}
    family: dict[str, Any] = next((one for name, one in known.items() if name.split(".")[0] == opcode), {})
    base: Mapping[str, Any] = known.get(opcode) or family
    help_text = str(base.get("help") or "")
    return {
        "opcode": opcode,
        "warp": warp,
        "thread": row.get("thread"),
        "lanes": None if lanes is None else f"{lanes:.1f}",
        "pipe": base.get("pipe"),
        # What its modifiers add belongs to the whole opcode, not to the base.
        "help": help_text.split(" (")[0] if opcode not in known else help_text,
    }

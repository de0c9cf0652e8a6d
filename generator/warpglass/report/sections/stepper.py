"""The stepper. Without JavaScript: the first steps of the first traced block, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view
from warpglass.report.trace_view import column, first_trace

TITLE = "Stepper"

#: Steps in the static table of the first launch, and of each other.
STATIC_STEPS = (24, 8)


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first steps of each launch's first traced warp, or None where nothing was traced."""
    groups = [_group(report, index, launch) for index, launch in enumerate(report.get("launches") or [])]
    shown = [group for group in groups if group is not None]
    return {"groups": shown} if shown else None


def _group(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> dict[str, Any] | None:
    found = first_trace(launch)
    if found is None:
        return None
    run, trace = found
    instructions = run["code"]["instructions"]
    warps, pcs = column(trace, "warp"), column(trace, "pc")
    rounds, masks = column(trace, "round"), column(trace, "mask")
    mine = [step for step in range(min(len(pcs), 4096)) if warps[step] == 0][: STATIC_STEPS[index > 0]]
    rows = []
    for step in mine:
        pc = int(pcs[step])
        rows.append(
            {
                "step": step,
                "round": int(rounds[step]),
                "mask": f"{int(masks[step]):08x}",
                "lanes": int(masks[step]).bit_count(),
                "text": instructions["text"][pc],
                "place": _place(report, instructions, pc),
            }
        )
    return {
        "index": index,
        "isa": str(run.get("isa")).upper(),
        "kernel": view.short_name(launch),
        "block": view.place(trace.get("block")),
        "steps": trace.get("steps", len(pcs)),
        "warps": trace.get("warps"),
        "truncated": bool(trace.get("truncated")),
        "rows": rows,
    }


def _place(report: Mapping[str, Any], instructions: Mapping[str, Any], pc: int) -> str:
    line = instructions["source_line"][pc]
    return "" if line is None else f"{view.source_name(report, instructions['source'][pc])}:{line}"

"""Loops of every run as they were executed, for the table beneath the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.report import view

__all__ = ["loop_groups"]

#: Loops of one run that are listed, those that issued most first.
MAX_LOOPS = 24


def loop_groups(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``{"index", "rows", "more", "scaled"}`` for each launch that has a loop."""
    groups = []
    for index, launch in enumerate(report.get("launches") or []):
        rows: list[dict[str, Any]] = []
        more = 0
        for run in launch.get("runs") or []:
            found = [row for row in (_row(report, index, run, loop) for loop in _loops(run)) if row]
            found.sort(key=lambda row: (-(row["issued"] or 0), row["start"]))
            rows += found[:MAX_LOOPS]
            more += max(0, len(found) - MAX_LOOPS)
        if rows:
            scaled = any(run.get("scaled") for run in launch.get("runs") or [])
            groups.append({"index": index, "rows": rows, "more": more, "scaled": scaled})
    return groups


def _loops(run: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (run.get("code") or {}).get("loops") or []


def _row(
    report: Mapping[str, Any], index: int, run: Mapping[str, Any], loop: Mapping[str, Any]
) -> dict[str, Any] | None:
    code = run["code"]
    blocks = code.get("blocks") or []
    members = [blocks[b] for b in loop["blocks"] if b < len(blocks)]
    if loop["header"] >= len(blocks) or not members:
        return None
    instructions = code["instructions"]
    start = blocks[loop["header"]]["start"]
    count = len(instructions["line"])
    pcs = [pc for block in members for pc in range(block["start"], min(block["end"], count))]
    if start >= count:
        return None
    executed = (run.get("profile") or {}).get("warp_executed") or []
    issued = sum(executed[pc] or 0 for pc in pcs) if len(executed) >= count else None
    total = sum(value or 0 for value in executed)
    source, line = instructions["source"][start], instructions["source_line"][start]
    own = instructions["line"][start]
    return {
        "isa": str(run.get("isa", "")).upper(),
        "start": start,
        "place": "" if line is None else f"{view.source_name(report, source)}:{line}",
        "href": view.fragment(index, isa=run.get("isa"), line=(source, line)),
        "own": f"{view.source_name(report, code.get('source'))}:{own}",
        "own_href": view.fragment(index, isa=run.get("isa"), line=(code.get("source"), own)),
        "depth": loop.get("depth"),
        "size": len(pcs),
        "trips": loop.get("trips"),
        "issued": issued,
        "share": None if not issued or not total else 100 * issued / total,
    }

"""Every launch that was executed, the one the page opens with first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view
from warpglass.report.tiles import run_state
from warpglass.report.words import verdict

TITLE = "Launches"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Rows of the launch table, or None without launches."""
    launches = report.get("launches") or []
    if not launches:
        return None
    return {"rows": [_row(report, index, launch) for index, launch in enumerate(launches)]}


def _row(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = view.primary_run(launch)
    shape = launch.get("launch") or {}
    warp_instructions = None if run is None else view.column_sum(run, "warp_executed")
    threads = None if run is None else view.column_sum(run, "thread_executed")
    return {
        "index": index,
        "href": view.fragment(index),
        "name": view.short_name(launch),
        "full": view.kernel_name(launch),
        "label": launch.get("label") or "",
        "arch": view.arch_text(launch),
        "grid": view.dim(shape.get("grid")),
        "block": view.dim(shape.get("block")),
        "cluster": view.dim(shape.get("cluster")),
        "shared": shape.get("shared_bytes"),
        "isa": None if run is None else str(run.get("isa", "")).upper(),
        "warp_instructions": warp_instructions,
        "thread_instructions": threads,
        "state": run_state(run),
        "run": _run_text(run),
        "verdict": verdict(report, index, launch),
    }


def _run_text(run: Mapping[str, Any] | None) -> str:
    """``PTX, 4 of 16 blocks, cut short``: the card below says the rest."""
    state = run_state(run)
    if run is None:
        return str(state["text"])
    blocks = str(state["blocks"]).removeprefix("executed, ")
    return f"{str(run.get('isa', '')).upper()}, {blocks}{'' if state['ok'] else ', cut short'}"

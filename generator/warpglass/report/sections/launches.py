"""Every launch that was executed or measured, the one the page opens with first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.ncu.nvtx import split_path
from warpglass.report import view
from warpglass.report.measured_view import Measured
from warpglass.report.tiles import run_state
from warpglass.report.words import verdict

TITLE = "Launches"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Rows of the launch table, or None without launches."""
    launches = report.get("launches") or []
    if not launches:
        return None
    return {
        "rows": [_row(report, index, launch) for index, launch in enumerate(launches)],
        "executed": any(launch.get("runs") for launch in launches)
        or not any(launch.get("measured") for launch in launches),
        "measured": any(launch.get("measured") for launch in launches),
        "ranges": _ranges(launches),
    }


#: Ranges within ranges that the tree shows.
_MOST_NESTED = 32
#: Ranges that the tree shows; a page of more would not open.
_MOST_NODES = 5000
#: Letters of its ranges by which a launch is found.
_MOST_SEARCHED = 2000
#: Letters of a verdict's head that the table shows alone.
_MOST_LIMITER = 28

#: Measured columns of the table: metric and head.
MEASURED = (
    ("gpu__time_duration.sum", "Duration"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "Memory"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "Occupancy"),
)


def _measured(report: Mapping[str, Any], launch: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not launch.get("measured") or not report.get("profile"):
        return []
    measured = Measured(report, launch)
    indexes = [measured.index(name) for name, _ in MEASURED]
    return [measured.cell([] if index is None else [index]) for index in indexes]


def _ranges(launches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """NVTX ranges as a tree: ``{"name", "children", "launches"}``, launches as (index, name)."""
    root: dict[str, Any] = {"children": {}, "launches": []}
    left = _MOST_NODES
    for index, launch in enumerate(launches):
        for path in (launch.get("measured") or {}).get("nvtx") or []:
            node = root
            domain, ranges = split_path(str(path))
            for part in (f"{domain}@{ranges[0]}" if ranges else domain, *ranges[1:_MOST_NESTED]):
                left -= part not in node["children"]
                if left < 0:
                    return _listed(root)
                node = node["children"].setdefault(part, {"children": {}, "launches": []})
            node["launches"].append(
                {"index": index, "href": view.fragment(index), "name": view.short_name(launch)}
            )

    return _listed(root)


def _within(node: Mapping[str, Any]) -> set[int]:
    """Launches at and below a range; one may stand in several ranges."""
    return {one["index"] for one in node["launches"]}.union(*map(_within, node["children"].values()))


def _listed(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "children": _listed(child),
            "launches": child["launches"],
            "count": len(_within(child)),
        }
        for name, child in node["children"].items()
    ]


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
        "shared": _shared(launch),
        "isa": None if run is None else str(run.get("isa", "")).upper(),
        "warp_instructions": warp_instructions,
        "thread_instructions": threads,
        "state": run_state(run),
        "run": _run_text(run) if run is not None or not launch.get("measured") else "measured",
        "measured": _measured(report, launch),
        "nvtx": " ".join((launch.get("measured") or {}).get("nvtx") or [])[:_MOST_SEARCHED],
        "verdict": verdict(report, index, launch),
        "limiter": _limiter(verdict(report, index, launch)),
    }


def _shared(launch: Mapping[str, Any]) -> dict[str, Any]:
    """Shared bytes of a block, static and dynamic together where both are known."""
    dynamic = (launch.get("launch") or {}).get("shared_bytes")
    static = (launch.get("compile") or {}).get("static_shared")
    if dynamic is None and static is None:
        return {"value": None, "note": "", "title": "not known"}
    if static is None:
        return {"value": dynamic, "note": "dynamic", "title": "dynamic shared memory alone is known"}
    return {
        "value": static + (dynamic or 0),
        "note": "",
        "title": f"{view.num(static)} bytes static, {view.num(dynamic)} dynamic",
    }


def _limiter(said: Mapping[str, Any]) -> str:
    """The verdict in few words: what stands before the colon; the card below and the title say the rest."""
    if said["kind"] == "open":
        return "not decided"
    text = str(said["text"])
    head = text.partition(": ")[0]
    return head if said["kind"] == "decided" and len(head) <= _MOST_LIMITER else text


def _run_text(run: Mapping[str, Any] | None) -> str:
    """``PTX, 4 of 16 blocks, cut short``: the card below says the rest."""
    state = run_state(run)
    if run is None:
        return str(state["text"])
    blocks = str(state["blocks"]).removeprefix("executed, ")
    return f"{str(run.get('isa', '')).upper()}, {blocks}{'' if state['ok'] else ', cut short'}"

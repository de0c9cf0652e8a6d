"""Above the fold: what was run, what holds it back, four tiles, compile facts, foremost advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.report import tiles, view, words
from warpglass.report.measured_words import measured_tiles

TITLE = "Verdict"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """One card a launch, or None without launches."""
    launches = report.get("launches") or []
    if not launches:
        return None
    return {"cards": [_card(report, index, launch) for index, launch in enumerate(launches)]}


def _card(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = view.primary_run(launch)
    said = words.verdict(report, index, launch)
    finding = said["finding"]
    found = (run or {}).get("findings") or []
    return {
        "index": index,
        "kernel": view.kernel_name(launch),
        "mangled": str((launch.get("kernel") or {}).get("name") or ""),
        "arch": view.arch_text(launch),
        "launch": view.launch_text(launch),
        "label": launch.get("label") or "",
        "isa": None if run is None else str(run.get("isa", "")).upper(),
        "state": tiles.run_state(run),
        "verdict": said,
        "link": _link(index, run, finding),
        "alarm": None if finding is not None else _alarm(index, run, found),
        "tiles": tiles.tiles(run) or measured_tiles(report, launch),
        "compile": tiles.compile_facts(launch),
        "advice": _advice(report, index),
        "counts": [
            (level, sum(1 for one in found if one.get("severity") == level))
            for level in ("critical", "warning", "info")
            if any(one.get("severity") == level for one in found)
        ],
    }


def _alarm(
    index: int, run: Mapping[str, Any] | None, found: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """The foremost critical finding: a fast kernel that reads out of bounds is no good news."""
    critical = [one for one in words.foremost(found) if one.get("severity") == "critical"]
    if not critical:
        return None
    first = critical[0]
    return {
        "kind": str(first.get("kind") or ""),
        "text": str(first.get("message") or ""),
        "evidence": str(first.get("evidence") or "executed"),
        "link": _link(index, run, first),
    }


def _link(
    index: int, run: Mapping[str, Any] | None, finding: Mapping[str, Any] | None
) -> dict[str, str] | None:
    if run is None or finding is None or finding.get("line") is None:
        return None
    place = (finding.get("source"), finding["line"])
    return {
        "href": view.fragment(index, isa=run.get("isa"), line=place),
        "text": f"line {finding['line']}",
    }


def _advice(report: Mapping[str, Any], index: int) -> list[dict[str, Any]]:
    data = view.section_data(report, "advice") or {}
    lists = data.get("launches") or []
    foremost = ((lists[index] if index < len(lists) else None) or [])[:3]
    return [{**item, "text": view.sentence(str(item.get("text") or ""))} for item in foremost]

"""The verdict of a launch in words: a limiter, else the foremost finding, else what is needed to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.report import view

__all__ = ["foremost", "no_advice", "verdict"]

Json = Mapping[str, Any]

_NEEDS = "not decided: needs a profiler report or a timing model; the execution found nothing that stands out"


def foremost(findings: Sequence[Json]) -> list[Json]:
    """Findings in order of weight: severity, then count, then place."""
    return sorted(
        findings,
        key=lambda one: (
            view.severity_rank(one.get("severity")),
            -(one.get("count") or 0),
            one.get("pc") or 0,
        ),
    )


def verdict(report: Json, index: int, launch: Json) -> dict[str, Any]:
    """``{"text", "kind", "severity", "evidence", "finding"}``; ``kind`` is decided, finding or open.

    A ``verdict`` section of the report (``data.launches[index]`` with ``text`` and ``evidence``) decides;
    else the foremost finding that is more than information; else the words "not decided".
    """
    data = view.section_data(report, "verdict") or {}
    decided = data.get("launches") or []
    if index < len(decided) and decided[index] and decided[index].get("text"):
        given = decided[index]
        return {
            "text": str(given["text"]),
            "kind": "decided",
            "severity": str(given.get("severity") or "info"),
            "evidence": str(given.get("evidence") or "modelled"),
            "finding": None,
        }
    run = view.primary_run(launch)
    heavy = [
        f for f in foremost((run or {}).get("findings") or []) if view.severity_rank(f.get("severity")) < 2
    ]
    if heavy:
        first = heavy[0]
        return {
            "text": str(first.get("message") or first.get("kind")),
            "kind": "finding",
            "severity": str(first.get("severity")),
            "evidence": str(first.get("evidence") or "executed"),
            "finding": first,
        }
    if run is None:
        text = (
            "not decided: the profile holds no throughputs (profile with the set basic or full)"
            if launch.get("measured")
            else "not decided: needs an execution of this launch"
        )
    elif not run.get("complete"):
        why = str((run.get("stopped") or {}).get("message") or "the run did not end")
        text = f"not decided: needs a run to the end ({why})"
    else:
        text = _NEEDS
    return {"text": text, "kind": "open", "severity": "info", "evidence": "", "finding": None}


def no_advice(launch: Json) -> str:
    """Why a launch has no advice."""
    run = view.primary_run(launch)
    if run is not None and not run.get("complete"):
        return "the run did not get far enough for its counts to say something of the kernel"
    if run is None and not launch.get("measured"):
        return "the launch was not executed"
    nothing = "no rule found anything that would gain more than a few percent"
    if run is None:
        code = launch["measured"].get("code")
        if not code:
            return f"{nothing}; most rules look at machine code, which the report has not or not to be read"
        if "warp_executed" not in (code.get("profile") or {}):
            return (
                f"{nothing}; most rules look at counts by instruction, which the section SourceCounters (or "
                "--set full) would give"
            )
    return nothing

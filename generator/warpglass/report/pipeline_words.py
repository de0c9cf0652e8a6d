"""A simulated schedule in words. ``static_js/pipeline-words.js`` says the same of the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["verdict_words"]

Json = Mapping[str, Any]


def _figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.0f} %"


def verdict_words(program: Json, results: Json) -> str:
    """What bounds the schedule, its bubbles, fill and drain, stages needed and stages that fit."""
    summary = results["summary"]
    if not summary["complete"]:
        return "This schedule does not end: " + "; ".join(summary["problems"]) + "."
    parts = []
    period = summary["period"]
    if period is not None and summary["bound"] is not None:
        bound = next(b for b in summary["bounds"] if b[0] == summary["bound"])
        parts.append(
            f"In the steady state a step takes {_figure(period)}; "
            f"the bound is {bound[0]} ({_figure(bound[1])})."
        )
    parts.append(
        f"Total {summary['total']}, fill {_known(summary['fill'])}, drain {_known(summary['drain'])}; "
        f"the tensor core is busy {_percent(summary['use'])} of it, "
        f"{_percent(summary['use_between'])} between its first and last work."
    )
    waits = sorted(
        (
            (time, lane["lane"], cause)
            for lane in summary["lanes"]
            for cause, time in lane["causes"]
            if _waiting(cause)
        ),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    if waits:
        told = ", ".join(f"{lane} {time} for {cause}" for time, lane, cause in waits[:3])
        parts.append(f"Bubbles: {told}.")
    formula, swept = summary["least_stages"], results.get("least_stages_swept")
    if formula is not None:
        also = f" by formula, {swept} by sweep" if swept is not None else " by formula"
        parts.append(f"Least stages that hide the latency: {formula}{also}.")
    if results.get("stage_bytes") is not None:
        parts.append(f"A stage takes {results['stage_bytes']:,} B: at most {results['most_stages']} fit.")
    return " ".join(parts)


def _known(value: Any) -> str:
    return "unknown" if value is None else str(value)


#: What a lane does; every other cause is a wait.
WORK = frozenset({"issue", "epilogue", "softmax", "promote", "copy", "scheduler"})


def _waiting(cause: str) -> bool:
    return cause not in WORK

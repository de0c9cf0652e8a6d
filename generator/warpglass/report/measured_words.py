"""What a profiled launch says in words: its verdict, and the profiler's rules as advice, best gain first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.analysis.measured_decision import BALANCED, BUSY, MEMORY, SM
from warpglass.report.measured import measured_value
from warpglass.report.measured_view import Measured

__all__ = [
    "STALL",
    "failed_rules",
    "measured_sections",
    "measured_tiles",
    "ranked_rules",
    "stall_shares",
    "verdict_text",
]

Json = Mapping[str, Any]

OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
#: Metric of a stall reason.
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def stall_shares(report: Json, launch: Json) -> list[tuple[str, float]]:
    """(reason, warps stalled for it per issued instruction), largest first; empty where not collected."""
    measured, profile = launch.get("measured"), report.get("profile")
    if not measured or not profile:
        return []
    names = profile["metrics"]["name"]
    start, end = STALL.split("{}")
    out = []
    for position, index in enumerate(profile["sets"][measured["set"]]):
        name = names[index]
        value = measured["values"][position]
        if name.startswith(start) and name.endswith(end) and isinstance(value, (int, float)):
            out.append((name[len(start) : -len(end)], float(value)))
    return sorted(out, key=lambda item: (-item[1], item[0]))


def verdict_text(report: Json, launch: Json) -> str | None:
    """One sentence from measured throughputs, None where they were not collected."""
    sm, memory = measured_value(report, launch, SM), measured_value(report, launch, MEMORY)
    if not isinstance(sm, (int, float)) or not isinstance(memory, (int, float)):
        return None
    both = f"compute at {sm:.0f} % of peak, memory at {memory:.0f} %"
    if max(sm, memory) < BUSY:
        waits = [item for item in stall_shares(report, launch) if item[0] not in ("selected", "not_selected")]
        total = sum(value for _, value in stall_shares(report, launch))
        if waits and total:
            reason, value = waits[0]
            named = reason.replace("_", " ")
            return f"Latency-bound: {both}; {100 * value / total:.0f} % of warp cycles wait for {named}"
        return f"Latency-bound: {both}"
    if abs(sm - memory) < BALANCED:
        return f"Balanced: {both}"
    return f"Memory-bound: {both}" if memory > sm else f"Compute-bound: {both}"


def ranked_rules(launch: Json) -> list[dict[str, Any]]:
    """Messages of the launch's rules: estimated gain first, then severity, in the report's order.

    Those of rules that could not be evaluated are in :func:`failed_rules`: they say nothing of the kernel.
    """
    measured = launch.get("measured") or {}
    order = {"warning": 1, "optimization": 2, "info": 3, "ok": 4, "none": 5}
    out = []
    for rule in measured.get("rules") or []:
        for message in rule["messages"]:
            if message["severity"] == "error" and not message["speedup"]:
                continue
            out.append(
                {**message, "rule": rule["name"], "section": rule["section"], "markers": rule["markers"]}
            )
    out.sort(key=lambda m: (-(m["speedup"] or 0), order.get(m["severity"], 3)))
    return out


def failed_rules(launch: Json) -> list[tuple[str, str]]:
    """(rule, why the profiler could not evaluate it): the metrics that it missed, else its first words."""
    out = []
    for rule in (launch.get("measured") or {}).get("rules") or []:
        texts = [
            m["text"].split("\n")[0]
            for m in rule["messages"]
            if m["severity"] == "error" and not m["speedup"]
        ]
        missing = [found[1] for text in texts if (found := re.match(r"Required metric (\S+) ", text))]
        if missing:
            out.append((rule["name"], f"not collected: {', '.join(missing)}"))
        elif texts:
            out.append((rule["name"], texts[0]))
    return out


def measured_sections(report: Json, launches: Sequence[Json]) -> list[dict[str, Any]]:
    """The ``verdict`` and ``advice`` sections, in launch order; launches without a profile say nothing."""
    if not any(launch.get("measured") for launch in launches):
        return []
    verdicts: list[Any] = []
    advice: list[Any] = []
    for launch in launches:
        text = verdict_text(report, launch)
        verdicts.append({"text": text, "evidence": "measured"} if text else None)
        ranked = [item for item in ranked_rules(launch) if item["speedup"]]
        # Gains of the whole kernel first: a local one is of some part, however small.
        ranked.sort(key=lambda item: item["scope"] == "local")
        advice.append([_advice(item) for item in ranked][:8])
    return [
        {"id": "verdict", "title": "Verdict", "data": {"launches": verdicts}},
        {"id": "advice", "title": "Advice", "data": {"launches": advice}},
    ]


def _severity(item: Mapping[str, Any]) -> str:
    """By the gain of the whole kernel; what gains on a part of it alone says nothing of the whole."""
    if item["scope"] == "local":
        return "info"
    return "critical" if item["speedup"] >= 50 else "warning" if item["speedup"] >= 17 else "info"


def _short(text: str, limit: int = 240) -> str:
    """The first sentences of a rule, up to ``limit`` characters: the profile section has it whole."""
    out = ""
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        if out and len(out) + len(sentence) > limit:
            break
        out = f"{out} {sentence}".strip()
    return out if len(out) <= 2 * limit else f"{out[: 2 * limit]}…"


_TILES = (
    ("Duration", "gpu__time_duration.sum", "time of the launch on the GPU", False),
    ("Compute throughput", SM, "busiest unit of the SMs, of what it can sustain", True),
    ("Memory throughput", MEMORY, "busiest memory unit, of what it can sustain", True),
    (
        "Achieved occupancy",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "warps resident, of the most",
        True,
    ),
)


def measured_tiles(report: Json, launch: Json) -> list[dict[str, Any]]:
    """Four tiles of a profiled launch, in the form of :func:`warpglass.report.tiles.tiles`."""
    if not launch.get("measured") or not report.get("profile"):
        return []
    measured = Measured(report, launch)
    out = []
    for label, name, words, share in _TILES:
        index = measured.index(name)
        cell = measured.cell([] if index is None else [index])
        known = cell["value"] is not None
        out.append(
            {
                "label": label,
                "m": cell["m"],
                "value": cell["text"] if known else None,
                "of": cell["unit"] if known else "",
                "detail": words,
                "fill": cell["value"] / 100 if known and share else None,
                "level": "",
                "evidence": "measured",
                "scaled": False,
                "partial": "",
                "why": "the profiler did not collect it",
                "help": cell["title"] or words,
                "isa": "",
            }
        )
    return out if any(tile["value"] for tile in out) else []


def _advice(item: Mapping[str, Any]) -> dict[str, Any]:
    scope = "of this part of the kernel" if item["scope"] == "local" else "of the whole kernel"
    place = next((m for m in item["markers"] if m.get("source") is not None and m.get("line")), None)
    return {
        "title": item["title"] or item["rule"],
        "text": _short(item["text"]),
        "gain": f"{item['speedup']:.0f} % {scope}, by the profiler's estimate",
        "evidence": "measured",
        "severity": _severity(item),
        **({"source": place["source"], "line": place["line"]} if place else {}),
    }

"""The schedule of a warp-specialised pipeline: verdict, static waveform, tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass import pipeline
from warpglass.errors import InputError
from warpglass.report import view
from warpglass.report.pipeline_graph import graph_svg
from warpglass.report.pipeline_svg import curve_svg, schedule_svg
from warpglass.report.pipeline_words import verdict_words

TITLE = "Pipeline"

_MOST_ROWS = 60


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the partial shows, or None without a pipeline."""
    data = view.section_data(report, "pipeline")
    if data is None:
        return None
    parsed = data.get("parsed") or {}
    programs = data.get("programs") or []
    ctx: dict[str, Any] = {
        "mode": str(data.get("mode") or "schedule"),
        "parsed": parsed,
        "headers": parsed.get("headers") or [],
        "streams": [
            {"of": group, **stream}
            for group, listed in (parsed.get("streams") or {}).items()
            for stream in listed
        ],
        "decisions": (parsed.get("decisions") or [])[:_MOST_ROWS],
        "more_decisions": max(0, len(parsed.get("decisions") or []) - _MOST_ROWS),
        "raw": (parsed.get("raw") or [])[:_MOST_ROWS],
        "program": None,
    }
    if not programs:
        return ctx
    program, knobs = programs[0], data.get("knobs") or {}
    try:
        run = pipeline.run_program(program, knobs)
    except InputError as error:
        return {**ctx, "problem": error.message}
    results = data.get("results") or {}
    rows = pipeline.stage_rows(run)
    ctx.update(
        program={"title": str(program["title"])},
        verdict=verdict_words(program, results) if results else "",
        schedule=schedule_svg(run, rows),
        graph=graph_svg(program, run.flat.lane_names),
        knobs=[
            {**{key: knob.get(key) for key in ("name", "label", "unit", "group", "about")},
             "value": run.flat.knobs[knob["name"]]}
            for knob in program["knobs"]
        ],
        lanes=[
            {"lane": lane["lane"], "causes": [c for c in lane["causes"] if c[1]], "end": lane["end"]}
            for lane in (results.get("summary") or {}).get("lanes") or []
        ],
        critical=_merged(results.get("critical") or [])[:_MOST_ROWS],
        curves=_curves(data, results),
        what_if=[d for d in results.get("what_if") or [] if d.get("change")],
        total=run.total,
    )  # fmt: skip
    return ctx


def _merged(segments: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Successive pieces of the critical path at the same place as one row, with its time and how often."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for segment in segments:
        key = (segment["who"], segment["what"], segment["source"], segment["line"])
        row = rows.setdefault(
            key, {"who": key[0], "what": key[1], "source": key[2], "line": key[3], "time": 0, "count": 0}
        )
        row["time"] += segment["end"] - segment["start"]
        row["count"] += 1
    return sorted(rows.values(), key=lambda row: -row["time"])


def _curves(data: Mapping[str, Any], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    curves = []
    swept = [(int(s), t) for s, t in results.get("sweep") or []]
    if any(total is not None for _, total in swept):
        svg = curve_svg({"total": swept}, "Total against stages")
        curves.append({"caption": "Total against stages", "svg": svg})
    equal = data.get("equal_work") or []
    if equal:
        series = {
            mode: [(int(row["stages"]), row.get(mode)) for row in equal]
            for mode in ("pingpong", "cooperative")
        }
        caption = "Pingpong against cooperative at equal work (a cooperative tile is twice as large)"
        curves.append({"caption": caption, "svg": curve_svg(series, caption)})
    return curves

"""Source, PTX and SASS side by side, with counts and live registers on every line.

The lines stand in the HTML, coloured and with the heat of the executions; the script links the panes, and
switches the heat to other counters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from warpglass.report import view
from warpglass.report.highlight import highlight_lines
from warpglass.report.loops import loop_groups
from warpglass.report.sass_control import COLUMNS, control_texts

TITLE = "Code"

#: A pane shows no more lines than this; the JSON keeps the whole text.
MAX_LINES = 12_000
#: How far above its first instruction a function's header is looked for.
HEADER_REACH = 400
#: The offset before an instruction, with or without colour: shown as a bare number.
_OFFSET = re.compile(r"^\s*(?:<i class=c>)?/\*([0-9a-fA-F]{4,6})\*/(?:</i>)?\s*")
_ISA_NAMES = {"ptx": "PTX", "sass": "SASS"}


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Panes of sources and of every launch's instructions, or None where no text is at hand."""
    sources = {source.get("id"): source for source in report.get("sources") or [] if source.get("text")}
    launches = report.get("launches") or []
    measured = any((launch.get("measured") or {}).get("code") for launch in launches)
    executed = any(launch.get("runs") for launch in launches)
    launches = [_with_measured(report, launch) for launch in launches]
    panes = _source_panes(sources, launches) + _isa_panes(sources, launches)
    if not panes:
        return None
    return {
        "panes": panes,
        "executed": executed,
        "measured": measured,
        "loops": loop_groups(report),
        "control_columns": COLUMNS,
    }


def _with_measured(report: Mapping[str, Any], launch: Mapping[str, Any]) -> Mapping[str, Any]:
    """A profiled launch with its measured code as if it were a run: panes ask for text and counts alone."""
    code = (launch.get("measured") or {}).get("code")
    if not code:
        return launch
    listing = report["profile"]["codes"][code["code"]]
    run = {"isa": code["isa"], "code": listing, "profile": code["profile"], "lines": code["lines"]}
    return {**launch, "runs": [*(launch.get("runs") or []), run]}


def _source_panes(
    sources: Mapping[Any, Mapping[str, Any]], launches: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    used: dict[Any, dict[int, int]] = {}
    for launch in launches[:1]:
        for row in (view.primary_run(launch) or {}).get("lines") or []:
            used.setdefault(row.get("source"), {})[row["line"]] = row.get("warp_executed") or 0
    isa = {run.get("code", {}).get("source") for launch in launches for run in launch.get("runs") or []}
    texts = [
        s for s in sources.values() if s.get("language") not in ("ptx", "sass") and s.get("id") not in isa
    ]
    chosen = [s for s in texts if s.get("own")] or [s for s in texts if s.get("id") in used]
    # The file that the first launch runs most of is the one in front.
    chosen.sort(key=lambda s: -sum(used.get(s.get("id"), {}).values()))
    panes = []
    for source in chosen:
        counts = used.get(source.get("id"), {})
        lines = highlight_lines(str(source["text"]), str(source.get("language") or "text"))[:MAX_LINES]
        top = max(counts.values(), default=0)
        rows = [{"html": html, **_heat(counts.get(n), top)} for n, html in enumerate(lines, 1)]
        panes.append(
            {
                "kind": "source",
                "source": source["id"],
                "name": source.get("name"),
                "language": source.get("language"),
                "first": 1,
                "launches": "",
                "hidden": False,
                "rows": rows,
                "live": False,
                "most": None,
                "virtual": False,
                "control": False,
            }
        )
    return panes


def _isa_panes(
    sources: Mapping[Any, Mapping[str, Any]], launches: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    panes: dict[tuple[Any, int, int], dict[str, Any]] = {}
    highlighted: dict[Any, list[Any]] = {}
    for index, launch in enumerate(launches):
        for run in launch.get("runs") or []:
            code = run.get("code") or {}
            source = sources.get(code.get("source"))
            lines = (code.get("instructions") or {}).get("line") or []
            if source is None or not lines:
                continue
            if source["id"] not in highlighted:
                coloured = highlight_lines(str(source["text"]), str(run.get("isa")))
                if run.get("isa") == "sass":
                    coloured = [_bare_offset(line) for line in coloured]
                highlighted[source["id"]] = coloured
            first, last = _extent(str(source["text"]), lines, len(highlighted[source["id"]]))
            key = (source["id"], first, last)
            if key in panes:
                panes[key]["launches"] += f" {index}"
            else:
                panes[key] = _isa_pane(run, source, highlighted[source["id"]], first, last, index)
    return list(panes.values())


def _bare_offset(line: Markup) -> Markup:
    """``0010  MOV R1`` for ``/*0010*/  MOV R1``: the pane is narrow."""
    return Markup(_OFFSET.sub(r"<i class=c>\1</i> ", str(line), count=1))  # noqa: S704 - it was markup before


def _extent(text: str, lines: Sequence[int], count: int) -> tuple[int, int]:
    """First and last line of the pane: the instructions with the function's header and closing brace."""
    first, last = max(1, min(lines)), min(count, max(lines) + 1)
    raw = text.split("\n")
    for at in range(first, max(0, first - HEADER_REACH), -1):
        line = raw[at - 1] if at <= len(raw) else ""
        if ".entry" in line or ".func" in line or ".text." in line or line.lstrip().startswith("Function :"):
            first = at
            break
    return first, min(last, first + MAX_LINES - 1)


def _isa_pane(
    run: Mapping[str, Any], source: Mapping[str, Any], html: Sequence[Any], first: int, last: int, launch: int
) -> dict[str, Any]:
    instructions = run["code"]["instructions"]
    executed = (run.get("profile") or {}).get("warp_executed") or []
    live = instructions.get("live") or []
    control = control_texts(instructions.get("control") or [])
    counts: dict[int, int] = {}
    pcs: dict[int, int] = {}
    for pc, line in enumerate(instructions["line"]):
        if pc < len(executed):
            counts[line] = max(counts.get(line, 0), executed[pc] or 0)
        pcs.setdefault(line, pc)
    top = max(counts.values(), default=0)
    known = [value for value in live if value is not None]
    most = max(known, default=None)
    rows = []
    for line in range(first, last + 1):
        at = pcs.get(line)
        registers = live[at] if at is not None and at < len(live) else None
        rows.append(
            {
                "html": html[line - 1],
                **_heat(counts.get(line), top),
                "live": registers,
                "most": registers is not None and registers == most,
                "control": control[at] if control and at is not None else None,
            }
        )
    return {
        "kind": run.get("isa"),
        "source": source["id"],
        "name": _ISA_NAMES.get(str(run.get("isa")), str(run.get("isa"))),
        "language": run.get("isa"),
        "first": first,
        "launches": str(launch),
        "hidden": launch > 0,
        "rows": rows,
        "live": bool(known),
        "most": most,
        "virtual": run.get("isa") == "ptx",
        "control": bool(control),
    }


def _heat(count: int | None, top: int) -> dict[str, Any]:
    """Text and level 0 to 6 of a count, by its logarithm (the same rule as the script's)."""
    if count is None:
        return {"heat": None, "level": 0}
    level = 0
    if count > 0 and top > 0:
        level = max(1, min(6, math.ceil(math.log1p(count) / math.log1p(top) * 6 - 1e-9)))
    return {"heat": short(count), "level": level}


def short(count: int) -> str:
    """``12.3k``: at most five characters for narrow columns."""
    value, unit = float(count), 0
    units = ("", "k", "M", "G", "T")
    while value >= 999.5 and unit < len(units) - 1:
        value /= 1000
        unit += 1
    if unit == 0:
        return str(count)
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}{units[unit]}"

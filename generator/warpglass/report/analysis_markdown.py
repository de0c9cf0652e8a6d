"""The analysis as Markdown under fixed headings, for people and agents; at most 60,000 characters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import view, words
from warpglass.report.markdown import code, text

__all__ = ["MOST_CHARACTERS", "analysis_markdown"]

MOST_CHARACTERS = 60_000
#: Launches, characters of a name and of a verdict in the overview.
_MOST_LISTED, _NAME, _SENTENCE = 100, 80, 120
_UNKNOWN = "Unknown: the launch was not executed."
_CUT = "\n\nCut at 60,000 characters; the page and the JSON hold the rest.\n"
#: Heading, section, and which of its blocks belong under it.
_HEADINGS = (
    ("Roofline", "roofline", ("numbers", "markdown", "table")),
    ("Occupancy", "occupancy", ("table", "markdown")),
    ("Compute/load ratio", "loops", ("table", "markdown")),
)


def _launch(report: Mapping[str, Any], section: str, index: int) -> Any:
    data = view.section_data(report, section) or {}
    listed = data.get("launches") or []
    return listed[index] if index < len(listed) else None


def _time(report: Mapping[str, Any], index: int) -> str:
    """The time and who took it, or what would give one."""
    for block in (_launch(report, "roofline", index) or {}).get("blocks") or []:
        for one in block.get("numbers") or []:
            if one.get("name") == "Time" and one.get("value") is not None:
                return text(f"Time: {view.num(one['value'])} ms ({one['evidence']}; {one['rule']})")
    return "Time: unknown; --time-ms, a profiler report or warpglass bench would give it"


def _block(block: Mapping[str, Any]) -> list[str]:
    kind = block.get("type")
    if kind == "markdown":
        return [str(block.get("text") or ""), ""]
    if kind == "numbers":
        rows = []
        for one in block.get("numbers") or []:
            value = (
                "unknown" if one.get("value") is None else f"{view.num(one['value'])} {one.get('unit') or ''}"
            )
            why = f" ({one['why_unknown']})" if one.get("why_unknown") else ""
            rows.append(
                f"- {text(one.get('name'))}: {text(value.strip() + why)} · {text(one.get('evidence'))}"
            )
        return [*rows, ""]
    if kind == "table":
        columns = [text(c) for c in block.get("columns") or []]
        lines = [f"{text(block.get('caption'))} ({text(block.get('evidence') or '')})", ""]
        lines += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        for row in block.get("rows") or []:
            cells = [view.num(c) if isinstance(c, int | float) else "" if c is None else str(c) for c in row]
            lines.append(f"| {' | '.join(text(c) for c in cells)} |")
        return [*lines, ""]
    if kind == "bars":
        return (
            [f"{text(block.get('caption'))} ({text(block.get('evidence') or '')})", ""]
            + [
                f"- {text(i.get('label'))}: {view.num(i.get('value'))} {block.get('unit') or ''}".rstrip()
                for i in block.get("items") or []
            ]
            + [""]
        )
    return []


def _measured_mix(report: Mapping[str, Any], launch: Mapping[str, Any]) -> list[str]:
    """Opcodes of a profiled launch, as the profiler counted them; of the code alone where it did not."""
    code_ = (launch.get("measured") or {}).get("code") or {}
    codes = (report.get("profile") or {}).get("codes") or []
    if not code_ or not 0 <= code_.get("code", -1) < len(codes):
        return ["Unknown: the report has no machine code with counts by instruction.", ""]
    instructions = codes[code_["code"]]["instructions"]
    opcodes, kinds = instructions["opcode"], instructions["kind"]
    counted = (code_.get("profile") or {}).get("warp_executed")
    if "?" in opcodes:
        return ["Unknown: the report's machine code could not be read.", ""]
    sums: dict[str, list[Any]] = {}
    for index, opcode in enumerate(opcodes):
        entry = sums.setdefault(opcode, [0, kinds[index]])
        entry[0] += 1 if counted is None else counted[index] or 0
    rows = sorted(((n, o, k) for o, (n, k) in sums.items() if n), key=lambda row: (-row[0], row[1]))
    total = sum(row[0] for row in rows)
    if not total:
        return ["Unknown: nothing was executed.", ""]
    what = "instructions of the code (static)" if counted is None else "warp instructions (measured)"
    lines = [
        f"SASS: {view.num(total)} {what}",
        "",
        f"| opcode | kind | {what} | share |",
        "|---|---|---|---|",
    ]
    lines += [f"| {code(o)} | {text(k)} | {view.num(n)} | {100 * n / total:.1f} % |" for n, o, k in rows[:24]]
    return [*lines, ""]


def _mix(report: Mapping[str, Any], launch: Mapping[str, Any]) -> list[str]:
    if launch.get("measured"):
        return _measured_mix(report, launch)
    run = view.primary_run(launch) or {}
    rows = sorted(run.get("mix") or [], key=lambda r: -r["warp"])
    total = sum(r["warp"] for r in rows)
    if not total:
        return ["Unknown: nothing was executed.", ""]
    lines = [f"{str(run.get('isa', '')).upper()}, executed: {view.num(total)} warp instructions", ""]
    lines += ["| opcode | kind | warp instructions | share |", "|---|---|---|---|"]
    lines += [
        f"| {code(r['opcode'])} | {text(r.get('kind'))} | {view.num(r['warp'])} | "
        f"{100 * r['warp'] / total:.1f} % |"
        for r in rows[:24]
    ]
    return [*lines, ""]


def _advice(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> list[str]:
    items = _launch(report, "advice", index) or []
    if not items:
        return [f"None: {words.no_advice(launch)}.", ""]
    lines = []
    for number, one in enumerate(items, 1):
        where = ""
        if one.get("line") is not None:
            where = f" {text(view.source_name(report, one.get('source')))}:{one['line']}"
        gain = f" — {text(one['gain'])}" if one.get("gain") else ""
        lines.append(
            f"{number}. **{text(one.get('title'))}** ({text(one.get('severity') or '')}, "
            f"{text(one.get('category') or '')}, {text(one.get('evidence'))}){gain}{where}"
        )
        lines.append(f"   {text(one.get('text'))}")
        for label, key in (("Gain from", "derivation"), ("Confirmed when", "confirm")):
            if one.get(key):
                lines.append(f"   {label}: {text(one[key])}.")
        lines += [f"   Conflict: {text(c)}." for c in one.get("conflicts") or []]
    return [*lines, ""]


def _overview(report: Mapping[str, Any]) -> list[str]:
    """Verdict and foremost advice of every launch, where there are several: the rest may be cut."""
    launches = report.get("launches") or []
    if len(launches) < 2:
        return []
    lines = ["# Launches", "", "| kernel | launch | verdict | foremost advice |", "|---|---|---|---|"]
    for index, launch in enumerate(launches[:_MOST_LISTED]):
        said = str(words.verdict(report, index, launch)["text"])
        advice = _launch(report, "advice", index) or []
        first = f"{advice[0].get('title')} ({advice[0].get('gain') or ''})" if advice else ""
        lines.append(
            f"| {code(view.kernel_name(launch)[:_NAME])} | {text(view.labelled_text(launch))} | "
            f"{text(said.split(';')[0].split('. ')[0][:_SENTENCE])} | {text(first)} |"
        )
    if len(launches) > _MOST_LISTED:
        lines += ["", f"and {len(launches) - _MOST_LISTED} more"]
    return [*lines, ""]


def analysis_markdown(report: Mapping[str, Any]) -> str:
    """Baseline, roofline, occupancy, compute/load ratio, mix, shared-memory cliff, recommendations."""
    lines = _overview(report)
    for index, launch in enumerate(report.get("launches") or []):
        said = words.verdict(report, index, launch)
        lines += [f"# {code(view.kernel_name(launch))}", "", "## Baseline", ""]
        lines += [text(f"{view.arch_text(launch)} · {view.labelled_text(launch)}"), ""]
        lines += [_time(report, index), ""]
        lines += [
            f"**{text(said['text'])}**" + (f" ({said['evidence']})" if said["evidence"] else ""),
            "",
        ]
        analysed = bool(_launch(report, "bottleneck", index))
        for title, section, kinds in _HEADINGS:
            lines += [f"## {title}", ""]
            blocks = (_launch(report, section, index) or {}).get("blocks") or []
            made = [line for b in blocks if b.get("type") in kinds for line in _block(b)]
            without = "The kernel has no loop." if section == "loops" and analysed else _UNKNOWN
            lines += made or [without, ""]
        lines += ["## SASS mix", "", *_mix(report, launch)]
        lines += ["## Shared-memory cliff", ""]
        occupancy = (_launch(report, "occupancy", index) or {}).get("blocks") or []
        cliff = [
            line
            for b in occupancy
            if b.get("type") == "table" and "stage" in str(b.get("caption"))
            for line in _block(b)
        ]
        none = _UNKNOWN
        if occupancy:
            told = any(b.get("type") == "table" for b in occupancy)
            none = "The kernel uses no shared memory." if told else "Unknown, as the occupancy is."
        lines += cliff or [none, ""]
        lines += ["## Decision matrix", ""]
        matrix = (_launch(report, "bottleneck", index) or {}).get("blocks") or []
        lines += [line for b in matrix for line in _block(b)] or [_UNKNOWN, ""]
        lines += ["## Recommended optimisations, ranked", "", *_advice(report, index, launch)]
    whole = "\n".join(lines).rstrip() + "\n"
    return whole if len(whole) <= MOST_CHARACTERS else whole[: MOST_CHARACTERS - len(_CUT)] + _CUT

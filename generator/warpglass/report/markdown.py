"""The report as Markdown: what a reviewer reads in a pull request before opening the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from warpglass.report import view
from warpglass.report.measured_words import measured_tiles
from warpglass.report.text import visible
from warpglass.report.tiles import compile_facts, run_state, tiles
from warpglass.report.words import foremost, verdict

__all__ = ["render_markdown"]

MAX_FINDINGS = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~-])")
_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def text(value: Any) -> str:
    """``value`` as Markdown that means itself: no markup, no HTML, no line break, no mention or autolink."""
    line = re.sub(r"[\r\n\t]+", " ", visible(re.sub(r"[\r\n]+", " ", str(value))))
    line = re.sub(r"[<>&]", lambda match: _HTML[match.group()], line)
    # A word joiner would be invisible; an entity keeps @name and http:// from becoming links.
    return (
        _SPECIAL.sub(r"\\\1", line)
        .replace("@", "&#64;")
        .replace("://", ":&#47;/")
        .replace("www.", "www&#46;")
    )


def code(value: Any) -> str:
    """``value`` as inline code that no backtick in it can end, safe inside a table cell."""
    shown = re.sub(r"\s+", " ", visible(re.sub(r"[\r\n\t]+", " ", str(value)))).strip()
    if not shown:
        return ""
    if "|" in shown or "`" in shown:
        return text(shown)
    return f"`{shown}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(head)
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _launch(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> list[str]:
    run = view.primary_run(launch)
    said = verdict(report, index, launch)
    state = run_state(run)
    lines = [f"## {code(view.kernel_name(launch))}", ""]
    done = "measured" if run is None and launch.get("measured") else state["text"]
    where = [view.arch_text(launch), view.launch_text(launch), launch.get("label") or "", done]
    lines += [" · ".join(text(part) for part in where if part), ""]
    badge = f" ({said['evidence']})" if said["evidence"] else ""
    lines += [f"**{text(said['text'])}**{badge}", ""]
    if state["why"]:
        lines += [f"Stopped early: {text(state['why'])}", ""]
    cards = tiles(run) or measured_tiles(report, launch)
    if cards:
        rows = [
            [
                text(card["label"]),
                text(f"{card['value']} {card['of']}".strip() if card["value"] is not None else "unknown"),
                text(card["detail"] or card["why"]),
                text(" ".join(part for part in (card["evidence"], card["partial"]) if part)),
            ]
            for card in cards
        ]
        lines += _table([f"{str((run or {}).get('isa', '')).upper()}", "value", "", "evidence"], rows)
    facts = compile_facts(launch)
    if facts and facts["items"]:
        shown = ", ".join(f"{item['value']} {item['label']}".strip() for item in facts["items"])
        lines += [f"Compiled (static): {text(shown)}", ""]
        lines += [f"- compiler: {text(advisory)}" for advisory in facts["advisories"]]
        lines += [""] if facts["advisories"] else []
    return lines + _findings(report, run)


def _findings(report: Mapping[str, Any], run: Mapping[str, Any] | None) -> list[str]:
    ordered = foremost((run or {}).get("findings") or [])
    if not ordered:
        return []
    rows = [
        [
            text(one.get("severity")),
            code(one.get("kind")),
            text(one.get("message") or ""),
            text(f"{view.source_name(report, one.get('source'))}:{one['line']}") if one.get("line") else "",
            text(view.num(one.get("count"))),
            text(one.get("evidence")),
        ]
        for one in ordered[:MAX_FINDINGS]
    ]
    lines = _table(["severity", "kind", "finding", "where", "count", "evidence"], rows)
    if len(ordered) > MAX_FINDINGS:
        lines += [f"{len(ordered) - MAX_FINDINGS} more findings are in the page.", ""]
    return lines


def render_markdown(report: Mapping[str, Any]) -> str:
    """The report's summary as Markdown, ending with a line break. Names and messages stay text."""
    launches = report.get("launches") or []
    title = report.get("title") or (view.kernel_name(launches[0]) if launches else "Report")
    lines = [f"# {text(title)}", ""]
    for index, launch in enumerate(launches):
        lines += _launch(report, index, launch)
    inputs = report.get("inputs") or []
    if inputs:
        lines += ["## Inputs", ""]
        lines += _table(
            ["file", "kind", "SHA-256"],
            [
                [code(one.get("name")), text(one.get("kind")), code(one.get("sha256") or "unknown")]
                for one in inputs
            ],
        )
    tool = report.get("tool") or {}
    lines.append(f"{text(tool.get('name', ''))} {text(tool.get('version', ''))}")
    return "\n".join(lines) + "\n"

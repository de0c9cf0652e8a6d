"""Findings and advice as SARIF 2.1.0, which code hosts show as annotations in pull requests.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from warpglass.report import view
from warpglass.report.text import visible

__all__ = ["to_sarif"]

_LEVELS = {"critical": "error", "warning": "warning", "info": "note"}
#: Further lines of one result: more than these nobody follows.
_MOST_RELATED = 8
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _location(
    report: Mapping[str, Any], paths: Mapping[str, str], source: Any, line: Any
) -> dict[str, Any] | None:
    """A physical location, or None where there is no line from 1 of a file that a repository could hold:
    code that a tool made of an input is none. The file is a URI reference (3.4.3)."""
    if not isinstance(line, int) or line < 1 or _made(report, source):
        return None
    shown = visible(view.source_name(report, source))
    uri = quote(paths.get(shown, shown), safe="/:@!$&'()*+,;=~")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}


def _made(report: Mapping[str, Any], source: Any) -> bool:
    """Whether a source is the listing of an input, and no input itself."""
    found: Mapping[str, Any] = next(
        (one for one in report.get("sources") or [] if one.get("id") == source), {}
    )
    named = {one.get("name") for one in report.get("inputs") or []}
    return found.get("language") in ("ptx", "sass") and found.get("name") not in named


def to_sarif(report: Mapping[str, Any], paths: Mapping[str, str] | None = None) -> str:
    """The report's findings and advice with a line, as JSON text.

    ``paths`` maps a source's name to the path that annotations should name (relative to the repository).
    """
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []

    def add(
        rule: str,
        name: str,
        level: str,
        message: str,
        source: Any,
        line: Any,
        lines: Sequence[Any],
        category: str,
    ) -> None:
        rules.setdefault(
            rule,
            {
                "id": rule,
                "name": visible(name),
                "shortDescription": {"text": visible(name)},
                "properties": {"category": category},
            },
        )
        places = [
            place
            for place in (_location(report, paths or {}, *one) for one in [(source, line), *lines])
            if place
        ]
        if not places:
            return
        result: dict[str, Any] = {
            "ruleId": rule,
            "level": level,
            "message": {"text": visible(message)},
            "locations": places[:1],
        }
        related = [place for place in places[1:] if place != places[0]][:_MOST_RELATED]
        if related:
            result["relatedLocations"] = [{"id": i, **place} for i, place in enumerate(related, 1)]
        results.append(result)

    for index, launch in enumerate(report.get("launches") or []):
        kernel = view.kernel_name(launch)
        for one in ((view.section_data(report, "advice") or {}).get("launches") or [[]] * (index + 1))[
            index
        ] or []:
            if one.get("line") is not None:
                gain = f" ({one['gain']})" if one.get("gain") else ""
                add(
                    f"warpglass/{one.get('id') or 'advice'}",
                    str(one.get("title")),
                    _LEVELS.get(str(one.get("severity")), "note"),
                    f"{kernel}: {one.get('title')}{gain}. {one.get('text')}",
                    one.get("source"),
                    one["line"],
                    one.get("lines") or [],
                    str(one.get("category") or ""),
                )
        for one in (view.primary_run(launch) or {}).get("findings") or []:
            if one.get("line") is not None:
                add(
                    f"warpglass/{one.get('kind')}",
                    str(one.get("kind")),
                    _LEVELS.get(str(one.get("severity")), "note"),
                    f"{kernel}: {one.get('message')}",
                    one.get("source"),
                    one["line"],
                    [],
                    str(one.get("category") or ""),
                )
    tool = report.get("tool") or {}
    value = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": str(tool.get("name") or "warpglass"),
                        "version": str(tool.get("version") or "0"),
                        "rules": [rules[key] for key in sorted(rules)],
                    }
                },
                "results": results,
            }
        ],
    }
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

"""Findings and advice as SARIF 2.1.0, which code hosts show as annotations in pull requests.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from warpglass.report import view
from warpglass.report.text import visible

__all__ = ["to_sarif"]

_LEVELS = {"critical": "error", "warning": "warning", "info": "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(report: Mapping[str, Any], paths: Mapping[str, str] | None = None) -> str:
    """The report's findings and advice with a line, as JSON text.

    ``paths`` maps a source's name to the path that annotations should name (relative to the repository).
    """
    rules: dict[str, dict[str, Any]] = {}
    results: list[dict[str, Any]] = []

    def add(
        rule: str, name: str, level: str, message: str, source: Any, lines: list[Any], category: str
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
        shown = visible(view.source_name(report, source))
        uri = (paths or {}).get(shown, shown)
        places = [
            {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": int(line)}}}
            for line in lines[:1]
        ]
        if places:
            results.append(
                {"ruleId": rule, "level": level, "message": {"text": visible(message)}, "locations": places}
            )

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
                    [one["line"]],
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
                    [one["line"]],
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

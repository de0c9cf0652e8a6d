"""The author's notes: Markdown with raw HTML off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report.prose import markdown_html

TITLE = "Notes"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """The notes as HTML, or None without notes."""
    notes = report.get("notes")
    return {"html": markdown_html(str(notes))} if notes else None

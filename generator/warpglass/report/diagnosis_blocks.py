"""Blocks that the sections of a diagnosis are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpglass.analysis.decision import DecisionRow

__all__ = ["matrix", "table", "words"]

Json = dict[str, Any]


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], evidence: str) -> Json:
    """A block of rows under a caption."""
    return {
        "type": "table",
        "caption": caption,
        "columns": list(columns),
        "rows": [list(r) for r in rows],
        "evidence": evidence,
    }


def matrix(rows: Sequence[DecisionRow], evidence: str) -> Json:
    """The block of the decision matrix."""
    return table(
        "Decision matrix",
        ("situation", "met", "this kernel", "then"),
        [(row.situation, row.answer, row.values, row.action) for row in rows],
        evidence,
    )


def words(text: str) -> Json:
    """A block of Markdown."""
    return {"type": "markdown", "text": text}

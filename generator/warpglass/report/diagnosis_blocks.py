"""Blocks that the sections of a diagnosis are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpglass.analysis.decision import DecisionRow
from warpglass.analysis.number import weakest

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


def matrix(rows: Sequence[DecisionRow]) -> Json:
    """The block of the decision matrix: the evidence of each row beside it, the weakest above all."""
    return table(
        "Decision matrix",
        ("situation", "met", "this kernel", "then", "evidence"),
        [(row.situation, row.answer, row.values, row.action, row.evidence) for row in rows],
        weakest(row.evidence for row in rows),
    )


def words(text: str) -> Json:
    """A block of Markdown."""
    return {"type": "markdown", "text": text}

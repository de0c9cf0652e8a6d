"""Values and texts of profiler reports as the report's JSON holds them: bounded, and without folders."""

from __future__ import annotations

import math
import re
from typing import Any

from warpglass.ncu.model import Value

__all__ = [
    "MAX_NAME",
    "MAX_RANGES",
    "MAX_TEXT",
    "MOST_GAIN",
    "cut",
    "plain",
    "rule_text",
    "short",
    "short_path",
]

#: Names longer than this (template parameters in full) are cut in the page; the JSON too, to stay small.
MAX_NAME = 4000
#: Letters of a label, a metric's name, a range; of a rule's or a section's text. Real ones are a third as
#: long at most, and a browser lays out lines of a hundred thousand letters for minutes.
_MAX_LABEL, MAX_TEXT = 400, 12_000
MAX_RANGES = 64
#: Percent; an estimate beyond it, below 0 or NaN is none.
MOST_GAIN = 10_000
_ENDLESS = re.compile(r"\S{300}")
_MARKUP = re.compile(r"@(?:section|url|metric|link|source)\s*:([^:@]*)(?::([^@]*))?@")
#: An absolute path of any system in a text (a rule that fails tells where its file lies); folders may hold
#: blanks. Addresses (``https://…``) and fractions are no paths.
_PATH = re.compile(
    r"""(?<![\w.:/\\-])(?:/|[A-Za-z]:[/\\])[^\s/\\:"'<>|]+[/\\]"""
    r"""(?:[^\s/\\:"'<>|,]+(?: [^\s/\\:"'<>|,]+){0,4}[/\\]){0,64}([^\s/\\:"'<>|,]+)"""
)


def cut(text: str, most: int = _MAX_LABEL) -> str:
    """The text, at most so many letters of it; a word without end gets gaps to break at."""
    shown = text if len(text) <= most else f"{text[:most]}…"
    return _ENDLESS.sub(r"\g<0> ", shown) if most > _MAX_LABEL else shown


def rule_text(text: str) -> str:
    """A rule's text without the profiler's link marks (``@section:Id:Label@`` is its label) and folders."""

    def shown(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        if second is None:
            return first
        return first if "//" in second else second

    return _PATH.sub(r"\1", _MARKUP.sub(shown, text))


def short_path(path: str) -> str:
    """The last part of a path of any system: folders are private."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


def plain(value: Value) -> tuple[Any, str | None]:
    """A JSON value and the mark of what JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return None, "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, int) and abs(value) >= 2**53:
        return str(value), None
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value), None
    if isinstance(value, str) and len(value) > MAX_NAME:
        return value[:MAX_NAME] + "…", None
    return value, None


def short(value: float | None) -> Any:
    """A sample to five significant digits: a drawn line needs no more."""
    return None if value is None else plain(float(f"{value:.5g}"))[0]

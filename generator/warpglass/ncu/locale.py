"""Numbers as the profiler prints them: thousands separators, decimal commas, n/a."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from warpglass.ncu.model import Value

__all__ = ["Locale", "infer_locale", "to_value"]

_PLAIN = re.compile(r"[-+]?\d[\d.,  ']*(?:[eE][-+]?\d+)?%?")
_MISSING = frozenset({"", "n/a", "N/A", "nan-n/a", "(!) n/a"})


@dataclass(frozen=True, slots=True)
class Locale:
    """Which character separates decimals and which thousands."""

    decimal: str = "."
    thousands: str = ","


def infer_locale(samples: Iterable[tuple[str, bool]]) -> Locale:
    """The locale of a file from its (text, is a percentage) cells.

    One value alone may be ambiguous ("117.344" ns), so the file as a whole decides: a value with both
    characters names its decimal one (the last); a percentage rarely reaches 1,000, so a single separator
    in it is a decimal one.
    """
    votes = {".": 0, ",": 0}
    for text, is_percentage in samples:
        if not _PLAIN.fullmatch(text):
            continue
        dot, comma = text.rfind("."), text.rfind(",")
        if dot >= 0 and comma >= 0:
            votes["." if dot > comma else ","] += 3
        elif is_percentage and dot >= 0 and text.count(".") == 1:
            votes["."] += 1
        elif is_percentage and comma >= 0 and text.count(",") == 1:
            votes[","] += 1
        elif text.count(",") > 1:
            votes["."] += 3  # several commas can only separate thousands
        elif text.count(".") > 1:
            votes[","] += 3
    return Locale(",", ".") if votes[","] > votes["."] else Locale()


def to_value(text: str, locale: Locale) -> Value:
    """A cell's value: a number where it is one, None for n/a, else the text."""
    text = text.strip()
    if text in _MISSING:
        return None
    lowered = text.lower()
    if lowered in {"nan", "inf", "-inf"}:
        return float(lowered)
    if not _PLAIN.fullmatch(text):
        return text
    digits = text.rstrip("%").replace(locale.thousands, "").replace(" ", "").replace(" ", "").replace("'", "")
    digits = digits.replace(locale.decimal, ".")
    try:
        return int(digits) if re.fullmatch(r"[-+]?\d{1,18}", digits) else float(digits)
    except ValueError:
        return text

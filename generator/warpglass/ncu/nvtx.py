"""Paths of NVTX ranges as text: ``domain@outer/inner``, with a backslash before what a name itself holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["matches", "path_text", "split_path"]

_SPECIAL = re.compile(r"([\\/@*])")
_TOKEN = re.compile(r"\\(.)|([/@*])|([^\\/@*]+)|(\\)", re.DOTALL)
#: A ``*`` of a pattern, apart from one that stands in a name.
_ANY = "\0*"


def path_text(domain: str, ranges: Sequence[str]) -> str:
    """The path as text that :func:`split_path` and :func:`matches` read back."""
    head, *names = (_SPECIAL.sub(r"\\\1", name) for name in (domain, *ranges))
    return f"{head}@{'/'.join(names)}"


def _pieces(text: str) -> tuple[str | None, list[str]]:
    """(domain, ranges); a star that is meant as one is :data:`_ANY`."""
    domain: str | None = None
    parts = [""]
    for match in _TOKEN.finditer(text.replace("\0", "")):
        escaped, special, plain, rest = match.groups()
        if special == "/":
            parts.append("")
        elif special == "@" and domain is None and len(parts) == 1:
            domain, parts = parts[0], [""]
        elif special == "*":
            parts[-1] += _ANY
        else:
            parts[-1] += next(piece for piece in (escaped, special, plain, rest) if piece is not None)
    return domain, [part for part in parts if part]


def split_path(text: str) -> tuple[str, list[str]]:
    """(domain, ranges) of a path; the domain is empty where the text names none."""
    domain, parts = _pieces(text)
    return (domain or "").replace(_ANY, "*"), [part.replace(_ANY, "*") for part in parts]


def _like(text: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANY))), text, re.DOTALL) is not None


def matches(domain: str, ranges: Sequence[str], wanted: str) -> bool:
    """Whether a launch in these ranges is within ``wanted``: a path from the outermost range on.

    ``*`` stands for any text within a name, ``**`` as a name for any number of ranges; a domain may be left
    out, and the ranges may go on below the path.
    """
    asked, parts = _pieces(wanted)
    if asked is not None and not _like(domain, asked):
        return False
    # Where the path so far may end: each is a number of ranges that it covers.
    ends = {0}
    for part in parts:
        if part == _ANY * 2:
            ends = set(range(min(ends), len(ranges) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(ranges) and _like(ranges[end], part)}
        if not ends:
            return False
    return True

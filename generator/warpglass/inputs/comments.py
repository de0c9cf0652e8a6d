"""``// warpglass:`` comments, which carry a launch inside CUDA or PTX text."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["LaunchComment", "find_comments"]

_COMMENT = re.compile(r"(?://|/\*|#)[ \t]*warpglass:[ \t]*([^\n]{0,2000})")
_PAIR = re.compile(r"""([^\s=]+)=("[^"\n]*"|'[^'\n]*'|[^\s]+)""")

_MOST = 1000


@dataclass(frozen=True, slots=True)
class LaunchComment:
    """One comment line: its ``key=value`` pairs in order, and the words that are no pair."""

    line: int
    pairs: tuple[tuple[str, str], ...]
    rest: tuple[str, ...] = ()


def find_comments(text: str) -> tuple[LaunchComment, ...]:
    """All ``// warpglass: key=value …`` lines of ``text``, at most a thousand of them.

    A value may stand in quotes. Nothing is interpreted here.
    """
    comments: list[LaunchComment] = []
    line, position = 1, 0
    for match in _COMMENT.finditer(text):
        if len(comments) == _MOST:
            break
        line += text.count("\n", position, match.start())
        position = match.start()
        body = match.group(1).strip().removesuffix("*/").strip()
        pairs = tuple((pair.group(1), _unquoted(pair.group(2))) for pair in _PAIR.finditer(body))
        comments.append(LaunchComment(line, pairs, tuple(_PAIR.sub(" ", body).split())))
    return tuple(comments)


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value

"""Regular expressions that a user typed: checked, because some run for ever on a name of fifty letters."""

from __future__ import annotations

import re
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from warpglass.errors import UsageError, WarpglassError

__all__ = ["compile_pattern"]

_LONGEST = 1000
_REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT}


def compile_pattern(text: str, what: str, error: type[WarpglassError] = UsageError) -> re.Pattern[str]:
    """``text`` compiled. Raises ``error`` for no expression, and for one with a repetition in a repetition.

    ``(a+)+`` needs time that doubles with every letter; nothing that names are searched for needs it.
    """
    if len(text) > _LONGEST:
        raise error(f"{what} is longer than {_LONGEST} letters")
    try:
        if _nested(_parser.parse(text), False):
            raise error(
                f"{what} {text[:60]!r} repeats a repetition, which can take for ever",
                hint="(a|b)+ and a+b+ are fine, (a+)+ is not",
            )
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as failure:
        raise error(f"{what} {text[:60]!r} is no regular expression: {failure}") from failure


def _nested(node: Any, repeated: bool) -> bool:
    """Whether an open-ended repetition stands within one; ``repeated`` says that ``node`` does."""
    if isinstance(node, (_parser.SubPattern, list)):
        return any(_nested(item, repeated) for item in node)
    if not isinstance(node, tuple):
        return False
    if node and node[0] in _REPEATS:
        _, most, body = node[1]
        endless = most is _constants.MAXREPEAT or most > 64
        return (endless and repeated) or _nested(body, repeated or endless)
    return any(_nested(item, repeated) for item in node)

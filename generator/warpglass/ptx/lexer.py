"""Text to tokens: cleaning, comments, places and a cursor with error messages.

Comments are blanked with spaces, so every offset, line and column of the cleaned text is that of
the text as given (after its line ends became ``\\n``).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NoReturn

from warpglass.errors import ParseError

__all__ = ["IDENTIFIER", "Cursor", "Source", "blank_comments", "clean"]

IDENTIFIER = r"(?:[A-Za-z_$\x80-\U0010ffff][\w$]*|%[\w$]+)"

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_NEWLINE = re.compile(r"\n")

#: One token; leading blanks are skipped by the cursor. ``dot`` is a modifier or component with its dot.
_TOKEN = re.compile(
    rf"""
    (?P<ident>{IDENTIFIER})
  | (?P<dot>\.[A-Za-z_$][\w$]*(?:::\w+)*)
  | (?P<number>0[fF][0-9a-fA-F]{{8}}(?!\w)|0[dD][0-9a-fA-F]{{16}}(?!\w)|0[xX][0-9a-fA-F]+U?(?!\w)
      |0[bB][01]+U?(?!\w)|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w)|[0-9]+[eE][+-]?[0-9]+(?!\w)|[0-9]+U?(?!\w))
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*+")
  | (?P<op>::|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!?:<>=,;(){{}}\[\]@_])
    """,
    re.VERBOSE,
)
_BLANK = re.compile(r"\s*")


def clean(text: str) -> str:
    """Drop a byte-order mark and trailing NULs, make every line end a line feed."""
    text = text.removeprefix("\ufeff").rstrip("\0\x1a")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def blank_comments(text: str) -> str:
    """Replace every comment by blanks of the same length, keeping line feeds and strings."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] == '"':
            return found
        if "\n" not in found:
            return " " * len(found)
        return _NOT_NEWLINE.sub(" ", found)

    return _COMMENT.sub(blank, text)


class Source:
    """A cleaned text with its name; turns offsets into places and errors."""

    __slots__ = ("_starts", "name", "original", "text")

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.original = text
        self.text = blank_comments(text)
        self._starts: list[int] | None = None

    def starts(self) -> list[int]:
        """Offsets at which lines start."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in _NEWLINE.finditer(self.original))]
        return self._starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        starts = self.starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def source_line(self, offset: int) -> str:
        """The whole line an offset stands in."""
        starts = self.starts()
        line = bisect_right(starts, offset)
        end = starts[line] - 1 if line < len(starts) else len(self.original)
        return self.original[starts[line - 1] : end]

    def error(self, message: str, offset: int) -> ParseError:
        """A :class:`ParseError` that points at ``offset``."""
        offset = max(0, min(offset, len(self.original)))
        line, column = self.place(offset)
        return ParseError(
            message, file=self.name, line=line, column=column, source_line=self.source_line(offset)
        )


def _shown(token: str) -> str:
    return repr(token if len(token) <= 40 else token[:37] + "...") if token else "the end of the text"


class Cursor:
    """A one-token look-ahead reader of a source.

    ``kind`` is ``ident``, ``dot``, ``number``, ``string``, ``op``, ``bad`` or ``end``; ``value`` the text
    of the token that starts at ``start``; ``end`` the offset after it. ``limit`` ends the text early.
    ``notes`` collects (message, offset) of what was read but cannot be kept.
    """

    __slots__ = ("end", "kind", "limit", "notes", "source", "start", "text", "value")

    def __init__(self, source: Source, offset: int = 0, limit: int | None = None) -> None:
        self.source = source
        self.text = source.text
        self.limit = len(source.text) if limit is None else limit
        self.notes: list[tuple[str, int]] = []
        self.kind = self.value = ""
        self.start = self.end = offset
        self.seek(offset)

    def seek(self, offset: int) -> None:
        """Read the token at or after ``offset``."""
        blank = _BLANK.match(self.text, offset, self.limit)
        start = self.start = blank.end() if blank is not None else offset
        match = _TOKEN.match(self.text, start, self.limit)
        if match is not None:
            self.kind = match.lastgroup or "bad"
            self.value = match.group()
            self.end = match.end()
        elif start >= self.limit:
            self.kind, self.value, self.end = "end", "", start
        else:
            self.kind, self.value, self.end = "bad", self.text[start], start + 1

    def advance(self) -> str:
        """Return the token and go to the next."""
        value = self.value
        self.seek(self.end)
        return value

    def accept(self, value: str) -> bool:
        """Take the token if it is ``value``."""
        if self.value == value and self.kind != "string":
            self.seek(self.end)
            return True
        return False

    def expect(self, value: str, where: str = "") -> None:
        """Take ``value`` or fail."""
        if not self.accept(value):
            self.fail(f"expected '{value}'{f' {where}' if where else ''}, found {_shown(self.value)}")

    def identifier(self, what: str = "a name") -> str:
        """Take an identifier or fail."""
        if self.kind != "ident":
            self.fail(f"expected {what}, found {_shown(self.value)}")
        return self.advance()

    def integer(self, what: str = "an integer") -> int:
        """Take an integer literal (decimal, hexadecimal, octal, binary; optional sign) or fail."""
        sign = -1 if self.value == "-" else 1
        if self.value in ("-", "+"):
            self.advance()
        if self.kind != "number" or not is_integer(self.value):
            self.fail(f"expected {what}, found {_shown(self.value)}")
        return sign * integer_value(self.advance())

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        """Raise a :class:`ParseError` at the token (or at ``offset``)."""
        raise self.source.error(message, self.start if offset is None else offset)


def is_integer(text: str) -> bool:
    """True for a number token that is an integer literal."""
    head = text[:2].lower()
    return head in ("0x", "0b") or text.rstrip("U").isdecimal()


def integer_value(text: str) -> int:
    """The value of an integer literal, reduced to 64 bits as PTX does."""
    digits = text.rstrip("U")
    head = digits[:2].lower()
    if head == "0x":
        digits, base = digits[2:].lstrip("0"), 16
    elif head == "0b":
        digits, base = digits[2:].lstrip("0"), 2
    elif len(digits) > 1 and digits[0] == "0" and all(c in "01234567" for c in digits):
        digits, base = digits.lstrip("0"), 8
    else:
        digits, base = digits.lstrip("0"), 10
    # A hostile literal may be megabytes long; 64 binary digits are all that can matter
    # (a decimal one beyond that is out of range and keeps its last digits).
    return int(digits[-64:] or "0", base) & 0xFFFFFFFFFFFFFFFF


def tokens(cursor: Cursor) -> Iterator[str]:
    """All remaining tokens, for tests and tools."""
    while cursor.kind != "end":
        yield cursor.advance()

"""What the functions of one module share: memos, files, sections, debug strings, diagnostics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from warpglass.errors import ParseError
from warpglass.ptx.lexer import IDENTIFIER, Cursor, Source
from warpglass.ptx.model import Diagnostic, Guard, Loc, Operand, Variable
from warpglass.ptx.variables import RegisterNames

__all__ = ["MAX_FAMILY", "Entry", "Kind", "State"]

#: Members up to which a register family is written out; of a larger one only those in use exist.
MAX_FAMILY = 1 << 14

_STRING_BYTES = re.compile(rf"(?<![\w$])(?P<label>{IDENTIFIER})\s*+:|\.b8\s+(?P<bytes>[0-9, \t\n]+)")
_SECTION_STRINGS = re.compile(r"\.section\s++\.debug_str\s*+\{")
_NUMBERED = re.compile(r"(?<![\w$%])[\w$%]+\$[0-9]+(?![\w$])")
# An unterminated string ends with its line: what a closing quote must follow is said elsewhere.
_PIECES = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"?|[{};]')
_SECTION_END = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"?|[{}]')


class Kind(IntEnum):
    """What a line holds."""

    INSTRUCTION = 0
    LOC = 1
    INLINED = 2
    NOTHING = 3
    OPEN = 4
    CLOSE = 5
    LABEL = 6
    REGISTERS = 7
    VARIABLES = 8


@dataclass(slots=True)
class Entry:
    """A line or statement taken apart, valid wherever the same text stands.

    Instructions use the fields up to ``names`` (the names in operands and guard); ``text`` is a label's
    name for labels. ``outer`` is the place where an inlined ``.loc`` was inlined. Columns count from 1.
    """

    kind: Kind
    opcode: str = ""
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None
    text: str = ""
    column: int = 0
    names: frozenset[str] = frozenset()
    loc: Loc | None = None
    outer: tuple[int, int, int] = (0, 0, 0)
    registers: tuple[RegisterNames, ...] = ()
    variables: tuple[Variable, ...] = ()


class State:
    """Shared by all functions of one text. ``here`` is the place of the construct being read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: dict[str, Entry] = {}
        self.operands: dict[str, Operand] = {}
        self.statements: dict[str, Entry] = {}
        self.files: dict[int, str] = {}
        self.sections: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self.here = 0
        self._said: set[str] = set()
        self._families: dict[tuple[str, int], list[str]] = {}
        self._numbered: frozenset[str] | None = None
        self._strings: dict[str, int] | None = None
        self._string_bytes = b""

    # ------------------------------------------------------------ diagnostics

    def say(self, severity: str, message: str, offset: int) -> None:
        """Add a diagnostic at an offset."""
        line, column = self.source.place(offset)
        source_line = self.source.source_line(offset)[:400]
        self.diagnostics.append(Diagnostic(severity, message, self.source.name, line, column, source_line))

    def once(self, severity: str, message: str, offset: int) -> None:
        """Add a diagnostic unless the same message was given before."""
        if message not in self._said:
            self._said.add(message)
            self.say(severity, message, offset)

    def take_notes(self, cursor: Cursor) -> None:
        """Report what a cursor noted."""
        for message, offset in cursor.notes:
            self.once("warning", message, offset)
        cursor.notes.clear()

    def report(self, error: ParseError) -> None:
        """Turn an error into a diagnostic."""
        source_line = (error.source_line or "")[:400]
        self.diagnostics.append(
            Diagnostic("error", error.message, error.file, error.line, error.column, source_line)
        )

    # ------------------------------------------------------------ small pieces

    def numbered(self) -> frozenset[str]:
        """Every name of the text that looks like one made unique here (``name$1``)."""
        if self._numbered is None:
            self._numbered = frozenset(_NUMBERED.findall(self.source.text))
        return self._numbered

    def family(self, prefix: str, count: int) -> list[str]:
        """The names ``prefix0 … prefix<count-1>``."""
        key = (prefix, count)
        if key not in self._families:
            self._families[key] = [f"{prefix}{i}" for i in range(count)]
        return self._families[key]

    @staticmethod
    def integers(cursor: Cursor) -> tuple[int, ...]:
        """Comma-separated integers, possibly none."""
        found: list[int] = []
        while cursor.kind == "number":
            found.append(cursor.integer())
            if not cursor.accept(","):
                break
        return tuple(found)

    @staticmethod
    def strings(cursor: Cursor) -> list[str]:
        """Comma-separated strings without their quotes."""
        found = []
        while cursor.kind == "string":
            found.append(cursor.advance()[1:-1])
            if not cursor.accept(","):
                break
        if not found:
            cursor.fail("expected a string")
        return found

    # ------------------------------------------------------------ directives allowed anywhere

    def file_directive(self, cursor: Cursor) -> None:
        """``.file index "path" [, timestamp, size]``."""
        cursor.advance()
        index = cursor.integer("a file number")
        if cursor.kind != "string":
            cursor.fail("expected a file's name")
        self.files[index] = cursor.advance()[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        while cursor.accept(","):
            cursor.integer()
        cursor.accept(";")

    def section(self, cursor: Cursor) -> None:
        """``.section .name { … }``: the content is kept as text."""
        cursor.advance()
        name = cursor.advance()
        if cursor.value != "{":
            cursor.fail("expected '{' after a section's name")
        start, depth = cursor.end, 0
        for match in _SECTION_END.finditer(cursor.text, cursor.start, cursor.limit):
            piece = match.group()
            depth += (piece == "{") - (piece == "}")
            if depth == 0:
                self.sections[name] = cursor.text[start : match.start()].strip("\n")
                cursor.seek(match.end())
                return
        cursor.fail("the section's closing '}' is missing")

    def unknown_directive(self, cursor: Cursor) -> None:
        """Report once and skip: to the ``;``, over a braced block, or to the end of the line."""
        start, word = cursor.start, cursor.value
        self.once("warning", f"unknown directive '{word[:40]}' is kept as text", start)
        end = cursor.text.find("\n", start, cursor.limit)
        end = cursor.limit if end < 0 else end
        first = _PIECES.search(cursor.text, start, end)
        while first is not None and first.group()[0] == '"':
            first = _PIECES.search(cursor.text, first.end(), end)
        if first is None or first.group() == "}":
            cursor.seek(end if first is None else first.start())
        elif first.group() == ";":
            cursor.seek(first.end())
        else:
            self._skip_block(cursor, first.start())

    @staticmethod
    def _skip_block(cursor: Cursor, start: int) -> None:
        """Go behind the brace that closes the one at ``start``."""
        depth = 0
        for match in _SECTION_END.finditer(cursor.text, start, cursor.limit):
            depth += (match.group() == "{") - (match.group() == "}")
            if depth == 0:
                cursor.seek(match.end())
                return
        cursor.fail("a closing '}' is missing", start)

    # ------------------------------------------------------------ debug strings

    def string_at(self, label: str, plus: int) -> str:
        """The function name that ``function_name label + plus`` means, else the label itself."""
        if self._strings is None:
            self._strings, self._string_bytes = self._read_strings()
        start = self._strings.get(label)
        if start is None:
            return label
        start += plus
        end = self._string_bytes.find(0, start)
        return self._string_bytes[start : end if end >= 0 else None].decode("utf-8", "replace") or label

    def _read_strings(self) -> tuple[dict[str, int], bytes]:
        """Labels and bytes of ``.section .debug_str``, which stands after the functions that use it."""
        places: dict[str, int] = {}
        data = bytearray()
        section = _SECTION_STRINGS.search(self.source.text)
        if section is None:
            return places, b""
        close = self.source.text.find("}", section.end())
        content = self.source.text[section.end() : close if close >= 0 else None]
        for match in _STRING_BYTES.finditer(content):
            if match["label"] is not None:
                places[match["label"]] = len(data)
            else:
                data.extend(int(n) & 0xFF for n in re.findall(r"[0-9]{1,3}", match["bytes"]))
        return places, bytes(data)

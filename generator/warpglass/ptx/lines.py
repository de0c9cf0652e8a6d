"""Ordinary lines of a body.

Compilers write one statement a line and repeat texts a lot. A line that was seen before costs one
dictionary look-up; one that looks ordinary is taken apart by a regular expression. What this module does
not understand (``None``) goes token by token through the cursor, which also finds the place of an error.
"""

from __future__ import annotations

import re

from warpglass.errors import ParseError
from warpglass.ptx.lexer import IDENTIFIER, Cursor
from warpglass.ptx.model import Guard, Loc, Operand, Register
from warpglass.ptx.opcodes import KNOWN_OPCODES, TYPE_SIZES
from warpglass.ptx.operands import operand, operands
from warpglass.ptx.state import Entry, Kind, State
from warpglass.ptx.variables import RegisterNames, type_words, variables

__all__ = ["LONGEST_LINE", "collapse", "names_in", "read_line"]

#: Longer lines go token by token: the expressions here are for what compilers write.
LONGEST_LINE = 400

_INSTRUCTION = re.compile(
    rf"[ \t]*+(?P<guard>@(?P<not>!?)[ \t]*+(?P<pred>{IDENTIFIER})[ \t]++)?+"
    r"(?P<opcode>[A-Za-z_]\w*+(?:(?:\.|::)\w++)*+)(?:[ \t]++(?P<operands>[^;]*+))?+;[ \t]*+\Z"
)
_LABEL = re.compile(rf"[ \t]*+(?P<name>{IDENTIFIER})[ \t]*+:[ \t]*+\Z")
_LOC = re.compile(
    r"[ \t]*+\.loc[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})"
    rf"(?:[ \t]*,[ \t]*function_name[ \t]++({IDENTIFIER})(?:[ \t]*\+[ \t]*([0-9]{{1,9}}))?[ \t]*,"
    r"[ \t]*inlined_at[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9}))?[ \t]*;?[ \t]*\Z"
)
_REGISTERS = re.compile(
    rf"[ \t]*+\.reg[ \t]++\.([a-z][a-z0-9]*+)[ \t]++({IDENTIFIER})(?:<([0-9]{{1,9}})>)?+[ \t]*+;[ \t]*+\Z"
)
_VARIABLE = re.compile(r"[ \t]*+\.(?:param|shared|local)\b[^;={}]*+;[ \t]*+\Z")
_NAME = re.compile(rf"(?<![\w$%.]){IDENTIFIER}")
_BLANKS = re.compile(r"\s+")
_COMPLEX = re.compile(r"[{(|\"]|\[[^\]]*,")


def collapse(text: str) -> str:
    """Runs of blanks and line ends as one blank."""
    return _BLANKS.sub(" ", text).strip()


def names_in(text: str) -> list[str]:
    """All names in a piece of operand text."""
    return _NAME.findall(text)


def read_line(state: State, raw: str, position: int) -> Entry | None:
    """What the line ``raw``, which starts at ``position``, holds; remembered for equal lines."""
    match = _INSTRUCTION.match(raw)
    if match is not None:
        found = _instruction(state, match, raw, position)
    else:
        found = _other(state, raw, position)
    if found is not None:
        state.lines[raw] = found
    return found


def _other(state: State, raw: str, position: int) -> Entry | None:
    stripped = raw.strip()
    if not stripped:
        return Entry(Kind.NOTHING)
    if stripped in ("{", "}"):
        return Entry(Kind.OPEN if stripped == "{" else Kind.CLOSE)
    match = _LOC.match(raw)
    if match is not None:
        file, line, column = int(match[1]), int(match[2]), int(match[3])
        if match[4] is None:
            return Entry(Kind.LOC, loc=Loc(file, line, column))
        outer = (int(match[6]), int(match[7]), int(match[8]))
        name = state.string_at(match[4], int(match[5] or 0))
        return Entry(Kind.INLINED, loc=Loc(file, line, column, name), outer=outer)
    match = _LABEL.match(raw)
    if match is not None:
        return Entry(Kind.LABEL, text=match["name"], column=match.start("name") + 1)
    match = _REGISTERS.match(raw)
    if match is not None and match[1] in TYPE_SIZES:
        count = None if match[3] is None else int(match[3])
        return Entry(Kind.REGISTERS, registers=(RegisterNames(match[2], count, match[1], match.start(2)),))
    if _VARIABLE.match(raw) is not None:
        return _variable(state, raw, position)
    return None


def _variable(state: State, raw: str, position: int) -> Entry | None:
    cursor = Cursor(state.source, position, position + len(raw))
    try:
        words = type_words(cursor)
        found = variables(cursor, words, 0)
    except ParseError:
        return None  # the slow path says where
    return (
        Entry(Kind.VARIABLES, column=raw.index(".") + 1, variables=tuple(found))
        if cursor.kind == "end"
        else None
    )


def _instruction(state: State, match: re.Match[str], raw: str, position: int) -> Entry | None:
    opcode, rest = match["opcode"], match["operands"]
    if opcode.split(".", 1)[0] not in KNOWN_OPCODES:
        return None
    found: tuple[Operand, ...] = ()
    if rest is not None and rest.strip():
        try:
            found = _operands(state, rest, position + match.start("operands"))
        except ParseError:
            return None
    guard = None
    names = names_in(rest or "")
    if match["guard"] is not None:
        guard = Guard(Register(match["pred"]), match["not"] == "!")
        names.append(match["pred"])
    column = match.start("guard" if guard is not None else "opcode") + 1
    text = collapse(raw[: raw.rindex(";")])
    return Entry(Kind.INSTRUCTION, opcode, found, guard, text, column, frozenset(names))


def _operands(state: State, rest: str, offset: int) -> tuple[Operand, ...]:
    if _COMPLEX.search(rest) is not None:
        return operands(Cursor(state.source, offset, offset + len(rest) + 1))
    memo = state.operands
    found = []
    for piece in rest.split(","):
        text = piece.strip()
        known = memo.get(text)
        if known is None:
            cursor = Cursor(state.source, offset, offset + len(piece))
            known = operand(cursor)
            if cursor.kind != "end":
                cursor.fail("unexpected text after an operand")
            memo[text] = known
        offset += len(piece) + 1
        found.append(known)
    return tuple(found)

"""Function bodies: lines by the fast path, everything else statement by statement."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from warpglass.errors import ParseError
from warpglass.ptx.lexer import Cursor
from warpglass.ptx.lines import LONGEST_LINE, collapse, names_in, read_line
from warpglass.ptx.model import Guard, Instruction, Loc, Param, Register, Variable
from warpglass.ptx.opcodes import KNOWN_OPCODES, LINKAGES, PERFORMANCE_DIRECTIVES, SPACES
from warpglass.ptx.operands import operands
from warpglass.ptx.scopes import Names, Scope
from warpglass.ptx.state import MAX_FAMILY, Entry, Kind, State
from warpglass.ptx.variables import RegisterNames, params, register_names, type_words, variables

__all__ = ["Body"]

#: Scopes inside scopes beyond which a function is refused; inline asm needs three or four.
_DEEPEST_SCOPE = 1000
#: Frames of inlining kept by a ``.loc``.
_DEEPEST_INLINE = 64

_OPCODE = re.compile(r"[A-Za-z_]\w*+(?:(?:\.|::)\w++)*+")
_AFTER_UNKNOWN = re.compile(r"[;{}]|\n[ \t]*+\n")

Place = tuple[int, int, int]


@dataclasses.dataclass(slots=True)
class Table:
    """A ``.branchtargets`` or ``.calltargets`` as written."""

    label: str
    is_branch: bool
    targets: tuple[str, ...]
    scope: Scope
    start: int


class Body:
    """One body. After :meth:`read` the attributes hold what it declares and executes, names as written."""

    def __init__(self, state: State, formals: tuple[Param, ...]) -> None:
        self.state = state
        self.source = state.source
        self.names = Names(state.numbered)
        self.scope = self.names.root
        self.instructions: list[Instruction] = []
        self.entries: list[Entry] = []
        self.scopes: list[Scope] = []
        self.tables: list[Table] = []
        self.prototypes: dict[str, tuple[tuple[Param, ...], tuple[Param, ...]]] = {}
        self.pragmas: list[str] = []
        self.directives: dict[str, tuple[int, ...]] = {}
        self._depth = 0
        self._loc: Loc | None = None
        self._located: dict[Place, tuple[Loc, int]] = {}
        self._newline = self._searched = 0
        for formal in formals:
            if formal.name == "_":
                continue
            unique = self.names.declare(self.scope, formal.name, formal.space == "reg")
            if unique is not None and formal.space == "reg":
                self.names.registers[unique] = formal.type

    # ------------------------------------------------------------ the loop

    def read(self, offset: int, line: int, limit: int) -> tuple[int, int]:
        """Read from after the opening brace; returns the offset and line of the closing one.

        ``offset`` stands on line ``line``; nothing beyond ``limit`` is looked at.
        """
        text, known = self.source.text, self.state.lines.get
        cursor = Cursor(self.source, offset, limit)
        entries, scopes, located = self.entries.append, self.scopes.append, self._located
        append, find, is_instruction = self.instructions.append, text.find, Kind.INSTRUCTION
        position, at_start = offset, False
        self._newline, self._searched = text.rfind("\n", 0, offset), offset
        while True:
            if at_start:
                end = find("\n", position, limit)
                if end < 0:
                    end = limit
                raw = text[position:end] if end - position <= LONGEST_LINE else ""
                e = known(raw)
                if e is None and raw:
                    e = read_line(self.state, raw, position)
                if e is not None:
                    taken = True
                    if e.kind is is_instruction:
                        append(Instruction(e.opcode, e.operands, e.guard, line, e.column, self._loc, e.text))
                        entries(e)
                        scopes(self.scope)
                    elif e.kind is Kind.LOC and e.loc is not None:
                        loc = self._loc = e.loc
                        located[loc.file, loc.line, loc.column] = (loc, 1)
                    else:
                        taken = self._line(e, position, line)
                    if taken and end < limit:
                        position, line = end + 1, line + 1
                        continue
                    if taken:
                        position = end
            cursor.seek(position)
            line += text.count("\n", position, cursor.start)
            position = cursor.start
            if self._statement(cursor, line):
                return cursor.start, line
            # The cursor stands on the next statement's first token: is that the first of its line?
            start = text.rfind("\n", position, cursor.start) + 1
            line += text.count("\n", position, cursor.start)
            position, at_start = cursor.start, False
            if start and not text[start:position].strip():
                position, at_start = start, True

    def _line(self, entry: Entry, position: int, line: int) -> bool:
        """Apply a line that is no instruction; False where it closes the body."""
        kind = entry.kind
        if kind is Kind.INLINED and entry.loc is not None:
            loc = entry.loc
            self._set_loc(loc.file, loc.line, loc.column, loc.function, entry.outer)
        elif kind is Kind.LABEL:
            self._label(entry.text, position + entry.column - 1)
        elif kind is Kind.REGISTERS:
            for declared in entry.registers:
                self._register(declared, position)
        elif kind is Kind.VARIABLES:
            for variable in entry.variables:
                self._variable(variable, line, position + entry.column - 1)
        elif kind is Kind.OPEN:
            self._open(position)
        elif kind is Kind.CLOSE:
            if self.scope.parent is None:
                return False
            self._close(self.scope.parent)
        return True

    def _open(self, position: int) -> None:
        self._depth += 1
        if self._depth > _DEEPEST_SCOPE:
            raise self.source.error("scopes nested too deeply", position)
        self.scope = self.names.open(self.scope)

    def _close(self, parent: Scope) -> None:
        self.scope = parent
        self._depth -= 1

    # ------------------------------------------------------------ statements by token

    def _statement(self, cursor: Cursor, line: int) -> bool:
        """One statement at the cursor; True at the brace that closes the body."""
        value, kind = cursor.value, cursor.kind
        if value == "}":
            if self.scope.parent is None:
                return True
            self._close(self.scope.parent)
            cursor.advance()
        elif value == "{":
            self._open(cursor.start)
            cursor.advance()
        elif value == ";":
            cursor.advance()
        elif value == "@":
            self._instruction(cursor, line)
        elif kind == "dot":
            self._directive(cursor, line)
        elif kind == "ident":
            start = cursor.start
            after = cursor.text[cursor.end : cursor.end + 2]
            if after[:1] in (":", " ", "\t", "\n") and after != "::":
                cursor.advance()
                if cursor.accept(":"):
                    self._labelled(cursor, value, start)
                    return False
                cursor.seek(start)
            self._instruction(cursor, line)
        elif kind == "end":
            cursor.fail("the function's closing '}' is missing")
        else:
            cursor.fail(f"expected an instruction, found {value[:40]!r}")
        return False

    def _instruction(self, cursor: Cursor, line: int) -> None:
        start, text = cursor.start, cursor.text
        end = text.find(";", start, min(start + LONGEST_LINE, cursor.limit))
        key = text[start:end] if end >= 0 else ""
        entry = self.state.statements.get(key)
        if entry is None:
            entry = self._parsed(cursor)
            if key and cursor.start == end:
                self.state.statements[key] = entry
        cursor.seek(cursor.start if end < 0 or cursor.start > end else end)
        cursor.expect(";")
        # Searched from the last statement on: a megabyte on one line must not be searched for each statement.
        newline = text.rfind("\n", self._searched, start)
        if newline >= 0:
            self._newline = newline
        self._searched = start
        column = start - self._newline
        self.entries.append(entry)
        self.scopes.append(self.scope)
        e = entry
        self.instructions.append(Instruction(e.opcode, e.operands, e.guard, line, column, self._loc, e.text))

    def _parsed(self, cursor: Cursor) -> Entry:
        """The instruction at the cursor, which is left on its ``;``."""
        start, guard = cursor.start, None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(Register(cursor.identifier("a predicate")), negated)
        match = _OPCODE.match(cursor.text, cursor.start, cursor.limit)
        if match is None:
            cursor.fail(f"expected an opcode, found {cursor.value[:40]!r}")
        opcode, opcode_start = match.group(), cursor.start
        base = opcode.split(".", 1)[0]
        cursor.seek(match.end())
        while cursor.kind == "dot":  # ld .global .f32: blanks between the parts are allowed
            opcode += cursor.advance()
        rest = cursor.start
        if base not in KNOWN_OPCODES:
            self.state.once("info", f"unknown opcode '{base[:40]}' is kept as text", opcode_start)
        try:
            found = operands(cursor)
        except ParseError:
            stop = _AFTER_UNKNOWN.search(cursor.text, cursor.start, cursor.limit)
            if base in KNOWN_OPCODES or stop is None or stop.group() != ";":
                raise
            found = ()
            cursor.seek(stop.start())
        names = names_in(cursor.text[rest : cursor.start])
        if guard is not None:
            names.append(guard.register.name)
        text = collapse(cursor.text[start : cursor.start])
        return Entry(Kind.INSTRUCTION, opcode, found, guard, text, 0, frozenset(names))

    def _label(self, name: str, offset: int) -> None:
        self.names.labels[self._declare(name, offset, register=False)] = len(self.instructions)

    def _labelled(self, cursor: Cursor, name: str, start: int) -> None:
        """What follows ``name:``: a table of targets, a prototype, or just the next statement."""
        word = cursor.value if cursor.kind == "dot" else ""
        if word in (".branchtargets", ".calltargets"):
            cursor.advance()
            targets = [cursor.identifier("a target")]
            while cursor.accept(","):
                targets.append(cursor.identifier("a target"))
            cursor.expect(";")
            label = self._declare(name, start, register=False)
            self.tables.append(Table(label, word == ".branchtargets", tuple(targets), self.scope, start))
        elif word == ".callprototype":
            cursor.advance()
            returns: tuple[Param, ...] = params(cursor) if cursor.value == "(" else ()
            cursor.identifier("'_'")
            arguments = params(cursor) if cursor.value == "(" else ()
            while cursor.kind in ("dot", "number"):
                cursor.advance()
            cursor.expect(";")
            self.prototypes[self._declare(name, start, register=False)] = (returns, arguments)
        else:
            self._label(name, start)

    # ------------------------------------------------------------ directives

    def _directive(self, cursor: Cursor, line: int) -> None:
        word = cursor.value[1:]
        handler = _DIRECTIVES.get(word)
        if handler is not None:
            handler(self, cursor)
        elif word in SPACES or word in LINKAGES or word in ("align", "attribute"):
            start = cursor.start
            words = type_words(cursor)
            if words.space == "reg":
                cursor.fail("'.reg' must come first", start)
            for variable in variables(cursor, words, line):
                self._variable(variable, line, start)
            self.state.take_notes(cursor)
        elif word in PERFORMANCE_DIRECTIVES:
            cursor.advance()
            self.directives[word] = self.state.integers(cursor)
            cursor.accept(";")
        else:
            self.state.unknown_directive(cursor)

    def _registers(self, cursor: Cursor) -> None:
        cursor.advance()
        for declared in register_names(cursor):
            self._register(declared, 0)

    def _pragma(self, cursor: Cursor) -> None:
        cursor.advance()
        self.pragmas.extend(self.state.strings(cursor))
        cursor.expect(";")

    def _file(self, cursor: Cursor) -> None:
        self.state.file_directive(cursor)

    def _section(self, cursor: Cursor) -> None:
        self.state.section(cursor)

    def _loc_directive(self, cursor: Cursor) -> None:
        cursor.advance()
        file, line = cursor.integer("a file number"), cursor.integer("a line")
        column = cursor.integer("a column") if cursor.kind == "number" else 0
        function: str | None = None
        outer = (0, 0, 0)
        if cursor.accept(","):
            self._keyword(cursor, "function_name")
            label = cursor.identifier("a label")
            function = self.state.string_at(label, cursor.integer() if cursor.accept("+") else 0)
            cursor.expect(",")
            self._keyword(cursor, "inlined_at")
            outer = (cursor.integer(), cursor.integer(), cursor.integer())
        cursor.accept(";")
        self._set_loc(file, line, column, function, outer)

    @staticmethod
    def _keyword(cursor: Cursor, word: str) -> None:
        if cursor.value != word:
            cursor.fail(f"expected '{word}'")
        cursor.advance()

    def _set_loc(self, file: int, line: int, column: int, function: str | None, outer: Place) -> None:
        """``inlined_at`` names a place; the latest ``.loc`` with that place is the next frame out."""
        parent: Loc | None = None
        depth = 0
        if function is not None:
            parent, depth = self._located.get(outer, (None, 0))
            if parent is None or depth >= _DEEPEST_INLINE:
                parent, depth = Loc(*outer), 1
        self._loc = Loc(file, line, column, function, parent)
        self._located[file, line, column] = (self._loc, depth + 1)

    # ------------------------------------------------------------ declarations

    def _declare(self, name: str, offset: int, register: bool) -> str:
        unique = self.names.declare(self.scope, name, register)
        if unique is None:
            raise self.source.error(f"'{name[:60]}' is declared twice", offset)
        return unique

    def _register(self, declared: RegisterNames, base: int) -> None:
        """Declare a register or a family; ``base`` is added to the place kept in ``declared``."""
        names = self.names
        if declared.count is None:
            unique = self._declare(declared.name, base + declared.start, register=True)
            names.registers[unique] = declared.type
        elif declared.count > MAX_FAMILY or len(names.registers) > 8 * MAX_FAMILY:
            names.families.append((declared.name, declared.count, declared.type))
        elif declared.count:
            family = self.state.family(declared.name, declared.count)
            twice = names.declare_family(self.scope, family, declared.type)
            if twice is not None:
                raise self.source.error(f"'{twice[:60]}' is declared twice", base + declared.start)

    def _variable(self, variable: Variable, line: int, start: int) -> None:
        unique = self._declare(variable.name, start, register=False)
        if unique != variable.name or variable.line != line:
            variable = dataclasses.replace(variable, name=unique, line=line)
        self.names.variables[unique] = variable


_DIRECTIVES: dict[str, Callable[[Body, Cursor], None]] = {
    "reg": Body._registers,
    "loc": Body._loc_directive,
    "pragma": Body._pragma,
    "file": Body._file,
    "section": Body._section,
}

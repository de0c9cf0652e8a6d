"""Function bodies.

Compilers write one instruction a line and repeat texts a lot, so a line that was seen before costs one
dictionary look-up; a line that looks ordinary is split by one regular expression; everything else goes
token by token through the cursor, which also finds the exact place of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from warpglass.errors import ParseError
from warpglass.ptx.lexer import IDENTIFIER, Cursor
from warpglass.ptx.model import Guard, Instruction, Loc, Operand, Param, Register, Symbol, Variable
from warpglass.ptx.opcodes import KNOWN_OPCODES, LINKAGES, PERFORMANCE_DIRECTIVES, SPACES, is_special
from warpglass.ptx.operands import operand, operands
from warpglass.ptx.scopes import Names, Scope
from warpglass.ptx.state import MAX_FAMILY, Entry, State
from warpglass.ptx.variables import RegisterNames, params, register_names, type_words, variables

__all__ = ["Body"]

#: Longer lines go token by token: the line regex is for what compilers write.
_LONGEST_LINE = 400
#: Scopes inside scopes beyond which a function is refused; inline asm needs three or four.
_DEEPEST_SCOPE = 1000
#: Frames of inlining kept by a ``.loc``.
_DEEPEST_INLINE = 64

_LINE = re.compile(
    rf"[ \t]*+(?P<guard>@(?P<not>!?)[ \t]*+(?P<pred>{IDENTIFIER})[ \t]++)?+"
    r"(?P<opcode>[A-Za-z_]\w*+(?:(?:\.|::)\w++)*+)(?:[ \t]++(?P<operands>[^;]*+))?+;[ \t]*+\Z"
)
_LABEL = re.compile(rf"[ \t]*+(?P<name>{IDENTIFIER})[ \t]*+:[ \t]*+\Z")
_OPCODE = re.compile(r"[A-Za-z_]\w*+(?:(?:\.|::)\w++)*+")
_LOC = re.compile(
    r"[ \t]*+\.loc[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})"
    rf"(?:[ \t]*,[ \t]*function_name[ \t]++({IDENTIFIER})(?:[ \t]*\+[ \t]*([0-9]{{1,9}}))?[ \t]*,"
    r"[ \t]*inlined_at[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9})[ \t]++([0-9]{1,9}))?[ \t]*;?[ \t]*\Z"
)
_NAME = re.compile(rf"(?<![\w$%.]){IDENTIFIER}")
_BLANKS = re.compile(r"\s+")
_COMPLEX = re.compile(r"[{(|\"]|\[[^\]]*,")

_PREDEFINED = frozenset({"_", "WARP_SZ"})
#: Opcodes that access ``array[i]``; elsewhere it is the element's address.
_ACCESSES = frozenset({"ld", "st", "ldu", "atom", "red", "prefetch", "prefetchu", "cp"})


class Body:
    """Reads one body. ``read`` leaves instructions, names and tables as attributes."""

    def __init__(self, state: State, formals: tuple[Param, ...]) -> None:
        self.state = state
        self.source = state.source
        self.names = Names()
        self.scope = self.names.root
        self.depth = 0
        self.instructions: list[Instruction] = []
        self.entries: list[Entry] = []
        self.scopes: list[Scope] = []
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self.call_targets: dict[str, tuple[str, ...]] = {}
        self.prototypes: dict[str, tuple[tuple[Param, ...], tuple[Param, ...]]] = {}
        self.pragmas: list[str] = []
        self.directives: dict[str, tuple[int, ...]] = {}
        self.params: list[Param] = []
        self._tables: list[tuple[str, str, tuple[str, ...], Scope, int]] = []
        self.used: set[str] = set()
        self._loc: Loc | None = None
        self._located: dict[tuple[int, int, int], tuple[Loc, int]] = {}
        for formal in formals:
            if formal.name == "_":
                continue
            unique = self.names.declare(self.scope, formal.name, formal.space == "reg")
            if unique is not None and formal.space == "reg":
                self.names.registers[unique] = formal.type

    # ------------------------------------------------------------ the loop

    def read(self, offset: int, line: int, limit: int) -> tuple[int, int]:
        """Read from after the opening brace; returns the offset and line after the closing one."""
        text, lines = self.source.text, self.state.lines
        cursor = Cursor(self.source, offset, limit)
        instructions, entries, scopes = self.instructions, self.entries, self.scopes
        append, find, known = instructions.append, text.find, lines.get
        position, at_start, located = offset, False, self._located
        while True:
            if at_start:
                end = find("\n", position, limit)
                if end < 0:
                    end = limit
                raw = text[position:end] if end - position <= _LONGEST_LINE else ""
                entry = known(raw)
                if entry is None and raw:
                    entry = self._line(raw, position, line)
                if entry is not None:
                    if entry.opcode:
                        e = entry
                        append(Instruction(e.opcode, e.operands, e.guard, line, e.column, self._loc, e.text))
                        entries.append(entry)
                        scopes.append(self.scope)
                    elif entry.loc is not None:
                        loc = self._loc = entry.loc
                        located[loc.file, loc.line, loc.column] = (loc, 1)
                    if end < limit:
                        position, line = end + 1, line + 1
                        continue
                    position = end
            cursor.seek(position)
            line += text.count("\n", position, cursor.start)
            position = cursor.start
            if self._statement(cursor, line):
                return cursor.end, line
            # The cursor stands on the next statement's first token: is that the first of its line?
            start = text.rfind("\n", position, cursor.start) + 1
            line += text.count("\n", position, cursor.start)
            position, at_start = cursor.start, False
            if start and not text[start:position].strip():
                position, at_start = start, True

    def _line(self, raw: str, position: int, line: int) -> Entry | None:
        """An ordinary line not seen before; None where it needs the cursor."""
        match = _LINE.match(raw)
        if match is not None:
            found = self._ordinary(match, raw, position)
            if found is not None:
                self.state.lines[raw] = found
            return found
        match = _LOC.match(raw)
        if match is not None:
            numbers = [int(match[i] or 0) for i in (1, 2, 3, 5, 6, 7, 8)]
            outer = (numbers[4], numbers[5], numbers[6])
            self._set_loc(numbers[0], numbers[1], numbers[2], match[4], numbers[3], outer)
            if match[4] is None:
                self.state.lines[raw] = Entry("", (), None, "", 0, frozenset(), self._loc)
            return self.state.nothing
        match = _LABEL.match(raw)
        if match is not None:
            self._label(match["name"], position + match.start("name"))
            return self.state.nothing
        if not raw.strip():
            self.state.lines[raw] = self.state.nothing
            return self.state.nothing
        return None

    def _ordinary(self, match: re.Match[str], raw: str, position: int) -> Entry | None:
        """An instruction on one line, or None where its operands need the cursor or are wrong."""
        opcode, rest = match["opcode"], match["operands"]
        if opcode.split(".", 1)[0] not in KNOWN_OPCODES:
            return None
        found: tuple[Operand, ...] = ()
        if rest is not None and rest.strip():
            try:
                found = self._operands(rest, position + match.start("operands"))
            except ParseError:
                return None  # the cursor says where
        guard = None
        if match["guard"] is not None:
            guard = Guard(Register(match["pred"]), match["not"] == "!")
        column = (match.start("guard") if guard is not None else match.start("opcode")) + 1
        text = _BLANKS.sub(" ", raw[column - 1 : raw.rindex(";")]).rstrip()
        names = _NAME.findall(rest or "")
        if guard is not None:
            names.append(guard.register.name)
        return Entry(opcode, found, guard, text, column, frozenset(names), None)

    def _operands(self, rest: str, offset: int) -> tuple[Operand, ...]:
        limit = offset + len(rest)
        if _COMPLEX.search(rest) is not None:
            cursor = Cursor(self.source, offset, limit + 1)
            return operands(cursor)
        memo = self.state.operands
        found = []
        for piece in rest.split(","):
            text = piece.strip()
            known = memo.get(text)
            if known is None:
                cursor = Cursor(self.source, offset, offset + len(piece))
                known = operand(cursor)
                if cursor.kind != "end":
                    cursor.fail("unexpected text after an operand")
                memo[text] = known
            offset += len(piece) + 1
            found.append(known)
        return tuple(found)

    # ------------------------------------------------------------ statements by token

    def _statement(self, cursor: Cursor, line: int) -> bool:
        """One statement at the cursor; True after the brace that closes the body."""
        value, kind = cursor.value, cursor.kind
        if value == "}":
            if self.scope.parent is None:
                return True
            self.scope = self.scope.parent
            self.depth -= 1
            cursor.advance()
        elif value == "{":
            self.depth += 1
            if self.depth > _DEEPEST_SCOPE:
                cursor.fail("scopes nested too deeply")
            self.scope = self.names.open(self.scope)
            cursor.advance()
        elif value == ";":
            cursor.advance()
        elif value == "@":
            self._instruction(cursor, line)
        elif kind == "dot":
            self._directive(cursor, line)
        elif kind == "ident":
            start, name = cursor.start, value
            after = cursor.text[cursor.end : cursor.end + 2]
            if after[:1] in (":", " ", "\t", "\n") and after != "::":
                cursor.advance()
                if cursor.accept(":"):
                    self._labelled(cursor, name, start)
                    return False
                cursor.seek(start)
            self._instruction(cursor, line)
        elif kind == "end":
            cursor.fail("the function's closing '}' is missing")
        else:
            cursor.fail(f"expected an instruction, found {value[:40]!r}")
        return False

    def _instruction(self, cursor: Cursor, line: int) -> None:
        start, guard = cursor.start, None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            guard = Guard(Register(cursor.identifier("a predicate")), negated)
        match = _OPCODE.match(cursor.text, cursor.start, cursor.limit)
        if match is None:
            cursor.fail(f"expected an opcode, found {cursor.value[:40]!r}")
        opcode = match.group()
        opcode_start = cursor.start
        cursor.seek(match.end())
        while cursor.kind == "dot":  # ld .global .f32: blanks between the parts are allowed
            opcode += cursor.advance()
        rest = cursor.start
        known = opcode.split(".", 1)[0] in KNOWN_OPCODES
        if not known:
            base = opcode.split(".", 1)[0][:40]
            self.state.once("info", f"unknown opcode '{base}' is kept as text", opcode_start)
        try:
            found = operands(cursor)
        except ParseError:
            if known:
                raise
            found = ()
            stop = re.compile(r"[;{}]|\n\s*\n").search(cursor.text, cursor.start, cursor.limit)
            if stop is None or stop.group() != ";":
                raise
            cursor.seek(stop.start())
        finish = cursor.start
        cursor.expect(";")
        text = _BLANKS.sub(" ", cursor.text[start:finish]).strip()
        names = _NAME.findall(cursor.text, rest, finish)
        if guard is not None:
            names.append(guard.register.name)
        column = start - cursor.text.rfind("\n", 0, start)
        entry = Entry(opcode, found, guard, text, column, frozenset(names), None)
        self.entries.append(entry)
        self.scopes.append(self.scope)
        self.instructions.append(Instruction(opcode, found, guard, line, column, self._loc, text))

    def _label(self, name: str, offset: int) -> None:
        unique = self.names.declare(self.scope, name, register=False)
        if unique is None:
            raise self.source.error(f"'{name[:60]}' is declared twice", offset)
        self.names.labels[unique] = len(self.instructions)

    def _labelled(self, cursor: Cursor, name: str, start: int) -> None:
        """What follows ``name:``: a table of targets, a prototype, or just the next statement."""
        word = cursor.value if cursor.kind == "dot" else ""
        if word in (".branchtargets", ".calltargets"):
            cursor.advance()
            targets = [cursor.identifier("a target")]
            while cursor.accept(","):
                targets.append(cursor.identifier("a target"))
            cursor.expect(";")
            self._tables.append((word, self._other(name, start), tuple(targets), self.scope, start))
        elif word == ".callprototype":
            cursor.advance()
            returns: tuple[Param, ...] = params(cursor) if cursor.value == "(" else ()
            cursor.identifier("'_'")
            arguments = params(cursor) if cursor.value == "(" else ()
            while cursor.kind == "dot":
                cursor.advance()
                while cursor.kind == "number":
                    cursor.advance()
            cursor.expect(";")
            self.prototypes[self._other(name, start)] = (returns, arguments)
        else:
            self._label(name, start)

    def _other(self, name: str, start: int) -> str:
        unique = self.names.declare(self.scope, name, register=False)
        if unique is None:
            raise self.source.error(f"'{name[:60]}' is declared twice", start)
        self.names.other.add(unique)
        return unique

    # ------------------------------------------------------------ directives

    def _directive(self, cursor: Cursor, line: int) -> None:
        word = cursor.value[1:]
        if word == "reg":
            cursor.advance()
            for declared in register_names(cursor):
                self._register(declared)
        elif word == "loc":
            cursor.advance()
            self._loc_directive(cursor)
        elif word in SPACES or word in LINKAGES or word in ("align", "attribute"):
            start = cursor.start
            words = type_words(cursor)
            if words.space == "reg":
                cursor.fail("'.reg' must come first", start)
            for variable in variables(cursor, words, line):
                self._variable(variable, start)
        elif word == "pragma":
            cursor.advance()
            self.pragmas.extend(self.state.strings(cursor))
            cursor.expect(";")
        elif word == "file":
            self.state.file_directive(cursor)
        elif word == "section":
            self.state.section(cursor)
        elif word in PERFORMANCE_DIRECTIVES:
            cursor.advance()
            self.directives[word] = self.state.integers(cursor)
            cursor.accept(";")
        else:
            self.state.unknown_directive(cursor)

    def _register(self, declared: RegisterNames) -> None:
        names = self.names
        if declared.count is None:
            unique = names.declare(self.scope, declared.name, register=True)
            if unique is None:
                raise self.source.error(f"'{declared.name[:60]}' is declared twice", declared.start)
            names.registers[unique] = declared.type
        elif declared.count > MAX_FAMILY or len(names.registers) > 16 * MAX_FAMILY:
            names.families.append((declared.name, declared.count, declared.type))
        elif declared.count:
            family = self.state.family(declared.name, declared.count)
            twice = names.declare_family(self.scope, family, declared.type)
            if twice is not None:
                raise self.source.error(f"'{twice[:60]}' is declared twice", declared.start)

    def _variable(self, variable: Variable, start: int) -> None:
        unique = self.names.declare(self.scope, variable.name, register=False)
        if unique is None:
            raise self.source.error(f"'{variable.name[:60]}' is declared twice", start)
        self.names.variables[unique] = self.state.renamed(variable, unique)

    def _loc_directive(self, cursor: Cursor) -> None:
        numbers = [cursor.integer("a file number"), cursor.integer("a line")]
        numbers.append(cursor.integer("a column") if cursor.kind == "number" else 0)
        function: str | None = None
        plus, outer = 0, (0, 0, 0)
        if cursor.accept(","):
            if cursor.identifier("'function_name'") != "function_name":
                cursor.fail("expected 'function_name'")
            function = cursor.identifier("a label")
            if cursor.accept("+"):
                plus = cursor.integer()
            cursor.expect(",")
            if cursor.identifier("'inlined_at'") != "inlined_at":
                cursor.fail("expected 'inlined_at'")
            outer = (cursor.integer(), cursor.integer(), cursor.integer())
        cursor.accept(";")
        self._set_loc(numbers[0], numbers[1], numbers[2], function, plus, outer)

    def _set_loc(
        self, file: int, line: int, column: int, function: str | None, plus: int, outer: tuple[int, int, int]
    ) -> None:
        """``inlined_at`` names a place; the latest ``.loc`` with that place is the next frame out."""
        parent: Loc | None = None
        depth = 0
        if function is not None:
            parent, depth = self._located.get(outer, (None, 0))
            if parent is None or depth >= _DEEPEST_INLINE:
                parent, depth = Loc(*outer), 1
            function = self.state.string_at(function, plus)
        self._loc = Loc(file, line, column, function, parent)
        self._located[file, line, column] = (self._loc, depth + 1)

    # ------------------------------------------------------------ names

    def resolve(self, globals_: Mapping[str, Variable]) -> None:
        """Apply declarations to all operands; undeclared registers and labels are errors."""
        for kind, label, targets, scope, start in self._tables:
            table = self.branch_targets if kind == ".branchtargets" else self.call_targets
            table[label] = tuple(self.names.lookup(scope, t) or t for t in targets)
            for target in table[label]:
                if kind == ".branchtargets" and target not in self.names.labels:
                    raise self.source.error(f"'{target[:60]}' is no label of the function", start)
        self._check_registers()
        odd, names = self.names.odd, self.names
        memo: dict[tuple[int, int], tuple[tuple[Operand, ...], Guard | None]] = {}
        for index, entry in enumerate(self.entries):
            if entry.names.isdisjoint(odd) and "[" not in entry.array:
                continue
            scope = self.scopes[index]
            key = (id(entry), scope.number)
            if key not in memo:
                access = entry.opcode.split(".", 1)[0] in _ACCESSES
                memo[key] = (
                    tuple(names.operand(o, scope, access, globals_) for o in entry.operands),
                    None if entry.guard is None else names.guard(entry.guard, scope),
                )
            old = self.instructions[index]
            found, guard = memo[key]
            self.instructions[index] = Instruction(
                old.opcode, found, guard, old.line, old.column, old.loc, old.text
            )
        self._check_labels()

    def _check_registers(self) -> None:
        """Every ``%name`` must be declared, as the assembler demands; large families are filled in here."""
        used = self.used = set[str]().union(*{id(e): e.names for e in self.entries}.values())
        declared = self.names.declared
        missing = set()
        for name in used:
            if name[0] == "%" and name not in declared and not is_special(name):
                kind = self._family_type(name)
                if kind is None:
                    missing.add(name)
                else:
                    self.names.registers[name] = kind
        if missing:
            for index, entry in enumerate(self.entries):
                found = missing & entry.names
                if found:
                    raise self._error_at(index, f"register '{min(found)[:60]}' is not declared")

    def _family_type(self, name: str) -> str | None:
        for prefix, count, kind in self.names.families:
            digits = name[len(prefix) :]
            if name.startswith(prefix) and digits.isdecimal() and len(digits) < 12 and int(digits) < count:
                return kind
        return None

    def _check_labels(self) -> None:
        labels = self.names.labels
        for index, instruction in enumerate(self.instructions):
            if instruction.opcode.startswith("bra") and instruction.base == "bra":
                target = instruction.operands[0] if instruction.operands else None
                if not isinstance(target, Symbol) or target.name not in labels:
                    shown = target.name[:60] if isinstance(target, Symbol) else "its target"
                    raise self._error_at(index, f"'bra' to '{shown}', which is no label of the function")

    def unknown(self, module_names: Set[str]) -> ParseError | None:
        """An error for the first name that neither the function nor the module declares, if there is one."""
        missing = {
            n
            for n in self.used
            if n[0] != "%" and n not in self.names.declared and n not in module_names and n not in _PREDEFINED
        }
        if missing:
            for index, entry in enumerate(self.entries):
                found = missing & entry.names
                if found and entry.opcode.split(".", 1)[0] in KNOWN_OPCODES:
                    return self._error_at(index, f"'{min(found)[:60]}' is not declared")
        return None

    def _error_at(self, index: int, message: str) -> ParseError:
        instruction = self.instructions[index]
        offset = self.source.starts()[instruction.line - 1] + instruction.column - 1
        return self.source.error(message, offset)

"""PTX text to a module: the statements outside of functions, function heads, and recovery from errors."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from types import MappingProxyType

from warpglass.errors import ParseError
from warpglass.ptx.body import Body
from warpglass.ptx.lexer import Cursor, Source, clean
from warpglass.ptx.model import Function, Module, Param, Variable
from warpglass.ptx.opcodes import LINKAGES, PERFORMANCE_DIRECTIVES, SPACES
from warpglass.ptx.resolve import Resolved, resolve
from warpglass.ptx.state import State
from warpglass.ptx.variables import params, skip_parentheses, type_words, variables

__all__ = ["parse", "parse_all"]

_VERSION = re.compile(r"^[ \t]*\.version\b", re.MULTILINE)
_BEFORE_VERSION = re.compile(
    r"^[ \t]*\.(?:target|address_size|visible|extern|weak|common|entry|func)\b", re.MULTILINE
)
#: Errors listed for one text.
_MOST_ERRORS = 100
_STARTS = frozenset({"entry", "func", "version", "target", "address_size", "section", "file"}) | LINKAGES
_FATBIN = re.compile(r"^Fatbin [a-z]+ code:[ \t]*$", re.MULTILINE)
_RESYNC = re.compile(
    r'"(?:[^"\\\n]|\\[^\n])*+"?|[{};]'
    r"|(?<=\n)[ \t]*+(?:\.(?:visible|weak|extern|common)[ \t]++)?+\.(?:entry|func)\b"
)


def parse(text: str, name: str = "<string>") -> Module:
    """Parse PTX ``text``; ``name`` is used in messages.

    What cuobjdump printed may hold several PTX texts: the first is returned and a diagnostic counts the
    others (:func:`parse_all` gives all). A function with an error comes out with ``has_body`` False and a
    diagnostic of severity ``error``; :class:`ParseError` is raised where nothing could be read at all.
    """
    source = Source(clean(text), name)
    parts = _parts(source)
    module = _Parser(source, *parts[0]).module()
    if len(parts) > 1:
        state = State(source)
        state.say("info", f"the file holds {len(parts)} PTX texts, this is the first", parts[1][0])
        module = dataclasses.replace(module, diagnostics=(*module.diagnostics, *state.diagnostics))
    return module


def parse_all(text: str, name: str = "<string>") -> tuple[Module, ...]:
    """Every PTX text of what cuobjdump printed, in order; one module for ordinary PTX."""
    source = Source(clean(text), name)
    return tuple(_Parser(source, start, limit).module() for start, limit in _parts(source))


def _parts(source: Source) -> list[tuple[int, int]]:
    """Start and end of each PTX text; one for text without cuobjdump's headers."""
    text = source.text
    heads = [m.start() for m in _FATBIN.finditer(text)]
    bounds = list(zip([0, *heads], [*heads, len(text)], strict=True))
    found = []
    for start, limit in bounds:
        version = _VERSION.search(text, start, limit)
        if version is not None:
            headless = _BEFORE_VERSION.search(text, start, version.start()) is None
            found.append((version.start() if headless else start, limit))
    return found or [(0, len(text))]


@dataclass(slots=True)
class _Head:
    """What stands before a body."""

    name: str
    is_entry: bool
    linkage: str
    returns: tuple[Param, ...]
    params: tuple[Param, ...]
    directives: dict[str, tuple[int, ...]]
    pragmas: list[str]
    start: int


class _Parser:
    def __init__(self, source: Source, start: int, limit: int) -> None:
        self.source = source
        self.state = State(source)
        self.cursor = Cursor(source, start, limit)
        self.start = start
        self.version = (0, 0)
        self.target: tuple[str, ...] = ()
        self.address_size = 32
        self.functions: dict[str, Function] = {}
        self.bodies: dict[str, tuple[Body, _Head, int]] = {}
        self.variables: dict[str, Variable] = {}
        self.aliases: list[tuple[str, str, int]] = []
        self.first_error: ParseError | None = None
        self.errors = 0

    # ------------------------------------------------------------ the module

    def module(self) -> Module:
        """Read everything; raise the first error where nothing came out."""
        cursor = self.cursor
        while cursor.kind != "end":
            start = self.state.here = cursor.start
            try:
                self._statement()
            except ParseError as error:
                self._failed(error)
                self._resync(start)
        if self.version == (0, 0):
            missing = self.source.error("'.version' is missing: is this PTX?", self.start)
            if not (self.functions or self.bodies):
                raise self.first_error or missing
            self.state.say("warning", "'.version' is missing", self.start)
        self._finish_bodies()
        self._apply_aliases()
        if self.first_error and not (self.variables or any(f.has_body for f in self.functions.values())):
            raise self.first_error
        return Module(
            name=self.source.name, version=self.version, target=self.target, address_size=self.address_size,
            functions=tuple(self.functions.values()), variables=tuple(self.variables.values()),
            files=MappingProxyType(dict(sorted(self.state.files.items()))),
            diagnostics=tuple(self.state.diagnostics),
            sections=MappingProxyType(self.state.sections), text=self.source.original,
        )  # fmt: skip

    def _failed(self, error: ParseError) -> None:
        self.first_error = self.first_error or error.with_traceback(None)
        self.errors += 1
        if self.errors <= _MOST_ERRORS:  # a hostile file must not cost a message a line
            self.state.report(error)
        elif self.errors == _MOST_ERRORS + 1:
            self.state.once("error", "more errors follow that are not listed", self.cursor.start)

    def _statement(self) -> None:
        cursor = self.cursor
        if cursor.kind != "dot":
            if cursor.accept(";"):
                return
            if cursor.value == "@" and cursor.text.startswith("@@DWARF", cursor.start):
                self._dwarf_line()
                return
            cursor.fail(f"expected a directive, found {cursor.value[:40]!r}")
        word = cursor.value[1:]
        if word in ("version", "target", "address_size"):
            self._header(word)
        elif word in ("entry", "func") or word in LINKAGES:
            self._declaration()
        elif word in SPACES or word in ("align", "attribute"):
            self._variables("")
        elif word == "file":
            self.state.file_directive(cursor)
        elif word == "section":
            self.state.section(cursor)
        elif word == "pragma":
            cursor.advance()
            self.state.strings(cursor)
            cursor.expect(";")
        elif word == "loc":
            cursor.advance()
            while cursor.kind == "number":
                cursor.advance()
            cursor.accept(";")
        elif word == "alias":
            self._alias()
        else:
            self.state.unknown_directive(cursor)

    def _header(self, word: str) -> None:
        cursor = self.cursor
        cursor.advance()
        if word == "version":
            match = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,4})", cursor.value)
            if match is None:
                cursor.fail("expected a version such as 8.0")
            if self.version == (0, 0):
                self.version = (int(match[1]), int(match[2]))
            cursor.advance()
        elif word == "target":
            names = [cursor.identifier("a target")]
            while cursor.accept(","):
                names.append(cursor.identifier("a target"))
            self.target = self.target or tuple(names)
        else:
            start = cursor.start
            size = cursor.integer("32 or 64")
            if size not in (32, 64):
                cursor.fail("the address size is 32 or 64", start)
            self.address_size = size

    def _dwarf_line(self) -> None:
        """The debug lines of ISA 1.x, ``@@DWARF .byte 1, 2``: kept as text."""
        cursor = self.cursor
        end = cursor.text.find("\n", cursor.start, cursor.limit)
        end = cursor.limit if end < 0 else end
        line = cursor.text[cursor.start : end].strip()
        before = self.state.sections.get("@@DWARF")
        self.state.sections["@@DWARF"] = line if before is None else f"{before}\n{line}"
        cursor.seek(end)

    def _alias(self) -> None:
        cursor = self.cursor
        start = cursor.start
        cursor.advance()
        name = cursor.identifier("a function's name")
        cursor.expect(",")
        self.aliases.append((name, cursor.identifier("a function's name"), start))
        cursor.expect(";")

    def _apply_aliases(self) -> None:
        for name, target, start in self.aliases:
            function = self.functions.get(target)
            if function is None:
                self.state.say("warning", f"alias of '{target[:60]}', which is not declared", start)
            else:
                self.functions[name] = dataclasses.replace(function, name=name)

    def _variables(self, linkage: str) -> None:
        cursor = self.cursor
        start = cursor.start
        line = self.source.place(start)[0]
        words = type_words(cursor)
        words.linkage = words.linkage or linkage
        if words.space in ("", "reg", "sreg", "local", "param"):
            cursor.fail(f"a variable of the module cannot be '.{words.space}'" if words.space else
                        "expected a state space", start)  # fmt: skip
        for variable in variables(cursor, words, line):
            old = self.variables.get(variable.name)
            if old is not None and "extern" not in (old.linkage, variable.linkage):
                self.state.say("warning", f"'{variable.name[:60]}' is declared twice", start)
            elif old is None or old.linkage == "extern":
                self.variables[variable.name] = variable
        self.state.take_notes(cursor)

    # ------------------------------------------------------------ functions

    def _declaration(self) -> None:
        """A function, or a variable with linkage."""
        cursor = self.cursor
        start, linkage = cursor.start, ""
        attributes = cursor.start
        while cursor.kind == "dot" and (cursor.value[1:] in LINKAGES or cursor.value == ".attribute"):
            if cursor.advance() == ".attribute":
                cursor.expect("(")
                skip_parentheses(cursor)
            else:
                linkage = cursor.text[attributes : cursor.start].strip()[1:]
            attributes = cursor.start
        if cursor.value in (".entry", ".func"):
            self._function(start, linkage)
        else:
            self._variables(linkage)

    def _function(self, start: int, linkage: str) -> None:
        cursor = self.cursor
        is_entry = cursor.advance() == ".entry"
        head = _Head("", is_entry, linkage, (), (), {}, [], start)
        try:
            while cursor.kind == "dot":  # .entry .visible k, .func .attribute(.unified(…)) name
                if cursor.value[1:] in LINKAGES:
                    head.linkage = cursor.advance()[1:]
                else:
                    self._performance(head)
            if cursor.value == "(":
                head.returns = params(cursor)
            while cursor.kind == "dot":
                self._performance(head)
            head.name = cursor.identifier("a function's name")
            if cursor.value == "(":
                head.params = params(cursor)
            while cursor.value not in ("{", ";"):
                self._performance(head)
        except ParseError as error:
            self._failed(error)
            self._give_up(head, start)
            return
        if cursor.accept(";"):
            self._prototype(head)
            return
        self._body(head)

    def _performance(self, head: _Head) -> None:
        cursor = self.cursor
        if cursor.kind != "dot":
            cursor.fail(f"expected '{{' or ';', found {cursor.value[:40]!r}" if cursor.value else
                        "expected a function's body, found the end of the text")  # fmt: skip
        word = cursor.value[1:]
        if word in _STARTS:
            cursor.fail(f"expected '{{' or ';', found {cursor.value!r}")
        if word not in PERFORMANCE_DIRECTIVES:
            self.state.once("warning", f"unknown directive '.{word[:40]}' is kept as text", cursor.start)
            cursor.advance()
            while cursor.kind in ("number", "string") or cursor.value == ",":
                cursor.advance()
            return
        cursor.advance()
        if word == "pragma":
            head.pragmas.extend(self.state.strings(cursor))
            cursor.accept(";")
        elif word == "attribute":
            cursor.expect("(")
            skip_parentheses(cursor)
        else:
            head.directives[word] = self.state.integers(cursor)

    def _body(self, head: _Head) -> None:
        cursor = self.cursor
        body = Body(self.state, (*head.returns, *head.params))
        try:
            offset, line = body.read(cursor.end, self.source.place(cursor.start)[0], cursor.limit)
        except ParseError as error:
            self._failed(error)
            self._give_up(head, head.start)
            return
        cursor.seek(offset + 1)
        if head.name in self.bodies:
            self._failed(self.source.error(f"'{head.name[:60]}' is defined twice", head.start))
            return
        self._prototype(head)
        self.bodies[head.name] = (body, head, line)

    def _finish_bodies(self) -> None:
        """Operands are resolved when every function and variable of the module is known."""
        names = self.functions.keys() | self.variables.keys() | {a[0] for a in self.aliases}
        for name, (body, head, end_line) in self.bodies.items():
            try:
                found = resolve(body, self.variables, names)
            except ParseError as error:
                self._failed(error)
                continue
            self.functions[name] = self._made(head, body, found, end_line)

    def _made(self, head: _Head, body: Body, found: Resolved, end_line: int) -> Function:
        directives = {**head.directives, **body.directives}
        return Function(
            name=head.name, is_entry=head.is_entry, linkage=head.linkage, params=head.params,
            returns=head.returns,
            registers=MappingProxyType(body.names.registers), variables=tuple(body.names.variables.values()),
            instructions=found.instructions, labels=MappingProxyType(body.names.labels),
            line=self.source.place(head.start)[0], end_line=end_line, has_body=True,
            directives=MappingProxyType(directives), branch_targets=MappingProxyType(found.branch_targets),
            call_targets=MappingProxyType(found.call_targets), prototypes=MappingProxyType(body.prototypes),
            pragmas=(*head.pragmas, *body.pragmas), noreturn="noreturn" in directives,
        )  # fmt: skip

    def _prototype(self, head: _Head) -> None:
        """A function known by its head alone; a definition read earlier stays."""
        if head.name in self.functions and head.name in self.bodies:
            return
        line = self.source.place(head.start)[0]
        self.functions[head.name] = Function(
            name=head.name, is_entry=head.is_entry, linkage=head.linkage, params=head.params,
            returns=head.returns,
            registers={}, variables=(), instructions=(), labels={}, line=line,
            end_line=self.source.place(self.cursor.start)[0], has_body=False,
            directives=MappingProxyType(head.directives), pragmas=tuple(head.pragmas),
            noreturn="noreturn" in head.directives,
        )  # fmt: skip

    # ------------------------------------------------------------ recovery

    def _give_up(self, head: _Head, start: int) -> None:
        """Keep what is known of a function with an error and go on after it."""
        self._resync(start)
        if head.name:
            self._prototype(head)

    def _resync(self, start: int) -> None:
        """Go behind the statement that started at ``start``: its ``;`` or braces, or the next function."""
        cursor = self.cursor
        depth, first = 0, True
        for match in _RESYNC.finditer(cursor.text, start, cursor.limit):
            piece = match.group()
            if piece == "{":
                depth += 1
            elif piece == "}":
                depth -= 1
                if depth <= 0:
                    cursor.seek(match.end())
                    return
            elif piece == ";":
                if depth == 0:
                    cursor.seek(match.end())
                    return
            elif piece[0] != '"' and not (first and match.start() <= start):
                cursor.seek(match.start())
                return
            first = False
        cursor.seek(cursor.limit)

"""Declarations: ``.reg``, variables of every state space with initialisers, and parameters."""

from __future__ import annotations

from dataclasses import dataclass

from warpglass.ptx.initial import Initializer, Relocation
from warpglass.ptx.lexer import Cursor
from warpglass.ptx.model import Param, Variable
from warpglass.ptx.opcodes import LINKAGES, OPAQUE_TYPES, SPACES, TYPE_SIZES
from warpglass.ptx.operands import MAX_NESTING, constant

__all__ = ["RegisterNames", "TypeWords", "params", "register_names", "type_words", "variables"]

#: Elements of one array; the product of its dimensions must stay an address.
MAX_SIZE = 1 << 62

_POINTER_WORDS = frozenset({"const", "global", "local", "shared", "generic", "param", "align"})


@dataclass(slots=True)
class TypeWords:
    """The dotted words before a declared name, in whatever order they stood."""

    linkage: str = ""
    space: str = ""
    type: str = ""
    align: int = 0
    vector: int = 1
    pointer: str | None = None
    pointer_align: int = 0

    @property
    def element(self) -> int:
        """Bytes of one element (a vector counts as one)."""
        return (8 if self.type in OPAQUE_TYPES else TYPE_SIZES[self.type]) * self.vector


@dataclass(slots=True)
class RegisterNames:
    """One declarator of ``.reg``: a name (``count`` None) or the family ``prefix<count>``."""

    name: str
    count: int | None
    type: str
    start: int


def type_words(cursor: Cursor) -> TypeWords:
    """Read linkage, space, alignment, vector and type words until something else comes."""
    words = TypeWords()
    while cursor.kind == "dot":
        start, word = cursor.start, cursor.value[1:]
        cursor.advance()
        if word in ("align", "ptr"):
            _align_or_pointer(cursor, words, word)
        elif word == "attribute":
            cursor.expect("(")
            skip_parentheses(cursor)
        elif word in TYPE_SIZES or (word in OPAQUE_TYPES and words.space):
            if words.type:
                cursor.fail(f"a second type '.{word}'", start)
            words.type = word
        elif word in ("v2", "v4", "v8"):
            words.vector = int(word[1:])
        elif word in LINKAGES:
            words.linkage = word
        elif word in SPACES:
            if words.space:
                cursor.fail(f"a second state space '.{word}'", start)
            words.space = word
            if word == "const" and cursor.accept("["):  # constant banks of ISA 1.x and 2.x
                cursor.integer("a bank number")
                cursor.expect("]")
        else:
            cursor.fail(f"unknown type or state space '.{word[:40]}'", start)
    return words


def _align_or_pointer(cursor: Cursor, words: TypeWords, word: str) -> None:
    if word == "align":
        start = cursor.start
        value = cursor.integer("an alignment")
        if value < 1 or value & (value - 1) or value > 1 << 31:
            cursor.fail("an alignment must be a power of two", start)
        words.align = value
        return
    words.pointer = "generic"
    while cursor.kind == "dot" and cursor.value[1:] in _POINTER_WORDS:
        hint = cursor.advance()[1:]
        if hint == "align":
            words.pointer_align = cursor.integer("an alignment")
        else:
            words.pointer = hint


def skip_parentheses(cursor: Cursor) -> None:
    """Skip to the parenthesis that closes the one just taken."""
    depth = 1
    while depth:
        if cursor.kind == "end":
            cursor.fail("expected ')'")
        depth += (cursor.value == "(") - (cursor.value == ")")
        cursor.advance()


def register_names(cursor: Cursor) -> list[RegisterNames]:
    """The rest of ``.reg`` after that word, with its ``;``."""
    words = type_words(cursor)
    if not words.type:
        cursor.fail("expected a register type")
    kind = words.type if words.vector == 1 else f"v{words.vector}.{words.type}"
    found = []
    while True:
        start = cursor.start
        name = cursor.identifier("a register name")
        count: int | None = None
        if cursor.accept("<"):
            count = cursor.integer("a number of registers")
            if count < 0:
                cursor.fail("a negative number of registers", start)
            cursor.expect(">")
        found.append(RegisterNames(name, count, kind, start))
        if not cursor.accept(","):
            break
    cursor.expect(";", "after a register declaration")
    return found


# ---------------------------------------------------------------- variables


def _shape(cursor: Cursor) -> tuple[int, ...]:
    """``[2][3]``; an empty dimension is -1 for now."""
    shape: list[int] = []
    while cursor.accept("["):
        if len(shape) >= MAX_NESTING:
            cursor.fail("too many dimensions")
        if cursor.accept("]"):
            if shape:
                cursor.fail("only the first dimension may be left open")
            shape.append(-1)
            continue
        start = cursor.start
        size = constant(cursor)
        if size.kind != "int" or size.value < 0:
            cursor.fail("a dimension must be a whole number", start)
        cursor.expect("]")
        shape.append(int(size.value))
    return tuple(shape)


def variables(cursor: Cursor, words: TypeWords, line: int) -> list[Variable]:
    """The declarators after ``words``, up to and with the ``;``."""
    if not words.type:
        cursor.fail("expected a type")
    found = []
    while True:
        found.append(_declarator(cursor, words, line))
        if not cursor.accept(","):
            break
    cursor.expect(";", "after a variable")
    return found


def _declarator(cursor: Cursor, words: TypeWords, line: int) -> Variable:
    start = cursor.start
    name = cursor.identifier("a variable's name")
    if cursor.accept("<"):  # parameterised names exist for registers and, in old versions, for variables
        cursor.fail("a parameterised name needs .reg", start)
    shape = _shape(cursor)
    data: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    if cursor.accept("="):
        if words.type in OPAQUE_TYPES:
            _skip_opaque(cursor)
        else:
            writer = Initializer(cursor, words.type, words.vector, shape)
            writer.read()
            if shape and shape[0] == -1:
                shape = (-(-writer.high // writer.inner), *shape[1:])
            data, relocations = writer.finish(shape)
    size = _total(cursor, shape, words.element, start)
    shape = tuple(max(n, 0) for n in shape)
    align = words.align or max(1, words.element)
    return Variable(
        name=name, space=words.space, type=words.type, align=align, shape=shape, size=size, line=line,
        linkage=words.linkage, initializer=data, relocations=relocations, vector=words.vector,
    )  # fmt: skip


def _total(cursor: Cursor, shape: tuple[int, ...], element: int, start: int) -> int:
    size = element
    for n in shape:
        size *= max(n, 0)
        if size > MAX_SIZE:
            cursor.fail("the array is larger than any address space", start)
    return size


def _skip_opaque(cursor: Cursor) -> None:
    """Texture, sampler and surface initialisers name fields of a handle; nothing here executes them."""
    depth = 0
    while cursor.kind != "end":
        if depth == 0 and cursor.value in (",", ";"):
            return
        depth += (cursor.value == "{") - (cursor.value == "}")
        cursor.advance()


# ---------------------------------------------------------------- parameters


def params(cursor: Cursor, closing: str = ")") -> tuple[Param, ...]:
    """A parenthesised parameter list; the opening parenthesis is still to come."""
    cursor.expect("(")
    found: list[Param] = []
    if cursor.accept(closing):
        return ()
    while True:
        found.append(_param(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(closing, "at the end of the parameters")
    return tuple(found)


def _param(cursor: Cursor) -> Param:
    start = cursor.start
    words = type_words(cursor)
    if words.space not in ("param", "reg"):
        cursor.fail("a parameter starts with .param or .reg", start)
    if not words.type:
        cursor.fail("expected a parameter's type")
    name = cursor.identifier("a parameter's name")
    if cursor.accept("<"):
        cursor.fail("a parameter cannot be parameterised", start)
    shape = _shape(cursor)
    size = _total(cursor, shape, words.element, start)
    count = size // words.element if shape and words.element else words.vector
    return Param(
        name=name, type=words.type, align=words.align or max(1, words.element),
        count=count * (words.vector if shape else 1), size=size, space=words.space, is_array=bool(shape),
        pointer=words.pointer, pointer_align=words.pointer_align,
    )  # fmt: skip

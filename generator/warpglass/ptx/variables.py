"""Declarations: ``.reg``, variables of every state space with initialisers, and parameters."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from warpglass.ptx.lexer import Cursor, is_integer
from warpglass.ptx.model import Immediate, Param, Variable
from warpglass.ptx.opcodes import LINKAGES, OPAQUE_TYPES, SPACES, TYPE_SIZES
from warpglass.ptx.operands import MAX_NESTING, constant

__all__ = ["RegisterNames", "TypeWords", "params", "register_names", "type_words", "variables"]

#: Above this size an initialiser keeps only the bytes that were written; the rest is zero.
MAX_INITIALIZER = 1 << 24
#: Elements of one array; the product of its dimensions must stay an address.
MAX_SIZE = 1 << 62

Relocation = tuple[int, str, int, bool]

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
            writer = _Initializer(cursor, words, shape)
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


class _Initializer:
    """Writes the values of one initialiser, nested or flat, at their element positions."""

    def __init__(self, cursor: Cursor, words: TypeWords, shape: tuple[int, ...]) -> None:
        self.cursor = cursor
        self.type = words.type
        self.width = TYPE_SIZES[words.type]
        # Vector components count as one further dimension.
        dims = (*shape, words.vector) if words.vector > 1 else shape
        self.strides = [1]
        for n in reversed(dims):
            self.strides.insert(0, self.strides[0] * max(n, 1))
        self.open = bool(shape) and shape[0] == -1
        self.limit = None if self.open else self.strides[0]
        self.inner = self.strides[1] if self.open else 1
        self.data = bytearray()
        self.high = 0
        self.relocations: list[Relocation] = []
        self.masked: list[tuple[int, str, int, bool, int]] = []

    def read(self) -> None:
        """The whole initialiser: one scalar or a braced list."""
        if self.cursor.value != "{":
            self._scalar(0)
            return
        if not self._flat():
            self._list(0, 1)

    def _flat(self) -> bool:
        """Fast path for ``{1, 2, 3}`` of plain integers, the form in which compilers write tables."""
        cursor = self.cursor
        close = cursor.text.find("}", cursor.start, cursor.limit)
        body = cursor.text[cursor.start + 1 : close] if close > 0 else "{"
        if self.type[0] not in "bus" or self.width not in (1, 2, 4, 8) or "{" in body:
            return False
        items = body.split(",")
        if self.limit is not None and len(items) > self.limit:
            return False
        try:
            values = [int(v) for v in items]
            mask = (1 << (8 * self.width)) - 1
            if any(len(v) > 1 and v.strip()[0] in "0_" for v in items) or "_" in body or not body.isascii():
                values = [self._octal_aware(v) for v in items]
            code = {1: "B", 2: "H", 4: "I", 8: "Q"}[self.width]
            self.data += struct.pack(f"<{len(values)}{code}", *(v & mask for v in values))
        except ValueError:
            return False
        self.high = len(values)
        cursor.seek(close + 1)
        return True

    @staticmethod
    def _octal_aware(text: str) -> int:
        digits = text.strip()
        bare = digits.removeprefix("-")
        if not (bare.isascii() and bare.isdecimal()) or (bare[0] == "0" and len(bare) > 1):
            raise ValueError(digits)
        return int(digits)

    def _list(self, position: int, level: int) -> int:
        """One braced list at nesting ``level``; returns the position after the sub-array it fills."""
        cursor = self.cursor
        if level > MAX_NESTING:
            cursor.fail("initialiser nested too deeply")
        cursor.expect("{")
        start = position
        stride = self.strides[level] if level < len(self.strides) else 1
        while cursor.value != "}":
            if cursor.value == "{":
                position = start + -(-(position - start) // stride) * stride
                self._list(position, level + 1)
                position += stride
            else:
                self._scalar(position)
                position += 1
            if not cursor.accept(","):
                break
        cursor.expect("}", "at the end of an initialiser")
        self.high = max(self.high, position)
        return position

    def _scalar(self, position: int) -> None:
        cursor = self.cursor
        if self.limit is not None and position >= self.limit:
            cursor.fail("more initial values than elements")
        offset = position * self.width
        start, mask = cursor.start, 0
        if cursor.kind == "number" and is_integer(cursor.value) and self._mask_follows():
            mask = int(constant(cursor).bits)
            cursor.expect("(")
            self._symbol(offset, mask)
            cursor.expect(")")
        elif cursor.kind == "ident" and cursor.value != "WARP_SZ":
            self._symbol(offset, 0)
        else:
            self._store(offset, _encode(cursor, constant(cursor), self.type, self.width, start))
        self.high = max(self.high, position + 1)

    def _mask_follows(self) -> bool:
        rest = self.cursor.text[self.cursor.end : self.cursor.end + 16].lstrip()
        return rest.startswith("(")

    def _symbol(self, offset: int, mask: int) -> None:
        cursor = self.cursor
        generic = cursor.value == "generic"
        name = cursor.identifier("a symbol")
        if generic and cursor.accept("("):
            name = cursor.identifier("a symbol")
            cursor.expect(")")
        else:
            generic = False
        addend = 0
        while cursor.value in ("+", "-"):
            sign = 1 if cursor.advance() == "+" else -1
            addend += sign * cursor.integer("an offset")
        if mask:
            self.masked.append((offset, name, addend, generic, mask))
        else:
            self.relocations.append((offset, name, addend, generic))
        self._store(offset, bytes(self.width))

    def _store(self, offset: int, value: bytes) -> None:
        if len(self.data) < offset:
            if offset > MAX_INITIALIZER + len(self.data):
                self.cursor.fail("the initialiser leaves too wide a gap")
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset : offset + len(value)] = value

    def finish(self, shape: tuple[int, ...]) -> tuple[bytes, tuple[Relocation, ...]]:
        """The bytes, padded to the variable's size, and the relocations in order."""
        size = self.width * self.strides[0] if not self.open else self.width * self.inner * shape[0]
        if len(self.data) < size <= MAX_INITIALIZER:
            self.data.extend(bytes(size - len(self.data)))
        return bytes(self.data), tuple(sorted([*self.relocations, *self._joined()]))

    def _joined(self) -> list[Relocation]:
        """Bytes of one address written as ``0xff(x), 0xff00(x), …`` become one relocation."""
        found: list[Relocation] = []
        for offset, name, addend, generic, mask in self.masked:
            if mask & 0xFF:
                found.append((offset, name, addend, generic))
            elif not any(r[1:] == (name, addend, generic) for r in found[-1:]):
                note = f"a part of the address of '{name[:40]}' in an initialiser is kept as zero"
                self.cursor.notes.append((note, self.cursor.start))
        return found


def _encode(cursor: Cursor, value: Immediate, kind: str, width: int, start: int) -> bytes:
    """The bytes of one initial value of a PTX type."""
    if kind in ("f32", "f64", "tf32"):
        wanted = "f64" if kind == "f64" else "f32"
        if value.kind == wanted:
            return value.bits.to_bytes(width, "little")
        number = float(value.value)
        if wanted == "f64":
            return struct.pack("<d", number)
        try:
            return struct.pack("<f", number)
        except OverflowError:
            return struct.pack("<f", float("inf") if number > 0 else float("-inf"))
    if kind == "pred":
        cursor.fail("a predicate has no initial value", start)
    if value.kind == "f64" and kind in ("f16", "bf16"):
        return _half(float(value.value), kind)
    if value.kind == "f64" and width == 4:  # the assembler stores 1.5 in a .b32 as a float
        return _encode(cursor, value, "f32", width, start)
    bits = value.bits
    if value.kind == "int" and value.bits >> 63 and width > 8:
        bits |= ((1 << (8 * width)) - 1) ^ 0xFFFFFFFFFFFFFFFF
    return (bits & ((1 << (8 * width)) - 1)).to_bytes(width, "little")


def _half(number: float, kind: str) -> bytes:
    """A decimal constant as f16 or bf16, rounded to nearest even; beyond the range it is infinite."""
    try:
        if kind == "f16":
            return struct.pack("<e", number)
        bits = int.from_bytes(struct.pack("<f", number), "little")
    except OverflowError:
        infinity = 0x7C00 if kind == "f16" else 0x7F80
        return (infinity | (0x8000 if number < 0 else 0)).to_bytes(2, "little")
    if bits & 0x7FFFFFFF > 0x7F800000:
        return (bits >> 16 | 0x40).to_bytes(2, "little")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).to_bytes(2, "little")


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

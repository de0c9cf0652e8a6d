"""Initial values of variables: nested or flat lists, constants of every type, addresses of symbols."""

from __future__ import annotations

import struct

from warpglass.ptx.lexer import Cursor, is_integer
from warpglass.ptx.model import Immediate
from warpglass.ptx.opcodes import TYPE_SIZES
from warpglass.ptx.operands import MAX_NESTING, constant

__all__ = ["Initializer", "Relocation"]

#: Above this size an initialiser keeps only the bytes that were written; the rest is zero.
MAX_INITIALIZER = 1 << 24

#: (byte offset, symbol, addend, generic)
Relocation = tuple[int, str, int, bool]


class Initializer:
    """Writes the values of one initialiser, nested or flat, at their element positions."""

    def __init__(self, cursor: Cursor, kind: str, vector: int, shape: tuple[int, ...]) -> None:
        self.cursor = cursor
        self.type = kind
        self.width = TYPE_SIZES[kind]
        # Vector components count as one further dimension.
        dims = (*shape, vector) if vector > 1 else shape
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

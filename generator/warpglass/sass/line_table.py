"""The reader of ``.debug_line`` and ``.nv_debug_line_sass``: DWARF line programs with inlining.

The layout is DWARF's (versions 2 to 4); two extended opcodes are NVIDIA's own and are described in LLVM's
NVPTX documentation: 0x90 ``inlined_call`` (the row number of the caller's row, then the offset of the
inlined function's name in ``.debug_str``) and 0x91 ``set_function_name``. A caller of 0 ends the inlining.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from warpglass.sass.model import Frame, LineRow

__all__ = ["read_line_table"]

_MAX_ROWS = 2_000_000
_MAX_DEPTH = 64
_MAX_LINE = 1 << 31
#: Frames of all rows together; real tables have some ten thousand.
_MAX_FRAMES = 4_000_000


class _End(Exception):
    """The program runs beyond its bytes."""


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int
    end: int

    def u8(self) -> int:
        if self.at >= self.end:
            raise _End
        value = self.data[self.at]
        self.at += 1
        return value

    def number(self, size: int) -> int:
        if self.at + size > self.end:
            raise _End
        value = int.from_bytes(self.data[self.at : self.at + size], "little")
        self.at += size
        return value

    def uleb(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise _End

    def sleb(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value
        raise _End

    def string(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise _End
        text = self.data[self.at : stop].decode("utf-8", "replace")
        self.at = stop + 1
        return text


@dataclass(slots=True)
class _Row:
    section: int | None
    address: int
    file: int
    line: int
    context: int
    function: int
    end: bool = False


@dataclass(slots=True)
class _Unit:
    min_length: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: list[int]
    folders: list[str]
    files: list[tuple[str, int]]
    rows: list[_Row] = field(default_factory=list)


def _header(reader: _Reader) -> _Unit:
    version = reader.number(2)
    length = reader.number(4)
    program = reader.at + length
    min_length = reader.u8()
    if version >= 4:
        reader.u8()
    reader.u8()
    line_base = struct.unpack("b", bytes([reader.u8()]))[0]
    line_range = reader.u8() or 1
    opcode_base = reader.u8()
    lengths = [reader.u8() for _ in range(max(0, opcode_base - 1))]
    folders = [""]
    while True:
        text = reader.string()
        if not text:
            break
        folders.append(text)
    files: list[tuple[str, int]] = [("", 0)]
    while True:
        text = reader.string()
        if not text:
            break
        files.append((text, reader.uleb()))
        reader.uleb()
        reader.uleb()
    if not reader.at <= program <= reader.end:
        raise _End
    reader.at = program
    return _Unit(min_length, line_base, line_range, opcode_base, lengths, folders, files)


def _run(
    reader: _Reader, unit: _Unit, relocations: Mapping[int, tuple[int, int]]
) -> None:  # fmt: skip
    """Execute one unit's program; ``relocations`` maps an address field's position to (section, value)."""
    row = _Row(None, 0, 1, 1, 0, 0)
    while reader.at < reader.end and len(unit.rows) < _MAX_ROWS:
        opcode = reader.u8()
        if opcode >= unit.opcode_base:
            adjusted = opcode - unit.opcode_base
            row.address += adjusted // unit.line_range * unit.min_length
            row.line += unit.line_base + adjusted % unit.line_range
            _emit(unit, row)
        elif opcode == 0:
            row = _extended(reader, unit, row, relocations)
        elif opcode == 1:
            _emit(unit, row)
        elif opcode == 2:
            row.address += reader.uleb() * unit.min_length
        elif opcode == 3:
            row.line += reader.sleb()
        elif opcode == 4:
            row.file = reader.uleb()
        elif opcode == 8:
            row.address += (255 - unit.opcode_base) // unit.line_range * unit.min_length
        elif opcode == 9:
            row.address += reader.number(2)
        else:
            # The remaining standard opcodes (column, statement, block, prologue …) change nothing here.
            for _ in range(unit.lengths[opcode - 1]):
                reader.uleb()


def _emit(unit: _Unit, row: _Row) -> None:
    unit.rows.append(_Row(row.section, row.address, row.file, row.line, row.context, row.function))


def _extended(reader: _Reader, unit: _Unit, row: _Row, relocations: Mapping[int, tuple[int, int]]) -> _Row:
    length = reader.uleb()
    stop = min(reader.at + length, reader.end)
    if length == 0:
        return row
    opcode = reader.u8()
    if opcode == 1:
        unit.rows.append(_Row(row.section, row.address, row.file, row.line, 0, 0, end=True))
        row = _Row(None, 0, 1, 1, 0, 0)
    elif opcode == 2:
        position = reader.at
        value = reader.number(min(8, stop - reader.at))
        section, base = relocations.get(position, (None, 0))
        row.section, row.address = section, base + value
    elif opcode == 0x90:
        row.context = reader.uleb()
        row.function = reader.uleb()
    elif opcode == 0x91:
        row.function = reader.uleb()
    reader.at = stop
    return row


def _text(strings: bytes, offset: int) -> str | None:
    if not 0 <= offset < len(strings):
        return None
    stop = strings.find(b"\0", offset)
    return strings[offset : stop if stop >= 0 else len(strings)].decode("utf-8", "replace") or None


def _frames(unit: _Unit, row: _Row, strings: bytes) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    current: _Row | None = row
    while current is not None and len(frames) < _MAX_DEPTH:
        function = _text(strings, current.function) if current.context else None
        # A damaged program counts lines below 0 or beyond any file: line 0 is "none" as the compiler has it.
        line = current.line if 0 <= current.line < _MAX_LINE else 0
        frames.append(Frame(_file(unit, current.file), line, function))
        number = current.context
        current = unit.rows[number - 1] if 0 < number <= len(unit.rows) else None
    return tuple(frames)


def _file(unit: _Unit, index: int) -> str:
    if not 0 < index < len(unit.files):
        return ""
    name, folder = unit.files[index]
    if name.startswith("/") or not 0 < folder < len(unit.folders):
        return name
    return f"{unit.folders[folder].rstrip('/')}/{name}"


def read_line_table(
    data: bytes, relocations: Mapping[int, tuple[int, int]], strings: bytes = b""
) -> tuple[Mapping[int | None, tuple[LineRow, ...]], str | None]:
    """Rows by section index (None where no relocation says which), and why reading stopped early, or None.

    ``relocations`` maps positions in ``data`` to (section index, offset in that section); ``strings`` is
    ``.debug_str``. Of several rows at one offset the last stands for the code, the others are the callers
    of its inlining. Rows come in offset order.
    """
    found: dict[int | None, dict[int, tuple[Frame, ...]]] = {}
    problem: str | None = None
    at, budget = 0, _MAX_FRAMES
    while at + 6 <= len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        end = at + 4 + length
        if length >= 0xFFFFFFF0 or end > len(data):
            problem = "the line table is cut short"
            break
        version = int.from_bytes(data[at + 4 : at + 6], "little")
        if not 2 <= version <= 4:
            problem = f"the line table has DWARF version {version}, which is not read"
            break
        reader = _Reader(data, at + 4, end)
        unit: _Unit | None = None
        try:
            unit = _header(reader)
            _run(reader, unit, relocations)
        except _End:
            problem = "the line table is cut short"
        if unit is not None:
            budget = _collect(unit, strings, found, budget)
        if budget <= 0:
            problem = "the line table is larger than any compiler's; the rest is left out"
            break
        at = end
    return {
        section: tuple(LineRow(offset, frames) for offset, frames in sorted(rows.items()))
        for section, rows in found.items()
    }, problem


def _collect(
    unit: _Unit, strings: bytes, found: dict[int | None, dict[int, tuple[Frame, ...]]], budget: int
) -> int:  # fmt: skip
    """Keep the last row of each address; what is left of the budget of frames."""
    last: dict[tuple[int | None, int], _Row] = {}
    for row in unit.rows:
        if not row.end:
            last[row.section, row.address] = row
    for (section, address), row in last.items():
        if budget <= 0:
            break
        frames = _frames(unit, row, strings)
        found.setdefault(section, {})[address] = frames
        budget -= len(frames)
    return budget

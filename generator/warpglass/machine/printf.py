"""Device printf: reads the format and the packed arguments, and formats as C does."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["format_text", "generic_bytes", "read_string"]

#: Longest string that is read from device memory.
LONGEST = 4096
#: Widest field: C pads as told, and a hostile format must not fill the memory with blanks.
WIDEST = 1024

_SPEC = re.compile(r"%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?(hh|h|ll|l|z|j|t|L)?([diouxXfFeEgGaAcspn%])")


def generic_bytes(m: Machine, lane: int, address: int, size: int) -> bytes:
    """Up to ``size`` bytes at a generic address as ``lane`` sees it; shorter where memory ends."""
    layout = m.arena.layout
    if layout.shared_window <= address < layout.shared_window + layout.window_size:
        offset = address - layout.shared_window
        room = max(min(size, m.shared_bytes - offset), 0)
        return m.arena.read(m.shared_at + int(m.block_of[lane >> 5]) * m.shared_stride + offset, room)
    if layout.local_window <= address < layout.local_window + layout.window_size:
        offset = address - layout.local_window
        room = max(min(size, m.local_stride - offset), 0)
        return m.arena.read(m.local_at + lane * m.local_stride + offset, room)
    offset = address - layout.global_base
    region = m.arena.find(offset)
    if region is None:
        return b""
    end = min(offset + size, region.end)
    region.span(m.arena, offset, end)
    return m.arena.read(offset, end - offset)


def read_string(m: Machine, lane: int, address: int) -> str:
    """The zero-terminated string at a generic address, at most 4096 bytes."""
    raw = generic_bytes(m, lane, address, LONGEST)
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


class _Arguments:
    """Reads packed arguments, each aligned to its size."""

    def __init__(self, m: Machine, lane: int, address: int) -> None:
        self.m = m
        self.lane = lane
        self.address = address
        self.at = 0

    def take(self, kind: str, size: int) -> int | float:
        """The next argument in ``struct`` format ``kind``; 0 where memory ends."""
        self.at = (self.at + size - 1) // size * size
        raw = generic_bytes(self.m, self.lane, self.address + self.at, size) if self.address else b""
        self.at += size
        if len(raw) < size:
            return 0
        value: int | float = struct.unpack("<" + kind, raw)[0]
        return value


def format_text(m: Machine, lane: int, text: str, address: int) -> str:
    """``text`` with the conversions replaced by the arguments packed at ``address``."""
    arguments = _Arguments(m, lane, address)

    def one(match: re.Match[str]) -> str:
        return _convert(m, lane, arguments, match)

    return _SPEC.sub(one, text)


def _convert(m: Machine, lane: int, arguments: _Arguments, match: re.Match[str]) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    if width == "*":
        asked = int(arguments.take("i", 4))
        flags, width = (flags + "-", str(-asked)) if asked < 0 else (flags, str(asked))
    if precision == "*":
        precision = str(max(int(arguments.take("i", 4)), 0))
    width = str(min(int(width), WIDEST)) if width else ""
    cut = None if precision is None else min(int(precision or 0), WIDEST)
    tail = "" if cut is None else f".{cut}"
    if kind in "di":
        return f"%{flags}{width}{tail}d" % _integer(arguments, length, True)
    if kind in "ouxX":
        number = _integer(arguments, length, False)
        if "#" in flags and kind == "o" and number:
            return f"%{flags.replace('#', '')}{width}s" % f"0{number:o}"
        return f"%{flags}{width}{tail}{kind if kind != 'u' else 'd'}" % number
    if kind in "fFeEgG":
        return f"%{flags}{width}{tail}{kind}" % float(arguments.take("d", 8))
    if kind in "aA":
        shown = float(arguments.take("d", 8)).hex()
        return f"%{flags.replace('0', '')}{width}s" % (shown.upper() if kind == "A" else shown)
    if kind == "c":
        return f"%{flags.replace('0', '')}{width}s" % chr(int(arguments.take("i", 4)) & 0xFF)
    if kind == "p":
        return f"%{flags.replace('0', '')}{width}s" % f"0x{int(arguments.take('Q', 8)):x}"
    if kind == "s":
        value = read_string(m, lane, int(arguments.take("Q", 8)))
        return f"%{flags.replace('0', '')}{width}s" % (value if cut is None else value[:cut])
    return ""


def _integer(arguments: _Arguments, length: str | None, signed: bool) -> int:
    if length in ("ll", "l", "z", "j", "t"):
        return int(arguments.take("q" if signed else "Q", 8))
    value = int(arguments.take("i" if signed else "I", 4))
    bits = {"hh": 8, "h": 16}.get(length or "", 32)
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value

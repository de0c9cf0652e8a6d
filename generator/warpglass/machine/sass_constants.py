"""Constant banks of a launch, and the data sections of a cubin, laid out in the machine's memory.

Bank 0 holds what the driver writes for a launch: block and grid extents, the windows of the generic address
space, the stack's top, then the parameters. Where they stand was read from compiled code of each
architecture: docs/sass-executed.md lists the offsets.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.machine.launch import Launch
from warpglass.machine.memory import Arena
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.regions import Region
from warpglass.sass.model import Function, Module
from warpglass.sass.operands import Constant

__all__ = ["Bank0", "ConstantBanks", "DataSections", "bank0_layout"]

_BANK_SIZE = 1 << 16
_CONSTANT_SECTION = re.compile(r"\.nv\.constant(\d)(?:\.(.+))?")
_DATA = (".nv.global", ".nv.global.init")


@dataclass(frozen=True, slots=True)
class Bank0:
    """Byte offsets in constant bank 0."""

    block: int
    grid: int
    stack: int
    shared_window: int
    local_window: int
    params: int


def bank0_layout(sm: int, params: int | None) -> Bank0:
    """Where things stand for compute capability ``sm`` (86); ``params`` is what the image itself says."""
    if sm >= 100:
        return Bank0(0x360, 0x370, 0x37C, 0x340, 0x348, 0x380 if params is None else params)
    base = 0x210 if sm >= 90 else 0x160
    return Bank0(0x0, 0xC, 0x28, 0x18, 0x20, base if params is None else params)


class DataSections:
    """Variables of an image in the arena. Call before the arena is mapped; :meth:`fill` after it."""

    def __init__(self, module: Module, kernel: Function, arena: Arena) -> None:
        self.module = module
        self.kernel = kernel
        self.starts: dict[str, int] = {}
        for name, content in module.sections.items():
            wanted = name in _DATA or self._bank_of(name) is not None
            if wanted and content:
                start = arena.reserve(len(content))
                arena.add_region(Region(name, start, len(content), kind="global", given=True))
                self.starts[name] = start
        base = arena.layout.global_base
        self.symbols: Mapping[str, int] = {
            s.name: self.starts[s.section] + s.offset + base
            for s in module.symbols
            if s.section in self.starts
        }

    def _bank_of(self, section: str) -> int | None:
        match = _CONSTANT_SECTION.fullmatch(section)
        if match is None or match[1] == "0" or match[2] not in (None, self.kernel.name):
            return None
        return int(match[1])

    def banks(self) -> Mapping[int, tuple[int, int]]:
        """Arena offset and size of each bank but 0."""
        return {
            bank: (start, len(self.module.sections[name]))
            for name, start in self.starts.items()
            if (bank := self._bank_of(name)) is not None
        }

    def fill(self, arena: Arena, functions: Mapping[str, int]) -> None:
        """Write the contents, with the addresses of variables and ``functions`` where they are asked for."""
        for name, start in self.starts.items():
            arena.write(start, self.module.sections[name])
        for entry in self.module.relocations:
            at = self.starts.get(entry.section)
            address = self.symbols.get(entry.symbol, functions.get(entry.symbol))
            if at is None or address is None:
                continue
            room = len(self.module.sections[entry.section]) - entry.offset
            if room >= 8:
                arena.write(at + entry.offset, struct.pack("<Q", (address + entry.addend) & (2**64 - 1)))


class ConstantBanks:
    """All constant banks of a launch. ``where`` gives arena offset and size by bank."""

    def __init__(self, layout: Bank0, arena: Arena, others: Mapping[int, tuple[int, int]]) -> None:
        self.layout = layout
        self.arena = arena
        start = arena.reserve(_BANK_SIZE)
        arena.add_region(Region("constant bank 0", start, _BANK_SIZE, kind="param", given=True))
        self.where: dict[int, tuple[int, int]] = {0: (start, _BANK_SIZE), **others}

    def fill(self, launch: Launch, params: bytes, stack_top: int) -> None:
        """Write bank 0 of ``launch`` into the mapped arena."""
        start, _ = self.where[0]
        at = self.layout
        memory = self.arena.layout
        self.arena.write(start + at.block, struct.pack("<3I", *launch.block))
        self.arena.write(start + at.grid, struct.pack("<3I", *launch.grid))
        self.arena.write(start + at.stack, struct.pack("<I", stack_top))
        self.arena.write(start + at.shared_window, struct.pack("<Q", memory.shared_window))
        self.arena.write(start + at.local_window, struct.pack("<Q", memory.local_window))
        self.arena.write(start + at.params, params)

    def word(self, operand: Constant, step: int = 0) -> int:
        """The 32-bit word of a constant operand at a fixed place, ``step`` words further."""
        if not isinstance(operand.bank, int) or operand.base is not None:
            raise Unsupported("a constant whose place is in a register")
        start, size = self._bank(operand.bank)
        offset = operand.offset + 4 * step
        if not 0 <= offset <= size - 4:
            raise Unsupported(f"c[{operand.bank:#x}][{offset:#x}] lies beyond its bank")
        return int.from_bytes(self.arena.read(start + offset, 4), "little")

    def address(self, bank: int) -> int:
        """Virtual address of a bank, for loads with an index."""
        return self._bank(bank)[0] + self.arena.layout.global_base

    def _bank(self, bank: int) -> tuple[int, int]:
        found = self.where.get(bank)
        if found is None:
            raise Unsupported(f"constant bank {bank} is not in the image")
        return found

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

import numpy as np

from warpglass.machine.launch import Launch
from warpglass.machine.memory import Arena
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.regions import Region
from warpglass.machine.special import SM_COUNT
from warpglass.sass.model import Function, Module
from warpglass.sass.operands import Constant

__all__ = ["Bank0", "ConstantBanks", "DataSections", "bank0_layout"]

_BANK_SIZE = 1 << 16
_CONSTANT_SECTION = re.compile(r"\.nv\.constant(\d)(?:\.(.+))?")
_DATA = (".nv.global", ".nv.global.init")


@dataclass(frozen=True, slots=True)
class Bank0:
    """Byte offsets in constant bank 0; None where an architecture has no such word.

    Extents of ``block``, ``grid`` and ``cluster`` are three words each; ``reciprocal`` are three floats, one
    over the cluster's extents; windows and ``workspace`` (of a cooperative grid, upper word first) two words.
    """

    block: int
    grid: int
    stack: int
    dynamic: int
    reserved: int
    sms: int
    params: int
    workspace: int
    local_window: int
    shared_window: int | None = None
    cluster: int | None = None
    reciprocal: int | None = None
    clusters: int | None = None
    cluster_size: int | None = None
    most_shared: int | None = None


def bank0_layout(sm: int, params: int | None) -> Bank0:
    """Where things stand for compute capability ``sm`` (86); ``params`` is what the image itself says."""
    if sm >= 100:
        return Bank0(
            block=0x360, grid=0x370, stack=0x37C, dynamic=0x2AC, reserved=0x16C, sms=0x2D0,
            params=0x380 if params is None else params, workspace=0x254, local_window=0x2F8,
            cluster=0x2A0, reciprocal=0x2B0, clusters=0x2C0, cluster_size=0x2CC, most_shared=0x2BC,
        )  # fmt: skip
    if sm >= 90:
        return Bank0(
            block=0x0, grid=0xC, stack=0x28, dynamic=0x2C, reserved=0x114, sms=0x10C,
            params=0x210 if params is None else params, workspace=0x44, local_window=0x20, shared_window=0x18,
            cluster=0x144, reciprocal=0x150, clusters=0x15C, cluster_size=0x188, most_shared=0x13C,
        )  # fmt: skip
    return Bank0(
        block=0x0, grid=0xC, stack=0x28, dynamic=0x2C, reserved=0x114, sms=0x10C,
        params=0x160 if params is None else params, workspace=0x8C, local_window=0x20, shared_window=0x18,
    )  # fmt: skip


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


def _reciprocal(extent: int) -> float:
    value = np.float32(1.0) / np.float32(extent)
    return float(value if extent & (extent - 1) == 0 else np.nextafter(value, np.float32(2.0)))


class ConstantBanks:
    """All constant banks of a launch. ``where`` gives arena offset and size by bank."""

    def __init__(self, layout: Bank0, arena: Arena, others: Mapping[int, tuple[int, int]]) -> None:
        self.layout = layout
        self.arena = arena
        #: Whether nobody knows the kernel's parameters: what reads one then stops the run.
        self.params_unknown = False
        start = arena.reserve(_BANK_SIZE)
        arena.add_region(Region("constant bank 0", start, _BANK_SIZE, kind="param", given=True))
        self.where: dict[int, tuple[int, int]] = {0: (start, _BANK_SIZE), **others}

    def fill(self, launch: Launch, params: bytes, stack_top: int, workspace: int, shared: int) -> None:
        """Write bank 0 of ``launch`` into the mapped arena.

        ``stack_top`` is a thread's bytes of local memory, ``workspace`` the address of a cooperative grid's
        barrier (0 for none), ``shared`` the bytes of a block.
        """
        at, memory = self.layout, self.arena.layout
        clusters = tuple(g // c for g, c in zip(launch.grid, launch.cluster, strict=True))
        x, y, z = launch.cluster
        for offset, form, values in (
            (at.block, "<3I", launch.block),
            (at.grid, "<3I", launch.grid),
            (at.stack, "<I", (stack_top,)),
            (at.dynamic, "<I", (launch.shared_bytes,)),
            (at.reserved, "<I", (0,)),
            (at.sms, "<I", (SM_COUNT,)),
            (at.workspace, "<2I", (workspace >> 32, workspace & 0xFFFFFFFF)),
            (at.local_window, "<Q", (memory.local_window,)),
            (at.shared_window, "<Q", (memory.shared_window,)),
            (at.cluster, "<3I", launch.cluster),
            # One over the extent, rounded up, so that the truncated product is the exact quotient.
            (at.reciprocal, "<3f", tuple(_reciprocal(extent) for extent in launch.cluster)),
            (at.clusters, "<3I", clusters),
            (at.cluster_size, "<I", (x * y * z,)),
            (at.most_shared, "<I", (shared,)),
        ):
            if offset is not None:
                self.arena.write(self.where[0][0] + offset, struct.pack(form, *values))
        self.arena.write(self.where[0][0] + at.params, params)

    def word(self, operand: Constant, step: int = 0) -> int:
        """The 32-bit word of a constant operand at a fixed place, ``step`` words further."""
        if not isinstance(operand.bank, int) or operand.base is not None:
            raise Unsupported("a constant whose place is in a register")
        start, size = self._bank(operand.bank)
        offset = operand.offset + 4 * step
        self.check_known(operand.bank, offset)
        if not 0 <= offset <= size - 4:
            raise Unsupported(f"c[{operand.bank:#x}][{offset:#x}] lies beyond its bank")
        return int.from_bytes(self.arena.read(start + offset, 4), "little")

    def check_known(self, bank: int, offset: int) -> None:
        """Raise :class:`Unsupported` for a parameter that nothing is known of."""
        if self.params_unknown and bank == 0 and offset >= self.layout.params:
            raise Unsupported(
                f"it reads a parameter at c[0x0][{offset:#x}]; the listing does not say what there is"
            )

    def address(self, bank: int) -> int:
        """Virtual address of a bank, for loads with an index."""
        return self._bank(bank)[0] + self.arena.layout.global_base

    def _bank(self, bank: int) -> tuple[int, int]:
        found = self.where.get(bank)
        if found is None:
            raise Unsupported(f"constant bank {bank} is not in the image")
        return found

"""Executable loads and stores of PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.bits import Bools
from warpglass.machine.counting import Pattern
from warpglass.machine.program import Op
from warpglass.machine.ptx_operands import Fix
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["LoadOp", "MemoryOp", "StoreOp"]


class MemoryOp(Op):
    """What loads, stores and atomics share: where they go.

    ``base`` is the address register (or constant), ``offset`` the bytes added; ``size`` bytes an element,
    ``count`` elements; ``counted`` is False where hardware would not see a memory request (call parameters).
    """

    __slots__ = ("base", "count", "counted", "offset", "pattern", "size", "space")

    placed: ClassVar[tuple[str, ...]] = ("base",)

    def __init__(self, pc: int, space: int, base: int, offset: int, size: int, count: int) -> None:
        super().__init__(pc)
        self.space = space
        self.base = base
        self.offset = offset
        self.size = size
        self.count = count
        self.counted = True
        self.pattern = Pattern()

    def parts(self, m: Machine, on: Selection) -> list[lsu.Access]:
        """Accesses of the lanes ``on``, more than one where generic addresses fall in several windows."""
        if self.space != lsu.GENERIC:
            return [lsu.resolve(m, self.base, on, self.space)]
        return generic_parts(m, self.base, self.offset, on)

    def checked(self, m: Machine, g: Group, access: lsu.Access, store: bool) -> Bools | None:
        """Check the access, count it; gives the lanes that may go through, None for all."""
        okay = lsu.check(m, g, access, self.offset, self.size * self.count, self.pc, store)
        if self.counted:
            lsu.count_access(m, self.pc, access, self.offset, self.size * self.count, self.pattern, okay)
        return okay


def generic_parts(m: Machine, base: int, offset: int, on: Selection) -> list[lsu.Access]:
    """Split lanes by the window of the generic address space that their address lies in."""
    layout = m.arena.layout
    dense = on.full and on.nrows == on.high - on.low
    key = (base, lsu.GENERIC)
    held = m.address_cache.get(key)
    if held is not None and held[0] == m.ver[base] and held[1] is on and held[2] == offset:
        parts: list[lsu.Access] = held[3]
        return parts
    values = lsu.register_values(m, base, on, dense).astype(np.uint64, copy=False)
    shifted = values + np.uint64(offset & (2**64 - 1))
    parts = []
    windows = ((layout.shared_window, lsu.SHARED), (layout.local_window, lsu.LOCAL))
    low, high = int(shifted.min()), int(shifted.max())
    rest: npt.NDArray[Any] | None = None
    for start, space in windows:
        end = start + layout.window_size
        if high < start or low >= end:
            continue
        inside = (shifted >= np.uint64(start)) & (shifted < np.uint64(end))
        if inside.all():
            parts = [lsu.locate(m, values - np.uint64(start), on, space, dense)]
            rest = inside
            break
        if inside.any():
            parts.append(_some(m, values - np.uint64(start), on, space, inside))
            rest = inside if rest is None else rest | inside
    if rest is None:
        parts = [lsu.locate(m, values, on, lsu.GLOBAL, dense)]
    elif not rest.all():
        parts.append(_some(m, values, on, lsu.GLOBAL, ~rest))
    m.address_cache[key] = (m.ver[base], on, offset, parts)
    return parts


def _some(m: Machine, values: npt.NDArray[Any], on: Selection, space: int, inside: Bools) -> lsu.Access:
    lanes = on.flat[inside.reshape(-1)]
    rows = np.unique(lanes >> 5)
    part = Selection(rows, flat=lanes, count=lanes.shape[0])
    part.full = False  # its addresses are flat, whatever it covers
    return lsu.locate(m, values.reshape(-1)[inside.reshape(-1)], part, space, False)


class LoadOp(MemoryOp):
    """``ld``: elements to registers. ``targets`` has a register (or None) an element."""

    __slots__ = ("fixes", "racing", "targets")

    def __init__(
        self, pc: int, space: int, base: int, offset: int, size: int,
        targets: tuple[int | None, ...], fixes: tuple[Fix | None, ...],
    ) -> None:  # fmt: skip
        super().__init__(pc, space, base, offset, size, len(targets))
        #: False where a later compare-and-swap finds out whether the value still holds.
        self.racing = True
        self.targets = targets
        self.fixes = fixes
        self.dests = tuple(t for t in targets if t is not None)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Load."""
        for access in self.parts(m, on):
            okay = self.checked(m, g, access, False)
            values = lsu.gather(m, access, self.offset, self.size, self.count, okay)
            if self.counted:
                if g.traced:
                    lsu.trace_access(m, g, access, self.offset, self.size * self.count, 0, None)
                if self.racing:
                    m.races.read(m, self.pc, access, self.offset, self.size * self.count, okay)
            mine = access.on
            for register, fix, value in zip(self.targets, self.fixes, values, strict=True):
                if register is None:
                    continue
                if fix is not None:
                    value = fix(value)
                if value.ndim == 1:
                    m.put_flat(register, value, mine)
                elif mine.count == m.live and mine.nrows == m.W:
                    m.put_whole(register, value)
                else:
                    m.put_slice(register, value, mine)
        return False


class StoreOp(MemoryOp):
    """``st``: registers to memory. ``sources`` has a register (or None, the sink) an element."""

    __slots__ = ("fixes", "sources")

    placed: ClassVar[tuple[str, ...]] = ("base", "sources")

    def __init__(
        self, pc: int, space: int, base: int, offset: int, size: int,
        sources: tuple[int | None, ...], fixes: tuple[Fix | None, ...],
    ) -> None:  # fmt: skip
        super().__init__(pc, space, base, offset, size, len(sources))
        self.sources = sources
        self.fixes = fixes

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Store."""
        for access in self.parts(m, on):
            okay = self.checked(m, g, access, True)
            values: list[Any] = []
            for register, fix in zip(self.sources, self.fixes, strict=True):
                if register is None:
                    values.append(None)
                    continue
                value = lsu.register_values(m, register, access.on, access.index.ndim == 2)
                values.append(value if fix is None else fix(value))
            lsu.scatter(m, access, self.offset, self.size, values, okay)
            m.run_state.mutations += 1
            if self.counted:
                if g.traced:
                    lsu.trace_access(m, g, access, self.offset, self.size * self.count, 1, values)
                m.races.write(m, self.pc, access, self.offset, self.size * self.count, okay)
            elif access.space == lsu.LOCAL:
                m.local_check.write(m, access, self.offset, self.size * self.count, okay)
        return False

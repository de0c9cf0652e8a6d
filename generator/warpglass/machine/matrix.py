"""``ldmatrix`` and ``stmatrix``: 8×8 tiles of 16-bit elements between shared memory and a warp's registers.

Layout by the PTX ISA: the rows of tile i start at the addresses of lanes 8·i … 8·i+7; lane T holds elements
2·(T mod 4) and 2·(T mod 4)+1 of row T div 4, or of column T div 4 with ``.trans``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine import lsu
from warpglass.machine.bits import Ints
from warpglass.machine.counting import Pattern
from warpglass.machine.program import Op
from warpglass.machine.ptx_alu import named_lanes
from warpglass.machine.ptx_memory import generic_parts
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.warp_sync import SyncOp

__all__ = ["MatrixOp"]

_LANE = np.arange(32)


class MatrixOp(Op):
    """``count`` tiles; ``registers`` are destinations of a load or sources of a store."""

    __slots__ = ("base", "key", "load", "member", "offset", "pattern", "registers", "space", "transposed")

    placed: ClassVar[tuple[str, ...]] = ("base", "registers", "member")

    def __init__(
        self, pc: int, space: int, base: int, offset: int, registers: tuple[int, ...], transposed: bool,
        load: bool,
        member: int, key: str,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.space = space
        self.base = base
        self.offset = offset
        self.registers = registers
        self.transposed = transposed
        self.load = load
        self.member = member
        self.key = key
        self.pattern = Pattern()
        self.dests = registers if load else ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Move the tiles with all lanes of the warp."""
        need = named_lanes(m, self.member, on)
        if ((need & ~on.bits)[on.bits != 0] != 0).any():
            return m.warp_sync.wait(m, self, g, on, need)
        self._move(m, g, on)
        return False

    def apply(self, m: Machine, on: Selection) -> None:
        """Move the tiles of lanes that came from several groups."""
        self._move(m, None, on)

    def apply_parts(self, m: Machine, parts: list[tuple[SyncOp, Selection]]) -> None:
        """Lanes of one warp at different places: the first one's operands serve all."""
        bits = np.bitwise_or.reduce(np.concatenate([sel.bits for _, sel in parts]))
        self._move(m, None, Selection(parts[0][1].rows, np.array([bits], dtype=np.uint32)))

    def _move(self, m: Machine, g: Group | None, on: Selection) -> None:
        on = on.live_rows()
        tiles = len(self.registers)
        # Only the lanes that give row addresses access memory.
        giving = np.uint32((1 << (8 * tiles)) - 1) if tiles < 4 else np.uint32(0xFFFFFFFF)
        givers = Selection(on.rows, on.bits & giving)
        if givers.count == 0:
            return
        if self.space == lsu.GENERIC:
            access = generic_parts(m, self.base, self.offset, givers)[0]
        else:
            access = lsu.resolve(m, self.base, givers, lsu.SHARED)
        group: Any = g
        okay = lsu.check(m, group, access, self.offset, 16, self.pc, not self.load)
        lsu.count_access(m, self.pc, access, self.offset, 16, self.pattern, okay)
        rows = np.zeros((on.nrows, 32), dtype=np.int64)
        valid = np.zeros((on.nrows, 32), dtype=np.bool_)
        flat = givers.flat
        at = np.searchsorted(on.rows, flat >> 5)
        rows[at, flat & 31] = access.index.reshape(-1) + self.offset
        valid[at, flat & 31] = True if okay is None else okay.reshape(-1)
        if self.load:
            self._load(m, on, rows, valid)
            if g is not None and g.traced:
                lsu.trace_access(m, g, access, self.offset, 16, 0, None)
            m.races.read(m, self.pc, access, self.offset, 16, okay)
        else:
            words = self._store(m, on, rows, valid)
            if g is not None and g.traced:
                mine = [words[at, flat & 31, w].reshape(access.index.shape) for w in range(4)]
                lsu.trace_access(m, g, access, self.offset, 16, 1, mine)
            m.races.write(m, self.pc, access, self.offset, 16, okay)

    def _halves(self, tile: int, element: int) -> tuple[Ints, Ints]:
        """For each lane the giving lane and the column of its ``element`` of ``tile``."""
        line, pair = _LANE >> 2, 2 * (_LANE & 3) + element
        return (8 * tile + pair, line) if self.transposed else (8 * tile + line, pair)

    def _load(self, m: Machine, on: Selection, rows: Ints, valid: Any) -> None:
        view = m.arena.views[2]
        for tile, register in enumerate(self.registers):
            value = np.zeros((on.nrows, 32), dtype=np.uint32)
            for element in (0, 1):
                giver, column = self._halves(tile, element)
                at = rows[:, giver] + 2 * column
                good = valid[:, giver]
                half = np.where(good, view[np.where(good, at, 0) >> 1], 0).astype(np.uint32)
                value |= half << np.uint32(16 * element)
            m.put_rows(register, value, on)

    def _store(self, m: Machine, on: Selection, rows: Ints, valid: Any) -> Any:
        view = m.arena.views[2]
        image = np.zeros((on.nrows, 32, 8), dtype=np.uint16)
        for tile, register in enumerate(self.registers):
            value = np.broadcast_to(m.rows(register, on), (on.nrows, 32))
            for element in (0, 1):
                giver, column = self._halves(tile, element)
                half = ((value >> np.uint32(16 * element)) & np.uint32(0xFFFF)).astype(np.uint16)
                image[:, giver, column] = half
                good = valid[:, giver]
                view[((rows[:, giver] + 2 * column) >> 1)[good]] = half[good]
        return image.view(np.uint32)

"""Masked ``.sync`` instructions: the lanes they name act together, wherever their groups come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from warpglass.machine.barriers import name_warps
from warpglass.machine.bits import Bits, Ints
from warpglass.machine.convergence import Group
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["SyncOp", "WarpSync"]


class SyncOp(Protocol):
    """An instruction in which lanes of a warp act together. ``key`` is equal where two may act together."""

    pc: int
    key: str
    dests: tuple[int, ...]

    def apply(self, m: Machine, on: Selection) -> None:
        """Act for the lanes ``on``."""

    def apply_parts(self, m: Machine, parts: list[tuple[SyncOp, Selection]]) -> None:
        """Act for lanes of one warp that stand at different places with the same instruction."""


class WarpSync:
    """Lanes that wait for others of their warp: by warp and instruction, single-row groups."""

    def __init__(self) -> None:
        self.waits: dict[tuple[int, int], list[tuple[Group, int, SyncOp]]] = {}

    def wait(self, m: Machine, op: SyncOp, group: Group, on: Selection, need: Bits) -> bool:
        """Rows of ``on`` whose ``need`` is all there act and go on; the others wait. Always True."""
        rest = m.split(group, on)
        ready = ((need & ~on.bits) == 0) & (on.bits != 0)
        late = ~ready & (on.bits != 0)
        if ready.any():
            go = group.part(op.pc + 1, ready, on.bits)
            op.apply(m, go.sel)
            m.tracer.late(m, go.sel, op.dests)
            m.place(go)
        for index in np.flatnonzero(late).tolist():
            one = np.zeros(late.shape, dtype=np.bool_)
            one[index] = True
            piece = group.part(op.pc, one, on.bits)
            key = (int(on.rows[index]), op.pc)
            self.waits.setdefault(key, []).append((piece, int(need[index]), op))
            self._try(m, key)
        m.place(rest)
        return True

    def _try(self, m: Machine, key: tuple[int, int]) -> None:
        held = self.waits[key]
        alive = int(m.exists[key[0]] & ~m.dead[key[0]])
        present = need = 0
        for piece, wanted, _ in held:
            present |= int(piece.sel.bits[0])
            need |= wanted
        if need & alive & ~present:
            return
        del self.waits[key]
        row = np.array([key[0]], dtype=np.int64)
        held[0][2].apply(m, Selection(row, np.array([present], dtype=np.uint32)))
        for piece, _, op in held:
            m.tracer.late(m, piece.sel, op.dests)
            piece.pc += 1
            m.place(piece)

    def recheck(self, m: Machine, rows: Ints) -> None:
        """Lanes of ``rows`` exited: nobody waits for them any more."""
        if self.waits:
            gone = set(rows.tolist())
            for key in [k for k in self.waits if k[0] in gone]:
                self._try(m, key)

    def unblock(self, m: Machine) -> None:
        """Nothing else runs: lanes at the same instruction in different places act together."""
        by_warp: dict[tuple[int, str], list[tuple[int, int]]] = {}
        for key, held in self.waits.items():
            by_warp.setdefault((key[0], held[0][2].key), []).append(key)
        for (warp, _), keys in sorted(by_warp.items()):
            pieces = [entry for key in sorted(keys) for entry in self.waits[key]]
            present = need = 0
            for piece, wanted, _op in pieces:
                present |= int(piece.sel.bits[0])
                need |= wanted
            if need & int(m.exists[warp] & ~m.dead[warp]) & ~present:
                continue
            for key in keys:
                del self.waits[key]
            pieces[0][2].apply_parts(m, [(op, piece.sel) for piece, _, op in pieces])
            for piece, _, op in pieces:
                m.tracer.late(m, piece.sel, op.dests)
                piece.pc += 1
                m.place(piece)

    def explain(self, m: Machine, pcs: dict[int, int]) -> list[str]:
        """Who waits, in words; lanes are added to ``pcs`` by instruction."""
        parts = []
        for (warp, pc), held in sorted(self.waits.items()):
            lanes = 0
            for piece, _, _op in held:
                lanes |= int(piece.sel.bits[0])
            pcs[pc] = pcs.get(pc, 0) + lanes.bit_count()
            where = f"line {m.program.lines[pc]}"
            parts.append(
                f"lanes 0x{lanes:08x} of {name_warps(m, [warp])} for other lanes of their warp ({where})"
            )
        return parts

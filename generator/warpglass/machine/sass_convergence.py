"""Convergence of SASS: BSSY, BSYNC, BREAK and WARPSYNC, as the hardware keeps them.

A convergence barrier register holds, for each lane, the mask of lanes it will meet (so it is an ordinary
register here). Lanes that reach the meeting place are parked as masks by place and warp; when all living
lanes of the mask are there they go on as one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine.barriers import name_warps
from warpglass.machine.bits import Bits, Ints
from warpglass.machine.convergence import NO_JOIN, Group
from warpglass.machine.program import Op
from warpglass.machine.ptx_control import diverge
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["BreakOp", "BsyncOp", "BssyOp", "DivBranchOp", "Meetings", "SassExitOp", "WarpsyncOp", "meetings"]


def lowest(bits: Bits) -> Ints:
    """Index of the lowest set bit of each mask (which must not be 0)."""
    one = bits & (~bits + np.uint32(1))
    return np.asarray(np.log2(one.astype(np.float64)), dtype=np.int64)


class _Place:
    """Parked lanes of one meeting place: masks ``[W, 32]`` by warp and slot, a slot for each meeting."""

    __slots__ = ("arrived", "need", "pc", "since")

    def __init__(self, warps: int, pc: int) -> None:
        self.arrived = np.zeros((warps, 32), dtype=np.uint32)
        self.need = np.zeros((warps, 32), dtype=np.uint32)
        #: Round in which the latest lane came.
        self.since = np.zeros((warps, 32), dtype=np.int64)
        self.pc = pc

    def slots(self, rows: Ints, masks: Bits) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Slot for each row's meeting of ``masks``, and whether it fits here.

        A meeting is found again by a lane that it shares: lanes that exit or break out change its mask. One
        that was begun with lanes outside ``masks`` is another meeting (an outer one of the same register).
        """
        need = self.need[rows]
        shared = (need & masks[:, None]) != 0
        known = shared.any(axis=1)
        slot = np.where(known, shared.argmax(axis=1), (need == 0).argmax(axis=1))
        arrived = self.arrived[rows, slot]
        return slot, (arrived & ~masks) == 0


class Meetings:
    """All meeting places of a batch, by a key: the barrier register and where its BSYNC stands."""

    def __init__(self) -> None:
        self.places: dict[tuple[object, int], list[_Place]] = {}
        #: Places whose lanes may go on without the others when nothing else helps.
        self.soft: set[tuple[object, int]] = set()

    def arrive(
        self, m: Machine, key: tuple[object, int], pc: int, rows: Ints, bits: Bits, masks: Bits
    ) -> Group | None:
        """Lanes ``bits`` of ``rows`` reach ``key`` to meet ``masks``; gives those that may go on, merged."""
        alive = m.exists[rows] & ~m.dead[rows]
        masks = (masks | bits) & alive
        whole = masks == bits
        if whole.all():
            return Group(pc + 1, Selection(rows, bits))
        done_rows, done_bits = [rows[whole]], [bits[whole]]
        rest = ~whole
        rows, bits, masks = rows[rest], bits[rest], masks[rest]
        for layer in self._layers(m, key, pc):
            slot, fits = layer.slots(rows, masks)
            r, b, k, at = rows[fits], bits[fits], masks[fits], slot[fits]
            layer.arrived[r, at] |= b
            layer.need[r, at] = k
            layer.since[r, at] = m.round
            layer.pc = pc
            full = layer.arrived[r, at] == k
            done_rows.append(r[full])
            done_bits.append(k[full])
            layer.arrived[r[full], at[full]] = 0
            layer.need[r[full], at[full]] = 0
            rows, bits, masks = rows[~fits], bits[~fits], masks[~fits]
            if not rows.size:
                break
        return _group(pc + 1, np.concatenate(done_rows), np.concatenate(done_bits))

    def _layers(self, m: Machine, key: tuple[object, int], pc: int) -> Any:
        layers = self.places.setdefault(key, [])
        index = 0
        while True:
            if index == len(layers):
                layers.append(_Place(m.W, pc))
            yield layers[index]
            index += 1

    def forget(self, m: Machine, rows: Ints, gone: Bits, key: object = None) -> None:
        """Lanes ``gone`` of ``rows`` exited, or broke out of ``key``: nobody waits for them any longer."""
        for place_key, layers in self.places.items():
            if key is not None and place_key[0] != key:
                continue
            for layer in layers:
                need = layer.need[rows]
                touched = (need & gone[:, None]) != 0
                if not touched.any():
                    continue
                need = need & ~gone[:, None]
                layer.need[rows] = need
                arrived = layer.arrived[rows]
                over = touched & (arrived != 0) & (arrived == need)
                where, lane = np.nonzero(over)
                if where.size:
                    opened = arrived[where, lane]
                    layer.arrived[rows[where], lane] = 0
                    layer.need[rows[where], lane] = 0
                    _place_all(m, layer.pc + 1, rows[where], opened)

    def force(self, m: Machine, patience: int = 0) -> bool:
        """Let lanes go alone that wait at soft places for ``patience`` rounds or more; whether any did."""
        found = False
        for key in self.soft:
            for layer in self.places.get(key, ()):
                overdue = (layer.arrived != 0) & (layer.since <= m.round - patience)
                rows, slot = np.nonzero(overdue)
                if rows.size:
                    found = True
                    bits = layer.arrived[rows, slot]
                    layer.arrived[rows, slot] = 0
                    # Those still to come must not wait for the lanes that have left.
                    layer.need[rows, slot] = 0
                    _place_all(m, layer.pc + 1, rows, bits)
        return found

    def explain(self, m: Machine, pcs: dict[int, int]) -> list[str]:
        """Who is parked, in words; lanes are added to ``pcs`` by instruction."""
        parts = []
        for layers in self.places.values():
            for layer in layers:
                rows, _ = np.nonzero(layer.arrived)
                if rows.size:
                    pcs[layer.pc] = pcs.get(layer.pc, 0) + int(rows.size)
                    named = name_warps(m, sorted(set(rows.tolist())))
                    line = m.program.lines[layer.pc]
                    parts.append(f"lanes of {named} for the rest of their warp (line {line})")
        return parts


def _group(pc: int, rows: Ints, bits: Bits) -> Group | None:
    if not rows.size:
        return None
    order = np.argsort(rows, kind="stable")
    return Group(pc, Selection(rows[order], bits[order]))


def _place_all(m: Machine, pc: int, rows: Ints, bits: Bits) -> None:
    """Place opened meetings; two of one warp stay apart."""
    while rows.size:
        _, first = np.unique(rows, return_index=True)
        m.place(_group(pc, rows[first], bits[first]))
        rest = np.ones(rows.size, dtype=np.bool_)
        rest[first] = False
        rows, bits = rows[rest], bits[rest]


def meetings(m: Machine) -> Meetings:
    """The meeting places of a batch."""
    if m.meetings is None:
        m.meetings = Meetings()
    return m.meetings


def row_values(m: Machine, register: int, on: Selection) -> npt.NDArray[np.uint32]:
    """A register's value in the first lane on of every row of ``on`` (rows without one give 0)."""
    if not m.is_lane[register]:
        return np.full(on.nrows, int(m.R[register][0]), dtype=np.uint32)
    live = on.bits != 0
    out = np.zeros(on.nrows, dtype=np.uint32)
    out[live] = m.R[register][on.rows[live], lowest(on.bits[live])]
    return out


class BssyOp(Op):
    """``BSSY``: the lanes on will meet at the barrier's BSYNC."""

    __slots__ = ("barrier",)

    placed: ClassVar[tuple[str, ...]] = ("barrier",)

    def __init__(self, pc: int, barrier: int) -> None:
        super().__init__(pc)
        self.barrier = barrier
        self.dests = (barrier,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Remember who is here."""
        masks = np.broadcast_to(on.bits[:, None], (on.nrows, 32))
        m.put_rows(self.barrier, np.ascontiguousarray(masks), on)
        return False


class BsyncOp(Op):
    """``BSYNC``: wait for the lanes of the barrier that have not exited or broken out.

    From sm_100 on ptxas marks those meetings that must happen as ``.RECONVERGENT``; it hoists spin loops in
    front of the others, which hence must let lanes go where the rest cannot come (``soft``).
    """

    __slots__ = ("barrier", "soft")

    placed: ClassVar[tuple[str, ...]] = ("barrier",)

    def __init__(self, pc: int, barrier: int, soft: bool = False) -> None:
        super().__init__(pc)
        self.barrier = barrier
        self.soft = soft

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Meet."""
        m.place(m.split(g, on))
        rows, bits = on.rows, on.bits
        keep = bits != 0
        rows, bits = rows[keep], bits[keep]
        while rows.size:
            sel = Selection(rows, bits)
            masks = row_values(m, self.barrier, sel)
            same = _lanes_with(m, self.barrier, rows, bits, masks)
            place = meetings(m)
            if self.soft:
                place.soft.add((self.barrier, self.pc))
            m.place(place.arrive(m, (self.barrier, self.pc), self.pc, rows, same, masks))
            left = bits & ~same
            rows, bits = rows[left != 0], left[left != 0]
        return True


def _lanes_with(m: Machine, register: int, rows: Ints, bits: Bits, masks: Bits) -> Bits:
    """Lanes of ``bits`` whose register equals the row's ``masks``."""
    equal = m.R[register][rows] == masks[:, None]
    weights = np.uint32(1) << np.arange(32, dtype=np.uint32)
    return np.asarray((equal * weights).sum(axis=1, dtype=np.uint32) & bits, dtype=np.uint32)


class BreakOp(Op):
    """``BREAK``: the lanes on leave the barrier; those that wait there wait for them no longer."""

    __slots__ = ("barrier",)

    placed: ClassVar[tuple[str, ...]] = ("barrier",)

    def __init__(self, pc: int, barrier: int) -> None:
        super().__init__(pc)
        self.barrier = barrier

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Leave."""
        live = on.live_rows()
        held = m.own(self.barrier)
        masks = held[live.rows]
        # A barrier that other lanes hold with the same lanes in it is the same barrier.
        gone = live.bits[:, None]
        held[live.rows] = np.where((masks & gone) != 0, masks & ~gone, masks)
        meetings(m).forget(m, live.rows, live.bits, self.barrier)
        return False


class WarpsyncOp(Op):
    """``WARPSYNC``: wait for the lanes named, and go on together."""

    __slots__ = ("member",)

    placed: ClassVar[tuple[str, ...]] = ("member",)

    def __init__(self, pc: int, member: int) -> None:
        super().__init__(pc)
        self.member = member

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Meet."""
        m.place(m.split(g, on))
        live = on.live_rows()
        masks = row_values(m, self.member, live)
        met = meetings(m).arrive(m, ("warpsync", self.pc), self.pc, live.rows, live.bits, masks)
        if met is not None:
            m.races.warp_barrier(m, met.sel)
            m.place(met)
        return True


class SassExitOp(Op):
    """``EXIT``."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """End the lanes on; meetings wait for them no longer."""
        live = on.live_rows()
        m.exit(g, on)
        meetings(m).forget(m, live.rows, live.bits)
        return True


class DivBranchOp(Op):
    """``BRA.DIV``: branch where a lane of the mask is not here; ``BRA.CONV``: where all of them are."""

    __slots__ = ("inverted", "member", "target", "together")

    placed: ClassVar[tuple[str, ...]] = ("member",)
    skippable: ClassVar[bool] = False

    def __init__(self, pc: int, member: int, inverted: bool, target: int, together: bool) -> None:
        super().__init__(pc)
        self.together = together
        self.member = member
        self.inverted = inverted
        self.target = target

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Branch with whole groups."""
        rows = on.rows
        masks = row_values(m, self.member, Selection(rows, np.where(on.bits != 0, on.bits, np.uint32(1))))
        if self.inverted:
            masks = ~masks
        missing = masks & m.exists[rows] & ~m.dead[rows] & ~on.bits
        goes = (missing == 0) if self.together else (missing != 0)
        away = np.where(goes, on.bits, np.uint32(0)).astype(np.uint32)
        diverge(m, g, Selection(rows, away), self.target, self.pc + 1, NO_JOIN)
        return True

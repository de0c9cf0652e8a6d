"""Executable ``mbarrier`` instructions and bulk copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine import lsu
from warpglass.machine.bits import Ints
from warpglass.machine.convergence import Group
from warpglass.machine.mbarrier import Mbarriers, make_word
from warpglass.machine.program import Op
from warpglass.machine.ptx_memory import generic_parts
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["BulkCopyOp", "MbarrierOp", "MbarrierWaitOp"]


def shared_places(
    m: Machine, g: Group, on: Selection, space: int, base: int, offset: int, size: int, pc: int
) -> Any:
    """(lanes, arena bytes) of shared-memory operands that pass the checks."""
    lanes: list[Ints] = []
    places: list[Ints] = []
    parts = [lsu.resolve(m, base, on, space)] if space != lsu.GENERIC else generic_parts(m, base, offset, on)
    for access in parts:
        okay = lsu.check(m, g, access, offset, size, pc, True)
        at = access.index.reshape(-1) + offset
        mine = access.on.flat
        if okay is not None:
            keep = okay.reshape(-1)
            at, mine = at[keep], mine[keep]
        lanes.append(mine)
        places.append(at)
    return np.concatenate(lanes), np.concatenate(places)


class MbarrierOp(Op):
    """``init``, ``inval``, ``arrive``, ``arrive_drop``, ``expect_tx``, ``complete_tx``, and the arrival of
    ``cp.async.mbarrier``."""

    __slots__ = ("action", "base", "count", "expects", "offset", "space", "target")

    placed: ClassVar[tuple[str, ...]] = ("base", "count")

    def __init__(
        self, pc: int, action: str, space: int, base: int, offset: int, count: int | None, expects: bool,
        target: int | None,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.action = action
        self.space = space
        self.base = base
        self.offset = offset
        self.count = count
        self.expects = expects
        self.target = target
        self.dests = () if target is None else (target,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Update the barriers, lane after lane."""
        if self.action in ("copies", "copies_noinc"):
            m.copies.wait(m, g, on, None)
        lanes, places = shared_places(m, g, on, self.space, self.base, self.offset, 8, self.pc)
        counts = np.ones(lanes.shape, dtype=np.int64)
        if self.count is not None:
            values = m.R[self.count]
            counts = (
                values.reshape(-1)[lanes] if m.is_lane[self.count] else np.broadcast_to(values, lanes.shape)
            )
            counts = counts.astype(np.int64)
        before = np.zeros(lanes.shape, dtype=np.uint64)
        unit = m.mbarriers
        missing = []
        for index, (place, count) in enumerate(zip(places.tolist(), counts.tolist(), strict=True)):
            state = self._one(m, unit, place, count)
            if state is None:
                missing.append(index)
            else:
                before[index] = state
        if missing:
            m.findings.lanes(
                m, "mbarrier", lanes[missing], None, self.pc, kind="synccheck", severity="critical",
                category="synchronisation",
                message=f"mbarrier.{self.action} on a barrier that is not initialised",
            )  # fmt: skip
        if self.target is not None:
            m.own(self.target).reshape(-1)[lanes] = before
        m.run_state.mutations += 1
        m.races.sync(m, on)
        unit.wake(m)
        return False

    def _one(self, m: Machine, unit: Mbarriers, place: int, count: int) -> int | None:
        view = m.arena.views[8]
        action = self.action
        if action == "init":
            view[place >> 3] = make_word(count, count, 0, 0)
            return 0
        if action == "inval":
            held = int(view[place >> 3])
            view[place >> 3] = 0
            return held if held else None
        if action == "expect_tx":
            return unit.update(m, place, tx=count)
        if action == "complete_tx":
            return unit.update(m, place, tx=-count)
        if action == "copies":
            return unit.update(m, place, more=1, arrive=1)
        if action == "copies_noinc":
            return unit.update(m, place, arrive=1)
        if self.expects:
            # The bytes are expected before the arrival can end the phase.
            return unit.update(m, place, tx=count, arrive=1, drop=int(action == "arrive_drop"))
        return unit.update(m, place, arrive=count, drop=count if action == "arrive_drop" else 0)


class MbarrierWaitOp(Op):
    """``test_wait`` and ``try_wait``: the phase of ``operand`` (a state, or a parity) is over."""

    __slots__ = ("base", "blocking", "offset", "operand", "parity", "space", "target")

    placed: ClassVar[tuple[str, ...]] = ("base", "operand")

    def __init__(
        self,
        pc: int,
        space: int,
        base: int,
        offset: int,
        operand: int,
        parity: bool,
        blocking: bool,
        target: int,
    ) -> None:
        super().__init__(pc)
        self.space = space
        self.base = base
        self.offset = offset
        self.operand = operand
        self.parity = parity
        self.blocking = blocking
        self.target = target
        self.dests = (target,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Test; a try_wait waits where the phase is not over."""
        lanes, places = shared_places(m, g, on, self.space, self.base, self.offset, 8, self.pc)
        done = self._over(m, lanes, places)
        if not self.blocking or done.all():
            full = np.zeros(m.W * 32, dtype=np.bool_)
            full[lanes] = done
            m.put_flat(self.target, full[on.flat], on)
            m.races.sync(m, on)
            return False
        rest = m.split(g, on)
        self._settle(m, m.only(g, on, self.pc), places, False)
        m.place(rest)
        return True

    def _over(self, m: Machine, lanes: Ints, places: Ints) -> Any:
        words = m.arena.views[8][places >> 3]
        held = m.R[self.operand]
        operand = held.reshape(-1)[lanes] if m.is_lane[self.operand] else np.broadcast_to(held, lanes.shape)
        now = (words >> np.uint64(63)).astype(np.int64)
        if self.parity:
            return now != (operand.astype(np.int64) & 1)
        return now != (operand.astype(np.uint64) >> np.uint64(63)).astype(np.int64)

    def _settle(self, m: Machine, group: Group, places: Ints, give_up: bool) -> None:
        """Let rows go whose lanes are all done; the others wait (or get false, after the time limit)."""
        lanes = group.sel.flat
        if places.shape != lanes.shape:
            give_up = True
            done = np.zeros(lanes.shape, dtype=np.bool_)
        else:
            done = self._over(m, lanes, places)
        row = np.searchsorted(group.sel.rows, lanes >> 5)
        undone = np.bincount(row, weights=~done, minlength=group.sel.nrows) > 0
        go = np.ones_like(undone) if give_up else ~undone
        if go.any():
            free = group.part(group.pc + 1, go, group.sel.bits)
            mine = go[row]
            m.put_flat(self.target, done[mine], free.sel)
            m.tracer.late(m, free.sel, self.dests)
            m.races.sync(m, free.sel)
            m.place(free)
        if not go.all():
            late = group.part(group.pc, ~go, group.sel.bits)
            m.mbarriers.park(late, places[~go[row]], self._settle)


#: (space, base register, offset) of an address.
Operand = tuple[int, int, int]

_DEST, _SOURCE, _BARRIER = 0, 1, 2


class BulkCopyOp(Op):
    """``cp.async.bulk``: one copy a lane, done at once; ``complete_tx`` on the barrier, if there is one."""

    __slots__ = ("bases", "mask", "offsets", "reduce", "size", "spaces")

    placed: ClassVar[tuple[str, ...]] = ("bases", "size", "mask")

    def __init__(
        self, pc: int, dest: Operand, source: Operand, size: int, barrier: Operand | None, mask: int | None,
        reduce: Callable[[Machine, int, int, int], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        operands = (dest, source) if barrier is None else (dest, source, barrier)
        self.spaces = tuple(o[0] for o in operands)
        self.bases = tuple(o[1] for o in operands)
        self.offsets = tuple(o[2] for o in operands)
        self.size = size
        self.mask = mask
        self.reduce = reduce

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Copy, lane after lane."""
        sizes = np.broadcast_to(m.get(self.size, on), (on.count,)).astype(np.int64)
        for lane, size in zip(on.flat.tolist(), sizes.tolist(), strict=True):
            one = Selection(np.array([lane >> 5]), flat=np.array([lane], dtype=np.int64), count=1)
            one.full = False
            self._copy(m, g, one, size)
        m.mbarriers.wake(m)
        return False

    def _place(self, m: Machine, g: Group, on: Selection, which: int, size: int, store: bool) -> Any:
        space, base, offset = self.spaces[which], self.bases[which], self.offsets[which]
        if space == lsu.GENERIC:
            access = generic_parts(m, base, offset, on)[0]
        else:
            access = lsu.resolve(m, base, on, space)
        start = int(access.index[0]) + offset
        if size <= 0 or size % 16 or start % 16:
            m.findings.add(
                m, "bulk", kind="memcheck", severity="critical", category="memory", pc=self.pc,
                lane=int(on.flat[0]),
                message=f"bulk copy of {size} bytes: size and addresses must be multiples of 16",
            )  # fmt: skip
            return None, access
        # Both ends are checked: a region has no holes.
        for at in (0, size - 16):
            if lsu.check(m, g, access, offset + at, 16, self.pc, store) is not None:
                return None, access
        if access.space == lsu.GLOBAL:
            m.arena.touch(np.array([start]), size)
            if m.arena.footprint is not None:
                m.arena.footprint.mark_range(start, size, store)
        return start, access

    def _copy(self, m: Machine, g: Group, one: Selection, size: int) -> None:
        source, origin = self._place(m, g, one, _SOURCE, size, False)
        dest, target = self._place(m, g, one, _DEST, size, True)
        if source is None or dest is None:
            return
        c = m.counters
        if m.alike is not None:
            m.alike.refuse()
        c.requests[self.pc] += 1
        c.bytes[self.pc] += size
        c.bytes_distinct[self.pc] += size
        if lsu.GLOBAL in (origin.space, target.space):
            start = source if origin.space == lsu.GLOBAL else dest
            c.sectors[self.pc] += (start + size - 1) // 32 - start // 32 + 1
            c.sectors_ideal[self.pc] += (size + 31) // 32
        view = m.arena.views[1]
        for number, to in self._destinations(m, one, dest, target):
            if self.reduce is None:
                view[to : to + size] = view[source : source + size].copy()
            else:
                self.reduce(m, source, to, size)
            if m.unknown is not None:
                m.unknown.copied(m, (origin.space, source), (target.space, to), size)
            if target.space == lsu.SHARED:
                m.races.fill(m, to, size)
            self._complete(m, g, one, number, size)

    def _destinations(
        self, m: Machine, one: Selection, dest: int, access: lsu.Access
    ) -> list[tuple[int | None, int]]:
        if self.mask is None:
            return [(None, dest)]
        own = int(access.own[0]) + self.offsets[_DEST]
        block = int(m.block_of[int(one.flat[0]) >> 5])
        peers = m.cluster_peers()[block]
        mask = int(np.broadcast_to(m.get(self.mask, one), (1,))[0])
        return [
            (int(peer), m.shared_at + int(peer) * m.shared_stride + own)
            for rank, peer in enumerate(peers.tolist())
            if mask >> rank & 1
        ]

    def _complete(self, m: Machine, g: Group, one: Selection, block: int | None, size: int) -> None:
        if len(self.bases) <= _BARRIER:
            return
        place, access = self._barrier_place(m, one)
        if block is not None:
            place = m.shared_at + block * m.shared_stride + int(access.own[0]) + self.offsets[_BARRIER]
        if m.mbarriers.update(m, place, tx=-size) is None:
            m.findings.add(
                m, "bulk-barrier", kind="synccheck", severity="critical", category="synchronisation",
                pc=self.pc,
                lane=int(one.flat[0]), message="a bulk copy completes on an mbarrier that is not initialised",
            )  # fmt: skip

    def _barrier_place(self, m: Machine, one: Selection) -> tuple[int, lsu.Access]:
        space, base, offset = self.spaces[_BARRIER], self.bases[_BARRIER], self.offsets[_BARRIER]
        access = (
            generic_parts(m, base, offset, one)[0]
            if space == lsu.GENERIC
            else lsu.resolve(m, base, one, space)
        )
        return int(access.index[0]) + offset, access

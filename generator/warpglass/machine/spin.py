"""Finds lanes that spin for lanes parked at a join, and lets the parked ones go.

A spin lock whose exit is a merge point would hang: the lane that took the lock waits at the merge point for
lanes that wait for its unlock. Lanes whose instruction and all registers come back exactly make no progress
by themselves; whoever waits for them at a join goes on without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine.bits import mask_of

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["SpinWatch"]

#: Rounds that lanes wait at a join before anyone looks whether the others spin.
PATIENCE = 1000
#: Rounds after which lanes go on whatever the others do: a spin that counts its turns never repeats.
LIMIT = 200_000
#: Joins looked at in one go, and states remembered of each.
SAMPLE = 16
MEMORY = 256


class SpinWatch:
    """Remembers register states of lanes that others wait for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.seen: dict[int, tuple[int, set[int]]] = {}

    def look(self) -> None:
        """One look at the joins that wait long; places what need not wait any longer."""
        m = self.machine
        joins = m.joins
        waiting = joins.waiting()
        age = m.round - joins.since[waiting]
        waiting, age = waiting[age > PATIENCE], age[age > PATIENCE]
        if waiting.size == 0:
            self.seen.clear()
            return
        places = {int(joins.pc[slot]) for slot in waiting[age > LIMIT].tolist()}
        for slot in waiting[np.argsort(-age, kind="stable")[:SAMPLE]].tolist():
            if self._repeats(slot):
                places.add(int(joins.pc[slot]))
        if not places:
            return
        free = waiting[np.isin(joins.pc[waiting], list(places))]
        for slot in free.tolist():
            self.seen.pop(slot, None)
        m.place_rows(joins.force(free))

    def _repeats(self, slot: int) -> bool:
        m = self.machine
        warp = int(m.joins.warp[slot])
        missing = m.joins.expected[slot] & ~m.joins.arrived[slot]
        lanes = mask_of(np.array([missing], dtype=np.uint32))[0]
        parts: list[object] = []
        for group in m.groups:
            at = np.searchsorted(group.sel.rows, warp)
            if at < group.sel.nrows and group.sel.rows[at] == warp:
                parts.append((group.pc, int(group.sel.bits[at])))
        for array in m.R[: m.program_registers]:
            if array.shape[0] == m.W:
                parts.append(array[warp][lanes].tobytes())
        state = hash(tuple(parts))
        since = int(m.joins.since[slot])
        held = self.seen.get(slot)
        if held is None or held[0] != since or len(held[1]) >= MEMORY:
            self.seen[slot] = (since, {state})
            return False
        if state in held[1]:
            return True
        held[1].add(state)
        return False

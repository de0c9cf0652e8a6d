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
PATIENCE = 200
#: Rounds after which lanes go on whatever the others do: a spin that counts its turns never repeats.
LIMIT = 200_000
#: Joins looked at in one go, and states remembered of each.
SAMPLE = 16
#: Rounds before anyone looks whether a batch repeats itself, and the distance of the bursts of looks.
LOOP_PATIENCE = 20_000
SPIN_BURST = 400
MEMORY = 256


class SpinWatch:
    """Remembers register states of lanes that others wait for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.seen: dict[int, tuple[int, set[int]]] = {}
        #: Join places where lanes were once found to spin: there nobody waits long a second time.
        self.places: set[int] = set()
        self.states: set[int] = set()
        self.mutations = -1
        #: True once the whole batch came back to a state it had before.
        self.looping = False

    def look(self) -> None:
        """One look at the joins that wait long; places what need not wait any longer."""
        m = self.machine
        joins = m.joins
        waiting = joins.waiting()
        age = m.round - joins.since[waiting]
        patience = np.full(age.shape, PATIENCE)
        if self.places:
            patience[np.isin(joins.pc[waiting], list(self.places))] = 0
        old = age > patience
        waiting, age = waiting[old], age[old]
        if waiting.size == 0:
            self.seen.clear()
            return
        places = {int(joins.pc[slot]) for slot in waiting[age > LIMIT].tolist()}
        for slot in waiting[np.argsort(-age, kind="stable")[:SAMPLE]].tolist():
            if self._repeats(slot):
                places.add(int(joins.pc[slot]))
        if not places:
            return
        self.places |= places
        free = waiting[np.isin(joins.pc[waiting], list(places))]
        for slot in free.tolist():
            self.seen.pop(slot, None)
        m.place_rows(joins.force(free))

    @property
    def period(self) -> int:
        """Rounds between two looks."""
        return 16 if self.places else 97

    def stuck(self) -> bool:
        """Whether the batch repeats a state while memory stays the same: it waits for others, or for ever."""
        m = self.machine
        if m.round < LOOP_PATIENCE or m.joins.waiting().size:
            return False
        # Looks come in bursts of growing distance, so that long kernels hardly pay for them.
        burst = m.round % (SPIN_BURST * 97) < 97 * 24
        if not burst:
            self.states.clear()
            return False
        if m.run_state.mutations != self.mutations:
            self.mutations = m.run_state.mutations
            self.states.clear()
        parts: list[object] = [(g.pc, g.sel.bits.tobytes()) for g in m.groups]
        parts.extend(array.tobytes() for array in m.R[: m.program_registers] if array.shape == m.shape)
        state = hash(tuple(parts))
        self.looping = state in self.states
        self.states.add(state)
        return self.looping

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

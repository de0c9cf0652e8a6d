"""``mbarrier`` objects: their state word lies in shared memory, as on hardware, in a layout of our own.

Bits of the 64-bit word: 0–19 arrivals pending in this phase, 20–39 arrivals of the next phases, 40–61
transaction bytes (two's complement), 63 the phase's parity. Bit 62 says that the word was initialised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpglass.machine.barriers import name_warps
from warpglass.machine.bits import Ints
from warpglass.machine.convergence import Group

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["Mbarriers", "pending_of"]

_COUNT = (1 << 20) - 1
_TX = (1 << 22) - 1
_LIVE = 1 << 62
_PHASE = 1 << 63


def make_word(pending: int, expected: int, tx: int, parity: int) -> int:
    """The state word of an initialised barrier."""
    return (
        (pending & _COUNT) | (expected & _COUNT) << 20 | (tx & _TX) << 40 | _LIVE | (_PHASE if parity else 0)
    )


def split_word(word: int) -> tuple[int, int, int, int]:
    """(pending, expected, transaction bytes, parity) of a state word."""
    tx = word >> 40 & _TX
    if tx >> 21:
        tx -= 1 << 22
    return word & _COUNT, word >> 20 & _COUNT, tx, word >> 63


def pending_of(state: Any) -> Any:
    """``mbarrier.pending_count`` of state words."""
    return (state & np.uint64(_COUNT)).astype(np.uint32)


class Mbarriers:
    """Who waits for phases, and the updates that end them."""

    def __init__(self) -> None:
        self.parked: list[tuple[Group, Ints, Any]] = []
        self.changed = False
        self.timeouts = 0

    def update(
        self, m: Machine, place: int, *, arrive: int = 0, tx: int = 0, drop: int = 0, more: int = 0
    ) -> int | None:
        """Update the barrier at arena byte ``place``; gives the state before, None where there is none.

        ``tx`` bytes are expected (positive) or have come (negative); ``drop`` lowers the arrivals of later
        phases; ``more`` raises the pending ones of this phase.
        """
        view = m.arena.views[8]
        word = int(view[place >> 3])
        if not word & _LIVE:
            return None
        pending, expected, bytes_left, parity = split_word(word)
        expected -= drop
        pending += more - arrive
        bytes_left += tx
        if pending <= 0 and bytes_left == 0:
            pending, parity = expected, parity ^ 1
            self.changed = True
            self.timeouts = 0
        view[place >> 3] = make_word(max(pending, 0), max(expected, 0), bytes_left, parity)
        return word

    def park(self, group: Group, places: Ints, resume: Any) -> None:
        """``group`` waits at its pc until ``resume(group, places, False)`` says it may go on."""
        self.parked.append((group, places, resume))

    def wake(self, m: Machine) -> None:
        """Phases ended: let those go that waited for them."""
        if not self.changed:
            return
        self.changed = False
        parked, self.parked = self.parked, []
        for group, places, resume in parked:
            resume(m, group, places, False)

    def unblock(self, m: Machine) -> bool:
        """Nothing else runs: a try_wait may time out, but not for ever."""
        if not self.parked or self.timeouts >= 2:
            return False
        self.timeouts += 1
        parked, self.parked = self.parked, []
        for group, places, resume in parked:
            resume(m, group, places, True)
        return True

    def explain(self, m: Machine, pcs: dict[int, int]) -> list[str]:
        """Who waits, in words."""
        parts = []
        for group, places, _ in self.parked:
            pcs[group.pc] = pcs.get(group.pc, 0) + group.sel.count
            offset = int(places[0] - m.shared_at) % m.shared_stride
            pending, _, tx, _ = split_word(int(m.arena.views[8][int(places[0]) >> 3]))
            more = f" and {tx} bytes" if tx else ""
            parts.append(
                f"{name_warps(m, group.sel.rows.tolist())} for the mbarrier at shared offset {offset} "
                f"({pending} arrivals{more} missing, line {m.program.lines[group.pc]})"
            )
        return parts

"""Shared-memory hazards between barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpglass.machine.bits import Bools, Ints

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["RaceCheck"]


class RaceCheck:
    """Watches the shared memory of a batch."""

    def __init__(self, machine: Machine) -> None:
        self.on = machine.run_state.options.racecheck

    def epoch(self, m: Machine, blocks: Ints) -> None:
        """``blocks`` passed a barrier."""

    def read(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A load."""

    def write(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A store."""

    def atomic(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """An atomic update."""

    def warp_barrier(self, m: Machine, on: Selection) -> None:
        """Lanes of each warp met."""

    def sync(self, m: Machine, on: Selection) -> None:
        """Lanes synchronised by other means: an mbarrier."""

"""Who writes one byte of global memory last: asked for after a run whose result is not as expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine.bits import Bools
from warpglass.machine.result import Writer

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine

__all__ = ["Watch"]


class Watch:
    """Looks at the stores and atomics of a run; ``writer`` is the last so far that covered the byte."""

    __slots__ = ("at", "writer")

    def __init__(self, at: int) -> None:
        self.at = at
        self.writer: Writer | None = None

    def see(self, m: Machine, access: Access, offset: int, size: int, okay: Bools | None, pc: int) -> None:
        """Look at a store of ``size`` bytes at arena byte ``access.index + offset`` of the lanes ``okay``."""
        at = self.at - offset
        if at < access.low or at >= access.high + size:
            return
        hit = (access.index <= at) & (at < access.index + size)
        if okay is not None:
            hit &= okay
        places = np.flatnonzero(hit)
        if places.size:
            place = int(places[-1])  # of lanes at one address the last wins
            on = access.on
            lane = place + on.low * 32 if access.index.ndim == 2 else int(on.flat[place])
            warp = lane >> 5
            self.writer = Writer(pc, m.program.lines[pc], m.block_dim(warp), m.thread_dim(warp, lane & 31))

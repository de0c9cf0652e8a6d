"""Which 32-byte sectors of global memory a launch read and wrote: the least that device memory must move."""

from __future__ import annotations

import mmap

import numpy as np

from warpglass.machine.bits import Bools, Ints

__all__ = ["Footprint"]

READ, WRITTEN = 1, 2
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


class Footprint:
    """A byte a sector over the arena: bit 0 read, bit 1 written. Pages cost nothing until marked."""

    __slots__ = ("_flags",)

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        self._flags = np.frombuffer(mmap.mmap(-1, (size >> 5) + 4096, flags=flags), dtype=np.uint8)

    def mark(self, index: Ints, offset: int, size: int, store: bool, okay: Bools | None) -> None:
        """Mark what accesses of ``size`` bytes at arena bytes ``index + offset`` touch; all lie inside."""
        at = (index if okay is None else index[okay]) + offset
        bit = np.uint8(WRITTEN if store else READ)
        last = size - 1
        first: Ints = at >> 5
        self._flags[first] |= bit
        for step in range(1, (last >> 5) + 1):
            self._flags[first + step] |= bit

    def count(self, start: int, low: int, high: int) -> tuple[int, int]:
        """Sectors read and written between arena bytes ``low`` and ``high``; those of ``[start, …)``."""
        part = self._flags[max(low, start) >> 5 : (high + 31) >> 5]
        read = written = 0
        # A sparse region may span gigabytes: looked through in pieces, which keeps the peak of memory down.
        for begin in range(0, part.size, 1 << 24):
            piece = part[begin : begin + (1 << 24)]
            read += int(np.count_nonzero(piece & np.uint8(READ)))
            written += int(np.count_nonzero(piece & np.uint8(WRITTEN)))
        return read, written

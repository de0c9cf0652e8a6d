"""Which 32-byte sectors of global memory a launch read and wrote: the least that device memory must move."""

from __future__ import annotations

import mmap

import numpy as np

from warpglass.machine.bits import Bools, Ints

__all__ = ["Footprint"]

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)


class Footprint:
    """Two bytes a sector over the arena: read, written. Pages cost nothing until marked."""

    __slots__ = ("_read", "_written")

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        # Two arrays: setting a byte is a scatter alone, setting a bit of one would be a gather as well.
        self._read, self._written = (
            np.frombuffer(mmap.mmap(-1, (size >> 5) + 4096, flags=flags), dtype=np.uint8) for _ in range(2)
        )

    def mark(self, index: Ints, offset: int, size: int, store: bool, okay: Bools | None) -> None:
        """Mark what accesses of ``size`` bytes at arena bytes ``index + offset`` touch; all lie inside."""
        at = (index if okay is None else index[okay]) + offset
        marks = self._written if store else self._read
        last = size - 1
        first: Ints = at >> 5
        marks[first] = 1
        for step in range(1, (last >> 5) + 1):
            marks[first + step] = 1

    def mark_range(self, start: int, size: int, store: bool) -> None:
        """Mark every sector of ``size`` > 0 arena bytes from ``start``; all lie inside."""
        marks = self._written if store else self._read
        marks[start >> 5 : ((start + size - 1) >> 5) + 1] = 1

    def count(self, start: int, low: int, high: int) -> tuple[int, int]:
        """Sectors read and written between arena bytes ``low`` and ``high``; those of ``[start, …)``."""
        begin, end = max(low, start) >> 5, (high + 31) >> 5
        read, written = (
            int(np.count_nonzero(marks[begin:end].view(np.bool_))) for marks in (self._read, self._written)
        )
        return read, written

"""All memory of a run in one sparse mapping, so that a gather is one indexed read.

The arena is an anonymous mapping without reserved swap: pages cost nothing until touched. Byte offsets in
it are the machine's own addresses; a global virtual address is ``offset + GLOBAL_BASE``. Shared and local
memory lie in the same arena; their generic addresses lie in windows of their own, as on hardware.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.errors import ExecutionError
from warpglass.machine.bits import Ints
from warpglass.machine.footprint import Footprint
from warpglass.machine.regions import Region

__all__ = ["Arena", "Layout"]

_NORESERVE = 0x4000  # MAP_NORESERVE of linux/mman.h; the mmap module names it from 3.13 on only.
_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Layout:
    """Where the windows of the generic address space lie, for 64-bit and for 32-bit modules."""

    __slots__ = (
        "global_base",
        "local_window",
        "pointer_size",
        "region_limit",
        "shared_window",
        "window_size",
    )

    def __init__(self, address_size: int = 64) -> None:
        self.pointer_size = address_size // 8
        if address_size == 64:
            # Below 2^47 like a real device pointer, so that every address survives a JSON number.
            self.global_base = 0x7F00_0000_0000
            self.shared_window = 0x7E00_0000_0000
            self.local_window = 0x7D00_0000_0000
            self.window_size = 1 << 32
            self.region_limit = 4 << 30
        else:
            self.global_base = 0
            self.shared_window = 0xE000_0000
            self.local_window = 0xF000_0000
            self.window_size = 1 << 28
            self.region_limit = 64 << 20


class Arena:
    """The mapping, its typed views, and the regions laid out in it."""

    GUARD = 1 << 20

    def __init__(self, layout: Layout, limit: int) -> None:
        self.layout = layout
        self.limit = limit
        self.regions: list[Region] = []
        self._end = self.GUARD
        self._map: mmap.mmap | None = None
        self.views: dict[int, npt.NDArray[Any]] = {}
        self.materialised = 0
        self.footprint: Footprint | None = None

    def reserve(self, size: int, align: int = 256) -> int:
        """Lay out ``size`` bytes before the arena is mapped; gives their offset, guarded on both sides."""
        align = max(align, 256)
        start = (self._end + align - 1) // align * align
        self._end = start + size + self.GUARD
        return start

    def add_region(self, region: Region) -> None:
        """Make a region addressable by global and generic accesses."""
        self.regions.append(region)
        self.regions.sort(key=lambda r: r.start)

    def map(self) -> None:
        """Map all that was reserved. Raises :class:`ExecutionError` where the system refuses."""
        total = (self._end + self.GUARD + 4095) // 4096 * 4096
        try:
            self._map = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        except (OSError, ValueError, OverflowError) as error:
            raise ExecutionError(
                f"the system refused {total >> 20} MiB of address space for the launch's memory",
                hint="give array arguments, so that default buffers of 4 GiB are not needed",
            ) from error
        self.views = {size: np.frombuffer(self._map, dtype=dtype) for size, dtype in _DTYPES.items()}
        self.footprint = Footprint(total)

    @property
    def raw(self) -> npt.NDArray[np.uint8]:
        """The arena as bytes."""
        return self.views[1]

    def read(self, offset: int, size: int) -> bytes:
        """Copy ``size`` bytes at ``offset``."""
        return self.views[1][offset : offset + size].tobytes()

    def write(self, offset: int, data: bytes) -> None:
        """Store ``data`` at ``offset``."""
        self.views[1][offset : offset + len(data)] = np.frombuffer(data, dtype=np.uint8)

    def find(self, offset: int) -> Region | None:
        """The region that holds the byte at ``offset``."""
        regions = self.regions
        low, high = 0, len(regions)
        while low < high:
            middle = (low + high) // 2
            if regions[middle].start <= offset:
                low = middle + 1
            else:
                high = middle
        if low and offset < regions[low - 1].end:
            return regions[low - 1]
        return None

    def valid(self, offsets: Ints, size: int) -> npt.NDArray[np.bool_]:
        """Which accesses of ``size`` bytes lie inside one region."""
        if not self.regions:
            return np.zeros(offsets.shape, dtype=np.bool_)
        starts = np.array([r.start for r in self.regions], dtype=np.int64)
        ends = np.array([r.end for r in self.regions], dtype=np.int64)
        slot = np.searchsorted(starts, offsets, side="right") - 1
        inside: npt.NDArray[np.bool_] = (slot >= 0) & (offsets <= ends[np.maximum(slot, 0)] - size)
        return inside

    def touch(self, offsets: Ints, size: int) -> None:
        """Materialise what valid accesses at ``offsets`` see, region by region."""
        starts = np.array([r.start for r in self.regions], dtype=np.int64)
        slot = np.searchsorted(starts, offsets, side="right") - 1
        for index in np.unique(slot).tolist():
            self.regions[index].touch(self, offsets[slot == index], size)

    def clear(self, offset: int, size: int) -> None:
        """Zero ``size`` bytes; large areas are given back to the system, which zeroes them when touched."""
        if size <= 1 << 20 or self._map is None:
            self.views[1][offset : offset + size] = 0
            return
        page = mmap.PAGESIZE
        first, last = (offset + page - 1) // page * page, (offset + size) // page * page
        self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        self.views[1][offset:first] = 0
        self.views[1][last : offset + size] = 0

"""Per-instruction counters of a run and the first and worst request of each memory instruction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bools, Ints
from warpglass.machine.launch import Launch
from warpglass.machine.result import COUNTERS, AccessSample
from warpglass.machine.selection import Selection

__all__ = ["Counters", "RawSample"]


class RawSample:
    """A request as it was met; most are replaced by a worse one and never shown."""

    __slots__ = ("base", "block", "live", "row", "sectors", "size", "space", "warp", "waves")

    def __init__(
        self, block: int, warp: int, space: str, size: int, live: Bools | None, row: Ints, base: int,
        sectors: tuple[int, int], waves: tuple[int, int],
    ) -> None:  # fmt: skip
        self.block = block
        self.warp = warp
        self.space = space
        self.size = size
        self.live = live
        self.row = row
        self.base = base
        self.sectors = sectors
        self.waves = waves

    def finished(self, pc: int, label: str, x: int, y: int) -> AccessSample:
        """The sample as the result holds it; ``x`` and ``y`` are the grid's extents."""
        live = np.ones(32, dtype=np.bool_) if self.live is None else self.live
        return AccessSample(
            pc=pc, label=label, block=(self.block % x, self.block // x % y, self.block // (x * y)),
            warp=self.warp, space=self.space, size=self.size,
            mask=int((np.int64(1) << np.flatnonzero(live)).sum()),
            addresses=np.where(live, self.row + self.base, 0).astype(np.uint64),
            sectors=int(self.sectors[0]), sectors_ideal=int(self.sectors[1]),
            wavefronts=int(self.waves[0]), wavefronts_ideal=int(self.waves[1]),
        )  # fmt: skip


class Counters:
    """One Python list an event counter: adding to a list entry is the cheapest add there is here."""

    __slots__ = (*COUNTERS, "hist", "hist_full", "samples", "size")

    warp_executed: list[int]
    warp_on: list[int]
    thread_executed: list[int]
    thread_active: list[int]
    requests: list[int]
    sectors: list[int]
    sectors_ideal: list[int]
    wavefronts: list[int]
    wavefronts_ideal: list[int]
    broadcasts: list[int]
    bytes: list[int]
    bytes_distinct: list[int]
    atomic_addresses: list[int]
    branch_uniform: list[int]
    branch_divergent: list[int]
    branch_taken: list[int]

    def __init__(self, size: int) -> None:
        self.size = size
        for name in COUNTERS:
            setattr(self, name, [0] * size)
        self.hist = np.zeros((size, 33), dtype=np.int64)
        self.hist_full = [0] * size
        self.samples: dict[tuple[int, str], tuple[float, RawSample]] = {}

    def issue(self, pc: int, sel: Selection, on: Selection) -> None:
        """Count one issue of ``pc`` by the warps of ``sel`` with the lanes ``on`` left by the guard."""
        rows = sel.nrows
        self.warp_executed[pc] += rows
        self.thread_active[pc] += sel.count
        if on.full and on.nrows == rows:
            self.warp_on[pc] += rows
            self.thread_executed[pc] += on.count
            self.hist_full[pc] += rows
        elif on.count == 0:
            self.hist[pc, 0] += rows
        else:
            hist = on.hist
            self.warp_on[pc] += rows - int(hist[0])
            self.thread_executed[pc] += on.count
            self.hist[pc] += hist

    def columns(self) -> dict[str, Ints]:
        """All counters as int64 arrays."""
        return {name: np.array(getattr(self, name), dtype=np.int64) for name in COUNTERS}

    def histogram(self) -> npt.NDArray[np.int64]:
        """Warp instructions by number of lanes on, ``[instructions, 33]``."""
        out = self.hist.copy()
        out[:, 32] += np.array(self.hist_full, dtype=np.int64)
        return out

    def kept(self, launch: Launch) -> tuple[AccessSample, ...]:
        """Samples by instruction, the first before the worst."""
        x, y, _ = launch.grid
        return tuple(self.samples[key][1].finished(*key, x, y) for key in sorted(self.samples))

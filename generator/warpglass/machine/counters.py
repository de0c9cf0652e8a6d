"""Per-instruction counters of a run and the first and worst request of each memory instruction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints
from warpglass.machine.result import COUNTERS, AccessSample
from warpglass.machine.selection import Selection

__all__ = ["Counters"]


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
        self.samples: dict[tuple[int, str], tuple[float, AccessSample]] = {}

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

    def keep_sample(self, score: float, sample: AccessSample) -> None:
        """Keep ``sample`` as the first of its instruction, and as the worst if ``score`` is the highest."""
        key = (sample.pc, sample.label)
        held = self.samples.get(key)
        if held is None or (sample.label == "worst" and score > held[0]):
            self.samples[key] = (score, sample)

    def kept(self) -> tuple[AccessSample, ...]:
        """Samples by instruction, the first before the worst."""
        return tuple(self.samples[key][1] for key in sorted(self.samples))

"""Adds memory requests to the counters, remembering patterns so that most requests need no sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine import access as rules
from warpglass.machine.bits import Bools, Ints
from warpglass.machine.counters import RawSample

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine

__all__ = ["Pattern", "count_global", "count_local", "count_shared"]

Sums = tuple[int, ...]


class Pattern:
    """The last request of one instruction: its addresses, and what they counted."""

    __slots__ = ("index", "offset", "sums")

    def __init__(self) -> None:
        self.index: Ints | None = None
        self.offset = 0
        self.sums: Sums = ()

    def same(self, index: Ints, offset: int) -> bool:
        """Whether every row moved by a multiple of 32 bytes as a whole, so that nothing counted differs."""
        last = self.index
        if last is None or last.shape != index.shape or index.ndim != 2 or offset != self.offset:
            return False
        moved = index - last
        first = moved[:, :1]
        return not (first & 31).any() and bool((moved == first).all())


def _rows(access: Access, index: Ints, okay: Bools | None) -> tuple[Ints, Bools | None]:
    """Addresses as ``[n, 32]`` with the lanes that count, one row a warp of the selection."""
    on = access.on
    if index.ndim == 2:
        return index, okay
    spread = np.zeros((on.nrows, 32), dtype=np.int64)
    mask = np.zeros((on.nrows, 32), dtype=np.bool_)
    flat = on.flat
    row = np.searchsorted(on.rows, flat >> 5) if on.nrows != on.high - on.low else (flat >> 5) - on.low
    spread[row, flat & 31] = index
    mask[row, flat & 31] = True if okay is None else okay
    return spread, mask


def _add(m: Machine, pc: int, sums: Sums) -> None:
    """Sums are requests, sectors, ideal, wavefronts, ideal, broadcasts, bytes, distinct bytes."""
    c = m.counters
    c.requests[pc] += sums[0]
    if sums[1]:
        c.sectors[pc] += sums[1]
        c.sectors_ideal[pc] += sums[2]
    if sums[3]:
        c.wavefronts[pc] += sums[3]
        c.wavefronts_ideal[pc] += sums[4]
    c.broadcasts[pc] += sums[5]
    c.bytes[pc] += sums[6]
    c.bytes_distinct[pc] += sums[7]


def count_global(
    m: Machine, pc: int, access: Access, offset: int, size: int, pattern: Pattern, okay: Bools | None
) -> None:
    """Count a request to global or constant memory."""
    key = (size, offset & 31)
    sums = access.counts.get(key) if okay is None else None
    if sums is None:
        if okay is None and pattern.same(access.index, offset):
            sums = pattern.sums
        else:
            rows, mask = _rows(access, access.index + offset, okay)
            counts = rules.global_counts(rows, size, mask)
            if m.alike is not None:
                m.alike.counted(
                    access.on, counts.live, counts.sectors, counts.ideal, counts.broadcast, counts.addresses
                )
            from_const = access.space != 0
            sums = (
                int((counts.live > 0).sum()),
                0 if from_const else int(counts.sectors.sum()),
                0 if from_const else int(counts.ideal.sum()),
                0, 0, int(counts.broadcast.sum()), int(counts.live.sum()) * size,
                int(counts.addresses.sum()) * size,
            )  # fmt: skip
            _sample(m, pc, access, rows, mask, size, counts.sectors, counts.ideal, None, None)
        if okay is None:
            access.counts[key] = sums
            pattern.index, pattern.offset, pattern.sums = access.index, offset, sums
    _add(m, pc, sums)


def count_local(m: Machine, pc: int, access: Access, offset: int, size: int) -> None:
    """Count a request to local memory, whose words lie interleaved by lane behind the L1."""
    key = (size, offset)
    sums = access.counts.get(key)
    if sums is None:
        flat_lane = (
            access.on.flat if access.index.ndim == 1 else np.arange(access.on.low * 32, access.on.high * 32)
        )
        own = access.own.reshape(-1) + offset
        width = min(size, 4)
        total = np.zeros(access.on.nrows, dtype=np.int64)
        ideal = np.zeros(access.on.nrows, dtype=np.int64)
        for word in range(0, size, width):
            at = own + word
            line = (at >> 2) * 128 + (flat_lane & 31) * 4 + (at & 3)
            rows, mask = _rows(access, line.reshape(access.index.shape), None)
            counts = rules.global_counts(rows, width, mask)
            total += counts.sectors
            ideal += counts.ideal
        live = counts.live
        if m.alike is not None:
            m.alike.counted(access.on, live, total, ideal)
        rows, mask = _rows(access, own.reshape(access.index.shape), None)
        sums = (
            int((live > 0).sum()), int(total.sum()), int(ideal.sum()), 0, 0, 0, int(live.sum()) * size,
            int(live.sum()) * size,
        )  # fmt: skip
        access.counts[key] = sums
        _sample(m, pc, access, rows, mask, size, total, ideal, None, None)
    _add(m, pc, sums)


def count_shared(m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
    """Count a request to shared memory. An offset in whole words, common to all, turns the banks only."""
    key = (size, offset & (size - 1 if size > 4 else 3))
    known = access.detail.get(key) if okay is None else None
    if known is None:
        rows, mask = _rows(access, access.own + offset, okay)
        counts = rules.shared_counts(rows, size, mask)
        if m.alike is not None:
            m.alike.counted(
                access.on, counts.live, counts.wavefronts, counts.ideal, counts.broadcast, counts.addresses
            )
        sums = (
            int((counts.live > 0).sum()), 0, 0, int(counts.wavefronts.sum()), int(counts.ideal.sum()),
            int(counts.broadcast.sum()), int(counts.live.sum()) * size, int(counts.addresses.sum()) * size,
        )  # fmt: skip
        waves, ideal = counts.wavefronts, counts.ideal
        # The rows that samples show are kept too: other instructions with this pattern show the same ones.
        shown = {"first": int((waves > 0).argmax()), "worst": int((waves - ideal).argmax())}
        known = (sums, {label: (row, int(waves[row]), int(ideal[row])) for label, row in shown.items()})
        if okay is None:
            access.detail[key] = known
        _sample(m, pc, access, rows, mask, size, None, None, counts.wavefronts, counts.ideal)
    elif (pc, "first") not in m.counters.samples:
        _show_known(m, pc, access, offset, size, known[1])
    _add(m, pc, known[0])


def _show_known(
    m: Machine, pc: int, access: Access, offset: int, size: int, shown: dict[str, tuple[int, int, int]]
) -> None:
    """Keep the samples of an instruction whose pattern was worked out for another one."""
    if access.own.ndim == 2:
        rows, mask = access.own, None
    else:
        rows, mask = _rows(access, access.own, None)
    for label, (row, waves, ideal) in shown.items():
        if waves:
            warp = int(access.on.rows[row])
            live = None if mask is None else mask[row].copy()
            sample = RawSample(
                int(m.blocks[warp // m.wpb]), warp % m.wpb, "shared", size, live, rows[row] + offset, 0,
                (0, 0), (waves, ideal),
            )  # fmt: skip
            m.counters.samples[pc, label] = (float(waves - ideal), sample)


_NAMES = {0: "global", 1: "shared", 2: "local", 3: "const"}


def _sample(
    m: Machine,
    pc: int,
    access: Access,
    rows: Ints,
    mask: Bools | None,
    size: int,
    sectors: Ints | None,
    sectors_ideal: Ints | None,
    waves: Ints | None,
    waves_ideal: Ints | None,
) -> None:
    """Keep the first request of an instruction and the one furthest above its ideal."""
    cost, ideal = (sectors, sectors_ideal) if waves is None else (waves, waves_ideal)
    if cost is None or ideal is None or not cost.any():
        return
    excess = cost - ideal
    worst = int(excess.argmax())
    first = int((cost > 0).argmax())
    held = m.counters.samples
    fresh = (pc, "first") not in held
    before = held.get((pc, "worst"))
    score = float(excess[worst])
    picks = [(first, "first")] if fresh else []
    if before is None or score > before[0]:
        picks.append((worst, "worst"))
    for row, label in picks:
        warp = int(access.on.rows[row])
        held[pc, label] = (
            float(excess[row]),
            RawSample(
                int(m.blocks[warp // m.wpb]), warp % m.wpb, _NAMES[access.space], size,
                None if mask is None else mask[row].copy(), rows[row].copy(),
                m.arena.layout.global_base if access.space in (0, 3) else 0,
                (0, 0) if sectors is None or sectors_ideal is None else (sectors[row], sectors_ideal[row]),
                (0, 0) if waves is None or waves_ideal is None else (waves[row], waves_ideal[row]),
            ),
        )  # fmt: skip

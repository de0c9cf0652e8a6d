"""The profiler's counting rules for memory requests, as pure functions.

Addresses are ``int64 [n, 32]`` in bytes, one row a warp request; ``mask`` is ``bool [n, 32]`` or None for
all lanes live; every lane accesses ``size`` bytes, aligned to ``size``. Results are ``int64 [n]``.

The naive rules are wrong, and differ: lanes a bank (a broadcast costs nothing), 128-byte lines (a request
is split into 32-byte sectors), lane 0's address for the warp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpglass.machine.bits import Bools, Ints

__all__ = [
    "GlobalCounts",
    "SharedCounts",
    "distinct",
    "global_counts",
    "ideal_sectors",
    "sectors",
    "shared_counts",
]

SECTOR = 32
BANKS = 32
_NOTHING = np.int64(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class GlobalCounts:
    """Rows of a request to global, local or generic memory."""

    sectors: Ints
    ideal: Ints
    addresses: Ints
    live: Ints
    broadcast: Bools


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """Rows of a request to shared memory."""

    wavefronts: Ints
    ideal: Ints
    addresses: Ints
    live: Ints
    broadcast: Bools


def distinct(keys: Ints, mask: Bools | None) -> Ints:
    """Distinct live keys of each row."""
    if mask is None:
        ordered = np.sort(keys, axis=1)
        only: Ints = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1
        return only
    ordered = np.sort(np.where(mask, keys, _NOTHING), axis=1)
    changes: Ints = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1
    return np.asarray(changes - (ordered[:, -1] == _NOTHING), dtype=np.int64)


def sectors(addresses: Ints, size: int, mask: Bools | None) -> Ints:
    """Distinct 32-byte sectors of each row over the full access width."""
    if size <= SECTOR:
        return distinct(addresses >> 5, mask)
    parts = size // SECTOR
    wide = (addresses[:, :, None] >> 5) + np.arange(parts)
    spread = None if mask is None else np.repeat(mask, parts, axis=1)
    return distinct(wide.reshape(addresses.shape[0], -1), spread)


def ideal_sectors(distinct_bytes: Ints) -> Ints:
    """The fewest sectors that hold so many distinct bytes."""
    return (distinct_bytes + SECTOR - 1) // SECTOR


def _live(shape: tuple[int, ...], mask: Bools | None) -> Ints:
    if mask is None:
        return np.full(shape[0], shape[1], dtype=np.int64)
    return np.asarray(mask.sum(axis=1), dtype=np.int64)


def global_counts(addresses: Ints, size: int, mask: Bools | None) -> GlobalCounts:
    """All that is counted of a request to memory behind the L1."""
    live = _live(addresses.shape, mask)
    count = distinct(addresses, mask)
    words = count if size >= 4 else distinct(addresses >> 2, mask)
    return GlobalCounts(
        sectors(addresses, size, mask), ideal_sectors(count * size), count, live, words < live
    )


def _phase_waves(unit: Ints, banks: int, mask: Bools | None) -> Ints:
    """Most distinct units in one bank, for each row of lanes served together."""
    rows = unit.shape[0]
    keys = ((unit % banks) << 48) | unit
    if mask is not None:
        keys = np.where(mask, keys, _NOTHING)
    ordered = np.sort(keys, axis=1)
    fresh = np.ones(ordered.shape, dtype=np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    if mask is not None:
        fresh &= ordered != _NOTHING
    row = np.repeat(np.arange(rows), ordered.shape[1]).reshape(ordered.shape)
    bank = np.minimum(ordered >> 48, banks - 1)
    slots = (row * banks + bank)[fresh]
    counts = np.bincount(slots, minlength=rows * banks).reshape(rows, banks)
    return np.asarray(counts.max(axis=1), dtype=np.int64)


def _paired(addresses: Ints, mask: Bools | None, distance: int) -> Bools:
    """Rows in which every lane n shares the address of lane n ^ distance."""
    partner = np.arange(32) ^ distance
    same = addresses == addresses[:, partner]
    if mask is not None:
        same = np.where(mask, same & mask[:, partner], ~mask[:, partner])
    return np.asarray(same.all(axis=1), dtype=np.bool_)


def _waves(addresses: Ints, unit: int, lanes: int, mask: Bools | None) -> tuple[Ints, Ints]:
    """Wavefronts and phases with a live lane, with ``lanes`` lanes a phase."""
    rows, phases = addresses.shape[0], 32 // lanes
    split = (addresses // unit).reshape(rows * phases, lanes)
    cut = None if mask is None else mask.reshape(rows * phases, lanes)
    waves = _phase_waves(split, 128 // unit, cut)
    return waves.reshape(rows, phases).sum(axis=1), (waves > 0).reshape(rows, phases).sum(axis=1)


def shared_counts(addresses: Ints, size: int, mask: Bools | None) -> SharedCounts:
    """Wavefronts of a shared-memory request by the bank rule.

    Up to 32 bits: the most distinct 4-byte words in one of 32 banks. 64 bits: two halves of 16 lanes.
    128 bits: four quarters of 8 lanes, but two halves where all lane pairs (n, n^1) or (n, n^2) share an
    address. Lanes on the same word are served together.
    """
    live = _live(addresses.shape, mask)
    count = distinct(addresses, mask)
    words = count if size >= 4 else distinct(addresses >> 2, mask)
    unit = min(max(size, 4), 16)
    waves, phases = _waves(addresses, unit, 128 // unit, mask)
    if unit == 16:
        merged = _paired(addresses, mask, 1) | _paired(addresses, mask, 2)
        if merged.any():
            halves, half_phases = _waves(addresses, unit, 16, mask)
            waves = np.where(merged, halves, waves)
            phases = np.where(merged, half_phases, phases)
    return SharedCounts(waves, phases, count, live, words < live)

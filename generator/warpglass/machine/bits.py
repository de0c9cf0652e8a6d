"""Lane masks in their two shapes: ``bool [n, 32]`` and ``uint32 [n]``, lane 0 the lowest bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FULL", "Bits", "Bools", "Ints", "bits_of", "mask_of", "popcount"]

Bits = npt.NDArray[np.uint32]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

#: All 32 lanes.
FULL = np.uint32(0xFFFFFFFF)

_BYTE_COUNT = np.array([bin(i).count("1") for i in range(256)], dtype=np.int64)


def mask_of(bits: Bits) -> Bools:
    """``uint32 [n]`` as ``bool [n, 32]``."""
    raw = np.ascontiguousarray(bits, dtype=np.uint32).view(np.uint8).reshape(-1, 4)
    return np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)


def bits_of(mask: Bools) -> Bits:
    """``bool [n, 32]`` as ``uint32 [n]``."""
    return np.packbits(mask, axis=1, bitorder="little").view(np.uint32).reshape(-1)


def popcount(bits: Bits) -> Ints:
    """Lanes on in each mask, ``int64 [n]``."""
    raw = np.ascontiguousarray(bits, dtype=np.uint32).view(np.uint8).reshape(-1, 4)
    counts: Ints = _BYTE_COUNT[raw].sum(axis=1)
    return counts

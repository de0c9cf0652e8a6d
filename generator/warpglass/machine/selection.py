"""Which lanes of a batch an instruction acts on, in the shapes the operations want.

A selection knows its warps (``rows``) and for each the lanes on (``bits``). From these come, when asked
for, a bool mask over the bounding slice of warps, and the flat lane indexes. Operations choose: whole
arrays where nothing else lives, a slice with a mask where most lanes of it are on, indexes where few are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import FULL, Bits, Bools, Ints, bits_of, mask_of, popcount

__all__ = ["Selection"]

#: Below this share of lanes on in the bounding slice, gathering single lanes is cheaper than masking.
DENSE_SHARE = 0.25


class Selection:
    """Lanes of a batch. ``rows`` ascend without repetition; a row may have no lane on after narrowing."""

    __slots__ = (
        "_bits", "_blend", "_counts", "_flat", "_hist", "_mask", "count", "dense", "full", "high", "low",
        "nrows", "rows", "slice",
    )  # fmt: skip

    def __init__(
        self,
        rows: Ints,
        bits: Bits | None = None,
        *,
        mask: Bools | None = None,
        flat: Ints | None = None,
        count: int | None = None,
    ) -> None:
        self.rows = rows
        self.nrows = rows.shape[0]
        self.low = int(rows[0]) if self.nrows else 0
        self.high = int(rows[-1]) + 1 if self.nrows else 0
        self.slice = slice(self.low, self.high)
        self._bits = bits
        self._mask = mask
        self._flat = flat
        self._counts: Ints | None = None
        self._hist: Ints | None = None
        self._blend: dict[str, npt.NDArray[Any]] = {}
        self.full = False
        if count is None:
            count = int(self.counts.sum())
        self.count = count
        self.full = count == (self.high - self.low) * 32
        self.dense = count >= (self.high - self.low) * 32 * DENSE_SHARE

    @property
    def bits(self) -> Bits:
        """Lanes on, one mask for each of ``rows``."""
        if self._bits is None:
            if self.full:
                self._bits = np.full(self.nrows, FULL, dtype=np.uint32)
            elif self._mask is not None:
                bits = bits_of(self._mask)
                self._bits = bits if self.nrows == bits.shape[0] else bits[self.rows - self.low]
            else:
                assert self._flat is not None
                where = np.searchsorted(self.rows, self._flat >> 5)
                weights = (np.int64(1) << (self._flat & 31)).astype(np.float64)
                # Lanes are distinct, so the sum of their bits is exact below 2^53.
                self._bits = np.bincount(where, weights, minlength=self.nrows).astype(np.uint32)
        return self._bits

    @property
    def counts(self) -> Ints:
        """Lanes on in each of ``rows``."""
        if self._counts is None:
            self._counts = popcount(self.bits)
        return self._counts

    @property
    def hist(self) -> Ints:
        """Rows by number of lanes on, ``int64 [33]``."""
        if self._hist is None:
            self._hist = np.bincount(self.counts, minlength=33).astype(np.int64)
        return self._hist

    @property
    def mask(self) -> Bools:
        """Lanes on over the bounding slice, ``bool [high - low, 32]``."""
        if self._mask is None:
            if self.nrows == self.high - self.low:
                self._mask = mask_of(self.bits)
            else:
                bits = np.zeros(self.high - self.low, dtype=np.uint32)
                bits[self.rows - self.low] = self.bits
                self._mask = mask_of(bits)
        return self._mask

    @property
    def flat(self) -> Ints:
        """Indexes of the lanes on into arrays ``[W, 32]`` made flat, ascending."""
        if self._flat is None:
            self._flat = np.flatnonzero(self.mask) + self.low * 32
        return self._flat

    def blend(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """All-ones words where a lane is on, over the bounding slice: selects without branches."""
        found = self._blend.get(dtype.char)
        if found is None:
            found = self._blend[dtype.char] = np.negative(self.mask.view(np.uint8).astype(dtype))
        return found

    def narrow(self, predicate: Bools, negated: bool) -> Selection:
        """The lanes of this selection where ``predicate [W, 32]`` holds (or does not, if ``negated``)."""
        if self.dense:
            on = predicate[self.slice]
            if negated:
                on = ~on
            if not self.full:
                on = on & self.mask
            count = int(np.count_nonzero(on))
            if count == self.count:
                return self
            return Selection(self.rows, mask=on, count=count)
        lanes = self.flat
        chosen = predicate.reshape(-1)[lanes]
        lanes = lanes[~chosen if negated else chosen]
        if lanes.shape[0] == self.count:
            return self
        return Selection(self.rows, flat=lanes, count=lanes.shape[0])

    def live_rows(self) -> Selection:
        """The same lanes without the rows that have none on."""
        keep = self.bits != 0
        if keep.all():
            return self
        return Selection(self.rows[keep], self.bits[keep])

"""Who touched each place of shared memory last: the state behind the race check."""

from __future__ import annotations

import numpy as np

from warpglass.machine.bits import Bools, Ints

__all__ = ["Shadow"]

#: How many readers a place has had: one lane, several of one warp, several warps.
ONE, WARP, MANY = 0, 1, 2


class Shadow:
    """Columns by place: last writer and readers, their interval (epoch) and stretch between warp barriers."""

    def __init__(self, units: int) -> None:
        self.writer = np.full(units, -1, dtype=np.int32)
        self.write_epoch = np.full(units, -1, dtype=np.int32)
        self.write_stretch = np.zeros(units, dtype=np.int32)
        self.write_pc = np.zeros(units, dtype=np.int32)
        self.write_atomic = np.zeros(units, dtype=np.bool_)
        self.reader = np.full(units, -1, dtype=np.int32)
        self.read_epoch = np.full(units, -1, dtype=np.int32)
        self.read_stretch = np.zeros(units, dtype=np.int32)
        self.read_pc = np.zeros(units, dtype=np.int32)
        self.readers = np.zeros(units, dtype=np.int8)

    def _written_by_others(self, units: Ints, lanes: Ints, epoch: Ints, stretch: Ints) -> Bools:
        writer = self.writer[units]
        recent = (self.write_epoch[units] == epoch) & (writer >= 0) & (writer != lanes)
        ordered = ((writer >> 5) == (lanes >> 5)) & (self.write_stretch[units] != stretch)
        return np.asarray(recent & ~ordered, dtype=np.bool_)

    def _read_by_others(self, units: Ints, lanes: Ints, epoch: Ints, stretch: Ints) -> Bools:
        reader, readers = self.reader[units], self.readers[units]
        recent = (self.read_epoch[units] == epoch) & (reader >= 0)
        same_warp = (reader >> 5) == (lanes >> 5)
        ordered = same_warp & (self.read_stretch[units] != stretch)
        other = (readers == MANY) | (((readers == WARP) | (reader != lanes)) & ~ordered)
        return np.asarray(recent & other, dtype=np.bool_)

    def read(self, units: Ints, lanes: Ints, epoch: Ints, stretch: Ints, pc: int) -> tuple[Bools, Ints]:
        """Reads by ``lanes``: which of them race with a write, and the instruction that wrote."""
        bad = self._written_by_others(units, lanes, epoch, stretch)
        other: Ints = self.write_pc[units].astype(np.int64)
        held, count = self.reader[units], self.readers[units]
        recent = (self.read_epoch[units] == epoch) & (held >= 0)
        same_warp = (held >> 5) == (lanes >> 5)
        before = np.where(
            recent, np.maximum(count, np.where(held == lanes, ONE, np.where(same_warp, WARP, MANY))), ONE
        )  # fmt: skip
        self.readers[units] = ONE
        np.maximum.at(self.readers, units, before.astype(np.int8))
        self.reader[units] = lanes
        self.read_epoch[units] = epoch
        self.read_stretch[units] = stretch
        self.read_pc[units] = pc
        # Lanes of this very access that share a place: the last one stands in the shadow, the others differ.
        last = self.reader[units]
        shared = last != lanes
        if shared.any():
            kind = np.where((last >> 5) == (lanes >> 5), WARP, MANY)[shared].astype(np.int8)
            np.maximum.at(self.readers, units[shared], kind)
        return bad, other

    def write(
        self, units: Ints, lanes: Ints, epoch: Ints, stretch: Ints, pc: int, atomic: bool
    ) -> dict[str, tuple[Bools, Ints]]:
        """Writes by ``lanes``: which race, by hazard, and the other instruction."""
        found: dict[str, tuple[Bools, Ints]] = {}
        over_write = self._written_by_others(units, lanes, epoch, stretch)
        if atomic:
            over_write &= ~self.write_atomic[units]
        over_read = self._read_by_others(units, lanes, epoch, stretch)
        if over_read.any():
            found["write-after-read"] = (over_read, self.read_pc[units].astype(np.int64))
        other: Ints = self.write_pc[units].astype(np.int64)
        self.writer[units] = lanes
        self.write_epoch[units] = epoch
        self.write_stretch[units] = stretch
        self.write_pc[units] = pc
        self.write_atomic[units] = atomic
        if not atomic:
            twice = self.writer[units] != lanes
            other = np.where(twice & ~over_write, pc, other)
            over_write = over_write | twice
        if over_write.any():
            found["write-after-write"] = (over_write, other)
        return found

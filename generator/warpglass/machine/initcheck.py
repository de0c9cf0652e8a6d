"""Reads of local memory that the thread has not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bools, Ints

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine

__all__ = ["LocalCheck"]

#: Bytes of local memory of a batch up to which every byte is watched.
WATCHED = 64 << 20


class LocalCheck:
    """Which bytes of a batch's local memory were written."""

    def __init__(self, m: Machine) -> None:
        self.size = m.local_stride * m.W * 32
        self.written: npt.NDArray[np.bool_] | None = None

    def _places(self, m: Machine, access: Access, offset: int, okay: Bools | None) -> tuple[Ints, Ints]:
        at = access.index.reshape(-1) + (offset - m.local_at)
        lanes = access.lanes()
        if okay is None:
            return at, lanes
        keep = okay.reshape(-1)
        return at[keep], lanes[keep]

    def write(self, m: Machine, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A store of ``size`` bytes a lane."""
        if self.size <= WATCHED:
            self.fill(self._places(m, access, offset, okay)[0], size)

    def fill(self, at: Ints, size: int) -> None:
        """``size`` bytes from each of the places ``at`` were written."""
        if self.size > WATCHED:
            return
        if self.written is None:
            self.written = np.zeros(self.size, dtype=np.bool_)
        for byte in range(size):
            self.written[at + byte] = True

    def read(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A load of ``size`` bytes a lane."""
        if self.size > WATCHED:
            return
        at, lanes = self._places(m, access, offset, okay)
        if self.written is None:
            bad = np.ones(at.shape, dtype=np.bool_)
        else:
            bad = ~self.written[at]
            for byte in range(1, size):
                bad |= ~self.written[at + byte]
        if bad.any():
            m.findings.lanes(
                m, "initcheck-local", lanes[bad], at[bad] % m.local_stride, pc,
                kind="initcheck", severity="warning", category="memory",
                message="local memory is read before its thread has written it; it reads as zero",
            )  # fmt: skip

"""Reads of shared memory that a ``cp.async`` has yet to fill: nobody waited for the copy.

A copy is written to memory when its thread waits, so that such a read returns what lay there before. On a GPU
it returns either; the mistake shows as a wrong result now and then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bools, Ints

if TYPE_CHECKING:
    from warpglass.machine.async_copy import Pending
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine

__all__ = ["CopyCheck"]

#: Bytes of a word, the smallest copy.
WORD = 4
#: By bytes of a copy: the counts of its words as one number, and a one in each of them.
PACKED: Mapping[int, tuple[type[np.unsignedinteger[Any]], int]] = {
    4: (np.uint8, 1), 8: (np.uint16, 0x0101), 16: (np.uint32, 0x01010101),
}  # fmt: skip


class CopyCheck:
    """How many copies under way each word of a batch's shared memory waits for, a byte a word."""

    def __init__(self) -> None:
        self.words: npt.NDArray[np.uint8] | None = None

    def start(self, m: Machine, entry: Pending) -> None:
        """Copies begin."""
        if not m.races.on or entry.size not in PACKED:
            return
        if self.words is None:
            self.words = np.zeros(m.B * m.shared_stride // WORD, dtype=np.uint8)
        kind, one = PACKED[entry.size]
        self.words.view(kind)[(entry.dest[entry.okay] - m.shared_at) // entry.size] += kind(one)

    def land(self, m: Machine, dest: Ints, size: int) -> None:
        """Copies to arena bytes ``dest`` are done."""
        if self.words is None or size not in PACKED:
            return
        kind, one = PACKED[size]
        places = (dest - m.shared_at) // size
        counts: Any = self.words.view(kind)
        held = counts[places]
        # Two lanes that copy to one place at once count once, and land apart.
        counts[places] = np.where(held >= one, held - kind(one), kind(0))

    def read(
        self, m: Machine, pending: list[Pending], pc: int, access: Access, offset: int, size: int,
        okay: Bools | None,
    ) -> None:  # fmt: skip
        """A read of shared memory while copies are under way."""
        if self.words is None:
            return
        index = access.index.reshape(-1) + offset
        lanes = access.lanes()
        if okay is not None:
            index, lanes = index[okay.reshape(-1)], lanes[okay.reshape(-1)]
        if size in PACKED:
            waits: Any = self.words.view(PACKED[size][0])[(index - m.shared_at) // size] != 0
        else:
            first = (index - m.shared_at) // WORD
            waits = self.words[first] != 0
            for word in range(1, -(-size // WORD)):
                waits |= self.words[first + word] != 0
        if not waits.any():
            return
        at = int(np.flatnonzero(waits)[0])
        copier = _copier(pending, int(index[at]), size)
        line = m.program.lines[copier]
        m.findings.add(
            m, "race-read-before-copy", kind="racecheck", severity="critical", category="synchronisation",
            pc=pc, lane=int(lanes[at]), address=int(index[at] - m.shared_at) % m.shared_stride,
            count=int(waits.sum()), other_line=line, other_pc=copier, hazard="read-before-copy",
            message=f"shared memory is read while the cp.async at line {line} still fills it: "
            "no wait for that copy comes before the read",
        )  # fmt: skip


def _copier(pending: list[Pending], place: int, size: int) -> int:
    """The instruction of the newest copy under way to ``place`` and the bytes behind it."""
    for entry in reversed(pending):
        meets: Any = entry.okay & (entry.dest < place + size) & (entry.dest + entry.size > place)
        if meets.any():
            return entry.pc
    return pending[-1].pc

"""Values that instructions make which are counted but not executed, followed until somebody needs one.

HGMMA, tensor-map copies and the tensor memory of sm_100 are counted; what they make is unknown. From there on
every register and byte that depends on it is unknown too, lane by lane. A branch, a guard, an address or a
barrier that depends on it ends the run with a message that names both instructions, since whatever came next
would be made up. Stores of unknown values go on (their count and address are known) and make the memory
unknown; such a buffer is not given back.

The rule is safe rather than sharp: a global buffer, for example, is unknown as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bits, Bools, Ints

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["CARRIES", "MAKES", "NEEDS", "Unknowns", "Use"]

#: What an instruction does with an unknown source: hands it on, needs it known, or makes unknowns itself.
CARRIES, NEEDS, MAKES = 0, 1, 2
#: Space codes of :mod:`warpglass.machine.lsu`.
_SHARED, _LOCAL = 1, 2


@dataclass(frozen=True, slots=True)
class Use:
    """Registers (as numbered by ``sass.defuse``) of an instruction: sources, those of its guard, those that
    make its addresses, and results. ``atomic``: memory is read and written; ``across``: a lane's result may
    come of other lanes' sources."""

    reads: tuple[int, ...]
    guard: tuple[int, ...]
    places: tuple[int, ...]
    writes: tuple[int, ...]
    kind: int
    atomic: bool = False
    across: bool = False


class _Area:
    """Unknown bytes of the shared or local memory of a batch."""

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size
        self.marks: npt.NDArray[np.int32] | None = None

    def put(self, at: Ints, size: int, origin: Ints) -> None:
        """Bytes ``[at, at + size)`` come from ``origin``; 0: they are known."""
        if self.marks is None:
            if not origin.any():
                return
            self.marks = np.zeros(self.size, dtype=np.int32)
        for byte in range(size):
            self.marks[at + (byte - self.start)] = origin

    def span(self, first: int, last: int, origin: int) -> None:
        """All bytes of ``[first, last)`` come from ``origin``."""
        if self.marks is None:
            self.marks = np.zeros(self.size, dtype=np.int32)
        self.marks[first - self.start : last - self.start] = origin

    def get(self, at: Ints, size: int) -> Ints | None:
        """Origin of ``size`` bytes from each place; None where all are known."""
        if self.marks is None:
            return None
        found = np.zeros(at.shape, dtype=np.int64)
        for byte in range(size):
            np.maximum(found, self.marks[at + (byte - self.start)], out=found)
        return found if found.any() else None


class _Lanes:
    """Which lanes of each warp hold something unknown, and where it came from: 1 + the instruction's pc."""

    __slots__ = ("bits", "origin")

    def __init__(self, warps: int) -> None:
        self.bits: Bits = np.zeros(warps, dtype=np.uint32)
        self.origin: Ints = np.zeros(warps, dtype=np.int64)

    def put(self, on: Selection, bits: Bits, origin: Ints) -> None:
        """The lanes ``on`` are written: those of ``bits`` with unknowns."""
        self.bits[on.rows] = (self.bits[on.rows] & ~on.bits) | bits
        self.origin[on.rows] = np.where(bits != 0, origin, self.origin[on.rows])

    def add(self, rows: Ints, lanes: Ints, origin: Ints) -> None:
        """Single lanes become unknown."""
        np.bitwise_or.at(self.bits, rows, np.uint32(1) << lanes.astype(np.uint32))
        self.origin[rows] = origin

    def of(self, rows: Ints, lanes: Ints) -> Ints:
        """Origin by lane, 0 where it is known."""
        held = self.bits[rows] >> lanes.astype(np.uint32) & np.uint32(1)
        return np.where(held != 0, self.origin[rows], 0)


class Unknowns:
    """Which registers and bytes of a batch are unknown."""

    def __init__(self, m: Machine, uses: tuple[Use, ...]) -> None:
        self.uses = uses
        self.registers: dict[int, _Lanes] = {}
        #: What an instruction stores, by its pc: some store later than they issue.
        self.stored: dict[int, _Lanes] = {}
        self.areas = {
            _SHARED: _Area(m.shared_at, m.B * m.shared_stride),
            _LOCAL: _Area(m.local_at, m.W * 32 * m.local_stride),
        }
        #: Origin of unknown buffers, by the start of their region: all batches share memory.
        self.regions: dict[int, int] = m.run_state.unknown_regions
        self.warps = m.W

    # -- registers ---------------------------------------------------------------------------------------

    def _held(self, codes: tuple[int, ...], on: Selection) -> tuple[Bits, Ints] | None:
        """Lanes of ``on`` that hold an unknown in one of the registers, and its origin by warp."""
        bits: Bits | None = None
        origin: Ints = np.zeros(on.nrows, dtype=np.int64)
        for code in codes:
            held = self.registers.get(code)
            if held is not None:
                mine = held.bits[on.rows] & on.bits
                origin = np.where(mine != 0, held.origin[on.rows], origin)
                bits = mine if bits is None else bits | mine
        return None if bits is None or not bits.any() else (bits, origin)

    def issue(self, m: Machine, pc: int, sel: Selection, on: Selection) -> None:
        """Before an instruction runs: stop if it needs an unknown value, else hand on what it carries."""
        use = self.uses[pc]
        if (found := self._held(use.guard, sel)) is not None:
            self._stop(m, pc, found[1], "whether it runs depends on")
        if on.count == 0:
            return
        on = on.live_rows()
        if (found := self._held(use.places, on)) is not None:
            self._stop(m, pc, found[1], "its address depends on")
        found = self._held(use.reads, on)
        if found is not None and use.kind == NEEDS:
            self._stop(m, pc, found[1], "it needs")
        bits: Bits = np.zeros(on.nrows, dtype=np.uint32)
        origin: Ints = np.zeros(on.nrows, dtype=np.int64)
        if found is not None:
            bits, origin = found
            if use.across:
                bits = np.where(bits != 0, on.bits, np.uint32(0)).astype(np.uint32)
        if use.kind == MAKES:
            bits, origin = on.bits, np.where(origin > 0, origin, pc + 1)
        unknown = bool(bits.any())
        if unknown or pc in self.stored:
            self._lanes(self.stored, pc).put(on, bits, origin)
        for code in use.writes:
            if unknown or code in self.registers:
                self._lanes(self.registers, code).put(on, bits, origin)

    def _lanes(self, table: dict[int, _Lanes], key: int) -> _Lanes:
        if key not in table:
            table[key] = _Lanes(self.warps)
        return table[key]

    def hides(self, pc: int, rows: Ints) -> bool:
        """Whether a result of the instruction is unknown for some lane of the warps."""
        held = (self.registers.get(code) for code in self.uses[pc].writes)
        return any(lanes is not None and bool(lanes.bits[rows].any()) for lanes in held)

    def stores(self, pc: int) -> bool:
        """Whether what the instruction stores is unknown for some lane."""
        held = self.stored.get(pc)
        return held is not None and bool(held.bits.any())

    # -- memory ------------------------------------------------------------------------------------------

    def memory(
        self, m: Machine, access: Access, offset: int, size: int, pc: int, store: bool, okay: Bools | None
    ) -> None:
        """An access of ``size`` bytes a lane: loads take on, stores hand on what is unknown."""
        use = self.uses[pc]
        at = access.index.reshape(-1) + offset
        lanes = access.lanes()
        if okay is not None:
            keep = okay.reshape(-1)
            at, lanes = at[keep], lanes[keep]
        if not at.size:
            return
        if not store or use.atomic:
            self._load(m, access.space, at, size, lanes, use, pc)
        if store:
            held = self.stored.get(pc)
            origin = np.zeros(at.shape, dtype=np.int64) if held is None else held.of(lanes >> 5, lanes & 31)
            if use.atomic:
                before = self._bytes(m, access.space, at, size)
                origin = origin if before is None else np.maximum(origin, before)
            self._store(m, access.space, at, size, origin)

    def _load(self, m: Machine, space: int, at: Ints, size: int, lanes: Ints, use: Use, pc: int) -> None:
        origin = self._bytes(m, space, at, size)
        if origin is None:
            return
        bad = origin > 0
        rows, lanes, origin = lanes[bad] >> 5, lanes[bad] & 31, origin[bad]
        if use.across:
            rows = np.repeat(rows, 32)
            lanes, origin = np.tile(np.arange(32), rows.size // 32), np.repeat(origin, 32)
        for code in use.writes:
            self._lanes(self.registers, code).add(rows, lanes, origin)
        if not use.writes:
            # A copy stores what it loads.
            self._lanes(self.stored, pc).add(rows, lanes, origin)

    def _bytes(self, m: Machine, space: int, at: Ints, size: int) -> Ints | None:
        area = self.areas.get(space)
        if area is not None:
            return area.get(at, size)
        if not self.regions:
            return None
        found = np.zeros(at.shape, dtype=np.int64)
        for region in m.arena.regions:
            origin = self.regions.get(region.start)
            if origin is not None:
                found[(at >= region.start) & (at < region.end)] = origin
        return found if found.any() else None

    def _store(self, m: Machine, space: int, at: Ints, size: int, origin: Ints) -> None:
        area = self.areas.get(space)
        if area is not None:
            area.put(at, size, origin)
        elif origin.any():
            for place in np.unique(at[origin > 0]).tolist():
                region = m.arena.find(int(place))
                if region is not None:
                    self.regions[region.start] = int(origin.max())

    def copied(self, m: Machine, source: tuple[int, int], dest: tuple[int, int], size: int) -> None:
        """A bulk copy between (space, place) pairs."""
        at = np.arange(source[1], source[1] + size, dtype=np.int64)
        origin = self._bytes(m, source[0], at, 1)
        to = np.arange(dest[1], dest[1] + size, dtype=np.int64)
        self._store(m, dest[0], to, 1, np.zeros(size, dtype=np.int64) if origin is None else origin)

    def landed(self, first: int, last: int, pc: int) -> None:
        """Bytes of shared memory that an unexecuted copy of instruction ``pc`` has written."""
        self.areas[_SHARED].span(first, last, pc + 1)

    # -- words -------------------------------------------------------------------------------------------

    @staticmethod
    def _stop(m: Machine, pc: int, origin: Ints, why: str) -> None:
        program = m.program
        made = int(origin.max()) - 1
        m.stop(
            "unsupported",
            f"stopped at line {program.lines[pc]}: {program.opcodes[pc]} cannot go on, because {why} what "
            f"{program.opcodes[made]} makes at line {program.lines[made]}, which is counted but not executed",
            pc,
        )

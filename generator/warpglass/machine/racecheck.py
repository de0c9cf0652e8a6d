"""Shared-memory hazards between barriers, and reads of shared memory that nobody wrote.

Accesses are logged and looked at when a barrier opens: an interval that only reads, or whose writes touch
every place once, is dismissed by one cheap test. Otherwise a shadow of the memory tells for each place who
wrote and read it last, in which interval of its block, and in which stretch between warp barriers. The lanes
of a warp count as unordered between warp barriers, even where they ran in lockstep. In machine code they
count as ordered from one instruction to the next, since its compiler leaves out warp barriers already met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bools, Ints
from warpglass.machine.shadow import Shadow

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["ATOMIC", "READ", "WRITE", "RaceCheck"]

READ, WRITE, ATOMIC = 0, 1, 2

#: Logged accesses, and lanes in them, from which on the log is worked off before the interval ends.
LOG_ENTRIES = 512
LOG_LANES = 4 << 20

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Entry:
    """One access: shadow units (first of each lane, less ``shift``), lanes, units a lane covers."""

    kind: int
    pc: int
    units: Ints
    shift: int
    lanes: Ints
    span: int

    def spread(self) -> tuple[Ints, Ints]:
        """Every unit with the lane that touches it."""
        if self.span == 1:
            return (self.units + self.shift if self.shift else self.units), self.lanes
        units = (self.units[:, None] + (self.shift + np.arange(self.span))).reshape(-1)
        return units, np.repeat(self.lanes, self.span)


class RaceCheck:
    """Watches the shared memory of a batch. ``unit`` is the finest access of the program, in bytes."""

    def __init__(self, m: Machine) -> None:
        self.on = m.run_state.options.racecheck and m.shared_bytes > 0
        self.unit = int(m.run_state.extra.get("shared_unit", 1))
        self.units = m.B * m.shared_stride // self.unit
        #: Places of a block that the system has filled: its own KiB from sm_90 on.
        self.reserved = m.run_state.reserved_shared // self.unit
        self.blocks = m.B
        self.log: list[Entry] = []
        #: Machine code: every instruction is a stretch of its own for the lanes of a warp.
        self.in_order = m.program.isa == "sass"
        self.serial = 0
        self.lanes = 0
        self.kinds = 0
        self.shadow: Shadow | None = None
        #: True while the shadow holds writes or reads of an interval that still runs.
        self.dirty = False
        self.block_epoch: Ints = np.zeros(m.B, dtype=np.int64)
        self.warp_epoch: Ints = np.zeros(m.W, dtype=np.int64)
        self.scratch: Ints | None = None
        self.written: npt.NDArray[np.bool_] | None = None
        #: Offsets in every block's memory that are known to be written, so that reads need no look.
        self.ready = (0, 0)
        self.writes = 0
        self.tried = -1

    # -- logging -----------------------------------------------------------------------------------------

    def read(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A load."""
        if access.space == 2:
            m.local_check.read(m, pc, access, offset, size, okay)
        elif self.on and access.space == 1:
            m.copies.read(m, pc, access, offset, size, okay)
            self._uninitialised(m, pc, access, offset, size, okay)
            self._log(m, READ, pc, access, offset, size, okay)

    def write(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """A store."""
        if access.space == 2:
            m.local_check.write(m, access, offset, size, okay)
        elif self.on and access.space == 1:
            self._log(m, WRITE, pc, access, offset, size, okay)

    def atomic(self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None) -> None:
        """An atomic update, which races with plain accesses only."""
        if access.space == 2:
            m.local_check.write(m, access, offset, size, okay)
        elif self.on and access.space == 1:
            m.copies.read(m, pc, access, offset, size, okay)
            self._uninitialised(m, pc, access, offset, size, okay)
            self._log(m, ATOMIC, pc, access, offset, size, okay)

    def fill(self, m: Machine, start: int, size: int) -> None:
        """Arena bytes that an asynchronous engine has written."""
        if self.on:
            first = (start - m.shared_at) // self.unit
            self._written()[first : first + -(-size // self.unit)] = True

    def _log(
        self, m: Machine, kind: int, pc: int, access: Access, offset: int, size: int, okay: Bools | None
    ) -> None:
        index = access.index.reshape(-1)
        lanes = access.lanes()
        if okay is not None:
            keep = okay.reshape(-1)
            index, lanes = index[keep], lanes[keep]
        # A place in another block's memory has no interval in common with it; only that it is written counts.
        units = (
            access.shadow_units(m.shared_at, self.unit)
            if okay is None
            else (index - m.shared_at) // self.unit
        )
        shift = offset // self.unit
        entry = Entry(kind, pc, units, shift, lanes, max(size // self.unit, 1))
        if kind != READ:
            self._written()[entry.spread()[0]] = True
            self.writes += 1
        if m.cluster.size > 1 and access.remote:
            return
        self.log.append(entry)
        self.kinds |= 1 << kind
        self.lanes += lanes.shape[0]
        if len(self.log) >= LOG_ENTRIES or self.lanes >= LOG_LANES:
            self._work_off(m)

    # -- intervals ---------------------------------------------------------------------------------------

    def epoch(self, m: Machine, blocks: Ints) -> None:
        """``blocks`` passed a barrier."""
        if not self.on:
            return
        everyone = blocks.shape[0] == m.B
        if self.log:
            if everyone and not self.dirty and (self.kinds == 1 << READ or self._apart()):
                self._forget()
            else:
                self._work_off(m)
        self.block_epoch[blocks] += 1
        if everyone:
            self.dirty = False

    def warp_barrier(self, m: Machine, on: Selection) -> None:
        """The lanes on of each warp met."""
        if self.on:
            self._work_off(m)
            self.warp_epoch[on.rows[on.bits != 0]] += 1

    def sync(self, m: Machine, on: Selection) -> None:
        """Lanes synchronised otherwise (an mbarrier, a fence): what they did before counts as ordered."""
        if self.on and on.count:
            self.epoch(m, np.unique(m.block_of[on.rows]))

    def finish(self, m: Machine) -> None:
        """The batch ended."""
        if (
            self.on
            and self.log
            and (self.dirty or self.kinds != 1 << READ)
            and not (not self.dirty and self._apart())
        ):
            self._work_off(m)

    def _forget(self) -> None:
        self.log.clear()
        self.lanes = 0
        self.kinds = 0

    def _apart(self) -> bool:
        """Whether the logged accesses are all writes and no two lanes touch one place."""
        if self.kinds != 1 << WRITE:
            return False
        if self.scratch is None:
            self.scratch = np.zeros(self.units, dtype=np.int64)
        spread = [entry.spread() for entry in self.log]
        for units, lanes in spread:
            self.scratch[units] = lanes
        return all(bool((self.scratch[units] == lanes).all()) for units, lanes in spread)

    def _work_off(self, m: Machine) -> None:
        if not self.log:
            return
        if self.shadow is None:
            self.shadow = Shadow(self.units)
        for entry in self.log:
            units, lanes = entry.spread()
            warps = lanes >> 5
            epoch = self.block_epoch[m.block_of[warps]]
            if self.in_order:
                self.serial += 1
                stretch = np.full(warps.shape, self.serial, dtype=np.int64)
            else:
                stretch = self.warp_epoch[warps]
            if entry.kind == READ:
                bad, other = self.shadow.read(units, lanes, epoch, stretch, entry.pc)
                self._report(m, "read-after-write", entry, lanes, units, bad, other)
            else:
                found = self.shadow.write(units, lanes, epoch, stretch, entry.pc, entry.kind == ATOMIC)
                for name, (bad, other) in found.items():
                    self._report(m, name, entry, lanes, units, bad, other)
        self.dirty = True
        self._forget()

    def _report(
        self, m: Machine, name: str, entry: Entry, lanes: Ints, units: Ints, bad: Bools, other: Ints
    ) -> None:
        if not bad.any():
            return
        first = int(np.flatnonzero(bad)[0])
        against = int(other[first])
        line = m.program.lines[against]
        place = int(units[first]) * self.unit % m.shared_stride
        same = name == "write-after-write" and against == entry.pc
        words = {
            "read-after-write": f"reads what another thread writes at line {line}",
            "write-after-read": f"overwrites what another thread reads at line {line}",
            "write-after-write": f"overwrites what another thread writes at line {line}",
        }[name]
        m.findings.add(
            m, f"race-{name}", kind="racecheck", severity="warning" if same else "critical",
            category="synchronisation", pc=entry.pc, lane=int(lanes[first]), address=place,
            count=int(bad.sum()), other_line=line, other_pc=against, hazard=name,
            message=f"shared memory {name} hazard: {words}, with no barrier between",
        )  # fmt: skip

    # -- initialisation ----------------------------------------------------------------------------------

    def _written(self) -> npt.NDArray[np.bool_]:
        if self.written is None:
            self.written = np.zeros(self.units, dtype=np.bool_)
            self.written.reshape(self.blocks, -1)[:, : self.reserved] = True
        return self.written

    def _uninitialised(
        self, m: Machine, pc: int, access: Access, offset: int, size: int, okay: Bools | None
    ) -> None:
        low, high = access.low + offset, access.high + offset + size
        if low >= self.ready[0] and high <= self.ready[1]:
            return
        written = self._written()
        if self.writes != self.tried:
            # Most kernels fill all of their memory before they read: one look, and reads cost nothing more.
            self.tried = self.writes
            if self._extend(m, 0, m.shared_bytes):
                return
        if not access.remote and self._extend(m, max(low, 0), min(high, m.shared_bytes)):
            return
        units = (access.index.reshape(-1) + offset - m.shared_at) // self.unit
        lanes = access.lanes()
        if okay is not None:
            units, lanes = units[okay.reshape(-1)], lanes[okay.reshape(-1)]
        if units.shape[0] == 0:
            return
        fine = written[units]
        for more in range(1, max(size // self.unit, 1)):
            fine = fine & written[units + more]
        if fine.all():
            return
        bad = ~fine
        own = (units[bad] * self.unit) % m.shared_stride
        m.findings.lanes(
            m, "initcheck-shared", lanes[bad], own, pc,
            kind="initcheck", severity="warning", category="memory",
            message="shared memory is read before anything was written there; it reads as zero",
        )  # fmt: skip

    def _extend(self, m: Machine, low: int, high: int) -> bool:
        """Widen what is known to be written in every block by ``[low, high)``, if it is."""
        by_block = self._written().reshape(m.B, -1)
        first, last = low // self.unit, -(-high // self.unit)
        if low >= high or not bool(by_block[:, first:last].all()):
            return False
        touching = low <= self.ready[1] and high >= self.ready[0]
        self.ready = (min(low, self.ready[0]), max(high, self.ready[1])) if touching else (low, high)
        return True

"""``cp.async``: copies that become visible when their thread waits for them, and bulk copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.bits import Bools, Ints
from warpglass.machine.copy_check import CopyCheck
from warpglass.machine.counting import Pattern
from warpglass.machine.program import Op
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["AsyncCopies", "CommitOp", "CopyOp", "Pending", "WaitGroupOp"]


@dataclass(slots=True)
class Pending:
    """Copies of one issue: by lane, where from, where to, bytes to read (the rest is zero), commit group."""

    lanes: Ints
    source: Ints
    dest: Ints
    size: int
    valid: Ints
    group: Ints
    okay: npt.NDArray[np.bool_]
    pc: int


class AsyncCopies:
    """Copies of a batch that their threads have not waited for."""

    def __init__(self, m: Machine) -> None:
        self.pending: list[Pending] = []
        self.check = CopyCheck()
        self.committed: Ints = np.zeros(m.W * 32, dtype=np.int64)

    def add(self, m: Machine, entry: Pending) -> None:
        """Start copies."""
        entry.group = self.committed[entry.lanes]
        self.pending.append(entry)
        self.check.start(m, entry)

    def read(
        self, m: Machine, pc: int, access: lsu.Access, offset: int, size: int, okay: Bools | None
    ) -> None:
        """A read of shared memory: it must not come before a copy that fills it."""
        if self.pending:
            self.check.read(m, self.pending, pc, access, offset, size, okay)

    def commit(self, on: Selection) -> None:
        """Close the current group of the lanes on."""
        self.committed[on.flat] += 1

    def wait(self, m: Machine, g: Group | None, on: Selection, keep: int | None) -> None:
        """Finish all but the last ``keep`` groups of the lanes on; None: also what is not committed."""
        if not self.pending:
            return
        here = np.zeros(m.W * 32, dtype=np.bool_)
        here[on.flat] = True
        still = []
        for entry in self.pending:
            ready = here[entry.lanes]
            if keep is not None:
                ready &= entry.group < self.committed[entry.lanes] - keep
            if ready.any():
                _finish(m, g, entry, ready)
            if not ready.all():
                rest = ~ready
                still.append(
                    Pending(
                        entry.lanes[rest],
                        entry.source[rest],
                        entry.dest[rest],
                        entry.size,
                        entry.valid[rest],
                        entry.group[rest],
                        entry.okay[rest],
                        entry.pc,
                    )
                )
        self.pending = still


def _finish(m: Machine, g: Group | None, entry: Pending, ready: npt.NDArray[np.bool_]) -> None:
    chosen = ready & entry.okay
    if not chosen.any():
        return
    lanes, source, dest = entry.lanes[chosen], entry.source[chosen], entry.dest[chosen]
    valid = entry.valid[chosen]
    words = np.zeros((lanes.shape[0], entry.size // 4), dtype=np.uint32)
    view = m.arena.views[1]
    out = words.view(np.uint8)
    whole = valid >= entry.size
    if whole.any():
        part = source[whole] >> 2
        for word in range(entry.size // 4):
            words[whole, word] = m.arena.views[4][part + word]
    for index in np.flatnonzero(~whole).tolist():
        size = int(valid[index])
        out[index, :size] = view[source[index] : source[index] + size]
    for word in range(entry.size // 4):
        m.arena.views[4][(dest >> 2) + word] = words[:, word]
    m.copies.check.land(m, dest, entry.size)
    on = Selection(np.unique(lanes >> 5), flat=lanes, count=lanes.shape[0])
    own = (dest - m.shared_at) % m.shared_stride
    access = lsu.Access(lsu.SHARED, on, dest, own, -1, None)
    # Others may see the copy from here on, not from its issue on: a barrier must follow the wait.
    m.races.write(m, entry.pc, access, 0, entry.size, None)
    if g is not None and g.traced:
        lsu.trace_access(m, g, access, 0, entry.size, 1, [words[:, w] for w in range(entry.size // 4)])


class CopyOp(Op):
    """``cp.async.ca/cg.shared.global [dest], [source], size{, source size}``."""

    __slots__ = ("dest", "dest_offset", "pattern", "size", "source", "source_offset", "source_size")

    placed: ClassVar[tuple[str, ...]] = ("dest", "source", "source_size")

    def __init__(
        self, pc: int, dest: int, dest_offset: int, source: int, source_offset: int, size: int,
        source_size: int | None,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.dest = dest
        self.dest_offset = dest_offset
        self.source = source
        self.source_offset = source_offset
        self.size = size
        self.source_size = source_size
        self.pattern = Pattern()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Start the copy: one request, with the sectors it reads and the wavefronts it writes."""
        to = lsu.resolve(m, self.dest, on, lsu.SHARED)
        origin = lsu.resolve(m, self.source, on, lsu.GLOBAL)
        flat = on.flat
        valid: Ints = np.full(flat.shape, self.size, dtype=np.int64)
        if self.source_size is not None:
            given: Any = np.broadcast_to(m.get(self.source_size, on), flat.shape)
            valid = np.minimum(given.astype(np.int64), self.size)
        if (valid > 0).any():
            reading = valid > 0
            if reading.all():
                from_okay = lsu.check(m, g, origin, self.source_offset, self.size, self.pc, False)
                lsu.count_access(m, self.pc, origin, self.source_offset, self.size, self.pattern, from_okay)
            else:
                some = Selection(np.unique(flat[reading] >> 5), flat=flat[reading], count=int(reading.sum()))
                some.full = False
                index = origin.index.reshape(-1)[reading]
                part = lsu.Access(lsu.GLOBAL, some, index, index, -1, None)
                okay = lsu.check(m, g, part, self.source_offset, self.size, self.pc, False)
                lsu.count_access(m, self.pc, part, self.source_offset, self.size, self.pattern, okay)
                from_okay = np.ones(flat.shape, dtype=np.bool_)
                if okay is not None:
                    from_okay[reading] = okay
        else:
            from_okay = None
        requests = m.counters.requests[self.pc]
        volume = (
            m.counters.bytes[self.pc],
            m.counters.bytes_distinct[self.pc],
            m.counters.broadcasts[self.pc],
        )
        to_okay = lsu.check(m, g, to, self.dest_offset, self.size, self.pc, True)
        lsu.count_access(m, self.pc, to, self.dest_offset, self.size, self.pattern, to_okay)
        if requests:
            # The write into shared memory belongs to the same request: only its wavefronts are added.
            m.counters.requests[self.pc] = requests
            m.counters.bytes[self.pc], m.counters.bytes_distinct[self.pc], m.counters.broadcasts[self.pc] = (
                volume
            )
        good = np.ones(flat.shape, dtype=np.bool_)
        for okay in (from_okay, to_okay):
            if okay is not None:
                good &= okay.reshape(-1)
        if g.traced:
            lsu.trace_access(m, g, origin, self.source_offset, self.size, 0, None)
        m.races.write(m, self.pc, to, self.dest_offset, self.size, to_okay)
        m.copies.add(
            m,
            Pending(
                flat,
                origin.index.reshape(-1) + self.source_offset,
                to.index.reshape(-1) + self.dest_offset,
                self.size,
                valid,
                flat,
                good,
                self.pc,
            ),
        )
        return False


class CommitOp(Op):
    """``cp.async.commit_group``."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Close the group."""
        m.copies.commit(on)
        return False


class WaitGroupOp(Op):
    """``cp.async.wait_group N`` and ``cp.async.wait_all`` (``keep`` None)."""

    __slots__ = ("keep",)

    def __init__(self, pc: int, keep: int | None) -> None:
        super().__init__(pc)
        self.keep = keep

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Make the copies visible."""
        m.copies.wait(m, g, on, self.keep)
        return False

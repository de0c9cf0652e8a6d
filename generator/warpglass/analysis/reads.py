"""What the threads of a traced block read from global memory: values read again, and sliding windows.

A window slides where the values of one thread are those of another, all shifted by the same distance, and
the two overlap: a stencil, a filter, a direct convolution. The factors of a matrix product are shared whole
or not at all, so that they never slide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpglass.analysis.subject import Subject
from warpglass.machine.result import Accesses, BlockTrace, Buffer

__all__ = ["Reads", "Window", "block_reads", "find_window"]

I64 = npt.NDArray[np.int64]

#: Lane reads that are looked at: whole warps of the first traced block, until there are so many.
_MOST = 300_000
#: A buffer is at most 4 GiB; its addresses take 33 bits beside the thread's number.
_SHIFT = 34


@dataclass(frozen=True, slots=True)
class Window:
    """A thread reads ``values`` distinct values of ``unit`` bytes of ``buffer``; a neighbour reads the same
    ones ``shift`` bytes on, and ``overlap`` (0 to 1) of them are shared. ``reads`` lane reads of the threads
    looked at touch ``distinct`` values; ``pcs`` read them."""

    buffer: str
    values: float
    unit: int
    shift: int
    overlap: float
    reads: int
    distinct: int
    pcs: tuple[int, ...]

    @property
    def again(self) -> float:
        """How often the threads looked at read each value."""
        return self.reads / max(1, self.distinct)


@dataclass(frozen=True, slots=True)
class Reads:
    """``own`` is how often a thread reads each of its values (1: never again), of buffers that nobody writes,
    and ``values`` how many it has there; ``block`` is how often the threads looked at read each value
    together. ``pcs`` read what the same thread had read before; ``windows`` slide."""

    own: float
    block: float
    values: float
    pcs: tuple[int, ...]
    windows: tuple[Window, ...]


def find_window(threads: I64, addresses: I64, unit: int, strides: Iterable[int]) -> tuple[int, float] | None:
    """(shift in bytes, overlap) of the window that slides from thread to thread, or None.

    ``threads`` and byte ``addresses`` are of lane reads, in any order. ``strides`` are the distances between
    threads that are tried. Worked example: a 3 x 3 window moves by one float from thread to thread: of nine
    values six are shared, (4, 2/3).
    """
    base = int(addresses.min()) if addresses.size else 0
    keys = np.unique(threads << _SHIFT | (addresses - base))
    owner, place = keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)
    names, starts, counts = np.unique(owner, return_index=True, return_counts=True)
    most = int(np.bincount(counts).argmax()) if counts.size else 0
    if most < 3:
        return None
    # Threads at an edge read fewer values: the usual ones are compared.
    usual = counts == most
    table = {int(n): int(s) for n, s in zip(names[usual], starts[usual], strict=True)}
    best: tuple[float, int] | None = None
    for stride in dict.fromkeys(strides):
        pairs = [(s, table[n + stride]) for n, s in table.items() if n + stride in table]
        if not pairs:
            continue
        span = np.arange(most)
        first = place[np.array([a for a, _ in pairs])[:, None] + span]
        second = place[np.array([b for _, b in pairs])[:, None] + span]
        moved = second - first
        rigid = (moved == moved[:, :1]).all(axis=1) & (moved[:, 0] != 0)
        if rigid.sum() < 0.6 * len(pairs):
            continue
        shift = int(np.median(moved[rigid, 0]))
        same = rigid & (moved[:, 0] == shift)
        lines = first[same]
        if not lines.size:
            continue
        # All of them have one shape: one is looked at.
        shape = set((lines[0] - lines[0, 0]).tolist())
        overlap = sum(v + shift in shape for v in shape) / most
        if overlap > 0 and (best is None or overlap > best[0]):
            best = overlap, shift
    return None if best is None else (best[1], best[0])


def block_reads(subject: Subject) -> Reads | None:
    """Reads of the first traced block, or None where none was traced whole."""
    trace = next((t for t in subject.result.traces if t.accesses is not None), None)
    if trace is None or trace.accesses is None or not trace.accesses.complete or trace.truncated:
        return None
    found = _lanes(trace, trace.accesses)
    if found is None:
        return None
    threads, addresses, pcs, sizes = found
    own = _own(subject, threads, addresses, pcs)
    windows = []
    for buffer in subject.result.buffers:
        if buffer is not None:
            window = _window(subject, buffer, threads, addresses, pcs, sizes)
            if window is not None:
                windows.append(window)
    return Reads(
        *own,
        tuple(sorted(windows, key=lambda w: (-w.reads, w.buffer))),
    )


def _own(
    subject: Subject, threads: I64, addresses: I64, pcs: I64
) -> tuple[float, float, float, tuple[int, ...]]:
    """(reads of a thread for each of its values, of all threads, values a thread, what reads again).

    Of buffers that nobody writes: a value that changes meanwhile, as a lock's, has to be read again.
    """
    wanted = np.zeros(threads.size, dtype=bool)
    for b in subject.result.buffers:
        if b is not None and b.sectors is not None and not b.sectors[1]:
            wanted |= (addresses >= b.base) & (addresses < b.base + max(1, b.size))
    threads, addresses, pcs = threads[wanted], addresses[wanted], pcs[wanted]
    if not threads.size:
        return 1.0, 1.0, 0.0, ()
    keys, first = np.unique(threads << 50 | (addresses & ((1 << 50) - 1)), return_index=True)
    again = np.ones(threads.size, dtype=bool)
    again[first] = False
    number = int(np.unique(threads).size)
    return (
        threads.size / keys.size,
        threads.size / int(np.unique(addresses).size),
        keys.size / number,
        tuple(int(pc) for pc in np.unique(pcs[again])),
    )


def _window(
    subject: Subject, buffer: Buffer, threads: I64, addresses: I64, pcs: I64, sizes: I64
) -> Window | None:
    inside = (addresses >= buffer.base) & (addresses < buffer.base + max(1, buffer.size))
    if inside.sum() < 64:
        return None
    unit = int(sizes[inside].min())
    x, y, _ = subject.launch.block
    strides = (1, 2, x, 2 * x, x * y, 32, 64, 128)
    found = find_window(threads[inside], addresses[inside], unit, strides)
    if found is None:
        return None
    pairs = np.unique(threads[inside] << _SHIFT | (addresses[inside] - buffer.base)).size
    return Window(
        buffer.name,
        pairs / max(1, int(np.unique(threads[inside]).size)),
        unit,
        found[0],
        found[1],
        int(inside.sum()),
        int(np.unique(addresses[inside]).size),
        tuple(int(pc) for pc in np.unique(pcs[inside])),
    )


def _lanes(trace: BlockTrace, a: Accesses) -> tuple[I64, I64, I64, I64] | None:
    """(thread, address, pc, size) of each lane's global read, of whole warps."""
    wanted = np.flatnonzero((a.space == 0) & (a.kind == 0))
    if not wanted.size:
        return None
    steps = a.step[wanted].astype(np.int64)
    warps = trace.warp[steps].astype(np.int64)
    lanes = np.array([int(m).bit_count() for m in a.mask[wanted].tolist()], dtype=np.int64)
    each = np.cumsum(np.bincount(warps, weights=lanes))
    allowed = max(1, int(np.searchsorted(each, _MOST, side="right")))
    if each[allowed - 1] > 4 * _MOST:
        return None  # one warp alone reads more
    keep = warps < allowed
    wanted, warps, lanes, steps = wanted[keep], warps[keep], lanes[keep], steps[keep]
    bits = (a.mask[wanted][:, None] >> np.arange(32, dtype=np.uint32)) & 1
    lane = np.nonzero(bits)[1].astype(np.int64)
    begin = a.offset[wanted].astype(np.int64) - np.concatenate(([0], np.cumsum(lanes)[:-1]))
    addresses = a.addresses[np.repeat(begin, lanes) + np.arange(lanes.sum())].astype(np.int64)
    threads = np.repeat(warps, lanes) * 32 + lane
    pcs = np.repeat(trace.pc[steps].astype(np.int64), lanes)
    return threads, addresses, pcs, np.repeat(a.size[wanted].astype(np.int64), lanes)

"""What an L1 of the right size would serve, by how far apart a block's reads of the same sector lie.

A sector that was read before is still there if the lines that were touched meanwhile fit into the L1, which
the blocks of an SM share and shared memory makes smaller. How many lines a stretch of reads touches on
average is the footprint of Xiang, Ding, Luo, Bao: "HOTL: a higher order theory of locality", ASPLOS 2013,
section 2; it needs the distances between reads of the same line only. The order is that of the traced block's
fair rounds, so that all of this is modelled.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpglass.analysis.access import AccessRow
from warpglass.analysis.subject import Subject
from warpglass.gpu import Arch

__all__ = ["footprint", "l1_room", "l1_share", "served"]

I64 = npt.NDArray[np.int64]

#: Lane reads that are looked at, from the first on.
_MOST = 1_000_000
_SECTOR, _LINE = 32, 128
#: .cg, .cv, volatile and the scopes of memory models go past the L1.
_PAST = re.compile(r"\.(cg|cv|volatile|relaxed|acquire|STRONG)\b")


def footprint(lines: I64) -> tuple[I64, I64, I64]:
    """Distances between reads of the same line, places of first reads, places of last ones counted from the
    end (both from 1): what :func:`_touched` needs of a sequence of ``lines``."""
    order = np.argsort(lines, kind="stable")
    same = lines[order][1:] == lines[order][:-1]
    gaps = np.diff(order)[same]
    first = order[np.concatenate(([True], ~same))] + 1
    last = lines.size - order[np.concatenate((~same, [True]))]
    return gaps, first, last


def _touched(found: tuple[I64, I64, I64], reads: int, window: int) -> float:
    """Mean number of distinct lines in a stretch of ``window`` reads out of ``reads``.

    Worked example: a b a b: a stretch of 2 holds two lines wherever it starts, one of 1 holds one.
    """
    missing = sum(int(np.maximum(values - window, 0).sum()) for values in found)
    return float(found[1].size) - missing / (reads - window + 1)


def served(sectors: I64, requests: I64, room: int) -> float:
    """Share of sector reads that an L1 of ``room`` bytes serves.

    ``sectors`` are numbers of 32-byte sectors, one a read, in order; ``requests`` (ascending) say which of
    them belong together: those never serve each other. Worked example: 64 sectors read twice over, each a
    line of its own: 8,192 bytes serve half of the reads, 8,191 none.
    """
    if not sectors.size:
        return 0.0
    per_line = _LINE // _SECTOR
    lines, at = _once(sectors // per_line, requests)
    found = footprint(lines)
    low, high = 0, lines.size
    while low < high:  # the longest stretch whose lines fit
        middle = (low + high + 1) // 2
        if _touched(found, lines.size, middle) * _LINE <= room:
            low = middle
        else:
            high = middle - 1
    # A read's place is that of its line in the sequence of lines.
    place = np.searchsorted(at, requests)
    order = np.lexsort((requests, sectors))
    again = sectors[order][1:] == sectors[order][:-1]
    apart = np.diff(place[order])[again]
    return float((apart <= low).sum()) / sectors.size


def _once(values: I64, requests: I64) -> tuple[I64, I64]:
    """Each value once a request, in the order of the requests; and the request of each."""
    names, place = np.unique(values, return_inverse=True)
    keys = np.unique(requests * names.size + place)
    return names[keys % names.size], keys // names.size


def l1_room(machine: Arch, shared: int, resident: int) -> int:
    """Bytes of L1 that are left beside the shared memory of all resident blocks."""
    total = machine.l1_smem_total_kb or 128
    taken = -(-shared * resident // 1024)
    carved = next((kb for kb in sorted(machine.carveouts_kb or ()) if kb >= taken), taken)
    return 1024 * max(0, total - carved)


def l1_share(subject: Subject, rows: tuple[AccessRow, ...], resident: int) -> float:
    """Share of sectors read that the L1 serves one of ``resident`` blocks: by the first traced block."""
    loads = [
        row.pc
        for row in rows
        if row.space == "global"
        and row.operation == "load"
        and not _PAST.search(subject.listing.rows[row.pc].opcode)
    ]
    trace = next((t for t in subject.result.traces if t.accesses is not None), None)
    if not loads or trace is None or trace.accesses is None:
        return 0.0
    a = trace.accesses
    wanted = np.flatnonzero(
        (a.space == 0) & (a.kind == 0) & np.isin(trace.pc[a.step.astype(np.int64)], loads)
    )
    lanes = np.bitwise_count(a.mask[wanted]).astype(np.int64)
    most = int(np.searchsorted(np.cumsum(lanes), _MOST, side="right"))
    wanted, lanes = wanted[:most], lanes[:most]
    if not lanes.size:
        return 0.0
    starts = np.concatenate(([0], np.cumsum(lanes)[:-1]))
    index = np.repeat(a.offset[wanted].astype(np.int64) - starts, lanes) + np.arange(lanes.sum())
    first = a.addresses[index].astype(np.int64)
    # A lane's 16 bytes are aligned: no access crosses a sector.
    sectors, requests = _once(first // _SECTOR, np.repeat(np.arange(wanted.size, dtype=np.int64), lanes))
    found = subject.occupancy()
    shared = found.shared_block if found is not None else subject.static_shared + subject.launch.shared_bytes
    room = l1_room(subject.arch, shared, resident)
    return served(sectors, requests, room // max(1, resident))

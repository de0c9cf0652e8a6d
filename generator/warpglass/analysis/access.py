"""Memory requests by instruction: sectors and wavefronts against the ideal *of that access*."""

from __future__ import annotations

from dataclasses import dataclass

from warpglass.analysis.listing import Listing
from warpglass.machine.result import AccessSample, RunResult

__all__ = ["AccessRow", "access_table", "uncounted_copies"]


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One executed memory instruction. Sums over the run; ``lanes`` is the mean of live lanes a request.

    ``conflicts`` = wavefronts - phases that have a live lane (docs/executed.md), None outside shared memory;
    ``sectors`` are None for shared memory.
    """

    pc: int
    operation: str
    space: str
    width: int | None
    requests: int
    sectors: int | None
    sectors_ideal: int | None
    wavefronts: int | None
    wavefronts_ideal: int | None
    conflicts: int | None
    lanes: float
    broadcasts: int
    bytes: int
    bytes_distinct: int
    atomic_addresses: int | None
    samples: tuple[AccessSample, ...]

    @property
    def sector_excess(self) -> int:
        """Sectors beyond the ideal."""
        return (self.sectors or 0) - (self.sectors_ideal or 0)


def access_table(listing: Listing, result: RunResult) -> tuple[AccessRow, ...]:
    """Rows of all memory instructions with at least one request, in code order."""
    c = result.counters
    samples: dict[int, list[AccessSample]] = {}
    for sample in result.samples:
        samples.setdefault(sample.pc, []).append(sample)
    rows = []
    for pc, row in enumerate(listing.rows):
        requests = int(c["requests"][pc])
        if row.operation is None or requests == 0:
            continue
        kept = tuple(samples.get(pc, ()))
        # A generic access is shown under the space it really went to.
        space = kept[0].space if kept and row.space in (None, "generic") else (row.space or "generic")
        waves, sectors = int(c["wavefronts"][pc]), int(c["sectors"][pc])
        in_shared = space == "shared" or waves > 0
        has_sectors = sectors > 0
        rows.append(
            AccessRow(
                pc=pc,
                operation=row.operation,
                space=space,
                width=row.width,
                requests=requests,
                sectors=sectors if has_sectors else None,
                sectors_ideal=int(c["sectors_ideal"][pc]) if has_sectors else None,
                wavefronts=waves if in_shared else None,
                wavefronts_ideal=int(c["wavefronts_ideal"][pc]) if in_shared else None,
                conflicts=waves - int(c["wavefronts_ideal"][pc]) if in_shared else None,
                lanes=int(c["thread_executed"][pc]) / requests,
                broadcasts=int(c["broadcasts"][pc]),
                bytes=int(c["bytes"][pc]),
                bytes_distinct=int(c["bytes_distinct"][pc]),
                atomic_addresses=int(c["atomic_addresses"][pc]) if row.operation == "atomic" else None,
                samples=kept,
            )
        )
    return tuple(rows)


#: Copies whose size lies in a tensor map, which nobody here can read.
_TENSOR_COPIES = frozenset({"UTMALDG", "UTMASTG", "UTMAREDG"})


def uncounted_copies(listing: Listing, result: RunResult) -> str | None:
    """Why sectors and bytes of the run are not all of its traffic; None where they are."""
    on = result.counters["warp_on"]
    found = sorted(
        {
            base
            for pc, row in enumerate(listing.rows)
            if (base := row.opcode.split(".", 1)[0]) in _TENSOR_COPIES and on[pc]
        }
    )
    return f"bytes moved by {' and '.join(found)} are not counted; a profiler would tell" if found else None

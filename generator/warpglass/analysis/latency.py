"""The dependence chain of one warp, in cycles: how long it takes alone, held up by latencies only.

A model, not a simulation: PTX may be reordered by the assembler inside a basic block, so that instructions
there wait for their operands only; SASS issues in order. A block of code is left when all of it was issued.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warpglass.analysis.listing import Listing, ListingRow
from warpglass.gpu import Arch, arch
from warpglass.machine.result import BlockTrace, RunResult

__all__ = ["Chain", "Latencies", "latencies", "warp_chain"]

#: Steps of a warp that are walked; a longer trace is scaled from its first part.
_STEPS = 40_000
#: Cycles that a barrier costs a warp that arrives last, and that a taken branch costs. Wong et al.,
#: "Demystifying GPU microarchitecture through microbenchmarking", ISPASS 2010, and arXiv:1804.06826.
_BARRIER, _BRANCH = 20, 8


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles until a result is there, by kind of instruction. ``loads`` is that of a global load."""

    by_kind: Mapping[str, int]
    shared: int
    local: int
    loads: int
    atomic: int

    def of(self, row: ListingRow) -> int:
        """Cycles from the issue of an instruction to its result."""
        if row.kind in ("load", "async") and row.operation is not None:
            if row.space in ("shared",):
                return self.shared
            if row.space in ("param", "const"):
                return self.by_kind["alu"]
            return self.local if row.space == "local" else self.loads
        if row.kind == "atomic":
            return self.shared if row.space == "shared" else self.atomic
        return self.by_kind.get(row.kind, self.by_kind["alu"])


def latencies(machine: Arch, dram_share: float, l1_share: float) -> Latencies:
    """Latencies of an architecture; a global load's is the mean over where its sectors come from.

    Where a table has no value that of sm_80 stands in.
    """
    stand_in = arch("sm_80")

    def middle(name: str) -> float:
        low, high = getattr(machine, name) or getattr(stand_in, name)
        return float(low + high) / 2

    alu = machine.alu_latency or stand_in.alu_latency or 4
    l1, l2, dram = middle("l1_hit"), middle("l2_hit"), middle("dram")
    beyond = dram_share * dram + (1 - dram_share) * l2
    kinds = {
        "alu": alu,
        "fpu": alu,
        "half": alu + 1,
        "double": max(alu + 4, 32 * 4 // (machine.fp64 or 16)),
        "convert": alu + 6,
        "sfu": alu + 16,
        "tensor": alu + 14,
        "predicate": alu,
        "move": alu,
        "call": 30,
    }
    return Latencies(
        kinds, round(l1 * 0.75), round(l1), round(l1_share * l1 + (1 - l1_share) * beyond), round(l2)
    )


@dataclass(frozen=True, slots=True)
class Chain:
    """Cycles of the slowest traced warp alone, and what they were spent on (``memory``, ``arithmetic``,
    ``barrier``, ``issue``; sums to ``cycles``). ``steps`` were walked; ``independent`` is the mean number of
    instructions issued while a global load was under way."""

    cycles: float
    parts: Mapping[str, float]
    steps: int
    independent: float | None


def warp_chain(
    listing: Listing, result: RunResult, times: Latencies, extra: Mapping[int, float] | None = None
) -> Chain | None:
    """The chain of the longest warp of the first traced block, or None where no block was traced.

    ``extra`` adds cycles to instructions, by pc (bank conflicts, further sectors).
    """
    trace = next((t for t in result.traces if t.steps), None)
    if trace is None:
        return None
    pcs = _longest(trace)
    walked = pcs[:_STEPS].tolist()
    names = {name: i for i, (name, _) in enumerate(listing.register_types)}
    reads = [tuple(names[r] for r in row.reads if r in names) for row in listing.rows]
    writes = [tuple(names[w] for w in row.writes if w in names) for row in listing.rows]
    costs = [times.of(row) + (extra or {}).get(pc, 0.0) for pc, row in enumerate(listing.rows)]
    groups = [_GROUP.get(row.kind, "arithmetic") for row in listing.rows]
    loads = [r.kind in ("load", "async") and r.space in ("global", "generic") for r in listing.rows]
    starts = {block.start for block in listing.blocks}
    ready = [0.0] * len(names)
    maker = ["issue"] * len(names)
    in_order = listing.isa == "sass"
    now = floor = 0.0
    spent = dict.fromkeys(("memory", "arithmetic", "barrier", "issue"), 0.0)
    covered = 0.0
    issued: list[int] = []
    pending = 0.0
    step = 0
    for pc in walked:
        if pc in starts or groups[pc] == "barrier":
            floor = max(floor, now)
        at = max(floor, now + 1) if in_order else max(floor + 1, 0.0)
        why = "issue"
        for register in reads[pc]:
            if ready[register] > at:
                at, why = ready[register], maker[register]
        if groups[pc] == "barrier":
            at, why = max(at, now + 1) + _BARRIER, "barrier"
            floor = at
        elif groups[pc] == "branch":
            at += _BRANCH
        floor += 0.0 if in_order else 1 / 4  # one warp alone issues at most each cycle; blocks overlap little
        if at > now:
            spent[why] += at - now
            now = at
        done = at + costs[pc]
        for register in writes[pc]:
            ready[register], maker[register] = done, "memory" if groups[pc] == "memory" else "arithmetic"
        if loads[pc]:
            issued.append(step)
            pending = max(pending, done)
        step += 1
    last = max((r for r in ready), default=now)
    if last > now and walked:
        spent["memory" if any(loads) and last == pending else "arithmetic"] += min(
            last - now, max(costs, default=0)
        )
        now = last
    spent["issue"] += max(0.0, len(walked) - now)
    now = max(now, float(len(walked)))
    scale = len(pcs) / max(1, len(walked))
    covered = step / len(issued) if issued else 0.0
    return Chain(
        now * scale,
        {key: value * scale for key, value in spent.items()},
        len(walked),
        covered if issued else None,
    )


_GROUP = {
    "load": "memory",
    "store": "memory",
    "atomic": "memory",
    "async": "memory",
    "barrier": "barrier",
    "branch": "branch",
}


def _longest(trace: BlockTrace) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    counts = np.bincount(trace.warp)
    warp = int(counts.argmax())
    chosen: np.ndarray[tuple[int], np.dtype[np.uint32]] = trace.pc[trace.warp == warp]
    return chosen

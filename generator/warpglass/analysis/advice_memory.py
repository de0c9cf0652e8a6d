"""Advice about memory: coalescing, alignment, padding, reuse, asynchronous copies, width, atomics, spills."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpglass.analysis.access import AccessRow
from warpglass.analysis.advice_model import Advice, Case, make
from warpglass.analysis.occupancy_view import stage_costs
from warpglass.analysis.padding import find_remedy, requests_of
from warpglass.machine.result import AccessSample

__all__ = ["MEMORY_RULES"]

_EXCESS = 1.1
#: A float4 that is off by 16 bytes takes 17 sectors for 16.
_MISALIGNED_EXCESS = 1.05


def _global(case: Case) -> list[AccessRow]:
    return [row for row in case.rows if row.sectors and row.space in ("global", "generic")]


def _shrunk(case: Case, saved: float) -> dict[str, float]:
    """L1 and L2 cycles if so many sectors were not requested."""
    total = max(1, sum(row.sectors or 0 for row in case.rows))
    keep = max(0.0, 1 - saved / total)
    model = case.model
    after = {name: model.cycles[name] * keep for name in ("l1", "l2") if name in model.cycles}
    if "dram" in model.cycles:
        # Sectors hold bytes that nobody asked for only where fewer distinct bytes than sectors were used.
        used = sum(row.bytes_distinct for row in _global(case)) * (
            model.dram_bytes / max(1.0, model.sector_bytes)
        )
        after["dram"] = model.cycles["dram"] * min(1.0, max(keep, used / max(1.0, model.dram_bytes)))
    return after


def _misaligned(row: AccessRow) -> AccessSample | None:
    """A sample whose lanes are consecutive but start off a sector's boundary by a common offset."""
    for sample in row.samples:
        lanes = [int(a) for i, a in enumerate(sample.addresses) if sample.mask >> i & 1]
        if len(lanes) < 8:
            continue
        steps = np.diff(np.array(lanes, dtype=np.int64))
        if (steps == sample.size).all() and min(lanes) % 32:
            return sample
    return None


def coalescing(case: Case) -> Iterator[Advice]:
    """Requests that touch more sectors than their bytes need."""
    for row in _global(case):
        sectors, ideal = row.sectors or 0, row.sectors_ideal or 0
        if row.operation == "atomic" or not ideal or sectors / ideal < _MISALIGNED_EXCESS:
            continue
        per, best = sectors / row.requests, ideal / row.requests
        gain = case.model.gain(**_shrunk(case, sectors - ideal))
        opcode = case.subject.listing.rows[row.pc].opcode
        off = _misaligned(row)
        if off is not None:
            first = min(int(a) for i, a in enumerate(off.addresses) if off.mask >> i & 1)
            yield make(
                case,
                "alignment",
                "Align the array to 32 bytes",
                f"{opcode} reads consecutive bytes from {first % 32} bytes past a 32-byte sector: "
                f"{per:.3g} sectors a request where {best:.3g} would do. Pad the header, or start the array "
                f"at a "
                "multiple of 32 bytes (128 is not needed).",
                "memory",
                gain,
                pcs=(row.pc,),
                evidence="executed",
                confirm="l1tex__t_sectors / l1tex__t_requests falls to the ideal",
            )
            continue
        if sectors / ideal < _EXCESS:
            continue
        yield make(
            case,
            "coalescing",
            "Let neighbouring lanes access neighbouring bytes",
            f"{opcode} touches {per:.3g} sectors a request where {best:.3g} would do: "
            f"{sectors - ideal:,} of {sectors:,} sectors bring bytes that the request does not use. Reorder "
            f"the "
            "index, the data (structure of arrays) or go through a shared tile.",
            "memory",
            gain,
            pcs=(row.pc,),
            evidence="executed",
            conflicts=("a tile in shared memory takes bytes from occupancy",),
            confirm="sectors a request of this line falls to the ideal",
        )


def padding(case: Case) -> Iterator[Advice]:
    """Bank conflicts, with the padding or swizzle that removes them."""
    shared = [
        row for row in case.rows if row.wavefronts and row.space == "shared" and row.operation != "atomic"
    ]
    bad = [row for row in shared if (row.conflicts or 0) > 0.05 * (row.wavefronts_ideal or 1)]
    if not bad:
        return
    waves, ideal = sum(r.wavefronts or 0 for r in bad), sum(r.wavefronts_ideal or 0 for r in bad)
    excess = waves - ideal
    remedy = find_remedy(requests_of(case.subject.result, shared))
    worst = sorted(bad, key=lambda r: -(r.conflicts or 0))
    after = {"shared": case.model.cycles.get("shared", 0.0) * (1 - excess / max(1, case.count("wavefronts")))}
    after |= _latency_without(case, {r.pc: (r.conflicts or 0) / r.requests for r in bad})
    text = (
        f"{waves / sum(r.requests for r in bad):.3g} wavefronts a request where "
        f"{ideal / sum(r.requests for r in bad):.3g} would do ({excess:,} bank conflicts). "
    )
    text += (
        f"Computed on this kernel's addresses: {remedy.sentence()}."
        if remedy is not None
        else "No padding up to 64 bytes and no row swizzle halves them: let lanes take other elements."
    )
    conflicts: tuple[str, ...] = ()
    if remedy is not None and remedy.pad:
        conflicts = (
            f"{remedy.pad / remedy.pitch:.1%} more shared memory; vector accesses must stay aligned",
        )
    yield make(
        case,
        "padding",
        "Pad or swizzle the shared array",
        text,
        "memory",
        case.model.gain(**after),
        pcs=tuple(r.pc for r in worst[:6]),
        conflicts=conflicts,
        confirm="l1tex__data_bank_conflicts_pipe_lsu falls to 0",
    )


def _latency_without(case: Case, saved: dict[int, float]) -> dict[str, float]:
    """Cycles of the chain if instructions took fewer cycles each time, at most its memory part."""
    chain = case.model.chain
    if chain is None or "latency" not in case.model.cycles:
        return {}
    executed = case.subject.result.counters["warp_executed"]
    warps = max(1, case.subject.launch.warps_per_block * max(1, case.subject.result.blocks_executed))
    spared = sum(int(executed[pc]) / warps * each for pc, each in saved.items())
    spared = min(spared, 0.9 * chain.parts["memory"])
    return {"latency": case.model.cycles["latency"] * (1 - spared / max(chain.cycles, 1.0))}


def reuse(case: Case) -> Iterator[Advice]:
    """The same bytes requested again and again from beyond the SM."""
    loads = [row for row in _global(case) if row.operation == "load"]
    if case.roof.unique.value is None or not loads or case.model.cycles.get("shared"):
        return
    requested = 32 * sum(row.sectors or 0 for row in loads)
    read = sum(
        32 * b.sectors[0] for b in case.subject.result.buffers if b is not None and b.sectors is not None
    )
    factor = requested / read if read else 0.0
    if factor < 4:
        return
    keep = max(1 / factor, 1 / 16)
    after = {name: case.model.cycles[name] * keep for name in ("l1", "l2") if name in case.model.cycles}
    chain = case.model.chain
    if chain is not None and chain.cycles:
        memory = chain.parts["memory"] / chain.cycles
        after["latency"] = case.model.cycles.get("latency", 0.0) * (1 - memory * (1 - keep))
    if case.model.gain(**after)[1] < 1.15:
        return
    worst = sorted(loads, key=lambda r: -(r.sectors or 0))
    arithmetic = case.roof.main is not None and any(loop.compute and loop.loads for loop in case.loops)
    name = "tiling" if arithmetic else "l2-rereads"
    title = (
        "Reuse what was loaded: block through shared memory or registers"
        if arithmetic
        else ("Keep what is read again close: the L2 serves it many times")
    )
    text = f"every byte is requested {factor:.3g} times ({requested:,} bytes requested, {read:,} distinct): "
    text += (
        "an algorithmic change (tiles as in an implicit GEMM or im2col, register blocking) loads it once a "
        "tile."
        if arithmetic
        else "hold it in registers or shared memory, or order the blocks so that neighbours share it."
    )
    yield make(
        case,
        name,
        title,
        text,
        "memory",
        case.model.gain(**after),
        pcs=tuple(r.pc for r in worst[:4]),
        conflicts=("a tile takes shared memory and registers, which may cost occupancy",),
        confirm="lts__t_sectors falls towards the unique sectors",
        derivation="requests shrink by the reuse of a tile of 16, no further than each byte once",
    )


def pipelining(case: Case) -> Iterator[Advice]:
    """Loads into shared memory through registers, waited for in every iteration."""
    if case.subject.arch.base < (8, 0) or case.asynchronous():
        return
    for loop in case.loops:
        chain = case.model.chain
        if not (loop.loads and loop.shared_stores and loop.barriers) or chain is None or not chain.cycles:
            continue
        memory, rest = chain.parts["memory"], chain.cycles - chain.parts["memory"]
        after = {"latency": case.model.cycles.get("latency", 0.0) * max(memory, rest) / chain.cycles}
        tile = case.subject.static_shared + case.subject.launch.shared_bytes
        conflicts = []
        ask = case.subject.resources()
        if ask is not None and tile:
            costs = stage_costs(case.subject.arch, ask, tile, 2)
            conflicts.append(
                "each further stage adds a tile: "
                + ", ".join(f"{size:,} bytes leave {blocks} blocks an SM" for _, size, blocks in costs[1:])
            )
        yield make(
            case,
            "async-copy",
            "Software pipelining with asynchronous copies",
            f"each iteration waits for {loop.loads} loads that go through registers into shared memory "
            f"({loop.shared_stores} stores, {loop.barriers} barriers); memory is "
            f"{memory / chain.cycles:.0%} of a "
            "warp's chain. cp.async with two or more stages loads the next tile meanwhile.",
            "memory",
            case.model.gain(**after),
            lines=(loop.line,) if loop.line else (),
            conflicts=tuple(conflicts),
            confirm="long-scoreboard stalls fall; LDGSTS appears in the machine code",
            derivation="the chain becomes the longer of its memory part and the rest",
        )
        return


def wider(case: Case) -> Iterator[Advice]:
    """Narrow accesses: more instructions than the bytes need."""
    narrow = [
        r
        for r in _global(case)
        if (r.width or 4) < 4
        and r.operation in ("load", "store")
        and (r.sectors or 0) <= 1.5 * (r.sectors_ideal or 0)
    ]
    if not narrow:
        return
    requests = sum(r.requests for r in narrow)
    width = min(r.width or 4 for r in narrow)
    keep = width / 16
    total = max(1, case.count("requests"))
    share = requests / total
    after = {
        name: value * (1 - share * (1 - keep))
        for name, value in case.model.cycles.items()
        if name in ("l1", "issue", "latency", "int")
    }
    yield make(
        case,
        "wider-access",
        "Access 16 bytes a lane instead of " + str(width),
        f"{requests:,} requests of {width} byte{'s' if width > 1 else ''} a lane move "
        f"{32 * width} bytes each; 16 bytes a lane (uint4) need {16 // width} times fewer instructions.",
        "memory",
        case.model.gain(**after),
        pcs=tuple(r.pc for r in narrow[:4]),
        conflicts=("addresses must be multiples of 16 bytes, and the rest of the array needs its own code",),
        confirm="warp instructions and L1 requests fall",
        derivation="instructions of narrow requests shrink with the width, at most to 16 bytes a lane",
    )


def atomics(case: Case) -> Iterator[Advice]:
    """Many lanes on few addresses."""
    rows = [r for r in case.rows if r.operation == "atomic" and r.atomic_addresses]
    hot = [r for r in rows if r.lanes * r.requests / (r.atomic_addresses or 1) >= 4]
    if not hot and case.model.cycles.get("atomics", 0.0) < 0.5 * case.model.overlapped:
        return
    rows = hot or rows
    if not rows:
        return
    worst = max(rows, key=lambda r: r.lanes * r.requests)
    lanes = worst.lanes * worst.requests
    per = lanes / (worst.atomic_addresses or 1)
    after = {"atomics": case.model.cycles.get("atomics", 0.0) / max(2.0, 32.0 if per >= 16 else per)}
    yield make(
        case,
        "atomics",
        "Combine before the atomic",
        f"{lanes:,.0f} lanes send atomics, {per:.3g} of a warp to one address on average: they are served "
        f"one "
        "after the other. Reduce within the warp (shuffles, __reduce_add_sync) or the block first, or "
        "privatise.",
        "memory",
        case.model.gain(**after),
        pcs=(worst.pc,),
        evidence="modelled",
        conflicts=("private copies take shared memory",),
        confirm="atomic requests fall by the number of lanes combined",
        derivation="one atomic a warp (or private copy) instead of one a lane",
    )


def spills(case: Case) -> Iterator[Advice]:
    """Registers that the compiler keeps in local memory."""
    stores = int(case.subject.facts.get("spill_stores") or 0)
    loads = int(case.subject.facts.get("spill_loads") or 0)
    if not stores and not loads:
        return
    ask = case.subject.resources()
    local = sum(r.sectors or 0 for r in case.rows if r.space == "local")
    # Where only PTX ran its execution knows no spills: each counts four bytes a lane once a thread at least.
    moved = max(
        local,
        (stores + loads)
        // 4
        * 4
        * max(1, case.subject.result.blocks_executed)
        * case.subject.launch.warps_per_block,
    )
    model = case.model
    share = moved / max(1.0, moved + model.sector_bytes / 32)
    extra = {name: model.cycles.get(name, 0.0) for name in ("l1", "l2")}
    low = 1.0
    high = 1 + share * sum(extra.values()) / max(1.0, sum(model.cycles.values())) + 0.25
    yield make(
        case,
        "spills",
        "Stop the register spills",
        f"{stores:,} bytes of spill stores and {loads:,} bytes of spill loads a thread at "
        f"{ask.registers if ask else 'unknown'} registers: give registers back (__launch_bounds__, "
        f"-maxrregcount), "
        "shorten live ranges, split the kernel or unroll less.",
        "registers",
        (low, max(high, 1.3)),
        evidence="static",
        conflicts=("more registers a thread may cost blocks an SM",),
        confirm="ptxas -v reports 0 bytes of spills",
        derivation="share of local-memory sectors among all; at least a quarter of the issue slots around",
    )


MEMORY_RULES = (coalescing, padding, reuse, pipelining, wider, atomics, spills)

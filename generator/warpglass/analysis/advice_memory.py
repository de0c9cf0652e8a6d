"""Advice about memory: coalescing, alignment, padding, asynchronous copies, width, spills."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from warpglass.analysis.access import AccessRow
from warpglass.analysis.advice_model import LEAST_GAIN, Advice, Case, make
from warpglass.analysis.occupancy_view import stage_costs
from warpglass.analysis.padding import find_remedy, requests_of
from warpglass.analysis.sector_use import sector_use
from warpglass.machine.result import AccessSample

__all__ = ["MEMORY_RULES"]

_EXCESS = 1.1
#: Where the grid uses so much of its sectors, lanes walk through them one after the other.
_WALKED = 0.8
#: A float4 that is off by 16 bytes takes 17 sectors for 16.
_MISALIGNED_EXCESS = 1.05
#: Traced requests whose first bytes are looked at.
_MOST_STARTS = 4096
_ARITHMETIC = ("fp32", "fp64", "fp16", "int", "special", "tensor")
#: Instructions that go with an access: itself, its address, its share of the loop's counter and branch.
_AROUND = 4


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
        use = sector_use(case.subject)
        if use is None:
            used = sum(row.bytes_distinct for row in _global(case))
            use = used / max(1.0, model.sector_bytes)
        after["dram"] = model.cycles["dram"] * min(1.0, max(keep, use))
    return after


def _misaligned(row: AccessRow) -> AccessSample | None:
    """A sample whose lanes are consecutive but start off a sector's boundary by a common offset."""
    for sample in row.samples:
        first = _start(sample)
        if first is not None and first % 32:
            return sample
    return None


def _start(sample: AccessSample) -> int | None:
    """The first byte of a request whose lanes access consecutive elements, None for another."""
    lanes = [int(a) for i, a in enumerate(sample.addresses) if sample.mask >> i & 1]
    if len(lanes) < 8:
        return None
    steps = np.diff(np.array(lanes, dtype=np.int64))
    return lanes[0] if (steps == sample.size).all() else None


def _offsets(case: Case) -> dict[int, set[int]]:
    """Bytes past a sector at which consecutive requests start, by the buffer's address: of the kept samples
    and of the first traced block."""
    found: dict[int, set[int]] = {}
    trace = next((t for t in case.subject.result.traces if t.accesses is not None), None)
    if trace is not None and trace.accesses is not None:
        a = trace.accesses
        some = np.flatnonzero(a.space == 0)[:_MOST_STARTS]
        lanes = np.array([int(m).bit_count() for m in a.mask[some].tolist()], dtype=np.int64)
        at = a.offset[some].astype(np.int64)
        begin, last = a.addresses[at].astype(np.int64), a.addresses[at + lanes - 1].astype(np.int64)
        run = (lanes >= 8) & (last - begin == (lanes - 1) * a.size[some])
        for start in np.unique(begin[run]).tolist():
            found.setdefault(_base(case, start), set()).add(start % 32)
    for row in _global(case):
        for sample in row.samples:
            first = _start(sample)
            if first is not None:
                found.setdefault(_base(case, first), set()).add(first % 32)
    return found


def _base(case: Case, address: int) -> int:
    for buffer in case.subject.result.buffers:
        if buffer is not None and buffer.base <= address < buffer.base + max(1, buffer.size):
            return buffer.base
    return -1


def _uneven(case: Case) -> list[tuple[AccessRow, AccessSample | None]]:
    """Rows with more sectors than their bytes need, and the sample that shows a common misalignment.

    Few addresses that many lanes share are left out: they touch no more sectors than lanes side by side
    would. So are windows that slide over sectors: the advice about reuse is theirs.
    """
    windows = case.reads.windows if case.reads is not None else ()
    sliding = {pc for window in windows for pc in window.pcs}
    return [
        (row, _misaligned(row))
        for row in _global(case)
        if row.operation != "atomic"
        and row.sectors_ideal
        and (row.sectors or 0) / row.sectors_ideal >= _MISALIGNED_EXCESS
        and (row.sectors or 0) > row.requests * math.ceil(row.lanes * (row.width or 4) / 32)
        and not (row.pc in sliding and (row.sectors or 0) < 2 * row.sectors_ideal)
    ]


def _without(case: Case, rows: list[AccessRow]) -> tuple[float, float]:
    """The gain if some rows touched no more sectors than their bytes need."""
    after = _shrunk(case, sum(row.sector_excess for row in rows))
    after |= _latency_without(case, {row.pc: row.sector_excess / row.requests for row in rows})
    return case.model.gain(**after)


def alignment(case: Case) -> Iterator[Advice]:
    """Arrays that start off a sector's boundary. Neighbours of a stencil are no array that could be moved:
    there the requests of one buffer start at several offsets."""
    offsets = _offsets(case)
    for row, off in _uneven(case):
        first = _start(off) if off is not None else None
        if first is None or len(offsets.get(_base(case, first), ())) > 1:
            continue
        opcode = case.subject.listing.rows[row.pc].opcode
        yield make(
            case,
            "alignment",
            "Align the array to 32 bytes",
            f"{opcode} reads consecutive bytes from {first % 32} bytes past a 32-byte sector: "
            f"{(row.sectors or 0) / row.requests:.3g} sectors a request where "
            f"{(row.sectors_ideal or 0) / row.requests:.3g} would do. Pad the header, or start the array at "
            f"a "
            "multiple of 32 bytes (128 is not needed).",
            "memory",
            _without(case, [row]),
            pcs=(row.pc,),
            evidence=case.counted,
            confirm="l1tex__t_sectors / l1tex__t_requests falls to the ideal",
        )


def coalescing(case: Case) -> Iterator[Advice]:
    """Requests that touch more sectors than their bytes need: all of them together, the worst line first."""
    rows = [
        row
        for row, off in _uneven(case)
        if off is None and (row.sectors or 0) / (row.sectors_ideal or 1) >= _EXCESS
    ]
    if not rows:
        return
    rows.sort(key=lambda row: (-row.sector_excess, row.pc))
    worst = rows[0]
    sectors, excess = sum(row.sectors or 0 for row in rows), sum(row.sector_excess for row in rows)
    also = f", with {len(rows) - 1} more like it" if len(rows) > 1 else ""
    yield make(
        case,
        "coalescing",
        "Let neighbouring lanes access neighbouring bytes",
        f"{case.subject.listing.rows[worst.pc].opcode} touches {(worst.sectors or 0) / worst.requests:.3g} "
        f"sectors a request where {(worst.sectors_ideal or 0) / worst.requests:.3g} would do{also}: "
        f"{excess:,} of {sectors:,} sectors bring bytes that the request does not use. "
        f"{_how(worst, _walked(case))}",
        "memory",
        _without(case, rows),
        pcs=tuple(row.pc for row in rows[:6]),
        evidence=case.counted,
        conflicts=("a tile in shared memory takes bytes from occupancy",),
        confirm="sectors a request of this line falls to the ideal",
    )


def _walked(case: Case) -> float:
    """Share of the sectors' bytes that the grid uses, where each thread reads many values; else 0."""
    if case.reads is None or case.reads.values < 8:
        return 0.0
    return sector_use(case.subject) or 0.0


def _how(row: AccessRow, use: float) -> str:
    """What to do: by the distance between neighbouring lanes of the worst request, and by how much of the
    sectors other requests use."""
    walks = (
        f"Later turns use {use:.0%} of these sectors' bytes, where the L1 still has them: each lane walks a "
        "row of its own. Give the row to a warp, its lanes side by side, and add up by shuffles"
    )
    for sample in row.samples:
        lanes = [int(a) for i, a in enumerate(sample.addresses) if sample.mask >> i & 1]
        steps = np.unique(np.diff(np.array(lanes, dtype=np.int64))) if len(lanes) > 3 else np.array([])
        if steps.size == 1 and steps[0]:
            apart = f"Lanes are {abs(int(steps[0])):,} bytes apart"
            if use > _WALKED and row.operation == "load":
                return f"{apart}. {walks}, or go through a shared tile."
            return (
                f"{apart}: exchange the roles of the indexes (the lane's index last, a warp instead of a "
                "thread a row), store structures as arrays, or go through a shared tile."
            )
    if use > _WALKED and row.operation == "load":
        return f"{walks}; what a loaded index chooses is better sorted."
    return "Reorder the index, the data (structure of arrays) or go through a shared tile."


def padding(case: Case) -> Iterator[Advice]:
    """Bank conflicts, with the padding or swizzle that removes them."""
    shared = [
        row
        for row in case.rows
        # An asynchronous copy writes shared memory: its conflicts are those of a store.
        if row.wavefronts
        and row.operation != "atomic"
        and (row.space == "shared" or row.operation == "async")
    ]
    bad = [row for row in shared if (row.conflicts or 0) > 0.05 * (row.wavefronts_ideal or 1)]
    if not bad:
        return
    waves, ideal = sum(r.wavefronts or 0 for r in bad), sum(r.wavefronts_ideal or 0 for r in bad)
    excess = waves - ideal
    worst = sorted(bad, key=lambda r: -(r.conflicts or 0))
    after = {"shared": case.model.cycles.get("shared", 0.0) * (1 - excess / max(1, case.count("wavefronts")))}
    after |= _latency_without(case, {r.pc: (r.conflicts or 0) / r.requests for r in bad})
    gain = case.model.gain(**after)
    if gain[1] < LEAST_GAIN:
        return  # nobody is told: no remedy is searched
    layouts = requests_of(case.subject.result, shared)
    remedy = find_remedy(layouts)
    text = (
        f"{waves / sum(r.requests for r in bad):.3g} wavefronts a request where "
        f"{ideal / sum(r.requests for r in bad):.3g} would do ({excess:,} bank conflicts). "
    )
    if remedy is not None:
        text += f"Computed on this kernel's addresses: {remedy.sentence()}."
    elif layouts:
        text += "No padding up to 64 bytes and no row swizzle halves them: let lanes take other elements."
    else:
        text += (
            "Which padding or swizzle removes them depends on the addresses, which a profiler does not keep: "
            "the kernel's source beside the report would be executed and tell."
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
        gain,
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
    warps = max(1, case.subject.launch.warps_per_block * max(1, case.subject.result.blocks_counted))
    spared = sum(int(executed[pc]) / warps * each for pc, each in saved.items())
    spared = min(spared, 0.9 * chain.parts["memory"])
    return {"latency": case.model.cycles["latency"] * (1 - spared / max(chain.cycles, 1.0))}


def pipelining(case: Case) -> Iterator[Advice]:
    """Loads into shared memory through registers, waited for in every iteration."""
    chain = case.model.chain
    if case.subject.arch.base < (8, 0) or case.asynchronous() or chain is None or not chain.cycles:
        return
    staged = [loop for loop in case.loops if loop.loads and loop.shared_stores]
    whole = next((loop for loop in staged if loop.barriers), None)
    stages = case.occupancy.stages if case.occupancy is not None else None
    if whole is None and (not staged or stages is None or stages.number != 1):
        return
    loop = whole or staged[0]
    memory, rest = chain.parts["memory"], chain.cycles - chain.parts["memory"]
    now = case.model.cycles.get("latency", 0.0)
    one = case.model.gain(latency=now * max(memory, rest) / chain.cycles)
    four = case.model.gain(latency=now * max(memory / 4, rest) / chain.cycles)
    tile = case.subject.static_shared + case.subject.launch.shared_bytes
    conflicts = []
    ask = case.subject.resources()
    if ask is not None and tile:
        costs = stage_costs(case.subject.arch, ask, tile, 2)
        conflicts.append(
            "each further stage adds a tile: "
            + ", ".join(f"{size:,} bytes leave {blocks} blocks an SM" for _, size, blocks in costs[1:])
        )
    if whole is not None:
        waits = (
            f"each iteration waits for {loop.loads} loads that go through registers into shared memory "
            f"({loop.shared_stores} stores, {loop.barriers} barriers)"
        )
    else:  # a loop of its own fills the tile inside the loop that uses it
        filled = stages.filled if stages is not None else 0
        waits = (
            f"between two barriers a loop fills {filled:,} bytes of shared memory through registers "
            f"({loop.loads} load{'s' if loop.loads != 1 else ''} an iteration), and nobody computes meanwhile"
        )
    yield make(
        case,
        "async-copy",
        "Software pipelining with asynchronous copies",
        f"{waits}; memory is {memory / chain.cycles:.0%} of a warp's chain. cp.async with two or more stages "
        "loads the next tile meanwhile.",
        "memory",
        (one[0], four[1]),
        lines=(loop.line,) if loop.line else (),
        pcs=case.start(loop),
        conflicts=tuple(conflicts),
        confirm="long-scoreboard stalls fall; LDGSTS appears in the machine code",
        derivation="the chain becomes the longer of its memory part and the rest; with four tiles under way "
        "a quarter of the memory part",
    )


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
    share = requests / max(1, case.count("requests"))
    issued = min(share, _AROUND * requests / max(1, case.count("warp_executed")))
    after = {
        name: value * (1 - (share if name == "l1" else issued) * (1 - keep))
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
        derivation="narrow requests shrink with the width, and four instructions around each of them",
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
        * max(1, case.subject.result.blocks_counted)
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


def load_store(case: Case) -> Iterator[Advice]:
    """A profiled launch without counts by instruction, whose loads and stores outweigh its arithmetic."""
    model = case.model
    now = model.cycles.get("lsu", 0.0)
    if model.top != "lsu" or not now:
        return
    busiest = max((model.cycles.get(name, 0.0) for name in _ARITHMETIC), default=0.0)
    if busiest > now / 2:
        return
    yield make(
        case,
        "larger-tile",
        "More arithmetic for each load: several results a thread, wider accesses",
        f"the load/store pipe is the busiest unit, and the busiest arithmetic pipe works {busiest / now:.0%} "
        "of its time: loads and stores, those of shared memory too, leave it little to do. Several results "
        "in a thread's registers use each value more often, 16-byte accesses bring four at once.",
        "memory",
        model.gain(lsu=max(now / 4, busiest)),
        evidence="modelled",
        conflicts=("results and values held in registers may cost blocks an SM",),
        confirm="the load/store pipe's share falls, the arithmetic pipe's rises",
        derivation="a quarter of the loads, as 4 values of a 16-byte access or a tile of 4 x 4 give",
    )


MEMORY_RULES = (alignment, coalescing, padding, pipelining, wider, load_store, spills)

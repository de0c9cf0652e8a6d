"""Advice about reuse: convolutions, tiles, values that a thread reads again, reductions within a block."""

from __future__ import annotations

import math
from collections.abc import Iterator

from warpglass.analysis.advice_model import Advice, Case, Gain, make
from warpglass.analysis.advice_products import products
from warpglass.analysis.number import figure
from warpglass.analysis.reads import Window
from warpglass.analysis.resources import peak_of

__all__ = ["REUSE_RULES"]

#: A tile of 16 x 16 results loads each factor a sixteenth as often.
_TILE = 16
#: Fewer values than this are a filter's, whose products would leave a tensor instruction half empty.
_LEAST_DEPTH = 16
#: More values than this do not stay in a thread's registers.
_MOST_REGISTERS = 64


def _global_loads(case: Case) -> list[tuple[int, int, int]]:
    """(pc, sectors, sectors that the bytes need) of loads from global memory, most sectors first."""
    found = [
        (row.pc, row.sectors, row.sectors_ideal or 0)
        for row in case.rows
        if row.sectors and row.operation == "load" and row.space in ("global", "generic")
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _again(case: Case) -> float:
    """How often each byte is requested, uncoalesced requests taken for coalesced ones; 0 where unknown."""
    # A profiler's ideal counts what each lane asks for, lanes on one address as often as there are lanes.
    wanted = 32 * sum(min(sectors, ideal) for _, sectors, ideal in _global_loads(case))
    read = case.read_bytes or sum(
        32 * b.sectors[0] for b in case.subject.result.buffers if b is not None and b.sectors is not None
    )
    return wanted / read if read and case.roof.unique.value is not None else 0.0


def _requests_kept(case: Case, keep: float, arithmetic: float = 1.0) -> Gain:
    """The gain if a share ``keep`` of the loads were left and ``arithmetic`` of its cycles."""
    model = case.model
    after = {name: model.cycles[name] * keep for name in ("l1", "l2") if name in model.cycles}
    for name in ("fp32", "fp16", "issue", "int"):
        if name in model.cycles and arithmetic < 1:
            after[name] = model.cycles[name] * arithmetic
    if model.chain is not None and model.chain.cycles:
        memory = model.chain.parts["memory"] / model.chain.cycles
        after["latency"] = model.cycles.get("latency", 0.0) * (1 - memory * (1 - keep))
    return model.gain(**after)


def _window(case: Case) -> Window | None:
    return case.reads.windows[0] if case.reads is not None and case.reads.windows else None


def _slides(window: Window) -> str:
    return (
        f"each thread reads {figure(window.values)} values of {window.buffer}, the next one the same window "
        f"{window.shift} bytes on, which shares {window.overlap:.0%} of them: the traced block reads each "
        f"value "
        f"{figure(window.again)} times"
    )


def _sizes(case: Case, depth: float) -> str:
    """The matrix product that a convolution is, as far as its sizes are known."""
    problem = case.subject.problem
    if problem is not None and problem.kind == "conv":
        return f" ({problem.matrix})"
    return f" with a depth of {figure(depth)}, channels times window"


def convolution(case: Case) -> Iterator[Advice]:
    """A direct convolution: windows that slide over one factor of the products, read from global memory."""
    window = _window(case)
    if window is None or window.values < _LEAST_DEPTH or case.staged() or window.again < 2:
        return
    found = products(case)
    if not found:
        return
    factor = max(_again(case), window.again)
    gain = _requests_kept(case, max(1 / factor, 1 / _TILE))
    target = (
        "tensor_fp16_fp32acc" if case.subject.half_pointers or case.roof.main == "fp16" else "tensor_tf32"
    )
    best = peak_of(case.subject, target)
    now = peak_of(case.subject, case.roof.main) if case.roof.main is not None else None
    tensor = ""
    if best is not None and now is not None and best > now:
        tensor = (
            f", and its products can go to the tensor cores ({figure(best)} instead of {figure(now)} Tflop/s)"
        )
        reach = _requests_kept(case, max(1 / factor, 1 / _TILE), now / best)
        gain = (min(gain[0], reach[0]), max(gain[1], reach[1]))
    tile = window.distinct * window.unit
    yield make(
        case,
        "implicit-gemm",
        "A direct convolution: make it an implicit GEMM",
        f"{_slides(window)}, the grid requests each byte {figure(factor)} times. As an implicit GEMM"
        f"{_sizes(case, window.values)} a tile is gathered once into shared memory{tensor}. im2col as a "
        f"pass of "
        f"its own would write each value {figure(window.again)} times; a shared tile with its halo alone "
        f"({tile:,} bytes for the threads looked at, all channels) saves {1 - 1 / window.again:.0%} of the "
        f"reads.",
        "memory",
        gain,
        pcs=tuple(dict.fromkeys((*found[:2], *window.pcs[:4]))),
        conflicts=(
            "a tile takes shared memory and registers, which may cost occupancy",
            "im2col needs the memory for its copy; TF32 keeps 10 bits of the mantissa",
        ),
        confirm="lts__t_sectors falls towards the unique sectors; HMMA in the machine code",
        derivation="requests shrink by the reuse of a tile of 16, no further than each byte once; the upper "
        "end "
        "takes the arithmetic at the tensor cores' rate",
    )


def _carried(case: Case) -> str:
    """What a thread itself reads again in its loop, where that is too much to keep whole."""
    reads = case.reads
    if reads is None or reads.own < 1.3 or reads.values <= _MOST_REGISTERS:
        return ""
    return (
        f"A thread reads its own values {figure(reads.own)} times, from one turn of its loop to the next: "
        "carried in registers, the tile needs the present turn's values only. "
    )


def reuse(case: Case) -> Iterator[Advice]:
    """The same bytes requested again and again by different threads."""
    factor, loads = _again(case), _global_loads(case)
    if factor < 4 or case.staged():
        return
    if case.reads is not None and factor / case.reads.own < 2:
        return  # it is the same thread that reads again
    found, window = products(case), _window(case)
    if found and window is not None and window.values >= _LEAST_DEPTH and window.again >= 2:
        return  # a convolution, told above
    if window is not None and factor > 4 * window.again:
        window = None  # the blocks of a stencil share no more than their halos: this is a table
    keep = max(1 / factor, 1 / _TILE)
    if window is not None and not found:
        keep = max(keep, 1 / max(1.0, window.again))
    gain = _requests_kept(case, keep)
    if gain[1] < 1.15:
        return
    text = (
        f"loads request {figure(factor)} times the bytes that device memory reads (where the caches were "
        "flushed before the launch, as the profiler does): "
        if case.counted == "measured"
        else f"every byte is requested {figure(factor)} times, {case.model.l1_hits:.0%} of the sectors "
        "served by the L1: "
    )
    tensor = any(key.startswith("tensor") for key in case.roof.ops)
    if found or tensor:
        name, title = "tiling", "Reuse what was loaded: block through shared memory or registers"
        text += "tiles of both factors in shared memory, and several results a thread, load it once a tile."
        if not tensor:
            text += " Tiles are what tensor cores need too."
    elif window is not None:
        name, title = "tiling", "Reuse what was loaded: a shared tile with its halo"
        text += (
            f"{_slides(window)}. {_carried(case)}"
            f"A shared tile with its halo ({window.distinct * window.unit:,} bytes) "
            "reads it once; several results a thread keep the rest in registers."
        )
    elif case.reads is not None and case.reads.block < 2 * case.reads.own:
        return  # each block reads it once: what different blocks share is no block's to keep
    else:
        name, title = "l2-rereads", "Keep close what is read again"
        text += "hold it in registers or shared memory, or order the blocks so that neighbours share it."
    yield make(
        case,
        name,
        title,
        text,
        "memory",
        gain,
        pcs=tuple(pc for pc, _, _ in loads[:4]),
        conflicts=("a tile takes shared memory and registers, which may cost occupancy",),
        confirm="lts__t_sectors falls towards the unique sectors",
        derivation="requests shrink by the reuse of a tile of 16, no further than each byte once",
    )


def registers(case: Case) -> Iterator[Advice]:
    """Values that one thread loads more than once."""
    reads = case.reads
    if reads is None or reads.own < 1.3 or reads.values > _MOST_REGISTERS:
        return
    loads = {pc for pc, _, _ in _global_loads(case)}
    again = tuple(pc for pc in reads.pcs if pc in loads)
    yield make(
        case,
        "register-reuse",
        "Keep in registers what a thread reads again",
        f"a thread reads each of its {figure(reads.values)} values {figure(reads.own)} times from global "
        "memory: held in registers (an array with constant indexes, or one pass that computes "
        "everything; const and __restrict__ let the compiler do it) it is read once.",
        "memory",
        _requests_kept(case, 1 / reads.own),
        pcs=again[:4],
        conflicts=(f"up to {figure(reads.values)} more registers a thread",),
        confirm="global load requests fall, lts__t_sectors falls towards the unique sectors",
        derivation="each thread requests each of its values once",
    )


def shuffles(case: Case) -> Iterator[Advice]:
    """A tree through shared memory in which ever fewer lanes work, with a barrier on each level."""
    model, chain = case.model, case.model.chain
    barriers = sum(times for _, times in case.executed(frozenset({"barrier"})))
    warps = case.subject.launch.warps_per_block * max(1, case.subject.result.blocks_counted)
    each = barriers / max(1, warps)
    loads = [row for row in case.rows if row.space == "shared" and row.operation == "load"]
    if chain is None or not chain.cycles or each < 4 or not loads:
        return
    threads = case.subject.launch.threads_per_block * max(1, case.subject.result.blocks_counted)
    lanes = sum(row.lanes * row.requests for row in loads) / threads
    # A tree over n threads makes n - 1 sums, for each of which one or two values are read: a value or two a
    # thread in all, where a tile would be read at each barrier.
    if not 0.75 <= lanes <= 0.6 * each:
        return
    # On the last levels fewer lanes than a warp has are on; whole warps that read tiles reduce nothing.
    if sum(row.lanes * row.requests for row in loads) > 31.5 * sum(row.requests for row in loads):
        return
    inside = case.subject.launch.warps_per_block
    # A level of the tree: a barrier, a load and a sum, about 55 cycles; a shuffle with its sum about 25.
    tree, after = 55 * each, 2 * 20 + 25 * (5 + math.ceil(math.log2(max(1, inside))))
    trees = max(1.0, each / (2 + math.log2(max(2, case.subject.launch.threads_per_block))))
    spared = min(0.8 * chain.cycles, tree - trees * after)
    if spared <= 0:
        return
    changed = {"latency": model.cycles.get("latency", 0.0) * (1 - spared / chain.cycles)}
    changed["shared"] = model.cycles.get("shared", 0.0) * 0.25
    # A level takes every warp about seven instructions (a comparison, an address, two reads, a sum, a write,
    # the barrier), a shuffle with its sum two.
    spent = min(0.8, 7 * barriers / max(1, case.count("warp_executed"))) * 5 / 7
    for name in ("issue", "int"):
        changed[name] = model.cycles.get(name, 0.0) * (1 - spent)
    yield make(
        case,
        "warp-shuffles",
        "Reduce within warps by shuffles",
        f"each warp executes {each:.3g} barriers around a tree in shared memory, whose levels read "
        f"{lanes:.3g} "
        f"values a thread in all: most lanes are idle. __shfl_down_sync (or __reduce_add_sync) reduces a "
        f"warp "
        f"without barriers, and one step through shared memory joins the {inside} warps.",
        "synchronisation",
        model.gain(**changed),
        pcs=tuple(row.pc for row in sorted(loads, key=lambda r: (-(r.wavefronts or 0), r.pc))[:4]),
        confirm="BAR falls to one or two a sum, SHFL appears; stall_barrier falls",
        derivation="a level of the tree takes about 55 cycles and seven instructions, a shuffle with its "
        "sum about 25 and two; two barriers stay",
    )


def levels(case: Case) -> Iterator[Advice]:
    """A scan or a butterfly through shared memory: a barrier on each level, and all threads exchange."""
    model, chain = case.model, case.model.chain
    launch, blocks = case.subject.launch, max(1, case.subject.result.blocks_counted)
    threads, warps = launch.threads_per_block * blocks, launch.warps_per_block * blocks
    each = sum(times for _, times in case.executed(frozenset({"barrier"}))) / max(1, warps)
    depth = math.ceil(math.log2(max(2, launch.threads_per_block)))
    if chain is None or not chain.cycles or depth < 6:
        return

    def lanes(space: str, operation: str) -> float:
        rows = [r for r in case.rows if r.space == space and r.operation == operation]
        return sum(r.lanes * r.requests for r in rows) / threads

    read, written = lanes("shared", "load") / depth, lanes("shared", "store") / depth
    # As many barriers as levels (or two a level), in which each thread reads one or two values and writes
    # one, and next to nothing from global memory: a tile would be loaded between them.
    turns = min(abs(each - depth), abs(each - 2 * depth))
    if turns > 2 or not 0.8 <= read <= 2.3 or not 0.8 <= written <= 1.3 or lanes("global", "load") > 2.5:
        return
    share = 5 / depth
    spared = min(0.8 * chain.cycles, 5 * (each / depth * 55 - 25))
    yield make(
        case,
        "warp-shuffles",
        "The levels within a warp by shuffles",
        f"each warp executes {each:.3g} barriers over {depth} levels on which each thread reads {read:.2g} "
        "values of shared memory and writes one, as a scan or a butterfly does: the five levels that join "
        "lanes of one warp need neither (__shfl_up_sync, __shfl_xor_sync), and one more pass joins the "
        "warps.",
        "synchronisation",
        model.gain(
            latency=model.cycles.get("latency", 0.0) * (1 - spared / chain.cycles),
            shared=model.cycles.get("shared", 0.0) * (1 - share),
        ),
        pcs=tuple(pc for pc, _ in case.executed(frozenset({"barrier"})))[:4],
        confirm="BAR falls, SHFL appears, shared-memory wavefronts fall",
        derivation="five levels leave shared memory, where one takes about 55 cycles; a shuffle takes 25",
    )


REUSE_RULES = (convolution, reuse, registers, shuffles, levels)

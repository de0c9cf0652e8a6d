"""Advice about the launch and its resources: size, tail, blocks, registers, shared memory, lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warpglass.analysis.advice_model import Advice, Case, make
from warpglass.analysis.mix import branch_table
from warpglass.analysis.occupancy import Cliff, occupancy
from warpglass.analysis.sass_loops import LoopView

__all__ = ["LAUNCH_RULES"]

_SM_WIDE = ("issue", "fp32", "fp64", "fp16", "int", "special", "tensor", "shared", "l1")


def small(case: Case) -> Iterator[Advice]:
    """Fewer blocks than multiprocessors."""
    view = case.occupancy
    if view is None or view.waves is None or not view.waves.idle_sms:
        return
    w, model = view.waves, case.model
    # Work spreads no further than over its warps, and the iterations of their loops over more of them.
    pieces = w.blocks * case.subject.launch.warps_per_block * max(1.0, (case.hot and case.hot.trips) or 1.0)
    share = min(1.0, max(w.blocks / case.subject.sms, 1 / pieces))
    after = {name: model.cycles[name] * share for name in (*_SM_WIDE, "latency") if name in model.cycles}
    yield make(
        case,
        "launch-too-small",
        "Launch more blocks",
        f"{w.blocks} block{'s' if w.blocks != 1 else ''} on {case.subject.sms} SMs: {w.idle_sms} stay idle; "
        f"one wave is "
        f"{w.slots:,} blocks. Give each thread less, split the k-loop over blocks (split-K), or batch "
        f"launches.",
        "occupancy",
        model.gain(**after),
        evidence="static",
        conflicts=("splitting a sum over blocks needs a second pass or atomics",),
        confirm="sm__cycles_active spreads over all SMs",
        derivation="the same warps, and iterations of their loops, spread over all SMs",
    )


def sparse(case: Case) -> Iterator[Advice]:
    """Every SM has a block, but few of those that fit, and a loop's waits for memory decide."""
    view, model, hot = case.occupancy, case.model, case.hot
    if view is None or view.waves is None or view.waves.idle_sms or view.waves.waves > 0.5:
        return
    chain, trips = model.chain, (hot.trips if hot is not None else None) or 1.0
    if model.top != "latency" or chain is None or not chain.cycles or trips < 2:
        return
    if chain.parts["memory"] < 0.5 * chain.cycles:
        return  # a chain of operations does not spread over more threads
    w = view.waves
    share = max(w.waves, 1 / trips)
    held = -(-w.blocks // case.subject.sms)
    yield make(
        case,
        "launch-too-small",
        "Launch more blocks",
        f"{w.blocks} blocks on {case.subject.sms} SMs: {held} of the {view.found.blocks} that fit on each, "
        f"{held * case.subject.launch.warps_per_block} of {view.found.max_warps} warps, and each warp goes "
        f"{trips:,.3g} times through its loop. {w.slots:,} blocks are one wave: a loop with a stride of the "
        "grid takes any number.",
        "occupancy",
        model.gain(latency=model.cycles["latency"] * share),
        lines=(hot.line,) if hot is not None and hot.line else (),
        evidence="static",
        conflicts=("what each block does before and after its loop is done by more blocks",),
        confirm="sm__warps_active rises, long-scoreboard stalls hide each other",
        derivation="the iterations of the loop spread over the blocks that fit",
    )


def uneven(case: Case) -> Iterator[Advice]:
    """All blocks fit at once, but some SMs have one more than others."""
    view, model = case.occupancy, case.model
    if view is None or view.waves is None or view.waves.idle_sms or view.waves.waves > 1:
        return
    sms, blocks = case.subject.sms, view.waves.blocks
    most, share = -(-blocks // sms), blocks / sms / -(-blocks // sms)
    if share > 0.85 or model.top not in _SM_WIDE:
        return
    after = {name: model.cycles[name] * share for name in _SM_WIDE if name in model.cycles}
    yield make(
        case,
        "tail",
        "Even out the blocks of the SMs",
        f"{blocks} blocks on {sms} SMs: some have {most}, the mean is {blocks / sms:.3g}, so that "
        f"{1 - share:.0%} of the time of all SMs is spent waiting. A tile that makes "
        f"{max(1, most - 1) * sms} or {most * sms} blocks of the work is even.",
        "occupancy",
        model.gain(**after),
        evidence="static",
        conflicts=("other tiles change the work of a block",),
        confirm="sm__cycles_active is the same on all SMs",
        derivation="mean blocks of an SM over the most",
    )


def tail(case: Case) -> Iterator[Advice]:
    """A last wave that is nearly empty."""
    view = case.occupancy
    if view is None or view.waves is None or view.waves.waves <= 1 or view.waves.efficiency >= 0.85:
        return
    w, model = view.waves, case.model
    even = max(1, w.blocks // w.slots) * w.slots
    after = {
        name: model.cycles[name] * max(w.efficiency, 1 / model.imbalance)
        for name in _SM_WIDE
        if name in model.cycles
    }
    after["latency"] = model.cycles.get("latency", 0.0) * w.efficiency
    yield make(
        case,
        "tail",
        "Even out the last wave",
        f"{w.blocks} blocks are {w.waves:.3g} waves of {w.slots}: the last wave leaves {w.tail_idle:.0%} of "
        f"the slots "
        f"idle, {w.efficiency:.0%} of all slots work. {even} blocks (or a persistent grid-stride loop of "
        f"{w.slots}) fill "
        "whole waves.",
        "occupancy",
        model.gain(**after),
        evidence="static",
        conflicts=("other tiles change the work of a block",),
        confirm="time falls in steps with the number of waves",
        derivation="slots of whole waves over slots used",
    )


def _room(case: Case) -> bool:
    """Whether more resident warps would help: latency leads, or the warps do not suffice."""
    view = case.occupancy
    if view is None:
        return False
    lacking = view.sufficiency is not None and not view.sufficiency.enough
    return case.model.top == "latency" or lacking


def _filled(case: Case) -> bool:
    """Whether the grid would fill more slots than there are now."""
    view = case.occupancy
    return view is not None and (view.waves is None or view.waves.waves > 1)


def _cliff(case: Case, resource: str) -> Cliff | None:
    view = case.occupancy
    found = [c for c in view.cliffs if c.resource == resource and c.change < 0] if view is not None else []
    return found[0] if found else None


def _goal(case: Case, resource: str) -> tuple[int, int | None]:
    """(blocks that hold enough warps, the most of the resource that a block may ask for then or None)."""
    view = case.occupancy
    if view is None or view.sufficiency is None:
        return 0, None
    arch, ask = case.subject.arch, view.ask
    most = occupancy(arch, replace(ask, registers=16, static_shared=0, dynamic_shared=0)).blocks
    warps = case.subject.launch.warps_per_block
    goal = min(most, -(-view.sufficiency.needed // warps))
    total = ask.static_shared + ask.dynamic_shared
    sizes = range(ask.registers - 1, 15, -1) if resource == "registers" else range(total - 1, -1, -256)
    for size in sizes:
        changed = (
            replace(ask, registers=size)
            if resource == "registers"
            else replace(ask, static_shared=0, dynamic_shared=size)
        )
        if occupancy(arch, changed).blocks >= goal:
            return goal, size
    return 0, None


def resources(case: Case) -> Iterator[Advice]:
    """Registers or shared memory that keep blocks off the SM."""
    view = case.occupancy
    if view is None or not _room(case) or not _filled(case):
        return
    for resource, name in (("registers", "registers"), ("shared memory", "shared-memory")):
        cliff = _cliff(case, resource)
        if resource not in view.found.limiters or cliff is None:
            continue
        now = view.found.blocks
        after = {"latency": case.model.cycles.get("latency", 0.0) * now / cliff.blocks}
        ask = view.ask
        have = (
            f"{ask.registers} registers a thread"
            if resource == "registers"
            else f"{ask.static_shared + ask.dynamic_shared:,} bytes of shared memory a block"
        )
        how = (
            "__launch_bounds__ with a minimum of blocks, fewer values held at once, less unrolling"
            if resource == "registers"
            else "a smaller or narrower tile, one stage less, reuse of one buffer"
        )
        need = view.sufficiency
        goal, enough = _goal(case, resource)
        reach = case.model.gain(latency=case.model.cycles.get("latency", 0.0) * now / max(goal, cliff.blocks))
        gain = case.model.gain(**after)
        wanted = ""
        if need is not None and not need.enough:
            wanted = f"; {need.needed} warps are needed, {need.active} are active"
        if enough is not None and goal > cliff.blocks:
            wanted += f" ({enough:,} would hold the {goal} blocks)"
        yield make(
            case,
            name,
            "Fewer registers a thread" if resource == "registers" else "Less shared memory a block",
            f"{have} allow {now} block{'s' if now != 1 else ''} ({view.found.warps} of "
            f"{view.found.max_warps} warps) an "
            f"SM{wanted}. {cliff.sentence()}: {how}.",
            "registers" if resource == "registers" else "occupancy",
            (min(gain[0], reach[0]), max(gain[1], reach[1])),
            evidence="static",
            conflicts=("too tight a bound makes the compiler spill",)
            if resource == "registers"
            else ("a smaller tile lowers the compute-to-load ratio",),
            confirm="occupancy rises as computed, long-scoreboard stalls fall",
            derivation="rounds of blocks shrink with the resident blocks, nearest cliff to enough warps",
        )


def blocks(case: Case) -> Iterator[Advice]:
    """Blocks so small that their number limits the warps."""
    view = case.occupancy
    if view is None or view.found.limiters != ("blocks",) or not _room(case) or not _filled(case):
        return
    ask, found = view.ask, view.found
    better = max(64, 32 * -(-found.max_warps // case.subject.arch.max_blocks_sm))
    after = {"latency": case.model.cycles.get("latency", 0.0) * found.warps / found.max_warps}
    yield make(
        case,
        "small-blocks",
        "Larger blocks",
        f"{ask.threads} threads a block reach {found.warps} of {found.max_warps} warps: an SM holds at most "
        f"{case.subject.arch.max_blocks_sm} blocks. {better} threads a block fill it.",
        "occupancy",
        case.model.gain(**after),
        evidence="static",
        confirm="theoretical occupancy 100 %",
        derivation="rounds of blocks shrink with the resident warps",
    )


def partial(case: Case) -> Iterator[Advice]:
    """Blocks that end in the middle of a warp."""
    threads = case.subject.launch.threads_per_block
    warps = case.subject.launch.warps_per_block
    lanes = threads / (32 * warps)
    if lanes > 0.9:
        return
    model = case.model
    after = {name: value * lanes for name, value in model.cycles.items() if name not in ("dram", "l2")}
    if "latency" in after:  # a warp takes as long with all lanes on: there are fewer rounds of blocks
        after["latency"] = model.cycles["latency"] * max(lanes, 1 / model.rounds)
    yield make(
        case,
        "partial-warps",
        "Make the block a multiple of 32 threads",
        f"{threads} thread{'s take' if threads > 1 else ' takes'} {warps} warp{'s' if warps > 1 else ''}: "
        f"{1 - lanes:.0%} of the lanes "
        f"are never on.",
        "divergence",
        model.gain(**after),
        evidence="static",
        confirm="active lanes rise to 32",
        derivation="the same work in full warps",
    )


def divergence(case: Case) -> Iterator[Advice]:
    """Branches that split warps."""
    warp, active = case.count("warp_executed"), case.count("thread_active")
    threads = case.subject.launch.threads_per_block
    full = threads / (32 * case.subject.launch.warps_per_block)
    lanes = active / warp if warp else 32.0
    split = [b for b in branch_table(case.subject.listing, case.subject.result) if b.divergent]
    if not split or lanes > 24 * full:
        return
    worst = sorted(split, key=lambda b: -b.divergent)
    share = lanes / (32 * full)
    model = case.model
    after = {
        name: value * share
        for name, value in model.cycles.items()
        if name in ("issue", "fp32", "fp64", "fp16", "int", "special", "latency")
    }
    top = worst[0]
    yield make(
        case,
        "divergence",
        "Let the lanes of a warp take the same way",
        f"on average {lanes:.3g} of 32 lanes are active; the branch splits its warp in {top.divergent:,} of "
        f"{top.executions:,} executions. Branch by warp (threadIdx / 32), sort or compact the work, or "
        f"compute both "
        "sides and select.",
        "divergence",
        model.gain(**after),
        pcs=tuple(b.pc for b in worst[:4]),
        evidence=case.counted,
        confirm="smsp__thread_inst_executed_per_inst_executed rises to 32",
        derivation="instructions shrink to what full warps need",
    )


def barriers(case: Case) -> Iterator[Advice]:
    """Barriers that cost much, or that guard nothing."""
    chain = case.model.chain
    number = sum(times for _, times in case.executed(frozenset({"barrier"})))
    if chain is None or not number or not chain.cycles:
        return
    share = chain.parts["barrier"] / chain.cycles
    warps = case.subject.launch.warps_per_block * max(1, case.subject.result.blocks_counted)
    each = number / max(1, warps)
    idle = [loop for loop in case.loops if loop.barriers and not loop.shared_stores and not loop.shared_loads]
    if not idle and (share < 0.25 or each < 4):
        return
    lines = tuple(
        loop.line for loop in (idle or [x for x in case.loops if x.barriers]) if loop.line is not None
    )
    why = (
        "the loop touches no shared memory between them, so that they guard nothing there: move them out"
        if idle
        else "let each phase do more (a larger tile), double-buffer so that one barrier a tile suffices, or "
        "use __syncwarp within a warp"
    )
    after = {"latency": case.model.cycles.get("latency", 0.0) * (1 - share * (1.0 if idle else 0.5))}
    pcs = tuple(pc for pc, _ in case.executed(frozenset({"barrier"})))
    yield make(
        case,
        "barriers",
        "Fewer barriers",
        f"each warp executes {each:.3g} barriers, {share:.0%} of its chain: {why}.",
        "synchronisation",
        case.model.gain(**after),
        pcs=pcs[:4],
        lines=lines,
        conflicts=() if idle else ("double buffering takes twice the shared memory",),
        confirm="stall_barrier falls",
        derivation="the barriers' part of the chain goes, or half of it",
    )


def _spins(case: Case, loop: LoopView) -> bool:
    """Whether a loop waits for a value that another thread exchanges: no more loads would hurry it."""
    listing = case.subject.listing
    if loop.isa != listing.isa:
        return False
    opcodes = [listing.rows[pc].opcode.upper() for pc in loop.pcs]
    return any(o.startswith(("ATOM", "CCTL")) and any(k in o for k in ("CAS", "EXCH")) for o in opcodes)


def latency(case: Case) -> Iterator[Advice]:
    """Nothing is busy: one warp's waits decide."""
    model = case.model
    if model.top != "latency" or model.chain is None or not model.chain.cycles:
        return
    rest = max((v for k, v in model.cycles.items() if k != "latency"), default=0.0)
    if model.cycles["latency"] < 2 * rest:
        return
    part = model.chain.parts["memory"] / model.chain.cycles
    if part < 0.5:
        return
    hot = case.hot
    if hot is not None and (not hot.loads or _spins(case, hot)):
        return
    loads = (
        f"{hot.loads} load{'s' if hot.loads != 1 else ''} an iteration of {hot.instructions} instructions"
        if hot is not None
        else "few loads"
        if case.subject.listing.rows
        else "its loads are unknown without the machine code"
    )
    after = {"latency": model.cycles["latency"] * (1 - part * 0.5)}
    yield make(
        case,
        "memory-latency",
        "More loads in flight",
        f"waits for memory are {part:.0%} of a warp's {model.chain.cycles:,.0f} cycles and the busiest "
        f"resource works "
        f"{rest / model.cycles['latency']:.0%} of them ({loads}): unroll so that several loads are under "
        f"way, or "
        "prefetch.",
        "memory",
        model.gain(**after),
        lines=(hot.line,) if hot is not None and hot.line else (),
        pcs=case.start(hot),
        conflicts=("each load in flight holds a register",),
        confirm="long-scoreboard stalls fall",
        derivation="two loads under way halve the waits for memory",
    )


LAUNCH_RULES = (small, sparse, uneven, tail, resources, blocks, partial, divergence, barriers, latency)

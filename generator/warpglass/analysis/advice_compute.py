"""Advice about arithmetic: double by accident, chains, divisions, special functions, conversions, stalls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpglass.analysis.advice_model import Advice, Case, make

__all__ = ["COMPUTE_RULES"]


def _pcs(case: Case, starts: tuple[str, ...], limit: int = 6) -> tuple[int, ...]:
    executed = case.subject.result.counters["warp_executed"]
    found = [
        (int(executed[pc]), pc)
        for pc, row in enumerate(case.subject.listing.rows)
        if executed[pc] and row.opcode.startswith(starts)
    ]
    return tuple(pc for _, pc in sorted(found, key=lambda item: (-item[0], item[1]))[:limit])


#: So many operations in double for each result that is rounded to float are a mathematical function. Of exp,
#: log, tanh, sin, erf and pow the double version executes 1.4 to 4 times the float version's instructions,
#: twice in the middle (ptxas 13.0 for sm_80).
_FUNCTION = 8


def double(case: Case) -> Iterator[Advice]:
    """Double-precision arithmetic between single-precision data."""
    down = case.warps(("cvt.rn.f32.f64", "cvt.rz.f32.f64", "F2F.F32.F64"))
    up = case.warps(("cvt.f64.f32", "F2F.F64.F32"))
    number = case.warps(
        (
            "add.f64",
            "add.rn.f64",
            "mul.f64",
            "mul.rn.f64",
            "fma.rn.f64",
            "sub.f64",
            "div.rn.f64",
            "DADD",
            "DMUL",
            "DFMA",
        ),
    )
    model, arch = case.model, case.subject.arch
    alone = not (up and down)
    if not number or (alone and (case.subject.double_data or model.top != "fp64")):
        return
    to_single = (arch.fp64 or 1) / (arch.fp32 or 64)
    after = {"fp64": 0.0, "fp32": model.cycles.get("fp32", 0.0) + model.cycles.get("fp64", 0.0) * to_single}
    after["special"] = max(
        0.0, model.cycles.get("special", 0.0) - (up + down) * 32 / (arch.conv_f64 or 16) * _factor(case)
    )
    if model.chain is not None and model.chain.cycles:
        share = model.chain.parts["arithmetic"] / model.chain.cycles
        after["latency"] = model.cycles.get("latency", 0.0) * (1 - 0.5 * share)
    functions = number >= _FUNCTION * down
    if functions:
        # As many instructions again are constants and comparisons of the functions' sequences.
        spared = 0.5 * min(0.9, 2 * (number + up + down) / max(1, case.count("warp_executed")))
        for name in ("issue", "int"):
            after[name] = model.cycles.get(name, 0.0) * (1 - spared)
    pcs = _pcs(case, ("cvt.f64.f32", "F2F.F64.F32")) or _pcs(case, ("fma.rn.f64", "DFMA", "DMUL", "DADD"))
    between = (
        "while no argument is a double" if alone else f"between {up:,} conversions from and {down:,} to float"
    )
    yield make(
        case,
        "double",
        "Double arithmetic on float data" if not alone else "Double arithmetic without double data",
        f"{number:,} warp instructions of FP64 arithmetic {between}: a literal without f, or a function "
        f"without f, promotes. FP64 runs at {arch.fp64} lanes a clock and SM, FP32 at {arch.fp32}.",
        "arithmetic",
        model.gain(**after),
        pcs=pcs,
        conflicts=("single precision has 24 bits: check that the sum bears it",),
        confirm="no DADD, DMUL, DFMA, F2F in the machine code",
        derivation="the FP64 cycles move to the FP32 pipe at its rate, conversions go"
        + ("; functions of floats take half of the instructions" if functions else ""),
    )


def _factor(case: Case) -> float:
    """Busy cycles a warp instruction of the whole grid adds to the busiest SM."""
    executed = max(1, case.count("warp_executed"))
    return case.model.cycles.get("issue", 0.0) * 4 / executed


def chain(case: Case) -> Iterator[Advice]:
    """One long chain of dependent arithmetic and too few warps to cover it."""
    model = case.model
    found = model.chain
    if found is None or model.top != "latency" or not found.cycles:
        return
    share = found.parts["arithmetic"] / found.cycles
    if share < 0.4 or found.parts["arithmetic"] < max(found.parts.values()):
        return
    warps = case.occupancy.found.warps if case.occupancy is not None else 0
    if case.occupancy is not None and case.occupancy.sufficiency is not None:
        warps = case.occupancy.sufficiency.active
    after = {"latency": model.cycles["latency"] * (1 - share * 0.75)}
    loops = [loop for loop in case.loops if loop.compute]
    line = loops[0].line if loops else None
    yield make(
        case,
        "dependence-chain",
        "Break the chain of dependent operations",
        f"{found.parts['arithmetic']:,.0f} of {found.cycles:,.0f} cycles of a warp are waits for the "
        f"operation "
        f"before it, with {warps or 'unknown'} warps an SM to fill them. Keep four or more independent "
        f"accumulators "
        "and add them at the end.",
        "arithmetic",
        model.gain(**after),
        lines=(line,) if line else (),
        pcs=_pcs(case, ("fma.rn.f32", "FFMA"), 3),
        conflicts=("each accumulator takes a register; the sum is rounded in another order",),
        confirm="stall_wait and stall_short_scoreboard fall, issue slots fill",
        derivation="four chains hide three quarters of the waits",
    )


def division(case: Case) -> Iterator[Advice]:
    """Integer divisions by what is no constant."""
    listing, executed = case.subject.listing, case.subject.result.counters["warp_executed"]
    # In machine code each division rounds an approximate reciprocal down to an integer.
    mark = r"F2I\.FTZ\.U32\.TRUNC" if listing.isa == "sass" else r"(div|rem)\.[su](16|32|64)"
    found = [
        pc
        for pc, row in enumerate(listing.rows)
        if executed[pc]
        and re.match(mark, row.opcode)
        and not re.fullmatch(r"-?\d+", row.text.rstrip("; ").rsplit(",", 1)[-1].strip())
    ]
    number = sum(int(executed[pc]) for pc in found)
    if not number:
        return
    each = 70 if any("64" in listing.rows[pc].opcode for pc in found) else 18
    total = max(1, case.count("warp_executed") + (number * each if listing.isa == "ptx" else 0))
    share = min(0.9, number * each / total)
    if share < 0.2:
        return
    after = {
        name: case.model.cycles.get(name, 0.0) * (1 - share)
        for name in ("issue", "int", "special", "latency")
    }
    yield make(
        case,
        "integer-division",
        "Avoid integer division by a variable",
        f"{number:,} warp-level divisions or remainders by a variable, about {each} machine instructions "
        f"each: "
        f"{share:.0%} of the instructions. Make the divisor a constant or a power of two, count up, or "
        f"multiply by "
        "the reciprocal.",
        "arithmetic",
        case.model.gain(**after),
        pcs=tuple(found[:4]),
        conflicts=("a constant divisor needs an instantiation for each value",),
        confirm="no I2F and MUFU.RCP around the index in the machine code",
        derivation="the sequence's share of instructions goes",
    )


def special(case: Case) -> Iterator[Advice]:
    """Functions in full precision where the special-function unit would do."""
    # FCHK looks whether a correctly rounded division needs its slow path.
    slow = ("div.rn.f32", "sqrt.rn.f32", "rcp.rn.f32", "div.full.f32", "FCHK")
    listing, executed = case.subject.listing, case.subject.result.counters["warp_executed"]
    found = [pc for pc, row in enumerate(listing.rows) if executed[pc] and row.opcode.startswith(slow)]
    number = sum(int(executed[pc]) for pc in found)
    total = case.count("warp_executed") + (number * 9 if listing.isa == "ptx" else 0)
    share = min(0.9, number * 9 / max(1, total))
    if share < 0.25:
        return
    after = {
        name: case.model.cycles.get(name, 0.0) * (1 - 0.8 * share)
        for name in ("issue", "fp32", "latency", "special")
    }
    yield make(
        case,
        "precise-functions",
        "Use the approximate functions where they suffice",
        f"{number:,} warp-level divisions and roots in full precision take about 9 instructions each, "
        f"{share:.0%} of "
        "all: __fdividef, rsqrtf, -prec-div=false or a multiplication by the reciprocal take one or two.",
        "arithmetic",
        case.model.gain(**after),
        pcs=tuple(found[:4]),
        conflicts=("2 ulp instead of correct rounding",),
        confirm="the sequences around MUFU go from the machine code",
        derivation="four fifths of the sequences' share of instructions goes",
    )


def integer(case: Case) -> Iterator[Advice]:
    """Address arithmetic that outweighs the work."""
    hot = case.hot
    if hot is None or hot.instructions < 8 or not hot.executions or not (hot.loads or hot.compute):
        return
    share = hot.integer / hot.instructions
    if share < 0.5 or hot.isa != "sass":
        return
    after = {name: case.model.cycles.get(name, 0.0) * (1 - share / 2) for name in ("issue", "int")}
    yield make(
        case,
        "integer-overhead",
        "Fewer integer instructions in the loop",
        f"{hot.integer} of the loop's {hot.instructions} instructions ({share:.0%}) are integer arithmetic, "
        f"{hot.uniform} run on the uniform datapath: step pointers instead of indexes, unroll, keep indexes "
        f"32-bit.",
        "arithmetic",
        case.model.gain(**after),
        lines=(hot.line,) if hot.line else (),
        pcs=case.start(hot),
        confirm="the loop's share of IMAD, IADD3, LEA falls",
        derivation="half of the integer instructions go",
    )


def conversions(case: Case) -> Iterator[Advice]:
    """Loops that spend their time converting."""
    hot = case.hot
    if hot is None or hot.instructions < 4 or hot.conversions / hot.instructions < 0.2:
        return
    after = {"special": case.model.cycles.get("special", 0.0) * 0.25}
    yield make(
        case,
        "conversions",
        "Convert less often",
        f"{hot.conversions} of the loop's {hot.instructions} instructions convert between types: convert "
        f"packed (two a "
        "time), once outside the loop, or keep one type.",
        "arithmetic",
        case.model.gain(**after),
        lines=(hot.line,) if hot.line else (),
        pcs=case.start(hot),
        confirm="F2F, I2F, F2I fall in the instruction mix",
        derivation="a quarter of the conversions stays",
    )


def schedule(case: Case) -> Iterator[Advice]:
    """Stalls beyond what dependences need."""
    hot = case.hot
    if hot is None or hot.isa != "sass" or not case.tight:
        return
    inside = [t for t in case.tight if t.pc in set(hot.pcs)]
    saved = sum(t.saved for t in inside)
    function = case.subject.function
    if not saved or function is None:
        return
    total = sum(c.stall for pc in hot.pcs if (c := function.instructions[pc].control) is not None)
    share = saved / max(1, total)
    if share < 0.05:
        return
    after = {"latency": case.model.cycles.get("latency", 0.0) * (1 - share / 2)}
    yield make(
        case,
        "stalls",
        "Tighten fixed stalls of the machine code",
        f"{saved} of {total} stall cycles an iteration are beyond what dependences need, at {len(inside)} "
        f"instructions: {inside[0].sentence()}.",
        "registers",
        case.model.gain(**after),
        lines=(hot.line,) if hot.line else (),
        pcs=case.start(hot),
        conflicts=("only by editing the machine code; a wrong stall gives wrong results without a warning",),
        confirm="the edited cubin gives the same results, and stall_wait falls",
        derivation="saved cycles of the loop's stall cycles, half of them hidden already",
    )


COMPUTE_RULES = (
    double,
    chain,
    division,
    special,
    integer,
    conversions,
    schedule,
)

"""Advice about arithmetic: double by accident, chains, tensor cores, ratios, divisions, special functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpglass.analysis.advice_model import Advice, Case, make
from warpglass.analysis.listing import ListingRow
from warpglass.analysis.resources import peak_of

__all__ = ["COMPUTE_RULES", "products"]


#: Multiply-adds of floats, doubles, halves, and of four bytes at once.
_MULTIPLY_ADDS = ("fma.rn", "dp4a", "FFMA", "DFMA", "HFMA2", "IDP")


def _pcs(case: Case, starts: tuple[str, ...], limit: int = 6) -> tuple[int, ...]:
    executed = case.subject.result.counters["warp_executed"]
    found = [
        (int(executed[pc]), pc)
        for pc, row in enumerate(case.subject.listing.rows)
        if executed[pc] and row.opcode.startswith(starts)
    ]
    return tuple(pc for _, pc in sorted(found, key=lambda item: (-item[0], item[1]))[:limit])


def _warps(case: Case, starts: tuple[str, ...]) -> int:
    executed = case.subject.result.counters["warp_executed"]
    return sum(
        int(executed[pc]) for pc, row in enumerate(case.subject.listing.rows) if row.opcode.startswith(starts)
    )


#: So many operations in double for each result that is rounded to float are a mathematical function. Of exp,
#: log, tanh, sin, erf and pow the double version executes 1.4 to 4 times the float version's instructions,
#: twice in the middle (ptxas 13.0 for sm_80).
_FUNCTION = 8


def double(case: Case) -> Iterator[Advice]:
    """Double-precision arithmetic between single-precision data."""
    down = _warps(case, ("cvt.rn.f32.f64", "cvt.rz.f32.f64", "F2F.F32.F64"))
    up = _warps(case, ("cvt.f64.f32", "F2F.F64.F32"))
    number = _warps(
        case,
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
    if not number or not (up and down):
        return
    model, arch = case.model, case.subject.arch
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
    pcs = _pcs(case, ("cvt.f64.f32", "F2F.F64.F32"))
    yield make(
        case,
        "double",
        "Double arithmetic on float data",
        f"{number:,} warp instructions of FP64 arithmetic between {up:,} conversions from and {down:,} to "
        f"float: a "
        f"literal without f, or a function without f, promotes. FP64 runs at {arch.fp64} lanes a clock and "
        f"SM, FP32 "
        f"at {arch.fp32}.",
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


def _operands(row: ListingRow, isa: str) -> tuple[str, str, str]:
    """Registers of the two factors and of what is added; empty where one is no register."""
    if isa == "ptx":
        return (row.reads[0], row.reads[1], row.reads[2]) if len(row.reads) >= 3 else ("", "", "")
    listed = [part.strip() for part in row.text.rstrip("; ").split(",")[1:4]]
    names = [m[0] if (m := re.search(r"\bR\d+\b", part)) is not None else "" for part in listed]
    return (names[0], names[1], names[2]) if len(names) == 3 else ("", "", "")


def products(case: Case) -> tuple[int, ...]:
    """Multiply-adds of a matrix product: both factors were loaded, the sum was not; most executed first.

    Who wrote a register last is taken in the order of the code. Empty where they are less than half of all
    multiply-adds.
    """
    listing, executed = case.subject.listing, case.subject.result.counters["warp_executed"]
    loaded: set[str] = set()
    found, every = [], 0
    # Who names a problem of products says so: scaled factors and probabilities come from registers.
    problem = case.subject.problem
    named = problem is not None and problem.kind.split("-")[0] in ("gemm", "conv", "attention")
    for pc, row in enumerate(listing.rows):
        if executed[pc] and row.opcode.startswith(_MULTIPLY_ADDS):
            every += int(executed[pc])
            first, second, added = _operands(row, listing.isa)
            if named or (
                first in loaded and second in loaded and (added in row.writes or added not in loaded)
            ):
                found.append((int(executed[pc]), pc))
        from_memory = row.kind == "load" and row.space not in ("param", "const", None)
        # Moves, halves and conversions of what was loaded.
        passed = row.kind in ("move", "convert") and row.reads and all(r in loaded for r in row.reads)
        if from_memory or passed:
            loaded.update(row.writes)
        else:
            loaded.difference_update(row.writes)
    if 2 * sum(n for n, _ in found) < every:
        return ()
    return tuple(pc for _, pc in sorted(found, key=lambda item: (-item[0], item[1])))


#: What tensor cores take instead, by the precision executed most.
_TARGETS = {
    "fp16": "tensor_fp16_fp32acc",
    "fp32": "tensor_tf32",
    "fp64": "tensor_fp64",
    "int8": "tensor_int8",
}
_PIPES = {"fp16": "half2 pipe", "fp32": "FP32 pipe", "fp64": "FP64 pipe", "int8": "integer pipe as dp4a"}
_NAMES = {"tensor_fp16_fp32acc": "HMMA", "tensor_tf32": "HMMA", "tensor_fp64": "DMMA", "tensor_int8": "IMMA"}


def _integer_peak(case: Case) -> float | None:
    """1e12 operations a second of dot products of four bytes, at the rate of integer products."""
    arch, gpu = case.subject.arch, case.subject.gpu
    if case.roof.main != "int8" or gpu is None or not gpu.boost_mhz or not arch.int_mul:
        return None
    return 8 * arch.int_mul * gpu.sm_count * gpu.boost_mhz * 1e6 / 1e12


def _fed(case: Case, intensity: float, best: float) -> str:
    """How far device memory would feed the tensor cores."""
    bandwidth = case.roof.bandwidth
    if not bandwidth:
        return f"There are {intensity:.3g} operations a unique byte"
    reach = intensity * bandwidth / 1e3
    if reach >= best:
        return f"{intensity:.3g} operations a unique byte are enough to feed them from device memory"
    return (
        f"At {intensity:.3g} operations a unique byte device memory feeds {reach:.3g} Tflop/s of it, the L2 "
        "more where the data stays there"
    )


def tensor(case: Case) -> Iterator[Advice]:
    """Matrix products on the scalar pipes."""
    arch, model, roof = case.subject.arch, case.model, case.roof
    if arch.base < (7, 0) or roof.main is None or any(key.startswith("tensor") for key in roof.ops):
        return
    halves = (
        roof.main == "fp16" or _warps(case, ("cvt.f32.f16", "HADD2.F32")) > 0 or case.subject.half_pointers
    )
    if roof.main not in _TARGETS or (roof.main == "fp32" and not halves and arch.base < (8, 0)):
        return
    value = roof.intensity.value
    found = products(case)
    if not found or value is None or value < 8:
        return
    number = sum(int(n.value or 0) for n in roof.ops.values())
    target = "tensor_fp16_fp32acc" if halves and roof.main == "fp32" else _TARGETS[roof.main]
    best, now = peak_of(case.subject, target), peak_of(case.subject, roof.main) or _integer_peak(case)
    if best is None or now is None or best <= now:
        return
    share, staged = now / best, case.staged()
    moved = ("fp32", "fp64", "fp16", "issue", "shared", "int", "special")
    # Without a tile the loads and their addresses stay: only the arithmetic moves.
    alone = ("fp32", "fp64", "fp16", *(("int",) if roof.main == "int8" else ()))
    after = {name: model.cycles.get(name, 0.0) * share for name in (moved if staged else alone)}
    waits = 0.0
    if not staged and model.chain is not None and model.chain.cycles:
        waits = model.chain.parts["memory"] / model.chain.cycles
    if not staged:
        number_of = sum(int(case.subject.result.counters["warp_executed"][pc]) for pc in found)
        slots = number_of / max(1, case.count("warp_executed"))
        after["issue"] = model.cycles.get("issue", 0.0) * (1 - slots * (1 - share))
    after["latency"] = model.cycles.get("latency", 0.0) * (waits + 0.5 * (1 - waits))
    exact = {
        "tensor_fp16_fp32acc": "inputs are half already",
        "tensor_tf32": "TF32 keeps 10 bits of the mantissa: check that the result bears it",
        "tensor_fp64": "fragments are 8 x 8 x 4: the shape of the tile has to fit",
        "tensor_int8": "the bytes of both factors are packed along k already",
    }[target]
    yield make(
        case,
        "tensor-cores",
        "Use the tensor cores",
        f"{number:,} operations run on the {_PIPES[roof.main]} ({now:.3g} "
        f"Tflop/s), none "
        f"on the tensor cores ({best:.3g} Tflop/s dense). {_fed(case, value, best)} (mma.sync or wmma, "
        f"ldmatrix).",
        "arithmetic",
        model.gain(**after),
        pcs=found[:4],
        conflicts=(exact, "fragments raise the registers a thread"),
        confirm=f"{_NAMES[target]} in the machine code; sm__inst_executed_pipe_tensor above 0",
        derivation="arithmetic, its loads and its issue slots shrink by the ratio of the two peaks"
        if staged
        else "the arithmetic shrinks by the ratio of the two peaks; its loads stay until a tile feeds it",
    )


def ratio(case: Case) -> Iterator[Advice]:
    """Loops that load too often for what they compute."""
    for loop in case.loops:
        if loop.ratio is None or not loop.compute or loop.ratio >= loop.high or not loop.flops:
            continue
        if loop.compute_name in ("FFMA", "DFMA", "HFMA2") and not (
            case.model.cycles.get("shared") and products(case)
        ):
            continue  # without a tile the advice is to make one; without products there is none to make
        model = case.model
        better = min(loop.high, 2 * loop.ratio)
        keep = loop.ratio / better
        after = {name: model.cycles.get(name, 0.0) * keep for name in ("l1", "l2")}
        if loop.compute_name not in ("FFMA", "DFMA") and model.chain is not None and model.chain.cycles:
            memory = model.chain.parts["memory"] / model.chain.cycles
            after["latency"] = model.cycles.get("latency", 0.0) * (1 - memory * (1 - keep))
        severity = "below" if loop.ratio < loop.low else "between"
        yield make(
            case,
            "larger-tile",
            "Larger tile or longer k-loop",
            f"{loop.compute} {loop.compute_name} for {loop.loads} loads an iteration, {loop.ratio:.3g}:1 "
            f"({loop.flop_per_byte or 0:.3g} FLOP a byte), {severity} the thresholds {loop.low:.3g}:1 and "
            f"{loop.high:.3g}:1: {loop.threshold_rule}.",
            "memory",
            model.gain(**after),
            lines=(loop.line,) if loop.line else (),
            pcs=case.start(loop),
            conflicts=("a larger tile raises registers and shared bytes, which may cross a cliff",),
            confirm="the ratio of the loop in the machine code doubles",
            derivation="twice the arithmetic for each load",
        )
        return


def register_tile(case: Case) -> Iterator[Advice]:
    """Products whose factors are read from shared memory once for each multiply-add."""
    model = case.model
    shared = model.cycles.get("shared", 0.0)
    waves = sum(row.wavefronts or 0 for row in case.rows)
    conflicts = sum(row.conflicts or 0 for row in case.rows)
    if not shared or shared < 0.7 * model.overlapped or conflicts > 0.2 * waves or not products(case):
        return
    for loop in case.loops:
        if not loop.compute or not loop.shared_loads or loop.compute / loop.shared_loads >= 4:
            continue
        gain = model.gain(shared=shared / 4)
        yield make(
            case,
            "larger-tile",
            "Larger tile: several results a thread",
            f"{loop.compute} {loop.compute_name} for {loop.shared_loads} loads from shared memory an "
            f"iteration, "
            f"{loop.compute / loop.shared_loads:.3g}:1, and shared-memory wavefronts take {shared:,.0f} "
            f"cycles of "
            f"an SM. With 4 x 4 results in a thread's registers 8 values feed 16 {loop.compute_name}.",
            "memory",
            gain,
            lines=(loop.line,) if loop.line else (),
            pcs=products(case)[:2],
            conflicts=("16 accumulators and 8 factors raise the registers a thread",),
            confirm="LDS for each FFMA falls in the loop of the machine code",
            derivation="a quarter of the shared loads stays with 4 x 4 results a thread",
        )
        return


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
    tensor,
    ratio,
    register_tile,
    division,
    special,
    integer,
    conversions,
    schedule,
)

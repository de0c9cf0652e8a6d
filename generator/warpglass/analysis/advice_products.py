"""Advice about matrix products: tensor cores that stay idle, loops that load too often, tiles too small."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warpglass.analysis.advice_model import Advice, Case, make
from warpglass.analysis.listing import ListingRow
from warpglass.analysis.number import figure
from warpglass.analysis.resources import peak_of

__all__ = ["PRODUCT_RULES", "products"]

#: Multiply-adds of floats, doubles, halves, and of four bytes at once.
_MULTIPLY_ADDS = ("fma.rn", "dp4a", "FFMA", "DFMA", "HFMA2", "IDP")


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
        return f"There are {figure(intensity)} operations a unique byte"
    reach = intensity * bandwidth / 1e3
    if reach >= best:
        return f"{figure(intensity)} operations a unique byte are enough to feed them from device memory"
    return (
        f"At {figure(intensity)} operations a unique byte device memory feeds {figure(reach)} Tflop/s of it, "
        "the L2 more where the data stays there"
    )


def tensor(case: Case) -> Iterator[Advice]:
    """Matrix products on the scalar pipes."""
    arch, model, roof = case.subject.arch, case.model, case.roof
    if arch.base < (7, 0) or roof.main is None or any(key.startswith("tensor") for key in roof.ops):
        return
    halves = roof.main == "fp16" or case.warps(("cvt.f32.f16", "HADD2.F32")) > 0 or case.subject.half_pointers
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
        f"{number:,} operations run on the {_PIPES[roof.main]} ({figure(now)} "
        f"Tflop/s), none "
        f"on the tensor cores ({figure(best)} Tflop/s dense). {_fed(case, value, best)} (mma.sync or wmma, "
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


PRODUCT_RULES = (tensor, ratio, register_tile)

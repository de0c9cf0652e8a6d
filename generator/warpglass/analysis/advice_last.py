"""What is said where no rule found anything: the kernel stands at a limit, and what would move it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from warpglass.analysis.advice_model import LEAST_GAIN, Advice, Case, make
from warpglass.analysis.resources import LABELS
from warpglass.analysis.sector_use import sector_use

__all__ = ["LAST_RULES"]

#: Pipes whose instructions can be counted, and what is left to do where one of them is the limit.
_PIPES = {
    "fp32": "fuse products with sums, share common terms, take cheaper functions or halves",
    "fp64": "fuse products with sums, or take floats where their 24 bits do",
    "fp16": "fuse products with sums, share common terms",
    "int": "step pointers instead of indexes, unroll, take shifts for divisions",
    "special": "share functions between iterations, or take polynomials on the FP32 pipe",
    "issue": "do more in each instruction: wider loads, packed halves, less index arithmetic",
    "tensor": "types of half the width double the rate",
}


def streaming(case: Case) -> Iterator[Advice]:
    """Device memory is the limit and nothing moves twice: said where nothing else is to be said."""
    model, roof = case.model, case.roof
    unique, requested = roof.unique.value, roof.requested.value
    if model.top != "dram" or not unique or not requested or case.reads is None:
        return  # what was measured without a trace does not tell which bytes are the same
    use = sector_use(case.subject)
    if use is None or use < 0.9:
        return
    again = (
        "each byte moves once"
        if requested <= 1.1 * unique
        else "each byte moves once if the caches keep what is read again"
    )
    made = make(
        case,
        "fewer-bytes",
        "Nothing moves twice: only fewer bytes are faster",
        f"device memory is busy longest, {model.cycles['dram']:,.0f} cycles, and {unique:,.0f} of "
        f"{requested:,.0f} requested bytes are distinct: {again}. What is left are narrower "
        "types and fusing the kernel with the one that makes or uses its data.",
        "memory",
        model.gain(dram=model.cycles["dram"] / 2),
        confirm="dram__bytes falls",
        conflicts=("narrower types keep fewer digits",),
        derivation="half the width, or one array in two kept from device memory, halves the bytes",
    )
    yield replace(made, severity="info")


def saturated(case: Case) -> Iterator[Advice]:
    """A pipe is the limit and nothing else comes near: only fewer instructions are faster."""
    model = case.model
    if model.top not in _PIPES or case.reads is None:
        return
    now = model.cycles[model.top]
    rest = max((value for name, value in model.cycles.items() if name != model.top), default=0.0)
    fused = case.warps(("fma.", "FFMA", "DFMA", "HFMA2"))
    single = case.warps(("add.f", "add.rn.f", "sub.f", "mul.f", "mul.rn.f", "FADD", "FMUL", "DADD", "DMUL"))
    least = now
    said = ""
    if model.top in ("fp32", "fp64", "fp16") and fused + single:
        least = now * (fused + single / 2) / (fused + single)
        said = (
            f" {fused:,} of its {fused + single:,} warp instructions of float arithmetic are fused "
            f"multiply-adds, the others do half of what the pipe could."
        )
    elif model.top == "tensor":
        least = now / 2
    else:
        least = max(rest, now / 2)
    gain = model.gain(**{model.top: least})
    if gain[1] < LEAST_GAIN:
        return
    yield replace(
        make(
            case,
            "fewer-instructions",
            "The pipe is full: only fewer instructions are faster",
            f"{LABELS[model.top]}: {now:,.0f} cycles, the next resource takes {rest / now:.0%} of them."
            f"{said} What is left: {_PIPES[model.top]}.",
            "arithmetic",
            gain,
            confirm="the pipe's warp instructions fall",
            derivation="all sums fused with products"
            if said
            else "half of the instructions, or down to the next resource",
        ),
        severity="info",
    )


LAST_RULES = (streaming, saturated)

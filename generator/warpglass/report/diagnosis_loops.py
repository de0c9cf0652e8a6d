"""The inner loops of a diagnosis: ratios, and of each loop its instruction mix and fixed stalls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpglass import sass
from warpglass.analysis.diagnosis import Diagnosis
from warpglass.analysis.sass_loops import LoopView
from warpglass.analysis.stalls import Tightening, stall_histogram
from warpglass.report.diagnosis_blocks import table, words

__all__ = ["loop_blocks", "mix_block", "place_of", "tight_blocks"]

Json = dict[str, Any]

#: Loops that are listed, and those whose mix is shown.
_MOST_LISTED, _MOST_MIXES, _MOST_OPCODES = 12, 6, 16


def place_of(loop: LoopView) -> str:
    """Where a loop stands, in words."""
    place = f"line {loop.line[1]}" if loop.line else f"instruction {loop.start}"
    return f"{place}, with its inner loop" if loop.nest else place


def mix_block(function: sass.Function | None, loop: LoopView) -> Json:
    """Opcodes of one loop with their share, and with machine code the cycles that they stall."""
    where = f"Mix of the loop at {place_of(loop)}"
    stalls = stall_histogram(function, loop.pcs) if loop.isa == "sass" and function is not None else {}
    if not stalls:  # PTX, or a listing without control fields
        total = len(loop.pcs)
        rows: list[tuple[Any, ...]] = [(op, n, f"{n / total:.0%}") for op, n in loop.opcodes]
        return table(f"{where}, {loop.isa.upper()}", ("opcode", "instructions", "share"), rows, "static")
    total, cycles = sum(n for n, _ in stalls.values()), sum(c for _, c in stalls.values())
    rows = [
        (op, n, f"{n / max(1, total):.0%}", c, c / n, f"{c / max(1, cycles):.0%}")
        for op, (n, c) in list(stalls.items())[:_MOST_OPCODES]
    ]
    return table(
        f"{where}, and its fixed stalls from the control fields: {cycles:,} cycles",
        ("opcode", "instructions", "share", "stall cycles", "each", "share of stalls"),
        rows,
        "static",
    )


def loop_blocks(found: Diagnosis) -> list[Json]:
    """Tables of the section "Inner loops", hottest first."""
    rows = []
    for loop in found.loops[:_MOST_LISTED]:
        rows.append(
            (
                place_of(loop),
                loop.isa.upper(),
                loop.instructions,
                f"{loop.compute} {loop.compute_name}",
                loop.loads,
                "no loads" if loop.ratio is None else f"{loop.ratio:.3g}:1",
                f"{loop.low:.3g}:1, {loop.high:.3g}:1",
                loop.flop_per_byte,
                loop.lanes,
                loop.barriers,
                loop.integer,
                loop.uniform,
                loop.conversions,
                loop.spills,
                loop.executions,
            )
        )
    blocks: list[Json] = [
        table(
            "Inner loops, hottest first",
            (
                "loop",
                "from",
                "instructions",
                "compute",
                "loads",
                "ratio",
                "thresholds",
                "FLOP a byte",
                "lanes on",
                "barriers",
                "integer",
                "uniform",
                "conversions",
                "spill accesses",
                "executions",
            ),
            rows,
            "static",
        )
    ]
    rules = dict.fromkeys(loop.threshold_rule for loop in found.loops[:_MOST_LISTED])
    blocks.append(words("\n".join(f"- Thresholds: {rule}." for rule in rules)))
    function = found.subject.function
    blocks += [mix_block(function, loop) for loop in found.loops[:_MOST_MIXES] if not loop.nest]
    return blocks + tight_blocks(found.tight, function is not None)


def tight_blocks(tight: Sequence[Tightening], coded: bool) -> list[Json]:
    """Fixed stalls that could be shorter; ``coded`` says whether there is machine code to read them from."""
    if tight:
        rows = [
            (t.pc, t.sentence(), t.saved, t.before, t.after)
            for t in sorted(tight, key=lambda t: -t.saved)[:20]
        ]
        return [
            table(
                f"Stalls that could be tighter: {len(tight)} instructions, "
                f"{sum(t.saved for t in tight)} cycles; in CuAssembler's notation",
                ("instruction", "why", "cycles saved", "now", "could be"),
                rows,
                "modelled",
            )
        ]
    if coded:
        return []
    return [words("Stalls: unknown without machine code; a cubin, or nvcc with cuobjdump, would give it.")]

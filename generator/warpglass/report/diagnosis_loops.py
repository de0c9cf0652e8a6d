"""The inner loops of a diagnosis: ratios, and of each loop its instruction mix and fixed stalls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warpglass import sass
from warpglass.analysis.diagnosis import Diagnosis
from warpglass.analysis.sass_loops import LoopView
from warpglass.analysis.stalls import Tightening, stall_histogram
from warpglass.report.diagnosis_blocks import table, words

__all__ = [
    "STATIC_COLUMNS",
    "loop_blocks",
    "loop_table",
    "mix_block",
    "place_of",
    "threshold_rules",
    "tight_blocks",
]

Json = dict[str, Any]

#: Loops that are listed, and those whose mix is shown.
_MOST_LISTED, _MOST_MIXES, _MOST_OPCODES = 12, 6, 16


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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


#: What the columns of a table of loops hold.
_COLUMNS: Mapping[str, Callable[[LoopView], Any]] = {
    "loop": place_of,
    "from": lambda loop: loop.isa.upper(),
    "instructions": lambda loop: loop.instructions,
    "compute": lambda loop: f"{loop.compute} {loop.compute_name}",
    "loads": lambda loop: loop.loads,
    "ratio": lambda loop: "no loads" if loop.ratio is None else f"{loop.ratio:.3g}:1",
    "thresholds": lambda loop: f"{loop.low:.3g}:1, {loop.high:.3g}:1",
    "FLOP a byte": lambda loop: loop.flop_per_byte,
    "lanes on": lambda loop: loop.lanes,
    "barriers": lambda loop: loop.barriers,
    "integer": lambda loop: loop.integer,
    "uniform": lambda loop: loop.uniform,
    "conversions": lambda loop: loop.conversions,
    "spill accesses": lambda loop: loop.spills,
    "executions": lambda loop: loop.executions,
}
#: Those that stand in the code, whoever executed it.
STATIC_COLUMNS = tuple(n for n in _COLUMNS if n not in ("from", "FLOP a byte", "lanes on", "executions"))


def loop_table(caption: str, loops: Sequence[LoopView], columns: Sequence[str] = tuple(_COLUMNS)) -> Json:
    """A table of loops as they stand in the code."""
    rows = [[_COLUMNS[name](loop) for name in columns] for loop in loops]
    return table(caption, columns, rows, "static")


def threshold_rules(loops: Sequence[LoopView]) -> Json:
    """Where the thresholds of some loops come from."""
    rules = dict.fromkeys(loop.threshold_rule for loop in loops)
    return words("\n".join(f"- Thresholds: {rule}." for rule in rules))


def loop_blocks(found: Diagnosis) -> list[Json]:
    """Tables of the section "Inner loops", hottest first."""
    shown = found.loops[:_MOST_LISTED]
    blocks = [loop_table("Inner loops, hottest first", shown), threshold_rules(shown)]
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
                f"Stalls that could be tighter: {_many(len(tight), 'instruction')}, "
                f"{_many(sum(t.saved for t in tight), 'cycle')}; in CuAssembler's notation",
                ("instruction", "why", "cycles saved", "now", "could be"),
                rows,
                "modelled",
            )
        ]
    if coded:
        return []
    return [words("Stalls: unknown without machine code; a cubin, or nvcc with cuobjdump, would give it.")]

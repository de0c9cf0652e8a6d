"""Whole-run numbers: the tiles above the fold and the counts behind them."""

from __future__ import annotations

from warpglass.analysis.listing import Listing
from warpglass.analysis.number import Number, derived, ratio
from warpglass.machine.result import RunResult

__all__ = ["run_numbers"]

_COUNTS = (
    (
        "Warp instructions",
        "warp_executed",
        "warp instructions",
        "every issued warp instruction, predicated off or not",
    ),
    (
        "Thread instructions",
        "thread_executed",
        "thread instructions",
        "lanes on after the guard, summed over warp instructions",
    ),
    ("Memory requests", "requests", "requests", "memory warp instructions with a live lane"),
    ("Sectors", "sectors", "sectors", "distinct 32-byte sectors a request, summed"),
    ("Ideal sectors", "sectors_ideal", "sectors", "ceil(distinct bytes of a request / 32), summed"),
    (
        "Shared wavefronts",
        "wavefronts",
        "wavefronts",
        "largest number of distinct 4-byte words in one bank, phase by phase",
    ),
    (
        "Ideal wavefronts",
        "wavefronts_ideal",
        "wavefronts",
        "phases (1, halves, quarters by width) with a live lane",
    ),
    ("Divergent branches", "branch_divergent", "branches", "branches at which a group of lanes split"),
    ("Uniform branches", "branch_uniform", "branches", "branches at which all lanes went one way"),
)
#: Counters worked out by a model of the hardware's banks rather than counted as issued.
_MODELLED = frozenset({"wavefronts", "wavefronts_ideal"})


def run_numbers(listing: Listing, result: RunResult) -> tuple[Number, ...]:
    """Counts and ratios of a run, tiles first.

    A run that was cut short has ``unknown`` whole-grid counts; its counts so far carry their scope.
    """
    totals = result.counts
    scope = "whole grid"
    why: str | None = None
    if not result.complete:
        stop = result.stopped.message if result.stopped else "the run was cut short"
        why = f"{stop}; counts so far cover {result.blocks_executed} of {result.launch.blocks} blocks"
    by_key: dict[str, Number] = {}
    for name, key, unit, rule in _COUNTS:
        evidence = "modelled" if key in _MODELLED else "executed"
        value = totals[key] if why is None else None
        by_key[key] = Number(name, value, unit, evidence, rule, scope, result.scaled is not None, why)
    lanes = derived(
        "Active lanes",
        None if why or not totals["warp_executed"] else totals["thread_executed"] / totals["warp_executed"],
        "lanes of 32",
        "thread instructions / warp instructions",
        (by_key["thread_executed"], by_key["warp_executed"]),
        why="no instruction was executed" if not totals["warp_executed"] else why,
    )
    sectors = ratio(
        "Sectors ÷ ideal",
        by_key["sectors"],
        by_key["sectors_ideal"],
        "x",
        "sectors / ideal sectors over all global and local requests",
        "no global or local request was made",
    )
    waves = ratio(
        "Wavefronts ÷ ideal",
        by_key["wavefronts"],
        by_key["wavefronts_ideal"],
        "x",
        "shared wavefronts / ideal wavefronts over all shared requests",
        "no shared-memory request was made",
    )
    tiles = (by_key["warp_executed"], lanes, sectors, waves)
    rest = tuple(n for n in by_key.values() if n is not by_key["warp_executed"])
    extra: tuple[Number, ...] = ()
    if why is not None:
        rule = "warp instructions issued before the run ended"
        partial = f"executed, {result.blocks_executed} of {result.launch.blocks} blocks"
        extra = (
            Number(
                "Warp instructions so far",
                totals["warp_executed"],
                "warp instructions",
                "executed",
                rule,
                partial,
            ),
        )
    live = [n for n in listing.live if n is not None]
    if live:
        label = "virtual registers" if listing.isa == "ptx" else "registers"
        rule = "liveness over the control-flow graph"
        extra += (Number("Live registers, highest", max(live), label, "static", rule, "kernel"),)
    return tiles + rest + extra

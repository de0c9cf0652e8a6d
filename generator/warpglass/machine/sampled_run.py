"""One run for a whole grid of which only a few blocks are executed, for any instruction set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from warpglass.machine.launch import Launch
from warpglass.machine.result import Finding, RunResult
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.sampled_memory import whole_footprint
from warpglass.machine.sampling import Sampled, sample_grid

__all__ = ["grid_run", "sampled_run"]

#: Sums of a whole grid that columns of 64 bits hold with room to spare.
MOST_COUNT = 1 << 60
#: How often instructions are taken to be executed on average before a single block is run to see.
EXPECTED_TRIPS = 64
#: Blocks from which on one of them may end within a budget that all together do not.
_MANY_BLOCKS = 8
#: Budgets that the sampling of one launch may take: each of its runs holds to one.
_MOST_SPENT = 8


def grid_run(
    launch: Launch,
    options: RunOptions,
    instructions: int,
    why_not: Callable[[], str | None],
    execute: Callable[[RunOptions], RunResult],
) -> RunResult:
    """One run of a whole grid, sampled where the budget does not suffice and sampling is proven right.

    ``instructions`` is the length of the code, ``why_not`` what forbids sampling in words, ``execute`` runs
    the blocks that the options name. Small code may loop for long: where its run is cut by the budget after
    all, it is sampled then.
    """
    likely = launch.blocks * launch.warps_per_block * instructions * EXPECTED_TRIPS
    if likely >= options.max_warp_instructions:
        return sampled_run(launch, options, why_not, execute) or execute(options)
    run = execute(options)
    # Blocks run side by side: none may have come to its end where the budget of all of them is used up.
    several = run.blocks_executed or launch.blocks >= _MANY_BLOCKS
    if run.stopped is not None and run.stopped.kind == "budget" and several:
        return sampled_run(launch, options, why_not, execute) or run
    return run


def sampled_run(
    launch: Launch,
    options: RunOptions,
    why_not: Callable[[], str | None],
    execute: Callable[[RunOptions], RunResult],
) -> RunResult | None:
    """The run of one block of each class, scaled; None where sampling is not needed or not allowed."""
    if not options.sample or options.only_blocks is not None:
        return None
    if launch.cluster != (1, 1, 1) or launch.cooperative or why_not() is not None:
        return None

    spent = 0

    @cache  # the first block is looked at before the sampling, which begins with it
    def block(linear: int) -> RunResult:
        nonlocal spent
        traced = tuple(b for b in options.trace_blocks if b == linear)
        alone = replace(_alone(options, (linear,)), trace_blocks=traced)
        run = execute(alone)
        spent += run.counts["warp_executed"]
        return run if spent <= _MOST_SPENT * options.max_warp_instructions else replace(run, complete=False)

    def alike(blocks: tuple[int, ...], first: RunResult) -> bool:
        """Whether all of some blocks do what ``first`` did, executed together."""
        nonlocal spent
        need = first.counts["warp_executed"] * len(blocks)
        spent += need
        if first.findings or spent > _MOST_SPENT * options.max_warp_instructions:
            return False
        run = execute(replace(_alone(options, blocks), compare=True, max_warp_instructions=need + 1))
        return (
            run.complete
            and bool(run.alike)
            and not run.findings
            and all(np.array_equal(run.counters[n], len(blocks) * c) for n, c in first.counters.items())
        )

    first = block(0)
    if first.counts["warp_executed"] * launch.blocks <= options.max_warp_instructions:
        return None
    if max(first.counts.values()) * launch.blocks >= MOST_COUNT:
        return None
    found = sample_grid(launch.grid, block, alike)
    if found is None:
        return None
    buffers = whole_footprint(found, launch, lambda blocks: execute(_alone(options, blocks)))
    scaled = _scaled(found, [block(b) for b in _others(found, launch, options)])
    return replace(scaled, buffers=buffers)


def _alone(options: RunOptions, blocks: tuple[int, ...]) -> RunOptions:
    return replace(options, only_blocks=blocks, trace_blocks=(), keep_buffers=False, sample=False)


def _others(found: Sampled, launch: Launch, options: RunOptions) -> list[int]:
    """Blocks whose steps were asked for and that stand for no class."""
    x, y, _ = launch.grid
    lows = {c.low[0] + x * (c.low[1] + y * c.low[2]) for c in found.classes}
    return [b for b in dict.fromkeys(options.trace_blocks) if b not in lows and 0 <= b < launch.blocks]


def _scaled(found: Sampled, traced: Sequence[RunResult]) -> RunResult:
    classes = [{"low": list(c.low), "high": list(c.high), "blocks": c.count} for c in found.classes]
    run = found.runs[0]
    traces = [t for r in (*found.runs, *traced) for t in r.traces]
    executed = found.executed + len(traced)
    return replace(
        run,
        complete=True,
        blocks_executed=executed,
        counters=found.counters(),
        active_histogram=found.histogram(),
        findings=_findings(found),
        traces=tuple(sorted(traces, key=lambda t: (t.block[2], t.block[1], t.block[0]))),
        assumptions=(
            *run.assumptions,
            "counts are scaled from one block of each class; the contents of buffers are not kept",
        ),
        scaled={"classes": classes, "executed": executed},
    )


def _findings(found: Sampled) -> tuple[Finding, ...]:
    """Each finding once, of its first class; its count is that of the whole grid."""
    held: dict[tuple[str, int | None, str], Finding] = {}
    for box, run in zip(found.classes, found.runs, strict=True):
        for finding in run.findings:
            key = (finding.kind, finding.pc, finding.category)
            before = held.get(key)
            count = finding.count * box.count
            held[key] = replace(before or finding, count=count + (before.count if before else 0))
    rank = {"critical": 0, "warning": 1, "info": 2}
    order = sorted(held.values(), key=lambda f: (rank[f.severity], -1 if f.pc is None else f.pc, f.kind))
    return tuple(order)

"""The decision matrix of a launch that a profiler measured: from throughputs, pipes and stalls as measured.

A launch is bound by compute or memory where the profiler's throughput of it reaches 60 % of the peak, the
line that the profiler's own rules draw; two throughputs within ten points are both the limit; below the
line on both it waits: latency. Ratios and shared memory are static, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from warpglass.analysis.decision import DecisionRow, both, decision_rows
from warpglass.analysis.measured_loops import MeasuredLoop
from warpglass.analysis.occupancy_view import OccupancyView
from warpglass.analysis.roofline import Roofline
from warpglass.gpu.rates import PRECISIONS
from warpglass.ncu import Launch

__all__ = ["BALANCED", "BUSY", "MEMORY", "SM", "decide_measured", "main_precision", "unit_shares",
           "waits", "warp_states"]  # fmt: skip

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
#: Per cent of peak from which a unit counts as the limit, and the points within which two are equal.
BUSY, BALANCED = 60.0, 10.0
_UNITS = (
    ("device memory", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L1 and shared memory", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
)
#: Pipes by what they execute. What is only part of another pipe's figure is left out.
_PIPES = ("alu", "fma", "fmaheavy", "fp16", "fp64", "tensor", "tensor_op_hmma", "tensor_op_imma",
          "tensor_op_dmma", "lsu", "xu", "uniform", "adu", "cbu", "tex")  # fmt: skip
_PIPE = re.compile(
    r"^sm__(?:inst_executed_)?pipe_(\w+?)(?:_cycles_active)?\.avg\.pct_of_peak_sustained_(?:active|elapsed)$"
)
_STALL = re.compile(r"^smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio$")


def unit_shares(launch: Launch) -> tuple[tuple[str, float], ...]:
    """(unit or pipe, per cent of its peak), busiest first; those that were collected and did something."""
    found = {label: value for label, name in _UNITS if (value := launch.number(name))}
    for name in launch.metrics:
        hit = _PIPE.match(name)
        value = launch.number(name) if hit is not None and hit[1] in _PIPES else None
        if hit is not None and value:
            label = f"pipe {hit[1].removeprefix('tensor_op_')}"
            found[label] = max(found.get(label, 0.0), value)
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def warp_states(launch: Launch) -> dict[str, float]:
    """Warps in each state by its name, an issued instruction; empty where they were not collected."""
    return {
        hit[1]: value
        for name in launch.metrics
        if (hit := _STALL.match(name)) is not None and (value := launch.number(name)) is not None
    }


def waits(launch: Launch) -> tuple[tuple[str, float], ...]:
    """(stall reason, its share of the warps' cycles), most first; those that issued are no wait."""
    found = warp_states(launch)
    total = sum(found.values())
    shares = {k: v / total for k, v in found.items() if total and k not in ("selected", "not_selected")}
    return tuple(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def main_precision(roof: Roofline, operations: Mapping[str, float] | None) -> str | None:
    """Precision of most operations: the counts of instructions know tensor ones, else the counters."""
    return max(operations, key=lambda key: operations[key]) if operations else roof.main


def decide_measured(
    launch: Launch,
    roof: Roofline,
    occupancy: OccupancyView | None,
    loops: Sequence[MeasuredLoop],
    operations: Mapping[str, float] | None,
    coded: bool,
) -> tuple[DecisionRow, ...]:
    """All rows; ``coded`` says whether the report brought machine code, without which loops are unknown."""
    sm, memory_share = launch.number(SM), launch.number(MEMORY)
    memory = compute = latency = None
    if sm is None or memory_share is None:
        busy = "throughputs not collected: --section SpeedOfLight would give them"
    else:
        memory = memory_share >= BUSY and memory_share > sm - BALANCED
        compute = sm >= BUSY and sm > memory_share - BALANCED
        latency = max(sm, memory_share) < BUSY
        busy = f"compute at {sm:.0f} % of peak, memory at {memory_share:.0f} % (measured)"
    hot = next((loop for loop in loops if loop.view.loads and loop.view.compute), None)
    ratio = hot.view.ratio if hot is not None else None
    low = None if hot is None or ratio is None else ratio < hot.view.high
    if hot is not None and ratio is not None:
        view = hot.view
        kind = "measured" if view.nest else "static"
        ratio_text = (
            f"{view.compute_name} to loads {ratio:.3g}:1 ({kind}; thresholds {view.low:.3g}:1 and "
            f"{view.high:.3g}:1)"
        )
    else:
        ratio_text = (
            "no loop with loads and arithmetic"
            if coded
            else "loops unknown: the report has no machine code that can be read"
        )
    shared_text, above = "shared memory unknown", None
    if occupancy is not None:
        ask = occupancy.ask
        above = "shared memory" in occupancy.found.limiters
        shared_text = (
            f"shared memory {ask.static_shared + ask.dynamic_shared:,} bytes a block, "
            f"{occupancy.found.blocks} blocks an SM (static)"
        )
    need = occupancy.sufficiency if occupancy is not None else None
    warps_text = (
        f"warps needed unknown: {'no loop with loads' if coded else 'no machine code that can be read'}"
        if need is None
        else f"{need.active} warps active, {need.needed} needed (modelled)"
    )
    main = main_precision(roof, operations)
    counted = main is not None or operations is not None
    tensor = main is not None and main.startswith("tensor_") if counted else None
    scalar = main is not None and not tensor if counted else None
    integer = main is not None and main.startswith("tensor_int") if counted else None
    named = PRECISIONS.get(main, main) if main is not None else "none" if counted else "not counted"
    pipe = next((f"{k} at {v:.0f} %" for k, v in unit_shares(launch) if k.startswith("pipe")), None)
    main_text = f"most arithmetic: {named}" + (f"; busiest: {pipe} of its peak (measured)" if pipe else "")
    stalled = waits(launch)
    wait_text = (
        f"{stalled[0][1]:.0%} of warp cycles wait for {stalled[0][0].replace('_', ' ')} (measured)"
        if stalled
        else "stall reasons not collected: --section WarpStateStats would give them"
    )
    enough = None if need is None else need.enough
    return decision_rows(
        (
            (
                both(memory, low, None if above is None else not above),
                f"{busy}; {ratio_text}; {shared_text}",
                "static",
            ),
            (
                both(memory, None if low is None else not low, enough),
                f"{busy}; {ratio_text}; {warps_text}",
                "modelled",
            ),
            (both(compute, scalar), f"{busy}; {main_text}", "measured"),
            (
                both(compute, None if tensor is None else tensor and not integer),
                f"{busy}; {main_text}",
                "measured",
            ),
            (both(compute, integer), f"{busy}; {main_text}", "measured"),
            (latency, f"{busy}; {wait_text}; {warps_text}", "measured"),
            (above, shared_text, "static"),
        )
    )

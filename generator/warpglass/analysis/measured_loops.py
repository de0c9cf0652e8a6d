"""Inner loops of a profiled launch: the report's own machine code, and the profiler's counts of it.

What stands in the code (ratios, fixed stalls) is static; executions, lanes, sectors and stall samples are
measured, ``inst_executed`` and its like by program counter. No execution of ours takes part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpglass import sass
from warpglass.analysis.latency import latencies
from warpglass.analysis.listing import Listing, ListingLoop
from warpglass.analysis.measured import Measurement, measured_gpu
from warpglass.analysis.occupancy_view import OccupancyView, sufficiency
from warpglass.analysis.operations import arithmetic, is_global_load
from warpglass.analysis.sass_loops import LoopSource, LoopView, loops_of
from warpglass.analysis.stalls import Tightening, tightenings

__all__ = [
    "L1_HITS",
    "L2_HITS",
    "MeasuredLoop",
    "ProfiledCode",
    "executed_operations",
    "hit_share",
    "measured_loops",
    "tight_stalls",
    "with_loops",
]

#: Hit rates of what loads ask for, best first; stores count into the last of each.
L1_HITS = ("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", "l1tex__t_sector_hit_rate.pct")
L2_HITS = ("lts__t_sector_op_read_hit_rate.pct", "lts__t_sector_hit_rate.pct")

Column = Sequence[float | int | None]


@dataclass(frozen=True, slots=True)
class ProfiledCode:
    """Machine code of a profiled launch. ``columns`` hold one entry an instruction, None where the profiler
    stored none: ``warp_executed``, ``thread_executed`` (lanes on), ``thread_active`` (lanes before the
    guard), ``branch_divergent``, ``samples``, ``stall_…`` by reason, ``sectors``, ``wavefronts`` and the
    ``…_ideal`` of both, as far as they were collected."""

    listing: Listing
    function: sass.Function
    own: frozenset[str]
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class MeasuredLoop:
    """``view`` is the loop as it stands in the code, its lanes and executions measured. ``instructions``,
    ``compute`` and ``loads`` are warp instructions executed in it by the whole grid, ``samples`` its warp
    samples and ``stalls`` those by reason, most first; ``sectors`` and ``ideal`` of its global accesses.
    None where the profiler did not collect it."""

    view: LoopView
    instructions: int | None
    compute: int | None
    loads: int | None
    sectors: int | None
    ideal: int | None
    samples: int | None
    share: float | None
    stalls: tuple[tuple[str, int], ...]

    @property
    def ratio(self) -> float | None:
        """Arithmetic executed a load executed, None without loads or counts."""
        return self.compute / self.loads if self.compute is not None and self.loads else None


def _sum(column: Column | None, pcs: Sequence[int]) -> int | None:
    """Sum over instructions of what was stored; None where nothing was."""
    kept = [value for pc in pcs if column is not None and (value := column[pc]) is not None]
    return round(sum(kept)) if kept else None


def _entries(listing: Listing, loop: ListingLoop, warps: Sequence[int]) -> int | None:
    """How often warps came to a loop from outside it, where the blocks before it lead nowhere else."""
    inside = set(loop.blocks)
    before = [b for i, b in enumerate(listing.blocks) if loop.header in b.successors and i not in inside]
    if not before or any(len(b.successors) != 1 or b.end <= b.start for b in before):
        return None
    return sum(warps[b.end - 1] for b in before)


def _counts(code: ProfiledCode) -> Mapping[str, Sequence[int]] | None:
    """Executions and lanes of every instruction, None unless both are known of every loop's instructions."""
    warps, lanes = code.columns.get("warp_executed"), code.columns.get("thread_executed")
    if warps is None or lanes is None:
        return None
    inside = {b for loop in code.listing.loops for b in loop.blocks}
    for b in inside:
        block = code.listing.blocks[b]
        if any(warps[pc] is None or lanes[pc] is None for pc in range(block.start, block.end)):
            return None
    return {
        "warp_executed": [round(value or 0) for value in warps],
        "thread_executed": [round(value or 0) for value in lanes],
    }


def measured_loops(m: Measurement, code: ProfiledCode) -> tuple[MeasuredLoop, ...]:
    """Innermost loops and nests that load for them, hottest first; none where the GPU is not known."""
    if m.arch is None:
        return ()
    listing, counts = code.listing, _counts(code)
    trips: list[float | None] = [None] * len(listing.loops)
    if counts is not None:
        warps = counts["warp_executed"]
        for index, loop in enumerate(listing.loops):
            entered = _entries(listing, loop, warps)
            trips[index] = warps[listing.blocks[loop.header].start] / entered if entered else None
    none: tuple[int | None, ...] = (None,) * len(listing.loops)
    views = loops_of(LoopSource(listing, m.arch, measured_gpu(m), code.own, counts, tuple(trips), none))
    whole = _sum(code.columns.get("samples"), range(len(listing.rows)))
    return tuple(_measured(code, view, whole) for view in views)


def _measured(code: ProfiledCode, view: LoopView, whole: int | None) -> MeasuredLoop:
    rows, columns = code.listing.rows, code.columns
    warps = columns.get("warp_executed")
    works = {pc: arithmetic(rows[pc], "sass") for pc in view.pcs}
    tensor = [pc for pc, work in works.items() if work is not None and work.warp]
    fused = [
        pc
        for pc, work in works.items()
        if work is not None
        and work.lane >= 2
        and (work.precision == "fp16") == (view.compute_name == "HFMA2")
    ]
    loads = [pc for pc in view.pcs if is_global_load(rows[pc], "sass")]
    reasons = {
        name.removeprefix("stall_"): found
        for name, column in columns.items()
        if name.startswith("stall_") and (found := _sum(column, view.pcs))
    }
    samples = _sum(columns.get("samples"), view.pcs)
    none = 0 if view.executions is not None else None
    return MeasuredLoop(
        view=view,
        instructions=_sum(warps, view.pcs),
        compute=_sum(warps, tensor or fused) if tensor or fused else none,
        loads=_sum(warps, loads) if loads else none,
        sectors=_sum(columns.get("sectors"), view.pcs),
        ideal=_sum(columns.get("sectors_ideal"), view.pcs),
        samples=samples,
        share=samples / whole if samples is not None and whole else None,
        stalls=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )


def executed_operations(code: ProfiledCode) -> Mapping[str, float] | None:
    """Operations by precision: lanes on x operations a lane, warp instructions x 2mnk of tensor ones.

    None where the profiler did not count every instruction that computes; empty where none does.
    """
    warps, lanes = code.columns.get("warp_executed"), code.columns.get("thread_executed")
    found: dict[str, float] = {}
    for pc, row in enumerate(code.listing.rows):
        work = arithmetic(row, "sass")
        if work is None:
            continue
        counted = None if warps is None or lanes is None else warps[pc] if work.warp else lanes[pc]
        if counted is None:
            return None
        found[work.precision] = found.get(work.precision, 0.0) + counted * (work.warp or work.lane)
    return {precision: count for precision, count in found.items() if count}


def tight_stalls(m: Measurement, code: ProfiledCode) -> tuple[Tightening, ...]:
    """Fixed stalls of the report's machine code that are longer than their readers need."""
    return tightenings(code.function, code.listing, m.arch) if m.arch is not None else ()


def hit_share(m: Measurement, names: Sequence[str]) -> float:
    """Share of hits, from the first of some metrics that was collected; 0 where none was."""
    found = (m.launch.number(name) for name in names)
    return min(1.0, max(0.0, next((value for value in found if value is not None), 0.0) / 100))


def with_loops(
    seen: OccupancyView | None, m: Measurement, loops: Sequence[MeasuredLoop]
) -> OccupancyView | None:
    """The occupancy with Little's law for the hottest loop that loads: its warps against those measured.

    A load's latency is the mean over where its sectors came from, by the hit rates of loads that the profiler
    measured; where it measured none all come from device memory. Active warps are the measured mean, else
    the theoretical ones.
    """
    hot = next((loop.view for loop in loops if loop.view.loads), None)
    if seen is None or m.arch is None or hot is None:
        return seen
    l1, l2 = hit_share(m, L1_HITS), hit_share(m, L2_HITS)
    latency = latencies(m.arch, 1 - l2, l1).loads
    measured = m.launch.number("sm__warps_active.avg.per_cycle_active")
    active = round(measured) if measured is not None else seen.found.warps
    return replace(seen, sufficiency=sufficiency(m.arch, measured_gpu(m), seen.found, hot, latency, active))

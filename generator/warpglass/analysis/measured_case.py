"""What the rules of advice look at, from a profiler's counts alone: nothing is executed.

The bottleneck model of a profiled launch is measured: each unit's share of its peak times the cycles that
the launch took. Below 60 % of every peak the whole time is latency, the line that the decision matrix draws.
What a warp spent its cycles on is the profiler's warp states: warps stalled for a reason, an issued
instruction (NVIDIA, Nsight Compute documentation, "Warp State Statistics"), times the instructions of a warp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from warpglass.analysis.access import AccessRow
from warpglass.analysis.advice_model import Case
from warpglass.analysis.latency import Chain
from warpglass.analysis.listing import Listing
from warpglass.analysis.measured import Measurement, device_bytes, measured_gpu, requested_bytes
from warpglass.analysis.measured_decision import BUSY, MEMORY, SM, unit_shares, warp_states
from warpglass.analysis.measured_loops import L1_HITS, L2_HITS, MeasuredLoop, ProfiledCode, hit_share
from warpglass.analysis.occupancy_view import OccupancyView
from warpglass.analysis.resources import L1_SECTORS, Model
from warpglass.analysis.roofline import Roofline
from warpglass.analysis.stalls import Tightening
from warpglass.analysis.subject import Subject
from warpglass.gpu import GpuModel
from warpglass.machine import launch as machine
from warpglass.machine.result import COUNTERS, RunResult
from warpglass.ncu import Launch

__all__ = ["elapsed_cycles", "measured_case", "measured_chain"]

I64 = npt.NDArray[np.int64]

#: Resource of the bottleneck model by the unit or pipe of the profiler's throughputs.
_RESOURCES: Mapping[str, str] = {
    "device memory": "dram",
    "L2": "l2",
    "pipe fma": "fp32",
    "pipe fmaheavy": "fp32",
    "pipe fp64": "fp64",
    "pipe fp16": "fp16",
    "pipe alu": "int",
    "pipe xu": "special",
    "pipe tensor": "tensor",
    "pipe hmma": "tensor",
    "pipe imma": "tensor",
    "pipe dmma": "tensor",
}
_ISSUE = (
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", 0.01),
    ("smsp__issue_active.avg.per_cycle_active", 1.0),
    ("sm__inst_issued.avg.pct_of_peak_sustained_active", 0.01),
)
_SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
_ATOMICS = "lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"
#: What a warp waits for, by the part of its chain; ``short_scoreboard`` is :func:`measured_chain`'s.
_PARTS: Mapping[str, str] = {
    "long_scoreboard": "memory",
    "lg_throttle": "memory",
    "mio_throttle": "memory",
    "tex_throttle": "memory",
    "drain": "memory",
    "imc_miss": "memory",
    "wait": "arithmetic",
    "math_pipe_throttle": "arithmetic",
    "gmma": "arithmetic",
    "barrier": "barrier",
    "membar": "barrier",
}


def elapsed_cycles(m: Measurement) -> float | None:
    """Cycles of an SM from the launch's start to its end, by a clock and the time where the report does not
    count them; None without either. A table's clock is the boost clock."""
    launch = m.launch
    for name in ("sm__cycles_elapsed.max", "sm__cycles_elapsed.avg", "smsp__cycles_elapsed.avg",
                 "gpc__cycles_elapsed.max", "sm__cycles_active.avg"):  # fmt: skip
        found = launch.number(name)
        if found is not None and found > 0:
            return found
    clock = launch.number("sm__cycles_elapsed.avg.per_second")
    if clock is None and m.gpu is not None and m.gpu.boost_mhz:
        clock = m.gpu.boost_mhz * 1e6
    return clock * m.time_ms / 1e3 if clock and m.time_ms else None


def _busy(
    m: Measurement, cycles: float, rows: Sequence[AccessRow], sms: int
) -> tuple[dict[str, float], float]:
    """(busy cycles of an SM by resource, the largest share of a peak)."""
    launch = m.launch
    shares: dict[str, float] = {}
    units = dict(unit_shares(launch))
    for label, percent in units.items():
        name = _RESOURCES.get(label)
        if name is not None:
            shares[name] = max(shares.get(name, 0.0), percent / 100)
    for name, scale in _ISSUE:
        value = launch.number(name)
        if value is not None:
            shares["issue"] = value * scale
            break
    for resource, metric in (("shared", _SHARED), ("atomics", _ATOMICS)):
        value = launch.number(metric)
        if value:
            shares[resource] = value / 100
    found = {name: share * cycles for name, share in shares.items() if share > 0}
    # Throughputs of the L1 are those of global and shared memory together: requests tell them apart.
    waves = sum(row.wavefronts or 0 for row in rows)
    if waves and "shared" not in found:
        found["shared"] = min(waves / sms, cycles)
    requests = sum(max(row.requests, row.sectors / L1_SECTORS) for row in rows if row.sectors)
    issued = units.get("pipe lsu", 0.0) / 100
    if requests:
        found["l1"] = min(requests / sms, cycles)
    elif issued and not rows:  # instructions of all its memories: nobody tells them apart
        found["lsu"] = issued * cycles
    told = [launch.number(name) for name in (SM, MEMORY)]
    if None not in told:  # what the verdict and the decision matrix go by
        return found, max(value or 0.0 for value in told) / 100
    l1 = units.get("L1 and shared memory", 0.0) / 100
    return found, max([l1, *(value / cycles for value in found.values())], default=0.0)


def _gpu(m: Measurement) -> GpuModel | None:
    """The model of the tables, which knows tensor rates, with the SMs that were there; else the report's."""
    sms = m.launch.number("device__attribute_multiprocessor_count")
    return replace(m.gpu, sm_count=int(sms)) if m.gpu is not None and sms else measured_gpu(m)


def measured_chain(m: Measurement, shared: bool) -> Chain | None:
    """Cycles of a mean warp by what it spent them on, None where warp states were not collected.

    ``shared`` says whether the kernel accesses shared memory, whose results the short scoreboard waits for;
    without any it waits for special functions and conversions. Worked example: 8 warps stalled for the long
    scoreboard and 1 selected an issue, 100 instructions a warp: 900 cycles, of which memory 800.
    """
    states = warp_states(m.launch)
    instructions = m.launch.number("smsp__inst_executed.sum")
    grid, block = m.launch.grid, m.launch.block
    warps = grid[0] * grid[1] * grid[2] * -(-block[0] * block[1] * block[2] // 32)
    if not states or not instructions or warps < 1:
        return None
    parts = dict.fromkeys(("memory", "arithmetic", "barrier", "issue"), 0.0)
    for reason, each in states.items():
        part = _PARTS.get(reason, "issue")
        if reason == "short_scoreboard":
            part = "memory" if shared else "arithmetic"
        parts[part] += each * instructions / warps
    total = sum(parts.values())
    return Chain(total, parts, round(instructions / warps), None) if total else None


def _column(code: ProfiledCode | None, name: str) -> I64:
    """A column of counts; what the profiler stored nothing for was not executed."""
    column = code.columns.get(name) if code is not None else None
    size = len(code.listing.rows) if code is not None else 0
    if column is None:
        return np.zeros(size, dtype=np.int64)
    return np.array([round(value or 0) for value in column], dtype=np.int64)


def _counters(code: ProfiledCode | None) -> dict[str, I64]:
    size = len(code.listing.rows) if code is not None else 0
    counters = {name: np.zeros(size, dtype=np.int64) for name in COUNTERS}
    for name in ("warp_executed", "thread_executed", "sectors", "sectors_ideal", "wavefronts"):
        counters[name] = _column(code, name)
    counters["wavefronts_ideal"] = _column(code, "wavefronts_ideal")
    known = code is not None and "thread_active" in code.columns
    counters["thread_active"] = _column(code, "thread_active" if known else "thread_executed")
    counters["warp_on"] = np.where(counters["thread_executed"] > 0, counters["warp_executed"], 0)
    split = np.minimum(_column(code, "branch_divergent"), counters["warp_executed"])
    counters["branch_divergent"] = split
    if code is not None:
        branch = np.array([row.kind == "branch" for row in code.listing.rows], dtype=bool)
        counters["branch_uniform"] = np.where(branch, counters["warp_executed"] - split, 0)
        memory = np.array([row.operation is not None for row in code.listing.rows], dtype=bool)
        counters["requests"] = np.where(memory, counters["warp_on"], 0)
    return counters


def _rows(listing: Listing, c: Mapping[str, I64]) -> tuple[AccessRow, ...]:
    """Memory instructions as the profiler counted them: no addresses, thus no samples."""
    rows = []
    for pc, row in enumerate(listing.rows):
        requests = int(c["requests"][pc])
        if row.operation is None or not requests:
            continue
        lanes = int(c["thread_executed"][pc])
        waves, sectors = int(c["wavefronts"][pc]), int(c["sectors"][pc])
        ideal, few = int(c["sectors_ideal"][pc]), int(c["wavefronts_ideal"][pc])
        rows.append(
            AccessRow(
                pc=pc,
                operation=row.operation,
                space=row.space or "generic",
                width=row.width,
                requests=requests,
                sectors=sectors or None,
                sectors_ideal=ideal if sectors else None,
                wavefronts=waves or None,
                wavefronts_ideal=few if waves else None,
                conflicts=max(0, waves - few) if waves else None,
                lanes=lanes / requests,
                broadcasts=0,
                bytes=lanes * (row.width or 0),
                bytes_distinct=32 * ideal,
                atomic_addresses=None,
                samples=(),
            )
        )
    return tuple(rows)


def _launched(launch: Launch) -> machine.Launch:
    shared = launch.number("launch__shared_mem_per_block_dynamic")
    return machine.Launch(
        grid=launch.grid,
        block=launch.block,
        shared_bytes=int(shared or 0),
        origin=dict.fromkeys(("grid", "block", "cluster", "shared_bytes"), "profiler report"),
    )


def _subject(m: Measurement, code: ProfiledCode | None, gpu: GpuModel | None, c: dict[str, I64]) -> Subject:
    launch, listing = m.launch, code.listing if code is not None else Listing("sass", m.launch.function, ())
    made = _launched(launch)
    result = RunResult(
        isa="sass", kernel=launch.function, launch=made, complete=True, stopped=None,
        blocks_executed=made.blocks, counters=c, samples=(), findings=(), buffers=(), traces=(), printed=(),
        assumptions=(), active_histogram=np.zeros((len(listing.rows), 33), dtype=np.int64),
    )  # fmt: skip
    registers = launch.number("launch__registers_per_thread")
    static = launch.number("launch__shared_mem_per_block_static")
    facts = {} if registers is None else {"registers": int(registers)}
    if static is not None:
        facts["static_shared"] = int(static)
    assert m.arch is not None
    subject = Subject(
        kernel=launch.mangled or launch.function,
        arch=m.arch,
        gpu=gpu,
        launch=made,
        listing=listing,
        result=result,
        facts=facts,
        time_ms=m.time_ms,
        time_origin=m.time_origin,
        problem=m.problem,
        expected=m.expected,
        half_pointers=any(word in launch.name for word in ("__half", "half2", "bfloat16")),
    )
    if code is None:
        return subject
    return replace(subject, function=code.function, sass_listing=listing, own=code.own)


def measured_case(
    m: Measurement,
    code: ProfiledCode | None,
    roof: Roofline,
    loops: Sequence[MeasuredLoop],
    occupancy: OccupancyView | None,
    tight: Sequence[Tightening],
) -> Case | None:
    """The case of a profiled launch; ``code`` is None where the report brought no code that can be read.

    None where the report does not tell the GPU, no block was launched, or a grid that fills the GPU has no
    throughput.
    """
    cycles = elapsed_cycles(m)
    if m.arch is None or min(*m.launch.grid, *m.launch.block) < 1:
        return None
    counters = _counters(code)
    subject = _subject(m, code, _gpu(m), counters)
    rows, sms = _rows(subject.listing, counters), subject.sms
    busy, top = _busy(m, cycles, rows, sms) if cycles is not None else ({}, 0.0)
    if not busy:
        if subject.launch.blocks >= sms:
            return None  # what such a grid is bound by, nobody measured; a smaller one leaves SMs idle
        cycles = cycles or 1.0  # of no known time only shares are formed
    if top < BUSY / 100 and cycles is not None:
        busy["latency"] = cycles
    resident = max(1, occupancy.found.blocks) if occupancy is not None else 1
    blocks = subject.launch.blocks
    sectors = 32.0 * sum(row.sectors or 0 for row in rows) or requested_bytes(m.launch) or 0.0
    moved = device_bytes(m.launch) or 0.0
    model = Model(
        cycles=busy,
        chain=measured_chain(m, any(row.space == "shared" for row in rows)),
        rounds=-(-blocks // (sms * resident)),
        resident=resident,
        imbalance=-(-blocks // sms) * sms / blocks,
        dram_bytes=moved,
        sector_bytes=sectors,
        l1_hits=hit_share(m, L1_HITS),
        dram_share=1 - hit_share(m, L2_HITS),
    )
    return Case(
        subject, model, roof, rows, tuple(loop.view for loop in loops), occupancy, tuple(tight),
        counted="measured", read_bytes=m.launch.number("dram__bytes_read.sum"),
    )  # fmt: skip

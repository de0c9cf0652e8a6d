"""Roofline and occupancy of a launch that a profiler measured: no execution is needed.

Operations are those of the profiler's own counters ``smsp__sass_thread_inst_executed_op_*``, an FMA counting
two (Yang, Kurth, Williams, "Hierarchical Roofline Analysis for GPUs", arXiv:2009.02449, section II). Where
the tensor pipe worked no counter read here tells its operations: the sum is unknown then, never too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.analysis.number import Number, derived, ratio
from warpglass.analysis.occupancy import Resources
from warpglass.analysis.occupancy_view import OccupancyView, view_of
from warpglass.analysis.problem import Problem
from warpglass.analysis.roofline import Roofline, timed
from warpglass.gpu import Arch, GpuModel
from warpglass.gpu.rates import PRECISIONS, Peak, peaks
from warpglass.ncu import Launch

__all__ = [
    "Measurement",
    "SECONDS",
    "device_bytes",
    "measured_gpu",
    "measured_occupancy",
    "measured_roofline",
    "measured_time",
    "requested_bytes",
]

#: Seconds of the units that profilers print times in.
SECONDS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1.0,
           "second": 1.0}  # fmt: skip
_OP = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
#: Counters of a precision: (name, operations each).
_COUNTED = {
    "fp32": (("fadd", 1), ("fmul", 1), ("ffma", 2)),
    "fp64": (("dadd", 1), ("dmul", 1), ("dfma", 2)),
    "fp16": (("hadd", 1), ("hmul", 1), ("hfma", 2)),
}
_TENSOR_BUSY = (
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.sum",
)
_WANTED = (
    "the report has no smsp__sass_thread_inst_executed_op_*_pred_on.sum; --set full, or the section "
    "SpeedOfLight_RooflineChart, would give them"
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A profiled launch with what the user said about it. ``arch`` and ``gpu`` are None where unknown."""

    launch: Launch
    arch: Arch | None
    gpu: GpuModel | None
    time_ms: float | None
    time_origin: str
    problem: Problem | None = None
    expected: float | None = None


def measured_time(launch: Launch) -> float | None:
    """The profiler's duration in milliseconds, or None."""
    metric = launch.metrics.get("gpu__time_duration.sum")
    if metric is None or metric.number is None:
        return None
    scale = SECONDS.get((metric.unit or "ns").strip().lower())
    return metric.number * scale * 1e3 if scale is not None and metric.number > 0 else None


def _sum(launch: Launch, name: str) -> float | None:
    """A counter's sum, from its rate a cycle where only that was collected."""
    found = launch.number(name)
    if found is not None:
        return found
    rate, cycles = launch.number(f"{name}.per_cycle_elapsed"), launch.number("smsp__cycles_elapsed.avg")
    if cycles is None:
        hertz, time = launch.number("smsp__cycles_elapsed.avg.per_second"), measured_time(launch)
        cycles = hertz * time / 1e3 if hertz is not None and time is not None else None
    return rate * cycles if rate is not None and cycles is not None else None


def _operations(launch: Launch) -> dict[str, float]:
    """Operations by precision, those whose counters are all there."""
    found = {}
    for precision, parts in _COUNTED.items():
        counts = [(_sum(launch, _OP.format(name)), each) for name, each in parts]
        if all(count is not None for count, _ in counts):
            found[precision] = float(round(sum((count or 0) * each for count, each in counts)))
    return found


def _tensor(launch: Launch) -> bool:
    """Whether tensor instructions were executed; their own counters say it better than the pipe's cycles."""
    counted = [name for name in launch.metrics if name.startswith("sm__inst_executed_pipe_tensor_op_")]
    return any((launch.number(name) or 0) > 0 for name in counted or _TENSOR_BUSY)


def device_bytes(launch: Launch) -> float | None:
    """Bytes that device memory read and wrote, None where nobody counted them."""
    read, written = launch.number("dram__bytes_read.sum"), launch.number("dram__bytes_write.sum")
    if read is not None and written is not None:
        return read + written
    whole = launch.number("dram__bytes.sum")
    if whole is not None:
        return whole
    rate, time = launch.number("dram__bytes.sum.per_second"), measured_time(launch)
    return rate * time / 1e3 if rate is not None and time is not None else None


def requested_bytes(launch: Launch) -> float | None:
    """Bytes that went through the L2, None where nobody counted them."""
    sectors = launch.number("lts__t_sectors.sum")
    return launch.number("lts__t_bytes.sum") if sectors is None else 32 * sectors


def _own_roofs(launch: Launch) -> tuple[tuple[Peak, ...], float | None]:
    """Peaks and bandwidth (GB/s) at the clocks that the profiler ran with, as far as the report tells."""
    clock = launch.number("sm__cycles_elapsed.avg.per_second") or launch.number(
        "smsp__cycles_elapsed.avg.per_second"
    )
    found = []
    for precision, name in (("fp64", "dfma"), ("fp32", "ffma")):
        rate = launch.number(f"sm__sass_thread_inst_executed_op_{name}_pred_on.sum.peak_sustained")
        if rate and clock:
            source = "the report: peak_sustained at the measured clock"
            found.append(Peak(precision, PRECISIONS[precision], 2 * rate * clock / 1e12, source))
    width, memory = (
        launch.number("dram__bytes.sum.peak_sustained"),
        launch.number("dram__cycles_elapsed.avg.per_second"),
    )
    return tuple(found), width * memory / 1e9 if width and memory else None


def measured_gpu(m: Measurement) -> GpuModel | None:
    """SMs, clock and bandwidth as the profiler saw them, else those of the tables, None where neither is."""
    sms = m.launch.number("device__attribute_multiprocessor_count")
    clock = m.launch.number("sm__cycles_elapsed.avg.per_second")
    _, bandwidth = _own_roofs(m.launch)
    if m.arch is None or not sms or (m.gpu is not None and not (clock and bandwidth)):
        return m.gpu
    name = m.launch.get("device__attribute_display_name")
    return GpuModel(
        name=str(name) if name else "the GPU",
        compute_capability=m.arch.compute_capability,
        sm_count=int(sms),
        boost_mhz=clock / 1e6 if clock else None,
        dram_gbs=bandwidth,
        source="the report, at the measured clocks",
    )


def measured_roofline(m: Measurement, counted: Mapping[str, float] | None = None) -> Roofline:
    """The roofline of measured counters; what they do not tell is unknown with the reason.

    ``counted`` are operations by precision from the profiler's executions of each instruction, None where
    it has none: they know tensor instructions, and whether there are any.
    """
    launch, rule = m.launch, "smsp__sass_thread_inst_executed_op_*: add + mul + 2 fma"
    ops = _operations(launch)
    if counted is not None:
        tensor = {key: value for key, value in counted.items() if key.startswith("tensor_")}
        if tensor or not ops:
            rule = "inst_executed of each instruction x its operations, a tensor instruction 2mnk"
        ops = {**(ops or counted), **tensor}
    by = {
        key: Number(f"{PRECISIONS[key]} operations", value, "FLOP", "measured", rule)
        for key, value in ops.items()
        if value
    }
    busy = _tensor(launch) and counted is None
    why = None if ops or counted is not None else _WANTED
    if busy and ops:
        why = "the tensor cores worked, and no counter says how many operations those were; --problem would"
    total = Number(
        "Operations", None if why else sum(ops.values()), "FLOP", "measured", rule, why_unknown=why
    )
    if m.problem is not None and m.problem.flops is not None:
        total = Number(
            "Operations",
            m.problem.flops,
            "FLOP",
            "static",
            f"{m.problem.text}: {m.problem.rule}",
            "problem",
        )
    moved = device_bytes(launch)
    device = Number(
        "Device-memory bytes", moved, "bytes", "measured", "dram__bytes_read.sum + dram__bytes_write.sum",
        why_unknown=None if moved is not None else "the report has no dram__bytes; --set full would give it",
    )  # fmt: skip
    asked = requested_bytes(launch)
    requested = Number(
        "Bytes through the L2", asked, "bytes", "measured", "lts__t_sectors.sum x 32",
        why_unknown=None if asked is not None else "the report has no lts__t_sectors.sum",
    )  # fmt: skip
    again = max(0.0, (asked or 0) - (moved or 0))
    reread = derived("Bytes served by the L2", again, "bytes", "L2 - device memory", (requested, device))
    intensity = ratio(
        "Arithmetic intensity", total, device, "FLOP a byte", "operations / device-memory bytes",
        "device memory was not touched",
    )  # fmt: skip
    roofs, bandwidth = _own_roofs(launch)
    if m.gpu is not None and m.arch is not None and (not roofs or bandwidth is None):
        roofs, bandwidth = peaks(m.arch, m.gpu), m.gpu.dram_gbs
    if counted is not None and m.gpu is not None and m.arch is not None:
        known = {r.precision for r in roofs}
        roofs += tuple(p for p in peaks(m.arch, m.gpu) if p.precision in ops and p.precision not in known)
    balances = {r.precision: r.tflops * 1e3 / bandwidth for r in roofs} if bandwidth else {}
    main = max(ops, key=lambda key: ops[key]) if any(ops.values()) and not busy else None
    peak = next((r for r in roofs if r.precision == main), None)
    bound = "unknown"
    if main in balances and intensity.value is not None and main is not None:
        bound = "compute" if intensity.value >= balances[main] else "memory"
    achieved, effective, attained = timed(m, total, device, peak, bandwidth)
    return Roofline(
        by, total, main, device, requested, reread, intensity, roofs, balances, peak, bandwidth, bound,
        achieved, effective, attained,
    )  # fmt: skip


def measured_occupancy(m: Measurement) -> OccupancyView | None:
    """Occupancy of the measured launch, or None where the report does not tell its resources."""
    registers = m.launch.number("launch__registers_per_thread")
    threads = 1
    for extent in m.launch.block:
        threads *= extent
    if m.arch is None or registers is None or not 1 <= threads <= 1024:
        return None
    ask = Resources(
        threads=threads,
        registers=int(registers),
        static_shared=int(m.launch.number("launch__shared_mem_per_block_static") or 0),
        dynamic_shared=int(m.launch.number("launch__shared_mem_per_block_dynamic") or 0),
        barriers=1,
    )
    blocks = 1
    for extent in m.launch.grid:
        blocks *= extent
    sms = m.launch.number("device__attribute_multiprocessor_count")
    return view_of(m.arch, ask, blocks, int(sms) if sms else None)

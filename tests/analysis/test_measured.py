"""Roofline and occupancy from a profiler's counters alone, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpglass import gpu, ncu
from warpglass.analyse import PROFILED, measurement_of
from warpglass.analysis.measured import measured_occupancy, measured_roofline, measured_time
from warpglass.options import ReportOptions

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"
needs_reports = pytest.mark.skipif(not REPORTS.is_dir(), reason="the profiler reports are not here")


def launch(**metrics: float) -> ncu.Launch:
    """A launch of 216 blocks of 256 threads with some metrics, as an export in rows has it."""
    lines = ['"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"']
    for name, value in metrics.items():
        unit = "nsecond" if "duration" in name else "byte" if "bytes" in name else "inst"
        lines.append(f'"0","k","(256, 1, 1)","(216, 1, 1)","{name.replace("___", ".")}","{unit}","{value}"')
    return ncu.parse(("\n".join(lines) + "\n").encode(), "some.csv").launches[0]


OPS = {
    f"smsp__sass_thread_inst_executed_op_{name}_pred_on___sum": value
    for name, value in (("fadd", 1000), ("fmul", 500), ("ffma", 2000), ("dadd", 0), ("dmul", 0), ("dfma", 0))
}
BYTES = {"dram__bytes_read___sum": 4000, "dram__bytes_write___sum": 1000, "lts__t_sectors___sum": 500}
TIME = {"gpu__time_duration___sum": 2000}


def test_operations_and_bytes_of_the_counters() -> None:
    """1000 + 500 + 2 x 2000 operations over 5000 bytes, in 2 microseconds."""
    found = measured_roofline(measurement_of(launch(**OPS, **BYTES, **TIME), "sm_80", ReportOptions()))
    assert (found.total.value, found.total.evidence) == (5500, "measured")
    assert found.unique.value == 5000
    assert found.reread.value == 500 * 32 - 5000
    assert found.intensity.value == pytest.approx(1.1)
    assert found.achieved.value == pytest.approx(2.75)
    assert found.achieved_bytes.value == pytest.approx(2.5)
    assert found.main == "fp32"


def test_what_was_not_collected_is_unknown() -> None:
    found = measured_roofline(measurement_of(launch(**TIME), "sm_80", ReportOptions()))
    assert found.total.value is None
    assert "--set full" in (found.total.why_unknown or "")
    assert found.unique.value is None
    assert found.achieved.value is None
    some = {name: value for name, value in OPS.items() if "fmul" not in name}
    part = measured_roofline(measurement_of(launch(**some, **TIME), "sm_80", ReportOptions()))
    assert "fp32" not in part.ops  # a part of the sum would pass for the whole


def test_tensor_instructions_make_the_sum_unknown() -> None:
    busy = {"sm__inst_executed_pipe_tensor_op_hmma___sum": 5}
    found = measured_roofline(measurement_of(launch(**OPS, **busy, **TIME), "sm_80", ReportOptions()))
    assert found.total.value is None
    assert found.ops["fp32"].value == 5500
    given = ReportOptions(problem="gemm:10,10,10")
    assert measured_roofline(measurement_of(launch(**busy, **TIME), "sm_80", given)).total.value == 2000


def test_the_time_of_the_user_wins() -> None:
    one = launch(**TIME)
    assert measured_time(one) == pytest.approx(0.002)
    profiled = measurement_of(one, "sm_80", ReportOptions())
    assert (profiled.time_ms, profiled.time_origin) == (pytest.approx(0.002), PROFILED)
    given = measurement_of(one, "sm_80", ReportOptions(time_ms=5.0))
    assert (given.time_ms, given.time_origin) == (5.0, "--time-ms")


def test_occupancy_of_a_measured_launch() -> None:
    """Case occ-pmpp-exercise (c): 256 threads with 34 registers are six blocks, 75 %."""
    one = launch(launch__registers_per_thread=34, device__attribute_multiprocessor_count=108)
    seen = measured_occupancy(measurement_of(one, "sm_80", ReportOptions()))
    assert seen is not None
    assert (seen.found.blocks, seen.found.limiters) == (6, ("registers",))
    assert seen.waves is not None
    assert seen.waves.blocks == 216
    assert measured_occupancy(measurement_of(launch(**TIME), "sm_80", ReportOptions())) is None


@needs_reports
def test_a_report_agrees_with_the_profilers_own_rules() -> None:
    """Its rule counts 196,608 fused and 163,840 other FP32 instructions of a warp: (2 x 196608 + 163840) x 32
    operations; its throughput of the memory is 92 % of the peak."""
    name = "adamw-sm86-2024.3.ncu-rep"
    one = ncu.parse((REPORTS / name).read_bytes(), name).launches[0]
    found = measured_roofline(measurement_of(one, "sm_86", ReportOptions()))
    assert found.total.value == (2 * 196_608 + 163_840) * 32
    assert found.attained.value == pytest.approx(92.2, abs=0.5)
    assert found.bandwidth == pytest.approx(64 * 6789.4 / 1e3, rel=1e-3)
    assert gpu.find_arch("sm_86") is not None


@needs_reports
@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.ncu-rep")), ids=lambda p: p.name)
def test_every_report_gives_a_time_and_an_occupancy(path: Path) -> None:
    report = ncu.parse(path.read_bytes(), path.name)
    one = report.launches[0]
    found = measurement_of(one, "sm_80", ReportOptions())
    assert found.time_ms is not None
    assert measured_occupancy(found) is not None
    for number in measured_roofline(found).ops.values():
        assert (number.value or 0) > 0

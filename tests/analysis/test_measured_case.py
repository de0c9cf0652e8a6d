"""Advice for profiled launches: counts laid on a listing by hand, each fault with its repaired twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.profiled import measured, tiled
from warpglass.analysis.advice import advise
from warpglass.analysis.advice_model import Advice
from warpglass.analysis.listing import ListingRow
from warpglass.analysis.measured import Measurement, measured_occupancy, measured_roofline
from warpglass.analysis.measured_case import elapsed_cycles, measured_case, measured_chain
from warpglass.analysis.measured_decision import MEMORY, SM
from warpglass.analysis.measured_loops import (
    ProfiledCode,
    executed_operations,
    measured_loops,
    tight_stalls,
    with_loops,
)
from warpglass.api import make_report
from warpglass.options import ReportOptions
from warpglass.report.analysis_markdown import analysis_markdown
from warpglass.report.words import no_advice

REPORTS = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"
needs_reports = pytest.mark.skipif(not REPORTS.is_dir(), reason="the profiler reports are not here")

STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active___ratio"
BASIS = {
    "sm__cycles_elapsed___max": 100_000.0,
    "device__attribute_multiprocessor_count": 108,
    "launch__registers_per_thread": 32,
    "smsp__inst_executed___sum": 216 * 8 * 500,
}


def shares(compute: float, memory: float, **more: float) -> dict[str, float]:
    return {SM.replace(".", "___"): compute, MEMORY.replace(".", "___"): memory, **BASIS, **more}


def advice(m: Measurement, code: ProfiledCode | None) -> tuple[Advice, ...]:
    loops = measured_loops(m, code) if code is not None else ()
    operations = executed_operations(code) if code is not None else None
    roof = measured_roofline(m, operations)
    seen = with_loops(measured_occupancy(m), m, loops)
    tight = tight_stalls(m, code) if code is not None else ()
    case = measured_case(m, code, roof, loops, seen, tight)
    return advise(case) if case is not None else ()


def laid(code: ProfiledCode, **columns: Callable[[ListingRow], int | None]) -> ProfiledCode:
    """The code with further columns, each a function of the instruction, times its executions."""
    pairs = list(zip(code.listing.rows, code.columns["warp_executed"], strict=True))
    made = {
        name: [None if (each := value(row)) is None else each * int(times or 0) for row, times in pairs]
        for name, value in columns.items()
    }
    return replace(code, columns={**code.columns, **made})


def on(space: str, each: int) -> Callable[[ListingRow], int | None]:
    return lambda row: each if row.space == space and row.operation else None


def names(found: tuple[Advice, ...]) -> list[str]:
    return [one.id for one in found]


def test_uncoalesced_loads_of_a_profiled_launch() -> None:
    """16 lanes of 4 bytes ask for 2 sectors and touch 16: the foremost advice, with the profiler's counts."""
    m = measured(**shares(20, 85, lts__throughput___avg___pct_of_peak_sustained_elapsed=85))
    code = tiled()
    bad = laid(code, sectors=on("global", 16), sectors_ideal=on("global", 2))
    first = advice(m, bad)[0]
    assert (first.id, first.evidence) == ("coalescing", "measured")
    assert "touches 16 sectors a request where 2 would do, with 14 more like it" in first.text
    row = bad.listing.rows[first.pcs[0]]
    assert (row.space, row.operation is not None) == ("global", True)
    # An eighth of the sectors is left; the L2 is busiest before and after.
    assert first.gain[1] == pytest.approx(8, rel=0.05)
    good = laid(code, sectors=on("global", 2), sectors_ideal=on("global", 2))
    assert "coalescing" not in names(advice(m, good))


def test_bank_conflicts_of_a_profiled_launch_say_that_addresses_are_missing() -> None:
    busy = {"l1tex__data_pipe_lsu_wavefronts_mem_shared___sum___pct_of_peak_sustained_elapsed": 90.0}
    m = measured(**shares(30, 90, **busy))
    bad = laid(tiled(), wavefronts=on("shared", 8), wavefronts_ideal=on("shared", 1))
    first = advice(m, bad)[0]
    assert first.id == "padding"
    assert "a profiler does not keep" in first.text
    assert "No padding up to 64" not in first.text  # nobody tried one
    good = laid(tiled(), wavefronts=on("shared", 1), wavefronts_ideal=on("shared", 1))
    assert "padding" not in names(advice(m, good))


def test_divergence_of_a_profiled_launch() -> None:
    """Half of the lanes on, and branches that always split."""
    m = measured(**shares(70, 20, sm__pipe_alu_cycles_active___avg___pct_of_peak_sustained_active=70))
    split = laid(tiled(), branch_divergent=lambda row: 1 if row.kind == "branch" else None)
    found = next(one for one in advice(m, split) if one.id == "divergence")
    assert "16 of 32 lanes" in found.text
    assert found.gain == (pytest.approx(2), pytest.approx(2))
    whole = laid(tiled(), branch_divergent=lambda row: 0 if row.kind == "branch" else None)
    assert "divergence" not in names(advice(m, whole))


def test_atomics_that_keep_the_l2_busy() -> None:
    code = tiled()
    store = next(i for i, r in enumerate(code.listing.rows) if r.operation == "store" and r.space == "global")
    rows = list(code.listing.rows)
    rows[store] = replace(rows[store], operation="atomic", kind="atomic")
    code = replace(code, listing=replace(code.listing, rows=tuple(rows)))
    busy = {"lts__d_atomic_input_cycles_active___avg___pct_of_peak_sustained_elapsed": 95.0}
    m = measured(**shares(5, 95, **busy))
    found = next(one for one in advice(m, code) if one.id == "atomics")
    assert "95,000 cycles" in found.text
    idle = measured(**shares(5, 95, lts__throughput___avg___pct_of_peak_sustained_elapsed=95))
    assert "atomics" not in names(advice(idle, code))


def test_a_small_grid_needs_no_code_and_no_throughput() -> None:
    """One block of 8 warps for 108 SMs: its warps spread over eight of them at best."""
    m = measured("sm_80", device__attribute_multiprocessor_count=108, launch__registers_per_thread=32)
    one = replace(m, launch=replace(m.launch, grid=(1, 1, 1)))
    (found,) = advice(one, None)
    assert (found.id, found.evidence) == ("launch-too-small", "static")
    assert "107 stay idle" in found.text
    assert found.gain == (pytest.approx(8), pytest.approx(8))
    assert advice(m, None) == ()  # 216 blocks, and nobody measured what they wait for


def test_a_busy_load_store_pipe_without_counts_by_instruction() -> None:
    """98 % of the load/store pipe's peak and 10 % of FMA's: a quarter of the loads would be 24.5 %."""
    pipes = {
        "sm__inst_executed_pipe_lsu___avg___pct_of_peak_sustained_active": 98.0,
        "sm__pipe_fma_cycles_active___avg___pct_of_peak_sustained_active": 10.0,
    }
    (found,) = advice(measured(**shares(98, 98, **pipes)), None)
    assert found.id == "larger-tile"
    assert "works 10% of its time" in found.text
    assert found.gain == (pytest.approx(108 / 34.5), pytest.approx(4))
    pipes["sm__pipe_fma_cycles_active___avg___pct_of_peak_sustained_active"] = 60.0
    assert advice(measured(**shares(98, 98, **pipes)), None) == ()


def test_no_advice_says_what_the_report_lacks() -> None:
    """An empty list is an answer only where the rules could look."""
    launch: dict[str, Any] = {"runs": [], "measured": {"code": None}}
    assert "most rules look at machine code" in no_advice(launch)
    launch["measured"]["code"] = {"profile": {"samples": [1]}}
    assert "the section SourceCounters" in no_advice(launch)
    launch["measured"]["code"]["profile"]["warp_executed"] = [1]
    assert no_advice(launch).endswith("more than a few percent")
    assert no_advice({"runs": []}) == "the launch was not executed"


def test_nothing_is_advised_at_the_roof() -> None:
    m = measured(**shares(20, 95, gpu__dram_throughput___avg___pct_of_peak_sustained_elapsed=95))
    good = laid(tiled(), sectors=on("global", 2), sectors_ideal=on("global", 2))
    assert names(advice(m, good)) == []


def test_the_chain_of_a_warp_is_its_states() -> None:
    """8 warps wait for loads and 1 is selected, an issue; 500 instructions a warp: 4,500 cycles."""
    waits = {STALLED.format("long_scoreboard"): 8.0, STALLED.format("selected"): 1.0}
    chain = measured_chain(measured(**BASIS, **waits), shared=True)
    assert chain is not None
    assert chain.cycles == pytest.approx(4500)
    assert dict(chain.parts) == {
        "memory": pytest.approx(4000), "arithmetic": 0.0, "barrier": 0.0, "issue": pytest.approx(500),
    }  # fmt: skip
    short = measured(**BASIS, **{STALLED.format("short_scoreboard"): 2.0})
    for shared, part in ((True, "memory"), (False, "arithmetic")):
        of = measured_chain(short, shared)
        assert of is not None
        assert of.parts[part] == pytest.approx(1000)
    assert measured_chain(measured(**BASIS), shared=True) is None


def test_elapsed_cycles_come_from_a_counter_else_from_clock_and_time() -> None:
    assert elapsed_cycles(measured(**BASIS)) == 100_000
    clock = {"sm__cycles_elapsed___avg___per_second": 1.5e9}
    assert elapsed_cycles(measured(**clock)) is None  # "%" is no unit of time
    timed = replace(measured(**clock), time_ms=2.0)
    assert elapsed_cycles(timed) == pytest.approx(3e6)


@needs_reports
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted", "line"),
    [
        ("selfjoin-sm80-2022.4", "divergence", True),
        ("selfjoin-sm80-2020.3", "divergence", True),
        ("mojo-sm75-2022.4", "launch-too-small", False),
        ("callchain-sm80-2020.3.1", "launch-too-small", False),
        ("indexspaces-sm86-2022.1", "integer-overhead", True),
    ],
)
def test_real_reports_get_advice_of_their_own(name: str, wanted: str, line: bool) -> None:
    """The foremost advice of a launch of each report; the profiler's rules follow it."""
    data = make_report([REPORTS / f"{name}.ncu-rep"], ReportOptions(charts="static")).data
    listed: list[list[dict[str, Any]]] = next(
        s["data"]["launches"] for s in data["sections"] if s["id"] == "advice"
    )
    first = [launch[0] for launch in listed if launch]
    found = next(one for one in first if one.get("id") == wanted)
    assert (found.get("line") is not None) is line
    assert any(character.isdigit() for character in found["text"])
    for launch in listed:  # ours, then the profiler's
        ours = ["id" in one for one in launch]
        assert ours == sorted(ours, reverse=True)
    assert found["title"] in analysis_markdown(data)


@needs_reports
@pytest.mark.slow
def test_a_kernel_at_the_roof_hears_the_profiler_alone() -> None:
    """adamw moves 92 % of what device memory can: no rule of ours gains a few percent."""
    data = make_report([REPORTS / "adamw-sm86-2024.3.ncu-rep"], ReportOptions(charts="static")).data
    for launch in next(s["data"]["launches"] for s in data["sections"] if s["id"] == "advice"):
        assert launch
        assert not any("id" in one for one in launch)
        assert "profiler's estimate" in launch[0]["gain"]

"""Inner loops and decision matrix of profiled launches: code of a listing with counts laid on by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.profiled import coded, measured, tiled
from warpglass.analyse import measurement_of
from warpglass.analysis.measured import Measurement, measured_occupancy, measured_roofline
from warpglass.analysis.measured_decision import MEMORY, SM, decide_measured, unit_shares, waits
from warpglass.analysis.measured_loops import (
    ProfiledCode,
    executed_operations,
    measured_loops,
    tight_stalls,
    with_loops,
)
from warpglass.analysis.operations import arithmetic, is_global_load
from warpglass.api import make_report
from warpglass.options import ReportOptions
from warpglass.report.analysis_markdown import analysis_markdown
from warpglass.report.measured_loops import measured_loop_blocks

TESTS = Path(__file__).resolve().parents[1]
REPORTS = TESTS.parents[1] / "shared" / "inputs" / "ncu"


def test_a_loop_of_the_reports_code() -> None:
    """The loop holds 64 FFMAs for 8 loads of 4 bytes; 16 lanes on, 64 x 16 x 2 FLOP over 8 x 16 x 4 bytes."""
    code = tiled()
    (found,) = measured_loops(measured(), code)
    rows = code.listing.rows[25:213]
    fused = sum((w := arithmetic(row, "sass")) is not None and w.lane == 2 for row in rows)
    loads = sum(is_global_load(row, "sass") for row in rows)
    assert (fused, loads) == (64, 8)
    assert (found.view.compute, found.view.loads, found.view.ratio) == (64, 8, 8.0)
    assert (found.compute, found.loads, found.ratio) == (64 * 70, 8 * 70, 8.0)
    assert (found.instructions, found.view.executions) == (188 * 70, 70)
    assert found.view.lanes == 16
    assert found.view.flop_per_byte == pytest.approx(64 * 2 / (8 * 4))
    assert found.view.trips == pytest.approx(10)
    assert (found.samples, found.sectors, found.stalls) == (None, None, ())  # not collected is not 0


def test_samples_and_sectors_of_a_loop() -> None:
    code = tiled()
    size = len(code.listing.rows)
    loads = [pc for pc in range(25, 213) if is_global_load(code.listing.rows[pc], "sass")]
    waiting: list[int | None] = [3 if 25 <= pc < 213 else None for pc in range(size)]
    more = {
        "samples": [4] * size,
        "stall_long_scoreboard": waiting,
        "stall_wait": [1] * size,
        "sectors": [32 if pc in loads else None for pc in range(size)],
        "sectors_ideal": [4 if pc in loads else None for pc in range(size)],
    }
    (found,) = measured_loops(measured(), replace(code, columns={**code.columns, **more}))
    assert found.samples == 4 * 188
    assert found.share == pytest.approx(188 / size)
    assert found.stalls == (("long_scoreboard", 3 * 188), ("wait", 188))
    assert (found.sectors, found.ideal) == (32 * 8, 4 * 8)


def test_code_without_counts_keeps_its_static_ratio() -> None:
    code = coded("tiled.sm_75.plr.sass")
    (found,) = measured_loops(measured(), code)
    assert found.view.ratio == 8.0
    assert (found.instructions, found.compute, found.view.executions, found.view.lanes) == (None,) * 4
    assert executed_operations(code) is None
    texts = [str(block) for block in measured_loop_blocks((found,), code, ())]
    assert any("SourceCounters would give them" in text for text in texts)
    assert not any("as the profiler counted" in text for text in texts)


def test_a_count_that_is_missing_in_a_loop_makes_it_static() -> None:
    code = tiled()
    holed = [None if pc == 40 else count for pc, count in enumerate(code.columns["warp_executed"])]
    (found,) = measured_loops(measured(), replace(code, columns={**code.columns, "warp_executed": holed}))
    assert found.view.executions is None
    assert found.view.ratio == 8.0


def test_static_and_measured_stand_in_tables_of_their_own() -> None:
    code = tiled()
    loops = measured_loops(measured(), code)
    blocks = measured_loop_blocks(loops, code, tight_stalls(measured(), code))
    tables = [block for block in blocks if block["type"] == "table"]
    assert [t["evidence"] for t in tables[:3]] == ["static", "measured", "static"]
    assert "ratio" in tables[0]["columns"]
    assert not {"iterations", "lanes on", "stall samples"} & set(tables[0]["columns"])


def test_operations_of_counted_instructions() -> None:
    """8 FFMA-like lanes: every arithmetic instruction once with 16 lanes, a fused one two operations."""
    code = coded("tiled.sm_75.plr.sass", lambda _pc, _op: 1)
    works = [work for row in code.listing.rows if (work := arithmetic(row, "sass")) is not None]
    assert executed_operations(code) == {"fp32": 16.0 * sum(work.lane for work in works)}
    none = coded("tiled.sm_75.plr.sass", lambda _pc, _op: 0)
    assert executed_operations(none) == {}


def test_counted_instructions_tell_what_the_tensor_pipe_did() -> None:
    """A busy tensor pipe makes the sum unknown only while nobody counted the instructions."""
    found = measured(sm__inst_executed_pipe_tensor_op_hmma___sum=5)
    assert measured_roofline(found).total.value is None
    counted = measured_roofline(found, {"tensor_fp16_fp32acc": 4096.0 * 5})
    assert (counted.total.value, counted.total.evidence) == (4096 * 5, "measured")
    assert counted.main == "tensor_fp16_fp32acc"


def matrix(m: Measurement, code: ProfiledCode | None = None) -> dict[str, tuple[bool | None, str]]:
    loops = measured_loops(m, code) if code is not None else ()
    operations = executed_operations(code) if code is not None else None
    seen = with_loops(measured_occupancy(m), m, loops)
    rows = decide_measured(m.launch, measured_roofline(m, operations), seen, loops, operations, bool(code))
    return {row.situation: (row.met, row.values) for row in rows}


def shares(compute: float, memory: float, **more: float) -> Measurement:
    named = {SM.replace(".", "___"): compute, MEMORY.replace(".", "___"): memory}
    return measured(**named, **more, launch__registers_per_thread=32)


def test_the_matrix_of_measured_throughputs() -> None:
    code = tiled()
    bound = matrix(shares(20, 85), code)
    assert len(bound) == 7
    # 8:1 lies between the thresholds of 4-byte loads on sm_75 (4:1 from the L2, 24:1 from device memory).
    assert bound["memory-bound, low ratio, below the cliff"][0] is True
    assert "8:1 (static" in bound["memory-bound, low ratio, below the cliff"][1]
    assert bound["compute-bound on FFMA"][0] is False
    assert bound["latency-bound"][0] is False
    busy = matrix(shares(90, 30), code)
    assert busy["compute-bound on FFMA"][0] is True
    assert busy["compute-bound on HMMA/HGMMA"][0] is False
    waiting = matrix(shares(30, 40), code)
    assert waiting["latency-bound"][0] is True
    assert waiting["memory-bound, low ratio, below the cliff"][0] is False
    both = matrix(shares(80, 75), code)
    assert both["compute-bound on FFMA"][0] is both["memory-bound, low ratio, below the cliff"][0] is True


def test_what_was_not_collected_is_unknown_in_the_matrix() -> None:
    found = matrix(measured())
    assert found["latency-bound"][0] is None
    assert "--section SpeedOfLight" in found["latency-bound"][1]
    assert "--section WarpStateStats" in found["latency-bound"][1]
    assert found["shared memory above the cliff"][0] is None
    assert matrix(shares(90, 10))["compute-bound on FFMA"][0] is None  # of what, nobody counted


def test_units_and_waits() -> None:
    launch = measured(
        sm__inst_executed_pipe_fma___avg___pct_of_peak_sustained_active=40,
        sm__pipe_fma_cycles_active___avg___pct_of_peak_sustained_active=45,
        sm__inst_executed_pipe_cbu_pred_on_any___avg___pct_of_peak_sustained_elapsed=99,
        gpu__dram_throughput___avg___pct_of_peak_sustained_elapsed=60,
        smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active___ratio=6,
        smsp__average_warps_issue_stalled_wait_per_issue_active___ratio=1,
        smsp__average_warps_issue_stalled_selected_per_issue_active___ratio=1,
    ).launch
    assert unit_shares(launch) == (("device memory", 60.0), ("pipe fma", 45.0))
    assert waits(launch) == (("long_scoreboard", 0.75), ("wait", 0.125))


def test_stalls_of_the_reports_code() -> None:
    """A listing with control fields: the mix has its stall cycles, and samples stand beside it apart."""
    code = coded("calls.sm_120.nvdisasm.sass", lambda _pc, _op: 3)
    columns = {**code.columns, "samples": [2] * 400, "stall_barrier": [2] * 400}
    code = replace(code, columns=columns)
    loops = measured_loops(measured("sm_120"), code)
    assert loops
    blocks = measured_loop_blocks(loops, code, tight_stalls(measured("sm_120"), code))
    captions = {str(block.get("caption")): block["evidence"] for block in blocks if block["type"] == "table"}
    assert any("fixed stalls" in name and kind == "static" for name, kind in captions.items())
    assert any("by stall reason" in name and kind == "measured" for name, kind in captions.items())


def test_markdown_says_no_loop_and_unknown_shared_memory_apart(tmp_path: Path) -> None:
    """A kernel that ran and has no loop is not called unexecuted; without registers its cliff is unknown."""
    path = TESTS / "sass" / "listings" / "inline3.sm_90a.gi.sass"
    text = analysis_markdown(make_report([path], ReportOptions(charts="static")).data)
    assert "The kernel has no loop." in text
    assert "Unknown, as the occupancy is." in text
    assert "was not executed" not in text
    export = tmp_path / "some.csv"
    head = '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"'
    row = '"0","k","(256, 1, 1)","(216, 1, 1)","gpu__time_duration.sum","ns","2000"'
    export.write_text(f"{head}\n{row}\n")
    told = analysis_markdown(make_report([export], ReportOptions(charts="static")).data)
    assert "no machine code that can be read" in told
    assert "uses no shared memory" not in told
    assert "no loop with loads" not in told


@pytest.mark.slow
@pytest.mark.skipif(not REPORTS.is_dir(), reason="the profiler reports are not here")
@pytest.mark.parametrize(
    "name", ["adamw-sm86-2024.3", "indexspaces-sm86-2022.1", "selfjoin-sm80-2020.3", "selfjoin-sm80-2022.4"]
)
def test_reports_fill_every_step(name: str) -> None:
    data = make_report([REPORTS / f"{name}.ncu-rep"], ReportOptions(charts="static")).data
    text = analysis_markdown(data)
    assert "was not executed" not in text
    assert "warp instructions (measured)" in text
    for launch in next(s for s in data["sections"] if s["id"] == "bottleneck")["data"]["launches"]:
        matrix = launch["blocks"][0]
        kinds = [row[matrix["columns"].index("evidence")] for row in matrix["rows"]]
        assert kinds == ["static", "modelled", "measured", "measured", "measured", "measured", "static"]
        assert matrix["evidence"] == "modelled"  # the weakest: warps needed are Little's law


@pytest.mark.skipif(not REPORTS.is_dir(), reason="the profiler reports are not here")
def test_counts_by_instruction_agree_with_the_profilers_sums() -> None:
    """adamw: the instructions' operations are those of the counters; its loop runs once with all lanes on."""
    from warpglass.collect import read_inputs
    from warpglass.page_sources import PageSources
    from warpglass.profiles import read_profiles
    from warpglass.report.measured import MeasuredTables, measured_launch
    from warpglass.report.measured_code import CodeBook

    path = REPORTS / "adamw-sm86-2024.3.ncu-rep"
    files = read_inputs([path])
    (profile,) = read_profiles(files)
    launch = profile.report.launches[0]
    entry = measured_launch(0, launch, 0, profile, MeasuredTables(private=False))
    code = CodeBook(PageSources(files, False)).add(entry, launch, profile.report, profile.input)
    assert code is not None
    m = measurement_of(launch, "sm_86", ReportOptions())
    assert executed_operations(code) == {"fp32": measured_roofline(m).ops["fp32"].value}
    (loop,) = measured_loops(m, code)
    assert (loop.view.compute, loop.view.loads, loop.view.lanes) == (6, 5, 32)
    assert (loop.loads, loop.view.executions) == (5 * 32_768, 32_768)
    assert loop.stalls[0][0] == "long_scoreboard"

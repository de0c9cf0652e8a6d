"""From a header to a report: the section's data, its page without a script, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutlass.small import BROKEN, GOOD, RAW
from warpglass.api import make_report
from warpglass.cli import main
from warpglass.errors import UsageError
from warpglass.options import ReportOptions
from warpglass.pipelines import named_section
from warpglass.report.pipeline_graph import graph_edges

KERNEL = """
enum class WarpGroupRole { Producer = 0, Consumer0 = 1, Consumer1 = 2 };
template <class P> struct GemmSmall {
  CUTLASS_DEVICE void operator()(P const& params, char* smem) {
    if (warp_group_role == WarpGroupRole::Producer) {
      while (work_tile_info.is_valid()) {
        collective_mainloop.load(params, mainloop_pipeline, mainloop_pipe_producer_state, k_tile_count);
        mainloop_pipe_producer_state.advance(k_tile_count);
      }
      collective_mainloop.load_tail(mainloop_pipeline, mainloop_pipe_producer_state);
    }
    else if (warp_group_role == WarpGroupRole::Consumer0 || warp_group_role == WarpGroupRole::Consumer1) {
      while (work_tile_info.is_valid()) {
        math_wg_order_barrier.wait();
        collective_mainloop.mma(mainloop_pipeline, mainloop_pipe_consumer_state, accumulators, k_tile_count);
        math_wg_order_barrier.arrive();
        collective_mainloop.mma_tail(mainloop_pipeline, mainloop_pipe_consumer_state, k_tile_count);
        mainloop_pipe_consumer_state.advance(2 * k_tile_count);
      }
    }
  }
};
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mainloop.hpp").write_text(GOOD, encoding="utf-8")
    (tmp_path / "kernel.hpp").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "broken.hpp").write_text(BROKEN["late-release"], encoding="utf-8")
    (tmp_path / "raw.hpp").write_text(RAW.replace("__global__ ", ""), encoding="utf-8")
    return tmp_path


def test_a_report_of_headers(folder: Path) -> None:
    options = ReportOptions(kernel_layer=folder / "kernel.hpp", knobs=("S=5",))
    report = make_report([folder / "mainloop.hpp"], options)
    data = next(s for s in report.data["sections"] if s["id"] == "pipeline")["data"]
    assert data["parsed"]["schedule"] == "pingpong"
    assert data["knobs"] == {"S": 5}
    assert data["results"]["summary"]["total"] == 158
    assert data["results"]["least_stages_swept"] == 5
    lines = {(s["source"], s["line"]) for s in data["results"]["critical"] if s["line"]}
    text = GOOD.split("\n")
    assert any("copy(" in text[line - 1] for name, line in lines if name == "mainloop.hpp")
    html = report.to_html(charts="static")
    for piece in (
        'id="sec-pipeline"',
        "SM90 pingpong",
        "pl-svg",
        "the tensor core is busy",
        "Critical path",
        "pl-graph",
    ):
        assert piece in html
    assert "executions" not in html.split('id="wg-data"')[0]


def test_equal_work_halves_the_cooperative_tiles(folder: Path) -> None:
    report = make_report([folder / "mainloop.hpp"], ReportOptions())
    data = next(s for s in report.data["sections"] if s["id"] == "pipeline")["data"]
    row = next(row for row in data["equal_work"] if row["stages"] == 4)
    assert row == {"stages": 4, "pingpong": 185, "cooperative": 191}


def test_an_unknown_knob_is_an_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="no knob is called"):
        make_report([folder / "mainloop.hpp"], ReportOptions(knobs=("NO=5",)))


def test_graph_edges(folder: Path) -> None:
    report = make_report([folder / "mainloop.hpp"], ReportOptions())
    program = next(s for s in report.data["sections"] if s["id"] == "pipeline")["data"]["programs"][0]
    edges = set(graph_edges(program))
    assert {("Producer", "ml", "fill"), ("ml", "Consumer0", "full"), ("Consumer0", "ml", "release")} <= edges


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


def test_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = str(folder / "mainloop.hpp")
    assert run(["pipeline", header, "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [h["kind"] for h in data["parsed"]["headers"]] == ["mainloop"]
    assert run(["pipeline", header, "--lint"]) == 0
    assert run(["pipeline", str(folder / "broken.hpp"), "--lint"]) == 1
    assert "late-release" in capsys.readouterr().out
    vcd, trace = folder / "s.vcd", folder / "s.json"
    assert run(["pipeline", header, "--vcd", str(vcd), "--perfetto", str(trace), "--knob", "K=3"]) == 0
    assert vcd.read_text().startswith("$version")
    assert json.loads(trace.read_text())["traceEvents"]
    assert run(["pipeline", str(folder / "raw.hpp")]) == 0
    assert "no pipeline of CUTLASS's classes" in capsys.readouterr().err


def test_a_driver_says_what_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driver = folder / "driver.cu"
    driver.write_text(
        "using M = cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, "
        "cutlass::gemm::collective::KernelScheduleAuto>::CollectiveOp;\nint main() {}\n"
    )
    assert run(["pipeline", str(driver)]) == 0
    out = capsys.readouterr().out
    assert "this is a driver" in out
    assert "KernelScheduleAuto leaves the schedule to the builder" in out


def test_a_kernel_name_presets_the_knobs() -> None:
    name = (
        "void cutlass::device_kernel<X<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<7, "
        "cute::tuple<cute::C<2>, cute::C<1>, cute::C<1>>, "
        "cutlass::gemm::KernelTmaWarpSpecializedCooperative>, "
        "cute::tuple<cute::C<128>, cute::C<256>, cute::C<64>>, cutlass::half_t>>"
    )
    section = named_section(["_Z1fv", name], ReportOptions())
    assert section is not None
    data = section["data"]
    assert data["programs"][0]["id"] == "sm90-cooperative"
    assert (data["knobs"]["S"], data["knobs"]["bn"]) == (7, 256)
    assert data["results"]["stage_bytes"] == (128 * 64 + 256 * 64) * 2 + 16
    assert named_section(["_Z1fv"], ReportOptions()) is None

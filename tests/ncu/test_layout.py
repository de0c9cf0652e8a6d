"""Sections as stored: order, filters, options; rooflines, timelines, roll-ups, descriptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu.writer import BASE, Writer, small_report
from warpglass import ncu
from warpglass.ncu.by_pc import by_pc
from warpglass.ncu.curve import curve
from warpglass.ncu.describe import describe, described
from warpglass.ncu.layout import Block, RoofLine, layout
from warpglass.ncu.names import split_name
from warpglass.ncu.rollup import aggregate, how, repeated
from warpglass.ncu.roofline import roofline
from warpglass.ncu.timeline import plain_name, series
from warpglass.report.measured_figures import figures

REAL = Path(__file__).resolve().parents[3] / "shared" / "inputs" / "ncu"
real = pytest.mark.skipif(not REAL.is_dir(), reason="no ../shared/inputs/ncu")


def test_order_filters_and_options_decide() -> None:
    report = ncu.parse(small_report())
    sections = layout(report.launches[0])
    assert [s.id for s in sections] == ["First", "First_Child", "Late"]
    assert sections[0].header[1].metric == "dram__bytes_write.sum"
    # The metric is for 9.0 on: its option stands in on 8.0, and one without options is left out.
    assert [(c.label, c.metric) for c in sections[2].header] == [("Block Size", "launch__block_size")]
    assert sections[0].blocks[0].cells[0].label == "SM"


def test_items_that_only_have_a_label_are_laid_out_here() -> None:
    w = Writer()
    result = w.result("k", [("device__attribute_compute_capability_major", 7, None),
                            ("device__attribute_compute_capability_minor", 5, None)])  # fmt: skip
    body = result.sections.add(identifier=b"MemoryWorkloadAnalysis_Tables").body.add()
    for name in ("dram_table", "shared_table", "l2_table"):
        getattr(body.items.add(), name).label = b"Any"
    late = body.items.add()
    late.eviction_table.label = b"Eviction"
    late.filter.min_arch = 80
    body.items.add().memory_chart.label = b"Chart"
    spots = body.items.add().hot_spots
    spots.label = b"Most"
    spots.metrics.add(name=b"inst_executed")
    w.block(results=[result])
    (section,) = layout(ncu.parse(w.out).launches[0])
    assert [b.kind for b in section.blocks] == ["grid", "grid", "grid", "memory", "hotspots"]
    assert [b.title for b in section.blocks[:3]] == ["Device memory", "Shared memory", "L2 cache"]


def test_curves_keep_the_points_where_they_change() -> None:
    w = Writer()
    stored = {0: 64.0, 32: 64.0, 33: 48.0, 34: 48.0, 35: 48.0, "junk": 1.0, 40: float("nan")}
    result = w.result("k", [("per_register", 5.0, stored), ("registers", 34, None), ("one", 1.0, {1: 2.0})])
    for metric in (b"per_register", b"one", b"none"):
        chart = result.sections.add(identifier=metric).body.add().items.add().line_chart
        chart.label, chart.x_axis.label, chart.y_axis.label = b"Impact", b"Registers", b"Warps"
        chart.metrics.add(name=metric)
        chart.present.metrics.add(name=b"registers")
    w.block(results=[result])
    launch = ncu.parse(w.out).launches[0]
    blocks = {section.id: section.blocks[0] for section in layout(launch)}
    made = curve(launch, blocks["per_register"])
    assert made is not None
    assert (made.x, made.y, made.now) == ((0, 33, 35), (64, 48, 48), 34)
    assert [made.at(x) for x in (-1, 0, 32, 34, 99)] == [None, 64, 64, 48, 48]
    assert blocks["per_register"].columns == ("Registers", "Warps")
    assert curve(launch, blocks["one"]) is None  # one point is no curve
    assert curve(launch, blocks["none"]) is None


def test_rooflines_need_every_metric() -> None:
    w = Writer()
    values = {"a": 10.0, "b": 5.0, "hz": 2.0, "t": 4.0}
    w.block(results=[w.result("k", [(name, value, None) for name, value in values.items()])])
    launch = ncu.parse(w.out).launches[0]
    block = Block(
        "roofline",
        "R",
        roofs=(RoofLine("peak", ("a",), "hz", ("t",), "hz"), RoofLine("none", ("x",), "hz", ("t",), "hz")),
        achieved=(RoofLine("got", ("a", "b"), "hz", ("t",)), RoofLine("part", ("a", "x"), "hz", ("t",))),
    )
    roofs, achieved = roofline(launch, block)
    assert [(r.label, r.work, r.traffic, r.intensity) for r in roofs] == [("peak", 20.0, 8.0, 2.5)]
    assert [(p.label, p.work, p.traffic) for p in achieved] == [("got", 30.0, 4.0)]


def test_samples_over_time_start_at_zero() -> None:
    start = 1_700_000_000_000_000_000
    w = Writer()
    samples = {start + 2000: 3.0, start: 1.0, start + 1000: None}
    w.block(results=[w.result("k", [("SM_A.TriageAC.sm__x.avg", None, samples), ("plain", 1, None)])])
    (one,) = series(ncu.parse(w.out).launches[0], ())
    assert (one.t, one.v, one.step) == ((0, 1000, 2000), (1.0, None, 3.0), 1000)
    assert one.label == "sm__x.avg"


@pytest.mark.parametrize(
    "name", ["SM.TriageA.sm__cycles.avg", "TriageAC.sm__cycles.avg", "pmsampling:sm__cycles.avg"]
)
def test_prefixes_of_samples_drift(name: str) -> None:
    assert plain_name(name) == "sm__cycles.avg"


def test_counters_by_offset() -> None:
    report = ncu.parse(small_report())
    table = by_pc(report.launches[0], report.sources[5])
    assert table is not None
    assert (table.base, table.exact, table.offsets) == (BASE, True, (0, 16, 32))
    assert table.columns["inst_executed"] == (10, 30, None)
    without = by_pc(report.launches[0], None)
    assert without is not None
    assert (without.exact, without.offsets) == (False, (0, 16, 32))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("dram__bytes.sum", "sum"),
        ("dram__bytes.sum.per_second", "mean"),
        ("gpu__time_duration.max", "max"),
        ("gpu__time_duration.min", "min"),
        ("l1tex__hit.pct", "mean"),
        ("launch__block_size", "mean"),
    ],
)
def test_each_metric_adds_up_in_its_own_way(name: str, way: str) -> None:
    assert how(name) == way


def test_repeated_launches_aggregate_with_spread() -> None:
    report = ncu.parse(small_report(3))
    (group,) = repeated(report.launches).values()
    total = aggregate(group, "gpu__time_duration.sum")
    assert total is not None
    assert (total.value, total.low, total.high, total.count) == (45603.0, 15200.0, 15202.0, 3)
    assert total.spread == pytest.approx(2 / 15201)
    assert aggregate(group, "dram__bytes_write.sum") is None


def test_metrics_have_plain_descriptions() -> None:
    assert len(described()) > 200
    assert describe("dram__bytes_read.sum.per_second") == "Bytes read from device memory (total, a second)"
    text = describe("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum")
    assert text is not None
    assert "loads of global memory" in text
    assert "not found" in text
    assert describe("unheard__of") is None
    assert describe("pmsampling:sm__cycles_active.avg") == describe("sm__cycles_active.avg")


@real
def test_the_common_metrics_of_real_reports_are_described() -> None:
    names = {m for f in REAL.glob("*.ncu-rep") for launch in ncu.load(f).launches for m in launch.metrics}
    bases = {split_name(n).base for n in names if not n.startswith(("device__", "breakdown:", "group:"))}
    known = {base for base in bases if describe(base)}
    assert len(known) >= 300
    assert len(known) / len(bases) > 0.9


def test_links_and_nodes_have_a_row_each() -> None:
    w = Writer()
    each: dict[str, dict[object, object]] = {
        "nvlink__dev0Id": {0: 0, 1: 0},
        "nvlink__dev1Id": {0: 1, 1: 2},
        "nvlink__bandwidth": {0: 5e10, 1: 25e9},
        "nvlink__peer_access": {0: 1, 1: 0},
        "numa__dev_display_name_all": {0: "A100"},
        "numa__id_cpu": {0: "3"},
    }
    metrics = [(name, 1, found) for name, found in each.items()]
    result = w.result("k", [*metrics, ("nvltx__bytes.sum.per_second", 7e9, None)])
    for name in ("nvlink_topology", "nvlink_properties", "nvlink_throughput", "numa_table"):
        items = result.sections.add(identifier=name.encode(), order=1).body.add().items
        getattr(items.add(), name).label = b"Any"
    w.block(results=[result])
    report = ncu.parse(w.out)
    assert report.problems == ()
    (launch,) = report
    drawn = {table["title"]: table for table in figures(launch, layout(launch))["tables"]}
    assert drawn["NVLink topology"]["rows"] == [[0, 1], [0, 2]]
    assert drawn["NVLink properties"]["columns"] == [
        ["Device", ""], ["Linked to", ""], ["Bandwidth", "byte/s"], ["Peer access", ""],
    ]  # fmt: skip
    assert drawn["NVLink properties"]["rows"] == [[0, 1, 50_000_000_000, "yes"], [0, 2, 25_000_000_000, "no"]]
    assert drawn["NUMA nodes"]["rows"] == [["A100", "3"]]
    grid = next(s for s in layout(launch) if s.id == "nvlink_throughput").blocks[0]
    assert (grid.kind, grid.columns[3], grid.rows[1][1][3].metric) == (
        "grid", "Bandwidth", "nvltx__bytes.sum.per_second",
    )  # fmt: skip

"""Hierarchical and tensor rooflines of a made report: roofs and points by hand, the table, the figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncu.made_rooflines import roofline_report
from warpglass import ncu
from warpglass.api import make_report
from warpglass.ncu.layout import layout
from warpglass.ncu.roofline import Point, roofline
from warpglass.options import ReportOptions
from warpglass.report.labels_apart import Labels
from warpglass.report.roofline_figure import roof_rows, roofline_svg, roofline_table

#: Bytes a second of each level: peak, achieved.
BYTES = {"DRAM": (1.536e12, 0.5e12), "L2": (6.912e12, 1e12), "L1 (Global/Local)": (19.3536e12, 4e12)}
#: Operations a second by section: peak, achieved.
WORK = {
    "SpeedOfLight_HierarchicalSingleRooflineChart": (19.3536e12, 1.82e12),
    "SpeedOfLight_HierarchicalDoubleRooflineChart": (9.6768e12, 0.07e12),
    "SpeedOfLight_HierarchicalHalfRooflineChart": (77.4144e12, 0.0),
    "SpeedOfLight_HierarchicalTensor512RooflineChart": (309.6576e12, 71.68e12),
}


def charts(cc: int = 80) -> dict[str, tuple[tuple[Point, ...], tuple[Point, ...]]]:
    launch = ncu.parse(roofline_report(cc)).launches[0]
    return {
        section.id: roofline(launch, block)
        for section in layout(launch)
        for block in section.blocks
        if block.kind == "roofline"
    }


@pytest.mark.parametrize("section", list(WORK))
def test_hierarchical_rooflines_hold_each_level(section: str) -> None:
    roofs, points = charts()[section]
    peak, work = WORK[section]
    assert [(p.label, p.work, p.traffic) for p in roofs] == [
        (f"{level} Roofline", pytest.approx(peak), pytest.approx(top)) for level, (top, _) in BYTES.items()
    ]
    assert [(p.label, p.work, p.traffic) for p in points] == [
        (f"{level} Achieved Value", pytest.approx(work), got) for level, (_, got) in BYTES.items()
    ]


def test_tensor_rooflines_hold_each_operand() -> None:
    roofs, points = charts()["SpeedOfLight_HierarchicalTensorRooflineChart"]
    assert [(p.label, p.work) for p in roofs] == [
        ("FP16 Roofline", pytest.approx(309.6576e12)), ("TF32 Roofline", pytest.approx(154.8288e12)),
        ("INT8 Roofline", pytest.approx(619.3152e12)), ("FP64 Roofline", pytest.approx(19.3536e12)),
    ]  # fmt: skip
    assert [(p.label, p.work) for p in points] == [
        ("FP16 Achieved Value", 60e12), ("TF32 Achieved Value", 0.0), ("INT8 Achieved Value", 10e12),
        ("FP64 Achieved Value", 0.02e12),
    ]  # fmt: skip


def test_what_an_older_architecture_lacks_is_left_out() -> None:
    roofs, points = charts(70)["SpeedOfLight_HierarchicalSingleRooflineChart"]
    # The option names a metric that this report does not hold: no level is drawn with another's bytes.
    assert [p.label for p in roofs] == ["DRAM Roofline", "L2 Roofline"]
    assert len(points) == 3  # the achieved value names no option


def test_points_are_paired_with_their_roofs_by_name(tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(roofline_report())
    data = make_report([path], ReportOptions(charts="static")).data["launches"][0]["measured"]
    drawn = {one["section"]: one for one in data["rooflines"]}
    single = {row.name: row for row in roof_rows(drawn["SpeedOfLight_HierarchicalSingleRooflineChart"])}
    assert list(single) == ["DRAM", "L2", "L1 (Global/Local)"]
    dram = single["DRAM"]
    assert (dram.ridge, dram.intensity) == (pytest.approx(12.6), pytest.approx(3.64))
    assert dram.bound == pytest.approx(1.536e12 * 3.64)
    assert dram.share == pytest.approx(1.82 / (1.536 * 3.64))
    assert single["L1 (Global/Local)"].share == pytest.approx(1.82 / (19.3536 * 0.455))
    tensor = {row.name: row for row in roof_rows(drawn["SpeedOfLight_HierarchicalTensorRooflineChart"])}
    # Nothing ran on TF32: INT8 keeps its own colour and roof.
    assert [(n, r.colour, r.work) for n, r in tensor.items()] == [
        ("FP16", 1, 60e12), ("TF32", 2, 0.0), ("INT8", 3, 10e12), ("FP64", 4, 0.02e12),
    ]  # fmt: skip
    assert (tensor["TF32"].intensity, tensor["TF32"].share) == (None, None)
    rows = roofline_table(list(single.values()), ("Intensity [FLOP/byte]", "Performance [FLOP/s]"), "roof:x")
    assert [cell["text"] for cell in rows[0]["cells"]] == [
        "19.35 TFLOP/s", "1.536 TB/s", "12.6", "1.82 TFLOP/s", "3.64", "32.6 %",
    ]  # fmt: skip
    assert rows[2]["cells"][1]["key"] == "roof:x:L1 (Global/Local):bandwidth"


def test_figures_name_each_roof_and_point_once() -> None:
    roof = {"label": "DRAM Roofline", "work": 2e13, "traffic": 1.5e12}
    deep = {"label": "L1 Roofline", "work": 2e13, "traffic": 2e13}
    points = [
        {"label": "DRAM Achieved Value", "work": 2e12, "traffic": 5e11},
        {"label": "L1 Achieved Value", "work": 2e12, "traffic": 4e12},
        {"label": "<b>", "work": 1e12, "traffic": 1e12},
    ]
    svg = str(roofline_svg({"title": "R", "roofs": [roof, deep], "achieved": points}, ("A [OP/byte]", "")))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert sorted(t for t in texts if "DRAM" in t or "L1" in t) == [
        "DRAM",
        "DRAM 1.5 TB/s",
        "L1",
        "L1 20 TB/s",
    ]
    assert [t for t in texts if t == "20 TOP/s"] == ["20 TOP/s"]  # one peak, said once
    assert "&lt;b&gt;" in texts
    assert svg.count("<circle") == 3
    assert svg.count('class="headroom') == 2  # a point without a roof has no way up
    assert "DRAM: 2 TOP/s at 4 OP/B, 33.3 % of its roof" in svg


@pytest.mark.parametrize(("work", "traffic"), [(5e-324, 1e12), (1e12, 5e-324), (1.7e308, 1.7e308)])
def test_impossible_roofs_are_not_drawn(work: float, traffic: float) -> None:
    roof = {"label": "R", "work": work, "traffic": traffic}
    assert str(roofline_svg({"title": "R", "roofs": [roof], "achieved": []})) == ""
    (row,) = roof_rows({"roofs": [roof], "achieved": [{"label": "R", "work": 0.0, "traffic": 0.0}]})
    assert (row.ridge, row.intensity, row.bound, row.share) == (None, None, None, None)
    assert [c["text"] for c in roofline_table([row], ("", ""), "k")[0]["cells"]].count("n/a") >= 4


def test_words_of_a_figure_keep_apart() -> None:
    labels = Labels(0, 0, 200, 100)
    assert labels.at("abc", 50, 50, "middle") is not None
    assert labels.at("abc", 55, 52, "middle") is None
    assert labels.at("too long for the right edge", 190, 80, "start") is None
    moved = labels.beside("abc", 50, 55)
    assert moved is not None
    assert moved.y > 60
    assert labels.along("a much longer text", (0, 100), (20, 80), -45) is None
    assert labels.along("ab", (100, 90), (160, 30), -45) is not None

"""Figures of profiled launches: curves, the memory chart, hot spots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from warpglass.ncu.memory_chart import MEMORY_CHART
from warpglass.report import view
from warpglass.report.hot_spots import hot_spots
from warpglass.report.measured_curves import measured_curve_svg
from warpglass.report.measured_view import Measured
from warpglass.report.memory_chart_svg import memory_chart_svg


def links(values: Mapping[str, float]) -> dict[str, list[dict[str, Any]]]:
    """Cells of the chart, those of metrics that are not in ``values`` unknown."""
    names = list(values)
    report = {"profile": {"metrics": {"name": names, "unit": [""] * len(names), "about": [None] * len(names)},
                          "sets": [list(range(len(names)))]}}  # fmt: skip
    measured = Measured(report, {"measured": {"set": 0, "values": list(values.values()), "marks": []}})
    return {
        link: [
            {"label": what, **measured.cell([names.index(n) for n in name.split("|") if n in names])}
            for what, name in cells
        ]
        for link, cells in MEMORY_CHART
    }


def test_the_memory_chart_draws_what_was_used() -> None:
    svg = str(
        memory_chart_svg(
            links(
                {
                    "smsp__inst_executed_op_global_ld.sum": 100,
                    "smsp__inst_executed_op_local_ld.sum": 0,
                    "smsp__inst_executed_op_shared_st.sum": 7,
                    "dram__bytes_read.sum": 5000,
                    "dram__bytes_read.sum.pct_of_peak_sustained_elapsed": 63.0,
                    "dram__bytes_write.sum": 0,
                    "l1tex__t_sector_hit_rate.pct": 40,
                    "lts__t_sectors_srcunit_tex_aperture_peer_op_read_lookup_miss.sum": 9,
                }
            )
        )
    )
    names = re.findall(r'class="unit-name"[^>]*>([^<]*)', svg)
    assert names[:5] == ["Kernel", "Global", "Shared", "L1/TEX cache", "Shared memory"]
    assert names[5:] == ["L2 cache", "Device memory", "Peer memory"]
    assert "hit rate 40" in svg
    assert svg.count('class="mem-link p4"') == 1  # 63 % of peak
    assert svg.count("idle") == 1  # nothing was written; what was not collected has no arrow at all
    assert "5,000 · 63 %" in svg
    assert "read: 5,000, 63 of peak (dram__bytes_read.sum)" in svg


def test_long_counts_of_the_memory_chart_are_short() -> None:
    named = next(name for what, name in MEMORY_CHART if what == "shared-smem")
    metric = named[0][1].split("|")[0]
    svg = str(memory_chart_svg(links({metric: 1_234_567_890, "smsp__inst_executed_op_shared_ld.sum": 5})))
    assert ">1.23G<" in svg
    assert "1,234,567,890 wavefronts" in svg  # the title has every digit


def test_places_of_listings_are_short() -> None:
    sources = [
        {"id": 0, "name": "a.ncu-rep.sass", "language": "sass", "own": False},
        {"id": 1, "name": "mine.sass", "language": "sass", "own": True},
        {"id": 2, "name": "a.cu", "language": "cuda", "own": False},
    ]
    assert [view.line_place({"sources": sources}, i, 7) for i in range(3)] == [
        "SASS:7", "mine.sass:7", "a.cu:7",
    ]  # fmt: skip


def test_a_memory_chart_of_little_is_drawn() -> None:
    svg = str(memory_chart_svg(links({"lts__t_sector_hit_rate.pct": 12})))
    assert "hit rate 12" in svg
    assert "mem-link" not in svg


def test_curves_show_where_the_launch_stands() -> None:
    made = {"x": [0, 33, 255], "y": [64, 48, 48], "now": 40}
    svg = str(measured_curve_svg(made, ("Registers", "Warps"), "Impact <b>"))
    assert "48 at 40" in svg
    assert "Impact &lt;b&gt;: 48 at 40" in svg
    for now in (None, 900):
        assert "circle" not in str(measured_curve_svg({**made, "now": now}, ("", ""), ""))
    assert "<svg" in str(measured_curve_svg({"x": [5, 5.0], "y": [0, 0], "now": 5}, ("", ""), "flat"))


def test_hot_spots_link_to_instructions() -> None:
    instructions = {"line": [3, 4, 5], "opcode": ["A", "B", "C"], "offset": [0, 16, 32],
                    "source": [None, 0, 0], "source_line": [None, 7, 8]}  # fmt: skip
    report = {
        "sources": [{"id": 0, "name": "a.cu"}, {"id": 1, "name": "a.sass"}],
        "launches": [{"kernel": {"bare": "k"}}],
        "profile": {"codes": [{"source": 1, "instructions": instructions}]},
    }
    launch = {
        "measured": {"code": {"code": 0, "profile": {"samples": [1, 3, None], "warp_executed": [0, 0, 0]}}}
    }
    rows = hot_spots(report, 0, launch, ["group:smsp__pcsamp_warp_stall_reasons"])
    assert [(r["offset"], r["opcode"], r["place"], r["percent"]) for r in rows] == [
        ("0x0010", "B", "a.cu:7", "75.0 %"), ("0x0000", "A", "", "25.0 %"),
    ]  # fmt: skip
    launch["measured"]["code"]["profile"]["samples_not_issued"] = [4, None, 1]  # type: ignore[index]
    idle = hot_spots(report, 0, launch, ["group:smsp__pcsamp_warp_stall_reasons_not_issued"])
    assert [(r["offset"], r["text"], r["percent"]) for r in idle] == [
        ("0x0000", "4", "80.0 %"), ("0x0020", "1", "20.0 %"),
    ]  # fmt: skip
    assert hot_spots(report, 0, launch, ["inst_executed"]) == []
    assert hot_spots(report, 0, launch, ["something_else"]) == []
    assert hot_spots(report, 0, {"measured": {"code": None}}, ["inst_executed"]) == []

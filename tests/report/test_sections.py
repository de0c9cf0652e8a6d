from __future__ import annotations

from typing import Any

import pytest
from page import Element, Page
from sample import sample

from warpglass.report import custom, diagnosis, plots, svg, tiles, view, words
from warpglass.report.render import render_html
from warpglass.report.sections import PAGE_ORDER, findings, launches, mix, provenance, registry, verdict


def section(report: dict[str, Any], name: str) -> Element:
    return Page(render_html(report, charts="static")).by_id(f"sec-{name}")


def rows(element: Element) -> list[list[str]]:
    found: list[Element] = []

    def walk(one: Element) -> None:
        found.extend([one] if one.tag == "tr" else [])
        for child in one.children:
            walk(child)

    walk(element)
    return [[" ".join(cell.all_text().split()) for cell in row.children] for row in found]


def test_every_built_in_module_has_its_place_and_partial() -> None:
    assert set(registry()) <= set(PAGE_ORDER)
    assert {"launches", "verdict", "findings", "mix", "provenance"} <= set(registry())


def test_launches_name_state_and_verdict() -> None:
    table = rows(section(sample(), "launches"))
    assert len(table) == 3
    assert table[1][:5] == ["1", "matmul", "sm_80 · A100-SXM4-40GB", "4 × 4", "16 × 16"]
    assert table[1][6:8] == ["3,584", "PTX, 16 of 16 blocks"]
    assert table[2][7] == "PTX, 1 of 4 blocks, cut short"
    context = launches.context(sample())
    assert context is not None
    assert [row["href"] for row in context["rows"]] == ["#v=1&n=0", "#v=1&n=1"]


def test_tiles_are_the_sums_of_the_profile() -> None:
    run = sample()["launches"][0]["runs"][0]
    made = {tile["label"]: tile for tile in tiles.tiles(run)}
    assert list(made) == ["Warp instructions", "Active lanes", "Sectors ÷ ideal", "Wavefronts ÷ ideal"]
    # 28 warp instructions a warp, 8 warps a block, 16 blocks; 109056 thread instructions.
    assert made["Warp instructions"]["value"] == "3,584"
    assert (made["Active lanes"]["value"], made["Active lanes"]["of"]) == (f"{109056 / 3584:.1f}", "of 32")
    assert made["Sectors ÷ ideal"]["value"] == f"{20 / 19:.2f}×"
    assert made["Wavefronts ÷ ideal"]["value"] == "16.00×"
    assert [tile["evidence"] for tile in made.values()] == ["executed", "executed", "executed", "modelled"]


def test_tiles_of_a_cut_run_say_so_far_and_of_nothing_say_unknown() -> None:
    report = sample()
    cut = tiles.tiles(report["launches"][1]["runs"][0])
    assert all(tile["partial"] == "so far: executed, 1 of 4 blocks" for tile in cut)
    run = report["launches"][0]["runs"][0]
    run["numbers"], run["profile"] = [], {}
    for tile in tiles.tiles(run):
        assert tile["value"] is None
        assert tile["why"]


def test_a_kernel_without_memory_has_no_ratio() -> None:
    run = sample()["launches"][0]["runs"][0]
    run["numbers"] = []
    for name in ("sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal"):
        run["profile"][name] = [0] * 10
    made = tiles.tiles(run)
    assert [tile["value"] for tile in made[2:]] == ["–", "–"]
    assert made[2]["detail"] == "no global or local memory access"


def test_the_verdict_is_decided_else_a_finding_else_open() -> None:
    report = sample()
    launch = report["launches"][0]
    found = words.verdict(report, 0, launch)
    assert (found["kind"], found["severity"], found["evidence"]) == ("finding", "warning", "modelled")
    report["sections"] = [
        {
            "id": "verdict",
            "title": "Verdict",
            "data": {"launches": [{"text": "shared memory", "evidence": "static"}]},
        }
    ]
    decided = words.verdict(report, 0, launch)
    assert (decided["kind"], decided["text"], decided["evidence"]) == ("decided", "shared memory", "static")
    assert words.verdict(report, 1, report["launches"][1])["kind"] == "finding"
    report["sections"] = []
    launch["runs"][0]["findings"] = [launch["runs"][0]["findings"][1]]  # information decides nothing
    assert words.verdict(report, 0, launch)["text"].startswith("not decided: needs")
    launch["runs"][0]["complete"] = False
    launch["runs"][0]["stopped"] = {"kind": "trap", "message": "trap at line 3"}
    assert words.verdict(report, 0, launch)["text"] == "not decided: needs a run to the end (trap at line 3)"


def test_findings_come_by_weight_and_link_to_their_steps() -> None:
    context = findings.context(sample())
    assert context is not None
    first, second = context["groups"]
    assert [row["kind"] for row in first["rows"]] == ["bank-conflict", "divergence"]
    assert [row["kind"] for row in second["rows"]] == ["memcheck", "bank-conflict", "divergence"]
    row = first["rows"][0]
    assert row["line_href"] == "#v=1&n=0&i=ptx&l=0:13"
    assert [(step["label"], step["href"]) for step in row["steps"]] == [
        ("first", "#v=1&n=0&i=ptx&b=0&w=0&s=24"),
        ("worst", "#v=1&n=0&i=ptx&b=0&w=0&s=72"),
    ]
    assert second["rows"][0]["place"] == "block (1, 0, 0), thread (31, 3, 0), address 0x7f0000001000"
    assert second["rows"][0]["steps"] == []


def test_findings_without_any_are_no_section_and_too_many_are_counted() -> None:
    report = sample()
    for launch in report["launches"]:
        launch["runs"][0]["findings"] *= 200
    context = findings.context(report)
    assert context is not None
    assert len(context["groups"][0]["rows"]) == findings.MAX_ROWS
    assert context["groups"][0]["left_out"] == 400 - findings.MAX_ROWS
    assert context["groups"][0]["severities"] == [("warning", 200), ("info", 200)]
    for launch in report["launches"]:
        launch["runs"][0]["findings"] = []
    assert "sum of block 0 is 4.5" in section(report, "findings").all_text()
    report["launches"][0]["runs"][0]["printed"] = []
    assert findings.context(report) is None


def test_rows_of_findings_carry_what_the_filter_reads() -> None:
    page = Page(render_html(sample(), charts="static"))
    marked = [
        (one.attrs["data-severity"], one.attrs["data-category"])
        for one in page.find("tr")
        if "data-severity" in one.attrs
    ]
    assert marked == [
        ("warning", "memory"),
        ("info", "divergence"),
        ("critical", "memory"),
        ("warning", "memory"),
        ("info", "divergence"),
    ]


def test_the_mix_adds_up() -> None:
    context = mix.context(sample())
    assert context is not None
    group = context["groups"][0]
    assert sum(row["warp"] for row in group["rows"]) == group["total"] == 3584
    assert abs(sum(row["share"] for row in group["rows"]) - 100) < 1e-9
    by_opcode = {row["opcode"]: row for row in group["rows"]}
    assert by_opcode["bra"]["lanes"] == "24.0"
    kinds, lanes = group["figures"]
    assert sum(kinds.spec["data"][0]["x"]) == 3584
    histogram = lanes.spec["data"][0]["y"]
    assert len(histogram) == 33
    assert (sum(histogram), histogram[24], histogram[20]) == (3584, 512, 128)


def test_launches_other_than_the_first_are_hidden_until_chosen() -> None:
    page = Page(render_html(sample(), charts="static"))
    blocks = [one for one in page.find("div", class_="per-launch") if "data-launch" in one.attrs]
    assert {one.attrs["data-launch"] for one in blocks} == {"0", "1"}
    for one in blocks:
        assert ("hidden" in one.attrs) == (one.attrs["data-launch"] != "0")
    (noscript,) = page.find("noscript")
    assert ".per-launch[hidden]{display:block!important}" in noscript.all_text()


def test_provenance_names_inputs_tools_choices_and_defaults() -> None:
    table = rows(section(sample(), "provenance"))
    assert ["matmul.cu", "CUDA source", "983", "3f" * 32] in [[*row[:2], "983", *row[3:]] for row in table]
    assert ["nvcc", "13.0.88", "-lineinfo -arch=sm_80 -O3"] in table
    assert ["block", "16 × 16", "comment in the source", "--block"] in table
    assert ["argument n", "int 64", "command line", "--arg n=…"] in table
    assert [
        "GPU model",
        "A100-SXM4-40GB",
        "default for the architecture; numbers from vendor data sheet",
        "--gpu",
    ] in table
    assert ["--kernel", "matmul", "given"] in table
    assert ["--value-budget", "250,000 bytes of register values and memory data", "default"] in table
    context = provenance.context({})
    assert context is not None
    assert context["inputs"] == []


def test_every_option_of_a_report_has_its_line() -> None:
    from dataclasses import fields

    from warpglass.options import ReportOptions

    listed = {name for name, _, _ in provenance._OPTIONS}
    launch = {"grid", "block", "cluster", "shared_bytes", "args"}
    assert {field.name for field in fields(ReportOptions)} == listed | launch


def test_notes_are_markdown_without_html() -> None:
    report = sample()
    report["notes"] = (
        "# Title\n<b onclick=x>raw</b> [l](javascript:alert(1)) ![i](https://x.example/i.png) *it*\n"
    )
    made = section(report, "notes")
    text = made.all_text()
    assert "<b onclick=x>raw</b>" in text
    assert "Title" in [child.all_text() for child in made.children[1].children if child.tag == "h3"]
    inside = made.children[1].children[1].children
    assert [(one.tag, one.attrs.get("href")) for one in inside] == [
        ("a", "https://x.example/i.png"),
        ("em", None),
    ]
    assert inside[0].attrs["rel"] == "noreferrer noopener"


BLOCKS = [
    {"type": "markdown", "text": "*hello* <i>"},
    {
        "type": "numbers",
        "numbers": [
            {"name": "time", "value": 1.5, "unit": "ms", "evidence": "measured"},
            {
                "name": "rate",
                "value": None,
                "unit": "%",
                "evidence": "modelled",
                "why_unknown": "no cache model",
            },
        ],
    },
    {"type": "table", "caption": "T", "columns": ["a", "b"], "rows": [["x", 12345], [None, "<u>"]]},
    {"type": "code", "language": "cuda", "text": "int x;\nfloat y;"},
    {
        "type": "bars",
        "caption": "B",
        "items": [{"label": "one", "value": 3}, {"label": "</svg>", "value": 1}],
    },
    {
        "type": "chart",
        "caption": "C",
        "figure": {"data": [{"type": "scatter", "x": [1], "y": [2]}], "layout": {}},
    },
    {"type": "who knows", "text": "later version"},
]


def test_a_users_section_is_drawn_before_provenance() -> None:
    report = sample()
    report["sections"] = [{"id": "my-part", "title": "My <part>", "data": {"blocks": BLOCKS}}]
    html = render_html(report, charts="plotly")
    page = Page(html)
    assert page.problems == []
    assert [one.attrs["data-section"] for one in page.find("section")][-2:] == ["my-part", "provenance"]
    mine = page.by_id("sec-my-part")
    text = mine.all_text()
    for expected in ("My <part>", "hello <i>", "1.5", "unknown", "12,345", "<u>", "float y;", "</svg>"):
        assert expected in text
    assert any("no cache model" in (one.attrs.get("title") or "") for one in page.find("span"))
    assert [
        one.attrs["data-chart"]
        for one in page.find("figure")
        if "my-part" in (one.attrs.get("data-chart") or "")
    ] == [
        "my-part-4",
        "my-part-5",
    ]


@pytest.mark.parametrize("data", [None, {}, {"blocks": []}, {"blocks": [{"type": "who knows"}]}, "text", 5])
def test_a_section_without_data_is_absent(data: Any) -> None:
    assert custom.context({"id": "x", "title": "x", "data": data}) is None


def test_advice_is_absent_without_data_and_three_pieces_stand_in_the_verdict() -> None:
    report = sample()
    assert "sec-advice" not in render_html(report, charts="static")
    pieces = [
        {"title": f"Piece {n}", "text": "do it", "evidence": "static", "source": 0, "line": 13}
        for n in range(5)
    ]
    report["sections"] = [{"id": "advice", "title": "Advice", "data": {"launches": [pieces, []]}}]
    assert section(report, "advice").all_text().count("Piece") == 5
    assert section(report, "verdict").all_text().count("Piece") == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"), (0, "0"), (1234567, "1,234,567"), (0.5, "0.5"), (12.3456, "12.35"),
        (1e-9, "1.00e-09"),
        (123456.7, "123,457"), (2.0, "2"), (1e15, "1,000,000,000,000,000"), ("2^60", "2^60"), (True, "True"),
    ],
)  # fmt: skip
def test_numbers_for_people(value: Any, text: str) -> None:
    assert view.num(value) == text


def test_small_readers() -> None:
    assert view.dim([4, 4, 1]) == "4 × 4"
    assert view.dim([1, 1, 1]) == "1"
    assert view.dim([1, 1, 2]) == "1 × 1 × 2"
    assert view.dim(None) == "unknown"
    assert view.weakest("executed", "modelled", "measured") == "modelled"
    assert view.weakest("measured", "static") == "static"
    assert view.fragment(2, isa="sass", line=("a b&", 3)) == "#v=1&n=2&i=sass&l=a%20b%26:3"
    assert view.fragment(0, line=(None, 3)) == "#v=1&n=0"


def test_launches_show_all_shared_memory_and_the_verdict_in_few_words() -> None:
    report = sample()
    report["launches"][0]["launch"]["shared_bytes"] = 1024
    said = {"text": "Memory-bound: device memory takes longest.", "evidence": "modelled"}
    report["sections"].append({"id": "verdict", "title": "Verdict", "data": {"launches": [said]}})
    row = (launches.context(report) or {})["rows"][0]
    assert row["shared"] == {"value": 3072, "note": "", "title": "2,048 bytes static, 1,024 dynamic"}
    assert row["limiter"] == "Memory-bound"
    del report["launches"][0]["compile"]
    assert (launches.context(report) or {})["rows"][0]["shared"]["note"] == "dynamic"


def test_a_finding_of_the_whole_launch_has_no_step() -> None:
    report = sample()
    one = {
        "kind": "idle-lanes", "severity": "info", "category": "divergence", "message": "few", "count": 4,
        "evidence": "executed",
    }  # fmt: skip
    report["launches"][0]["runs"][0]["findings"] = [one, {**one, "pc": 2}]
    table = rows(section(report, "findings"))
    assert [row[3] for row in table[1:3]] == ["whole launch", "pc 2"]
    assert [row[6] for row in table[1:3]] == ["–", "not traced"]


def test_words_of_places_and_sentences() -> None:
    assert view.place([0, 2, 1]) == "(0, 2, 1)"
    assert view.place(None) == "unknown"
    assert view.sentence("each iteration waits") == "Each iteration waits"
    assert view.sentence("cp.async copies") == "cp.async copies"
    assert view.sentence("16 blocks") == "16 blocks"
    assert view.sentence("") == ""


def test_bars_give_long_labels_their_room() -> None:
    drawn = svg.bars([svg.Bar("shared-memory wavefronts", 3), svg.Bar("issue", 1)], "Cycles")
    assert "shared-memory wavefronts</text>" in drawn
    assert 'x="162.4"' in drawn  # 24 letters of 6.6 and 12 before the bars, 8 between text and bar


def test_a_section_of_loops_only_where_a_kernel_has_one() -> None:
    none = {"loops": None}
    assert diagnosis.merge_sections([], [none, none]) == []
    with_loop = {"loops": {"blocks": [{"type": "markdown", "text": "a loop"}]}}
    (made,) = diagnosis.merge_sections([], [none, with_loop])
    first, second = made["data"]["launches"]
    assert first["blocks"][0]["text"] == "The kernel has no loop."
    assert second == with_loop["loops"]


def test_labels_of_curves_stay_short_and_name_one_pair_of_numbers() -> None:
    names = ("BF16 tensor", "FP16 tensor, FP32 sum", "FP16 tensor, FP16 sum")
    curves = [{"name": name, "x": [1, 10, 100], "y": [100, 1000, 1000]} for name in names]
    point = {"name": "attainable", "x": 10.5, "y": 16587}
    drawn = plots.lines_svg({"type": "lines", "log": True, "series": curves, "points": [point]})
    assert "</title>BF16 tensor and 2 more</text>" in drawn
    assert "FP16 tensor, FP32 sum; FP16 tensor, FP16 sum</title>" in drawn
    assert "attainable: 16,587 at 10.5" in drawn


def test_more_curves_than_colours_differ_by_their_dashes() -> None:
    curves = [{"name": f"roof {i}", "x": [1, 10], "y": [i + 1, i + 2], "main": i == 7} for i in range(8)]
    points = [{"name": "attainable", "x": 2, "y": 3}, {"name": "achieved", "x": 2, "y": 1}]
    block = {"type": "lines", "series": curves, "points": points}
    lines = [d["line"] for d in plots.lines_spec(block)["data"] if d["mode"] == "lines"]
    assert len({(line["color"], line["dash"]) for line in lines}) == 8
    assert [line["width"] for line in lines] == [2] * 7 + [4]
    symbols = [d["marker"]["symbol"] for d in plots.lines_spec(block)["data"] if d["mode"] == "markers"]
    assert symbols == ["circle", "diamond"]
    drawn = plots.lines_svg(block)
    assert drawn.count("stroke-dasharray") == 2
    assert (drawn.count("<circle"), drawn.count('class="s2" d="M')) == (1, 1)


def test_formulas_are_no_emphasis() -> None:
    from warpglass.report.prose import markdown_html

    html = str(markdown_html("Problem: gemm. `flops = 2*batch*m*n*k`. Source: M\\*N\\*K multiply-adds."))
    assert "<em>" not in html
    assert "2*batch*m*n*k" in html


def test_a_critical_finding_stands_beside_the_limiter() -> None:
    report = sample()
    said = {"text": "Memory-bound: device memory takes longest.", "evidence": "modelled"}
    report["sections"].append({"id": "verdict", "title": "Verdict", "data": {"launches": [said, said]}})
    for launch in report["launches"]:
        launch["runs"][0]["findings"] = []
    report["launches"][1]["runs"][0]["findings"] = [
        {
            "kind": "memcheck", "severity": "critical", "category": "memory", "count": 1,
            "message": "global read is out of bounds", "evidence": "executed", "source": 0, "line": 12,
        }
    ]  # fmt: skip
    quiet, loud = (verdict.context(report) or {})["cards"]
    assert quiet["alarm"] is None
    assert loud["alarm"]["text"] == "global read is out of bounds"
    text = " ".join(section(report, "verdict").all_text().split())
    assert "critical memcheck: global read is out of bounds line 12 executed" in text

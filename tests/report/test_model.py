from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from page import Page
from sample import sample

from warpglass.errors import InputError, UsageError
from warpglass.report.markdown import render_markdown
from warpglass.report.model import Report, Section
from warpglass.report.render import render_html

HOSTILE = "a|b`c`\n<script>alert(1)</script> [x](javascript:1) @someone https://x.example #5 *b* \u202e"


def test_json_and_page_survive_the_round_trip_byte_for_byte(tmp_path: Path) -> None:
    report = Report(sample())
    report.add(Section.of("extra", "Extra", {"type": "markdown", "text": "more"}))
    saved = report.render(tmp_path / "report.json")
    again = Report.load(saved)
    assert again.to_json() == report.to_json() == saved.read_text(encoding="utf-8")
    first = report.render(tmp_path / "a.html", charts="static").read_bytes()
    second = again.render(tmp_path / "b.HTML", charts="static").read_bytes()
    assert first == second == render_html(again.data, charts="static").encode()
    assert b"\r" not in first


def test_sections_are_those_of_the_page() -> None:
    report = Report(sample())
    report.add(Section.of("mine", "Mine", {"type": "markdown", "text": "x"}))
    page = Page(report.to_html(charts="static"))
    assert [one.id for one in report.sections] == [one.attrs["data-section"] for one in page.find("section")]
    (mine,) = [one for one in report.sections if one.id == "mine"]
    assert mine.data == {"blocks": [{"type": "markdown", "text": "x"}]}


@pytest.mark.parametrize("name", ["", "Upper", "a b", "<x>", "1x", "x" * 80])
def test_an_id_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be added"):
        Report(sample()).add(Section(name, "x"))


def test_a_section_is_added_once() -> None:
    report = Report(sample()).add(Section("x", "X"))
    with pytest.raises(UsageError, match="already"):
        report.add(Section("x", "X"))


def test_a_report_is_a_copy() -> None:
    data = sample()
    Report(data).add(Section("x", "X"))
    assert data == sample()


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '{"schema": "other"}', "[" * 100_000])
def test_what_is_no_report_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        Report.from_json(text)


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        Report.load(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match="cannot be read"):
        Report.load(tmp_path / "latin.json")
    with pytest.raises(UsageError, match=r"\.html, \.json or \.md"):
        Report(sample()).render(tmp_path / "report.pdf")
    with pytest.raises(UsageError, match="cannot write"):
        Report(sample()).render(tmp_path / "no" / "such" / "report.json")


def test_markdown_says_what_the_page_says() -> None:
    text = render_markdown(sample())
    html = MarkdownIt("commonmark").enable("table").render(text)
    for expected in (
        "<h1>Tiled matrix product, 64 × 64 × 64</h1>",
        "<h2><code>void matmul&lt;16&gt;(float const*, float const*, float*, int)</code></h2>",
        "<td>3,584</td>",
        "<td>16.00×</td>",
        "<td>matmul.cu:13</td>",
        "Stopped early: instruction budget of 200 reached",
        "so far: executed, 1 of 4 blocks",
    ):
        assert expected in html
    assert text.endswith("\n")


def test_hostile_text_stays_text_in_markdown() -> None:
    report = sample()
    report["title"] = HOSTILE
    launch = report["launches"][0]
    launch["kernel"]["demangled"] = launch["label"] = HOSTILE
    launch["runs"][0]["findings"][0]["message"] = HOSTILE
    text = render_markdown(report)
    clean = MarkdownIt("commonmark", {"html": True}).enable("table").render(render_markdown(sample()))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<script" not in html
    assert "<a " not in html
    assert "@someone" not in text
    assert "https://" not in text
    assert "\u202e" not in text
    for tag in ("<td>", "<tr>", "<table>", "<h2>"):
        assert html.count(tag) == clean.count(tag)

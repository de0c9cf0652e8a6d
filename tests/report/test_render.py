from __future__ import annotations

import base64
import copy
import json
import re
import zlib
from typing import Any

import numpy as np
import pytest
from page import Page, script_hash
from sample import sample

from warpglass.errors import InputError, UsageError
from warpglass.report.bundle import bundle
from warpglass.report.json_writer import pretty
from warpglass.report.pack import unpack_column
from warpglass.report.render import content_policy, page_sections, render_html, stylesheet
from warpglass.resources import resource_dir

HOSTILE = (
    "</script></style><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \u2028\u202e\x00'\"&{{7*7}}"
)


@pytest.fixture(scope="module")
def static_page() -> Page:
    return Page(render_html(sample(), charts="static"))


def test_the_page_is_well_formed(static_page: Page) -> None:
    assert static_page.problems == []
    assert static_page.comments == []
    ids = [one.attrs["id"] for one in static_page.elements if "id" in one.attrs]
    assert len(ids) == len(set(ids))


def test_every_reference_inside_the_page_leads_somewhere(static_page: Page) -> None:
    ids = {one.attrs["id"] for one in static_page.elements if "id" in one.attrs}
    for one in static_page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for", "aria-controls"):
            for target in (one.attrs.get(name) or "").split():
                assert target in ids
        href = one.attrs.get("href") or ""
        if href.startswith("#") and not href.startswith("#v=1"):
            assert href[1:] in ids


def test_sections_stand_in_page_order_with_their_headings(static_page: Page) -> None:
    shown = [one.attrs["data-section"] for one in static_page.find("section")]
    order = ["launches", "verdict", "notes", "findings", "mix", "provenance"]
    assert [name for name in shown if name in order] == order
    for section in static_page.find("section"):
        heading = static_page.by_id(section.attrs["aria-labelledby"] or "")
        assert (heading.tag, heading.parent) == ("h2", section)
    toc = [one.attrs["data-toc"] for one in static_page.elements if "data-toc" in one.attrs]
    assert toc == shown


def test_the_policy_names_the_one_script_that_runs(static_page: Page) -> None:
    runs = [one for one in static_page.find("script") if "type" not in one.attrs]
    assert len(runs) == 1
    assert static_page.policy == (
        f"default-src 'none'; script-src 'sha256-{script_hash(runs[0].text)}' 'strict-dynamic'; "
        "style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    others = {one.attrs.get("type") for one in static_page.find("script")} - {None}
    assert others <= {"application/json", "application/octet-stream"}
    assert content_policy().split("; ")[1] == "script-src 'none'"


def test_nothing_points_outside_and_no_handler_is_inline(static_page: Page) -> None:
    for one in static_page.elements:
        assert not any(name.startswith("on") for name in one.attrs)
        assert one.tag not in {"link", "iframe", "object", "embed", "base", "form", "img"}
        assert "src" not in one.attrs
        assert not re.match(r"(https?:)?//", one.attrs.get("href") or "")
    assert "url(" not in stylesheet()
    assert "@import" not in stylesheet()


def test_the_page_holds_the_whole_report_packed(static_page: Page) -> None:
    report, data = sample(), static_page.data
    columns = data["launches"][0]["runs"][0]["traces"][0]["columns"]
    for name, column in report["launches"][0]["runs"][0]["traces"][0]["columns"].items():
        assert unpack_column(columns[name]) == column
    data["launches"] = report["launches"]
    assert data == report


def test_the_page_depends_on_the_json_value_alone() -> None:
    report = sample()
    first = render_html(report, charts="static")
    assert render_html(json.loads(pretty(report)), charts="static") == first
    assert render_html(_reversed(report), charts="static") == first
    trace = report["launches"][0]["runs"][0]["traces"][0]
    trace["columns"] = {name: np.array(column, np.uint32) for name, column in trace["columns"].items()}
    report["launches"][0]["launch"]["grid"] = tuple(report["launches"][0]["launch"]["grid"])
    before = copy.deepcopy(report["options"])
    assert render_html(report, charts="static") == first
    assert report["options"] == before


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def test_charts_add_the_library_once_and_static_leaves_it_out() -> None:
    static, live = render_html(sample(), charts="static"), render_html(sample(), charts="plotly")
    assert 'id="wg-plotly"' not in static
    assert "data-chart=" not in static.split("<script")[0]
    assert live.count('id="wg-plotly"') == 1
    assert 0 < len(live.encode()) - len(static.encode()) <= 2_100_000
    assert len(static.encode()) <= 700_000
    page = Page(live)
    figures = [one for one in page.find("figure") if "data-chart" in one.attrs]
    assert figures
    for figure in figures:
        (spec,) = [one for one in figure.children if one.tag == "script"]
        assert set(json.loads(spec.text)) == {"data", "layout"}
        assert "<svg" in live
    assert len(Page(static).find("figure")) == len(page.find("figure"))


def test_the_reports_own_option_chooses_the_charts() -> None:
    report = sample()
    report["options"]["charts"] = "static"
    assert 'id="wg-plotly"' not in render_html(report)
    with pytest.raises(UsageError, match="charts is 'none'"):
        render_html(report, charts="none")


def test_hostile_names_and_sources_stay_text() -> None:
    report = _poison(sample())
    for index, source in enumerate(report["sources"]):
        source["id"] = index
    html = render_html(report, charts="static")
    page = Page(html)
    clean = Page(render_html(sample(), charts="static"))
    assert page.problems == []
    assert page.comments == []
    for tag in ("script", "style", "img", "section", "iframe"):
        assert len(page.find(tag)) == len(clean.find(tag)), tag
    assert "49" not in page.find("title")[0].text
    for character in "\u2028\u202e\x00":
        assert character not in html
    assert "<script>alert(1)</script>" in page.by_id("sec-verdict").all_text()
    assert page.data["launches"][0]["kernel"]["demangled"] == HOSTILE
    assert page.data["sources"][0]["text"].startswith(HOSTILE)


#: Members whose values are words of the schema or keys that other members refer to.
_KEEP = frozenset(
    ["schema", "isa", "severity", "evidence", "kind", "operation", "sha256", "language", "source", "space"]
)


def _poison(value: Any, key: str = "") -> Any:
    """Every free text of the report replaced by, or preceded by, the hostile one."""
    if isinstance(value, dict):
        return {name: _poison(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_poison(item, key) for item in value]
    if isinstance(value, str) and key == "text":
        return f"{HOSTILE}\n{value}"
    return HOSTILE if isinstance(value, str) and key not in _KEEP else value


def test_lone_surrogates_and_odd_numbers_do_not_break_the_page() -> None:
    report = sample()
    report["title"] = "a\ud800b"
    report["launches"][0]["runs"][0]["numbers"][0]["value"] = float("inf")
    html = render_html(report, charts="static")
    assert "a\\ud800b" in html.encode("utf-8").decode()
    assert Page(html).data["launches"][0]["runs"][0]["numbers"][0]["value"] is None


MINIMAL: dict[str, Any] = {
    "schema": "warpglass-report/1",
    "tool": {"name": "warpglass", "version": "0"},
    "launches": [],
}


def test_a_report_without_launches_is_a_page() -> None:
    page = Page(render_html(MINIMAL))
    assert page.problems == []
    assert [one.attrs["data-section"] for one in page.find("section")] == ["provenance"]
    assert page.find("title")[0].text == "Report · Warpglass"


def test_a_launch_that_could_not_be_executed_is_a_page() -> None:
    launch = {"kernel": {"name": "k"}, "launch": {"grid": [1, 1, 1], "block": [32, 1, 1]}, "runs": []}
    page = Page(render_html({**MINIMAL, "launches": [launch]}))
    text = page.by_id("sec-verdict").all_text()
    assert "not decided: needs an execution of this launch" in text
    assert "unknown architecture" in text
    ids = [section.id for section in page_sections({**MINIMAL, "launches": [launch]})]
    assert "findings" not in ids
    assert "mix" not in ids


def test_a_run_with_the_least_it_may_have_is_a_page() -> None:
    run = {"isa": "ptx", "complete": True, "blocks": {"executed": 1, "total": 1}}
    launch = {"kernel": {"name": "k"}, "launch": {"grid": [1, 1, 1], "block": [32, 1, 1]}, "runs": [run]}
    page = Page(render_html({**MINIMAL, "launches": [launch]}))
    assert page.problems == []
    assert "unknown" in page.by_id("sec-verdict").all_text()


def test_what_is_no_report_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="not a report"):
        render_html({"schema": "warpglass-report/1", "launches": 5})


def test_the_script_of_the_page_is_the_joined_one() -> None:
    page = Page(render_html(sample(), charts="static"))
    (starter,) = [one for one in page.find("script") if "type" not in one.attrs]
    assert starter.text.strip() == bundle(resource_dir("static_js"), "loader.js").strip()
    scripts = page.find("script")
    packed = scripts[scripts.index(starter) - 1]
    code = zlib.decompress(base64.b64decode(packed.text), wbits=31).decode()
    assert code == f"(() => {{ 'use strict';\n{bundle(resource_dir('static_js'))}}})();\n"


def test_both_dark_palettes_are_one() -> None:
    css = (resource_dir("templates") / "css" / "00-tokens.css").read_text(encoding="utf-8")
    system = re.search(r':root:not\(\[data-theme="light"\]\) \{(.*?)\}', css, re.DOTALL)
    chosen = re.search(r':root\[data-theme="dark"\] \{(.*?)\}', css, re.DOTALL)
    light = re.search(r"^:root \{(.*?)\}", css, re.DOTALL | re.MULTILINE)
    assert system
    assert chosen
    assert light
    names = [re.findall(r"(--[\w-]+):\s*([^;]+);", block.group(1)) for block in (system, chosen, light)]
    assert names[0] == names[1]
    assert {name for name, _ in names[2]} == {name for name, _ in names[0]}


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEXT = (
    "fg", "muted", "faint", "accent", "critical", "warning", "info", "good", "ev-measured", "ev-executed",
    "ev-modelled", "ev-static",
)  # fmt: skip
CODE = (
    "code-fg", "code-comment", "code-keyword", "code-type", "code-name", "code-number", "code-string",
    "code-register", "code-preproc", "code-control",
)  # fmt: skip
MARKS = (
    "state-issue", "state-memory", "state-barrier", "state-diverged", "border-strong", "focus",
    "series-1", "series-2", "series-3", "series-4", "series-5", "series-6",
)  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_have_the_contrast_of_wcag_aa(theme: int) -> None:
    css = (resource_dir("templates") / "css" / "00-tokens.css").read_text(encoding="utf-8")
    blocks = re.findall(r"\{[^{}]*--bg:[^{}]*\}", css)
    colors = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", blocks[theme]))
    for name in TEXT:
        for ground in ("bg", "panel", "panel-2"):
            assert _contrast(colors[name], colors[ground]) >= 4.5, (name, ground)
    for name in ("fg", "critical"):
        assert _contrast(colors[name], colors["critical-soft"]) >= 4.5
    for name in ("fg", "warning", "ev-modelled", "ev-executed"):
        assert _contrast(colors[name], colors["warning-soft"]) >= 4.5
    for name in CODE:
        for ground in ("code-bg", *(f"heat-{level}" for level in range(4))):
            assert _contrast(colors[name], colors[ground]) >= (4.5 if ground == "code-bg" else 3), (
                name,
                ground,
            )
    for name in MARKS:
        assert _contrast(colors[name], colors["panel"]) >= 3, name

"""The page in a real browser: the fold, no network, no violation, charts, hostile text, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sample import sample
from test_render import HOSTILE, _poison

from warpglass.report.gallery import write_gallery
from warpglass.report.render import render_html

pytestmark = pytest.mark.browser


@pytest.fixture
def browser(chromium: Any) -> Any:
    """The session's browser."""
    return chromium


class Watched:
    """A page that remembers everything a page should not do."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1366, "height": 768}, **options})
        self.page = self.context.new_page()
        self.bad: list[str] = []
        self.page.on(
            "console", lambda one: self.bad.append(one.text) if one.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda one: self.bad.append(str(one)))
        self.page.on("dialog", lambda one: (self.bad.append("dialog"), one.dismiss()))
        self.page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file:", "blob:", "data:")):
            self.bad.append(request.url)

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render_html(sample(), charts="plotly"), encoding="utf-8")
    return path


@pytest.mark.parametrize("launches", [1, 2, 4, 12])
def test_above_the_fold_without_javascript(browser: Any, tmp_path: Path, launches: int) -> None:
    report = sample()
    report["launches"] = [report["launches"][min(index, 1)] for index in range(launches)]
    pieces = [{"title": f"Piece {n}", "text": "does a thing " * 6, "evidence": "static"} for n in range(3)]
    report["sections"] = [{"id": "advice", "title": "Advice", "data": {"launches": [pieces]}}]
    made = tmp_path / "report.html"
    made.write_text(render_html(report, charts="static"), encoding="utf-8")
    watched = Watched(browser, java_script_enabled=False)
    page = watched.open(made)
    parts = [
        ".kernel",
        ".where",
        ".limiter-text",
        ".tile >> nth=0",
        ".tile >> nth=3",
        ".facts",
        ".advice-short",
    ]
    for selector in parts:
        box = page.locator(f"#sec-verdict .per-launch >> nth=0 >> {selector}").first.bounding_box()
        assert box is not None, selector
        assert box["y"] + box["height"] <= 768, selector
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1366, selector
    # The other launches are all there to read.
    assert page.locator("#sec-verdict .per-launch:visible").count() == launches
    assert not page.locator(".bar-tools").is_visible()
    assert watched.bad == []


@pytest.mark.parametrize("width", [360, 760, 1366, 2560])
def test_the_page_never_scrolls_sideways(browser: Any, made: Path, width: int) -> None:
    page = Watched(browser, viewport={"width": width, "height": 768}).open(made)
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_charts_start_when_seen_and_stay_inside_the_policy(browser: Any, made: Path) -> None:
    watched = Watched(browser)
    page = watched.open(made)
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("typeof Plotly") == "undefined"
    page.locator("figure[data-chart=mix-0]").scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-chart=mix-0] .chart-live .main-svg", timeout=20_000)
    assert not page.locator("figure[data-chart=mix-0] .chart-static").is_visible()
    fill = "getComputedStyle(document.querySelector('[data-chart=mix-0] .chart-live .point path')).fill"
    page.wait_for_selector("[data-chart=mix-0] .chart-live .point path")
    before = page.evaluate(fill)
    page.locator("[data-action=theme]").click()
    page.wait_for_function(f"{fill} !== {before!r}")
    assert watched.bad == []


def test_hostile_text_runs_nothing(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(render_html(_poison(sample()), charts="plotly"), encoding="utf-8")
    watched = Watched(browser)
    page = watched.open(path)
    page.wait_for_selector("html[data-ready]")
    page.locator("figure[data-chart=mix-0]").scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-chart=mix-0] .main-svg", timeout=20_000)
    assert page.locator("img").count() == 0
    assert "<script>alert(1)</script>" in page.locator(".kernel").first.inner_text()
    assert watched.bad == []
    assert "\u202e" in HOSTILE
    assert "\u202e" not in page.locator("body").inner_text()


def test_print_shows_all_and_no_controls(browser: Any, made: Path) -> None:
    watched = Watched(browser)
    page = watched.open(made)
    page.wait_for_selector("html[data-ready]")
    page.locator("figure[data-chart=mix-0]").scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-chart=mix-0] .main-svg", timeout=20_000)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("figure[data-chart=mix-0] .chart-static").is_visible()
    assert not page.locator(".bar").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf()[:5] == b"%PDF-"


def test_gallery_finds_by_words_and_reads_without_javascript(browser: Any, tmp_path: Path) -> None:
    other = sample()
    other["launches"], other["title"] = other["launches"][1:], "Cut short"
    write_gallery([("one", sample()), ("two", other)], tmp_path, charts="static")
    watched = Watched(browser)
    page = watched.open(tmp_path / "index.html")
    page.keyboard.press("/")
    page.keyboard.type("cut SM_80")
    assert page.locator(".card:visible").count() == 1
    assert page.locator("#wg-found").inner_text() == "1 of 2 reports"
    page.locator(".card:visible a").click()
    page.wait_for_selector("#sec-verdict")
    assert page.url.endswith("two.html")
    assert watched.bad == []
    plain = Watched(browser, java_script_enabled=False).open(tmp_path / "index.html")
    assert plain.locator(".card:visible").count() == 2
    assert plain.locator("#wg-search:visible").count() == 0

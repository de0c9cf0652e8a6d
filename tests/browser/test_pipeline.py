"""The pipeline section in a browser: sliders, words, following a tile, markers, the address, no script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutlass.small import GOOD
from warpglass.api import make_report
from warpglass.options import ReportOptions

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(site: Path) -> str:
    header = site / "mainloop.hpp"
    header.write_text(GOOD, encoding="utf-8")
    report = make_report([header], ReportOptions(charts="static"))
    (site / "pipeline.html").write_text(report.to_html(), encoding="utf-8")
    return "pipeline.html"


SET = """([name, value]) => {
  const input = document.querySelector(`[data-knob=${name}] input`);
  input.value = value;
  input.dispatchEvent(new Event('input'));
}"""


def test_sliders_redraw_and_live_in_the_address(visit: Callable[..., Any], page_file: str) -> None:
    page = visit(page_file)
    words = page.locator(".pl-words")
    assert "Total 185" in words.inner_text()
    page.evaluate(SET, ["S", 5])
    assert "Total 158" in words.inner_text()
    page.wait_for_selector(".pl-live .pl-curve >> nth=1")
    for _ in range(50):
        if "S%3A5" in page.evaluate("location.hash"):
            break
        page.wait_for_timeout(100)
    again = visit(page_file, page.evaluate("location.hash"))
    assert "Total 158" in again.locator(".pl-words").inner_text()


def test_another_schedule(visit: Callable[..., Any], page_file: str) -> None:
    page = visit(page_file)
    page.locator(".pl-live select").select_option(label="SM90 cooperative")
    assert "Total 361" in page.locator(".pl-words").inner_text()
    page.evaluate(SET, ["S", 1])
    assert "does not end" in page.locator(".pl-words").inner_text()


def test_a_click_follows_one_tile_to_its_lines(visit: Callable[..., Any], page_file: str) -> None:
    page = visit(page_file)
    canvas = page.locator(".pl-canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    told = page.locator(".pl-follow").inner_text()
    for piece in (
        "acquired",
        "TMA A issued",
        "landed",
        "found full",
        "MMA starts",
        "MMA retires",
        "released",
    ):
        assert piece in told
    assert "mainloop.hpp, line" in page.locator(".pl-source").inner_text()
    assert "tensor core: MMA" in page.locator(".pl-detail").inner_text()
    page.get_by_role("button", name="Marker A").click()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Marker B").click()
    assert "B − A =" in page.locator(".pl-detail").inner_text()


def test_without_a_script(visit: Callable[..., Any], page_file: str) -> None:
    page = visit(page_file, java_script_enabled=False)
    assert page.locator(".pl-static svg").is_visible()
    assert page.locator(".pl-critical").is_visible()


def test_no_axe_violation(visit: Callable[..., Any], page_file: str, axe_source: str) -> None:
    page = visit(page_file)
    page.evaluate(axe_source)
    result = page.evaluate("axe.run(document.querySelector('#sec-pipeline'))")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in result["violations"]] == []

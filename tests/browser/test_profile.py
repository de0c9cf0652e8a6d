"""A profile in the browser: packed launches, baselines, search, heat, sorting, launches without a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ncu.made_hostile import hostile_report
from ncu.made_rooflines import roofline_report
from ncu.writer import small_report
from warpglass.api import make_report
from warpglass.options import ReportOptions

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]


def until(page: Any, expression: str) -> None:
    """Waits for an expression to hold."""
    end = time.monotonic() + 10
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(30)


@pytest.fixture
def page(visit: Visit, site: Path, tmp_path: Path) -> Any:
    """Six profiled launches of one kernel, opened."""
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(small_report(6))
    make_report([path], ReportOptions(charts="static")).render(site / "profile.html")
    return visit("profile.html")


CELLS = "document.querySelectorAll('#sec-{} .per-launch[data-launch=\"{}\"] td[data-m]').length"


def test_launches_are_unpacked_when_chosen(page: Any) -> None:
    assert page.evaluate(CELLS.format("profile", 4)) == 0
    page.select_option("#wg-launch", "4")
    until(page, CELLS.format("profile", 4) + " > 3")
    until(page, CELLS.format("metrics", 4) + " > 10")
    row = page.locator("#sec-metrics .per-launch[data-launch='4'] tr", has_text="gpu__time_duration.sum")
    assert "15.2" in row.inner_text()
    assert page.locator("#sec-stepper").count() == 0


def test_a_baseline_puts_differences_into_every_table(page: Any) -> None:
    page.select_option("#wg-launch", "5")
    page.select_option("#wg-baseline", "launch:0")
    until(page, "document.querySelectorAll('#sec-profile .delta').length > 2")
    until(page, "document.querySelectorAll('#sec-metrics .delta').length > 5")
    assert page.locator("#wg-baseline-note").inner_text() == "differences to launch 1"
    page.select_option("#wg-baseline", "")
    until(page, "document.querySelectorAll('.delta').length === 0")


#: Tables of the page that show numbers but hold no difference.
LEFT_OUT = """[...document.querySelectorAll('section table, section dl.pairs, ul.tiles')]
  .filter((one) => one.offsetParent)
  .filter((one) => /launches|verdict|profile|metrics|comparison|occupancy|roofline|loops|bottleneck/
    .test(one.closest('section').id))
  .filter((one) => !one.closest('details:not([open])') && !one.querySelector('.delta'))
  .filter((one) => !one.matches('table')
    || [...one.querySelectorAll('td')].some((cell) => /^[0-9]/.test(cell.textContent)))
  .map((one) => one.closest('section').id + ': ' + one.textContent.slice(0, 60))"""


def test_no_measured_table_is_without_differences(visit: Visit, site: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "new.ncu-rep", tmp_path / "old.ncu-rep"]
    for path in paths:
        path.write_bytes(small_report(3))
    make_report(paths, ReportOptions(charts="static")).render(site / "two.html")
    page = visit("two.html")
    page.select_option("#wg-launch", "1")
    page.select_option("#wg-baseline", "file:1")
    until(page, "document.querySelector('#wg-baseline-note').textContent === 'differences to launch 5'")
    assert page.evaluate(LEFT_OUT) == []
    assert page.locator("#sec-occupancy .per-launch[data-launch='1'] .delta").count() == 5
    # The table of stalls and the lines count too, and launch 2 of 3 is measured like its partner.
    stalls = page.locator("#sec-profile .per-launch[data-launch='1'] table", has_text="Stalled warps")
    assert set(stalls.locator(".delta").all_inner_texts()) == {"±0"}
    row = page.locator("#sec-launches [data-launch-row='4']")
    assert row.locator(".delta").count() == 0  # the baseline's own launches are no differences
    page.select_option("#wg-baseline", "launch:0")
    until(page, "document.querySelector('#wg-baseline-note').textContent === 'differences to launch 1'")
    group = page.locator("#sec-comparison tr", has_text="Duration").first
    # 15,200, 15,201 and 15,202 ns against 15,200: the mean, the least, the most; one launch has no spread.
    assert group.locator(".delta").all_inner_texts() == ["+0.00658 %", "±0", "+0.0132 %"]


def test_a_page_of_many_launches_unpacks_what_is_chosen(visit: Visit, site: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.ncu-rep"
    path.write_bytes(small_report(30))
    make_report([path], ReportOptions(charts="static")).render(site / "many.html")
    page = visit("many.html")
    assert page.locator("#sec-verdict .tile").count() == 4
    page.select_option("#wg-launch", "17")
    page.select_option("#wg-launch", "28")
    until(
        page, "document.querySelectorAll('#sec-verdict .per-launch[data-launch=\"28\"] .tile').length === 4"
    )
    until(page, "document.querySelector('#sec-profile .per-launch[data-launch=\"28\"]').hidden === false")
    for section in ("occupancy", "roofline", "bottleneck", "loops"):
        part = f"#sec-{section} .per-launch[data-launch='28']"
        if page.locator(part).count():
            until(page, f'document.querySelector("{part} table, {part} p:not(.muted)") !== null')
            assert page.locator(f"#sec-{section} .per-launch[data-launch='27'] table").count() == 0
    assert page.locator("#sec-occupancy").count() == 1
    page.locator("#sec-metrics").scroll_into_view_if_needed()
    until(page, CELLS.format("metrics", 28) + " > 10")
    assert (
        page.locator("#sec-metrics [role=region]:visible").get_attribute("aria-label")
        == "Metrics of launch 29"
    )
    page.evaluate("location.hash = '#v=1&n=12'")
    until(page, CELLS.format("profile", 12) + " > 3")


def test_charts_of_a_chosen_launch_are_drawn_and_compared(visit: Visit, site: Path, tmp_path: Path) -> None:
    """Sections of the analysis stand packed as well: their figures and differences come when unpacked."""
    path = tmp_path / "many.ncu-rep"
    path.write_bytes(small_report(26))
    make_report([path], ReportOptions()).render(site / "charts.html")
    page = visit("charts.html")
    page.select_option("#wg-launch", "25")
    chosen = "#sec-occupancy .per-launch[data-launch='25']"
    until(page, f'document.querySelectorAll("{chosen} figure[data-chart]").length === 3')
    page.locator(f"{chosen} figure").first.scroll_into_view_if_needed()
    until(page, f'document.querySelector("{chosen} .chart-live:not([hidden]) svg") !== null')
    page.select_option("#wg-baseline", "launch:3")
    until(page, f'document.querySelectorAll("{chosen} .delta").length === 5')


def test_metrics_are_searched_by_name_and_meaning(page: Any) -> None:
    page.fill("#wg-metric-search", "bytes read")
    until(page, "document.querySelector('#wg-metric-found').textContent.startsWith('1 of')")
    visible = page.locator("#sec-metrics .per-launch[data-launch='0'] tbody tr:visible")
    assert visible.all_inner_texts()[0].startswith("dram__bytes_read.sum")


def test_launches_are_sorted_and_searched(page: Any) -> None:
    page.click("#sec-launches th:has-text('Duration') button")
    page.click("#sec-launches th:has-text('Duration') button")
    first = page.locator("#sec-launches tbody tr").first
    assert first.get_attribute("data-launch-row") == "5"
    page.fill("#wg-launch-search", "nothing like it")
    assert page.locator("#wg-launch-found").inner_text() == "0 of 6"


def test_heat_shows_what_the_profiler_counted(page: Any) -> None:
    page.select_option("#wg-heat", "stall_long_scoreboard")
    cells = page.locator("#sec-code .pane-sass .l .h").all_inner_texts()
    assert cells[:2] == ["10", "30"]
    page.locator("#sec-code .pane-sass .l").nth(1).click()
    until(page, "document.querySelector('.code-detail').textContent.includes('measured: 30 samples')")
    assert "48 of them excess" in page.locator(".code-detail").inner_text()


def test_without_scripts_the_first_launch_is_readable(visit: Visit, site: Path, page: Any) -> None:
    plain = visit("profile.html", java_script_enabled=False)
    text = plain.locator("#sec-profile").inner_text()
    for words in ("First Section", "By hardware tables", "Uncoalesced"):
        assert words in text


#: Words of rooflines that lie on one another or outside their figure; a roof's own text lies along a line.
OVERLAPS = """[...document.querySelectorAll('.fig-roofline')].flatMap((figure) => {
  const words = [...figure.querySelectorAll('text')].filter((one) => !one.hasAttribute('transform'));
  const boxes = words.map((one) => [one.getBoundingClientRect(), one.textContent]);
  const frame = figure.getBoundingClientRect();
  return boxes.flatMap(([a, name], i) => [
    ...(a.left < frame.left - 1 || a.right > frame.right + 1 ? [name] : []),
    ...boxes.slice(i + 1).filter(([b]) => a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 2 && b.top < a.bottom - 2).map(([, other]) => `${name} | ${other}`)]);
})"""


def test_hierarchical_rooflines_are_legible(visit: Visit, site: Path, tmp_path: Path) -> None:
    path = tmp_path / "roofs.ncu-rep"
    path.write_bytes(roofline_report())
    make_report([path], ReportOptions(charts="static")).render(site / "roofs.html")
    page = visit("roofs.html")
    assert page.locator(".fig-roofline").count() == 5
    assert page.evaluate(OVERLAPS) == []
    row = page.locator("table.roofs").nth(2).locator("tbody tr").nth(0)
    assert row.locator("td").all_inner_texts() == [
        "19.35 TFLOP/s", "1.536 TB/s", "12.6", "1.82 TFLOP/s", "3.64", "32.6 %",
    ]  # fmt: skip


def test_hostile_texts_neither_run_nor_widen_the_page(visit: Visit, site: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.ncu-rep"
    path.write_bytes(hostile_report())
    make_report([path], ReportOptions(charts="static")).render(site / "evil.html")
    page = visit("evil.html")
    page.select_option("#wg-launch", "1")
    until(page, CELLS.format("profile", 1) + " > 0")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.pwn") is None
    assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0

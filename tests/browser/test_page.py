"""The page as a reader meets it: quiet, readable, reachable, linkable."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pages
import pytest
from browser_tools import write

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]


def until(page: Any, expression: str, argument: Any = None) -> None:
    """Waits for an expression to hold. Playwright's own way needs eval, which the page's policy forbids."""
    end = time.monotonic() + 10
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(30)


def selection(page: Any) -> dict[str, str]:
    """The fragment, once the page has written it."""
    page.wait_for_timeout(200)
    return dict(
        part.split("=", 1) for part in page.evaluate("location.hash").lstrip("#").split("&") if "=" in part
    )


def test_page_is_quiet_and_whole(visit: Visit) -> None:
    page = visit()
    for section in ("code", "stepper", "schedule", "memory"):
        assert page.locator(f"#sec-{section} h2").count() == 1
    assert page.locator(".mask .lane-cell").count() == 32
    assert page.locator(".wave-canvas").evaluate("c => c.width > 300 && c.height > 60")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_step_forward_and_back_in_one_warp(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert "mov.u32 %r1, %tid.x" in page.locator(".step-instruction").inner_text()
    page.keyboard.press("k")
    assert "[reduce_param_1]" in page.locator(".step-instruction").inner_text()
    assert selection(page)["s"] == "4"


def test_values_addresses_and_reasons(visit: Visit) -> None:
    page = visit(fragment="#v=1&n=0&b=0&w=0&s=155")
    assert "st.shared.f32" in page.locator(".step-instruction").inner_text()
    cells = page.locator(".lane-table tbody tr").nth(3).locator("td").all_inner_texts()
    assert cells == ["12", "268", "0xc"], "address, value and shared address of lane 3"
    assert "diverged: went another way: 8–31" in page.locator(".lane-why").inner_text()
    stack = page.locator(".stack li").all_inner_texts()
    assert len(stack) == 2
    assert "split at reduce.cu:12" in stack[1]
    assert "lanes 8–31 stand at reduce.cu:14" in stack[1]
    assert page.locator(".bank-panel .hit-w").count() == 8
    assert page.locator(".warp-chip").count() == 4


def test_value_formats(visit: Visit) -> None:
    page = visit(fragment="#v=1&w=0&s=155")
    seen = []
    for _ in range(4):
        seen.append(page.locator(".lane-table tbody tr").nth(3).locator("td").nth(1).inner_text())
        page.keyboard.press("v")
    assert seen == ["268", "0x43860000", "1132855296", "268"]


def test_not_recorded_names_its_option(visit: Visit, site: Path) -> None:
    report = pages.reduce_report(1)
    for trace in report["launches"][0]["runs"][0]["traces"]:
        trace["values"] = trace["accesses"] = None
    page = visit(write(site / "poor.html", report).name, "#v=1&w=0&s=155")
    assert "--value-budget" in page.locator(".lane-caption").inner_text()
    assert page.get_by_text("not recorded").count() >= 2
    assert page.get_by_text("were not recorded").count() == 1


@pytest.mark.parametrize(
    ("key", "start", "expect"),
    [
        ("s", 0, "mov.u32 %r1, %tid.x"),
        ("l", 60, "setp.ge.u32 %p1, %r1, %r5"),
        ("d", 140, "@%p1 bra $L_join"),
        ("r", 155, "bar.sync 0"),
        ("b", 60, "bar.sync 0"),
        ("e", 60, "bar.sync 0"),
    ],
)
def test_jumps(visit: Visit, key: str, start: int, expect: str) -> None:
    page = visit(fragment=f"#v=1&w=0&s={start}")
    before = int(selection(page).get("s", start))
    page.keyboard.press(key)
    assert expect in page.locator(".step-instruction").inner_text()
    after = int(selection(page)["s"])
    assert after > before
    page.keyboard.press(key.upper())
    if key != "e":
        assert int(selection(page)["s"]) < after


def test_a_jump_without_a_goal_says_so_on_the_screen(visit: Visit) -> None:
    page = visit(fragment="#v=1&w=3&s=0")
    page.keyboard.press("G")
    last = selection(page)["s"]
    page.keyboard.press("j")
    said = page.locator("#wg-live")
    assert said.inner_text() == "This was the last step."
    assert said.bounding_box()["height"] > 20
    assert selection(page)["s"] == last
    page.keyboard.press("E")
    assert "arrives last" in said.inner_text()


def test_a_step_without_registers_says_what_each_lane_does(visit: Visit) -> None:
    page = visit(fragment="#v=1&w=0&s=60")
    page.keyboard.press("b")
    assert page.locator(".lane-table thead").first.inner_text().split() == ["lane", "state"]
    assert page.locator(".lane-table tbody tr").first.inner_text().split("\t")[-1] == "on"


@pytest.mark.parametrize("script", [True, False])
def test_the_verdict_stays_above_the_fold_with_many_launches(visit: Visit, site: Path, script: bool) -> None:
    report = pages.reduce_report()
    report["launches"] = [copy.deepcopy(report["launches"][0]) for _ in range(12)]
    item = {
        "title": "Do less",
        "text": "a sentence of advice that fills its line " * 4,
        "evidence": "modelled",
    }
    said = "Latency-bound: waiting for dependent instructions takes longest. " * 3
    report["sections"] = [
        *(one for one in report["sections"] if one["id"] not in ("advice", "verdict")),
        {"id": "advice", "title": "Advice", "data": {"launches": [[item] * 4]}},
        {"id": "verdict", "title": "Verdict", "data": {"launches": [{"text": said, "evidence": "modelled"}]}},
    ]
    page = visit(write(site / "many.html", report), java_script_enabled=script)
    shown = page.locator(".advice-short").first
    assert shown.locator("li").count() == 3
    box = shown.bounding_box()
    assert box["y"] + box["height"] <= 768


def test_play_starts_paused_and_stops(visit: Visit) -> None:
    page = visit()
    before = page.locator(".step-instruction").inner_text()
    page.wait_for_timeout(700)
    assert page.locator(".step-instruction").inner_text() == before
    page.select_option("#wg-speed", "120")
    page.keyboard.press("p")
    until(page, "before => document.querySelector('.step-instruction').textContent !== before", before)
    page.keyboard.press("p")
    stopped = page.locator(".step-slider").input_value()
    page.wait_for_timeout(400)
    assert page.locator(".step-slider").input_value() == stopped


def test_every_key_has_a_button_and_does_not_fail(visit: Visit) -> None:
    page = visit(fragment="#v=1&w=0&s=150&l=0:13")
    page.keyboard.press("?")
    assert page.locator("dialog#wg-keys").evaluate("d => d.open")
    listed = page.locator("dialog kbd").all_inner_texts()
    page.keyboard.press("Escape")
    assert len(listed) > 30
    for key in listed:
        buttons = page.locator(f'[data-key="{key}"]')
        assert buttons.count() >= 1, key
        page.keyboard.press(key)
        page.evaluate("document.activeElement?.blur?.(); document.querySelector('dialog[open]')?.close()")
    assert set(listed) >= set("jkgGpowWlLsSdDrRbBeEvaA+-0[],.mMx/fFhunict?")


def test_keys_do_what_they_say_in_the_schedule(visit: Visit) -> None:
    page = visit(fragment="#v=1&w=0&s=150")
    ruler = page.locator(".wave-table caption").first
    until(page, "document.querySelector('.wave-table caption')?.textContent.includes('0 to 95')")
    page.keyboard.press("+")
    until(page, "!document.querySelector('.wave-table caption').textContent.includes('0 to 95')")
    zoomed = ruler.inner_text()
    page.keyboard.press("[")
    until(page, "before => document.querySelector('.wave-table caption').textContent !== before", zoomed)
    page.keyboard.press("0")
    until(page, "document.querySelector('.wave-table caption').textContent.includes('0 to 95')")
    page.keyboard.press("m")
    page.keyboard.press(".")
    page.keyboard.press("M")
    a, b = selection(page)["c"].split("-")
    assert int(a) < int(b)
    assert f"{int(b) - int(a)} rounds apart" in page.locator(".wave-now").inner_text()
    page.keyboard.press("/")
    page.keyboard.type("ld.shared")
    page.keyboard.press("Enter")
    assert "ld.shared" in page.locator(".step-instruction").inner_text()


def test_single_keys_can_be_switched_off(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("?")
    page.locator("#wg-keys-on").uncheck()
    page.keyboard.press("Escape")
    before = page.locator(".step-instruction").inner_text()
    page.keyboard.press("j")
    assert page.locator(".step-instruction").inner_text() == before


def test_lines_light_up_across_panes_by_mouse_and_caret(visit: Visit) -> None:
    page = visit()
    source = page.locator('.pane[data-pane="source"]')
    ptx = page.locator('.pane[data-pane="ptx"]').first
    source.locator(".l").nth(12).hover()
    assert ptx.locator(".l.pv").count() == 5
    source.locator(".l").nth(12).click()
    page.mouse.move(2, 2)
    assert ptx.locator(".l.on").count() == 5
    assert source.locator(".l.fixed b").inner_text() == "13"
    assert source.locator(".l.on").count() == 2, "the inlined function's line lights up too"
    assert selection(page)["l"] == "0:13"
    ptx.locator(".lines").focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert ptx.locator(".l.fixed").count() == 1
    assert source.locator(".l.on").count() >= 1
    assert ptx.locator(".l.on").first.get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".l.on").count() == 0


def test_heat_columns_change_numbers_not_only_colours(visit: Visit) -> None:
    page = visit()
    cell = page.locator('.pane[data-pane="source"] .l').nth(8).locator(".h")
    seen = []
    for _ in range(4):
        seen.append(cell.inner_text())
        page.keyboard.press("h")
    assert len(set(seen)) >= 3
    assert cell.inner_text() == seen[0]


def test_the_help_says_what_a_heat_column_holds(visit: Visit) -> None:
    page = visit()
    what = page.locator(".heat-what")
    first = what.inner_text()
    assert "warp instructions" in first
    for expected in ("sectors", "wavefronts", "lanes off"):
        page.keyboard.press("h")
        assert what.inner_text().startswith(expected)
        assert what.locator(".badge").inner_text() == ("modelled" if expected == "wavefronts" else "executed")
    page.keyboard.press("h")
    assert what.inner_text() == first


def test_deep_links_survive_reload(visit: Visit) -> None:
    page = visit(fragment="#v=1&n=0&k=reduce&i=ptx&b=1&w=2&s=100&c=10-20&l=0:12")
    first = selection(page)
    assert (first["b"], first["w"], first["c"], first["l"]) == ("1", "2", "10-20", "0:12")
    page.keyboard.press("j")
    before = selection(page)
    text = page.locator(".step-instruction").inner_text()
    page.reload()
    page.wait_for_selector(".wave-live[data-ready]", state="attached")
    assert page.locator(".step-instruction").inner_text() == text
    assert page.evaluate("location.hash").endswith(f"s={before['s']}&c=10-20&l=0:12")
    assert page.locator("#wg-note").is_hidden()


@pytest.mark.parametrize(
    "fragment",
    ["#v=1&s=999999", "#v=1&n=77", "#v=9", "#v=1&w=%FF", "#v=1&l=<img src=x>", "#v=1&c=5-1&b=-3&k=nope"],
)
def test_garbage_falls_back_with_a_visible_note(visit: Visit, fragment: str) -> None:
    page = visit(fragment=fragment)
    note = page.locator("#wg-note")
    assert note.is_visible()
    assert "not in this report" in note.inner_text() or "another version" in note.inner_text()
    assert page.locator(".step-instruction").inner_text()
    assert page.locator("#wg-note img").count() == 0


def test_links_within_the_page_move_the_selection(visit: Visit) -> None:
    page = visit()
    page.locator("#sec-findings .steplink").first.click()
    assert selection(page)["s"] == "120"
    page.locator("#sec-memory a[href^='#v=1']").first.click()
    assert selection(page)["l"].startswith("0:")
    page.locator("a[data-toc=code]").click()
    assert page.locator("#wg-note").is_hidden()


def test_choice_of_launch_and_block(visit: Visit) -> None:
    page = visit()
    page.select_option("#wg-block", "1")
    assert selection(page)["b"] == "1"
    page.keyboard.press("n")
    assert selection(page)["n"] == "1"
    assert selection(page)["b"] == "0"
    assert page.locator("#sec-memory .per-launch[data-launch='1']").is_visible()
    assert page.locator("#sec-memory .per-launch[data-launch='0']").is_hidden()


def test_memory_table_sorts_filters_and_draws(visit: Visit) -> None:
    page = visit()
    table = page.locator("#sec-memory .per-launch:not([hidden])")
    table.get_by_role("button", name="cost").click()
    assert (
        table.locator("tbody tr").first.locator("td").nth(1).inner_text().strip()
        == pages.reduce_report()["launches"][0]["runs"][0]["code"]["instructions"]["text"][18]
    )
    table.get_by_role("button", name="shared", exact=True).click()
    assert table.locator("tbody tr:visible").count() == 5
    table.locator("button.show").first.click()
    assert table.locator(".access-live svg").count() == 2
    assert "32 wavefronts" in table.locator(".access-live svg").first.get_attribute("aria-label")


def test_findings_filter(visit: Visit) -> None:
    page = visit()
    rows = page.locator("#sec-findings .per-launch:not([hidden]) tr[data-severity]")
    assert rows.count() == 2
    page.locator("#sec-findings").get_by_role("button", name="warning").click()
    assert page.locator("#sec-findings tr[data-severity]:visible").count() == 1
    page.locator("#sec-findings").get_by_role("button", name="all").first.click()
    assert page.locator("#sec-findings tr[data-severity]:visible").count() == 2


def test_clicks_in_the_waveform_set_the_selection(visit: Visit) -> None:
    page = visit()
    area = page.locator(".wave-area")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 22 + 18 * 2 + 9)
    assert selection(page)["w"] == "1"
    page.mouse.click(box["x"] + 20, box["y"] + 22 + 18 * 3 + 9)
    page.wait_for_timeout(100)
    area.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert selection(page)["w"] == "2"
    page.keyboard.press("0")
    area.focus()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
    page.mouse.wheel(0, -600)
    until(page, "!document.querySelector('.wave-table caption').textContent.includes('0 to 95')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 360])
def test_axe_finds_nothing(visit: Visit, axe: Callable[[Any], list[str]], scheme: str, width: int) -> None:
    page = visit(fragment="#v=1&w=0&s=155&l=0:13", width=width, color_scheme=scheme)
    assert axe(page) == []
    page.keyboard.press("?")
    assert axe(page) == []


def test_theme_switch_and_axe(visit: Visit, axe: Callable[[Any], list[str]]) -> None:
    page = visit(fragment="#v=1&w=0&s=155")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.wait_for_timeout(200)
    assert axe(page) == []


def test_readable_without_javascript(visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    text = page.locator("main").inner_text()
    for words in (
        "reduce(float const*, float*)",
        "tile[i] = halve",
        "setp.ge.u32",
        "ld.global.nc.f32",
        "an order, not time",
    ):
        assert words in text
    assert page.locator(".wave-static svg").count() == 2
    assert page.locator(".access-static svg").first.is_visible()
    assert page.locator(".stepper-static tbody tr").count() >= 24
    assert page.locator(".needs-js").first.is_hidden()


def test_narrow_page_does_not_scroll_sideways(visit: Visit) -> None:
    page = visit(width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_print_shows_static_forms(visit: Visit) -> None:
    page = visit(width=703)  # a sheet of A4 within its margins
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert page.locator(".stepper-static table").first.is_visible()
    assert page.locator(".wave-static svg").first.is_visible()
    assert page.locator(".step-tools").is_hidden()
    assert page.pdf()[:4] == b"%PDF"


def test_hostile_names_and_sources_stay_text(visit: Visit, site: Path) -> None:
    evil = "</script><script>window.pwned=1</script><!--<img src=x onerror=window.pwned=1>\u2028\u202e"
    report = copy.deepcopy(pages.reduce_report(1))
    launch = report["launches"][0]
    launch["kernel"] = {"name": evil, "demangled": evil, "bare": evil}
    launch["label"] = evil
    report["sources"][0]["text"] = report["sources"][0]["text"].replace("// Sums", f"// {evil} Sums")
    report["sources"][0]["name"] = evil
    code = launch["runs"][0]["code"]
    code["instructions"]["text"] = [evil + text for text in code["instructions"]["text"]]
    code["registers"]["names"] = [evil + name for name in code["registers"]["names"]]
    page = visit(write(site / "evil.html", report).name)
    for key in "jjwsd.?":
        page.keyboard.press(key)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0


def test_code_of_thousands_of_lines(visit: Visit, site: Path) -> None:
    report = pages.reduce_report(1)
    report["sources"][0]["text"] += "// more\n" * 6000
    page = visit(write(site / "long.html", report).name)
    lines = page.locator('.pane[data-pane="source"] .lines')
    lines.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    # Six thousand lines are laid out first: the address follows when the browser gets to it.
    until(page, "/[#&]l=/.test(location.hash)")
    assert selection(page)["l"] == "0:6018"


def test_switching_between_instruction_sets(visit: Visit, site: Path) -> None:
    report = pages.reduce_report(1)
    runs = report["launches"][0]["runs"]
    runs.append({**copy.deepcopy(runs[0]), "isa": "sass", "findings": []})
    page = visit(write(site / "both.html", report).name)
    page.keyboard.press("i")
    assert selection(page)["i"] == "sass"
    until(page, "document.querySelector('#wg-isa').value === 'sass'")
    assert page.locator(".step-instruction").inner_text()


def test_a_million_steps(visit: Visit, site: Path) -> None:
    assert (site / "busy.html").stat().st_size <= 1.7e6
    page = visit("busy.html")
    assert (
        "31,250" in page.locator(".wave-table caption").first.inner_text()
        or page.locator(".wave-table").count() == 1
    )
    for _ in range(14):
        page.keyboard.press("+")
    until(page, "document.querySelectorAll('.wave-table table').length === 2")
    page.keyboard.press("G")
    assert page.locator(".step-instruction").inner_text() == "ret"
    page.keyboard.press("g")
    page.keyboard.press("d")
    assert "bra" in page.locator(".step-instruction").inner_text()


def test_a_step_alone_chooses_its_warp(visit: Visit) -> None:
    page = visit(fragment="#v=1&s=41")
    assert selection(page)["w"] == "1"
    assert selection(page)["s"] == "41"
    assert "warp 1" in page.locator(".wave-now").inner_text()


def test_more_rows_than_fit_scroll(visit: Visit, site: Path) -> None:
    page = visit(write(site / "many.html", pages.busy_report(6400, 64)).name)
    scroller = page.locator(".wave-scroll")
    assert scroller.is_visible()
    page.keyboard.press("W")
    assert selection(page)["w"] == "63"
    assert scroller.evaluate("s => s.scrollTop") > 300
    scroller.evaluate("s => { s.scrollTop = 0; }")
    page.wait_for_timeout(100)
    box = page.locator(".wave-area").bounding_box()
    page.locator(".wave-area").scroll_into_view_if_needed()
    box = page.locator(".wave-area").bounding_box()
    page.mouse.click(box["x"] + 300, box["y"] + 22 + 9)
    assert selection(page)["w"] == "0"


def test_where_a_run_stopped_is_said(visit: Visit, site: Path) -> None:
    report = pages.reduce_report(1)
    report["launches"][0]["runs"][0].update(
        complete=False,
        stopped={"kind": "unsupported", "message": "wgmma is not executed yet", "pc": 29, "line": 40},
    )
    page = visit(write(site / "stopped.html", report).name, "#v=1&b=0&s=271")
    assert "the run stopped: wgmma is not executed yet" in page.locator(".step-facts").inner_text()

"""The page of a kernel that runs as PTX and as SASS: panes, control fields, counters, and the switch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpglass.api import make_report
from warpglass.options import ReportOptions

pytestmark = [pytest.mark.browser, pytest.mark.cuda]

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "tiled_matmul" / "kernel.cu"


@pytest.fixture(scope="module")
def report(site: Path) -> Any:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    made = make_report([SOURCE], ReportOptions(charts="static"))
    made.render(site / "machine.html")
    return made.data


def run_of(report: Any, isa: str) -> Any:
    (found,) = [run for run in report["launches"][0]["runs"] if run["isa"] == isa]
    return found


def click_line(page: Any, kind: str, line: int) -> Any:
    pane = page.locator(f".pane[data-pane='{kind}']:visible")
    row = pane.locator(".lines p").nth(line - int(pane.get_attribute("data-first")))
    row.click()
    return row


def lit(page: Any, kind: str) -> set[int]:
    """Lines of a pane that a fixed line lights up."""
    numbers = page.locator(f".pane[data-pane='{kind}']:visible .l.on b").all_inner_texts()
    return {int(number) for number in numbers}


def test_panes_select_each_other_exactly(visit: Callable[..., Any], report: Any) -> None:
    page = visit("machine.html")
    ptx, sass = run_of(report, "ptx")["code"]["instructions"], run_of(report, "sass")["code"]["instructions"]
    made: dict[int, set[int]] = {}
    for line, ptx_lines in zip(sass["line"], sass["ptx_lines"], strict=True):
        for one in ptx_lines or []:
            made.setdefault(one, set()).add(line)
    several = max((line for line in made if line in ptx["line"]), key=lambda line: len(made[line]))
    assert len(made[several]) > 1, "one PTX line became several machine instructions"
    click_line(page, "ptx", several)
    assert lit(page, "sass") == made[several]
    pc = sass["line"].index(min(made[several]))
    click_line(page, "sass", sass["line"][pc])
    assert lit(page, "ptx") == set(sass["ptx_lines"][pc])
    assert lit(page, "source") == {sass["source_line"][pc]}
    user = sass["source_line"][pc]
    page.keyboard.press("u")
    click_line(page, "source", user)
    assert lit(page, "sass") == {
        line for line, own in zip(sass["line"], sass["source_line"], strict=True) if own == user
    }


def test_a_wait_shows_what_set_it_and_how_far_away(visit: Callable[..., Any], report: Any) -> None:
    page = visit("machine.html")
    code = run_of(report, "sass")["code"]["instructions"]
    pc = next(
        i for i, field in enumerate(code["control"]) if field["wait_mask"] and code["opcode"][i] == "FFMA"
    )
    row = click_line(page, "sass", code["line"][pc])
    detail = page.locator(".code-detail").inner_text()
    assert "multiplies two floats and adds a third" in detail
    assert "fma pipe" in detail
    assert "instructions above" in detail
    assert "until its result is written" in detail
    assert page.locator(".l.setter").count() >= 1
    row.hover()
    assert row.locator(".ctl").get_attribute("title").startswith("the warp's next instruction issues")
    assert row.locator("code").get_attribute("title").startswith("FFMA: multiplies")


def test_keys_switch_stepper_and_schedule_between_the_instruction_sets(
    visit: Callable[..., Any], report: Any
) -> None:
    page = visit("machine.html")
    texts = {isa: run_of(report, isa)["code"]["instructions"]["text"] for isa in ("ptx", "sass")}
    traces = {isa: run_of(report, isa)["traces"][0] for isa in ("ptx", "sass")}
    for isa in ("sass", "ptx", "sass"):
        first = texts[isa][traces[isa]["columns"]["pc"][0]].split()[0]
        page.wait_for_function(
            "text => document.querySelector('.step-instruction')?.textContent.includes(text)", arg=first
        )
        assert (
            int(page.locator(".step-slider").get_attribute("max"))
            == traces[isa]["columns"]["warp"].count(0) - 1
        )
        # The table waits until the picture has stood still for a moment.
        page.wait_for_function(
            "text => document.querySelector('#sec-schedule').innerText.includes(text)",
            arg=f"Rounds 0 to {traces[isa]['rounds'] - 1}:",
        )
        before = page.locator(".step-instruction").inner_text()
        page.keyboard.press("j")
        page.wait_for_function(
            "text => document.querySelector('.step-instruction').innerText !== text", arg=before
        )
        assert page.locator(f".pane[data-pane='{isa}'] .l.at").count() == 1
        page.keyboard.press("k")
        page.keyboard.press("i")


def test_counters_are_found_by_words_and_group(visit: Callable[..., Any], report: Any) -> None:
    page = visit("machine.html")
    numbers = run_of(report, "sass")["counters"]
    section = page.locator("#sec-counters")
    rows = section.locator("tbody:not([data-group='opcodes']) tr:not(.group-row):visible")
    assert rows.count() == len(numbers)
    section.locator("#wg-counter-search").fill("global ld")
    wanted = [one for one in numbers if "global" in json.dumps(one) and "ld" in json.dumps(one)]
    assert 0 < rows.count() <= len(wanted)
    section.locator("#wg-counter-search").fill("")
    section.locator("#wg-counter-zeros").uncheck()
    assert rows.count() == sum(one["value"] != 0 for one in numbers)
    section.get_by_role("button", name="pipes").click()
    assert rows.count() == sum(one["group"] == "pipes" for one in numbers)
    assert "no source says" in rows.first.inner_text()


def test_panes_can_be_put_away(visit: Callable[..., Any], report: Any) -> None:
    page = visit("machine.html")
    page.get_by_role("group", name="Panes").get_by_role("button", name="PTX").click()
    assert page.locator(".pane[data-pane='ptx']").is_hidden()
    assert page.locator(".pane[data-pane='sass']").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1366), ("dark", 1366), ("light", 360)])
def test_axe_finds_nothing(
    visit: Callable[..., Any], axe: Callable[[Any], list[str]], report: Any, scheme: str, width: int
) -> None:
    page = visit("machine.html", width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    click_line(page, "sass", run_of(report, "sass")["code"]["instructions"]["line"][40])
    assert axe(page) == []

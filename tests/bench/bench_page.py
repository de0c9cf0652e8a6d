"""How fast a page of a million steps is in a real browser: ``python tests/bench/bench_page.py [steps]``.

Prints the time until the waveform answers, and the draws while zooming and panning.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "browser"))

import pages
from browser_tools import FLAGS, chromium_path

from warpglass.report.render import render_html


def main(steps: int) -> None:
    """Builds the page, opens it, drives it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "busy.html"
        path.write_text(render_html(pages.busy_report(steps), charts="static"), encoding="utf-8")
        print(f"page of {steps:,} steps: {path.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            page.goto(path.as_uri())
            page.wait_for_selector(".wave-live[data-ready]", state="attached")
            ready = page.evaluate("performance.getEntriesByName('wg-ready')[0].startTime")
            print(f"interactive after {ready:.0f} ms")
            page.evaluate("performance.clearMeasures('wg-draw')")
            page.locator(".wave-area").focus()
            for turn in range(120):
                page.keyboard.press("+" if turn % 24 < 12 else "-")
                page.keyboard.press("]" if turn % 2 else "[")
            times = sorted(
                page.evaluate("performance.getEntriesByName('wg-draw').map((one) => one.duration)")
            )
            print(
                f"{len(times)} draws: median {times[len(times) // 2]:.1f} ms, "
                f"95th percentile {times[int(len(times) * 0.95)]:.1f} ms, longest {times[-1]:.1f} ms"
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

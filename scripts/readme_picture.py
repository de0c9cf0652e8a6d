"""Take the README's picture: ``readme_picture.py docs/images/report.png``. Needs the test environment."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PAGE = Path(__file__).resolve().parents[1] / "examples" / "transpose" / "report.html"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update"]  # fmt: skip

#: The launch through a tile without padding, at the load whose lanes all want one bank.
PLACE = "#v=1&n=2&w=0&s=328"


def main() -> None:
    """Stepper and schedule, as wide as a laptop's window."""
    program = shutil.which("chromium") or sys.exit("chromium is missing")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 1250}, color_scheme="light")
        page.goto(PAGE.as_uri() + PLACE)
        page.wait_for_timeout(1500)
        page.evaluate("document.getElementById('sec-stepper').scrollIntoView()")
        page.wait_for_timeout(500)
        page.screenshot(path=sys.argv[1])
        browser.close()


if __name__ == "__main__":
    main()

"""How fast a page of 154 profiled launches opens in a real browser; the target is a second.

``python tests/bench/bench_profile_page.py [report.ncu-rep]``: the launches of a report (one made here, with
sections, rules and counters by instruction) are repeated until there are 154. Prints the time until the page
answers, the work of its main thread, and the machine's load, against which both are to be read.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "browser")]

from browser_tools import FLAGS, chromium_path  # noqa: E402

from ncu.writer import small_report  # noqa: E402
from warpglass.api import make_report  # noqa: E402
from warpglass.ncu.container import read_container  # noqa: E402
from warpglass.ncu.messages import message_class  # noqa: E402
from warpglass.options import ReportOptions  # noqa: E402

LAUNCHES = 154
TARGET = 1000.0


def repeated(content: bytes, launches: int) -> bytes:
    """A report with its results repeated, each in a block of its own, until there are ``launches``."""
    results = read_container(content).results
    out = bytearray(content)
    for i in range(len(results), launches):
        raw = results[i % len(results)].SerializeToString()
        head = message_class("BlockHeader")(num_sources=0, num_results=1, payload_size=len(raw) + 4)
        header = head.SerializeToString()
        out += struct.pack("<I", len(header)) + header + struct.pack("<I", len(raw)) + raw
    return bytes(out)


def main(source: Path | None) -> int:
    """Builds the page, opens it five times; fails where the best is over the target."""
    content = source.read_bytes() if source else small_report(4)
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report, path = Path(folder) / "many.ncu-rep", Path(folder) / "many.html"
        report.write_bytes(repeated(content, LAUNCHES))
        make_report([report], ReportOptions()).render(path)
        print(f"page of {LAUNCHES} launches: {path.stat().st_size / 1e6:.2f} MB")
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            page.add_init_script(
                "new MutationObserver((_, seen) => { if (document.documentElement.dataset.ready) {"
                " performance.mark('ready'); seen.disconnect(); } })"
                ".observe(document, { attributes: true, subtree: true, attributeFilter: ['data-ready'] });"
            )
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            ready = page.evaluate("performance.getEntriesByName('ready')[0].startTime")
            paint = page.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
            )
            found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
            best = min(best, ready)
            print(
                f"answers after {ready:.0f} ms, first paint {paint:.0f} ms, main thread "
                f"{1000 * found['TaskDuration']:.0f} ms, load {os.getloadavg()[0]:.1f}"
            )
            page.close()
        browser.close()
    print(f"best {best:.0f} ms; target: at most {TARGET:.0f} ms")
    return 0 if best <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))

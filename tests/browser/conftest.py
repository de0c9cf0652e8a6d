"""A real browser for the pages.

``visit`` opens a page of a report in Chromium and, when the test ends, fails it for every request that
left the page, every console error and every violation of the page's security policy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import pages
from browser_tools import write

ROOT = Path(__file__).resolve().parents[2]
#: What only a test needs to see of a page: policy violations do not reach the console in every browser.
_WATCH = """
window.__violations = [];
document.addEventListener('securitypolicyviolation', (event) => {
  window.__violations.push(`${event.violatedDirective}: ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages: reduce.html and busy.html (a million steps)."""
    folder = tmp_path_factory.mktemp("pages")
    write(folder / "reduce.html", pages.reduce_report())
    write(folder / "busy.html", pages.busy_report())
    return folder


@dataclass
class Watch:
    """What a page did that it must not do."""

    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    pages: list[Any] = field(default_factory=list)

    def problems(self) -> list[str]:
        found = [f"request: {one}" for one in self.requests] + [f"console: {one}" for one in self.console]
        for page in self.pages:
            if not page.is_closed():
                found += [f"policy: {one}" for one in page.evaluate("window.__violations ?? []")]
        return found


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Collects what pages do wrong; the test fails at its end if there is anything."""
    watching = Watch()
    yield watching
    assert watching.problems() == []


@pytest.fixture
def visit(chromium: Any, site: Path, watch: Watch) -> Iterator[Callable[..., Any]]:
    """``visit("reduce.html", "#v=1", width=360, color_scheme="dark")``: an open, watched page."""
    contexts: list[Any] = []

    def open_page(
        name: str | Path = "reduce.html",
        fragment: str = "",
        width: int = 1366,
        height: int = 768,
        **options: Any,
    ) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        own = (site / name).as_uri()

        def route(handler: Any) -> None:
            url = handler.request.url
            if url.split("#")[0] == own or url.startswith(("data:", "blob:")):
                handler.continue_()
                return
            watch.requests.append(url)
            handler.abort()

        context.route("**/*", route)
        page = context.new_page()
        page.add_init_script(_WATCH)
        page.on(
            "console",
            lambda m: watch.console.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: watch.console.append(str(error)))
        watch.pages.append(page)
        page.goto(own + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
            if page.locator("#sec-schedule").count():
                page.wait_for_selector(".wave-live[data-ready]", state="attached")
        return page

    yield open_page
    # The watcher looks at pages after this: leave them open until it has.
    problems = watch.problems()
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def axe_source() -> str:
    """axe-core's own script, from the development packages."""
    path = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        pytest.skip("axe-core is not installed (npm install)")
    return path.read_text(encoding="utf-8")


@pytest.fixture
def axe(axe_source: str) -> Callable[[Any], list[str]]:
    """Every violation that axe finds on a page, with no rule switched off."""

    def check(page: Any) -> list[str]:
        page.evaluate(axe_source + "\n;undefined")
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{violation['id']}: {node['target']} {node['failureSummary']}"
            for violation in result["violations"]
            for node in violation["nodes"]
        ]

    return check

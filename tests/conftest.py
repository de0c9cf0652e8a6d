"""What tests of several folders share: the one browser of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser.browser_tools import FLAGS, chromium_path


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for the session: Playwright allows a process no second one beside it."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = chromium_path()
    if path is None:
        pytest.skip("no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()

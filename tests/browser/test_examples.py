"""Pages of real kernels: compiled, executed and opened with the interactive figures."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpglass.api import make_report

pytestmark = [pytest.mark.browser, pytest.mark.cuda, pytest.mark.slow]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name", ["tiled_matmul", "divergent_branches", "warp_specialised"])
def test_example_page(
    visit: Callable[..., Any], axe: Callable[[Any], list[str]], site: Path, name: str
) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    make_report([EXAMPLES / name / "kernel.cu"]).render(site / f"{name}.html")
    page = visit(f"{name}.html")
    steps = page.locator(".step-slider").get_attribute("max")
    assert int(steps) > 20
    seen = set()
    for key in "jjjlsbdre.f":
        page.keyboard.press(key)
        seen.add(page.locator(".step-instruction").inner_text())
    assert len(seen) >= 4
    assert page.locator(".lane-table tbody tr").count() == 32
    assert page.get_by_text("not recorded").count() == 0
    # Figures become interactive when they are seen; only then does their library run.
    page.locator("#sec-mix").scroll_into_view_if_needed()
    page.wait_for_timeout(1500)
    assert axe(page) == []

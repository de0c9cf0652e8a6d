"""Finished sections compared with kept ones, versions and hashes scrubbed.

After a wanted change: ``WARPGLASS_GOLDEN=update python -m pytest tests/report/test_golden.py`` and look at
the difference before committing it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from sample import sample

from warpglass.report.gallery import _card, gallery_html
from warpglass.report.markdown import render_markdown
from warpglass.report.model import Report
from warpglass.report.render import render_html

FOLDER = Path(__file__).parent.parent / "golden" / "report"
#: Sections whose partials belong to the report itself; the replay's are driven in tests/browser.
SECTIONS = ("launches", "verdict", "notes", "findings", "mix", "provenance")


def scrub(text: str) -> str:
    """Without what changes from build to build: versions, the script and its hash, style, packed data."""
    text = re.sub(r"warpglass \d+(\.\w+)*", "warpglass VERSION", text)
    text = re.sub(r"sha256-[\w+/=]+", "sha256-HASH", text)
    text = re.sub(r"<style>.*?</style>", "<style></style>", text, count=1, flags=re.DOTALL)
    script = r'(<script(?: type="(?:module|application/\S+)"[^>]*)?>).*?(</script>)'
    return re.sub(script, r"\1\2", text, flags=re.DOTALL)


def compare(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("WARPGLASS_GOLDEN") == "update":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{path} is missing; {__doc__}"
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> str:
    return scrub(render_html(sample(), charts="plotly"))


@pytest.mark.parametrize("section", SECTIONS)
def test_section(page: str, section: str) -> None:
    found = re.search(rf'<section id="sec-{section}".*?</section>', page, re.DOTALL)
    assert found is not None
    compare(f"{section}.html", found.group())


def test_frame(page: str) -> None:
    compare("frame.html", re.sub(r"<section .*?</section>", "", page, flags=re.DOTALL))


def test_markdown() -> None:
    compare("report.md", scrub(render_markdown(sample())))


def test_json() -> None:
    compare("report.json", Report(sample()).to_json())


def test_gallery_index() -> None:
    other = sample()
    other["launches"] = other["launches"][1:]
    cards = [_card("matmul", "matmul", sample()), _card("cut", "cut", other)]
    compare("gallery.html", scrub(gallery_html(cards, "Kernel reports")))

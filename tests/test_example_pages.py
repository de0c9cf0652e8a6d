"""The finished pages in examples/ are what today's code makes of their sources."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpglass.inputs.toolchain import find_tool, tool_version

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "examples").glob("*/report.html"))

#: What may differ between two machines: versions of the tools and of the packages that colour the code.
VERSION = re.compile(r"\b\d+\.\d+(?:\.\d+)+\b")


def scrubbed(page: str) -> str:
    """The page without versions, the security policy's digest of the script included with its script."""
    return VERSION.sub("0.0.0", page)


def test_two_pages_are_there() -> None:
    assert len(PAGES) >= 2


@pytest.mark.cuda
@pytest.mark.slow
def test_pages_are_up_to_date(tmp_path: Path) -> None:
    tool = find_tool("nvcc")
    if tool is None:
        pytest.skip("nvcc is missing")
    version = tool_version(tool) or "unknown"
    script = ROOT / "scripts" / "example_pages.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=600)
    for page in PAGES:
        want = page.read_text(encoding="utf-8")
        if version not in want:
            pytest.skip(f"{page.parent.name}: built by another nvcc than {version}, whose PTX may differ")
        got = (tmp_path / page.parent.name / "report.html").read_text(encoding="utf-8")
        assert scrubbed(got) == scrubbed(want), f"{page}: run `make pages` and look at the change"

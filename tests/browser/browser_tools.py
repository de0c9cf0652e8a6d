"""What tests and the benchmark need to open pages: the browser's path and flags, and pages as files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from warpglass.report.render import render_html

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium_path() -> str | None:
    """Chromium of the machine: WARPGLASS_CHROMIUM, else PATH."""
    return (
        os.environ.get("WARPGLASS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    )


def write(path: Path, report: dict[str, Any], charts: str = "static") -> Path:
    """Renders a report to a file."""
    path.write_text(render_html(report, charts=charts), encoding="utf-8")
    return path

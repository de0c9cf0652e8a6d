"""Operations and unique bytes against what the GPU can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report.sections import _launch_blocks

TITLE = "Roofline"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Blocks for each launch, or None where nothing was analysed."""
    return _launch_blocks.context(report, "roofline")

"""The decision matrix: every situation, with this kernel's values, met or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report.sections import _launch_blocks

TITLE = "Bottleneck"


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Blocks for each launch, or None where nothing was analysed."""
    return _launch_blocks.context(report, "bottleneck")

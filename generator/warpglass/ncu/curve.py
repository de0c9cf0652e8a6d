"""A metric over the keys of its instances: occupancy by registers, by block size, by shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from warpglass.ncu.layout import Block
from warpglass.ncu.model import Launch

__all__ = ["Curve", "curve"]

#: The profiler stores some hundreds of points.
_MAX_POINTS = 20_000


@dataclass(frozen=True, slots=True)
class Curve:
    """``y`` at ``x``, rising in ``x``: points where the value changes, and the last one.

    ``now`` is the ``x`` of the launch, None where it was not collected.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    now: float | None

    def at(self, x: float) -> float | None:
        """The stored value at or below ``x``, None before the first."""
        below = [y for known, y in zip(self.x, self.y, strict=True) if known <= x]
        return below[-1] if below else None


def curve(launch: Launch, block: Block) -> Curve | None:
    """The curve of a ``curve`` block, None where its metric or instances were not collected."""
    metric = launch.metrics.get(block.cells[0].metric) if block.cells else None
    if metric is None:
        return None
    points = {
        float(entry.key): float(entry.value)
        for entry in metric.instances[:_MAX_POINTS]
        if isinstance(entry.key, (int, float)) and isinstance(entry.value, (int, float))
        and math.isfinite(entry.key) and math.isfinite(entry.value)
    }  # fmt: skip
    ordered = sorted(points.items())
    kept = [
        point
        for i, point in enumerate(ordered)
        if i in (0, len(ordered) - 1) or point[1] != ordered[i - 1][1]
    ]
    if len(ordered) < 2:
        return None
    now = launch.number(block.cells[1].metric) if len(block.cells) > 1 else None
    finite = now if now is not None and math.isfinite(now) else None
    return Curve(tuple(x for x, _ in kept), tuple(y for _, y in kept), finite)

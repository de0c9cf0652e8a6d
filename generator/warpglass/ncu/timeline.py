"""PM sampling: metrics over time within one launch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpglass.ncu.layout import SectionLayout
from warpglass.ncu.model import Launch, Metric

__all__ = ["Series", "is_sampled", "plain_name", "series"]

#: Keys of sampled instances are nanoseconds since 1970; program counters stay far below.
_LEAST_TIME = 1 << 59
_MOST_POINTS = 2000


@dataclass(frozen=True, slots=True)
class Series:
    """``t`` in ns from the first sample of the launch, ``v`` the values; None is a missing sample."""

    group: str
    label: str
    metric: str
    unit: str
    t: tuple[int, ...]
    v: tuple[float | None, ...]

    @property
    def step(self) -> int | None:
        """The distance of samples where it is always the same, else None."""
        steps = {b - a for a, b in zip(self.t, self.t[1:], strict=False)}
        return steps.pop() if len(steps) == 1 else None


def is_sampled(metric: Metric) -> bool:
    """Whether the instances are samples over time."""
    keys = [entry.key for entry in metric.instances[:2]]
    return len(keys) == 2 and all(isinstance(key, int) and key >= _LEAST_TIME for key in keys)


def plain_name(name: str) -> str:
    """The name without its sampling prefix, which drifted: ``SM.TriageA``, ``TriageAC``, ``pmsampling:``."""
    name = name.removeprefix("pmsampling:")
    head, _, rest = name.partition("__")
    return f"{head.rsplit('.', 1)[-1]}__{rest}" if rest else name


def _find(launch: Launch, name: str) -> Metric | None:
    metric = launch.metrics.get(name)
    if metric is not None and is_sampled(metric):
        return metric
    wanted = plain_name(name)
    return next((m for m in launch.metrics.values() if plain_name(m.name) == wanted and is_sampled(m)), None)


def _entries(launch: Launch, sections: Sequence[SectionLayout]) -> Iterator[tuple[str, str, Metric]]:
    """What the definitions ask for; where they name nothing there is, every sampled metric."""
    found = False
    for section in sections:
        for block in section.blocks:
            if block.kind != "timeline":
                continue
            for group, cells in block.rows:
                for cell in cells:
                    metric = _find(launch, cell.metric)
                    if metric is not None:
                        found = True
                        yield group, cell.label, metric
    if not found:
        for metric in launch.metrics.values():
            if is_sampled(metric):
                yield "Sampled", plain_name(metric.name), metric


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def series(launch: Launch, sections: Sequence[SectionLayout]) -> tuple[Series, ...]:
    """Every sampled row, on one time axis that starts at the earliest sample of each pass group."""
    out = []
    for group, label, metric in _entries(launch, sections):
        points = [(entry.key, entry.value) for entry in metric.instances if isinstance(entry.key, int)]
        points.sort(key=lambda point: point[0])
        start = points[0][0]
        step = max(1, math.ceil(len(points) / _MOST_POINTS))
        kept = points[::step]
        out.append(
            Series(
                group,
                label,
                metric.name,
                metric.unit,
                tuple(key - start for key, _ in kept),
                tuple(
                    float(v) if isinstance(v, (int, float)) and math.isfinite(v) else None for _, v in kept
                ),
            )
        )
    return tuple(out)

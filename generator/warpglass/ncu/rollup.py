"""Repeated launches of a kernel as one: every metric by its own roll-up, with the spread between launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpglass.ncu.model import Launch
from warpglass.ncu.names import split_name

__all__ = ["Aggregate", "aggregate", "aggregate_values", "how", "repeated"]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``value`` over ``count`` launches that have the metric; ``how`` is sum, mean, max or min."""

    name: str
    how: str
    value: float
    low: float
    high: float
    count: int

    @property
    def spread(self) -> float | None:
        """Range over the mean of low and high, None where that is 0."""
        middle = (self.low + self.high) / 2
        return (self.high - self.low) / abs(middle) if middle else None


def how(name: str) -> str:
    """How values of a metric add up over launches: totals sum, extremes stay, all else is a mean.

    A sub-metric (``sum.per_second``, ``sum.pct_of_peak…``) is a rate or share, whatever its roll-up.
    """
    parts = split_name(name)
    if parts.sub:
        return "mean"
    return {"sum": "sum", "max": "max", "min": "min"}.get(parts.rollup, "mean")


def aggregate_values(name: str, values: Iterable[float | None]) -> Aggregate | None:
    """The aggregate of the finite values, None where there are none."""
    known = [float(v) for v in values if v is not None and math.isfinite(v)]
    if not known:
        return None
    way = how(name)
    value = {"sum": math.fsum(known), "max": max(known), "min": min(known)}.get(
        way, math.fsum(known) / len(known)
    )
    return Aggregate(name, way, value, min(known), max(known), len(known))


def aggregate(launches: Sequence[Launch], name: str) -> Aggregate | None:
    """One metric over launches of a kernel."""
    return aggregate_values(name, (launch.number(name) for launch in launches))


def repeated(launches: Iterable[Launch]) -> dict[tuple[str, tuple[int, int, int]], list[Launch]]:
    """Launches by kernel and block shape, in order of appearance; only groups of two or more."""
    groups: dict[tuple[str, tuple[int, int, int]], list[Launch]] = {}
    for launch in launches:
        groups.setdefault((launch.mangled or launch.name, launch.block), []).append(launch)
    return {key: found for key, found in groups.items() if len(found) > 1}

"""Roofs and achieved points of a roofline block, in operations and bytes a second."""

from __future__ import annotations

import math
from dataclasses import dataclass

from warpglass.ncu.layout import Block, RoofLine
from warpglass.ncu.model import Launch

__all__ = ["Point", "roofline"]


@dataclass(frozen=True, slots=True)
class Point:
    """``work`` in operations/s, ``traffic`` in bytes/s: peaks for a roof; for a point either may be 0."""

    label: str
    work: float
    traffic: float

    @property
    def intensity(self) -> float | None:
        """Operations a byte: a roof's ridge, or where an achieved point stands; None without traffic."""
        return self.work / self.traffic if self.traffic else None


def _sum(launch: Launch, names: tuple[str, ...], rate: str) -> float | None:
    values = [launch.number(name) for name in names]
    if not values or any(value is None for value in values):
        return None  # a partial sum would pass for the whole
    factor = launch.number(rate) if rate else 1.0
    return None if factor is None else sum(v for v in values if v is not None) * factor


def _point(launch: Launch, line: RoofLine) -> Point | None:
    work = _sum(launch, line.work, line.rate)
    traffic = _sum(launch, line.traffic, line.traffic_rate)
    if work is None or traffic is None or not (math.isfinite(work) and math.isfinite(traffic)):
        return None
    return Point(line.label, work, traffic)


def roofline(launch: Launch, block: Block) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """(roofs, achieved) of a roofline block; what lacks a metric is left out, and a roof of nothing."""
    roofs = (_point(launch, line) for line in block.roofs)
    achieved = (_point(launch, line) for line in block.achieved)
    return (
        tuple(p for p in roofs if p is not None and p.work > 0 and p.traffic > 0),
        tuple(p for p in achieved if p is not None and p.work >= 0 and p.traffic >= 0),
    )

"""Profiled launches made by hand: code of a listing, its counts, and some metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from warpglass import ncu, sass
from warpglass.analyse import measurement_of
from warpglass.analysis.measured import Measurement
from warpglass.analysis.measured_loops import ProfiledCode
from warpglass.analysis.sass_listing import sass_listing
from warpglass.options import ReportOptions

TESTS = Path(__file__).resolve().parents[1]


def coded(name: str, count: Callable[[int, str], int] | None = None) -> ProfiledCode:
    """A listing's code; ``count(pc, opcode)`` warps executed each instruction with half of their lanes."""
    path = TESTS / "sass" / "listings" / name
    module = sass.load(path.read_bytes(), name=name)
    function = module.functions[0]
    listing = sass_listing(module, function.name, [(function.name, 0, len(function.instructions))])
    columns: dict[str, Sequence[Any]] = {}
    if count is not None:
        warps = [count(pc, row.opcode) for pc, row in enumerate(listing.rows)]
        columns = {"warp_executed": warps, "thread_executed": [16 * w for w in warps]}
    return ProfiledCode(listing, function, frozenset(), columns)


def measured(arch: str = "sm_75", **metrics: float) -> Measurement:
    lines = ['"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"']
    for name, value in {"gpu__time_duration___sum": 2000.0, **metrics}.items():
        lines.append(f'"0","k","(256, 1, 1)","(216, 1, 1)","{name.replace("___", ".")}","%","{value}"')
    launch = ncu.parse(("\n".join(lines) + "\n").encode(), "some.csv").launches[0]
    return measurement_of(launch, arch, ReportOptions())


def tiled(times: int = 10) -> ProfiledCode:
    """The tiled product of 365 instructions; its loop, 25 to 212, ran ``times`` for each visit."""
    return coded("tiled.sm_75.plr.sass", lambda pc, _: 7 * times if 25 <= pc < 213 else 7)

"""The roofline of a launch: operations, unique bytes, balance points, and where the kernel stands.

Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
Unique bytes are those of the distinct sectors of every buffer: what device memory moves at least. Bytes read
again are told apart, so that a direct 3x3 convolution does not count its weights nine times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from warpglass.analysis.access import access_table, uncounted_copies
from warpglass.analysis.number import Number, derived, ratio
from warpglass.analysis.operations import arithmetic
from warpglass.analysis.problem import Problem
from warpglass.analysis.resources import unique_bytes
from warpglass.analysis.subject import Subject
from warpglass.gpu.rates import PRECISIONS, Peak, peaks

__all__ = ["Roofline", "Timed", "operations", "roofline", "timed"]


@dataclass(frozen=True, slots=True)
class Roofline:
    """``ops`` by precision; ``main`` is the precision executed most (by instructions) and ``peak`` its roof.

    ``intensity`` is FLOP a unique byte, ``balance`` the FLOP a byte at which the roof meets the bandwidth;
    ``bound`` is ``compute``, ``memory`` or ``unknown`` by these two alone.
    """

    ops: Mapping[str, Number]
    total: Number
    main: str | None
    unique: Number
    requested: Number
    reread: Number
    intensity: Number
    roofs: tuple[Peak, ...]
    balances: Mapping[str, float]
    peak: Peak | None
    bandwidth: float | None
    bound: str
    achieved: Number
    achieved_bytes: Number
    attained: Number


def operations(subject: Subject) -> tuple[dict[str, int], dict[str, int]]:
    """(operations, warp instructions) by precision over the run."""
    ops: dict[str, int] = {}
    warps: dict[str, int] = {}
    counters = subject.result.counters
    for pc, row in enumerate(subject.listing.rows):
        executed = int(counters["warp_executed"][pc])
        work = arithmetic(row, subject.result.isa) if executed else None
        if work is not None:
            lanes = int(counters["thread_executed"][pc])
            ops[work.precision] = ops.get(work.precision, 0) + work.lane * lanes + work.warp * executed
            warps[work.precision] = warps.get(work.precision, 0) + executed
    return ops, warps


def roofline(subject: Subject) -> Roofline:
    """The roofline of a launch. Unknown parts say what would give them."""
    why = None
    if not subject.result.complete:
        stop = subject.result.stopped
        more = stop is not None and stop.kind == "budget" and subject.result.blocks_executed > 0
        why = "the run did not end" + ("; a larger --max-warp-instructions would give it" if more else "")
    ops, warps = operations(subject)
    scaled = subject.result.scaled is not None

    def executed(name: str, value: float | None, unit: str, rule: str, reason: str | None = None) -> Number:
        missing = why or reason
        return Number(name, None if missing else value, unit, "executed", rule, "whole grid", scaled, missing)

    by = {
        key: executed(
            f"{PRECISIONS[key]} operations", ops[key], "FLOP", "operations of live lanes, an FMA is two"
        )
        for key in PRECISIONS
        if key in ops
    }
    total = executed("Operations", sum(ops.values()), "FLOP", "all precisions together")
    if subject.problem is not None and subject.problem.flops is not None:
        p = subject.problem
        total = Number("Operations", p.flops, "FLOP", "static", f"{p.text}: {p.rule}", "problem")
    found = unique_bytes(subject)
    nowhere = _unmapped(subject) or uncounted_copies(subject.listing, subject.result)
    unique = executed(
        "Unique bytes",
        None if found is None else sum(found),
        "bytes",
        "distinct 32-byte sectors read + written over all buffers, x 32",
        nowhere or (None if found is not None else "the run did not count distinct sectors"),
    )
    rows = access_table(subject.listing, subject.result)
    sectors = sum(row.sectors or 0 for row in rows if row.space != "local")
    requested = executed(
        "Requested bytes", 32 * sectors, "bytes", "sectors of all global requests x 32", nowhere
    )
    again = (requested.value or 0) - (unique.value or 0)
    reread = derived("Bytes read again", max(0, again), "bytes", "requested - unique", (requested, unique))
    intensity = ratio(
        "Arithmetic intensity",
        total,
        unique,
        "FLOP a byte",
        "operations / unique bytes",
        "no global memory was touched",
    )
    main = max(warps, key=lambda key: warps[key] * _weight(subject, key)) if warps else None
    roofs = peaks(subject.arch, subject.gpu) if subject.gpu is not None else ()
    bandwidth = subject.gpu.dram_gbs if subject.gpu is not None else None
    balances = {r.precision: r.tflops * 1e3 / bandwidth for r in roofs} if bandwidth else {}
    peak = next((r for r in roofs if r.precision == main), None)
    bound = "unknown"
    if peak is not None and intensity.value is not None and main in balances:
        bound = "compute" if intensity.value >= balances[main] else "memory"
    elif main is None and unique.value:
        bound = "memory"
    achieved, moved, attained = timed(subject, total, unique, peak, bandwidth)
    return Roofline(
        by,
        total,
        main,
        unique,
        requested,
        reread,
        intensity,
        roofs,
        balances,
        peak,
        bandwidth,
        bound,
        achieved,
        moved,
        attained,
    )


def _unmapped(subject: Subject) -> str | None:
    """Why memory traffic is unknown where global accesses went to no buffer, else None."""
    counters = subject.result.counters
    lost = [
        pc
        for pc, row in enumerate(subject.listing.rows)
        if row.space == "global" and counters["thread_executed"][pc] and not counters["requests"][pc]
    ]
    if not lost:
        return None
    return (
        f"{len(lost)} instructions access global memory at unmapped addresses, which count nothing: "
        "--arg NAME=float[N] gives a pointer its buffer"
    )


def _weight(subject: Subject, precision: str) -> float:
    """Instructions of the tensor cores stand for more than a lane's FMA each."""
    return 64.0 if precision.startswith("tensor_") else 1.0


class Timed(Protocol):
    """A launch with a time, whoever took it, and the problem that it solves."""

    @property
    def time_ms(self) -> float | None: ...

    @property
    def time_origin(self) -> str: ...

    @property
    def problem(self) -> Problem | None: ...


def timed(
    subject: Timed, total: Number, unique: Number, peak: Peak | None, bandwidth: float | None
) -> tuple[Number, Number, Number]:
    """(achieved GFLOP/s, effective GB/s, attained share of the roof) by the launch's time."""
    if subject.time_ms is None:
        why = "no time is known: --time-ms, a profiler's report, or warpglass bench would give it"
        return (
            Number("Achieved", None, "GFLOP/s", "measured", "operations / time", "whole grid", False, why),
            Number(
                "Effective bandwidth",
                None,
                "GB/s",
                "measured",
                "unique bytes / time",
                "whole grid",
                False,
                why,
            ),
            Number(
                "Attained",
                None,
                "% of the roof",
                "measured",
                "achieved / attainable",
                "whole grid",
                False,
                why,
            ),
        )
    seconds = subject.time_ms / 1e3
    time = Number("Time", subject.time_ms, "ms", "measured", subject.time_origin)
    achieved = derived(
        "Achieved",
        None if total.value is None else total.value / seconds / 1e9,
        "GFLOP/s",
        "operations / time",
        (total, time),
    )
    moved_bytes = unique
    if subject.problem is not None and subject.problem.bytes is not None:
        p = subject.problem
        moved_bytes = Number("Bytes", p.bytes, "bytes", "static", f"{p.text}: {p.rule}", "problem")
    moved = derived(
        "Effective bandwidth",
        None if moved_bytes.value is None else moved_bytes.value / seconds / 1e9,
        "GB/s",
        "bytes / time",
        (moved_bytes, time),
    )
    shares = []
    if peak is not None and achieved.value is not None:
        shares.append(achieved.value / (peak.tflops * 1e3))
    if bandwidth and moved.value is not None:
        shares.append(moved.value / bandwidth)
    attained = derived(
        "Attained",
        100 * max(shares) if shares else None,
        "% of the roof",
        "the larger of achieved / peak and bandwidth / peak bandwidth",
        (achieved, moved),
        None if shares else "no peak is known: --gpu names a GPU",
    )
    return achieved, moved, attained

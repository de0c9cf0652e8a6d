"""Inner loops and decision matrix of a profiled launch: what its code says and what was measured, apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpglass.analysis.decision import DecisionRow
from warpglass.analysis.measured_decision import unit_shares, waits
from warpglass.analysis.measured_loops import MeasuredLoop, ProfiledCode
from warpglass.analysis.stalls import Tightening
from warpglass.ncu import Launch
from warpglass.report.diagnosis_blocks import matrix, table, words
from warpglass.report.diagnosis_loops import (
    STATIC_COLUMNS,
    loop_table,
    mix_block,
    place_of,
    threshold_rules,
    tight_blocks,
)

__all__ = ["decision_blocks", "measured_loop_blocks"]

Json = dict[str, Any]

_MOST_LISTED, _MOST_MIXES, _MOST_REASONS, _MOST_UNITS = 12, 6, 8, 12


def measured_loop_blocks(
    loops: Sequence[MeasuredLoop], code: ProfiledCode, tight: Sequence[Tightening]
) -> list[Json]:
    """Tables of the section "Inner loops" from a report's code and its counts by instruction."""
    if not loops:
        return [words("The kernel has no loop."), *tight_blocks(tight, True)]
    shown = loops[:_MOST_LISTED]
    views = [loop.view for loop in shown]
    blocks = [
        loop_table(
            "Inner loops of the report's machine code, hottest first",
            [view for view in views if not view.nest],  # an inner loop's weight in a nest is measured
            STATIC_COLUMNS,
        ),
        threshold_rules(views),
    ]
    if any(loop.instructions is not None or loop.samples is not None for loop in shown):
        blocks.append(_counted(shown))
    else:
        blocks.append(
            words(
                "Executions and stall samples of the loops: unknown, the report has no counts by "
                "instruction; the section SourceCounters would give them."
            )
        )
    for loop in loops[:_MOST_MIXES]:
        if not loop.view.nest:
            blocks.append(mix_block(code.function, loop.view))
            if loop.stalls:
                blocks.append(_stalls(loop))
    return blocks + tight_blocks(tight, True)


def _counted(loops: Sequence[MeasuredLoop]) -> Json:
    rows = []
    for one in loops:
        loop = one.view
        ratio = "no loads" if one.loads == 0 else None if one.ratio is None else f"{one.ratio:.3g}:1"
        rows.append(
            (
                place_of(loop),
                one.instructions,
                loop.executions,
                loop.trips,
                one.compute,
                one.loads,
                ratio,
                loop.lanes,
                loop.flop_per_byte if loop.lanes is not None else None,
                one.sectors,
                one.ideal,
                one.samples,
                None if one.share is None else f"{one.share:.0%}",
            )
        )
    columns = (
        "loop", "warp instructions", "iterations", "iterations a visit", "arithmetic", "loads", "ratio",
        "lanes on", "FLOP a byte", "sectors", "ideal sectors", "stall samples", "share of samples",
    )  # fmt: skip
    return table("Inner loops as the profiler counted them, whole grid", columns, rows, "measured")


def _stalls(loop: MeasuredLoop) -> Json:
    total = sum(count for _, count in loop.stalls)
    rows = [
        (reason.replace("_", " "), count, f"{count / total:.0%}")
        for reason, count in loop.stalls[:_MOST_REASONS]
    ]
    return table(
        f"Warp samples of the loop at {place_of(loop.view)}, by stall reason: {total:,}",
        ("reason", "samples", "share"),
        rows,
        "measured",
    )


def decision_blocks(rows: Sequence[DecisionRow], launch: Launch) -> list[Json]:
    """The matrix and what it stands on: units by their share of peak, and what warps wait for."""
    blocks: list[Json] = [matrix(rows)]
    for caption, unit, items in (
        ("Busy share of each unit and pipe, of its peak", "%", unit_shares(launch)),
        ("What warps wait for, of their cycles", "%", [(k, 100 * v) for k, v in waits(launch)]),
    ):
        if items:
            blocks.append(
                {
                    "type": "bars",
                    "caption": caption,
                    "unit": unit,
                    "evidence": "measured",
                    "items": [
                        {"label": label.replace("_", " "), "value": round(value, 1)}
                        for label, value in items[:_MOST_UNITS]
                    ],
                }
            )
    return blocks

"""Where a profiled launch spent its samples and executions: by source line, and by instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.report import view

__all__ = ["hot_lines", "hot_spots"]

_HOT_LINES = 12
_HOT_SPOTS = 8

Json = Mapping[str, Any]

#: What a report's hot-spot tables ask for -> column of the code panes.
_COLUMN = {
    "inst_executed": "warp_executed",
    "thread_inst_executed": "thread_executed",
    "group:smsp__pcsamp_warp_stall_reasons": "samples",
    "group:smsp__pcsamp_warp_stall_reasons_not_issued": "samples_not_issued",
    "smsp__pcsamp_sample_count": "samples",
    "memory_l2_theoretical_sectors_global": "sectors",
    "derived__memory_l2_theoretical_sectors_global_excessive": "sectors_excess",
    "memory_l1_wavefronts_shared": "wavefronts",
    "derived__memory_l1_wavefronts_shared_excessive": "wavefronts_excess",
}


def hot_spots(report: Json, index: int, launch: Json, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Instructions with the most of the first metric that the panes have a column for, links to them."""
    code = launch["measured"]["code"]
    column = next((_COLUMN[m] for m in metrics if m in _COLUMN), None)
    values = (code or {}).get("profile", {}).get(column)
    if not code or not values:
        return []
    listing = report["profile"]["codes"][code["code"]]
    rows = listing["instructions"]
    total = sum(value or 0 for value in values)
    top = sorted((pc for pc, value in enumerate(values) if value), key=lambda pc: (-values[pc], pc))
    return [
        {
            "href": view.fragment(index, line=(listing["source"], rows["line"][pc])),
            "opcode": rows["opcode"][pc],
            "offset": f"0x{rows['offset'][pc]:04x}",
            "key": f"spot:{column}:0x{rows['offset'][pc]:04x}:{rows['opcode'][pc]}",
            "number": values[pc],
            "text": view.num(values[pc]),
            "percent": f"{100 * values[pc] / total:.1f} %",
            "share": 100 * values[pc] / values[top[0]],
            "place": (
                view.line_place(report, rows["source"][pc], rows["source_line"][pc])
                if rows["source"][pc] is not None and rows["source_line"][pc]
                else ""
            ),
        }
        for pc in top[:_HOT_SPOTS]
    ]


def hot_lines(report: Json, index: int, launch: Json) -> list[dict[str, Any]]:
    """Source lines with most samples and what their warps waited for; SASS lines where there is no source."""
    code = launch["measured"]["code"]
    if not code or "samples" not in code["profile"]:
        return []
    rows = [row for row in code["lines"] if row.get("samples")]
    bare = not rows
    if bare:
        listing = report["profile"]["codes"][code["code"]]
        columns = code["profile"]
        rows = [
            {
                "source": listing["source"],
                "line": line,
                **{name: column[pc] for name, column in columns.items() if column[pc]},
            }
            for pc, line in enumerate(listing["instructions"]["line"])
            if columns["samples"][pc]
        ]
    total = sum(row["samples"] for row in rows)
    rows = sorted(rows, key=lambda row: (-row["samples"], row["line"]))[:_HOT_LINES]
    out = []
    for row in rows:
        reasons = sorted(
            (
                (value, name.removeprefix("stall_"))
                for name, value in row.items()
                if name.startswith("stall_")
            ),
            key=lambda item: (-item[0], item[1]),
        )
        out.append(
            {
                "href": view.fragment(index, line=(row["source"], row["line"])),
                "place": view.line_place(report, row["source"], row["line"]),
                "key": f"line:{'sass' if bare else view.source_name(report, row['source'])}:{row['line']}",
                "number": row["samples"],
                "text": view.num(row["samples"]),
                "percent": f"{100 * row['samples'] / total:.1f} %" if total else "",
                "share": 100 * row["samples"] / total if total else 0,
                "reasons": ", ".join(
                    f"{name.replace('_', ' ')} {view.num(value)}" for value, name in reasons[:3]
                ),
            }
        )
    return out

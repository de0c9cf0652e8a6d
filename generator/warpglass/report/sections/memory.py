"""Every memory instruction: what it asked for, what that cost, and what it would cost at best.

The static page shows the table and the picture of the first sample of each instruction; the script sorts and
filters, and draws the other samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import access_svg, view

TITLE = "Memory"

#: Pictures in the static page, of the first launch and of each other; all samples stay in the data.
MAX_PICTURES = (3, 1)


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """A table and pictures for each launch, or None where no memory instruction was executed."""
    groups = [_group(report, index, launch) for index, launch in enumerate(report.get("launches") or [])]
    return (
        {"groups": [group for group in groups if group["rows"]]}
        if any(group["rows"] for group in groups)
        else None
    )


def _group(report: Mapping[str, Any], index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = view.primary_run(launch) or {}
    text = ((run.get("code") or {}).get("instructions") or {}).get("text") or []
    rows = [row for row in run.get("memory") or [] if row.get("requests")]
    made = [_row(report, row, text, number, index, run) for number, row in enumerate(rows)]
    # Worst first: the picture of a perfect access teaches less.
    order = sorted(range(len(rows)), key=lambda n: (-made[n]["excess"], n))
    pictures: list[dict[str, Any]] = []
    for n in order:
        samples = rows[n].get("samples") or []
        if samples and len(pictures) < MAX_PICTURES[index > 0]:
            svg = access_svg.draw(samples[0])
            if svg is not None:
                pictures.append(
                    {**made[n], "svg": svg, "label": samples[0].get("label"), "sample": samples[0]}
                )
    return {
        "index": index,
        "isa": str(run.get("isa", "")).upper(),
        "scaled": bool(run.get("scaled")),
        "rows": made,
        "pictures": pictures,
    }


def _row(
    report: Mapping[str, Any],
    row: Mapping[str, Any],
    text: list[str],
    number: int,
    index: int,
    run: Mapping[str, Any],
) -> dict[str, Any]:
    shared = row.get("space") == "shared"
    cost = row.get("wavefronts") if shared else row.get("sectors")
    ideal = row.get("wavefronts_ideal") if shared else row.get("sectors_ideal")
    requests = row["requests"]
    pc = row.get("pc")
    factor = view.ratio(cost, ideal)
    return {
        "number": number,
        "pc": pc,
        "text": text[pc] if isinstance(pc, int) and pc < len(text) else "",
        "place": ""
        if row.get("line") is None
        else f"{view.source_name(report, row.get('source'))}:{row['line']}",
        "href": view.fragment(index, isa=run.get("isa"), line=(row.get("source"), row.get("line"))),
        "operation": row.get("operation"),
        "space": row.get("space"),
        "width": row.get("width"),
        "requests": requests,
        "lanes": None if row.get("lanes") is None else round(float(row["lanes"]), 1),
        "unit": "wavefronts" if shared else "sectors",
        "cost": cost,
        "ideal": ideal,
        "each": view.ratio(cost, requests),
        "each_ideal": view.ratio(ideal, requests),
        "factor": factor,
        "conflicts": row.get("conflicts"),
        "broadcasts": row.get("broadcasts"),
        "atomic": row.get("atomic_addresses"),
        "excess": (cost or 0) - (ideal or 0),
        "level": 0 if factor is None or factor <= 1.0 else 1 if factor < 2 else 2,
    }

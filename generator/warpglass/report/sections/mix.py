"""Which instructions were executed, and with how many lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpglass.report import svg, view
from warpglass.report.figures import Figure, bar_spec
from warpglass.report.pipes import OTHER, PIPES

TITLE = "Instruction mix"

KINDS = {
    "alu": "integer",
    "fpu": "float",
    "half": "half",
    "double": "double",
    "convert": "convert",
    "sfu": "special function",
    "tensor": "tensor",
    "load": "load",
    "store": "store",
    "atomic": "atomic",
    "async": "async copy",
    "branch": "branch",
    "barrier": "barrier",
    "call": "call",
    "exit": "exit",
    "move": "move",
    "predicate": "predicate",
    "control": "control",
}


def context(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tables and figures for each launch, or None where nothing was executed."""
    groups = [_group(index, launch) for index, launch in enumerate(report.get("launches") or [])]
    return {"groups": groups} if any(group["rows"] for group in groups) else None


def _group(index: int, launch: Mapping[str, Any]) -> dict[str, Any]:
    run = view.primary_run(launch) or {}
    rows = [row for row in run.get("mix") or [] if row.get("warp")]
    total = sum(row["warp"] for row in rows)
    ordered = sorted(rows, key=lambda row: (-row["warp"], str(row.get("opcode"))))
    kinds: dict[str, list[int]] = {}
    for row in rows:
        both = kinds.setdefault(str(row.get("kind") or "other"), [0, 0])
        both[0] += row["warp"]
        both[1] += row.get("thread") or 0
    by_kind = sorted(kinds.items(), key=lambda item: (-item[1][0], item[0]))
    pipes = _pipes(run, rows)
    return {
        "index": index,
        "isa": str(run.get("isa", "")).upper(),
        "scaled": bool(run.get("scaled")),
        "rows": [_row(row, total, ordered[0]["warp"], run) for row in ordered],
        "piped": bool(pipes),
        "total": total,
        "figures": [*_figures(index, by_kind, total, run), *_pipe_figure(index, pipes, total)]
        if rows
        else [],
        "legend": [
            (name, PIPES[name].series if name in PIPES else 6, PIPES[name].what if name in PIPES else OTHER)
            for name in pipes
        ],
    }


def _opcode(run: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    known: Mapping[str, Any] = ((run.get("code") or {}).get("opcodes") or {}).get(row.get("opcode")) or {}
    return known


def _row(row: Mapping[str, Any], total: int, most: int, run: Mapping[str, Any]) -> dict[str, Any]:
    lanes = view.ratio(row.get("thread"), row["warp"])
    known = _opcode(run, row)
    return {
        "pipe": known.get("pipe"),
        "help": known.get("help"),
        "opcode": str(row.get("opcode")),
        "kind": KINDS.get(str(row.get("kind")), str(row.get("kind") or "other")),
        "warp": row["warp"],
        "thread": row.get("thread"),
        "share": 100 * row["warp"] / total,
        "bar": 100 * row["warp"] / most,
        "lanes": None if lanes is None else f"{lanes:.1f}",
    }


def _figures(
    index: int, by_kind: list[tuple[str, list[int]]], total: int, run: Mapping[str, Any]
) -> list[Figure]:
    names = [KINDS.get(kind, kind) for kind, _ in by_kind]
    drawn = svg.bars(
        [
            svg.Bar(name, both[0], f"{view.num(both[0])} · {100 * both[0] / total:.1f} %")
            for name, (_, both) in zip(names, by_kind, strict=True)
        ],
        "Warp instructions by kind",
    )
    spec = bar_spec(
        names,
        [{"name": "warp instructions", "values": [both[0] for _, both in by_kind], "color": "$series-1"}],
        horizontal=True,
        x_title="warp instructions",
        y_title="",
    )
    figures = [Figure(f"mix-{index}", "Warp instructions by kind", drawn, spec, "executed")]
    lanes = _lane_histogram(run)
    if lanes is not None:
        spec = bar_spec(
            list(range(33)),
            [{"name": "warp instructions", "values": lanes, "color": "$series-1"}],
            horizontal=False,
            x_title="lanes on",
            y_title="warp instructions",
        )
        drawn = svg.columns(lanes, "Warp instructions by number of lanes on, 0 to 32")
        figures.append(Figure(f"lanes-{index}", "Warp instructions by lanes on", drawn, spec, "executed"))
    return figures


def _pipes(run: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> dict[str, int]:
    """Warp instructions by pipe, most first; empty where the opcodes' pipes are not known at all (PTX)."""
    if not (run.get("code") or {}).get("opcodes"):
        return {}
    counts: dict[str, int] = {}
    for row in rows:
        name = str(_opcode(run, row).get("pipe") or "not published")
        counts[name] = counts.get(name, 0) + row["warp"]
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _pipe_figure(index: int, pipes: Mapping[str, int], total: int) -> list[Figure]:
    if not pipes:
        return []
    bars = [
        svg.Bar(name, warp, f"{view.num(warp)} · {100 * warp / total:.1f} %", _series(name))
        for name, warp in pipes.items()
    ]
    spec = bar_spec(
        list(pipes),
        [
            {
                "name": "warp instructions",
                "values": list(pipes.values()),
                "color": [f"$series-{_series(name)}" for name in pipes],
            }
        ],
        horizontal=True,
        x_title="warp instructions",
        y_title="",
    )
    title = "Warp instructions by pipe"
    return [Figure(f"pipes-{index}", title, svg.bars(bars, title), spec, "static")]


def _series(pipe: str) -> int:
    return PIPES[pipe].series if pipe in PIPES else 6


def _lane_histogram(run: Mapping[str, Any]) -> list[int] | None:
    rows = [row for row in run.get("active_histogram") or [] if row and len(row) == 33]
    if not rows:
        return None
    return [sum(column) for column in zip(*rows, strict=True)]

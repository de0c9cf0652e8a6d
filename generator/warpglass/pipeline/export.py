"""A schedule for other viewers: VCD (IEEE 1364-2005, clause 18) and trace-event JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from warpglass.pipeline.expand import ARRIVE, ASYNC, BUSY, MMA, STORE, STWAIT, SYNC, WAIT, WGWAIT
from warpglass.pipeline.simulate import Run
from warpglass.pipeline.stages import stage_rows

__all__ = ["to_perfetto", "to_vcd"]


def _rows(
    run: Run, program: Mapping[str, Any]
) -> list[tuple[str, str, list[tuple[int, int, str, int, int]]]]:
    """(group, row, spans of (start, end, text, tile, step)): lanes, engines, stages."""
    flat = run.flat
    ops = flat.operations()
    lanes: list[list[tuple[int, int, str, int, int]]] = [[] for _ in flat.lanes]
    engines: list[list[tuple[int, int, str, int, int]]] = [[] for _ in flat.engines]
    for kind, who, start, end, operation, _ in run.events:
        if operation < 0 or end <= start:
            continue
        op = ops[operation][1]
        site = flat.sites[op.site]
        if kind == BUSY:
            lanes[who].append((start, end, site.label or site.kind, op.tile, op.step))
        elif kind in (WAIT, WGWAIT, STWAIT, SYNC):
            lanes[who].append((start, end, f"WAIT {site.cause}", op.tile, op.step))
        elif kind in (ASYNC, MMA, STORE):
            engines[who].append((start, end, site.label, op.tile, op.step))
    found = [("lanes", name, spans) for name, spans in zip(flat.lane_names, lanes, strict=True)]
    for (name, _, latency), spans in zip(flat.engines, engines, strict=True):
        # Copies overlap each other by their latency: a row shows when the engine was occupied.
        found.append(("engines", name, [(s, max(s + 1, e - latency), t, o, k) for s, e, t, o, k in spans]))
    for row in stage_rows(run):
        spans = [(s.start, s.end, s.state.upper(), s.tile, s.step) for s in row.spans]
        found.append((f"pipe_{row.pipe}", f"stage{row.stage}", spans))
    return found


def _word(text: str) -> str:
    return re.sub(r"[^\w.]+", "_", text) or "_"


def to_vcd(run: Run, program: Mapping[str, Any]) -> str:
    """Value change dump: a string a row (what it does), and its output tile and k-tile as integers."""
    names: list[tuple[str, str, str]] = []
    changes: list[tuple[int, int, str]] = []
    lines = [
        "$version warpglass $end",
        "$comment one unit of simulated time is 1 ns here $end",
        "$timescale 1 ns $end",
    ]
    scope = ""
    for number, (group, row, spans) in enumerate(_rows(run, program)):
        if group != scope:
            if scope:
                lines.append("$upscope $end")
            lines.append(f"$scope module {_word(group)} $end")
            scope = group
        codes = (f"s{number}", f"t{number}", f"k{number}")
        names.append(codes)
        lines.append(f"$var string 1 {codes[0]} {_word(row)} $end")
        lines.append(f"$var integer 32 {codes[1]} {_word(row)}_tile $end")
        lines.append(f"$var integer 32 {codes[2]} {_word(row)}_step $end")
        last = 0
        for start, end, text, tile, step in spans:
            if start > last or last == 0:
                changes.append((last, number, "idle"))
            changes += [(start, number, text), (start, number, f"t{tile}"), (start, number, f"k{step}")]
            last = end
        changes.append((last, number, "idle"))
    lines += ["$upscope $end" if scope else "", "$enddefinitions $end"]
    at = -1
    final: dict[tuple[int, int, str], str] = {}
    for time, number, text in changes:
        kind = text[0] if re.fullmatch(r"[tk]-?\d+", text) else "s"
        final[time, number, kind] = text
    for (time, number, kind), text in sorted(final.items(), key=lambda item: item[0]):
        if time != at:
            lines.append(f"#{time}")
            at = time
        codes = names[number]
        if kind == "s":
            lines.append(f"s{_word(text)} {codes[0]}")
        else:
            value = int(text[1:])
            bits = f"{value & 0xFFFFFFFF:b}" if value >= 0 else "x"
            lines.append(f"b{bits} {codes[1 if kind == 't' else 2]}")
    if at < run.total:
        lines.append(f"#{run.total}")
    return "\n".join(line for line in lines if line) + "\n"


def to_perfetto(run: Run, program: Mapping[str, Any]) -> str:
    """Trace events: a process a group, a thread a row, a complete event a span."""
    events: list[dict[str, Any]] = []
    groups: dict[str, int] = {}
    for number, (group, row, spans) in enumerate(_rows(run, program)):
        if group not in groups:
            groups[group] = len(groups) + 1
            events.append({"ph": "M", "name": "process_name", "pid": groups[group], "args": {"name": group}})
        names = {"ph": "M", "name": "thread_name", "pid": groups[group], "tid": number, "args": {"name": row}}
        events.append(names)
        for start, end, text, tile, step in spans:
            events.append(
                {"ph": "X", "name": text, "cat": group, "pid": groups[group], "tid": number, "ts": start,
                 "dur": end - start, "args": {"output tile": tile, "k-tile": step}}
            )  # fmt: skip
    flow = 0
    flat = run.flat
    ops = flat.operations()
    lane_tid = {name: index for index, name in enumerate(flat.lane_names)}
    for kind, who, start, end, _, by in run.events:
        if kind in (WAIT, SYNC) and by >= 0 and end > start and ops[by][1].code == ARRIVE:
            # An arrow from who arrived to who waited.
            flow += 1
            giver = lane_tid[flat.lane_names[ops[by][0]]]
            common = {"name": "arrive", "cat": "barrier", "id": flow, "pid": groups["lanes"]}
            events.append({**common, "ph": "s", "tid": giver, "ts": end})
            events.append({**common, "ph": "f", "bp": "e", "tid": who, "ts": end})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":")) + "\n"

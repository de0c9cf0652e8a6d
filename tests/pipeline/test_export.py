"""Exports read back: VCD by a small reader of its grammar, trace events as JSON."""

from __future__ import annotations

import json
from typing import Any

from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.sm90 import sm90_program
from warpglass.pipeline import run_program, stage_rows
from warpglass.pipeline.export import to_perfetto, to_vcd


def read_vcd(text: str) -> tuple[dict[str, str], dict[str, list[tuple[int, str]]], int]:
    """(full name of each code, changes by full name, last time). Raises for anything out of place."""
    head, _, body = text.partition("$enddefinitions $end\n")
    scope: list[str] = []
    names: dict[str, str] = {}
    for line in head.splitlines():
        words = line.split()
        if words[:2] == ["$scope", "module"]:
            scope.append(words[2])
        elif words[0] == "$upscope":
            scope.pop()
        elif words[0] == "$var":
            kind, size, code, name = words[1:5]
            assert words[5] == "$end"
            assert (kind, size) in (("string", "1"), ("integer", "32"))
            assert code not in names
            names[code] = ".".join([*scope, name])
    assert scope == []
    changes: dict[str, list[tuple[int, str]]] = {}
    time = -1
    for line in body.splitlines():
        if line.startswith("#"):
            assert int(line[1:]) > time
            time = int(line[1:])
            continue
        value, code = line.split(" ")
        assert value[0] in "sb"
        changes.setdefault(names[code], []).append((time, value[1:]))
    return names, changes, time


def spans(changes: list[tuple[int, str]], total: int) -> list[tuple[int, int, str]]:
    ends = [time for time, _ in changes[1:]] + [total]
    return [(t, end, v) for (t, v), end in zip(changes, ends, strict=True) if v != "idle" and end > t]


def test_vcd_holds_the_schedule() -> None:
    for program in (sm90_program("pingpong"), attention_program()):
        run = run_program(program)
        names, changes, last = read_vcd(to_vcd(run, program))
        assert last == run.total
        assert len(set(names.values())) == len(names)
        for row in stage_rows(run):
            got = spans(changes[f"pipe_{row.pipe}.stage{row.stage}"], run.total)
            assert got == [(s.start, s.end, s.state.upper()) for s in row.spans]
        core = spans(changes["engines.tc"], run.total)
        assert sum(end - start for start, end, _ in core) == run.busy[1]
        waits = [v for _, v in changes[f"lanes.{run.flat.lane_names[0]}"] if v.startswith("WAIT")]
        assert "WAIT_pipe_empty" in waits


def test_trace_events_hold_the_schedule() -> None:
    program = sm90_program("cooperative")
    run = run_program(program)
    trace: dict[str, Any] = json.loads(to_perfetto(run, program))
    events = trace["traceEvents"]
    named = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {*run.flat.lane_names, "tc", "stage0"} <= named
    assert max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") == run.total
    mma = [e for e in events if e["ph"] == "X" and e["name"] == "MMA"]
    assert sum(e["dur"] for e in mma) == run.busy[1]
    starts = sorted(e["id"] for e in events if e["ph"] == "s")
    assert starts == sorted(e["id"] for e in events if e["ph"] == "f") != []

"""The page's simulator against this one: the same events for a thousand random knob settings."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cutlass.small import KERNEL, TURNS
from warpglass.cutlass import parse
from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.sm90 import MODES, Traits, sm90_program
from warpglass.cutlass.programs.sm100 import sm100_program
from warpglass.errors import InputError
from warpglass.pipeline import critical_path, run_program, stage_rows, summarise

SCRIPT = Path(__file__).resolve().parents[1] / "js" / "pipeline-events.js"

#: A program made of the roles of a small kernel of our own.
TRACED = parse([("a.hpp", TURNS.encode())], ("b.hpp", KERNEL.encode())).derived.programs[1]

PROGRAMS = [
    *(sm90_program(mode) for mode in MODES),
    sm90_program("pingpong", Traits(cp_async=True)),
    sm90_program("pingpong", Traits(promotion=True)),
    sm90_program("cooperative", Traits(release="half")),
    sm90_program("basic", Traits(release="drained", loads=4)),
    sm90_program("cooperative", Traits(lag=0)),
    sm100_program(),
    sm100_program(True),
    attention_program(),
    TRACED,
]
SETTINGS = 1000


def random_knobs(program: dict[str, Any], source: random.Random) -> dict[str, int]:
    """Any value of any knob, loop counts kept small so that a thousand runs stay quick."""
    small = {"K": 12, "O": 5, "N": 8, "NE": 5}
    chosen = {}
    for knob in program["knobs"]:
        if knob["name"] in ("cm", "cn"):
            # Every CTA costs as much as the whole schedule: most runs have one.
            chosen[knob["name"]] = source.choice((1,) * 8 + (2, 3))
        elif source.random() < 0.6:
            most = min(knob["max"], small.get(knob["name"], 40 if knob["unit"] == "time" else knob["max"]))
            chosen[knob["name"]] = source.randint(knob["min"], max(knob["min"], most))
    return chosen


def hashed(values: list[int]) -> int:
    """The same 32-bit hash as the script's."""
    result = 0
    for value in values:
        result = (result * 31 + value) & 0xFFFFFFFF
    return result - (1 << 32) if result >= 1 << 31 else result


def answers(settings: list[tuple[int, dict[str, int], int]]) -> list[dict[str, Any]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    text = json.dumps({"programs": PROGRAMS, "settings": settings})
    done = subprocess.run(
        [node, str(SCRIPT)], input=text, capture_output=True, text=True, check=True, timeout=300
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_equal_events() -> None:
    source = random.Random(20)
    settings = [
        (number % len(PROGRAMS), random_knobs(PROGRAMS[number % len(PROGRAMS)], source), 0)
        for number in range(SETTINGS)
    ]
    ended = stopped = 0
    for (number, knobs, _), theirs in zip(settings, answers(settings), strict=True):
        where = (PROGRAMS[number]["id"], knobs)
        try:
            run = run_program(PROGRAMS[number], knobs)
        except InputError:
            assert "error" in theirs, where
            continue
        flat = [value for event in run.events for value in event]
        assert (theirs["total"], theirs["events"]) == (run.total, len(run.events)), where
        assert theirs["hash"] == hashed(flat), where
        assert [tuple(s.values()) for s in theirs["stuck"]] == [
            (s.lane, s.operation, s.since) for s in run.stuck
        ]
        assert (theirs["fault"] is None) == (run.fault is None), where
        ended += run.complete
        stopped += not run.complete
    # Both kinds have to be there for the comparison to mean something.
    assert ended > SETTINGS // 2
    assert stopped > 5


def test_equal_meaning() -> None:
    source = random.Random(7)
    settings = [
        (n, random_knobs(PROGRAMS[n], source) if turn else {}, 1)
        for n in range(len(PROGRAMS))
        for turn in range(4)
    ]
    for (number, knobs, _), theirs in zip(settings, answers(settings), strict=True):
        program = PROGRAMS[number]
        run = run_program(program, knobs)
        assert theirs["list"] == [value for event in run.events for value in event]
        summary = summarise(run, program)
        got = theirs["summary"]
        assert got["problems"] == list(summary.problems)
        assert (got["fill"], got["drain"], got["busy"]) == (summary.fill, summary.drain, summary.busy)
        assert (got["use"], got["useBetween"], got["period"]) == (
            summary.use,
            summary.use_between,
            summary.period,
        )
        assert [(b["name"], b["value"]) for b in got["bounds"]] == list(summary.bounds)
        assert (got["bound"], got["leastStages"]) == (summary.bound, summary.least_stages)
        lanes = [(lane["lane"], [tuple(c) for c in lane["causes"]], lane["end"]) for lane in got["lanes"]]
        assert lanes == [(lane.lane, list(lane.causes), lane.end) for lane in summary.lanes]
        rows = [
            (row["pipe"], row["stage"], [tuple(span.values()) for span in row["spans"]])
            for row in theirs["rows"]
        ]
        assert rows == [
            (r.pipe, r.stage, [(s.state, s.start, s.end, s.tile, s.step) for s in r.spans])
            for r in stage_rows(run)
        ]
        path = [(s["who"], s["what"], s["start"], s["end"]) for s in theirs["critical"]]
        assert path == [(s.who, s.what, s.start, s.end) for s in critical_path(run)]

"""Code, stepper, schedule and memory as the server draws them, and that the scripts agree with it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpglass.report import access_svg
from warpglass.report.sass_control import COLUMNS, control_texts
from warpglass.report.sections import code, memory, schedule, stepper
from warpglass.report.trace_view import BARRIER, DIVERGED, FINISHED, ISSUE, MEMORY, NONE, WAITS, states

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import pages  # noqa: E402

ALL = 0xFFFFFFFF
KINDS = ["load", "branch", "alu", "alu", "barrier", "exit"]
#: round, warp, pc, group: lanes 0–15 of warp 0 run pc 2, the others pc 3; warp 1 waits at the barrier.
DIAMOND = [
    (0, 0, 0, ALL), (0, 1, 0, ALL), (1, 0, 1, ALL), (1, 1, 1, ALL), (2, 0, 2, 0xFFFF), (2, 1, 4, ALL),
    (3, 0, 3, 0xFFFF0000), (4, 0, 4, ALL), (5, 0, 5, ALL), (5, 1, 5, ALL),
]  # fmt: skip


def trace_of(
    rows: list[tuple[int, int, int, int]], warps: int, threads: int | None = None, truncated: bool = False
) -> dict[str, Any]:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("round", "warp", "pc", "group"))}
    return {
        "block": [0, 0, 0], "index": 0, "warps": warps, "threads": threads or 32 * warps, "steps": len(rows),
        "rounds": max((row[0] for row in rows), default=-1) + 1, "truncated": truncated,
        "columns": {**columns, "mask": columns["group"]}, "values": None, "accesses": None, "barriers": None,
    }  # fmt: skip


def test_states_of_a_split_warp_and_a_waiting_one() -> None:
    result = states(trace_of(DIAMOND, 2), KINDS, 6)
    assert result.dominant.tolist() == [
        [MEMORY, ISSUE, DIVERGED, DIVERGED, ISSUE, ISSUE],
        [MEMORY, ISSUE, ISSUE, BARRIER, BARRIER, ISSUE],
    ]
    assert result.totals.sum() == 12


def test_states_at_the_ends() -> None:
    left = states(trace_of([(0, 0, 5, ALL), (3, 1, 5, ALL)], 2), KINDS, 8)
    assert left.dominant.tolist() == [[ISSUE, FINISHED, FINISHED, FINISHED], [WAITS, WAITS, WAITS, ISSUE]]
    cut = states(trace_of([(0, 0, 2, ALL), (1, 1, 2, ALL)], 2, truncated=True), KINDS, 2)
    assert cut.dominant[0].tolist() == [ISSUE, NONE]


def _random_trace(seed: int) -> dict[str, Any]:
    """Warps that split, lose lanes and wait at random, each step in a round of its own or shared."""
    rng = random.Random(seed)
    warps = rng.randint(1, 3)
    rows = []
    for warp in range(warps):
        alive, at = ALL, 0
        for _ in range(rng.randint(1, 30)):
            at += rng.choice((1, 1, 1, 2, 5))
            group = alive & rng.choice((ALL, ALL, 0xFFFF, 0xFF00FF00)) or alive
            rows.append((at, warp, rng.randint(0, 4), group))
        rows.append((at + 1, warp, 5, alive))
    rows.sort(key=lambda row: (row[0], row[1]))
    return trace_of(rows, warps)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_scripts_agree_with_the_static_figures() -> None:
    traces = [_random_trace(seed) for seed in range(20)] + [trace_of(DIAMOND, 2)]
    rng = random.Random(5)
    accesses = []
    for size in (1, 2, 4, 8, 16):
        for _ in range(10):
            pool = [rng.randrange(0, 4096, size) for _ in range(rng.choice((1, 3, 32)))]
            accesses.append([rng.getrandbits(32) | 1, [rng.choice(pool) for _ in range(32)], size])
    script = """
import { readFileSync } from 'node:fs';
import { traceIndex } from './static_js/trace-core.js';
import { waveBuild, waveKinds } from './static_js/waveform-core.js';
import { memoryBanks, memorySectors } from './static_js/memory-core.js';
const { traces, kinds, accesses } = JSON.parse(readFileSync(0, 'utf8'));
const rows = [];
for (const raw of traces) {
  const columns = Object.fromEntries(Object.entries(raw.columns).map(([k, v]) => [k, Uint32Array.from(v)]));
  const trace = { ...raw, ...columns };
  const { pyramid } = await waveBuild(trace, traceIndex(trace), waveKinds(kinds));
  rows.push([...pyramid.levels[0]]);
}
const costs = accesses.map(([mask, addresses, size]) =>
  [memorySectors(mask, addresses, size).length, memoryBanks(mask, addresses, size).wavefronts]);
console.log(JSON.stringify({ rows, costs }));
"""
    done = subprocess.run(
        [str(shutil.which("node")), "--input-type=module", "-e", script],
        input=json.dumps({"traces": traces, "kinds": KINDS, "accesses": accesses}),
        capture_output=True, text=True, cwd=ROOT, check=True, timeout=60,
    )  # fmt: skip
    answer = json.loads(done.stdout)
    for trace, row in zip(traces, answer["rows"], strict=True):
        assert states(trace, KINDS, trace["rounds"]).dominant.ravel().tolist() == row
    mine = [[len(access_svg.sectors(*access)), access_svg.banks(*access)[1]] for access in accesses]
    assert mine == answer["costs"]


def test_pictures_of_requests() -> None:
    sample = {
        "mask": ALL,
        "addresses": [128 * lane for lane in range(32)],
        "size": 4,
        "space": "shared",
        "base": 0,
    }
    assert "32 wavefronts" in str(access_svg.draw(sample))
    assert "32 sectors" in str(access_svg.draw({**sample, "space": "global"}))
    assert access_svg.draw({**sample, "space": "local"}) is None
    assert access_svg.draw({**sample, "mask": 0}) is None


def test_code_panes_carry_counts_and_live_registers() -> None:
    context = code.context(pages.reduce_report())
    assert context is not None
    source, ptx = context["panes"]
    assert (source["kind"], ptx["kind"], ptx["first"], ptx["launches"]) == ("source", "ptx", 4, "0 1")
    assert source["rows"][11]["heat"] == "56"
    assert max(row["level"] for row in source["rows"]) == 6
    assert sum(row["most"] for row in ptx["rows"]) == 3
    assert ptx["rows"][-1]["live"] is None
    empty = pages.reduce_report()
    for one in empty["sources"]:
        one["text"] = None
    assert code.context(empty) is None


def test_short_counts() -> None:
    assert [code.short(n) for n in (0, 999, 1000, 12345, 999_600, 10**9)] == [
        "0",
        "999",
        "1.00k",
        "12.3k",
        "1.00M",
        "1.00G",
    ]


def test_sections_are_absent_without_data() -> None:
    report = pages.reduce_report()
    for launch in report["launches"]:
        launch["runs"][0]["traces"] = []
        launch["runs"][0]["memory"] = []
    assert stepper.context(report) is None
    assert schedule.context(report) is None
    assert memory.context(report) is None
    nothing = {"schema": "warpglass-report/1", "launches": []}
    assert [one.context(nothing) for one in (code, stepper, schedule, memory)] == [None] * 4


def test_static_tables_sum_to_the_rounds() -> None:
    context = schedule.context(pages.reduce_report())
    assert context is not None
    for group in context["groups"]:
        assert [sum(row["counts"]) for row in group["rows"]] == [group["rounds"]] * 4
        assert len(str(group["svg"])) < 8000
    steps = stepper.context(pages.reduce_report())
    assert steps is not None
    assert [row["step"] for row in steps["groups"][0]["rows"][:3]] == [0, 4, 8]


def test_memory_rows_say_each_and_best() -> None:
    context = memory.context(pages.reduce_report())
    assert context is not None
    rows = {row["pc"]: row for row in context["groups"][0]["rows"]}
    assert (rows[7]["each"], rows[7]["each_ideal"], rows[7]["level"]) == (4, 4, 0)
    assert (rows[18]["factor"], rows[18]["conflicts"], rows[18]["level"]) == (32, 248, 2)
    assert context["groups"][0]["pictures"][0]["pc"] == 18


def test_control_fields_stand_in_columns() -> None:
    assert control_texts([None, None]) == []
    field = {"stall": 4, "yield_bit": 1, "write_barrier": 2, "read_barrier": None, "wait_mask": 5, "reuse": 2}
    assert control_texts([None, field, {}]) == [None, " 4 1 2 - 0-2--- 2", " ? ? - - ------"]
    # The heads stand above their columns, in the same fixed pitch.
    assert " ".join(head for head, _ in COLUMNS) == "st y W R wait   r"


def test_a_trace_of_many_rounds_is_drawn_in_few_bytes() -> None:
    report = pages.busy_report(64_000)
    context = schedule.context(report)
    assert context is not None
    assert len(str(context["groups"][0]["svg"])) < 100_000
    result = states(report["launches"][0]["runs"][0]["traces"][0], ["alu"] * 30, 100)
    assert result.dominant.shape == (32, 100)
    assert np.all(result.totals.sum(axis=1) == result.rounds)


@pytest.mark.parametrize(
    ("name", "value"),
    [("pc", 10**6), ("warp", 4), ("round", 10**9), ("mask", 2**40), ("group", -1), ("pc", None)],
)
def test_traces_that_do_not_fit_together_are_left_out(name: str, value: Any) -> None:
    report = pages.reduce_report(1)
    for trace in report["launches"][0]["runs"][0]["traces"]:
        trace["columns"][name][-1] = value
    assert schedule.context(report) is None
    assert stepper.context(report) is None

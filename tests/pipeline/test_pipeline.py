"""Barriers, engines and results on small programs written here."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from warpglass.cutlass import build as b
from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.sm90 import MODES, Traits, sm90_program
from warpglass.cutlass.programs.sm100 import sm100_program
from warpglass.errors import InputError
from warpglass.pipeline import (
    critical_path,
    expand,
    least_stages,
    run_program,
    stage_rows,
    summarise,
    sweep,
    what_if,
)
from warpglass.pipeline.expressions import evaluate


def small(lanes: list[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    engines = [b.engine("tma", "tma", 5), b.engine("tc", "tc"), b.engine("st", "store")]
    return b.program(
        "small", "small", **{"knobs": [], "pipes": [], "engines": engines, "lanes": lanes, **parts}
    )


def test_a_wait_passes_when_arrivals_and_transactions_are_both_there() -> None:
    full = {"name": "b", "count": 1}
    waits = b.wait("b", None, "full", index=0, parity=0)
    early = [b.async_("tma", 2, "b", None, "copy"), b.busy(20, "late"), b.arrive("b", None, tx=1)]
    run = run_program(
        small([b.lane("A", "r", early), b.lane("B", "r", [waits, b.busy(1, "x")])], bars=[full])
    )
    # The copy lands at 7 before it is expected: transactions may go below zero.
    assert run.total == 21
    late = [b.arrive("b", None, tx=1), b.async_("tma", 2, "b", None, "copy")]
    run = run_program(small([b.lane("A", "r", late), b.lane("B", "r", [waits, b.busy(1, "x")])], bars=[full]))
    assert run.total == 8


def test_the_tensor_core_is_in_order_and_wgwait_leaves_groups_outstanding() -> None:
    body = [
        b.mma(10, "a", None, None),
        b.mma(10, "b", None, None),
        b.wgwait(1, "r"),
        b.busy(1, "x"),
        b.wgwait(0, "r"),
    ]
    run = run_program(small([b.lane("A", "r", body)]))
    assert [event[3] for event in run.events if event[0] == 5] == [10, 20]


def test_stores_wait_for_all_but_some() -> None:
    body = [b.store(4, "s"), b.store(4, "s"), b.stwait(1), b.busy(1, "x"), b.stwait(0)]
    assert run_program(small([b.lane("A", "r", body)])).total == 8


def test_an_arrival_too_many_is_said() -> None:
    run = run_program(small([b.lane("A", "r", [b.arrive("b", None, n=2)])], bars=[{"name": "b", "count": 1}]))
    assert not run.complete
    summary = summarise(run, small([]))
    assert summary.problems == ("A arrives once too often at b, which counts 1 arrivals a phase (time 0)",)


def test_a_deadlock_names_who_waits_for_what() -> None:
    program = sm90_program("cooperative")
    summary = summarise(run_program(program, {"S": 1}), program)
    assert not summary.complete
    assert (
        "Producer waits for ml.empty since 2: Consumer0 and Consumer1 would arrive there, but waits itself"
        in (summary.problems)
    )


def test_least_stages_by_formula_and_by_sweep() -> None:
    program = sm90_program("pingpong")
    swept = sweep(program, {}, "S", range(1, 13))
    assert swept[0] == (1, None)
    assert least_stages(swept) == 5 == summarise(run_program(program), program).least_stages


def test_pingpong_beats_cooperative_at_equal_work_only_slightly() -> None:
    assert run_program(sm90_program("pingpong")).total == 185
    assert run_program(sm90_program("cooperative"), {"O": 2}).total == 191
    assert run_program(sm90_program("cooperative"), {"O": 4}).total == 361


PROGRAMS = [
    *(sm90_program(mode) for mode in MODES),
    sm90_program("cooperative", Traits(release="half")),
    sm90_program("basic", Traits(release="drained", loads=3)),
    sm100_program(),
    sm100_program(True),
    attention_program(),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p["id"])
def test_the_critical_path_covers_the_total_without_gaps(program: dict[str, Any]) -> None:
    run = run_program(program)
    path = critical_path(run)
    assert path[0].start == 0
    assert path[-1].end == run.total
    assert all(one.end == other.start for one, other in pairwise(path))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p["id"])
def test_stages_are_filled_read_and_released_in_order(program: dict[str, Any]) -> None:
    run = run_program(program)
    knobs = run.flat.knobs
    rows = stage_rows(run)
    mainloop = [row for row in rows if row.pipe in ("ml", "K")]
    held = sum(span.state == "filling" for row in mainloop for span in row.spans)
    assert held == knobs["O"] * knobs.get("K", knobs.get("N", 0))
    for row in rows:
        for one, other in pairwise(row.spans):
            assert one.end <= other.start
            assert (one.tile, one.step) <= (other.tile, other.step)


def test_a_lag_holds_stages_that_have_retired() -> None:
    program = sm90_program("pingpong")
    rows = stage_rows(run_program(program, {"S": 2}))
    assert any(span.state == "held" for row in rows for span in row.spans)
    assert run_program(program, {"S": 2}).total > run_program(program, {"S": 2, "lag": 0}).total


def test_what_if_finds_the_bound() -> None:
    deltas = {(delta.knob, delta.value): delta.change for delta in what_if(sm90_program("pingpong"), {})}
    assert deltas["S", 5] == -27
    assert deltas["SD", 3] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"lanes": [{"name": "A", "body": [{"op": "nonsense"}]}]},
        {"lanes": [{"name": "A", "body": [{"op": "busy"}]}]},
        {"lanes": [{"name": "A", "body": [{"op": "busy", "d": ["//", 1, 0]}]}]},
        {"lanes": [{"name": "A", "body": [{"op": "wait", "bar": "x", "index": 0, "parity": 0}]}]},
        {"lanes": [{"name": "A", "body": [b.loop("t", 10**9, [b.busy(1, "x")])]}]},
        {"lanes": [{"name": "A", "body": [b.loop("t", 10**9, [])]}]},
        {"lanes": 3},
        {"engines": [{"name": "tc"}]},
    ],
)
def test_bad_programs_are_one_clear_error(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        expand({**small([]), **change})


def test_expressions() -> None:
    assert evaluate(["if", ["<", "a", 3], ["cdiv", 7, 2], ["//", 1, 0]], {"a": 2}) == 4
    assert evaluate(["max", 1, ["-", "a"], ["%", -1, 4]], {"a": 2}) == 3
    with pytest.raises(InputError, match="no knob"):
        evaluate("nobody", {})

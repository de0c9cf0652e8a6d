"""Clusters on Hopper: multicast fills, and stages that are given back to every CTA that fills them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from warpglass.cutlass.names import read_name
from warpglass.cutlass.programs.sm90 import MODES, Traits, sm90_program
from warpglass.errors import InputError
from warpglass.pipeline import Run, expand, run_program, stage_rows, summarise
from warpglass.pipeline.expand import ARRIVE, ASYNC, MMA

SHAPES = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (3, 2)]


def arrivals(run: Run, suffix: str) -> Counter[tuple[str, str]]:
    """(lane, barrier) of every arrival at barriers whose name ends so."""
    flat = run.flat
    found: Counter[tuple[str, str]] = Counter()
    for lane, op in flat.operations():
        if op.code == ARRIVE and flat.bars[op.a][0].endswith(suffix):
            found[flat.lane_names[lane], flat.bars[op.a][0]] += 1
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("cm", "cn"), SHAPES)
def test_a_stage_goes_back_to_row_and_column(mode: str, cm: int, cn: int) -> None:
    program = sm90_program(mode)
    knobs = {"cm": cm, "cn": cn, "K": 5, "O": 2}
    run = run_program(program, knobs)
    assert run.complete
    consumers = 2 if mode == "cooperative" else 1
    counts = {(name, count) for name, _, count in run.flat.bars if name.startswith("ml") and "empty" in name}
    assert {count for _, count in counts} == {(cm + cn - 1) * consumers}
    assert len(counts) == cm * cn
    given = arrivals(run, ".empty")
    for cta in range(cm * cn):
        end = f"@{cta}" if cta else ""
        mine = {bar for (lane, bar) in given if lane == f"Consumer0{end}" and bar.startswith("ml")}
        peers = {other for other in range(cm * cn) if other % cm == cta % cm or other // cm == cta // cm}
        assert mine == {f"ml@{other}.empty" if other else "ml.empty" for other in peers}


@pytest.mark.parametrize(("cm", "cn"), SHAPES)
def test_every_cta_gets_both_operands(cm: int, cn: int) -> None:
    run = run_program(sm90_program("basic"), {"cm": cm, "cn": cn, "K": 3, "O": 1})
    flat = run.flat
    landed: Counter[tuple[str, str]] = Counter()
    for lane, op in flat.operations():
        if op.code == ASYNC and flat.bars[op.c][0].startswith("ml"):
            landed[flat.bars[op.c][0], flat.sites[op.site].label] += 1
        if op.code == ARRIVE and flat.bars[op.a][0].endswith(".full") and flat.bars[op.a][0].startswith("ml"):
            assert op.c == cm + cn
            assert flat.lane_names[lane].startswith("Producer")
    for cta in range(cm * cn):
        bar = f"ml@{cta}.full" if cta else "ml.full"
        assert (landed[bar, "TMA A"], landed[bar, "TMA B"]) == (3 * cn, 3 * cm)


def test_multicast_moves_each_operand_once() -> None:
    program = sm90_program("pingpong")
    alone = run_program(program, {"X": 12})
    pair = run_program(program, {"X": 12, "cm": 2})

    def engine(run: Run, name: str) -> int:
        return run.busy[[n for n, _, _ in run.flat.engines].index(name)]

    # Of 12 units 6 are A and 6 are B; a CTA of the pair loads all its A and half of B.
    assert engine(pair, "tma") == engine(pair, "tma@1") == engine(alone, "tma") * 9 // 12
    assert pair.total < alone.total
    assert summarise(pair, program).use == pytest.approx(
        summarise(alone, program).use * alone.total / pair.total
    )


def test_a_slow_neighbour_holds_a_producer() -> None:
    """A stage of CTA 0 is free only when CTA 1's consumer has given it back too."""
    program = sm90_program("basic")
    run = run_program(program, {"cm": 2, "K": 6, "O": 1, "S": 2})
    flat = run.flat
    empty = flat.bar_base["ml.empty"]
    flips = [start for kind, who, start, _, _, _ in run.events if kind == 11 and who == empty]
    ends = sorted(
        end for kind, who, _, end, _, _ in run.events if kind == MMA and flat.engines[who][0] == "tc@1"
    )
    assert flips
    assert all(any(end <= flip for end in ends) for flip in flips)


def test_rows_are_named_by_their_cta() -> None:
    run = run_program(sm90_program("basic"), {"cn": 2, "S": 3, "SC": 0})
    names = [(row.pipe, row.stage) for row in stage_rows(run) if row.pipe.startswith("ml")]
    assert names == [("ml", 0), ("ml", 1), ("ml", 2), ("ml@1", 0), ("ml@1", 1), ("ml@1", 2)]


def test_cp_async_has_no_cluster_and_too_large_ones_are_refused() -> None:
    names = {knob["name"] for knob in sm90_program("basic", Traits(cp_async=True))["knobs"]}
    assert not names & {"cm", "cn"}
    program: dict[str, Any] = {**sm90_program("basic"), "ctas": 17}
    with pytest.raises(InputError, match="17 CTAs"):
        expand(program)


def test_the_cluster_of_a_compiled_kernel_is_preset() -> None:
    name = (
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
        "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<(int)5, "
        "cute::tuple<cute::C<(int)2>, cute::C<(int)1>, cute::C<(int)1>>, "
        "cutlass::gemm::KernelTmaWarpSpecializedPingpong>, "
        "cute::tuple<cute::C<(int)64>, cute::C<(int)128>, cute::C<(int)64>>, cutlass::half_t>>>(T1::Params)"
    )
    found = read_name(name)
    assert found is not None
    assert (found.knobs["cm"], found.knobs["cn"], found.knobs["S"]) == (2, 1, 5)

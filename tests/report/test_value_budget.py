from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from warpglass.report.pack import pack_column
from warpglass.report.value_budget import NOT_KEPT, fit_values, packed_size


def trace(warps: int, each: int, seed: int) -> dict[str, Any]:
    """A trace in which every warp writes ``each`` registers of 32 random words and a predicate, in turn."""
    random = np.random.default_rng(seed)
    steps = warps * each
    length = np.tile([32, 1], steps // 2)
    return {
        "columns": {"warp": (np.arange(steps) % warps).tolist()},
        "values": {
            "names": ["r0", "p0"],
            "types": ["b32", "pred"],
            "step": list(range(steps)),
            "register": np.tile([0, 1], steps // 2).tolist(),
            "offset": (np.cumsum(length) - length).tolist(),
            "words": random.integers(0, 2**32, int(length.sum())).tolist(),
            "warps": list(range(warps)),
            "complete": True,
        },
    }


def rows(values: dict[str, Any]) -> dict[int, list[int]]:
    lengths = {0: 32, 1: 1}
    return {
        step: values["words"][offset : offset + lengths[register]]
        for step, register, offset in zip(values["step"], values["register"], values["offset"], strict=True)
    }


def report(*traces: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"runs": [{"traces": list(traces[:1])}, {"traces": list(traces[1:])}]}]


def test_what_fits_is_left_alone() -> None:
    launches = report(trace(4, 8, 1), trace(2, 8, 2))
    before = copy.deepcopy(launches)
    fit_values(launches, 1_000_000)
    assert launches == before
    fit_values([{"runs": [{"traces": [{"values": None}]}]}, {}], 0)


@pytest.mark.parametrize("budget", [60_000, 20_000, 3_000, 200])
def test_the_page_costs_no_more_than_its_budget(budget: int) -> None:
    whole = [trace(8, 40, 1), trace(4, 40, 2), trace(2, 2, 3)]
    launches = report(*copy.deepcopy(whole))
    fit_values(launches, budget)
    held = [one for run in launches[0]["runs"] for one in run["traces"]]
    assert sum(packed_size(one["values"]) for one in held) <= budget
    for one, full in zip(held, whole, strict=True):
        kept, every = rows(one["values"]), rows(full["values"])
        assert all(every[step] == words for step, words in kept.items())
        warps = {full["columns"]["warp"][step] for step in kept}
        assert warps <= set(one["values"]["warps"])
        mine = [step for step in every if full["columns"]["warp"][step] in one["values"]["warps"]]
        if one["values"]["complete"]:
            assert sorted(kept) == mine
        else:
            assert sorted(kept) == mine[: len(kept)]


def test_a_small_trace_leaves_its_share_to_the_others() -> None:
    small, large = trace(2, 2, 3), trace(8, 40, 1)
    need = packed_size(large["values"])
    launches = report(copy.deepcopy(small), copy.deepcopy(large))
    fit_values(launches, need + packed_size(small["values"]))
    assert launches == report(small, large)


def data_trace(accesses: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    offsets = [NOT_KEPT if n % 5 == 4 else 32 * (n - n // 5) for n in range(accesses)]
    words = 32 * sum(one != NOT_KEPT for one in offsets)
    return {
        "accesses": {
            "step": list(range(accesses)),
            "data_offset": offsets,
            "data": random.integers(0, 2**32, words).tolist(),
        }
    }


@pytest.mark.parametrize("budget", [40_000, 2_000, 0])
def test_later_accesses_lose_their_data_first_traces_last(budget: int) -> None:
    whole = [data_trace(100, 1), data_trace(200, 2), data_trace(300, 3)]
    launches = [
        {"runs": [{"traces": copy.deepcopy([whole[0], whole[1]])}, {"traces": [copy.deepcopy(whole[2])]}]}
    ]
    fit_values(launches, budget)
    held = [one["accesses"] for run in launches[0]["runs"] for one in run["traces"]]
    packed = [pack_column(one["data"]) for one in held]
    sizes = [0 if one is None else len(one["d"]) for one in packed]
    assert sum(sizes) <= budget // 2
    assert sizes[1] < budget // 50 + 1, "the second trace of a run comes after the first ones of all"
    for one, full in zip(held, (whole[0], whole[1], whole[2]), strict=True):
        before = full["accesses"]
        count = sum(offset != NOT_KEPT for offset in one["data_offset"])
        kept = [offset for offset in before["data_offset"] if offset != NOT_KEPT]
        assert [offset for offset in one["data_offset"] if offset != NOT_KEPT] == kept[:count]
        assert one["data"] == before["data"][: 32 * count]

"""Attention mainloops: the sequences of both modes, from a header of our own and from real ones at hand.

``WARPGLASS_FLASH_ATTENTION`` names a folder ``hopper`` of FlashAttention-3, ``WARPGLASS_FLASHINFER`` an
unpacked flashinfer-python 0.2.14.post1; neither is in this repository.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from cutlass.small import TURNS
from warpglass import cutlass
from warpglass.cutlass.attention import letter
from warpglass.cutlass.streams import KNOBS
from warpglass.cutlass.values import Op
from warpglass.pipeline import run_program, summarise

BLOCKS = KNOBS["K"]


def flash_attention() -> Path:
    """FlashAttention-3's own mainloop."""
    given = os.environ.get("WARPGLASS_FLASH_ATTENTION")
    if not given:
        pytest.skip("WARPGLASS_FLASH_ATTENTION names no folder with FlashAttention-3's headers")
    return Path(given) / "mainloop_fwd_sm90_tma_gmma_ws.hpp"


def flashinfer() -> Path:
    """The folder with flashinfer's attention kernels for Hopper."""
    given = os.environ.get("WARPGLASS_FLASHINFER")
    spec = find_spec("flashinfer")
    places = [Path(given)] if given else []
    places += [Path(place) for place in (spec.submodule_search_locations or () if spec else ())]
    for place in places:
        for mainloop in place.rglob("attention/hopper/mainloop.cuh"):
            return mainloop.parent
    pytest.skip("WARPGLASS_FLASHINFER names no flashinfer-python, and none is installed")


def words(ops: tuple[Op, ...]) -> list[str]:
    """A stream in the short words of the docs: K, V and Q are what a pipeline guards."""
    said = []
    last = ""
    for op in ops:
        name = letter(op.pipe)
        if op.kind == "wait":
            last = name
        turn = "sched" in op.pipe.lower()
        said.append(
            {
                "acquire": f"acquire {name}", "copy": f"TMA {name}", "wait": f"wait {name}",
                "release": f"release {name}", "mma": "QK" if last == "K" else "PV",
                "wgwait": f"wgwait {op.n}", "sync": "sync WS" if turn else "sync QueryEmpty",
                "barrive": "arrive WS" if turn else "arrive QueryEmpty",
                "barrier_wait": f"wait {op.pipe}", "barrier_arrive": f"expect {op.pipe}",
            }.get(op.kind, op.kind)
        )  # fmt: skip
    return said


def load_of(overlap: bool) -> list[str]:
    def fill(name: str) -> list[str]:
        return [f"acquire {name}", f"TMA {name}"]

    start = [*fill("K"), "sync QueryEmpty", "expect barrier_Q", "TMA Q", "wait barrier_O"]
    if overlap:
        return [*start, *((BLOCKS - 1) * [*fill("K"), *fill("V")]), *fill("V")]
    return [*start, *fill("V"), *((BLOCKS - 1) * [*fill("K"), *fill("V")])]


OVERLAP = [
    "wait barrier_Q",
    "wait K", "QK", "wgwait 0", "release K", "softmax",
    *(BLOCKS - 1) * ["wait K", "sync WS", "QK", "wait V", "PV", "arrive WS", "wgwait 1", "release K",
                     "softmax", "wgwait 0", "release V", "rescale"],
    "arrive QueryEmpty", "wait V", "PV", "wgwait 0", "release V",
]  # fmt: skip
PLAIN = [
    "wait barrier_Q", "sync WS",
    *BLOCKS * ["wait K", "QK", "arrive WS", "wgwait 0", "release K", "softmax", "wait V", "sync WS", "PV",
               "wgwait 0", "release V"],
    "arrive WS", "arrive QueryEmpty",
]  # fmt: skip


def check_modes(files: list[tuple[str, bytes]]) -> None:
    """Loads and MMAs in both modes, with and without the turns of the warpgroups."""
    for overlap in (True, False):
        for turns in (True, False):
            decide = {"IntraWGOverlap": overlap, "UseSchedulerBarrier": turns}
            model = cutlass.parse(files, decide=decide)
            streams = {stream.role: stream.ops for stream in model.streams["mainloop"]}
            assert words(streams["load"]) == load_of(overlap)
            plain = [word for word in words(streams["mma"]) if overlap or word != "rescale"]
            wanted = [word for word in (OVERLAP if overlap else PLAIN) if turns or not word.endswith("WS")]
            # Behind the last release an output is only scaled.
            assert [w for w in plain[: len(wanted) + 9] if w != "rescale"][: len(wanted)] == [
                w for w in wanted if w != "rescale"
            ]
            if overlap:
                first = plain.index("release V")
                assert plain[first + 1] == "rescale"
            knobs = {knob["name"]: knob["value"] for knob in model.derived.programs[0]["knobs"]}
            assert (knobs["ov"], knobs["sb"]) == (overlap, turns)
            assert model.findings == ()


def test_a_header_of_our_own_in_both_modes() -> None:
    check_modes([("two_modes.hpp", TURNS.encode())])


def test_flash_attention_in_both_modes() -> None:
    path = flash_attention()
    check_modes([(path.name, path.read_bytes())])


def test_its_schedule_has_the_known_totals() -> None:
    path = flash_attention()
    for overlap, turns, total in ((True, True, 431), (False, True, 439), (False, False, 475)):
        decide = {"IntraWGOverlap": overlap, "UseSchedulerBarrier": turns}
        model = cutlass.parse([(path.name, path.read_bytes())], decide=decide)
        program = model.derived.programs[0]
        summary = summarise(run_program(program), program)
        assert (summary.total, summary.complete) == (total, True)
        lines = path.read_text(encoding="utf-8").split("\n")
        places = {}
        stack = [node for lane in program["lanes"] for node in lane["body"]]
        while stack:
            node = stack.pop()
            stack += [*node.get("body", ()), *node.get("then", ()), *node.get("else", ())]
            if node.get("line"):
                places[node["anchor"]] = lines[node["line"] - 1]
        for anchor, text in (
            ("mma.qk", "tiled_mma_qk"), ("mma.pv", "tiled_mma_pv"), ("mma.wait_k", "pipeline_k"),
            ("mma.release_v", "pipeline_v.consumer_release"), ("load.K", "pipeline_k.producer_acquire"),
            ("mma.retire_pv", "warpgroup_wait<0>"), ("load.barrier_o", "barrier_O.wait"),
        ):  # fmt: skip
            assert text in places[anchor], anchor


def test_a_switch_is_assumed_listed_and_changed_by_its_name() -> None:
    model = cutlass.parse([("two_modes.hpp", TURNS.encode())])
    decided = {d.condition: d.taken for s in model.streams["mainloop"] for d in s.decisions}
    assert decided["IntraWGOverlap"] is True
    assert decided["Is_causal"] is False
    other = cutlass.parse([("two_modes.hpp", TURNS.encode())], decide={"Is_causal": True})
    said = {d.condition for s in other.streams["mainloop"] for d in s.decisions}
    assert "Is_causal" not in said
    assert "n_block_max <= n_block_min" not in said


def test_flashinfer_gives_two_pipelines_and_an_overlap() -> None:
    folder = flashinfer()
    names = ("mainloop.cuh", "mainloop_mma.cuh")
    model = cutlass.parse([(name, (folder / name).read_bytes()) for name in names])
    assert model.derived.family == "attention"
    streams = {stream.role: stream.ops for stream in model.streams["mainloop"]}
    assert words(streams["load"]) == load_of(True)
    # Its first Q·K takes a turn too; the query's barrier is handed back behind the first product.
    start = ["wait barrier_Q", "wait K", "sync WS", "QK", "arrive WS"]
    assert words(streams["mma_f16"])[:5] == start
    step = [w for w in words(streams["mma_f16"]) if w != "rescale"]
    at = step.index("softmax") + 1
    assert step[at : at + 11] == [w for w in OVERLAP[6:18] if w != "rescale"]
    summary = summarise(run_program(model.derived.programs[0]), model.derived.programs[0])
    assert summary.complete

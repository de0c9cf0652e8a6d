"""The hand-derived role programs against known totals, and an independent simulator where at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.sm90 import Traits, sm90_program
from warpglass.cutlass.programs.sm100 import sm100_program
from warpglass.pipeline import run_program, summarise

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "reference" / "pipeline" / "golden.json"

FP8 = Traits(promotion=True)
#: name in golden.json: program, knobs, (total, fill, drain, tensor-core use)
CASES: dict[str, tuple[dict[str, Any], dict[str, int], tuple[int, int, int, float]]] = {
    "sm90_ss_pingpong": (sm90_program("pingpong"), {}, (185, 15, 15, 0.692)),
    "sm90_ss_pingpong_C": (sm90_program("pingpong"), {"SC": 4}, (192, 15, 19, 0.667)),
    "sm90_ss_cooperative": (sm90_program("cooperative"), {"O": 2}, (191, 15, 27, 0.670)),
    "sm90_ss_basic": (sm90_program("basic"), {"O": 1}, (68, 15, 15, 0.471)),
    "sm90_multistage_pingpong": (sm90_program("pingpong", Traits(cp_async=True)), {}, (215, 18, 15, 0.595)),
    "sm90_fp8_pingpong": (sm90_program("pingpong", FP8), {}, (249, 15, 17, 0.514)),
    "sm90_fp8_promo2": (sm90_program("pingpong", FP8), {"P": 2}, (226, 15, 17, 0.566)),
    "sm100_1sm_acc2": (sm100_program(), {}, (208, 24, 19, 0.615)),
    "sm100_1sm_acc1": (sm100_program(), {"A": 1}, (229, 24, 19, 0.559)),
    "sm100_2sm_acc2": (sm100_program(), {"CTA": 2}, (217, 24, 28, 0.590)),
    "sm100_blockscaled_acc2": (sm100_program(True), {}, (228, 23, 19, 0.702)),
    "sm100_blockscaled_ovl": (sm100_program(True), {"overlap": 1}, (228, 23, 19, 0.702)),
    "fa3_overlap+sched": (attention_program(), {}, (431, 19, 11, 0.891)),
    "fa3_overlap,nosched": (attention_program(), {"sb": 0}, (431, 19, 11, 0.891)),
    "fa3_no overlap+sched": (attention_program(), {"ov": 0}, (439, 19, 10, 0.875)),
    "fa3_no overlap,nosched": (attention_program(), {"ov": 0, "sb": 0}, (475, 19, 10, 0.808)),
    "fa3_fp8_transpose": (attention_program(), {"vt": 1}, (437, 22, 11, 0.879)),
}


@pytest.mark.parametrize("name", CASES)
def test_totals(name: str) -> None:
    program, knobs, (total, fill, drain, use) = CASES[name]
    summary = summarise(run_program(program, knobs), program)
    assert (summary.total, summary.fill, summary.drain) == (total, fill, drain)
    assert summary.use == pytest.approx(use, abs=0.0006)
    assert summary.complete
    assert summary.problems == ()


#: Our words for a cause against the other simulator's.
CAUSES = {
    "MMAWAIT": "MMA retire", "STWAIT": "store wait", "wait:ml.full": "pipe full",
    "wait:ml.empty": "pipe empty",
    "wait:ml.tail": "tail", "wait:ord[0]": "order barrier", "wait:EpilogueBarrier": "named barrier",
    "wait:load_order": "load order", "wait:C.empty": "C empty", "wait:C.tail": "tail", "wait:clc.full": "CLC",
    "wait:acc.full": "accumulator", "wait:acc.empty": "accumulator", "wait:acc.tail": "tail",
    "wait:throttle": "throttle",
    "wait:clc.tail": "tail", "wait:ml1e.tail": "tail", "wait:K.full": "pipe full", "wait:V.full": "pipe full",
    "wait:K.empty": "pipe empty", "wait:V.empty": "pipe empty", "wait:Vt.full": "pipe full", "wait:Q": "Q",
    "wait:QueryEmpty": "named barrier", "wait:barrier_O": "output stored",
    "wait:WarpScheduler": "scheduler barrier",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_time_by_cause_equals_the_other_simulator(name: str) -> None:
    if not GOLDEN.exists():
        pytest.skip("shared/reference/pipeline/golden.json is not at hand")
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    program, knobs, _ = CASES[name]
    summary = summarise(run_program(program, knobs), program)
    wanted: dict[tuple[str, str], int] = {}
    for key, time in golden["waits"].items():
        lane, cause = key.split("/")
        lane = "MMA1" if lane == "MMA(peer)" else lane
        wanted[lane, CAUSES[cause]] = wanted.get((lane, CAUSES[cause]), 0) + time
    got = {
        (lane.lane, cause): time
        for lane in summary.lanes
        for cause, time in lane.causes
        if cause in set(CAUSES.values())
    }
    assert got == wanted
    assert summary.busy == golden["tc_busy"]
    assert summary.use_between == pytest.approx(golden["tc_util_window"], abs=0.0001)

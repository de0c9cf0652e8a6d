"""Programs made of the roles of a kernel layer: real attention kernels, a small one of our own, folding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutlass.small import GOOD, KERNEL, TURNS
from cutlass.test_attention import flash_attention, flashinfer
from cutlass.test_headers import source
from warpglass import cutlass
from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.folding import Step, fold
from warpglass.cutlass.values import Op
from warpglass.pipeline import run_program, summarise
from warpglass.pipeline_includes import included_headers


def content(path: Path) -> tuple[str, bytes]:
    return path.name, path.read_bytes()


def model_of(kernel: Path, *files: Path, **decide: bool) -> cutlass.PipelineModel:
    """A kernel layer with its collectives and what these include, as the command line reads them."""
    beside = included_headers([(path, path.read_bytes()) for path in (kernel, *files)])
    return cutlass.parse([content(path) for path in files], content(kernel), decide=decide, helpers=beside)


def traced(model: cutlass.PipelineModel) -> dict[str, Any]:
    found = [program for program in model.derived.programs if program["id"] == "traced"]
    assert found, model.derived.reasons
    return found[0]


def check(program: dict[str, Any], knobs: dict[str, int], lines: dict[str, list[str]]) -> Any:
    """It runs to its end; whatever carries a line stands there in the source."""
    run = run_program(program, knobs)
    summary = summarise(run, program)
    assert summary.problems == ()
    words = {"wait": ("wait", "acquire", "tail"), "mma": ("gemm",), "async": ("copy", "commit")}
    for site in run.flat.sites:
        if site.line and site.op in words:
            assert any(word in lines[site.source][site.line - 1] for word in words[site.op]), site
    return summary


def texts(*paths: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text(encoding="utf-8").split("\n") for path in paths}


@pytest.mark.slow
def test_example_88_has_two_phases_and_a_schedule() -> None:
    folder = source() / "examples" / "88_hopper_fmha"
    kernel = folder / "kernel" / "fmha_kernel_tma_warpspecialized.hpp"
    mainloop = folder / "collective" / "fmha_collective_tma_warpspecialized.hpp"
    model = model_of(kernel, mainloop)
    program = traced(model)
    pipes = {pipe["name"]: (pipe["class"], pipe["full"], pipe["empty"]) for pipe in program["pipes"]}
    assert pipes == {
        "pipeline_outer": ("PipelineTmaAsync", 1, 1),  # a query tile a warpgroup
        "pipeline_inner": ("PipelineTmaAsync", 1, 2),  # keys and values for both
    }
    assert [lane["name"] for lane in program["lanes"]] == ["ProducerLoadKV", "Consumer0", "Consumer1"]
    assert [lane["role"] for lane in program["lanes"]] == ["mainloop load", "Consumer0", "Consumer1"]
    lines = texts(kernel, *folder.glob("collective/*.hpp"))
    # Two products for each of K blocks, each warpgroup on its own rows.
    for blocks, tiles in ((2, 1), (8, 2), (20, 3)):
        run = run_program(program, {"K": blocks, "O": tiles})
        mmas = [op for _, op in run.flat.operations() if op.code == 4]
        assert len(mmas) == 2 * 2 * blocks * tiles
        summary = check(program, {"K": blocks, "O": tiles}, lines)
    assert summary.period == 24  # 2 warpgroups x (6 + 6)
    # One stage for keys and values together cannot do: a value is waited for while its key is held.
    assert not summarise(run_program(program, {"S": 1}), program).complete


@pytest.mark.slow
def test_example_77_has_its_pipelines_and_a_schedule() -> None:
    folder = source() / "examples" / "77_blackwell_fmha"
    kernel = folder / "kernel" / "sm100_fmha_fwd_kernel_tma_warpspecialized.hpp"
    mainloop = folder / "collective" / "sm100_fmha_fwd_mainloop_tma_warpspecialized.hpp"
    epilogue = folder / "collective" / "sm100_fmha_fwd_epilogue_tma_warpspecialized.hpp"
    model = model_of(kernel, mainloop, epilogue)
    assert model.findings == ()
    program = traced(model)
    pipes = {pipe["name"]: (pipe["class"], pipe["stages"]) for pipe in program["pipes"]}
    assert pipes == {
        "pipeline_load_q": ("PipelineTmaUmmaAsync", 2), "pipeline_load_kv": ("PipelineTmaUmmaAsync", "S"),
        "pipeline_mma_s0": ("PipelineUmmaAsync", 1), "pipeline_mma_s1": ("PipelineUmmaAsync", 1),
        "pipeline_s0_corr": ("PipelineAsync", 1), "pipeline_s1_corr": ("PipelineAsync", 1),
        "pipeline_mma_corr": ("PipelineUmmaAsync", 2), "pipeline_corr_epi": ("PipelineAsync", 2),
    }  # fmt: skip
    names = {lane["name"] for lane in program["lanes"]}
    assert names == {"Softmax0", "Softmax1", "Correction", "MMA", "Load", "Epilogue"}
    lines = texts(kernel, *folder.glob("collective/*.hpp"))
    for blocks, tiles in ((2, 1), (8, 2), (20, 3)):
        run = run_program(program, {"K": blocks, "O": tiles})
        assert len([op for _, op in run.flat.operations() if op.code == 4]) == 4 * blocks * tiles
        summary = check(program, {"K": blocks, "O": tiles}, lines)
    assert summary.period == 24


@pytest.mark.slow
def test_flashinfer_has_a_schedule_of_its_own() -> None:
    folder = flashinfer()
    names = ("mainloop.cuh", "mainloop_mma.cuh")
    model = model_of(folder / "prefill_sm90.cuh", *(folder / name for name in names))
    program = traced(model)
    assert {pipe["name"]: pipe["empty"] for pipe in program["pipes"]} == {"pipeline_k": 2, "pipeline_v": 2}
    for blocks, tiles in ((2, 1), (8, 2), (20, 3)):
        check(program, {"K": blocks, "O": tiles}, texts(*folder.glob("*.cuh")))


MODES = [(True, True), (True, False), (False, True), (False, False)]


def agrees(program: dict[str, Any], overlap: bool, turns: bool, blocks: int, tiles: int) -> None:
    """The header's own schedule takes as long as the program that was worked out by hand."""
    # What happens between two output tiles (rescaling, the epilogue) is coarser in the latter.
    knobs = {"S": 2, "O": tiles, "RS": 0, "EC": 0}
    known = attention_program()
    wanted = summarise(run_program(known, {**knobs, "N": blocks, "ov": overlap, "sb": turns}), known)
    got = summarise(run_program(program, {**knobs, "K": blocks}), program)
    assert (got.total, got.fill, got.busy) == (wanted.total, wanted.fill, wanted.busy)


@pytest.mark.slow
@pytest.mark.parametrize(("overlap", "turns"), MODES)
def test_flash_attention_takes_as_long_as_by_hand(overlap: bool, turns: bool) -> None:
    mainloop = flash_attention()
    folder = mainloop.parent
    decide = {"IntraWGOverlap": overlap, "UseSchedulerBarrier": turns}
    model = model_of(folder / "flash_fwd_kernel_sm90.h", mainloop, folder / "epilogue_fwd.hpp", **decide)
    assert (model.derived.family, model.findings) == ("attention", ())
    for blocks, tiles in ((8, 2), (5, 3)):
        agrees(traced(model), overlap, turns, blocks, tiles)


@pytest.mark.parametrize(("overlap", "turns"), MODES)
def test_a_small_kernel_of_our_own(overlap: bool, turns: bool) -> None:
    decide = {"IntraWGOverlap": overlap, "UseSchedulerBarrier": turns}
    files = [("two_modes.hpp", TURNS.encode())]
    model = cutlass.parse(files, ("small_kernel.hpp", KERNEL.encode()), decide=decide)
    assert model.findings == ()
    program = traced(model)
    assert [lane["name"] for lane in program["lanes"]] == ["Producer", "Consumer0", "Consumer1"]
    counts = {named["name"].split("/")[0] for named in program["named"]}
    assert ("SchedulerOne" in counts) == turns
    lines = {"two_modes.hpp": TURNS.split("\n"), "small_kernel.hpp": KERNEL.split("\n")}
    for blocks in (2, 3, 9, 30):
        summary = check(program, {"K": blocks, "O": 3}, lines)
        assert summary.busy == 2 * 3 * blocks * 12


def test_no_program_where_roles_do_not_fit_together() -> None:
    broken = TURNS.replace("pipeline_v.consumer_release(behind);", "")
    files = [("two_modes.hpp", broken.encode())]
    model = cutlass.parse(files, ("small_kernel.hpp", KERNEL.encode()))
    assert all(program["id"] != "traced" for program in model.derived.programs)
    assert any("pipeline_v: 18 fills, 18 waits" in reason for reason in model.derived.reasons)


def test_a_known_mainloop_keeps_its_program() -> None:
    model = cutlass.parse([("good.hpp", GOOD.encode())])
    assert model.derived.programs[0]["id"] == "sm90-pingpong"


def steps(text: str) -> list[Step]:
    return [Step(Op(letter, line=1), None) for letter in text]


def test_folding() -> None:
    folded = fold(steps("aBBc"), steps("aBBBc"), steps("aBBBBBc"), 2)
    assert folded is not None
    assert [s.op.kind for s in (*folded.head, *folded.body, *folded.tail)] == ["a", "B", "c"]
    assert folded.extra == 0
    # Two things that grow are two loops: nothing is folded.
    assert fold(steps("aaBB"), steps("aaaBBB"), steps("aaaaaBBBBB"), 2) is None
    assert fold(steps("abc"), steps("abc"), steps("abc"), 2) is not None
    assert fold(steps("abc"), steps("ab"), steps("a"), 2) is None


def test_includes_stay_beside_their_header(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "kernel"
    inner.mkdir(parents=True)
    (tmp_path / "project" / "beside.hpp").write_text("// consumer_wait", encoding="utf-8")
    (tmp_path / "secret.hpp").write_text("// consumer_wait", encoding="utf-8")
    (inner / "plain.hpp").write_text("// nothing of pipelines", encoding="utf-8")
    text = (
        b'#include "../beside.hpp"\n#include "../../secret.hpp"\n#include "plain.hpp"\n#include "gone.hpp"\n'
    )
    found = included_headers([(inner / "a.hpp", text)])
    assert [name for name, _ in found] == ["beside.hpp"]
    assert len(included_headers([(inner / "a.hpp", text)], [tmp_path])) == 2


@pytest.mark.slow
def test_a_role_without_an_end_gives_no_program() -> None:
    endless = KERNEL.replace("int work_idx = 0;", "int work_idx = 0; while (true) { work_idx = 1; }", 1)
    model = cutlass.parse([("two_modes.hpp", TURNS.encode())], ("small_kernel.hpp", endless.encode()))
    assert all(program["id"] != "traced" for program in model.derived.programs)
    assert any("did not come to its end" in reason for reason in model.derived.reasons)

"""Counters predicted from executed SASS against published ones of real GPUs.

Sources of the published numbers: docs/counters-published.md, which this test writes and compares.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from warpglass import cuda, machine, ptx, sass
from warpglass.analysis.counters import counters
from warpglass.analysis.sass_listing import sass_listing
from warpglass.machine import Argument, Launch, RunOptions, RunResult

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "docs" / "counters-published.md"
pytestmark = pytest.mark.cuda

ELEMENTS = 512 << 20
STEPS = (1, 2, 4, 8, 16, 32)
FILL = {
    "char": (335544320, 293601280, 205520896, 161480704, 139460608, 128450560),
    "int": (285212672, 260046848, 180355072, 140509184, 120586240, 110624768),
}
#: Measured on GB10: shared loads, shared stores, load wavefronts, store wavefronts; the model's load value.
TRANSPOSES = {
    "transpose_plain": (32512, 32768, 1003591, 32000, 1000000),
    "transpose_padded": (32512, 32768, 32032, 32000, 32000),
    "transpose_swizzled": (32512, 32768, 32029, 32000, 32000),
}
#: Global load requests and sectors, store requests and sectors, on GB10.
SAXPY = {"saxpy": (93752, 375002, 46876, 187501), "saxpy_offset": (93752, 421877, 46876, 187501)}
N_SAXPY = 1500003


@cache
def compiled(name: str, arch: str) -> tuple[ptx.Module, sass.Module]:
    made = cuda.compile(HERE / name, arch=arch)
    assert made.cubin is not None
    return ptx.parse(made.ptx), sass.load(made.cubin)


def launch(
    name: str,
    arch: str,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: list[object],
) -> tuple[RunResult, dict[str, float | None]]:
    """Run a kernel whose mangled name contains ``kernel``; gives the run and its counters by name."""
    module, code = compiled(name, arch)
    (function,) = (k for k in module.kernels if kernel in k.name)
    given = {}
    for param, value in zip(function.params, args, strict=True):
        if isinstance(value, tuple):
            given[param.name] = Argument(param.name, "buffer", value[0], count=value[1])
        else:
            given[param.name] = Argument(
                param.name, "scalar", "f32" if isinstance(value, float) else "u32", value
            )
    options = RunOptions(max_warp_instructions=50_000_000)
    result = machine.execute_sass(code, function, Launch(grid, block, args=given), options)
    assert result.complete, result.stopped
    listing = sass_listing(code, function.name, result.functions)
    return result, {number.name: number.value for _, number in counters(listing, result, arch)}


@cache
def fill_counters(kind: str, step: int) -> dict[str, float | None]:
    letter, dtype = {"char": ("c", "int8"), "int": ("i", "int32")}[kind]
    blocks = ELEMENTS // step // 128
    result, found = launch(
        "published.cu", "sm_120", f"fillI{letter}Lj{step}E", (blocks, 1, 1), (128, 1, 1),
        [(dtype, ELEMENTS), 3, ELEMENTS],
    )  # fmt: skip
    assert result.scaled is not None  # four million blocks: proven alike, executed once
    return found


@cache
def transpose_counters(name: str) -> dict[str, float | None]:
    return launch(
        "transpose.cu", "sm_121", f"{len(name)}{name}P", (32, 32, 1), (32, 8, 1),
        [("float32", 10**6), ("float32", 10**6), 1000],
    )[1]  # fmt: skip


@cache
def saxpy_counters(name: str) -> dict[str, float | None]:
    return launch(
        "transpose.cu", "sm_121", f"{len(name)}{name}i", (5860, 1, 1), (256, 1, 1),
        [N_SAXPY, 2.0, ("float32", N_SAXPY + 1), ("float32", N_SAXPY)],
    )[1]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["char", "int"])
@pytest.mark.parametrize("step", STEPS)
def test_fill_equals_the_profiler_to_the_last_digit(kind: str, step: int) -> None:
    found = fill_counters(kind, step)
    assert found["smsp__inst_executed.sum"] == FILL[kind][STEPS.index(step)]
    requests = found["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"]
    assert requests == found["smsp__sass_inst_executed_op_global_st.sum"] == 16777216
    sectors = found["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]
    assert sectors == 16777216 * {"char": 1, "int": 4}[kind]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposes(name: str) -> None:
    found = transpose_counters(name)
    loads, stores, _measured, store_waves, model = TRANSPOSES[name]
    assert found["smsp__inst_executed_op_shared_ld.sum"] == loads
    assert found["smsp__inst_executed_op_shared_st.sum"] == stores
    # Wavefronts are the model's; hardware adds arbitration that no rule predicts.
    assert found["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == model
    assert found["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == store_waves


@pytest.mark.parametrize("name", SAXPY)
def test_saxpy_requests_and_sectors(name: str) -> None:
    found = saxpy_counters(name)
    got = tuple(
        found[f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"]
        for op in ("ld", "st")
        for what in ("requests", "sectors")
    )
    assert got == SAXPY[name]


def test_sampling_gives_what_executing_all_blocks_gives() -> None:
    module, code = compiled("published.cu", "sm_120")
    (function,) = (k for k in module.kernels if "fillIiLj4E" in k.name)
    size = 128 * 300 * 4 - 77  # the last blocks do less
    given = {
        p.name: a
        for p, a in zip(
            function.params,
            [
                Argument("data", "buffer", "int32", count=size),
                Argument("val", "scalar", "u32", 3),
                Argument("size", "scalar", "u32", size),
            ],
            strict=True,
        )
    }
    shape = Launch((300, 1, 1), (128, 1, 1), args=given)
    full = machine.execute_sass(code, function, shape, RunOptions(sample=False))
    part = machine.execute_sass(code, function, shape, RunOptions(max_warp_instructions=20_000))
    assert part.scaled is not None
    assert len(part.scaled["classes"]) > 1  # type: ignore[arg-type]
    for name, column in full.counters.items():
        np.testing.assert_array_equal(part.counters[name], column, err_msg=name)


def predicted_table() -> str:
    """The page docs/counters-published.md."""
    lines = [
        "# Counters predicted against published",
        "",
        "Written by `tests/counters/test_published.py`, which also holds every exact row to equality.",
        "Predicted by executing the SASS that nvcc 13.0 makes; published numbers were measured on the GPU",
        "named.",
        "",
        "| kernel | GPU | counter | predicted | published | difference |",
        "|---|---|---|---:|---:|---:|",
    ]

    def row(kernel: str, device: str, counter: str, predicted: float | None, published: float) -> None:
        difference = "unknown" if predicted is None else f"{(predicted - published) / published:+.2%}"
        shown = "unknown" if predicted is None else f"{predicted:,.0f}"
        exact = "0" if predicted == published else difference
        lines.append(f"| {kernel} | {device} | `{counter}` | {shown} | {published:,} | {exact} |")

    for kind, values in FILL.items():
        for step, published in zip(STEPS, values, strict=True):
            found = fill_counters(kind, step)
            name = f"fill {kind}, S = {step}"
            row(name, "RTX 5070 Ti", "smsp__inst_executed.sum", found["smsp__inst_executed.sum"], published)
    for name, (loads, stores, waves, store_waves, _) in TRANSPOSES.items():
        found = transpose_counters(name)
        for counter, published in (
            ("smsp__inst_executed_op_shared_ld.sum", loads),
            ("smsp__inst_executed_op_shared_st.sum", stores),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", waves),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", store_waves),
        ):
            row(name, "GB10", counter, found[counter], published)
    for name, values in SAXPY.items():
        found = saxpy_counters(name)
        names = [
            f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
            for op in ("ld", "st")
            for what in ("requests", "sectors")
        ]
        for counter, published in zip(names, values, strict=True):
            row(name, "GB10", counter, found[counter], published)
    lines += [
        "",
        "Shared-memory wavefronts are modelled: hardware adds 0.1 to 0.6 % (arbitration), and differs from",
        "run to run. Everything else is counted and exact.",
        "",
    ]
    return "\n".join(lines)


def test_the_table_in_the_docs_is_what_runs_today() -> None:
    text = predicted_table()
    if os.environ.get("WARPGLASS_GOLDEN") == "update":
        TABLE.write_text(text)
    assert TABLE.read_text() == text

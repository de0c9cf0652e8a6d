"""Per-instruction counts of executed machine code against those that a profiler measured on a GPU.

For every launch of the reports in ../shared/inputs/ncu the report's own cubin is executed with default
arguments and the launch's grid and block, one block of it. Counts of instructions that depend on neither
arguments nor memory nor the block's index are multiplied by the number of blocks and compared; all others are
conditional and no evidence. docs/counters-reports.md is written from this.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from counters.dependence import conditional
from warpglass import machine, ncu, sass
from warpglass.flow.sass import sass_cfg
from warpglass.inputs.toolchain import find_tool
from warpglass.launchfile import resolve_launch
from warpglass.launchsass import signature
from warpglass.launchspec import LaunchSpec
from warpglass.launchvalues import Place
from warpglass.machine import RunOptions

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT.parent / "shared" / "inputs" / "ncu"
TABLE = ROOT / "docs" / "counters-reports.md"
NAMES = (
    "adamw-sm86-2024.3", "indexspaces-sm86-2022.1", "sglang-sm90-2023.3", "selfjoin-sm80-2020.3",
    "selfjoin-sm80-2021.2", "selfjoin-sm80-2022.4",
)  # fmt: skip
OPTIONS = RunOptions(
    only_blocks=(0,), trace_blocks=(), racecheck=False, max_warp_instructions=300_000, keep_buffers=False
)
pytestmark = [pytest.mark.cuda, pytest.mark.slow]


@dataclass(frozen=True)
class Row:
    """One kernel of a report: instructions by outcome, and what ended the run early."""

    report: str
    kernel: str
    shape: str
    agree: int
    differ: tuple[str, ...]
    conditional: int
    unreached: int
    unlisted: int
    stopped: str


@cache
def rows(name: str) -> tuple[Row, ...]:
    """Every different launch of a report."""
    path = REPORTS / f"{name}.ncu-rep"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    if find_tool("nvdisasm") is None and find_tool("cuobjdump") is None:
        pytest.skip("no disassembler")
    report = ncu.load(path)
    found, seen = [], set()
    for launch in report.launches:
        key = (launch.mangled, launch.grid, launch.block)
        source = report.sources.get(launch.source_reference or 0)
        metric = launch.metrics.get("inst_executed")
        if key in seen or source is None or metric is None or not metric.instances:
            continue
        seen.add(key)
        found.append(compared(name, launch, source, {i.key: i.value for i in metric.instances}))
    return tuple(found)


def compared(name: str, launch: ncu.Launch, source: ncu.Source, measured: dict[object, object]) -> Row:
    """Execute block 0 and compare."""
    code = sass.load(source.cubin, name=f"{name}.cubin")
    function = next(f for f in code.functions if f.name == launch.mangled)
    sm = int("".join(filter(str.isdigit, function.arch or code.arch or "")))
    anything = conditional(function, sm, block_index=True)
    # Every launch executes its first instruction, which lies at the load address.
    base = min(key for key in measured if isinstance(key, int))
    dynamic = launch.metrics.get("launch__shared_mem_per_block_dynamic")
    spec = LaunchSpec(
        Place(name, ROOT),
        grid=launch.grid,
        block=launch.block,
        shared_bytes=int(dynamic.number or 0) if dynamic is not None else 0,
    )
    entry = signature(function)
    shape, _ = resolve_launch(entry, None, [spec])
    result = machine.execute_sass(code, entry, shape, OPTIONS)
    executed = result.counters["warp_executed"]
    agree, differ, unreached, unlisted = 0, [], 0, 0
    code_of = {
        b: n for n, block in enumerate(sass_cfg(function).blocks) for b in range(block.start, block.end)
    }
    listed = {code_of[pc] for pc in code_of if base + 16 * pc in measured}
    for pc, instruction in enumerate(function.instructions):
        if anything[pc]:
            continue
        predicted = int(executed[pc]) * shape.blocks
        number = measured.get(base + 16 * pc)
        if number is None and (not predicted or code_of.get(pc) in listed):
            # Padding; or left out among instructions of the same straight line that are listed.
            unlisted += bool(predicted)
            continue
        if predicted == number:
            agree += 1
        elif result.stopped is not None and predicted < float(str(number or 0)):
            unreached += 1
        else:
            differ.append(f"{16 * pc:#06x} {instruction.text}: {predicted} predicted, {number} measured")
    why = "" if result.stopped is None else f"{result.stopped.kind}: {result.stopped.message}"
    return Row(
        name, function.name, f"{launch.grid} x {launch.block}",
        agree, tuple(differ), sum(anything), unreached, unlisted, why
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_unconditional_counts_are_what_was_measured(name: str) -> None:
    found = rows(name)
    assert found
    for row in found:
        assert not row.differ, row
        assert row.agree, row


def table() -> str:
    """The page docs/counters-reports.md."""
    lines = [
        "# Instruction counts against profiler reports",
        "",
        "Written by `tests/counters/test_reports.py`. A report's own cubin is executed with default",
        "arguments, block 0 of the measured grid and block; `inst_executed` of each instruction is",
        "compared with the measured one. Compared are only instructions whose count depends on",
        "neither arguments, memory nor the block's index; the others",
        "are *conditional* and say nothing,",
        "whatever came out. *Not reached*:",
        "the run ended before, since default arguments are not the application's. *Not listed*: the report",
        "has no count for the instruction, but for others of the same straight line.",
        "",
        "| report | kernel | grid x block | agree | differ | conditional | not reached | not listed | run |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for name in NAMES:
        for row in rows(name):
            kernel = row.kernel if len(row.kernel) <= 40 else row.kernel[:37] + "..."
            lines.append(
                f"| {row.report} | `{kernel}` | {row.shape} | {row.agree} | {len(row.differ)} | "
                f"{row.conditional} | {row.unreached} | {row.unlisted} | "
                f"{row.stopped or 'to its end'} |"
            )
    return "\n".join([*lines, ""])


def test_the_table_in_the_docs_is_what_runs_today() -> None:
    text = table()
    if os.environ.get("WARPGLASS_GOLDEN") == "update":
        TABLE.write_text(text)
    assert TABLE.read_text() == text

"""Execute a planned launch and put the run beside its listing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from warpglass import machine, ptx, sass
from warpglass.analysis.ptx_listing import ptx_listing
from warpglass.analysis.sass_listing import control_columns, ptx_line_columns, sass_listing
from warpglass.carry import with_default_data
from warpglass.collect import CodeUnit
from warpglass.expect import check_expectations, load_reference, parse_expectation
from warpglass.launchparams import describe_params
from warpglass.machine.launch import Launch
from warpglass.machine.result import RunResult, Writer
from warpglass.machine.runoptions import RunOptions
from warpglass.options import ReportOptions
from warpglass.report.payload import RunUnit

__all__ = ["execute_unit", "run_options"]

#: Functions of the CUDA runtime library that never come back.
_NORETURN = frozenset({"__assertfail", "__trap"})


def run_options(options: ReportOptions, launch: Launch) -> RunOptions:
    """What the machine is asked for by a report's options."""
    return RunOptions(
        seed=options.seed,
        max_warp_instructions=options.max_warp_instructions,
        trace_blocks=options.traced_blocks(launch.blocks),
        value_budget=options.value_budget,
        # What is compared afterwards must lie in memory.
        sample=not _references(options),
    )


def _references(options: ReportOptions) -> list[str]:
    """Arrays that buffers are compared with; a share of the roof is no array."""
    return [text for text in options.expect if not text.strip().endswith("%")]


def execute_unit(
    unit: CodeUnit, launch: Launch, kernel: ptx.Function, options: ReportOptions, texts: Mapping[str, int]
) -> tuple[RunUnit, ...]:
    """Runs of one launch, one an instruction set that there is code for.

    ``texts`` gives the page's source id of the PTX and the SASS text.
    """
    runs = []
    if unit.module is not None and options.isa in ("auto", "ptx"):
        runs.append(_ptx_run(unit, unit.module, launch, kernel, options, texts["ptx"]))
    if unit.sass is not None and options.isa in ("auto", "sass"):
        machine_code = _sass_run(unit, unit.sass, launch, kernel, options, texts)
        if machine_code is not None:
            runs.append(with_default_data(machine_code, runs[0]) if runs else machine_code)
    return tuple(runs)


def _sass_run(
    unit: CodeUnit,
    module: sass.Module,
    launch: Launch,
    kernel: ptx.Function,
    options: ReportOptions,
    texts: Mapping[str, int],
) -> RunUnit | None:
    if not any(f.name == kernel.name and f.instructions for f in module.functions):
        return None

    def execute(chosen: RunOptions) -> RunResult:
        return machine.execute_sass(module, kernel, launch, chosen)

    result = execute(run_options(options, launch))
    listing = sass_listing(module, kernel.name, result.functions)
    if options.isa == "sass" or unit.module is None:
        result = _expected(unit, kernel, launch, result, options, execute)
    return RunUnit(
        listing,
        result,
        texts["sass"],
        control_columns(module, result.functions),
        ptx_source=texts.get("ptx"),
        ptx_lines=ptx_line_columns(module, result.functions) if "ptx" in texts else None,
    )


def _ptx_run(
    unit: CodeUnit,
    module: ptx.Module,
    launch: Launch,
    kernel: ptx.Function,
    options: ReportOptions,
    text_id: int,
) -> RunUnit:
    function = machine.find_kernel(module, kernel.name)

    def execute(chosen: RunOptions) -> RunResult:
        return machine.execute(module, function, launch, options=chosen)

    result = execute(run_options(options, launch))
    listing = ptx_listing(module, kernel.name, result.functions, _NORETURN)
    return RunUnit(listing, _expected(unit, function, launch, result, options, execute), text_id)


def _expected(
    unit: CodeUnit,
    function: ptx.Function,
    launch: Launch,
    result: RunResult,
    options: ReportOptions,
    execute: Callable[[RunOptions], RunResult],
) -> RunResult:
    """The result with a finding for every buffer that is not as expected."""
    references = _references(options)
    if not references or not result.complete:
        return result
    expected = [(name, load_reference(path)) for name, path in map(parse_expectation, references)]
    names = {info.shown: info.ptx_name for info in describe_params(function, unit.source)}

    def writer(address: int) -> Writer | None:
        untraced = replace(run_options(options, launch), trace_blocks=(), keep_buffers=False, watch=address)
        return execute(untraced).writer

    wrong = check_expectations(result, launch, expected, options.rtol, names, writer)
    return replace(result, findings=(*result.findings, *wrong))

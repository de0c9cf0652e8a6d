"""Execute a planned launch and put the run beside its listing."""

from __future__ import annotations

from dataclasses import replace

from warpglass import machine
from warpglass.analysis.ptx_listing import ptx_listing
from warpglass.collect import CodeUnit
from warpglass.expect import check_expectations, load_reference, parse_expectation
from warpglass.launchparams import describe_params
from warpglass.machine.launch import Launch
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
    )


def execute_unit(
    unit: CodeUnit, launch: Launch, kernel: str, options: ReportOptions, text_id: int
) -> tuple[RunUnit, ...]:
    """Runs of one launch, one an instruction set that there is code for."""
    function = machine.find_kernel(unit.module, kernel)
    result = machine.execute(unit.module, function, launch, options=run_options(options, launch))
    listing = ptx_listing(unit.module, kernel, result.functions, _NORETURN)
    if options.expect and result.complete:
        expected = [(name, load_reference(path)) for name, path in map(parse_expectation, options.expect)]
        names = {info.shown: info.ptx_name for info in describe_params(function, unit.source)}
        wrong = check_expectations(result, launch, expected, options.rtol, names)
        result = replace(result, findings=(*result.findings, *wrong))
    return (RunUnit(listing, result, text_id),)

"""Execute a planned launch and put the run beside its listing."""

from __future__ import annotations

from warpglass import machine
from warpglass.analysis.ptx_listing import ptx_listing
from warpglass.collect import CodeUnit
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
    return (RunUnit(listing, result, text_id),)

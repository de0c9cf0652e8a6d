"""What the PTX run alone can tell of a launch, said of its machine code as well."""

from __future__ import annotations

from dataclasses import replace

from warpglass.machine.result import Finding
from warpglass.report.payload import RunUnit

__all__ = ["with_default_data"]


def with_default_data(machine_code: RunUnit, from_ptx: RunUnit) -> RunUnit:
    """The run of machine code with the warnings that its numbers hang on content nobody gave.

    They are read from the flow of data through PTX, and placed at the executed instruction of the same kind
    and source line; where there is none they stand without a place.
    """
    found = [f for f in from_ptx.result.findings if f.kind == "default-data"]
    if not found or any(f.kind == "default-data" for f in machine_code.result.findings):
        return machine_code
    carried: dict[tuple[int | None, str], Finding] = {}
    for finding in found:
        pc = _twin(machine_code, from_ptx, finding.pc)
        placed = replace(finding, pc=pc, line=None, step=None, worst_step=None)
        carried.setdefault((pc, finding.message), placed)
    result = machine_code.result
    return replace(machine_code, result=replace(result, findings=(*result.findings, *carried.values())))


def _twin(machine_code: RunUnit, from_ptx: RunUnit, pc: int | None) -> int | None:
    if pc is None or pc >= len(from_ptx.listing.rows):
        return None
    original = from_ptx.listing.rows[pc]
    executed = machine_code.result.counters["warp_executed"]
    for index, row in enumerate(machine_code.listing.rows):
        if (
            executed[index]
            and original.frames
            and row.frames[:1] == original.frames[:1]
            and (row.space is None) == (original.space is None)
            and (row.space is not None or row.kind == original.kind)
        ):
            return index
    return None

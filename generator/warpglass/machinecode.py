"""One input's machine code, for those who execute it without making a report."""

from __future__ import annotations

from pathlib import Path

from warpglass.collect import CodeUnit, collect, read_inputs
from warpglass.errors import InputError, UsageError
from warpglass.options import ReportOptions

__all__ = ["machine_code"]


def machine_code(path: Path, options: ReportOptions) -> CodeUnit:
    """The one module of ``path`` that holds machine code: compiled, or read from a binary or a listing.

    Raises :class:`InputError` where there is none, :class:`UsageError` where several architectures are asked
    for.
    """
    units = collect(read_inputs([path]), options)
    if len(units) != 1:
        raise UsageError(
            f"{path.name} gives code for {len(units)} architectures", hint="name one with --arch"
        )
    unit = units[0]
    if unit.sass is None:
        refused = unit.compiled.assembler_error if unit.compiled is not None else None
        why = refused or next((p.message for p in unit.problems), f"it is {unit.input.kind}")
        raise InputError(
            f"{path.name} has no machine code: {why}",
            hint="a CUDA source, a cubin and a listing have it; PTX alone is executed as PTX",
        )
    return unit

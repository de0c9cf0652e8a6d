"""What a literal ``kernel<<<grid, block>>>(arguments)`` of the source says of a launch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from warpglass.cuda.model import CudaSource, LiteralLaunch
from warpglass.inputs.demangle import demangled
from warpglass.launchparams import ParamInfo
from warpglass.launchspec import LaunchSpec
from warpglass.launchvalues import MOST_BYTES, Place, converted
from warpglass.ptx.model import Function

__all__ = ["EMPTY_CLASS", "allocation_specs", "find_literal", "literal_spec"]

#: A parameter of an empty class, such as a function object, has one byte and says nothing.
EMPTY_CLASS = 1


def find_literal(function: Function, source: CudaSource | None) -> LiteralLaunch | None:
    """The first ``<<<…>>>`` of the source that launches this kernel; its template arguments decide first."""
    if source is None:
        return None
    forms = demangled(function.name)
    mine = [launch for launch in source.launches if launch.kernel == forms.bare]
    squeezed = "".join(forms.qualified.split())
    exact = [
        launch
        for launch in mine
        if launch.template_args and squeezed.endswith("".join(launch.template_args.split()))
    ]
    return next(iter(exact or mine), None)


def literal_spec(launch: LiteralLaunch, source: CudaSource, infos: Sequence[ParamInfo]) -> LaunchSpec:
    """Extents and numbers as far as they are decided; the call converts a number, pointers stay out."""
    scalars = {info.index: info for info in infos if info.kind == "scalar"}
    return LaunchSpec(
        Place(f"<<<…>>> at {source.name}:{launch.line}", Path(".")),
        grid=launch.grid,
        block=launch.block,
        shared_bytes=launch.shared_bytes,
        args=tuple(
            (str(index), converted(scalars[index], value))
            for index, value in enumerate(launch.args)
            if index in scalars and value is not None and math.isfinite(value)
        ),
    )


def allocation_specs(
    launch: LiteralLaunch,
    source: CudaSource,
    infos: Sequence[ParamInfo],
    specs: Sequence[LaunchSpec],
    origin: Mapping[str, str],
) -> list[LaunchSpec]:
    """The extents of buffers that the source allocates, one a pointer.

    Only for the launch as it is written: where somebody else gave its grid, block or a number, or where one
    is undecided, the sizes need not fit it, and an access beyond them would be no fault of the kernel.
    """
    here = literal_spec(launch, source, infos).place.origin
    given = {key for spec in specs for key, _ in spec.args}
    others = [info for info in infos if info.kind != "buffer"]
    written = (
        len(launch.allocations) == len(infos)
        and origin["grid"] == origin["block"] == here
        and all(
            launch.args[info.index] is not None or (info.kind == "struct" and info.size == EMPTY_CLASS)
            for info in others
        )
        and not any({info.name, info.ptx_name, str(info.index)} & given for info in others)
    )
    found = []
    for info in infos if written else ():
        allocation = launch.allocations[info.index]
        if info.kind != "buffer" or allocation is None:
            continue
        itemsize = 2 if info.dtype == "bfloat16" else np.dtype(info.dtype).itemsize
        if itemsize <= allocation.bytes <= MOST_BYTES:
            place = Place(f"cudaMalloc at {source.name}:{allocation.line}", Path("."))
            value = f"{info.dtype}[{allocation.bytes // itemsize}]"
            found.append(LaunchSpec(place, args=((str(info.index), value),)))
    return found

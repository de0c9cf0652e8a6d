"""Which source and PTX lines an instruction came from.

A cubin built with ``-lineinfo`` carries two tables: offset to source place with the chain of inlined calls,
and offset to line of the PTX that it also carries. This module joins them for each instruction and says
which frame is the user's own: code of a header library is linked to the line that called it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpglass.sass.model import Frame, Function, LineRow

__all__ = ["Link", "is_library", "link", "own_frame"]

_LIBRARY_FOLDERS = (
    "/cuda/include/", "/targets/", "/usr/include/", "/usr/lib/", "/usr/local/include/", "/cutlass/include/",
    "/cute/", "/thrust/", "/cub/", "/libcudacxx/", "/cooperative_groups/", "/site-packages/nvidia/",
    "/nvidia/cu", "/crt/", "/cccl/", "/nv/detail/",
)  # fmt: skip
_LIBRARY_FILES = (
    "cuda_fp16.hpp", "cuda_fp16.h", "cuda_bf16.hpp", "cuda_bf16.h", "cuda_fp8.hpp", "cuda_fp8.h", "mma.hpp",
    "mma.h", "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_pipeline_helpers.h", "math_functions.hpp",
    "device_functions.hpp", "sm_30_intrinsics.hpp", "sm_20_intrinsics.hpp", "sm_60_atomic_functions.hpp",
    "sm_70_rt.hpp", "sm_80_rt.hpp", "device_atomic_functions.hpp", "math_functions.h", "cooperative_groups.h",
    "texture_indirect_functions.h", "surface_indirect_functions.h",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Link:
    """Where one instruction comes from.

    ``frames`` is the chain of inlining, innermost first; ``own`` the innermost frame in the user's own code,
    or the outermost where all is library code; None without line information. ``ptx_lines`` are lines of
    the embedded PTX, ascending.
    """

    frames: tuple[Frame, ...]
    own: Frame | None
    ptx_lines: tuple[int, ...]


def is_library(file: str) -> bool:
    """True for a header of the toolkit, of the system or of a template library."""
    path = file.replace("\\", "/")
    if path.rsplit("/", 1)[-1] in _LIBRARY_FILES:
        return True
    return any(folder in path for folder in _LIBRARY_FOLDERS)


def own_frame(frames: Sequence[Frame], library: Callable[[str], bool] = is_library) -> Frame | None:
    """The innermost frame outside libraries, else the outermost; None without frames."""
    if not frames:
        return None
    return next((frame for frame in frames if not library(frame.file)), frames[-1])


def _row_at(rows: Sequence[LineRow], offsets: Sequence[int], offset: int) -> LineRow | None:
    index = bisect.bisect_right(offsets, offset) - 1
    return rows[index] if index >= 0 else None


def link(function: Function, library: Callable[[str], bool] = is_library) -> tuple[Link, ...]:
    """One :class:`Link` an instruction, in order.

    A table counts before the frames that the listing itself printed. NOPs behind the code belong to no line:
    they only fill the function up.
    """
    source_offsets = [row.offset for row in function.source_lines]
    ptx_offsets = [row.offset for row in function.ptx_lines]
    end = _code_end(function)
    links: list[Link] = []
    for instruction in function.instructions:
        if instruction.offset >= end:
            links.append(Link((), None, ()))
            continue
        row = _row_at(function.source_lines, source_offsets, instruction.offset)
        frames = row.frames if row is not None else instruction.frames
        ptx = _row_at(function.ptx_lines, ptx_offsets, instruction.offset)
        lines = (ptx.frames[0].line,) if ptx is not None and ptx.frames[0].line > 0 else ()
        links.append(Link(frames, own_frame(frames, library), lines))
    return tuple(links)


def _code_end(function: Function) -> int:
    """The offset behind the last instruction that is no padding."""
    for instruction in reversed(function.instructions):
        if instruction.base != "NOP":
            return instruction.offset + 1
    return 0

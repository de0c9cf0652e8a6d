"""Frozen models of a CUDA source file and of what the compiler made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from warpglass.inputs.comments import LaunchComment

__all__ = ["Compiled", "CudaKernel", "CudaParam", "CudaSource", "KernelFacts", "LiteralLaunch", "ToolUse"]

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class CudaParam:
    """A formal parameter as written: ``const float *__restrict__ x`` is ``x`` of type ``const float*``.

    ``pointer`` says whether the declarator holds a ``*`` or ``[]``; ``name`` is empty where it has none.
    """

    name: str
    type: str
    pointer: bool


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A ``__global__`` function definition. ``qualified`` has its namespaces, ``ns::k``.

    ``template`` holds the text of its template parameters; ``line`` and ``end_line`` count from 1 and
    span the definition.
    """

    name: str
    qualified: str
    params: tuple[CudaParam, ...]
    template: tuple[str, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes of device memory that ``cudaMalloc`` on ``line`` gives a pointer."""

    bytes: int
    line: int


@dataclass(frozen=True, slots=True)
class LiteralLaunch:
    """``kernel<args><<<grid, block, shared>>>`` in the source.

    Extents are None where they cannot be decided from constants of the file; ``shared_bytes`` is 0 where
    the launch gives none. ``text`` is the configuration as written. ``args`` holds a number for each
    argument that the file's constants decide, else None; ``allocations`` what was allocated for each argument
    that is a pointer, where the file decides that.
    """

    kernel: str
    template_args: str
    grid: Dim3 | None
    block: Dim3 | None
    shared_bytes: int | None
    line: int
    text: str
    args: tuple[int | float | None, ...] = ()
    allocations: tuple[Allocation | None, ...] = ()


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A CUDA file: its text and what a launch needs to know of it.

    ``notes`` says what could not be read (a syntax error, a file too large to parse).
    """

    name: str
    text: str
    kernels: tuple[CudaKernel, ...]
    launches: tuple[LiteralLaunch, ...]
    comments: tuple[LaunchComment, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What ``ptxas -v`` says of one function: bytes, registers and barriers; None where it is silent."""

    registers: int | None = None
    barriers: int | None = None
    static_shared: int | None = None
    stack: int | None = None
    spill_stores: int | None = None
    spill_loads: int | None = None
    constant: int | None = None
    local: int | None = None
    advisories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A program that took part, its version and the flags it was given (for the report's provenance)."""

    name: str
    version: str | None
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """One source compiled (or one PTX text assembled) for one architecture.

    ``ptx`` and ``cubin`` come from one compilation with -lineinfo: the cubin was assembled from this
    text, line by line. ``cubin`` is None where only ptxas failed; ``assembler_error`` then holds its lines.
    ``facts`` maps mangled names to what ptxas said. ``files`` maps each ``.file`` name of the PTX to where
    the file lies here (for reading its text; never shown). ``notes`` reports what was done to make the
    source compile; ``retried_host_blanked`` says that host function bodies were blanked.
    """

    arch: str
    ptx: str
    cubin: bytes | None
    facts: Mapping[str, KernelFacts]
    warnings: tuple[str, ...]
    advisories: tuple[str, ...]
    tools: tuple[ToolUse, ...]
    retried_host_blanked: bool = False
    assembler_error: str | None = None
    notes: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)

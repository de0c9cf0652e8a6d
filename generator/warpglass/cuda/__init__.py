"""CUDA sources: read them (:func:`load`), compile them (:func:`compile`), assemble PTX (:func:`assemble`)."""

from __future__ import annotations

from warpglass.cuda.compile import DEFAULT_ARCH, assemble, check_arch, compile
from warpglass.cuda.model import (
    Compiled,
    CudaKernel,
    CudaParam,
    CudaSource,
    KernelFacts,
    LiteralLaunch,
    ToolUse,
)
from warpglass.cuda.parse import load, parse

__all__ = [
    "DEFAULT_ARCH", "Compiled", "CudaKernel", "CudaParam", "CudaSource", "KernelFacts", "LiteralLaunch",
    "ToolUse", "assemble", "check_arch", "compile", "load", "parse",
]  # fmt: skip

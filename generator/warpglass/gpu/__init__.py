"""Hardware facts: architectures, GPU models, latencies. No number about hardware stands anywhere else."""

from __future__ import annotations

from warpglass.gpu.model import Arch, GpuModel
from warpglass.gpu.tables import (
    arch,
    default_model,
    find_arch,
    fixed_latencies,
    list_archs,
    list_models,
    model,
    parse_model,
    require_arch,
)

__all__ = [
    "Arch", "GpuModel", "arch", "default_model", "find_arch", "fixed_latencies", "list_archs", "list_models",
    "model", "parse_model", "require_arch",
]  # fmt: skip

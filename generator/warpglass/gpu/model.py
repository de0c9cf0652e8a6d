"""Frozen models of architectures and GPUs. Fields are None where no source gives a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Arch", "GpuModel"]

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture as it was named, suffix kept: ``sm_90a`` has ``base`` (9, 0).

    Sizes are bytes, except those in ``_kb``; ``fp32`` to ``tensor_fp16_fp16acc`` are results (tensor: flops)
    a clock and SM; ``alu_latency`` is in cycles, ``predicate_latency`` to ``dram`` are (least, most) cycles
    over the sources. ``notes`` keeps what a source says beside a number, by field; ``throughput_recall``
    marks throughputs that want a check.
    """

    name: str
    base: tuple[int, int]
    suffix: str
    example: str
    max_warps_sm: int
    max_threads_sm: int
    max_blocks_sm: int
    regs_sm: int
    regs_block: int
    max_regs_thread: int
    reg_alloc_unit_warp: int
    warp_alloc_gran: int
    smem_sm: int
    smem_block_static: int
    smem_block_optin: int
    smem_reserved: int
    smem_alloc_gran: int
    block_barriers_sm: int
    carveouts_kb: tuple[int, ...] | None = None
    l1_smem_total_kb: int | None = None
    param_const_offset: int | None = None
    fp32: int | None = None
    fp16x2_results: int | None = None
    fp64: int | None = None
    int_add: int | None = None
    int_mul: int | None = None
    shift: int | None = None
    logic: int | None = None
    minmax_cmp: int | None = None
    sfu: int | None = None
    popc_clz: int | None = None
    shfl: int | None = None
    vote: int | None = None
    conv_f32_f16: int | None = None
    conv_f64: int | None = None
    conv_other: int | None = None
    tensor_fp16_fp32acc: int | None = None
    tensor_fp16_fp16acc: int | None = None
    alu_latency: int | None = None
    predicate_latency: Range | None = None
    l1_hit: Range | None = None
    l2_hit: Range | None = None
    dram: Range | None = None
    throughput_recall: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)
    source_limits: str = ""
    source_throughput: str = ""
    source_latency: str = ""

    @property
    def compute_capability(self) -> str:
        """``9.0``."""
        return f"{self.base[0]}.{self.base[1]}"


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU. Clocks in MHz, ``dram_gbs`` in 1e9 bytes a second, peaks in 1e12 dense flops a second.

    ``tensor_fp16_fp32acc`` is in flops a clock and SM. ``source`` says where the row comes from.
    """

    name: str
    compute_capability: str
    sm_count: int
    base_mhz: float | None = None
    boost_mhz: float | None = None
    memory_gb: float | None = None
    memory_type: str | None = None
    dram_gbs: float | None = None
    l2_mb: float | None = None
    fp32_tflops: float | None = None
    fp64_tflops: float | None = None
    tensor_fp16_fp32acc: int | None = None
    tensor_fp16_fp32acc_tflops: float | None = None
    tensor_fp16_fp16acc_tflops: float | None = None
    tensor_fp16_datasheet_tflops: float | None = None
    default: bool = False
    source: str = ""

    @property
    def arch_name(self) -> str:
        """The compiler's name of the architecture, without suffix: ``sm_86``."""
        return "sm_" + self.compute_capability.replace(".", "")

"""Units of metrics: reports store none, so they follow from the name by rule, with a table of exceptions.

Base units, named as the profiler's CSV exports name them.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["unit_of"]

#: Names whose unit does not follow from the rules below.
EXCEPTIONS: dict[str, str] = {
    "launch__block_size": "thread",
    "launch__grid_size": "block",
    "launch__thread_count": "thread",
    "launch__registers_per_thread": "register/thread",
    "launch__registers_per_thread_allocated": "register/thread",
    "launch__shared_mem_per_block": "byte/block",
    "launch__shared_mem_per_block_allocated": "byte/block",
    "launch__shared_mem_per_block_dynamic": "byte/block",
    "launch__shared_mem_per_block_static": "byte/block",
    "launch__shared_mem_per_block_driver": "byte/block",
    "launch__shared_mem_config_size": "byte",
    "launch__waves_per_multiprocessor": "",
    "launch__occupancy_limit_blocks": "block",
    "launch__occupancy_limit_registers": "block",
    "launch__occupancy_limit_shared_mem": "block",
    "launch__occupancy_limit_warps": "block",
    "launch__occupancy_limit_barriers": "block",
    "launch__cluster_size": "block",
    "launch__stack_size": "byte",
    "launch__sm_count": "SM",
    "sm__maximum_warps_per_active_cycle_pct": "%",
    "gpu__time_active": "ns",
    "sm__maximum_warps_avg_per_active_cycle": "warp",
    "smsp__maximum_warps_avg_per_active_cycle": "warp",
    "smsp__pcsamp_interval_cycles": "cycle",
    "smsp__pcsamp_buffer_size_bytes": "byte",
}

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"average_warp_latency_per_inst_issued\.ratio|warps_active_per_inst_executed\.ratio", "cycle"),
        # The driver's attributes: clocks in kHz, sizes in bytes (CUDA driver API, CUdevice_attribute).
        (r"^device__attribute\w*(clock_rate|_khz)$", "kHz"),
        (r"^device__attribute\w*(cache_size|window_size|pitch|total_memory|total_constant_memory)$", "byte"),
        (r"^device__attribute\w*shared_memory_per_\w+$", "byte"),
        (r"^device__attribute\w*registers_per_(block|multiprocessor)$", "register"),
        (r"bytes_per_sector\w*\.ratio$", "byte/sector"),
        (r"(writeback|issue)_active\w*\.(sum|avg|min|max)$", "cycle"),
        (r"interval_time$", "ns"),
        (r"\.pct$|_pct$|\.pct_of_peak|pct_of_peak_sustained", "%"),
        (r"throughput(\.|$).*pct|throughput_internal", "%"),
        (r"cycles_elapsed\.\w+\.per_second$|cycles\w*\.\w+\.per_second$|clock_rate$|frequency", "hz"),
        (r"bytes\w*(\.\w+)?\.per_second$|bandwidth", "byte/s"),
        (r"bytes\w*(\.\w+)?\.per_cycle", "byte/cycle"),
        (r"inst\w*(\.\w+)?\.per_cycle|_per_cycle", "inst/cycle"),
        (r"time_duration|__time\w*(\.\w+)?$", "ns"),
        (r"bytes\w*\.\w+\.peak_sustained(_\w+)?$", "byte/cycle"),
        (r"sectors\w*\.\w+\.(peak_sustained(_\w+)?|per_cycle_\w+)$", "sector/cycle"),
        (r"inst\w*\.\w+\.peak_sustained(_\w+)?$", "inst/cycle"),
        (r"warps_\w*(\.\w+)*\.per_cycle", "warp"),
        (r"\.per_second$", "1/s"),
        (r"\.ratio$|_ratio$|_per_\w+\.(ratio|pct)$", ""),
        (r"bytes|_size_byte", "byte"),
        (r"cycles", "cycle"),
        (r"sectors", "sector"),
        (r"requests", "request"),
        (r"thread_inst", "inst"),
        (r"inst_executed|inst_issued|__inst|sass_inst|instructions", "inst"),
        (r"warps_active|warps_eligible|warps_launched|__warps", "warp"),
        (r"wavefronts|bank_conflicts|data_pipe", ""),
        (r"threads", "thread"),
        (r"__ctas|blocks", "block"),
    )
)


@lru_cache(maxsize=65536)
def unit_of(name: str) -> str:
    """Base unit of a metric, ``""`` for plain numbers and where no rule applies."""
    bare = name.split(".", 1)[0]
    if bare in EXCEPTIONS and not re.search(r"pct|per_second|ratio", name):
        return EXCEPTIONS[bare]
    for pattern, unit in _RULES:
        if pattern.search(name):
            return unit
    return ""

"""Units follow from names; these are the ones that the profiler's exports print for them."""

from __future__ import annotations

import pytest

from warpglass.ncu.units import unit_of


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("gpu__time_duration.sum", "ns"),
        ("dram__bytes_read.sum", "byte"),
        ("dram__bytes.sum.per_second", "byte/s"),
        ("dram__bytes.sum.peak_sustained", "byte/cycle"),
        ("sm__cycles_elapsed.avg.per_second", "hz"),
        ("gpc__cycles_elapsed.max", "cycle"),
        ("sm__inst_executed.avg.per_cycle_active", "inst/cycle"),
        ("smsp__inst_executed.sum", "inst"),
        ("smsp__warps_active.avg.per_cycle_active", "warp"),
        ("sm__maximum_warps_avg_per_active_cycle", "warp"),
        ("sm__maximum_warps_per_active_cycle_pct", "%"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("l1tex__t_sector_hit_rate.pct", "%"),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector"),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "request"),
        ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle"),
        ("smsp__thread_inst_executed_per_inst_executed.ratio", ""),
        ("launch__registers_per_thread", "register/thread"),
        ("launch__shared_mem_per_block_static", "byte/block"),
        ("launch__occupancy_limit_warps", "block"),
        ("launch__grid_size", "block"),
        ("launch__waves_per_multiprocessor", ""),
        ("launch__kernel_name", ""),
        ("device__attribute_clock_rate", "kHz"),
        ("device__attribute_max_mem_frequency_khz", "kHz"),
        ("device__attribute_l2_cache_size", "byte"),
        ("device__attribute_max_shared_memory_per_block_optin", "byte"),
        ("device__attribute_max_registers_per_block", "register"),
        ("device__attribute_max_block_dim_x", ""),
        ("l1tex__lsu_writeback_active_mem_lg.sum", "cycle"),
        ("smsp__issue_active.avg", "cycle"),
        ("smsp__issue_active.avg.per_cycle_active", ""),
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "byte/sector"),
        ("derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained", "byte/cycle"),
        ("derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second", "byte/s"),
        ("profiler__pmsampler_interval_time", "ns"),
    ],
)
def test_units(name: str, unit: str) -> None:
    assert unit_of(name) == unit

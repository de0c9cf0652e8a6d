"""A made report with every kind of roofline that section definitions can hold, with round numbers.

The shapes are those of the profiler's hierarchical sections: one peak of work and a roof for each memory
level; achieved points of the same work over the traffic of each level; tensor peaks by type of operand; and
metrics that another one replaces on other architectures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ncu.writer import Writer

SM, L2, DRAM = (
    "sm__cycles_elapsed.avg.per_second",
    "lts__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
)
L1 = "l1tex__cycles_elapsed.avg.per_second"
#: Levels: name, peak bytes a cycle, its clock, achieved bytes a second.
LEVELS = (
    ("DRAM", "dram__bytes.sum.peak_sustained", DRAM, "dram__bytes.sum.per_second"),
    (
        "L2",
        "l1tex__m_xbar2l1tex_read_bytes.sum.peak_sustained",
        L2,
        "l1tex__m_xbar2l1tex_read_bytes.sum.per_second",
    ),
    (
        "L1 (Global/Local)",
        "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained",
        L1,
        "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second",
    ),
)
_OPS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"

#: Everything the rooflines ask for. An A100 at 1.4 GHz, 1.2 GHz memory clock, 1 GHz L2 clock.
VALUES: Mapping[str, float] = {
    SM: 1.4e9, "smsp__cycles_elapsed.avg.per_second": 1.4e9, L1: 1.4e9, L2: 1.0e9, DRAM: 1.2e9,
    "dram__bytes.sum.peak_sustained": 1280.0,  # 1.536 TB/s
    "l1tex__m_xbar2l1tex_read_bytes.sum.peak_sustained": 6912.0,  # 6.912 TB/s
    "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained": 13824.0,  # 19.3536 TB/s
    "dram__bytes.sum.per_second": 0.5e12,
    "l1tex__m_xbar2l1tex_read_bytes.sum.per_second": 1.0e12,
    "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second": 4.0e12,
    # FP32: 19.3536 TFLOP/s; achieved (100 + 200 + 1000) a cycle: 1.82 TFLOP/s
    "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2": 13824.0,
    _OPS.format("fadd"): 100.0, _OPS.format("fmul"): 200.0,
    "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2": 1000.0,
    # FP64: 9.6768 TFLOP/s; achieved (1 + 2 + 47) a cycle: 0.07 TFLOP/s
    "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2": 6912.0,
    _OPS.format("dadd"): 1.0, _OPS.format("dmul"): 2.0,
    "derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2": 47.0,
    # FP16: 77.4144 TFLOP/s; nothing achieved
    "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4": 55296.0,
    _OPS.format("hadd"): 0.0, _OPS.format("hmul"): 0.0,
    "derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4": 0.0,
    # Tensor instructions of 512 operations: 309.6576 TFLOP/s; achieved 71.68 TFLOP/s
    "derived__sm__inst_executed_pipe_tensor_x512": 221184.0,
    "derived__smsp__inst_executed_pipe_tensor_x512": 51200.0,
    # Tensor operations by operand
    "sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained": 221184.0,
    "sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_second": 60.0e12,
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum.peak_sustained": 110592.0,
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum.per_second": 0.0,
    "sm__ops_path_tensor_src_int8.sum.peak_sustained": 442368.0,
    "sm__ops_path_tensor_src_int8.sum.per_second": 10.0e12,
    "sm__ops_path_tensor_src_fp64.sum.peak_sustained": 13824.0,
    "sm__ops_path_tensor_src_fp64.sum.per_second": 0.02e12,
}  # fmt: skip


def _level(value: Any, metric: str, clock: str) -> None:
    """Bytes a cycle times cycles a second. The first level names another metric for 7.2 and older."""
    one = value.per_cycle.metrics.add(name=metric.encode(), label=b"Theoretical bytes")
    if metric.startswith("derived__l1tex"):
        one.filter.min_arch = 75
        one.options.add(name=metric.replace("_mem_lg", "").encode()).filter.max_arch = 72
    value.per_cycle.cycles.name = clock.encode()


def hierarchical(
    result: Any, identifier: str, title: str, peak: str, parts: Sequence[str], order: int
) -> None:
    """A section of one roofline: a roof and a point for each level of memory."""
    section = result.sections.add(
        identifier=identifier.encode(), display_name=title.encode(), order=order, extends=b"SpeedOfLight"
    )
    chart = section.body.add(display_name=b"Rooflines").items.add().roofline
    chart.label = f"Floating Point Operations Roofline ({title.rpartition('(')[2]}".encode()
    chart.x_axis.label, chart.y_axis.label = b"Arithmetic Intensity [FLOP/byte]", b"Performance [FLOP/s]"
    for name, bytes_a_cycle, clock, _ in LEVELS:
        roof = chart.roofs.add()
        roof.work.per_cycle.metrics.add(name=peak.encode())
        roof.work.per_cycle.cycles.name = SM.encode()
        _level(roof.traffic, bytes_a_cycle, clock)
        roof.caption.label = f"{name} Roofline".encode()
    for name, _, _, bytes_a_second in LEVELS:
        point = chart.achieved.add()
        for part in parts:
            point.work.per_cycle.metrics.add(name=part.encode())
        point.work.per_cycle.cycles.name = b"smsp__cycles_elapsed.avg.per_second"
        point.traffic.metric.name = bytes_a_second.encode()
        point.caption.label = f"{name} Achieved Value".encode()


def by_operand(result: Any) -> None:
    """A roof for each operand type of the tensor cores, over one memory; work stored a second."""
    section = result.sections.add(
        identifier=b"SpeedOfLight_HierarchicalTensorRooflineChart",
        display_name=b"GPU Speed Of Light Hierarchical Roofline Chart (Tensor Core)",
        order=16,
        extends=b"SpeedOfLight",
    )
    chart = section.body.add().items.add().roofline
    chart.label = b"Tensor Operations Roofline"
    chart.x_axis.label, chart.y_axis.label = b"Arithmetic Intensity [OP/byte]", b"Performance [OP/s]"
    for kind in ("fp16_dst_fp32", "tf32_dst_fp32", "int8", "fp64"):
        name = f"sm__ops_path_tensor_src_{kind}.sum"
        roof, point = chart.roofs.add(), chart.achieved.add()
        roof.work.per_cycle.metrics.add(name=f"{name}.peak_sustained".encode())
        roof.work.per_cycle.cycles.name = SM.encode()
        _level(roof.traffic, LEVELS[0][1], LEVELS[0][2])
        roof.caption.label = f"{kind.partition('_')[0].upper()} Roofline".encode()
        point.work.metric.name = f"{name}.per_second".encode()
        point.traffic.metric.name = LEVELS[0][3].encode()
        point.caption.label = f"{kind.partition('_')[0].upper()} Achieved Value".encode()


def roofline_report(cc: int = 80) -> bytes:
    """One launch with the hierarchical rooflines of all precisions and both tensor rooflines."""
    w = Writer()
    result = w.result(
        "gemm",
        [
            ("device__attribute_compute_capability_major", cc // 10, None),
            ("device__attribute_compute_capability_minor", cc % 10, None),
            ("gpu__time_duration.sum", 1.0e6, None),
            *((name, value, None) for name, value in VALUES.items()),
        ],
    )
    chart = "GPU Speed Of Light Hierarchical Roofline Chart"
    for i, (word, title, op, factor) in enumerate(
        (
            ("Double", "Double Precision", "d", 2),
            ("Half", "Half Precision", "h", 4),
            ("Single", "Single Precision", "f", 2),
        )
    ):
        sass = f"sass_thread_inst_executed_op_{op}fma_pred_on_x{factor}"
        parts = [_OPS.format(f"{op}add"), _OPS.format(f"{op}mul"), f"derived__smsp__{sass}"]
        hierarchical(
            result, f"SpeedOfLight_Hierarchical{word}RooflineChart", f"{chart} ({title})",
            f"derived__sm__{sass}", parts, 12 + i,
        )  # fmt: skip
    hierarchical(
        result, "SpeedOfLight_HierarchicalTensor512RooflineChart", f"{chart} (Tensor Core)",
        "derived__sm__inst_executed_pipe_tensor_x512", ["derived__smsp__inst_executed_pipe_tensor_x512"], 15,
    )  # fmt: skip
    by_operand(result)
    w.block(results=[result])
    return w.out

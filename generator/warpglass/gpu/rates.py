"""Peak rates of a GPU by precision, dense, from the tables. Nothing sparse is ever in here."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from warpglass.gpu.model import Arch, GpuModel

__all__ = ["PRECISIONS", "Peak", "peaks", "tensor_ratio"]

#: Precisions in the order a table shows them: scalar pipes first, then the tensor cores.
PRECISIONS: Mapping[str, str] = {
    "fp64": "FP64", "fp32": "FP32", "fp16": "FP16 (half2)", "int8": "INT8 (dp4a)",
    "tensor_fp64": "FP64 tensor",
    "tensor_tf32": "TF32 tensor", "tensor_bf16": "BF16 tensor",
    "tensor_fp16_fp32acc": "FP16 tensor, FP32 sum",
    "tensor_fp16_fp16acc": "FP16 tensor, FP16 sum", "tensor_fp8": "FP8 tensor, FP32 sum",
    "tensor_fp8_fp16acc": "FP8 tensor, FP16 sum", "tensor_int8": "INT8 tensor", "tensor_int4": "INT4 tensor",
    "tensor_fp4": "FP4 tensor",
}  # fmt: skip
#: Rates that GeForce models do not halve: the sum is not kept in FP32.
_FULL_RATE = frozenset({"fp16_fp16acc", "fp8_fp16acc", "int8", "int4", "fp4"})


@dataclass(frozen=True, slots=True)
class Peak:
    """One roof. ``tflops`` is in 1e12 operations a second, dense; an FMA counts two."""

    precision: str
    label: str
    tflops: float
    source: str


@lru_cache(maxsize=1)
def _rates() -> Mapping[str, Any]:
    return tomllib.loads(files("warpglass.gpu").joinpath("rates.toml").read_text("utf-8"))


def tensor_ratio(arch: Arch, precision: str) -> float | None:
    """Rate of a tensor precision (``int8``, ``fp8`` …) over FP16 with FP32 sums, or None."""
    row = _rates().get(arch.compute_capability, {})
    if precision not in row or "fp16_fp32acc" not in row:
        return None
    return float(row[precision]) / float(row["fp16_fp32acc"])


def peaks(arch: Arch, model: GpuModel) -> tuple[Peak, ...]:
    """Every roof that the tables give for a GPU, in the order of :data:`PRECISIONS`."""
    found: dict[str, Peak] = {}

    def add(precision: str, tflops: float | None, source: str) -> None:
        if tflops:
            found[precision] = Peak(precision, PRECISIONS[precision], tflops, source)

    add("fp32", model.fp32_tflops or _from_clock(arch.fp32, model), model.source)
    add("fp64", model.fp64_tflops or _from_clock(arch.fp64, model), model.source)
    # A half2 instruction makes two results; the table counts single results.
    add("fp16", _from_clock(arch.fp16x2_results, model), arch.source_throughput)
    row = _rates().get(arch.compute_capability, {})
    full = model.tensor_fp16_fp16acc_tflops or model.tensor_fp16_fp32acc_tflops
    halved = model.tensor_fp16_fp32acc_tflops or full
    for key, rate in row.items():
        base = full if key in _FULL_RATE else halved
        if key == "fp64" and model.fp64_tflops:
            add("tensor_fp64", 2 * model.fp64_tflops, str(row["source"]))
            continue
        if key != "source" and base is not None:
            add(f"tensor_{key}", base * float(rate) / float(row["fp16_fp32acc"]), str(row["source"]))
    return tuple(found[key] for key in PRECISIONS if key in found)


def _from_clock(results: int | None, model: GpuModel) -> float | None:
    if results is None or model.boost_mhz is None:
        return None
    return 2 * results * model.sm_count * model.boost_mhz * 1e6 / 1e12

"""Arithmetic that one executed instruction does: operations by precision, in PTX's and SASS's words.

An FMA counts two operations, as in the profiler's ``sass_thread_inst_executed_op_ffma``-based roofline;
comparisons, minima, moves and conversions count none. Special functions count none either: their results
are not part of any peak rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from warpglass.analysis.listing import ListingRow

__all__ = ["Arithmetic", "arithmetic", "is_async_copy", "is_global_load"]

_PTX_SHAPE = re.compile(r"^m(\d+)n(\d+)k(\d+)$")
_WARPGROUP_SHAPE = re.compile(r"^(\d+)x(\d+)x(\d+)$")
_SCALAR = {"f32": "fp32", "f64": "fp64", "f16": "fp16", "bf16": "fp16", "f16x2": "fp16", "bf16x2": "fp16",
           "f32x2": "fp32"}  # fmt: skip
_TENSOR = {"f16": "fp16", "bf16": "bf16", "tf32": "tf32", "f64": "fp64", "s8": "int8", "u8": "int8",
           "s4": "int4", "u4": "int4", "e4m3": "fp8", "e5m2": "fp8", "e2m1": "fp4"}  # fmt: skip
_SASS_SCALAR = {
    "FADD": ("fp32", 1), "FMUL": ("fp32", 1), "FFMA": ("fp32", 2), "FFMA32I": ("fp32", 2),
    "FADD2": ("fp32", 2), "FMUL2": ("fp32", 2), "FFMA2": ("fp32", 4), "DADD": ("fp64", 1),
    "DMUL": ("fp64", 1), "DFMA": ("fp64", 2), "HADD2": ("fp16", 2), "HMUL2": ("fp16", 2),
    "HFMA2": ("fp16", 4),
}  # fmt: skip
#: Dot products of four or two pairs of small integers: products and additions.
_DOT_PRODUCTS = {"dp4a": 8, "dp2a": 4}
_LOADS = frozenset({"LDG", "LD", "LDGSTS", "UBLKCP", "UTMALDG"})


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``lane`` operations of each live lane, or ``warp`` operations of the whole warp instruction."""

    precision: str
    lane: int = 0
    warp: int = 0


def arithmetic(row: ListingRow, isa: str) -> Arithmetic | None:
    """Operations of an instruction, None where it does none."""
    if isa == "ptx":
        return _ptx(row.opcode)
    found = _sass(row.opcode)
    # An HFMA2 of two zeros and a constant is how the compiler loads a constant through the other pipe.
    if found is not None and row.opcode.startswith("HFMA2") and re.search(r"-?RZ, -?RZ,", row.text):
        return None
    return found


@lru_cache(maxsize=4096)
def _ptx(opcode: str) -> Arithmetic | None:
    parts = opcode.split(".")
    base = parts[0]
    if base in ("mma", "wmma", "wgmma"):
        return _ptx_tensor(parts)
    if base in _DOT_PRODUCTS:
        return Arithmetic("int8", lane=_DOT_PRODUCTS[base])
    if base not in ("add", "sub", "mul", "fma", "mad"):
        return None
    kind = next((part for part in reversed(parts[1:]) if part in _SCALAR), None)
    if kind is None:
        return None
    each = 2 if base in ("fma", "mad") else 1
    return Arithmetic(_SCALAR[kind], lane=each * (2 if kind.endswith("x2") else 1))


def _ptx_tensor(parts: list[str]) -> Arithmetic | None:
    shape = next((hit for part in parts if (hit := _PTX_SHAPE.match(part))), None)
    if shape is None or (parts[0] == "wmma" and parts[1] != "mma"):
        return None
    m, n, k = (int(g) for g in shape.groups())
    types = [part for part in parts if part in _TENSOR or part in ("f32", "s32")]
    inputs = [part for part in types if part in _TENSOR]
    if not types:
        return None
    # d.a.b.c; wmma writes only d.c where a and b are f16.
    operand = types[1] if len(types) >= 3 else "f16" if not inputs or inputs[0] == "f16" else inputs[0]
    if operand not in _TENSOR:
        return None
    work = 2 * m * n * k // (4 if parts[0] == "wgmma" else 1)
    return Arithmetic(_tensor_name(_TENSOR[operand], types[0] == "f16"), warp=work)


def _tensor_name(kind: str, half_sum: bool) -> str:
    if kind == "fp16":
        return "tensor_fp16_fp16acc" if half_sum else "tensor_fp16_fp32acc"
    return "tensor_fp8_fp16acc" if kind == "fp8" and half_sum else f"tensor_{kind}"


@lru_cache(maxsize=4096)
def _sass(opcode: str) -> Arithmetic | None:
    parts = opcode.split(".")
    base = parts[0]
    if base == "IDP":
        return Arithmetic("int8", lane=4 if parts[1:2] == ["2A"] else 8)
    if base in _SASS_SCALAR:
        precision, lane = _SASS_SCALAR[base]
        return Arithmetic(precision, lane=lane)
    if base in ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA"):
        shape = next((s for part in parts[1:] if (s := _sass_shape(part))), None)
        if shape is None:
            return None
        kind = {"IMMA": "int8", "DMMA": "fp64", "QMMA": "fp8", "OMMA": "fp4"}.get(base, "fp16")
        kind = "bf16" if "BF16" in parts else "tf32" if "TF32" in parts else kind
        kind = "int4" if base == "IMMA" and ("S4" in parts or "U4" in parts) else kind
        half = "F16" in parts and "F32" not in parts
        return Arithmetic(_tensor_name(kind, half), warp=2 * shape[0] * shape[1] * shape[2])
    if base in ("HGMMA", "IGMMA", "QGMMA"):
        found = next((hit for part in parts[1:] if (hit := _WARPGROUP_SHAPE.match(part))), None)
        if found is None:
            return None
        m, n, k = (int(g) for g in found.groups())
        kind = {"IGMMA": "int8", "QGMMA": "fp8"}.get(base, "bf16" if "BF16" in parts else "fp16")
        # One warpgroup instruction is issued by four warps.
        return Arithmetic(_tensor_name(kind, False), warp=2 * m * n * k // 4)
    return None


def _sass_shape(part: str) -> tuple[int, int, int] | None:
    """``16816`` is 16 x 8 x 16, ``884`` 8 x 8 x 4."""
    for first in ("16", "8"):
        rest = part.removeprefix(first)
        if rest != part and rest.startswith("8") and rest[1:] in ("4", "8", "16", "32", "64", "128"):
            return int(first), 8, int(rest[1:])
    return None


def is_global_load(row: ListingRow, isa: str) -> bool:
    """Loads that bring bytes from device memory: LDG, LDGSTS, UBLKCP, UTMALDG and their PTX forms."""
    base = row.opcode.split(".", 1)[0]
    if isa == "sass":
        return base in _LOADS
    return (row.operation == "load" and row.space in ("global", "generic")) or is_async_copy(row, isa)


def is_async_copy(row: ListingRow, isa: str) -> bool:
    """Copies to shared memory that do not pass through registers."""
    base = row.opcode.split(".", 1)[0]
    if isa == "sass":
        return base in ("LDGSTS", "UBLKCP", "UTMALDG")
    return (
        row.opcode.startswith(("cp.async.ca", "cp.async.cg", "cp.async.bulk"))
        and "commit" not in row.opcode
        and "wait" not in row.opcode
    )

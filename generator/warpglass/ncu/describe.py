"""What a metric means, in plain words: a table of single metrics, and rules for the families.

The texts are this project's own; names follow the profiler's naming scheme ``unit__quantity_details``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

from warpglass.ncu.names import split_name

__all__ = ["describe", "described"]

_UNITS: Mapping[str, str] = {
    "sm": "on a streaming multiprocessor (SM)",
    "smsp": "on one of an SM's sub-partitions (warp schedulers)",
    "tpc": "on a pair of SMs (TPC)",
    "gpc": "on a cluster of SMs (GPC)",
    "l1tex": "in the L1/texture cache",
    "lts": "in slices of the L2 cache",
    "dram": "in device memory",
    "dramc": "in device memory",
    "fbpa": "in the frame-buffer partitions, which drive device memory",
    "gpu": "over the whole GPU",
    "idc": "in the indexed constant cache",
    "pcie": "over PCI Express",
    "nvlrx": "received over NVLink",
    "nvltx": "sent over NVLink",
}

_STALLS: Mapping[str, str] = {
    "barrier": "waiting for other warps of the block at a barrier",
    "branch_resolving": "waiting for a branch target to be computed",
    "dispatch_stall": "held back by the dispatcher",
    "drain": "waiting at exit for their stores to leave",
    "gmma": "waiting for warpgroup matrix instructions",
    "warpgroup_arrive": "waiting for the warps of a warpgroup to arrive",
    "imc_miss": "waiting for an immediate constant that missed its cache",
    "lg_throttle": "waiting because the queue for local and global memory is full",
    "long_scoreboard": "waiting for data from global, local or texture memory",
    "math_pipe_throttle": "waiting for a busy arithmetic pipe",
    "membar": "waiting at a memory fence",
    "mio_throttle": "waiting because the queue for shared memory and special functions is full",
    "misc": "waiting for a rarer reason",
    "no_instruction": "waiting for their next instruction to be fetched",
    "no_instructions": "waiting for their next instruction to be fetched",
    "not_selected": "ready, but another warp was issued",
    "selected": "issuing an instruction",
    "short_scoreboard": "waiting for data from shared memory or a special-function result",
    "sleeping": "asleep by their own instruction",
    "tex_throttle": "waiting because the texture queue is full",
    "wait": "waiting a fixed number of cycles after an instruction",
}

_SPACES: Mapping[str, str] = {
    "global": "global memory", "local": "local memory", "shared": "shared memory",
    "dshared": "the shared memory of another block of the cluster", "surface": "surfaces",
    "texture": "textures", "lg": "global and local memory", "lgds": "global, local and cluster memory",
}  # fmt: skip
_OPS: Mapping[str, str] = {
    "ld": "loads", "st": "stores", "atom": "atomics that return a value", "red": "reductions",
    "read": "reads", "write": "writes", "redas": "asynchronous reductions", "tex": "fetches",
    "atom_dot_alu": "atomics done by the ALU", "atom_dot_cas": "compare-and-swap atomics",
    "ldgsts": "asynchronous copies to shared memory",
    "ldgsts_cache_access": "asynchronous copies to shared memory through L1",
    "ldgsts_cache_bypass": "asynchronous copies to shared memory past L1",
    "tma_ld": "bulk (TMA) loads", "tma_st": "bulk (TMA) stores", "tma_red": "bulk (TMA) reductions",
}  # fmt: skip

_PIPES: Mapping[str, str] = {
    "adu": "address divergence unit", "alu": "integer and logic pipe",
    "cbu": "convergence and branch unit", "cbu_pred_on_any": "convergence and branch unit",
    "fma": "single-precision pipe", "fmaheavy": "heavy half of the single-precision pipe",
    "fmalite": "light half of the single-precision pipe",
    "fma_type_fp16": "single-precision pipe, for half precision",
    "fp16": "half-precision pipe", "fp64": "double-precision pipe",
    "fp64_op_dmma": "double-precision pipe, for matrices",
    "fp64_op_fp64": "double-precision pipe, for scalars", "ipa": "attribute interpolation pipe",
    "lsu": "load/store unit", "tensor": "tensor cores", "tensor_op_dmma": "tensor cores, double precision",
    "tensor_op_gmma": "tensor cores, by warpgroup", "tensor_op_hmma": "tensor cores, half precision",
    "tensor_op_imma": "tensor cores, integers", "tex": "texture unit", "tma": "tensor memory accelerator",
    "uniform": "uniform pipe", "xu": "special-function and conversion pipe",
    "shared": "pipe that several kinds of instruction share",
}  # fmt: skip

_SUBS: Mapping[str, str] = {
    "per_second": "a second",
    "per_cycle_active": "a cycle in which the unit was active",
    "per_cycle_elapsed": "a cycle of the launch",
    "pct_of_peak_sustained_active": "in percent of what the unit can sustain, over its active cycles",
    "pct_of_peak_sustained_elapsed": "in percent of what the unit can sustain, over the whole launch",
    "pct_of_peak_sustained_region": "in percent of what the unit can sustain, over the measured region",
    "peak_sustained": "the most that the unit can sustain a cycle",
    "peak_sustained_active": "the most that the unit can sustain over its active cycles",
    "peak_sustained_elapsed": "the most that the unit can sustain over the launch",
    "peak_sustained_elapsed.per_second": "the most that the unit can sustain a second",
}
_ROLLUPS = {
    "sum": "total",
    "avg": "mean of the units",
    "min": "least of the units",
    "max": "most of the units",
}


@cache
def _table() -> Mapping[str, str]:
    text = files("warpglass.ncu").joinpath("metrics.tsv").read_text("utf-8")
    rows = (line.split("\t", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows if len(row) == 2}


def _accesses(rest: str) -> str:
    """The words for ``pipe_lsu_mem_global_op_ld``: what kind of access is counted."""
    space = re.search(r"mem_(dshared|global|local|shared|surface|texture|lgds|lg)", rest)
    op = re.search(r"op_(\w+?)(?:_lookup_(?:hit|miss)|_hit_rate)?$", rest)
    words = _OPS.get(op[1], op[1].replace("_", " ")) if op else "accesses"
    where = f" of {_SPACES[space[1]]}" if space else ""
    source = (
        ", from L1/TEX"
        if "srcunit_tex" in rest
        else ", from the other half of L2"
        if "ltcfabric" in rest
        else ""
    )
    return f"{words}{where}{source}"


def _lookup(rest: str) -> str:
    return (
        ", found in the cache"
        if rest.endswith("_hit")
        else ", not found in the cache"
        if rest.endswith("_miss")
        else ""
    )


def _family(base: str) -> str | None:
    unit, _, rest = base.partition("__")
    if not rest:
        return None
    where = _UNITS.get(unit, "")
    if match := re.fullmatch(r"average_warps_issue_stalled_(\w+)_per_issue_active", rest):
        return f"Warps {_STALLS.get(match[1], match[1].replace('_', ' '))}, for each issued instruction"
    if match := re.fullmatch(r"(?:average_)?warps_issue_stalled_(\w+?)_per_warp_active", rest):
        return f"Share of warp cycles spent {_STALLS.get(match[1], match[1].replace('_', ' '))}"
    if match := re.fullmatch(r"pcsamp_warps_issue_stalled_(\w+?)(_not_issued)?", rest):
        only = ", counted only when the scheduler issued nothing" if match[2] else ""
        return f"Samples of warps {_STALLS.get(match[1], match[1].replace('_', ' '))}{only}"
    if match := re.fullmatch(r"inst_executed_pipe_(\w+)", rest):
        return f"Warp instructions executed by the {_PIPES.get(match[1], match[1])} {where}"
    if match := re.fullmatch(r"pipe_(\w+?)_cycles_active", rest):
        return f"Cycles in which the {_PIPES.get(match[1], match[1])} was busy {where}"
    if match := re.fullmatch(r"(?:sass_)?(thread_)?inst_executed_op_(\w+?)(_pred_on)?", rest):
        kind = _OPS.get(match[2]) or _mem_op(match[2])
        who = "Thread" if match[1] else "Warp"
        on = ", counting threads whose predicate was on" if match[3] else ""
        return f"{who} instructions executed: {kind}{on}"
    if rest.startswith("average_t_sectors_per_request"):
        return f"32-byte sectors for each request, {_accesses(rest)}: 4 is ideal for 4 bytes a lane"
    if "hit_rate" in rest:
        return f"Share of sectors found {where}: {_accesses(rest)}"
    for word, text in (
        ("t_requests", "Requests (one for each memory instruction of a warp)"),
        ("requests", "Requests"),
        ("t_output_wavefronts", "Passes that the tag stage sent on to the data stage"),
        ("data_pipe_lsu_wavefronts", "Passes of the data stage"),
        ("data_bank_conflicts", "Extra passes because lanes met in one bank"),
        ("wavefronts", "Passes through the unit"),
        ("t_tag_requests", "Lookups in the tag stage"),
        ("t_sectors", "32-byte sectors looked up"),
        ("d_sectors", "32-byte sectors read or written in the data stage"),
        ("sectors", "32-byte sectors moved"),
        ("bytes", "Bytes moved"),
    ):
        if re.match(rf"(?:m_\w+?_|sass_\w*?|average_)?{word}", rest) or f"_{word}" in rest:
            return f"{text} {where}: {_accesses(rest)}{_lookup(rest)}"
    if rest.endswith("cycles_active"):
        return f"Cycles with work {where}"
    if rest.endswith("cycles_elapsed"):
        return f"Cycles of the launch, counted {where}"
    if rest.endswith("throughput"):
        return f"Throughput {where}: the busiest of the counters that it breaks down to"
    return None


def _mem_op(text: str) -> str:
    space, _, op = text.partition("_")
    if space in _SPACES:
        return f"{_OPS.get(op, 'accesses')} of {_SPACES[space]}"
    scalar = {"fadd": "float additions", "fmul": "float multiplications", "ffma": "float multiply-adds",
              "dadd": "double additions", "dmul": "double multiplications", "dfma": "double multiply-adds",
              "hadd": "half additions", "hmul": "half multiplications", "hfma": "half multiply-adds",
              "branch": "branches", "integer": "integer arithmetic", "conversion": "conversions",
              "memory": "memory accesses", "control": "control flow", "bit": "bit manipulation",
              "fp32": "single precision", "fp64": "double precision", "fp16": "half precision",
              "inter_thread_communication": "shuffles, votes and other exchange between lanes",
              "misc": "everything else", "uniform": "uniform registers"}  # fmt: skip
    return scalar.get(text, text.replace("_", " "))


@lru_cache(maxsize=65536)
def describe(name: str) -> str | None:
    """One sentence about a metric, None where neither the table nor a rule knows it."""
    if name.startswith("breakdown:"):
        return "The metrics that the throughput of the same name is the largest of"
    if name.startswith("group:"):
        return "Names of the metrics of a group"
    plain = name.removeprefix("pmsampling:")
    if "__" in plain:
        head, _, tail = plain.partition("__")
        plain = f"{head.rsplit('.', 1)[-1]}__{tail}"
    if plain in _table():
        return _table()[plain]
    parts = split_name(plain)
    text = _table().get(parts.base) or _family(parts.base)
    if text is None and parts.base.startswith("device__attribute_"):
        return f"Device attribute: {parts.base.removeprefix('device__attribute_').replace('_', ' ')}"
    if text is None:
        return None
    extra = [word for word in (_ROLLUPS.get(parts.rollup), _SUBS.get(parts.sub)) if word]
    if parts.rollup == "" and parts.sub in ("pct", "ratio", "max_rate"):
        extra = {"pct": ["in percent"], "max_rate": ["the largest value possible"]}.get(parts.sub, [])
    return f"{text} ({', '.join(extra)})" if extra else text


def described() -> tuple[str, ...]:
    """Names in the table, for the documentation and tests."""
    return tuple(_table())

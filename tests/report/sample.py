"""A small report made by hand: two launches of a tiled product, the second cut short.

Numbers agree with each other (profile, mix and histogram sum to the same counts), so sections can be
checked against them by hand.
"""

from __future__ import annotations

import copy
from typing import Any

CUDA = """#include <cuda_runtime.h>

// C = A * B, one 16 x 16 tile a block.
template <int TILE>
__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < n / TILE; ++t) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
    bs[threadIdx.x][threadIdx.y] = b[(t * TILE + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += as[threadIdx.y][k] * bs[threadIdx.x][k];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}
template __global__ void matmul<16>(const float*, const float*, float*, int);
"""

PTX = """.version 9.0
.target sm_80
.address_size 64
.visible .entry _Z6matmulILi16EEvPKfS1_Pfi(
  .param .u64 .ptr .global p0, .param .u64 .ptr .global p1, .param .u64 .ptr .global p2, .param .u32 p3)
{
  .reg .f32 %f<4>; .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p0];
  mov.u32 %r1, %tid.x;
$L_loop:
  ld.global.nc.f32 %f1, [%rd1];
  st.shared.f32 [%r1], %f1;
  bar.sync 0;
  fma.rn.f32 %f2, %f1, %f1, %f2;
  setp.lt.s32 %p1, %r1, 16;
  @%p1 bra $L_loop;
  st.global.f32 [%rd1], %f2;
  ret;
}
"""

# opcode, kind, PTX line, CUDA line, executions of a warp, lanes on
_CODE: list[tuple[str, str, str, int, int, int, int]] = [
    ("ld.param.u64", "load", "ld.param.u64 %rd1, [p0]", 8, 5, 1, 32),
    ("mov.u32", "move", "mov.u32 %r1, %tid.x", 9, 9, 1, 32),
    ("ld.global.nc.f32", "load", "ld.global.nc.f32 %f1, [%rd1]", 11, 12, 4, 32),
    ("st.shared.f32", "store", "st.shared.f32 [%r1], %f1", 12, 13, 4, 32),
    ("bar.sync", "barrier", "bar.sync 0", 13, 14, 4, 32),
    ("fma.rn.f32", "fpu", "fma.rn.f32 %f2, %f1, %f1, %f2", 14, 15, 4, 32),
    ("setp.lt.s32", "predicate", "setp.lt.s32 %p1, %r1, 16", 15, 11, 4, 32),
    ("bra", "branch", "@%p1 bra $L_loop", 16, 11, 4, 24),
    ("st.global.f32", "store", "st.global.f32 [%rd1], %f2", 17, 18, 1, 20),
    ("ret", "exit", "ret", 18, 18, 1, 32),
]


def _trace(warps: int) -> dict[str, Any]:
    order = [0, 1] + [2, 3, 4, 5, 6, 7] * 4 + [8, 9]
    columns: dict[str, list[int]] = {"round": [], "warp": [], "pc": [], "mask": [], "group": []}
    for turn, pc in enumerate(order):
        for warp in range(warps):
            columns["round"].append(turn)
            columns["warp"].append(warp)
            columns["pc"].append(pc)
            columns["mask"].append((1 << _CODE[pc][6]) - 1)
            columns["group"].append(0xFFFFFFFF)
    steps = len(columns["pc"])
    return {
        "block": [0, 0, 0],
        "index": 0,
        "warps": warps,
        "threads": 32 * warps,
        "steps": steps,
        "rounds": len(order),
        "truncated": False,
        "columns": columns,
        "values": None,
        "accesses": None,
        "barriers": None,
    }


def _sample(label: str, space: str, base: int, stride: int, **counts: int) -> dict[str, Any]:
    return {
        "label": label,
        "block": [0, 0, 0],
        "warp": 0,
        "space": space,
        "size": 4,
        "mask": 0xFFFFFFFF,
        "addresses": [base + stride * lane for lane in range(32)],
        "buffer": "a" if space == "global" else None,
        "base": base,
        "sectors": 0,
        "sectors_ideal": 0,
        "wavefronts": 0,
        "wavefronts_ideal": 0,
        **counts,
    }


def _run(blocks: int, warps: int, complete: bool) -> dict[str, Any]:
    executed = blocks if complete else 1
    scale = executed * warps
    warp = [row[5] * scale for row in _CODE]
    thread = [row[5] * scale * row[6] for row in _CODE]
    zero = [0] * len(_CODE)

    def only(pcs: dict[int, int]) -> list[int]:
        return [pcs.get(pc, 0) * scale for pc in range(len(_CODE))]

    profile = {
        "warp_executed": warp,
        "warp_on": warp,
        "thread_executed": thread,
        "thread_active": [32 * count for count in warp],
        "requests": only({2: 4, 3: 4, 8: 1}),
        "sectors": only({2: 16, 8: 4}),
        "sectors_ideal": only({2: 16, 8: 3}),
        "wavefronts": only({3: 64}),
        "wavefronts_ideal": only({3: 4}),
        "broadcasts": zero,
        "bytes": only({2: 512, 3: 512, 8: 80}),
        "bytes_distinct": only({2: 512, 3: 512, 8: 80}),
        "atomic_addresses": zero,
        "branch_uniform": only({7: 3}),
        "branch_divergent": only({7: 1}),
        "branch_taken": only({7: 96}),
    }
    histogram = []
    for row, count in zip(_CODE, warp, strict=True):
        lanes = [0] * 33
        lanes[row[6]] = count
        histogram.append(lanes)
    findings = [
        {
            "kind": "bank-conflict",
            "severity": "warning",
            "category": "memory",
            "message": "st.shared.f32 needs 16 wavefronts where 1 would do: lanes 0, 2, 4, … write one bank",
            "evidence": "modelled",
            "count": 4 * scale,
            "pc": 3,
            "source": 0,
            "line": 13,
            "block": [0, 0, 0],
            "thread": [0, 0, 0],
            "address": 0,
            "step": 3 * warps,
            "worst_step": 9 * warps,
            "trace": 0,
            "detail": {"wavefronts": 64 * scale, "wavefronts_ideal": 4 * scale, "width": 4},
        },
        {
            "kind": "divergence",
            "severity": "info",
            "category": "divergence",
            "message": "1 of 4 executions of this branch splits the warp",
            "evidence": "executed",
            "count": scale,
            "pc": 7,
            "source": 0,
            "line": 11,
            "block": None,
            "thread": None,
            "address": None,
            "step": None,
            "worst_step": None,
            "trace": None,
            "detail": {},
        },
    ]
    if not complete:
        findings.insert(
            0,
            {
                "kind": "memcheck",
                "severity": "critical",
                "category": "memory",
                "message": "invalid 4-byte global read past the end of a",
                "evidence": "executed",
                "count": 3,
                "pc": 2,
                "source": 0,
                "line": 12,
                "block": [1, 0, 0],
                "thread": [31, 3, 0],
                "address": 0x7F0000001000,
                "step": None,
                "worst_step": None,
                "trace": None,
                "detail": {"buffer": "a", "beyond_by": 4},
            },
        )
    total = sum(warp)

    def number(name: str, value: int | None, evidence: str) -> dict[str, Any]:
        why = None if complete else "the instruction budget ended the run"
        return {
            "name": name,
            "value": value if complete else None,
            "unit": name.lower(),
            "evidence": evidence,
            "rule": "counted while running",
            "scope": "whole grid",
            "why_unknown": why,
        }

    code_columns = {
        "line": [row[3] for row in _CODE],
        "opcode": [row[0] for row in _CODE],
        "text": [row[2] for row in _CODE],
        "kind": [row[1] for row in _CODE],
        "source": [0] * len(_CODE),
        "source_line": [row[4] for row in _CODE],
        "inlined": [None] * len(_CODE),
        "block": [0, 0, 1, 1, 1, 1, 1, 1, 2, 2],
        "live": [1, 2, 3, 3, 3, 3, 4, 3, 0, 0],
        "reads": [[], [], [3], [1, 2], [], [2, 4], [1], [5], [3, 4], []],
        "writes": [[3], [1], [2], [], [], [4], [5], [], [], []],
        "control": [None] * len(_CODE),
    }
    return {
        "isa": "ptx",
        "complete": complete,
        "stopped": None
        if complete
        else {"kind": "budget", "message": "instruction budget of 200 reached", "pc": 6, "line": 15},
        "blocks": {"executed": executed, "total": blocks, "traced": [0]},
        "scaled": None,
        "numbers": [
            number("Warp instructions", total, "executed"),
            number("Thread instructions", sum(thread), "executed"),
            number("Sectors", sum(profile["sectors"]), "executed"),
            number("Ideal sectors", sum(profile["sectors_ideal"]), "executed"),
            number("Shared wavefronts", sum(profile["wavefronts"]), "modelled"),
            number("Ideal wavefronts", sum(profile["wavefronts_ideal"]), "modelled"),
        ],
        "findings": findings,
        "printed": ["sum of block 0 is 4.5\n"] if complete else [],
        "code": {
            "source": 1,
            "instructions": code_columns,
            "blocks": [
                {"start": 0, "end": 2, "successors": [1], "ipdom": 1, "loop": None},
                {"start": 2, "end": 8, "successors": [1, 2], "ipdom": 2, "loop": 0},
                {"start": 8, "end": 10, "successors": [], "ipdom": None, "loop": None},
            ],
            "loops": [{"header": 1, "blocks": [1], "depth": 1, "trips": 4.0}],
            "registers": {
                "names": ["%r0", "%r1", "%f1", "%rd1", "%f2", "%p1"],
                "types": ["b32", "b32", "f32", "b64", "f32", "pred"],
            },
        },
        "profile": profile,
        "active_histogram": histogram,
        "lines": [
            {
                "source": 0,
                "line": row[4],
                "warp_executed": warp[pc],
                "thread_executed": thread[pc],
                **{
                    key: profile[key][pc]
                    for key in (
                        "sectors",
                        "sectors_ideal",
                        "wavefronts",
                        "wavefronts_ideal",
                        "branch_divergent",
                        "branch_uniform",
                    )
                },
            }
            for pc, row in enumerate(_CODE)
            if row[4] not in (11, 18) or row[0] in ("bra", "ret")
        ],
        "memory": [
            {
                "pc": 2,
                "source": 0,
                "line": 12,
                "operation": "load",
                "space": "global",
                "width": 4,
                "requests": 4 * scale,
                "sectors": 16 * scale,
                "sectors_ideal": 16 * scale,
                "wavefronts": None,
                "wavefronts_ideal": None,
                "conflicts": None,
                "lanes": 32.0,
                "broadcasts": 0,
                "bytes": 512 * scale,
                "atomic_addresses": None,
                "samples": [_sample("first", "global", 0x7F0000000000, 4, sectors=4, sectors_ideal=4)],
            },
            {
                "pc": 3,
                "source": 0,
                "line": 13,
                "operation": "store",
                "space": "shared",
                "width": 4,
                "requests": 4 * scale,
                "sectors": None,
                "sectors_ideal": None,
                "wavefronts": 64 * scale,
                "wavefronts_ideal": 4 * scale,
                "conflicts": 60 * scale,
                "lanes": 32.0,
                "broadcasts": 0,
                "bytes": 512 * scale,
                "atomic_addresses": None,
                "samples": [_sample("worst", "shared", 0, 64, wavefronts=16, wavefronts_ideal=1)],
            },
        ],
        "branches": [
            {
                "pc": 7,
                "source": 0,
                "line": 11,
                "executions": 4 * scale,
                "uniform": 3 * scale,
                "divergent": scale,
                "taken_lanes": 96 * scale,
                "active_lanes": 128 * scale,
            }
        ],
        "mix": [
            {"opcode": row[0], "kind": row[1], "warp": warp[pc], "thread": thread[pc]}
            for pc, row in enumerate(_CODE)
        ],
        "buffers": [
            {
                "name": "a",
                "base": 0x7F0000000000,
                "size": 16384,
                "dtype": "float32",
                "given": True,
                "touched": [0, 16384],
            }
        ],
        "traces": [_trace(warps)],
    }


def _launch(index: int, label: str, grid: list[int], block: list[int], complete: bool) -> dict[str, Any]:
    warps = block[0] * block[1] // 32
    return {
        "id": index,
        "label": label,
        "kernel": {
            "name": "_Z6matmulILi16EEvPKfS1_Pfi",
            "demangled": "void matmul<16>(float const*, float const*, float*, int)",
            "bare": "matmul",
        },
        "arch": "sm_80",
        "gpu": {"name": "A100-SXM4-40GB", "sm_count": 108, "default": True, "source": "vendor data sheet"},
        "launch": {
            "grid": grid,
            "block": block,
            "cluster": [1, 1, 1],
            "shared_bytes": 0,
            "args": [
                {
                    "name": "a",
                    "type": "float*",
                    "value": None,
                    "fill": "iota",
                    "count": 4096,
                    "origin": "command line",
                },
                {
                    "name": "b",
                    "type": "float*",
                    "value": None,
                    "fill": "default",
                    "count": None,
                    "origin": "default",
                },
                {
                    "name": "c",
                    "type": "float*",
                    "value": None,
                    "fill": "zeros",
                    "count": 4096,
                    "origin": "command line",
                },
                {
                    "name": "n",
                    "type": "int",
                    "value": 64,
                    "fill": None,
                    "count": None,
                    "origin": "command line",
                },
            ],
            "origin": {
                "grid": "command line",
                "block": "comment in the source",
                "cluster": "default",
                "shared_bytes": "default",
            },
        },
        "compile": {
            "registers": 40,
            "barriers": 1,
            "static_shared": 2048,
            "local": 0,
            "spill_stores": 0,
            "spill_loads": 0,
            "stack": 0,
            "constant": 380,
            "advisories": [],
        },
        "runs": [_run(grid[0] * grid[1], warps, complete)],
        "primary": 0,
    }


_REPORT: dict[str, Any] = {
    "schema": "warpglass-report/1",
    "tool": {"name": "warpglass", "version": "0.1.0"},
    "title": "Tiled matrix product, 64 × 64 × 64",
    "notes": "The second operand is stored *transposed*: bank conflicts.\n\n- see `bs` in line 13\n",
    "options": {"kernel": "matmul", "seed": 0},
    "assumptions": [
        "blocks do not wait for a free multiprocessor: residency is ignored",
        "buffer b holds default values in [0, 1): nobody gave its content",
    ],
    "inputs": [
        {"id": 0, "name": "matmul.cu", "kind": "CUDA source", "sha256": "3f" * 32, "bytes": len(CUDA)},
    ],
    "sources": [
        {"id": 0, "name": "matmul.cu", "language": "cuda", "text": CUDA, "input": 0, "own": True},
        {"id": 1, "name": "matmul.ptx", "language": "ptx", "text": PTX, "input": 0, "own": False},
    ],
    "tools": [{"name": "nvcc", "version": "13.0.88", "flags": ["-lineinfo", "-arch=sm_80", "-O3"]}],
    "launches": [
        _launch(0, "", [4, 4, 1], [16, 16, 1], True),
        _launch(1, "cut short", [2, 2, 1], [32, 4, 1], False),
    ],
    "sections": [],
}


def sample() -> dict[str, Any]:
    """A fresh copy that a test may change."""
    return copy.deepcopy(_REPORT)

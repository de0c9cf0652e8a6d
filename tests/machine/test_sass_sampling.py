"""Machine code of grids beyond the budget: sampled counts are those of every block, or none are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpglass import run
from warpglass.machine import RunOptions, RunResult
from warpglass.machine.affine import AFFINE, FREE, Value, constant, disjoint, masked, merged, scaled, summed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = [pytest.mark.cuda, pytest.mark.slow]

#: Kernels of the examples on grids that no launch of theirs has: (example, kernel, grid, block, arguments).
KERNELS: tuple[tuple[str, str, Any, Any, dict[str, Any]], ...] = (
    ("tiled_matmul", "tiled_matmul", (12, 9), (16, 16), {"n": 192}),
    ("cp_async_double_buffer", "matmul_cp_async", (10, 7), 256, {"n": 320}),
    ("mma_sync_tile", "mma_tile", (24, 20), 256, {}),
    ("stencil", "heat_step", (20, 18), (16, 16), {"width": 310, "height": 279, "rate": 0.1}),
    ("transpose", "transpose_swizzled", (14, 15), (32, 8), {"n": 480}),
    ("transpose", "transpose_naive", (14, 15), (32, 8), {"n": 480}),
    ("reduction_shuffle", "reduce_sum", 500, 128, {"n": 63_000}),
    ("vector_add", "vector_add", 900, 128, {"n": 115_001}),
)


def _same_counts(a: RunResult, b: RunResult) -> None:
    for name, column in b.counters.items():
        np.testing.assert_array_equal(a.counters[name], column, err_msg=name)
    np.testing.assert_array_equal(a.active_histogram, b.active_histogram)


@pytest.mark.parametrize("isa", ["sass", "ptx"])
@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case[1])
def test_sampled_counts_are_those_of_all_blocks(case: Any, isa: str) -> None:
    example, kernel, grid, block, args = case
    source = EXAMPLES / example / "kernel.cu"
    asked = {"kernel": kernel, "grid": grid, "block": block, "args": args, "isa": isa}
    full = run(source, options=RunOptions(sample=False), **asked)
    assert full.complete
    assert full.scaled is None
    budget = int(full.counters["warp_executed"].sum()) // 3
    sampled = run(source, options=RunOptions(max_warp_instructions=budget), **asked)
    assert sampled.scaled is not None, sampled.stopped
    assert sampled.blocks_executed < full.blocks_executed
    _same_counts(sampled, full)


#: Bodies that use the block index in ways that are not affine, though each step of the code looks it.
STEPPED = {
    "a remainder by a constant": "if (blockIdx.x % 3 == 1) out[i] = 7;",
    "a quotient by a constant": "out[i + blockIdx.x / 5 * 8] = 7;",
    "a quotient by a power of two": "out[i + (blockIdx.x >> 2) * 8 + blockIdx.x] = 7;",
    "low bits": "if ((blockIdx.x & 5) == 5) out[i] = 7;",
    "an OR of bits that meet": "out[(blockIdx.x * 96) | (threadIdx.x & 127)] = 7;",
    "an XOR of bits that meet": "out[(blockIdx.x * 96) ^ threadIdx.x] = 7;",
    "a signed quotient": "out[i + ((int)blockIdx.x - 99) / 8 * 8 + 200] = 7;",
    "a bit field": "out[((blockIdx.x << 3) & 0xfff8) | (threadIdx.x & 15)] = 7;",
}


@pytest.mark.parametrize("isa", ["sass", "ptx"])
@pytest.mark.parametrize("name", STEPPED)
def test_steps_of_the_block_index_are_never_taken_for_lines(name: str, isa: str) -> None:
    """The proof refuses, or the blocks are cut in boxes: no count is another than that of all blocks."""
    source = (
        "__global__ void k(int *out) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  "
        f"{STEPPED[name]}\n}}\n"
    )
    asked: dict[str, Any] = {"grid": 1500, "block": 64, "isa": isa}
    full = run(source, options=RunOptions(sample=False), **asked)
    budget = int(full.counters["warp_executed"].sum()) // 3
    found = run(source, options=RunOptions(max_warp_instructions=budget), **asked)
    if found.scaled is not None:
        _same_counts(found, full)
    else:
        assert not found.complete


def test_bits_that_meet_make_no_sum() -> None:
    tid, block = Value(may=1023), Value(AFFINE, (1 << 31) - 1)
    rows = scaled(block, constant(1024))
    assert disjoint(rows, tid) == Value(AFFINE, rows.may | 1023)
    assert disjoint(scaled(block, constant(512)), tid).cls == FREE
    assert masked(rows, constant(-1024)) == rows  # all of its bits stay
    assert masked(rows, constant(2048)).cls == FREE
    assert summed(rows, tid).may == rows.may | 1023  # no carry
    assert summed(tid, constant(1)).may == 2047  # one bit more
    assert merged(rows, tid, -1024).cls == AFFINE
    assert merged(rows, tid, 3 << 10).cls == FREE
    assert scaled(block, block).cls == FREE
    assert constant(-48).may & 15 == 0


#: Bodies, and whether the first four blocks of 48 threads do the same.
COMPARED = {
    "out[i] = in[i];": True,
    "if (i < 4 * 48 - 1) out[i] = in[i];": False,  # one lane of the last block
    "if (threadIdx.x < 20) out[i] = in[i];": True,
    "if (blockIdx.x == 2) out[i] = in[i];": False,
    "for (int n = 0; n < (int)blockIdx.x; ++n) out[i] += n;": False,
    "out[i * 2] = in[i + blockIdx.x];": False,  # other sectors from block to block
    "__shared__ int t[64]; t[threadIdx.x] = i; __syncthreads(); out[i] = t[threadIdx.x ^ 1];": True,
    "__shared__ int t[4096]; t[threadIdx.x * (1 + blockIdx.x)] = i; out[i] = t[threadIdx.x];": False,
    "atomicAdd(&out[threadIdx.x / 4], 1);": True,
}


@pytest.mark.parametrize("isa", ["sass", "ptx"])
@pytest.mark.parametrize("body", COMPARED)
def test_blocks_of_a_batch_are_compared(body: str, isa: str) -> None:
    """Two sums may be equal though blocks differ: what each block counts decides."""
    head = "__global__ void k(int *out, const int *in) {\n  int i = blockIdx.x * 48 + threadIdx.x;\n  "
    source = f"{head}{body}\n}}\n"
    asked: dict[str, Any] = {"grid": 4, "block": 48, "isa": isa}
    alone = [run(source, options=RunOptions(sample=False, only_blocks=(b,)), **asked) for b in range(4)]
    same = all(
        np.array_equal(one.counters[name], alone[0].counters[name]) for one in alone for name in one.counters
    )
    assert same is COMPARED[body]
    together = run(source, options=RunOptions(sample=False, compare=True), **asked)
    assert together.alike is same
    assert run(source, options=RunOptions(sample=False), **asked).alike is None


def test_what_is_split_into_batches_is_not_compared() -> None:
    source = "__global__ void k(int *out) {\n  out[blockIdx.x * 64 + threadIdx.x] = 1;\n}\n"
    options = RunOptions(sample=False, compare=True, batch_lanes=128)
    assert run(source, grid=4, block=64, options=options).alike is False
    assert run(source, grid=2, block=64, options=options).alike is True


FAR = """
__global__ void k(float *out, const float *in, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += in[(blockIdx.x * blockDim.x + threadIdx.x) * n + i];
  out[(int)(blockIdx.x * blockDim.x + threadIdx.x) - 64] = sum;
}
"""


@pytest.mark.parametrize("isa", ["sass", "ptx"])
def test_few_blocks_with_long_loops_are_sampled(isa: str) -> None:
    """80 blocks of little code whose loops exceed the budget; their addresses are signed sums."""
    asked: dict[str, Any] = {"grid": 80, "block": 64, "args": {"n": 300}, "isa": isa}
    full = run(FAR, options=RunOptions(sample=False), **asked)
    budget = int(full.counters["warp_executed"].sum()) // 2
    found = run(FAR, options=RunOptions(max_warp_instructions=budget), **asked)
    assert found.scaled is not None
    _same_counts(found, full)

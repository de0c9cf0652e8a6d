"""Every example runs to the end, says what its comments promise, and leaves the right memory."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpglass
from warpglass.inputs.toolchain import find_tool
from warpglass.options import ReportOptions

pytestmark = [pytest.mark.cuda, pytest.mark.slow]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/kernel.cu"))

#: Mistakes made on purpose.
WRONG = {
    "missing_barrier": "racecheck", "off_by_one": "memcheck", "uninitialised_sum": "initcheck",
    "lockstep_tail": "racecheck", "misaligned_vector": "memcheck",
}  # fmt: skip


@functools.cache
def report(name: str) -> dict[str, Any]:
    """The JSON of one example's report, as a reader of the file would see it."""
    if find_tool("nvcc") is None:
        pytest.skip("nvcc is missing")
    folder = EXAMPLES / name
    made = warpglass.make_report(
        [folder / "kernel.cu"], ReportOptions(launch_file=folder / "warpglass.toml", charts="static")
    )
    return dict(json.loads(made.to_json()))


def launches(name: str) -> dict[str, Any]:
    """The PTX run of each kernel, by bare name."""
    found = {}
    for launch in report(name)["launches"]:
        found[launch["kernel"]["bare"]] = next(run for run in launch["runs"] if run["isa"] == "ptx")
    return found


def memory(name: str, kernel: str, operation: str, space: str) -> dict[str, int]:
    """Sums over the rows of the memory table."""
    rows = [
        row
        for row in launches(name)[kernel]["memory"]
        if row["operation"] == operation and row["space"].startswith(space)
    ]
    assert rows, (kernel, operation, space)
    keys = ("requests", "sectors", "sectors_ideal", "wavefronts", "wavefronts_ideal", "conflicts")
    return {key: sum(row[key] or 0 for row in rows) for key in keys}


@pytest.mark.parametrize("name", NAMES)
def test_runs_to_the_end(name: str) -> None:
    for kernel, run in launches(name).items():
        assert run["complete"], (kernel, run["stopped"])
        critical = {f["kind"] for f in run["findings"] if f["severity"] == "critical"}
        if kernel in WRONG:
            kinds = {f["kind"] for f in run["findings"]}
            assert WRONG[kernel] in kinds, kinds
        else:
            assert not critical, (kernel, critical)
            assert "racecheck" not in {f["kind"] for f in run["findings"]}, kernel


def test_vector_add_sectors() -> None:
    plain, wide, shifted = (
        memory("vector_add", kernel, "load", "global")
        for kernel in ("vector_add", "vector_add4", "vector_add_offset")
    )
    assert plain["sectors"] == plain["sectors_ideal"] == 2 * 125
    assert wide["sectors"] / wide["requests"] == 16
    assert shifted["sectors"] == 32 * 5 + 32 * 4  # only `a` lies across its sectors


def test_transpose_access() -> None:
    naive = memory("transpose", "transpose_naive", "store", "global")
    assert naive["sectors"] / naive["requests"] == 32
    for kernel, wavefronts in (("tile", 32), ("padded", 1), ("swizzled", 1)):
        stores = memory("transpose", f"transpose_{kernel}", "store", "global")
        assert stores["sectors"] == stores["sectors_ideal"]
        loads = memory("transpose", f"transpose_{kernel}", "load", "shared")
        assert loads["wavefronts"] / loads["requests"] == wavefronts
        assert memory("transpose", f"transpose_{kernel}", "store", "shared")["conflicts"] == 0


def test_matmul_has_no_conflicts() -> None:
    assert memory("tiled_matmul", "tiled_matmul", "load", "shared")["conflicts"] == 0


def test_tensor_tile_has_no_conflicts() -> None:
    loads = memory("mma_sync_tile", "mma_tile", "load", "shared")
    assert loads["conflicts"] == 0


def test_branches() -> None:
    runs = launches("divergent_branches")
    assert sum(row["divergent"] for row in runs["split_by_warp"]["branches"]) == 0
    assert sum(row["divergent"] for row in runs["split_by_lane"]["branches"]) == 8  # each of 8 warps, once
    assert sum(row["divergent"] for row in runs["nested"]["branches"]) == 24


def run(name: str, kernel: str, **options: Any) -> list[np.ndarray]:
    result = warpglass.run(EXAMPLES / name / "kernel.cu", kernel=kernel, **options)
    assert result.stopped is None, result.stopped
    return [buffer.array for buffer in result.buffers if buffer is not None]


def test_reduction_is_right() -> None:
    data = np.arange(500, dtype=np.int32)
    out = run(
        "reduction_shuffle",
        "reduce_sum_interleaved",
        grid=4,
        block=128,
        args=[data, np.zeros(1, np.int32), 500],
    )
    assert out[1][0] == data.sum()
    ones = np.ones(4096, np.float32)
    out = run(
        "reduction_shuffle", "reduce_sum", grid=2, block=256, args=[ones, np.zeros(1, np.float32), 4096]
    )
    assert out[1][0] == 4096


@pytest.mark.parametrize("kernel", ["naive", "tile", "padded", "swizzled"])
def test_transposes_are_right(kernel: str) -> None:
    data = np.arange(4096, dtype=np.float32)
    args = [data, np.zeros(4096, np.float32), 64]
    out = run("transpose", f"transpose_{kernel}", grid=(2, 2), block=(32, 8), args=args)[1]
    assert np.array_equal(out.reshape(64, 64), data.reshape(64, 64).T)


@pytest.mark.parametrize(
    ("name", "kernel", "grid", "block"),
    [
        ("tiled_matmul", "tiled_matmul", (4, 4), (16, 16)),
        ("cp_async_double_buffer", "matmul_cp_async", (2, 2), 256),
    ],
)
def test_products_are_right(name: str, kernel: str, grid: Any, block: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.random((64, 64), dtype=np.float32) for _ in range(2))
    args = [a.ravel(), b.ravel(), np.zeros(4096, np.float32), 64]
    out = run(name, kernel, grid=grid, block=block, args=args)[2]
    assert np.allclose(out.reshape(64, 64), a.astype(np.float64) @ b, rtol=1e-5)


def test_tensor_tile_is_right() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.random((64, 64)).astype(np.float16) for _ in range(2))
    args = [a.ravel(), b.ravel(), np.zeros(4096, np.float32)]
    out = run("mma_sync_tile", "mma_tile", grid=(2, 2), block=256, args=args)[2]
    assert np.allclose(out.reshape(64, 64), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5)


@pytest.mark.parametrize("kernel", ["global", "shared", "matched"])
def test_histograms_are_right(kernel: str) -> None:
    data = np.random.default_rng(3).integers(0, 256, 8192).astype(np.uint8)
    args = [data, np.zeros(256, np.uint32), 8192]
    out = run("histogram_atomics", f"histogram_{kernel}", grid=4, block=256, args=args)[1]
    assert np.array_equal(out, np.bincount(data, minlength=256))


def test_softmax_is_right() -> None:
    data = np.random.default_rng(4).standard_normal((16, 100)).astype(np.float32)
    args = [data.ravel(), np.zeros(1600, np.float32), 16, 100]
    out = run("softmax", "softmax_rows", grid=4, block=128, args=args)[1].reshape(16, 100)
    powers = np.exp(data.astype(np.float64) - data.max(1, keepdims=True))
    assert np.allclose(out, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_stencil_is_right() -> None:
    now = np.random.default_rng(5).random((24, 40), dtype=np.float32)
    args = [now.ravel(), np.zeros(960, np.float32), 40, 24, 0.125]
    out = run("stencil", "heat_step", grid=(3, 2), block=(16, 16), args=args)[1].reshape(24, 40)
    wide = np.pad(now.astype(np.float64), 1, mode="edge")
    around = wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1]
    assert np.allclose(out, now + 0.125 * (around - 4 * now), rtol=1e-5, atol=1e-6)


def test_scan_and_sort_are_right() -> None:
    data = np.arange(1000, dtype=np.int32)
    out = run("scan", "scan_block", grid=1, block=1024, args=[data, np.zeros(1000, np.int32), 1000])[1]
    assert np.array_equal(out, np.cumsum(data))
    keys = np.random.default_rng(6).integers(0, 2**32, 1024, dtype=np.uint64).astype(np.uint32)
    out = run("bitonic_sort", "bitonic_sort", grid=2, block=256, args=[keys])[0]
    assert np.array_equal(out.reshape(2, 512), np.sort(keys.reshape(2, 512), axis=1))


@pytest.mark.parametrize("kernel", ["collatz", "collatz_select"])
def test_collatz_is_right(kernel: str) -> None:
    out = run("collatz", kernel, grid=4, block=128, args=[np.zeros(500, np.int32), 500])[0]
    want = []
    for value in range(1, 501):
        steps = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        want.append(steps)
    assert out.tolist() == want


def test_locks_are_right() -> None:
    one = np.zeros(1, np.int32)
    lock, counter, order = run(
        "spin_lock", "lock_per_block", grid=4, block=32, args=[one, one.copy(), np.zeros(4, np.int32)]
    )
    assert (lock[0], counter[0], sorted(order.tolist())) == (0, 4, [0, 1, 2, 3])
    lock, counter = run("spin_lock", "lock_per_lane", grid=2, block=32, args=[one, one.copy()])
    assert (lock[0], counter[0]) == (0, 64)


@pytest.mark.parametrize("kernel", ["mbarrier", "named"])
def test_pipelines_are_right(kernel: str) -> None:
    data = np.arange(512, dtype=np.int32)
    args = [data, np.zeros(64, np.int32), 8]
    out = run("warp_specialised", f"pipeline_{kernel}", grid=1, block=96, args=args)[1]
    assert np.array_equal(out, (data.reshape(8, 64) * np.arange(1, 9)[:, None]).sum(0))


def test_blocks_meet() -> None:
    x = np.arange(256, dtype=np.float32)
    args = [x, np.zeros(256, np.float32), 256]
    out = run("grid_sync", "jacobi_two_steps", grid=4, block=64, args=args, cooperative=True)[0]
    y = 0.5 * (np.roll(x, 1) + np.roll(x, -1))
    assert np.array_equal(out, 0.5 * (np.roll(y, 1) + np.roll(y, -1)))
    data = np.arange(256, dtype=np.int32)
    out = run(
        "cluster_reduce", "cluster_reduce", grid=8, block=32, arch="sm_90", args=[data, np.zeros(2, np.int32)]
    )[1]
    assert out.tolist() == [data[:128].sum(), data[128:].sum()]

"""Barriers, asynchronous copies and clusters."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "synchronisation.cu"
HOPPER = "hopper.cu"


def ints(seed: int, count: int, low: int = -100, high: int = 100) -> Array:
    return random(seed).integers(low, high, count).astype(np.int32)


def wrap(values: Array) -> Array:
    return values.astype(np.int64).astype(np.int32)


@pytest.mark.parametrize("low", [-100, 1])
def test_barrier_reductions(low: int) -> None:
    data = ints(1, 96, low)
    out = run(FILE, "barrier_reductions", [data, np.zeros(96, np.int32)], block=96)[1]
    want = int((data & 1).sum()) * 100 + int((data > 0).all()) * 10 + int((data > 90).any())
    assert (out == want).all()


def test_named_barriers() -> None:
    data = ints(2, 128)
    out = run(FILE, "named_barriers", [data, np.zeros(128, np.int32)], block=128)[1]
    low, high = data[:64].copy(), data[64:].copy()
    for _ in range(3):
        low, high = low + low[::-1], high - high[::-1]
    assert np.array_equal(out, np.concatenate([low, high])[::-1])


def test_producer_consumer() -> None:
    data = ints(3, 5 * 32)
    out = run(FILE, "producer_consumer", [data, np.zeros(32, np.int32), 5], block=64)[1]
    total = np.zeros(32, np.int64)
    for row in data.reshape(5, 32):
        total = total * 3 + 2 * row[::-1]
    assert np.array_equal(out, total)


def test_mbarrier_pipeline() -> None:
    data = ints(4, 7 * 32)
    out = run(FILE, "mbarrier_pipeline", [data, np.zeros(32, np.int32), 7], block=64)[1]
    total = np.zeros(32, np.int64)
    for row in data.reshape(7, 32):
        total = total * 5 + row[::-1]
    assert np.array_equal(out, wrap(total))


def test_mbarrier_state() -> None:
    out = run(FILE, "mbarrier_state", [np.zeros(96, np.int32)], block=96)[0]
    assert (out == 95 * 96 // 2).all()


def test_grid_barrier() -> None:
    x = ints(5, 256, 0)
    got = run(FILE, "grid_barrier", [x.copy(), np.zeros(256, np.int32), 256], grid=4, block=64)[0]
    for _ in range(3):
        y = np.roll(x, -1) + np.roll(x, 1)
        x = np.roll(y, -64) % 1000
    assert np.array_equal(got, x)


def test_tiles() -> None:
    data = ints(6, 64)
    out = run(FILE, "tiles", [data, np.zeros(64, np.int32)], block=64)[1]
    sums = data.reshape(8, 8).sum(1).repeat(8)
    want = sums.copy()
    for warp in range(2):
        odd = np.flatnonzero(sums[32 * warp : 32 * warp + 32] & 1) + 32 * warp
        want[odd] = sums[odd] * 100 + np.arange(len(odd)) + 10000 * len(odd)
    assert np.array_equal(out, want)


def test_cp_async_stages() -> None:
    data = random(7).standard_normal(5 * 64 * 4).astype(np.float32)
    out = run(FILE, "cp_async_stages", [data, np.zeros_like(data), 5], block=64)[1]
    v = data.reshape(5, 64, 4)[:, ::-1]
    one, two = np.float32(1), np.float32(2)
    want = np.stack([v[..., 3], v[..., 2] + one, v[..., 1] * two, v[..., 0]], axis=2)
    assert np.array_equal(out.reshape(5, 64, 4), want)


def test_cp_async_zero_fill() -> None:
    data = ints(8, 100)
    out = run(FILE, "cp_async_zero_fill", [data, np.zeros(128, np.int32), 100], block=128)[1]
    assert np.array_equal(out, np.concatenate([data, np.zeros(28, np.int32)])[::-1] + 1)


def test_cp_async_mbarrier() -> None:
    data = ints(9, 256)
    out = run(FILE, "cp_async_mbarrier", [data, np.zeros(64, np.int32)], block=64)[1]
    assert np.array_equal(out, data.reshape(64, 4)[::-1] @ np.array([1, 10, 100, 1000]))


def test_cluster_ring() -> None:
    data = ints(10, 256)
    out = run(HOPPER, "cluster_ring", [data, np.zeros(256, np.int32)], grid=8, arch="sm_90")[1]
    blocks = data.reshape(2, 4, 32)
    want = np.roll(blocks, -1, axis=1)[:, :, ::-1] * 10 + np.arange(4)[None, :, None]
    assert np.array_equal(out, want.ravel())


def test_cluster_histogram() -> None:
    data = ints(11, 4 * 64).view(np.uint32)
    out = run(HOPPER, "cluster_histogram", [data, np.zeros(64, np.uint32)], grid=4, block=64, arch="sm_90")[1]
    want = [np.bincount(half & 31, minlength=32) for half in data.reshape(2, 128)]
    assert np.array_equal(out, np.concatenate(want))


def test_cluster_ids() -> None:
    out = run(HOPPER, "cluster_ids", [np.zeros(7 * 24, np.uint32)], grid=(4, 6), arch="sm_90")[0]
    want = [[x % 2, y % 2, 2, y % 2 * 2 + x % 2, x // 2, 3, 4] for y in range(6) for x in range(4)]
    assert out.reshape(24, 7).tolist() == want


def test_bulk_copy() -> None:
    data = ints(12, 3 * 256)
    out = run(HOPPER, "bulk_copy", [data, np.zeros(768, np.int32), 3], block=64, arch="sm_90")[1]
    assert np.array_equal(out.reshape(3, 256), data.reshape(3, 256)[:, ::-1] * 2 + np.arange(3)[:, None])


def test_elect_one() -> None:
    out = run(HOPPER, "elect_one", [np.zeros(64, np.uint32)], arch="sm_90")[0].reshape(32, 2)
    assert len(set(out[:, 0].tolist())) == 1
    assert 0 <= out[0, 0] < 32
    assert (out[:, 1] == 100).all()


def test_store_matrix() -> None:
    out = run(HOPPER, "store_matrix", [np.zeros(256, np.uint16)], arch="sm_90")[0].reshape(2, 2, 8, 8)
    first = np.arange(64).reshape(8, 8)
    assert np.array_equal(out[0, 0], first)
    assert np.array_equal(out[0, 1], first + 0x100)
    assert np.array_equal(out[1, 0], first.T)
    assert np.array_equal(out[1, 1], first.T + 0x100)


def test_remote_arrive() -> None:
    out = run(HOPPER, "remote_arrive", [np.zeros(32, np.int32)], grid=2, arch="sm_90")[0]
    assert np.array_equal(out, 77 + np.arange(32))

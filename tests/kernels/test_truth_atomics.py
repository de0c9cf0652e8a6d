"""Atomics: exact where the order does not matter, and what every order has in common where it does."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "atomics.cu"
N = 256
GRID = {"grid": 4, "block": 64}


def ints(seed: int, low: int = -(2**31), high: int = 2**31, count: int = N) -> Array:
    return random(seed).integers(low, high, count).astype(np.int32)


def test_atomic_sums() -> None:
    data = ints(1)
    outs = [np.zeros(8, t) for t in (np.int32, np.uint64, np.float32, np.float64)]
    i32, i64, f32, f64 = run(FILE, "atomic_sums", [data, *outs], **GRID)[1:]
    for k in range(8):
        v = data[data & 7 == k].astype(np.int64)
        assert i32[k] == v.sum().astype(np.int32)
        assert i64[k] == (v * 1000003).sum().astype(np.uint64)
        assert f32[k] == (v & 255).sum()  # whole numbers: exact in any order
        assert f64[k] == v.sum() * 0.5


def test_atomic_extremes() -> None:
    data = ints(2)
    out = np.concatenate([np.full(4, 2**31 - 1), np.full(4, -(2**31)), np.full(4, -1), np.zeros(4)]).astype(
        np.int32
    )
    wide = np.concatenate([np.full(4, 2**62), np.zeros(4)]).astype(np.uint64)
    out, wide = run(FILE, "atomic_extremes", [data, out, wide], **GRID)[1:]
    rows, unsigned = data.reshape(-1, 4), data.view(np.uint32).reshape(-1, 4)
    assert np.array_equal(out[:8], np.concatenate([rows.min(0), rows.max(0)]))
    assert np.array_equal(out[8:].view(np.uint32), np.concatenate([unsigned.min(0), unsigned.max(0)]))
    assert np.array_equal(wide[:4].view(np.int64), rows.min(0).astype(np.int64) << 20)
    assert np.array_equal(wide[4:], unsigned.max(0).astype(np.uint64) << np.uint64(20))


def test_atomic_bits() -> None:
    data = ints(3).view(np.uint32)
    out = np.concatenate([np.full(4, 2**32 - 1), np.zeros(8)]).astype(np.uint32)
    out, wide = run(FILE, "atomic_bits", [data, out, np.zeros(8, np.uint64)], **GRID)[1:]
    rows = data.reshape(-1, 4)
    assert np.array_equal(out[:4], np.bitwise_and.reduce(rows | 0xFF, axis=0))
    assert np.array_equal(out[4:8], np.bitwise_or.reduce(rows & 0x0F0F0F0F, axis=0))
    assert np.array_equal(out[8:], np.bitwise_xor.reduce(rows, axis=0))
    assert np.array_equal(wide[:4], np.bitwise_xor.reduce(rows.astype(np.uint64) << np.uint64(16), axis=0))
    assert np.array_equal(wide[4:], np.bitwise_or.reduce(rows.astype(np.uint64) << np.uint64(32), axis=0))


def test_tickets() -> None:
    outs = [np.zeros(1, np.uint32), np.full(N, -1, np.int32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)]
    counter, taken, wrapped, down = run(FILE, "tickets", outs, **GRID)
    assert counter[0] == N
    assert sorted(taken.tolist()) == list(range(N))
    assert wrapped[0] == N % 7
    value = 0
    for _ in range(N):
        value = 9 if value == 0 or value > 9 else value - 1
    assert down[0] == value


def test_cas_loop() -> None:
    data = np.abs(random(4).standard_normal(N)).astype(np.float32)
    out = run(FILE, "cas_loop", [data, np.zeros(2, np.float32)], **GRID)[1]
    assert np.array_equal(out, data.reshape(-1, 2).max(0))


def test_exchange_chain() -> None:
    head, following = run(FILE, "exchange_chain", [np.zeros(1, np.uint32), np.zeros(N, np.uint32)], **GRID)
    node, seen = int(head[0]), []
    while node:
        seen.append(node)
        node = int(following[node - 1])
    assert sorted(seen) == list(range(1, N + 1))  # one chain through all threads


def test_shared_atomics() -> None:
    data = ints(5).view(np.uint32)
    out, wide = run(FILE, "shared_atomics", [data, np.zeros(32, np.uint32), np.zeros(8, np.uint64)], **GRID)[
        1:
    ]
    assert np.array_equal(out, np.bincount(data & 31, minlength=32))
    blocks = data.reshape(4, 64)
    assert np.array_equal(wide[0::2], blocks.sum(1, dtype=np.uint64))
    assert np.array_equal(wide[1::2], (blocks & 0xFFFF).min(1))


def test_hash_insert() -> None:
    keys = random(6).integers(1, 150, N).astype(np.uint32)
    slots, counts = run(
        FILE, "hash_insert", [keys, np.zeros(256, np.uint32), np.zeros(256, np.uint32), 255], **GRID
    )[1:]
    got = {int(k): int(c) for k, c in zip(slots, counts, strict=True) if k}
    values, times = np.unique(keys, return_counts=True)
    assert got == dict(zip(values.tolist(), times.tolist(), strict=True))


def test_scopes() -> None:
    out = run(FILE, "scopes", [np.zeros(4, np.uint32)], **GRID)[0]
    assert out.tolist() == [N, 2 * N, 3 * N, 63]


def test_spin_lock() -> None:
    lock, counter = run(FILE, "spin_lock", [np.zeros(1, np.int32), np.zeros(1, np.int32)], grid=2, block=64)
    assert (lock[0], counter[0]) == (0, 128)


def test_ticket_lock() -> None:
    outs = [np.zeros(1, np.uint32), np.zeros(1, np.uint32), np.zeros(6, np.int32)]
    log = run(FILE, "ticket_lock", outs, grid=6, block=32)[2]
    assert sorted(log.tolist()) == [1, 2, 3, 4, 5, 6]


def test_last_block() -> None:
    data = ints(7, -1000, 1000)
    outs = [np.zeros(8, np.int32), np.zeros(1, np.uint32), np.zeros(1, np.int32)]
    _, parts, finished, total = run(FILE, "last_block", [data, *outs], grid=8, block=32)
    assert np.array_equal(parts, data.reshape(8, 32).sum(1))
    assert (finished[0], total[0]) == (8, data.sum())

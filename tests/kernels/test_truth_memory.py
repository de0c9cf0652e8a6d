"""Kernels about memory spaces, widths and structures leave what numpy leaves."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "memory.cu"


def ints(seed: int, low: int, high: int, count: int) -> Array:
    return random(seed).integers(low, high, count).astype(np.int32)


def test_local_array() -> None:
    data = ints(1, 0, 1000, 64)
    out = run(FILE, "local_array", [data, np.zeros(64, np.int32)], block=64)[1]
    want = []
    for i in range(64):
        bins = list(range(16))
        for k in range(32):
            bins[data[(i + k) & 63] & 15] += k
        total = 0
        for k in range(16):
            total = (total * 5 + bins[(k + i) & 15] + (1 << 31)) % (1 << 32) - (1 << 31)
        want.append(total)
    assert out.tolist() == want


def test_dynamic_shared() -> None:
    data = ints(2, -100, 100, 96)
    out = run(FILE, "dynamic_shared", [data, np.zeros(96), 96], block=96, shared_bytes=96 * 13)[1]
    back = data[::-1].astype(np.int64)
    assert np.array_equal(out, back * 0.5 + back * 3 + ((back + 200) & 255))


def test_constants_and_globals() -> None:
    out, letters = run(FILE, "constants_and_globals", [np.zeros(32, np.float32), np.zeros(32, np.int32)])
    i = np.arange(32)
    weights = np.array([0.5, -1.0, 2.0, 0.25, 8.0, -0.125, 3.0, 1.0])[i & 7]
    offsets = np.array([-2, -1, 1, 2])[i & 3]
    counters = np.array([10, 20, 30, 40])[i & 3]
    assert np.array_equal(out, (weights * 4 + offsets + counters).astype(np.float32))
    text = b"warp\0"
    assert letters.tolist() == [text[k % 5] + text[(k + 1) % 4] for k in range(32)]


def options() -> bytes:
    """struct Options, laid out as the C++ ABI lays it out."""
    inner = struct.pack("<h6xd", -3, 0.75) + struct.pack("<h6xd", 11, 2.5)
    return struct.pack("<ic3x", 5, b"x") + inner + struct.pack("<3f4xq", 1.5, -2.25, 100.0, 123456789012)


def test_struct_by_value() -> None:
    assert len(options()) == 64
    out = run(FILE, "struct_by_value", [options(), np.zeros(32)])[0]
    i = np.arange(32)
    d, s, table = np.array([0.75, 2.5]), np.array([-3, 11]), np.array([1.5, -2.25, 100.0])
    assert np.array_equal(out, 5 * i + d[i & 1] + s[(i + 1) & 1] + table[i % 3] + (123456789012 >> 20))


def test_struct_through_call() -> None:
    out = run(FILE, "struct_through_call", [options(), np.zeros(32)])[0]
    i = np.arange(32)
    table0, table2 = np.where(i % 3 == 0, -1.0, 1.5), np.where(i % 3 == 2, -1.0, 100.0)
    assert np.array_equal(out, (5 + i) + 5.0 + table0 + table2 + 5)


def test_vector_types() -> None:
    rng = random(3)
    a = rng.integers(-(2**31), 2**31, 128).astype(np.int32)
    b = rng.standard_normal(64).astype(np.float32)
    c = rng.standard_normal(64)
    d = rng.integers(-(2**15), 2**15, 128).astype(np.int16)
    e = rng.integers(0, 256, 128).astype(np.uint8)
    out = run(FILE, "vector_types", [a, b, c, d, e] + [np.zeros_like(v) for v in (a, b, c, d, e)], block=32)[
        5:
    ]
    assert np.array_equal(out[0].reshape(32, 4), a.reshape(32, 4)[:, ::-1])
    b2, c2, d4, e4 = b.reshape(32, 2), c.reshape(32, 2), d.reshape(32, 4), e.reshape(32, 4)
    assert np.array_equal(out[1].reshape(32, 2), np.stack([b2[:, 1] * np.float32(2), b2[:, 0]], 1))
    assert np.array_equal(out[2].reshape(32, 2), np.stack([c2[:, 1], c2[:, 0] - 1.0], 1))
    assert np.array_equal(out[3].reshape(32, 4), d4[:, [1, 0, 3, 2]])
    want = np.stack([e4[:, 3], e4[:, 2] + np.uint8(1), e4[:, 1], e4[:, 0] ^ 0x80], 1)
    assert np.array_equal(out[4].reshape(32, 4), want)


def test_generic_pointers() -> None:
    data = ints(4, 0, 1000, 32)
    after, out = run(FILE, "generic_pointers", [data, np.zeros(32, np.int32)])
    shared, glob = [1000 + i for i in range(32)], data.tolist()
    local = [[7, 8, 9, 10] for _ in range(32)]
    values = []
    for i in range(32):
        place, index = [(shared, 31 - i), (glob, i), (local[i], i & 3)][i % 3]
        values.append(place[index])
    for i in range(32):
        place, index = [(shared, 31 - i), (glob, i), (local[i], i & 3)][i % 3]
        place[index] = values[i] + 1
    assert after.tolist() == glob
    assert out.tolist() == [values[i] * 10 + local[i][i & 3] + shared[i] - 1000 for i in range(32)]


def test_unions() -> None:
    data = random(5).standard_normal(100).astype(np.float32)
    out = run(FILE, "unions", [data, np.zeros(100, np.uint32), 100], grid=2, block=64)[1]
    bits = data.view(np.uint32)
    flipped = bits ^ (np.uint32(0x40) << (8 * (np.arange(100) & 3)).astype(np.uint32))
    assert np.array_equal(out, flipped + bits)


def test_packed_struct() -> None:
    rng = random(6)
    columns = [rng.integers(low, -low, 32) for low in (-128, -(2**31), -(2**15), -99)]
    rows = [(c, i, s, d / 4) for c, i, s, d in zip(*(v.tolist() for v in columns), strict=True)]
    data = np.frombuffer(b"".join(struct.pack("<bihd", *row) for row in rows), np.uint8)
    out = run(FILE, "packed_struct", [data, np.zeros(32)])[1]
    assert out.tolist() == [float((c + i + 2**31) % 2**32 - 2**31 + s) + d for c, i, s, d in rows]


def test_grid_3d() -> None:
    out = run(FILE, "grid_3d", [np.zeros(16 * 6 * 4, np.int32)], grid=(2, 3, 2), block=(8, 2, 2))[0]
    z, y, x = np.indices((4, 6, 16))
    assert np.array_equal(out.reshape(4, 6, 16), x + 100 * y + 10000 * z + 1000000 * (z // 2 + 3))


def test_linked_list() -> None:
    n = 90
    order = random(7).permutation(n)
    following = np.full(n, -1, np.int32)
    following[order[:-1]] = order[1:]
    values = ints(8, 0, 50, n)
    out = run(FILE, "linked_list", [following, values, np.zeros(n, np.int32), n], grid=3, block=32)[2]
    want = []
    for i in range(n):
        node, total, hops = i, 0, 0
        while node >= 0 and hops < 100:
            total, node, hops = total + int(values[node]), int(following[node]), hops + 1
        want.append(total * 1000 + hops)
    assert out.tolist() == want


def test_volatile_flags() -> None:
    data, out = run(FILE, "volatile_flags", [np.zeros(64, np.int32), np.zeros(64, np.int32)], block=64)
    i = np.arange(64)
    assert np.array_equal(data, 2 * i)
    assert np.array_equal(out, 2 * ((i + 1) % 64) + 2 * i)


def test_copies() -> None:
    data = random(9).integers(0, 256, 64).astype(np.uint8)
    out = run(FILE, "copies", [data, np.zeros(24 * 32, np.uint8)])[1].reshape(32, 24)
    want = np.full((32, 24), 0x5A, np.uint8)
    for i in range(32):
        want[i, 3:16] = data[i : i + 13]
    assert np.array_equal(out, want)


def test_life() -> None:
    board = (random(10).random((16, 16)) < 0.4).astype(np.uint8)
    out = run(FILE, "life", [board.ravel(), np.zeros(256, np.uint8), 6], block=(16, 16))[1]
    for _ in range(6):
        around = sum(
            np.roll(board, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
        )
        board = ((around == 3) | ((around == 2) & (board == 1))).astype(np.uint8)
    assert np.array_equal(out.reshape(16, 16), board)


def test_transpose_odd() -> None:
    data = random(11).standard_normal((37, 21)).astype(np.float32)
    out = run(FILE, "transpose_odd", [data.ravel(), np.zeros(37 * 21, np.float32), 21, 37], grid=(2, 3),
              block=(16, 16))[1]  # fmt: skip
    assert np.array_equal(out.reshape(21, 37), data.T)


def test_cache_modifiers() -> None:
    data = ints(12, -1000, 1000, 64)
    out = run(FILE, "cache_modifiers", [data, np.zeros(192, np.int32)], grid=2, block=32)[1]
    assert np.array_equal(out.reshape(64, 3), 6 * data[:, None] + np.arange(3))

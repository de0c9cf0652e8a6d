"""Shuffles, votes, matches and reductions against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "warps.cu"


def ints(seed: int, low: int = -100, high: int = 100, count: int = 64) -> Array:
    return random(seed).integers(low, high, count).astype(np.int32)


def shfl(values: list[int], mode: str, b: int, width: int, lane: int) -> int:
    base = lane // width * width
    if mode == "idx":
        source = base + b % width
    elif mode == "up":
        source = lane - b if lane - b >= base else lane
    elif mode == "down":
        source = lane + b if lane + b < base + width else lane
    else:
        source = lane ^ b
    return values[source]


def test_shuffles() -> None:
    data = ints(1, -1000, 1000)
    out = run(FILE, "shuffles", [data, np.zeros(12 * 64, np.int32)], block=64)[1].reshape(64, 12)
    modes = [("idx", 5, 32), None, ("idx", 3, 8), ("up", 1, 32), ("up", 9, 32), ("up", 2, 4), ("down", 1, 32),
             ("down", 17, 32), ("down", 3, 16), ("xor", 1, 32), ("xor", 21, 32), ("xor", 6, 8)]  # fmt: skip
    for warp in range(2):
        values = data[32 * warp : 32 * warp + 32].tolist()
        for lane in range(32):
            want = [shfl(values, *mode, lane) if mode else values[(values[lane] & 63) % 32] for mode in modes]
            assert out[32 * warp + lane].tolist() == want, (warp, lane)


def test_shuffle_predicate() -> None:
    data = random(2).integers(-(2**62), 2**62, 32)
    out, doubles = run(FILE, "shuffle_predicate", [data, np.zeros(64, np.int64), np.zeros(32)])[1:]
    lanes = np.arange(32)
    source = np.where(lanes >= 4, lanes - 4, lanes)
    assert np.array_equal(out[0::2], source * 2 + (lanes >= 4))
    assert np.array_equal(out[1::2], data[lanes ^ 3])
    assert np.array_equal(doubles, data[np.where(lanes < 30, lanes + 2, lanes)] * 0.25)


def ballot(flags: Array) -> int:
    return sum(1 << int(k) for k in np.flatnonzero(flags))


def test_votes() -> None:
    data = ints(3)
    data[:32] = np.abs(data[:32]) + 1
    out = run(FILE, "votes", [data, np.zeros(6 * 64, np.uint32)], block=64)[1].reshape(64, 6)
    for warp in range(2):
        v = data[32 * warp : 32 * warp + 32]
        odd, three = v & 1 == 1, v & 3 == 3
        for lane in range(32):
            want = [ballot(v > 0), 0, 1, int((v > 0).all() or not (v > 0).any())]
            want += [ballot(odd) if odd[lane] else 0, ballot(three & (v & 4 != 0)) if three[lane] else 0]
            assert out[32 * warp + lane].tolist() == want


def test_matches() -> None:
    data = ints(4)
    out = run(FILE, "matches", [data, np.zeros(4 * 64, np.uint32)], block=64)[1].reshape(64, 4)
    for warp in range(2):
        v = data[32 * warp : 32 * warp + 32]
        for lane in range(32):
            want = [ballot(v & 7 == v[lane] & 7), 0xFFFFFFFF, 1, ballot(v & 3 == v[lane] & 3)]
            assert out[32 * warp + lane].tolist() == want


def test_reductions() -> None:
    data = random(5).integers(-(2**31), 2**31, 64).astype(np.int32)
    out = (
        run(FILE, "reductions", [data, np.zeros(9 * 64, np.int32)], block=64)[1]
        .view(np.uint32)
        .reshape(64, 9)
    )
    for warp in range(2):
        v = data[32 * warp : 32 * warp + 32]
        u = v.view(np.uint32)
        common = [
            v.sum(dtype=np.int64), v.min(), v.max(), u.min(), u.max(), np.bitwise_and.reduce(u | 0xFF),
            np.bitwise_or.reduce(u & 0xFF00), np.bitwise_xor.reduce(u),
        ]  # fmt: skip
        for lane in range(32):
            last = v[:16].sum(dtype=np.int64) if lane < 16 else v[16:].max()
            want = [int(x) % (1 << 32) for x in [*common, last]]
            assert out[32 * warp + lane].tolist() == want


def test_warp_scan() -> None:
    data = ints(6)
    out = run(FILE, "warp_scan", [data, np.zeros(64, np.int32)], block=64)[1]
    assert np.array_equal(out.reshape(2, 32), np.cumsum(data.reshape(2, 32), axis=1))


def test_warp_sort() -> None:
    data = ints(7, count=96)
    out = run(FILE, "warp_sort", [data.copy()], block=96)[0]
    assert np.array_equal(out.reshape(3, 32), np.sort(data.reshape(3, 32), axis=1))


def test_partial_masks() -> None:
    data = ints(8)
    out = run(FILE, "partial_masks", [data, np.zeros(64, np.int32)], block=64)[1]
    want = []
    for warp in range(2):
        v = data[32 * warp : 32 * warp + 32].tolist()
        new = [v[k] + v[k ^ 3] if k < 12 else v[12 + (k & 7)] for k in range(32)]
        want += [new[k] + new[31 - k] for k in range(32)]
    assert out.tolist() == want


def test_shrinking_vote() -> None:
    out = run(FILE, "shrinking_vote", [np.zeros(32, np.uint32)])[0]
    want = []
    for lane in range(32):
        value = 0
        for turn in range(lane + 1):
            value = (value * 31 + (32 - turn) + 31) % (1 << 32)
        want.append(value)
    assert out.tolist() == want


def test_special_registers() -> None:
    out = run(FILE, "special_registers", [np.zeros(10 * 2 * 3 * 48, np.uint32)], grid=(2, 3), block=48)[0]
    rows = out.reshape(3, 2, 48, 10)
    for y in range(3):
        for i in range(48):
            lane = i % 32
            eq, lt = 1 << lane, (1 << lane) - 1
            full = 0xFFFFFFFF
            want = [lane, eq, lt, lt | eq, full & ~(lt | eq), full & ~lt, y, 3, 48, 32]
            assert rows[y, 0, i].tolist() == rows[y, 1, i].tolist() == want

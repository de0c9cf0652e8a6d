"""Integer kernels leave the memory that numpy (or plain Python) leaves, bit for bit."""

from __future__ import annotations

import binascii
import math

import numpy as np
import pytest

from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "integers.cu"
N = 100
GRID = {"grid": 2, "block": 64}
U32, U64 = 1 << 32, 1 << 64


def s32(value: int) -> int:
    return (value + (1 << 31)) % U32 - (1 << 31)


def s64(value: int) -> int:
    return (value + (1 << 63)) % U64 - (1 << 63)


def quotient(x: int, y: int) -> int:
    """C's division truncates."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def words(seed: int, count: int = N) -> Array:
    """Random 32-bit patterns of all magnitudes, with the awkward ones in front."""
    rng = random(seed)
    values = rng.integers(0, U32, count, dtype=np.uint64) >> rng.integers(0, 32, count, dtype=np.uint64)
    values[rng.integers(0, 2, count) == 1] ^= 0xFFFFFFFF
    awkward = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x00FF00FF, 2, 0xFFFFFFFE]
    if count >= len(awkward):
        values[: len(awkward)] = random(seed + 1).permutation(awkward)
    return values.astype(np.uint32)


def longs(seed: int, count: int = N) -> Array:
    rng = random(seed)
    values = rng.integers(0, U64 - 1, count, dtype=np.uint64) >> rng.integers(0, 64, count, dtype=np.uint64)
    values[:5] = [0, 1, U64 - 1, 1 << 63, (1 << 63) - 1]
    return values


def check_rows(got: Array, rows: list[list[int]], modulus: int) -> None:
    """Compare patterns, whatever the signs."""
    want = np.array([[v % modulus for v in row] for row in rows], dtype=np.uint64)
    pattern = got.view(np.uint32 if modulus == U32 else np.uint64).astype(np.uint64).reshape(want.shape)
    assert np.array_equal(pattern, want), np.argwhere(pattern != want)[:5]


def test_int_arith() -> None:
    a, b = words(1).view(np.int32), words(2).view(np.int32)
    out = run(FILE, "int_arith", [a, b, np.zeros(14 * N, np.int32), N], **GRID)[2]
    rows = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        ux, uy, safe = x % U32, y % U32, 1 if y == -1 else y
        s24x, s24y = s32(x << 8) >> 8, s32(y << 8) >> 8
        rows.append([
            x + y, x - y, x * y, x * y >> 32, ux * uy >> 32,
            quotient(x, safe) if y else -1, x - quotient(x, safe) * safe if y else -2,
            ux // uy if y else 7, ux % uy if y else 9, min(x, y), max(ux, uy), abs(x - y) + 5,
            s24x * s24y, (ux & 0xFFFFFF) * (uy & 0xFFFFFF),
        ])  # fmt: skip
    check_rows(out, rows, U32)


def test_long_arith() -> None:
    a, b = longs(3).view(np.int64), longs(4).view(np.int64)
    b[:5] = b[[3, 2, 4, 1, 0]]
    out = run(FILE, "long_arith", [a, b, np.zeros(11 * N, np.int64), N], **GRID)[2]
    rows = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        ux, uy, odd = x % U64, y % U64, y | 1
        q = quotient(x, odd)
        rows.append([
            x + y, x * y, x * y >> 64, ux * uy >> 64, q, x - q * odd, ux // (uy | 1), ux % (uy | 1),
            x >> (y & 63), ux >> (uy & 63), ux << (uy & 63),
        ])  # fmt: skip
    check_rows(out, rows, U64)


def test_wide_mad() -> None:
    a, b, c = longs(5), longs(6), longs(7)
    out = run(FILE, "wide_mad", [a, b, c, np.zeros(2 * N, np.uint64), N], **GRID)[3]
    rows = []
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        p = x * y + (z << 64 | x) - y
        rows.append([p, p >> 64])
    check_rows(out, rows, U64)


def test_limb_add() -> None:
    a, b = words(8, 4 * N), words(9, 4 * N)
    a[:4], b[:4] = 0xFFFFFFFF, [1, 0, 0, 0]
    out = run(FILE, "limb_add", [a, b, np.zeros(10 * N, np.uint32), N], **GRID)[2]

    def number(limbs: list[int]) -> int:
        return sum(limb << 32 * k for k, limb in enumerate(limbs))

    rows = []
    for x, y in zip(a.reshape(N, 4).tolist(), b.reshape(N, 4).tolist(), strict=True):
        total, difference = number(x) + number(y), number(x) - number(y)
        rows.append([total >> 32 * k for k in range(5)] + [difference >> 32 * k for k in range(5)])
    check_rows(out, rows, U32)


def prmt(x: int, y: int, selector: int) -> int:
    pool = (x | y << 32).to_bytes(8, "little")
    result = 0
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = pool[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * k
    return result


def bit_row(x: int, y: int) -> list[int]:
    pos, length = y & 255, y >> 8 & 255
    # bfe: bits beyond the register repeat the sign bit (signed) or are zero (unsigned)
    unsigned = (x >> pos if pos < 32 else 0) & ((1 << min(length, 32)) - 1)
    sign_at = min(pos + length - 1, 31)
    signed = s32(x)
    if length == 0:
        field = 0
    else:
        low = signed >> min(pos, 31)
        field = low & ((1 << min(length, 32)) - 1)
        if x >> sign_at & 1:
            field |= -1 << min(length, 32)
    if pos >= 32 or length == 0:
        inserted = y
    else:
        mask = ((1 << min(length, 32)) - 1) << pos
        inserted = (y & ~mask) | ((x << pos) & mask)
    return [
        x.bit_count(), 32 - x.bit_length(), int(f"{x:032b}"[::-1], 2), (x & -x).bit_length(),
        prmt(x, y, 0x5240), prmt(x, y, y & 0x7777), (y << 32 | x) << (x & 31) >> 32,
        (y << 32 | x) >> min(x, 32), (x & y) | (~x & (y >> 3)), x ^ y ^ (x << 7),
        unsigned, field, inserted, x.bit_length() - 1,
    ]  # fmt: skip


def test_bit_tricks() -> None:
    a, b = words(10), words(11)
    b[20:] = random(12).integers(0, 40, N - 20) | random(13).integers(0, 40, N - 20) << 8
    out = run(FILE, "bit_tricks", [a, b, np.zeros(14 * N, np.uint32), N], **GRID)[2]
    check_rows(out, [bit_row(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)], U32)


def test_shift_clamp() -> None:
    a = words(14).view(np.int32)
    distance = random(15).integers(0, 70, N).astype(np.uint32)
    distance[:6] = [0, 31, 32, 33, 255, 0xFFFFFFFF]
    out = run(FILE, "shift_clamp", [a, distance, np.zeros(3 * N, np.int32), N], **GRID)[2]
    rows = [
        [x << min(d, 32), x >> min(d, 32), x % U32 >> min(d, 32)]
        for x, d in zip(a.tolist(), distance.tolist(), strict=True)
    ]
    check_rows(out, rows, U32)


def test_dot_bytes() -> None:
    a, b = words(16).view(np.int32), words(17).view(np.int32)
    out = run(FILE, "dot_bytes", [a, b, np.zeros(7 * N, np.int32), N], **GRID)[2]
    s8a, u8a = (a.view(t).reshape(N, 4).astype(np.int64) for t in (np.int8, np.uint8))
    s8b, u8b = (b.view(t).reshape(N, 4).astype(np.int64) for t in (np.int8, np.uint8))
    s16a, u16a = (a.view(t).reshape(N, 2).astype(np.int64) for t in (np.int16, np.uint16))
    rows = np.stack([
        (s8a * s8b).sum(1) + 100, (u8a * u8b).sum(1) + 100, (s8a * u8b).sum(1) - 5, (u8a * s8b).sum(1) + 7,
        (s16a * s8b[:, :2]).sum(1) + 1, (u16a * u8b[:, 2:]).sum(1) + 2, (s16a * u8b[:, 2:]).sum(1) + 3,
    ], axis=1)  # fmt: skip
    check_rows(out, rows.tolist(), U32)


def test_simd_bytes() -> None:
    a, b = words(18), words(19)
    out = run(FILE, "simd_bytes", [a, b, np.zeros(6 * N, np.uint32), N], **GRID)[2].reshape(N, 6)
    x, y = a.view(np.uint8), b.view(np.uint8)
    assert np.array_equal(out[:, 0], (x + y).view(np.uint32))
    assert np.array_equal(out[:, 1], (x - y).view(np.uint32))
    assert np.array_equal(out[:, 2], np.maximum(x, y).view(np.uint32))
    assert np.array_equal(out[:, 3], np.minimum(a.view(np.int16), b.view(np.int16)).view(np.uint32))
    wide = np.abs(x.astype(int) - y.astype(int)).astype(np.uint8)
    assert np.array_equal(out[:, 4], wide.view(np.uint32))
    assert np.array_equal(out[:, 5], np.where(x > y, 255, 0).astype(np.uint8).view(np.uint32))


def test_narrow_types() -> None:
    rng = random(20)
    a = rng.integers(-128, 128, N).astype(np.int8)
    b = rng.integers(0, 256, N).astype(np.uint8)
    c = rng.integers(-32768, 32768, N).astype(np.int16)
    d = rng.integers(0, 65536, N).astype(np.uint16)
    out = run(
        FILE, "narrow_types",
        [a, b, c, d, np.zeros(N, np.int8), np.zeros(N, np.int16), np.zeros(N, np.int32), N], **GRID,
    )  # fmt: skip
    wa, wb, wc, wd = (v.astype(np.int64) for v in (a, b, c, d))
    assert np.array_equal(out[4], (wa * wb).astype(np.int8))
    assert np.array_equal(out[5], (wc + wd - wa).astype(np.int16))
    assert np.array_equal(out[6], ((wa >> 2) ^ (wc * wd) ^ (wb << 3 & 255)).astype(np.int32))


def test_crc32() -> None:
    data = random(21).integers(0, 256, 16 * N).astype(np.uint8)
    out = run(FILE, "crc32_nibbles", [data, np.zeros(N, np.uint32), N], **GRID)[1]
    assert out.tolist() == [binascii.crc32(row.tobytes()) for row in data.reshape(N, 16)]


def philox(counter: list[int], key: list[int]) -> list[int]:
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 % U32, p0 >> 32 ^ c[3] ^ k[1], p0 % U32]
        k = [(k[0] + 0x9E3779B9) % U32, (k[1] + 0xBB67AE85) % U32]
    return c


def test_philox() -> None:
    # The published test vector, so that the reference itself is known to be right.
    assert philox([0, 0, 0, 0], [0, 0]) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    out = run(FILE, "philox", [np.zeros(4 * N, np.uint32), 12345, N], **GRID)[0]
    check_rows(out, [philox([i, 1, 2, 3], [12345, ~12345 % U32]) for i in range(N)], U32)


def test_gcd() -> None:
    a = random(22).integers(0, 100000, N).astype(np.uint32)
    b = random(23).integers(0, 100000, N).astype(np.uint32)
    out = run(FILE, "gcd", [a, b, np.zeros(N, np.uint32), N], **GRID)[2]
    assert out.tolist() == [math.gcd(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def test_power_modulo() -> None:
    a, b = words(24), words(25) >> 16
    out = run(FILE, "power_modulo", [a, b, np.zeros(N, np.uint32), 1000000007, N], **GRID)[2]
    assert out.tolist() == [pow(x, y, 1000000007) for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def test_long_bits() -> None:
    a = longs(26)
    out = run(FILE, "long_bits", [a, np.zeros(4 * N, np.uint64), N], **GRID)[1]
    rows = [
        [x.bit_count(), 64 - x.bit_length(), int(f"{x:064b}"[::-1], 2), (x & -x).bit_length()]
        for x in a.tolist()
    ]
    check_rows(out, rows, U64)


def test_reference_division_truncates() -> None:
    assert [quotient(7, 2), quotient(-7, 2), quotient(7, -2), quotient(-7, -2)] == [3, -3, -3, 3]

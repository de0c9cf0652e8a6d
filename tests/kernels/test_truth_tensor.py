"""Tensor-core instructions: small whole numbers, so sums are exact and any wrong fragment layout shows."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.exact import bf16_bits
from kernels.harness import Array, random, run

pytestmark = pytest.mark.cuda
FILE = "tensor.cu"


def whole(seed: int, rows: int, columns: int, low: int = -8, high: int = 9) -> Array:
    return random(seed).integers(low, high, (rows, columns))


def added(columns: list[float]) -> Array:
    """The accumulator that a kernel starts with, by the place of its four values in the 16 x 8 fragment."""
    c = np.zeros((16, 8))
    c[:8, 0::2], c[:8, 1::2], c[8:, 0::2], c[8:, 1::2] = columns
    return c


def test_mma_f16_f32() -> None:
    a, b = whole(1, 16, 16), whole(2, 16, 8)
    args = [a.astype(np.float16).view(np.uint16).ravel(), b.astype(np.float16).view(np.uint16).ravel()]
    out = run(FILE, "mma_f16_f32", [*args, np.zeros(128, np.float32)])[2]
    assert np.array_equal(out.reshape(16, 8), a @ b + added([1, 2, 3, 4]))


def test_mma_f16_f16() -> None:
    a, b = whole(3, 16, 16), whole(4, 16, 8)
    args = [a.astype(np.float16).view(np.uint16).ravel(), b.astype(np.float16).view(np.uint16).ravel()]
    out = run(FILE, "mma_f16_f16", [*args, np.zeros(64, np.uint32)])[2]
    assert np.array_equal(out.view(np.float16).reshape(16, 8), a @ b + added([0, 0, 1, 1]))


def test_mma_bf16() -> None:
    a, b = whole(5, 16, 16), whole(6, 16, 8)
    args = [bf16_bits(a.ravel().astype(float)), bf16_bits(b.ravel().astype(float))]
    out = run(FILE, "mma_bf16", [*args, np.zeros(128, np.float32)])[2]
    assert np.array_equal(out.reshape(16, 8), a @ b)


def test_mma_f16_k8() -> None:
    a, b = whole(7, 16, 16), whole(8, 16, 8)
    args = [a.astype(np.float16).view(np.uint16).ravel(), b.astype(np.float16).view(np.uint16).ravel()]
    out = run(FILE, "mma_f16_k8", [*args, np.zeros(128, np.float32)])[2]
    assert np.array_equal(out.reshape(16, 8), a[:, :8] @ b[:8])


def test_mma_tf32() -> None:
    a, b = whole(9, 16, 8, -100, 100), whole(10, 8, 8, -100, 100)
    out = run(FILE, "mma_tf32", [a.astype(np.float32).ravel(), b.astype(np.float32).ravel(),
                                 np.zeros(128, np.float32)])[2]  # fmt: skip
    assert np.array_equal(out.reshape(16, 8), a @ b)


def test_mma_tf32_drops_low_bits() -> None:
    """Thirteen low bits of each input do not count."""
    a, b = np.full((16, 8), 1 + 2.0**-20), np.eye(8)
    out = run(FILE, "mma_tf32", [a.astype(np.float32).ravel(), b.astype(np.float32).ravel(),
                                 np.zeros(128, np.float32)])[2]  # fmt: skip
    assert (out == 1.0).all()


def test_mma_f64() -> None:
    a, b = whole(11, 8, 4) / 4, whole(12, 4, 8) / 8
    out = run(FILE, "mma_f64", [a.ravel(), b.ravel(), np.zeros(64)])[2]
    assert np.array_equal(out.reshape(8, 8), a @ b + np.tile([0.5, 0.25], 4))


@pytest.mark.parametrize(("kernel", "kind", "low", "high"), [("mma_s8", np.int8, -128, 128),
                                                             ("mma_u8_s8", np.uint8, 0, 256)])  # fmt: skip
def test_mma_bytes(kernel: str, kind: type, low: int, high: int) -> None:
    a, b = whole(13, 16, 32, low, high), whole(14, 8, 32, -128, 128)
    out = run(FILE, kernel, [a.astype(kind).ravel(), b.astype(np.int8).ravel(), np.zeros(128, np.int32)])[2]
    assert np.array_equal(out.reshape(16, 8), a @ b.T)


def test_mma_e4m3() -> None:
    values = np.array([0, 0.5, 1, 1.5, 2, -0.5, -1, -3])
    patterns = np.array([0x00, 0x30, 0x38, 0x3C, 0x40, 0xB0, 0xB8, 0xC4], np.uint8)
    ia, ib = random(15).integers(0, 8, (16, 32)), random(16).integers(0, 8, (8, 32))
    out = run(FILE, "mma_e4m3", [patterns[ia].ravel(), patterns[ib].ravel(), np.zeros(128, np.float32)],
              arch="sm_89")[2]  # fmt: skip
    assert np.array_equal(out.reshape(16, 8), values[ia] @ values[ib].T)


def test_load_matrix() -> None:
    data = random(17).integers(0, 65536, 256).astype(np.uint16)
    out = run(FILE, "load_matrix", [data, np.zeros(256, np.uint32)])[1].reshape(32, 8)
    m = data.reshape(4, 8, 8).astype(np.uint32)

    def fragment(matrix: Array) -> Array:
        lanes = np.arange(32)
        row, column = lanes // 4, lanes % 4 * 2
        return matrix[row, column] | matrix[row, column + 1] << 16

    want = [fragment(m[k]) for k in range(4)] + [
        fragment(m[0].T),
        fragment(m[1].T),
        fragment(m[0]),
        fragment(m[0].T),
    ]
    assert np.array_equal(out, np.stack(want, 1))


def test_wmma_half() -> None:
    a, b = whole(18, 16, 32), whole(19, 16, 32)
    out = run(FILE, "wmma_half", [a.astype(np.float16).ravel(), b.astype(np.float16).ravel(),
                                  np.zeros(256, np.float32)])[2]  # fmt: skip
    assert np.array_equal(out.reshape(16, 16), 2 * (a @ b.T + 1))


def test_wmma_bytes() -> None:
    a, b = whole(20, 16, 32, -128, 128), whole(21, 16, 8, -128, 128)
    out = run(
        FILE, "wmma_bytes", [a.astype(np.int8).ravel(), b.astype(np.int8).ravel(), np.zeros(256, np.int32)]
    )[2]
    assert np.array_equal(out.reshape(8, 32), (a.T @ b - 7).T)

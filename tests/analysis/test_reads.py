"""Sliding windows found from addresses alone, each case worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from warpglass.analysis.problem import parse_problem
from warpglass.analysis.reads import find_window


def lanes(values: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """(thread, address) of every read; ``values[t]`` are the addresses of thread t."""
    pairs = [(t, a) for t, row in enumerate(values) for a in row]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def window(x: int, y: int = 0, size: int = 3, stride: int = 1, pitch: int = 64) -> list[int]:
    return [4 * ((y * stride + r) * pitch + x * stride + s) for r in range(size) for s in range(size)]


def test_a_three_by_three_window_shares_two_thirds() -> None:
    threads, addresses = lanes([window(x) for x in range(32)])
    assert find_window(threads, addresses, 4, (1,)) == (4, pytest.approx(6 / 9))


def test_a_strided_window_shares_less() -> None:
    """11 x 11 with stride 4, as in AlexNet's first layer: seven of eleven columns are shared."""
    threads, addresses = lanes([window(x, size=11, stride=4, pitch=256) for x in range(32)])
    assert find_window(threads, addresses, 4, (1,)) == (16, pytest.approx(7 / 11))


def test_edges_do_not_hide_a_window() -> None:
    threads, addresses = lanes([window(0)[3:], *[window(x) for x in range(1, 32)]])
    assert find_window(threads, addresses, 4, (1, 2)) == (4, pytest.approx(6 / 9))


def test_channels_last() -> None:
    """Lanes are output channels and share a window; the next pixel is 32 threads and 8 channels on."""
    pixel = [[32 * (x + s) + 4 * c for s in range(3) for c in range(8)] for x in range(4)]
    threads, addresses = lanes([row for row in pixel for _ in range(32)])
    assert find_window(threads, addresses, 4, (1, 32)) == (32, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    "values",
    [
        [[4 * (i * 64 + t) for i in range(16)] for t in range(32)],  # columns of a product
        [[4 * i for i in range(16)]] * 32,  # a row that all read
        [[64 * t + 4 * i for i in range(16)] for t in range(32)],  # a row each
        [[4 * i for i in range(t + 3)] for t in range(32)],  # a triangle
        [[4 * ((t * 7919 + i * 104729) % 4096) for i in range(9)] for t in range(32)],  # nowhere in order
    ],
    ids=["columns", "broadcast", "rows", "triangle", "scattered"],
)
def test_what_does_not_slide(values: list[list[int]]) -> None:
    threads, addresses = lanes(values)
    assert find_window(threads, addresses, 4, (1, 2, 32)) is None


def test_a_convolution_as_a_product() -> None:
    """AlexNet's second layer: 27 x 27 results, 256 channels out, 96 x 5 x 5 deep."""
    problem = parse_problem("conv:n=1,c=96,h=27,w_in=27,k=256,r=5,s=5,pad=2")
    assert problem.matrix == "M x N x K = 729 x 256 x 2,400"
    assert problem.flops == 2 * 729 * 256 * 2400
    # Each weight once, not once a window: 256 x 96 x 25 of them, beside what goes in and comes out.
    assert problem.bytes == 4 * (256 * 96 * 25 + 96 * 729 + 256 * 729)

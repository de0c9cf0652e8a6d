"""A hundred random kernels leave the same memory as PTX and SASS, a third of them for each of three GPUs."""

from __future__ import annotations

import pytest

from fuzz.fuzz_kernels import kernel, run
from warpglass.inputs.toolchain import find_tool

pytestmark = pytest.mark.cuda


def test_a_kernel_is_its_seeds_alone() -> None:
    assert kernel(7) == kernel(7)
    assert kernel(7) != kernel(8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "first", "count"), [("sm_80", 0, 34), ("sm_90a", 500, 33), ("sm_120", 700, 33)]
)
def test_random_kernels(arch: str, first: int, count: int) -> None:
    if find_tool("ptxas") is None:
        pytest.skip("ptxas is missing")
    assert run(first, count, arch) == []

"""A hundred random kernels leave the same memory as PTX and as SASS, half of them for each of two GPUs."""

from __future__ import annotations

import pytest

from fuzz.fuzz_kernels import kernel, run
from warpglass.inputs.toolchain import find_tool

pytestmark = pytest.mark.cuda


def test_a_kernel_is_its_seeds_alone() -> None:
    assert kernel(7) == kernel(7)
    assert kernel(7) != kernel(8)


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "first"), [("sm_80", 0), ("sm_120", 50)])
def test_random_kernels(arch: str, first: int) -> None:
    if find_tool("ptxas") is None:
        pytest.skip("ptxas is missing")
    assert run(first, 50, arch) == []

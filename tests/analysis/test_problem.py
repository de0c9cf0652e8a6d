"""Least work of known problems, worked by hand, and the evaluator of the user's own expressions."""

from __future__ import annotations

import pytest

from warpglass import ncu
from warpglass.analyse import PROFILED, profiled_times
from warpglass.analysis.problem import FORMULAS, evaluate, parse_problem
from warpglass.errors import UsageError


def test_gemm() -> None:
    # NVIDIA's guide: 2 M N K; 4096 x 4096 x 4096 are 137.4 GFLOP, and 3 matrices of 64 MiB in FP32.
    found = parse_problem("gemm:4096,4096,4096")
    assert found.flops == 137_438_953_472
    assert found.bytes == 3 * 4096 * 4096 * 4
    assert parse_problem("gemm:m=4096,n=4096,k=4096,fp16").bytes == 3 * 4096 * 4096 * 2


def test_convolution() -> None:
    # 32 images, 64 to 64 channels of 56 x 56, 3 x 3, padding 1: 2 * 32*56*56 * 64 * 64*9 FLOP.
    found = parse_problem("conv:32,64,56,56,64,3,3,pad=1")
    assert found.flops == 2 * 32 * 56 * 56 * 64 * 64 * 9
    assert found.bytes == 4 * (2 * 32 * 64 * 56 * 56 + 64 * 64 * 9)


def test_attention() -> None:
    # FlashAttention-2: 4 s^2 d h, half of it with a causal mask.
    full, causal = (
        parse_problem("attention:2,16,1024,64,fp16"),
        parse_problem("attention:2,16,1024,64,fp16,causal"),
    )
    assert full.flops == 4 * 2 * 16 * 1024 * 1024 * 64
    assert causal.flops is not None
    assert full.flops == 2 * causal.flops
    assert full.bytes == causal.bytes == 4 * 2 * 16 * 1024 * 64 * 2


def test_reduction_and_elementwise() -> None:
    assert parse_problem("reduction:1024").flops == 1023
    assert parse_problem("reduction:1024").bytes == 4 * 1025
    saxpy = parse_problem("elementwise:1000,inputs=2,ops=2")
    assert (saxpy.flops, saxpy.bytes) == (2000, 12_000)


def test_own_expressions() -> None:
    found = parse_problem("bytes:8*n,flops:2*n**2", {"n": 10})
    assert (found.bytes, found.flops) == (80, 200)
    assert evaluate("-(2 + 3) * 4 // 3 % 5", {}) == -7 % 5
    assert evaluate("N / 4", {"n": 10}) == 2.5


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "n.real",
        "[1][0]",
        "1 if 1 else 2",
        "lambda: 1",
        "f(1)",
        "'a'",
        "9**9**9",
        "1/0",
        "1e40",
        "(" * 200,
        "",
        "True",
        "x",
    ],
)
def test_the_evaluator_knows_nothing_else(text: str) -> None:
    with pytest.raises(UsageError):
        evaluate(text, {"n": 1})


@pytest.mark.parametrize(
    "text",
    [
        "gemm",
        "gemm:1,2",
        "gemm:1,2,3,4,5",
        "gemm:1,2,3,q=1",
        "dance:1",
        "gemm:-1,2,3",
        "bytes:-1",
        "flops:",
        "conv:1,1,2,2,1,3,3",
        "conv:1,1,8,8,1,3,3,0",
        "reduction:4,5",
    ],
)
def test_bad_problems(text: str) -> None:
    with pytest.raises(UsageError):
        parse_problem(text)


def test_every_formula_has_a_source() -> None:
    assert all(formula.source for formula in FORMULAS.values())


def test_a_profilers_duration() -> None:
    """The least of several launches, in the unit that the report says; without a duration there is none."""
    metric = ncu.Metric("gpu__time_duration.sum", 1500.0, "ns")

    class Launch:
        def __init__(self, mangled: str, metrics: dict[str, ncu.Metric]) -> None:
            self.mangled, self.metrics = mangled, metrics

    launches = [
        Launch("k", {metric.name: metric}),
        Launch("k", {metric.name: ncu.Metric(metric.name, 2.0, "us")}),
        Launch("other", {}),
    ]
    assert profiled_times(launches) == {"k": pytest.approx(0.0015)}  # type: ignore[arg-type]
    assert "clocks locked" in PROFILED

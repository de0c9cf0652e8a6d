"""Kernels that no compiler would write end in a result or one clear error, never in a traceback."""

from __future__ import annotations

import random
import re

import pytest

from machine.test_execute import ADD
from machine.test_trace import TREE
from warpglass.api_run import run
from warpglass.errors import WarpglassError
from warpglass.machine import RunOptions

CALLS = ADD.replace(
    "add.f32 %f3, %f1, %f2;",
    """{
    .param .b32 p0; .param .b32 p1;
    st.param.f32 [p0], %f1;
    call (p1), twice, (p0);
    ld.param.f32 %f3, [p1];
    }""",
).replace(
    ".visible",
    """.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .f32 %f<3>; .local .align 4 .b32 l;
    ld.param.f32 %f1, [x];
    st.local.f32 [l], %f1;
    add.f32 %f2, %f1, %f1;
    st.param.f32 [r], %f2;
    ret;
}
.visible""",
    1,
)


def mutated(text: str, rng: random.Random) -> str:
    """``text`` with a few lines dropped, swapped, or given other registers, numbers or opcodes."""
    lines = text.split("\n")
    registers = re.findall(r"%[a-z]+\d+", text)
    opcodes = re.findall(r"^\s*([a-z][a-z0-9.]+) ", text, re.M)
    first = next(n for n, line in enumerate(lines) if ".reg" in line) + 1
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(first, len(lines) - 1), rng.randrange(first, len(lines) - 1)
        kind = rng.randrange(5)
        if kind == 0:
            lines[at] = ""
        elif kind == 1:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 2 and (found := re.findall(r"%[a-z]+\d+", lines[at])):
            lines[at] = lines[at].replace(rng.choice(found), rng.choice(registers), 1)
        elif kind == 3:
            number = str(rng.choice([0, 1, 3, 31, 4096, 2**31, 2**32 - 1, 2**63, -8]))
            lines[at] = re.sub(r"(?<![%\w.])\d+", number, lines[at], count=1)
        else:
            lines[at] = re.sub(r"[a-z][a-z0-9.]+ ", rng.choice(opcodes) + " ", lines[at], count=1)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", [ADD, TREE, CALLS], ids=["add", "tree", "calls"])
def test_mutated_kernels(text: str, seed: int) -> None:
    rng = random.Random(seed)
    options = RunOptions(max_warp_instructions=1500, max_rounds=1500)
    ends: set[str] = set()
    for _ in range(25):
        source = mutated(text, rng)
        try:
            result = run(source, grid=rng.choice([1, 2]), block=rng.choice([1, 33, 128]), options=options)
        except WarpglassError as error:
            ends.add(type(error).__name__)
            continue
        ends.add(result.stopped.kind if result.stopped is not None else "complete")
        # A stop of kind "fault" may be a wild call or a full stack, but never a failure of the machine.
        assert result.stopped is None or "machine failed" not in result.stopped.message, source
        assert result.counts["warp_on"] <= result.counts["warp_executed"]
    assert "complete" in ends


def test_a_larger_budget_allows_more_rounds() -> None:
    limits = [RunOptions(max_warp_instructions=most).round_limit for most in (10, 10**9)]
    assert limits == [1_000_000, 20_000_000]


@pytest.mark.parametrize(
    "text", ["ld.global.f32 %f1;", "st.global.f32 [%rd1];", "add.f32 %f3;", "mov.b32 %f1;"]
)
def test_operands_that_are_missing_stop_by_name(text: str) -> None:
    broken = ADD.replace("add.f32 %f3, %f1, %f2;", text)
    assert broken != ADD
    result = run(broken, grid=1, block=32)
    assert not result.complete
    assert result.stopped is not None
    assert text.split()[0] in result.stopped.message

"""Kernels known from a listing alone: what it does not say is said, never taken for nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpglass import machine, sass
from warpglass.launchsass import signature
from warpglass.machine import Argument, Launch, RunOptions
from warpglass.machine.result import RunResult

LISTING = Path(__file__).parents[1] / "sass" / "listings" / "saxpy.sm_80.cuobjdump.sass"


def run(text: str, values: list[object], arch: str | None = None) -> RunResult:
    code = sass.parse(text, arch=arch)
    kernel = signature(code.functions[0])
    args = {
        p.name: Argument(p.name, "buffer", str(v.dtype), v)
        if isinstance(v, np.ndarray)
        else Argument(p.name, "scalar", "f32" if isinstance(v, float) else p.type, v)  # type: ignore[arg-type]
        for p, v in zip(kernel.params, values, strict=True)
    }
    return machine.execute_sass(code, kernel, Launch((2, 1, 1), (64, 1, 1), args=args), RunOptions())


def test_a_mangled_name_gives_the_parameters() -> None:
    code = sass.parse(LISTING.read_text().replace(": saxpy", ": _Z5saxpyPKfPdbixS0_"))
    assert [p.size for p in signature(code.functions[0]).params] == [8, 8, 1, 4, 8, 8]
    code = sass.parse(LISTING.read_text().replace(": saxpy", ": _Z5saxpy4PairPf"))
    assert signature(code.functions[0]).params == ()


def test_a_listing_without_name_or_architecture_stops_at_its_first_parameter() -> None:
    bare = "\n".join(
        line.split("*/", 1)[1].split("/*")[0].strip()
        for line in LISTING.read_text().splitlines()
        if line.strip().startswith("/*0") and ";" in line
    )
    result = run(bare, [], arch="sm_80")
    assert not result.complete
    assert result.stopped is not None
    assert "it reads a parameter at c[0x0]" in result.stopped.message
    assert result.findings == ()


def test_a_cut_listing_stops_where_it_ends() -> None:
    result = run(
        "Function : f\n.target sm_80\n/*0000*/ MOV R1, 0x1 ;\n/*0010*/ IADD3 R2, R1, R1, RZ ;\n", [], "sm_80"
    )
    assert result.stopped is not None
    assert "the code ends there" in result.stopped.message
    assert result.counts["warp_executed"] == 2 * 2 * 2


def test_shared_memory_of_unknown_size_is_no_fault() -> None:
    text = "Function : f\n/*0000*/ MOV R1, 0x100 ;\n/*0010*/ STS [R1], R1 ;\n/*0020*/ EXIT ;\n"
    result = run(text, [], "sm_80")
    assert result.complete
    assert not [f for f in result.findings if f.kind == "memcheck"]
    assert any("does not say how much shared memory" in a for a in result.assumptions)

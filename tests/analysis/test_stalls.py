"""Stalls that could be tighter: only where every reader keeps its distance."""

from __future__ import annotations

import pytest

from warpglass import gpu, sass
from warpglass.analysis.sass_listing import sass_listing
from warpglass.analysis.stalls import Tightening, need_of, stall_histogram, tightenings
from warpglass.gpu import fixed_latencies

TABLE = fixed_latencies("sm_80")


def code(*lines: tuple[str, int]) -> sass.Module:
    """A kernel for sm_80 of (text, stall cycles) lines, as cuobjdump prints one; no barriers anywhere."""
    out = ["\tcode for sm_80", "\t\tFunction : k", '\t.headerflags\t@"EF_CUDA_SM80"']
    for i, (text, stall) in enumerate([*lines, ("EXIT", 5)]):
        control = stall | 1 << 4 | 7 << 5 | 7 << 8
        out.append(f"        /*{16 * i:04x}*/                   {text} ;{' ' * 20}/* 0x0000000000047919 */")
        out.append(f"{' ' * 80}/* 0x{control << 41:016x} */")
    return sass.load(("\n".join(out) + "\n").encode(), name="k.sass")


def found(*lines: tuple[str, int]) -> tuple[Tightening, ...]:
    module = code(*lines)
    function = module.functions[0]
    listing = sass_listing(module, function.name, [(function.name, 0, len(function.instructions))])
    return tightenings(function, listing, gpu.arch("sm_80"))


def test_a_far_reader_frees_the_stall() -> None:
    """FFMA results are read after 4 cycles at the earliest; here the reader comes 7 cycles on."""
    (one,) = found(
        ("FFMA R0, R4, R5, R6", 4), ("IADD3 R8, R9, R10, RZ", 3), ("FMUL R2, R0, R0", 5)
    )[:1]  # fmt: skip
    assert one.sentence() == "FFMA stalls 4, nothing depends on it before 7"
    # Two cycles may go: the reader then comes 5 on, one more than the table's least distance.
    assert (one.stall, one.needed, one.saved) == (4, 2, 2)
    assert one.before == "[B------:R-:W-:-:S04] FFMA R0, R4, R5, R6"
    assert one.after == "[B------:R-:W-:-:S02] FFMA R0, R4, R5, R6"


@pytest.mark.parametrize(
    ("first", "second", "least"),
    [
        # Two float operations, two products and a wide product of whole numbers share a pipe of 16 lanes.
        ("FFMA R0, R4, R5, R6", "FADD R8, R9, R10", 2),
        ("IMAD R0, R4, R5, R6", "FFMA R8, R9, R10, R11", 2),
        ("IMAD.WIDE R0, R4, R5, R6", "FFMA R8, R9, R10, R11", 4),
        ("IMAD.WIDE R0, R4, R5, R6", "IADD3 R8, R9, R10, RZ", 1),
    ],
)
def test_a_pipe_keeps_neighbours_apart(first: str, second: str, least: int) -> None:
    (one,) = [t for t in found((first, 6), (second, 15), ("FMUL R2, R0, R0", 5)) if t.pc == 0]
    assert one.needed == least


def test_a_near_reader_keeps_it() -> None:
    said = found(("FFMA R0, R4, R5, R6", 5), ("FMUL R2, R0, R0", 5), ("FADD R3, R2, R2", 5))
    assert [one for one in said if one.pc < 2] == []


def test_a_predicate_keeps_its_distance_to_guards() -> None:
    assert need_of(TABLE, "ISETP.GE.AND", "P0") == 13
    said = found(("ISETP.GE.AND P0, PT, R4, R5, PT", 13), ("@P0 EXIT", 5))
    assert [one for one in said if "ISETP" in one.before] == []


def test_a_near_reader_of_a_long_stall_is_said_so() -> None:
    (one,) = [t for t in found(("FFMA R0, R4, R5, R6", 9), ("FMUL R2, R0, R0", 5)) if t.pc == 0]
    assert one.sentence() == "FFMA stalls 9, its reader finds the result after 5"


def test_stalls_are_those_of_the_kernel() -> None:
    """An HMMA that stands at 8 is counted with 8, one that stands at 6 with 6."""
    function = code(("HMMA.16816.F32 R8, R4, R2, R8", 8), ("HMMA.16816.F32 R8, R4, R2, R8", 6)).functions[0]
    assert stall_histogram(function, (0, 1))["HMMA"] == (2, 14)


@pytest.mark.parametrize("opcode", ["LDG.E", "BAR.SYNC", "DFMA", "HMMA.16816.F32"])
def test_what_no_table_knows_is_left_alone(opcode: str) -> None:
    operands = {"LDG.E": "R0, [R2.64]", "BAR.SYNC": "0x0"}.get(opcode, "R8, R4, R2, R8")
    assert [t for t in found((f"{opcode} {operands}", 15), ("NOP", 1)) if t.pc == 0] == []

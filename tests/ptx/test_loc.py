"""``.loc``: chains of inlining, and function names out of ``.debug_str``."""

from __future__ import annotations

from warpglass import ptx
from warpglass.ptx import Instruction, Loc

HEAD = '.version 9.0\n.target sm_90a\n.address_size 64\n.file 1 "x.cu"\n'
STRINGS = (
    ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,50,115,113,102,0\n$L__info_string1:\n.b8 111,117\n"
    ".b8 116,0,105,110,0\n}\n"
)


def instructions(text: str, after: str = STRINGS) -> tuple[Instruction, ...]:
    m = ptx.parse(f"{HEAD}.entry k {{\n.reg .b32 %r<9>;\n{text}\n}}\n{after}")
    assert m.diagnostics == ()
    return m.kernels[0].instructions


def test_plain_places_hold_until_the_next() -> None:
    a, b, c, d = instructions(
        "nanosleep.u32 %r1;\n.loc\t1 5 3\nnanosleep.u32 %r1;\nnanosleep.u32 %r1;\n.loc 1 6 0\nret;"
    )
    assert a.loc is None
    assert b.loc == c.loc == Loc(1, 5, 3)
    assert d.loc == Loc(1, 6, 0)


def test_chain_of_inlined_calls() -> None:
    (found,) = instructions(
        ".loc 1 17 2\n.loc 1 13 38, function_name $L__info_string1, inlined_at 1 17 2\n"
        ".loc\t1 12 5, function_name $L__info_string0, inlined_at 1 13 38\nret;"
    )
    assert found.loc == Loc(1, 12, 5, "_Z2sqf", Loc(1, 13, 38, "out", Loc(1, 17, 2)))


def test_label_plus_offset_and_several_lines() -> None:
    (found,) = instructions(
        ".loc 1 2 3\n.loc 1 4 5 ,\n function_name $L__info_string1 + 4 ,\n inlined_at 1 2 3\nret;"
    )
    assert found.loc == Loc(1, 4, 5, "in", Loc(1, 2, 3))


def test_inlined_place_that_was_never_given() -> None:
    (found,) = instructions(".loc 1 4 5, function_name $L__info_string0, inlined_at 1 99 7\nret;")
    assert found.loc == Loc(1, 4, 5, "_Z2sqf", Loc(1, 99, 7))


def test_name_without_its_string_stays_a_label() -> None:
    (found,) = instructions(".loc 1 4 5, function_name $L__info_string7, inlined_at 1 9 7\nret;")
    assert found.loc is not None
    assert found.loc.function == "$L__info_string7"


def test_places_do_not_leak_into_the_next_function() -> None:
    m = ptx.parse(HEAD + ".entry a {\n.loc 1 5 3\nret;\n}\n.entry b {\nret;\n}\n")
    assert m.kernels[0].instructions[0].loc == Loc(1, 5, 3)
    assert m.kernels[1].instructions[0].loc is None


def test_the_same_line_in_two_functions_keeps_its_own_chain() -> None:
    inlined = ".loc 1 4 5, function_name $L__info_string0, inlined_at 1 9 7\n"
    m = ptx.parse(
        f"{HEAD}.entry a {{\n.loc 1 9 7\n{inlined}ret;\n}}\n.entry b {{\n"
        f".loc 1 1 1\n.loc 1 9 7, function_name $L__info_string1, inlined_at 1 1 1\n{inlined}ret;\n}}\n"
        f"{STRINGS}"
    )
    first, second = (k.instructions[0].loc for k in m.kernels)
    assert first == Loc(1, 4, 5, "_Z2sqf", Loc(1, 9, 7))
    assert second == Loc(1, 4, 5, "_Z2sqf", Loc(1, 9, 7, "out", Loc(1, 1, 1)))


def test_endless_chains_are_cut() -> None:
    line = ".loc 1 1 1, function_name $L__info_string0, inlined_at 1 1 1\n"
    (found,) = instructions(line * 5000 + "ret;")
    depth, loc = 0, found.loc
    while loc is not None:
        depth, loc = depth + 1, loc.inlined_at
    assert 2 < depth < 200
    assert hash(found.loc) == hash(found.loc)

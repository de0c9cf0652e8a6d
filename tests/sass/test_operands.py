"""Every operand form that the disassemblers print."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass.sass.operands import (
    Address,
    Barrier,
    Constant,
    Descriptor,
    Immediate,
    Label,
    Opaque,
    Predicate,
    Register,
    Scoreboards,
    SpecialRegister,
    UniformPredicate,
    UniformRegister,
    Word,
    parse_operand,
    split_operands,
)

R, UR = Register, UniformRegister
CASES = {
    "R12": R(12),
    "RZ": R(None),
    "R4.reuse": R(4, reuse=True),
    "-R3.reuse": R(3, reuse=True, negated=True),
    "|R7|": R(7, absolute=True),
    "-|R7|": R(7, absolute=True, negated=True),
    "|R7|.reuse": R(7, absolute=True, reuse=True),
    "~R2": R(2, inverted=True),
    "R8.H0_H0": R(8, ("H0_H0",)),
    "R8.reuse.H1_H1": R(8, ("H1_H1",), reuse=True),
    "R20.ROW": R(20, ("ROW",)),
    "UR36": UR(36),
    "URZ": UR(None),
    "-UR4": UR(4, negated=True),
    "~URZ": UR(None, inverted=True),
    "P0": Predicate(0),
    "PT": Predicate(None),
    "!P6": Predicate(6, negated=True),
    "!PT": Predicate(None, negated=True),
    "UP2": UniformPredicate(2),
    "!UPT": UniformPredicate(None, negated=True),
    "0x1f": Immediate("int", 31, "0x1f"),
    "-0x10": Immediate("int", -16, "-0x10"),
    "1": Immediate("int", 1, "1"),
    "9.9999997171806853657e-10": Immediate("float", 9.9999997171806853657e-10, "9.9999997171806853657e-10"),
    "-1.5": Immediate("float", -1.5, "-1.5"),
    "+INF": Immediate("float", math.inf, "+INF"),
    "-INF": Immediate("float", -math.inf, "-INF"),
    "c[0x0][0x160]": Constant(0, 0x160),
    "-c[0x0][0x160]": Constant(0, 0x160, negated=True),
    "~c[0x2][0x8]": Constant(2, 8, inverted=True),
    "|c[0x0][0x4]|": Constant(0, 4, absolute=True),
    "c[0x3][R2+0x10]": Constant(3, 16, base=R(2)),
    "c[0x0][UR4]": Constant(0, 0, base=UR(4)),
    "cx[UR4][0x10]": Constant(UR(4), 16),
    "c[0x0] [0x8].H1": Constant(0, 8, suffixes=("H1",)),
    "[R2.64+0x4]": Address(R(2, ("64",)), None, 4),
    "[R2+-0x8]": Address(R(2), None, -8),
    "[R2.U32+UR4+-0x8]": Address(R(2, ("U32",)), UR(4), -8),
    "[R6.X16+0x40]": Address(R(6, ("X16",)), None, 64),
    "[UR8+0x8]": Address(None, UR(8), 8),
    "[0x10]": Address(None, None, 16),
    "[RZ]": Address(R(None), None, 0),
    "desc[UR8][R16.64]": Address(R(16, ("64",)), None, 0, descriptor=UR(8)),
    "desc[UR4][R2.64+0x10]": Address(R(2, ("64",)), None, 16, descriptor=UR(4)),
    "desc[UR4][R2.64+UR6+0x10]": Address(R(2, ("64",)), UR(6), 16, descriptor=UR(4)),
    "gdesc[UR8]": Descriptor("gdesc", UR(8)),
    "gdesc[UR8].tnspA.tnspB": Descriptor("gdesc", UR(8), ("tnspA", "tnspB")),
    "idesc[UR5]": Descriptor("idesc", UR(5)),
    "tmem[UR4+0x10]": Address(None, UR(4), 16, space="tmem"),
    "`(.L_x_3)": Label(".L_x_3", None),
    "32@lo((calls + .L_x_3@srel))": Label("calls + .L_x_3@srel", None, "lo"),
    "SR_TID.X": SpecialRegister("TID.X"),
    "SRZ": SpecialRegister("SRZ"),
    "B0": Barrier(0),
    "SB5": Scoreboards((5,)),
    "{4,3,0}": Scoreboards((4, 3, 0)),
    "2D": Word("2D"),
    "ARRAY_2D": Word("ARRAY_2D"),
    "PR": Word("PR"),
    "gsb0": Word("gsb0"),
    "<<nonsense>>": Opaque("<<nonsense>>"),
}


@pytest.mark.parametrize("text", CASES)
def test_form(text: str) -> None:
    assert parse_operand(text) == CASES[text]


def test_nan_keeps_its_sign() -> None:
    for text, bits in (("QNAN", 0x7FC00000), ("-QNAN", 0xFFC00000), ("+QNAN", 0x7FC00000)):
        operand = parse_operand(text)
        assert isinstance(operand, Immediate)
        assert math.isnan(operand.value)
        assert operand.bits32 == bits


def test_immediate_bits() -> None:
    assert parse_operand("-0x1").bits32 == 0xFFFFFFFF  # type: ignore[union-attr]
    assert parse_operand("1").bits32 == 1  # type: ignore[union-attr]
    assert parse_operand("1.5").bits32 == 0x3FC00000  # type: ignore[union-attr]
    assert parse_operand("1.5").bits64 == 0x3FF8000000000000  # type: ignore[union-attr]
    assert parse_operand("1e300").bits32 == 0x7F800000  # type: ignore[union-attr]


def test_split() -> None:
    assert split_operands("R12, desc[UR8][R16.64]") == ["R12", "desc[UR8][R16.64]"]
    assert split_operands("R4 0x0") == ["R4", "0x0"]
    assert split_operands("SB0, {2, 1, 0}") == ["SB0", "{2, 1, 0}"]
    assert split_operands("R0, R0.reuse, c[0x0] [0x8], R2") == ["R0", "R0.reuse", "c[0x0][0x8]", "R2"]
    assert split_operands("P0, PT, |R0|, +INF , PT") == ["P0", "PT", "|R0|", "+INF", "PT"]
    assert split_operands("") == []


@given(st.text(max_size=60))
def test_any_text_gives_an_operand(text: str) -> None:
    for part in split_operands(text):
        parse_operand(part)


@given(st.sampled_from(sorted(CASES)), st.integers(0, 30), st.characters())
def test_damaged_forms_do_not_raise(text: str, place: int, char: str) -> None:
    parse_operand(text[:place] + char + text[place + 1 :])

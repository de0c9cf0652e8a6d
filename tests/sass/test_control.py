"""The control field against encodings with known answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass.sass import parse
from warpglass.sass.control import (
    CONTROL_PREFIX,
    decode,
    decode_volta,
    encode,
    maxwell_controls,
    parse_prefix,
)

from .conftest import listing


def test_known_words() -> None:
    """Case ctrl-sm80-word."""
    move = decode_volta(0x000FC40000000F00)
    assert (move.stall, move.yield_bit, move.write_barrier, move.read_barrier) == (2, 0, None, None)
    assert move.wait_mask == 0
    assert str(move) == "[B------:R-:W-:Y:S02]"
    read = decode_volta(0x000E280000002100)
    assert (read.stall, read.yield_bit, read.write_barrier, read.read_barrier) == (4, 1, 0, None)
    assert str(read) == "[B------:R-:W0:-:S04]"


def test_wait_mask_and_reuse() -> None:
    control = decode_volta(0x080FE20000000F00 | 0b001001 << 52)
    assert control.waits == (0, 3)
    assert control.reuse == 2


def test_three_fields_of_a_maxwell_word() -> None:
    first, second, third = maxwell_controls(0x001FD842FEC207F6)
    assert (first.stall, second.stall, third.stall) == (6, 6, 6)
    assert maxwell_controls(1 << 21)[1].stall == 1
    assert maxwell_controls(5 << 42)[2].stall == 5


@given(st.integers(0, (1 << 21) - 1))
def test_round_trip(field: int) -> None:
    control = decode(field)
    again = decode(encode(control))
    assert again == control
    match = CONTROL_PREFIX.match(str(control))
    assert match is not None
    barriers = (control.write_barrier, control.read_barrier)
    if 6 not in barriers:
        parsed = parse_prefix(match, control.reuse)
        assert parsed == control


def test_every_scoreboard_is_waited_for() -> None:
    """In straight code the first reader of a loaded register waits for the load's write barrier."""
    function = parse(listing("saxpy.sm_80.cuobjdump.sass")).functions[0]
    loads = [i for i in function.instructions if i.base == "LDG"]
    user = next(i for i in function.instructions if i.base == "FFMA")
    assert {load.control.write_barrier for load in loads if load.control} == {2}
    assert user.control is not None
    assert user.control.waits == (2,)


@pytest.mark.parametrize("text", ["[B------:R-:W0:-:S04]", "[B0-2---:R3:W4:Y:S15]", "B------:R-:W-:-:S01"])
def test_notation(text: str) -> None:
    match = CONTROL_PREFIX.search(text)
    assert match is not None
    assert re.sub(r"[\[\]]", "", str(parse_prefix(match))) == text.strip("[]")

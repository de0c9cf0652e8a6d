"""Whatever stands in a listing, parsing gives a module or one clear error, and analyses go on."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from warpglass.errors import WarpglassError
from warpglass.flow.sass import sass_cfg, sass_liveness
from warpglass.sass import link, parse
from warpglass.sass.defuse import defuse
from warpglass.sass.line_table import read_line_table
from warpglass.sass.opcodes import explain

from .conftest import listing

TEXTS = [listing(name) for name in ("saxpy.sm_80.cuobjdump.sass", "inline3.sm_90a.gi.sass")]
LINES = [line for text in TEXTS for line in text.splitlines()]


def study(text: str) -> None:
    try:
        module = parse(text)
    except WarpglassError:
        return
    for function in module.functions:
        sass_cfg(function)
        sass_liveness(function)
        link(function)
        for instruction in function.instructions:
            defuse(instruction, module.sm)
            explain(instruction.opcode)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    study(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_shuffled_lines(rows: list[str]) -> None:
    study("\n".join(rows))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 6000), st.integers(0, 60), st.text(max_size=8))
def test_cut_and_spliced(text: str, place: int, removed: int, added: str) -> None:
    study(text[:place] + added + text[place + removed :])


def test_long_lines_and_deep_brackets_stay_fast() -> None:
    started = time.process_time()
    for text in (
        "MOV R0, " + "[" * 15_000, "MOV R0, " + "R1+" * 6_000, "/*" * 9_000, "MOV " + "," * 19_000,
        "x" * 3_000_000, "MOV R0, R1 ;" * 1_500, "`(" * 9_000 + " ;", "MOV R1, 0x" + "f" * 5_000 + " ;",
        "MOV R1, " + "9" * 5_000 + ".5 ;", "\n".join([".L_x_1:"] * 50_000), "{ " * 9_000, "B-" * 9_000,
    ):  # fmt: skip
        study(text)
    # Not a speed test: a quadratic scan of these would take minutes.
    assert time.process_time() - started < 30


def test_branches_to_nowhere() -> None:
    study(
        "Function : f\n/*0000*/ BRA 0xfffffff0 ;\n/*0010*/ BRX R4 -0x7fffffff ;\n"
        "/*0020*/ CALL.REL.NOINC 0x8 ;"
    )
    study("/*0010*/ BRA 0x10 ;\n/*0010*/ BRA 0x10 ;\n/*0000*/ EXIT ;")


def test_messages_are_bounded() -> None:
    module = parse("EXIT ;\n" + "?? nonsense ??\n" * 5_000)
    assert len(module.diagnostics) < 300
    assert any("left out" in diagnostic.message for diagnostic in module.diagnostics)


def test_a_line_table_cannot_ask_for_memory() -> None:
    """Rows that name each other as callers, over and over."""
    chain = b"".join(b"\x00\x04\x90" + bytes([200, 1]) + b"\x00\x01" for _ in range(200))
    program = b"\x00\x09\x02" + bytes(8) + chain + b"\xf0" * 400
    head = b"\x01\x01\xfb\x0e\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00a.cu\x00\x00\x00\x00\x00"
    body = (2).to_bytes(2, "little") + len(head).to_bytes(4, "little") + head + program
    rows, _ = read_line_table(len(body).to_bytes(4, "little") + body, {})
    assert sum(len(row.frames) for table in rows.values() for row in table) < 200_000
    assert all(len(row.frames) <= 64 for table in rows.values() for row in table)


def test_lines_that_no_file_has() -> None:
    """``advance_line`` below 0 and beyond 2^31: the row stays, its line is unknown."""
    advances = (b"\x7b", b"\xff\xff\xff\xff\xff\x0f", b"\x04")  # -5, 2^40 or so, 4
    program = b"\x00\x09\x02" + bytes(8)
    program += b"".join(b"\x03" + step + b"\x01\x02\x10" for step in advances[:1]) + b"\x00\x01\x01"
    program += b"".join(
        b"\x00\x09\x02" + bytes([n]) + bytes(7) + b"\x03" + step + b"\x01\x00\x01\x01"
        for n, step in ((32, advances[1]), (64, advances[2]))
    )
    head = b"\x01\x01\xfb\x0e\x0a\x00\x01\x01\x01\x01\x00\x00\x00\x01\x00a.cu\x00\x00\x00\x00\x00"
    body = (2).to_bytes(2, "little") + len(head).to_bytes(4, "little") + head + program
    rows, problem = read_line_table(len(body).to_bytes(4, "little") + body, {})
    assert problem is None
    assert [(row.offset, row.frames[0].line) for row in rows[None]] == [(0, 0), (32, 0), (64, 5)]

"""Whatever the text: a module or the project's own error, in time and memory that follow the size."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpglass import ptx
from warpglass.errors import WarpglassError
from warpglass.flow import ptx_cfg, ptx_liveness, reads_writes

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
SEED = HEAD + (
    '.file 1 "a.cu"\n.const .align 4 .b8 cc[4] = {0, 1, 2};\n.global .u64 p = generic(cc)+4;\n'
    ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
    ".visible .entry k(.param .u64 .ptr .global .align 4 k_param_0, .param .align 8 .b8 s[16])\n"
    ".maxntid 128, 1, 1\n{\n"
    "\t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<9>;\n\t.reg .b64 \t%rd<4>;\n\t.reg .v4 .f32 %v;\n\t.loc\t1 2 3\n"
    "\tld.param.u64 \t%rd1, [k_param_0];\n\tmov.u32 \t%r1, %tid.x;\n\tsetp.ge.s32 \t%p1, %r1, 0x10;\n"
    "\t@%p1 bra \t$L__BB0_2;\n\t.loc 1 4 5, function_name $L__info_string0, inlined_at 1 2 3\n"
    "\t{ .reg .u32 t; shl.b32 t, %r1, 2; add.u32 %r2, t, (1+2)*3; }\n\t{ // callseq\n\t.param .b64 param0;\n"
    "\tst.param.b64 [param0+0], %rd1;\n\t.param .b32 retval0;\n\tcall.uni (retval0), \n\tvprintf, \n\t(\n"
    "\tparam0, param0\n\t);\n"
    "\tld.param.b32 %r3, [retval0+0];\n\t}\n\tld.global.v4.f32 {%r4, %r5, _, %r7}, [%rd1+-16];\n"
    "ts: .branchtargets $L__BB0_2, $L__BB0_3;\n\tbrx.idx %r1, ts;\n$L__BB0_2:\n"
    "\tshfl.sync.idx.b32 %r3|%p2, %r1, 1, 31, -1;\n"
    '$L__BB0_3:\n\t.pragma "nounroll";\n\tret;\n\n}\n.section .debug_str\n{\n$L__info_string0:\n'
    ".b8 95,90,0\n}\n"
)
PIECES = [
    "{", "}", "(", ")", "[", "]", ";", ",", ":", "::", ".", "@", "!", "|", "<", ">", "=", "+", "-", "*",
    "/", "%", "?",
    '"', "//", "/*", "*/", "\n", "\t", "\0", "\r", "0x", "0f3F800000", "1e999", "99999999999999999999999",
    "%r1", "%rd1",
    "%tid.x", "%v.x", "_", ".reg", ".b32", ".entry", ".func", ".visible", ".param", ".global", ".section",
    ".loc", ".file",
    ".align", ".version", "bra", "call", "ret", "ld", "st.global", "$L__BB0_2", "k_param_0",
    ".branchtargets", "WARP_SZ",
    ".callprototype", "generic(", "0xff(", "<4000000000>", "é", "\u2028", "\ud7ff",
]  # fmt: skip


def survives(text: str) -> ptx.Module | None:
    """Parse and analyse; only the project's own errors may come."""
    try:
        m = ptx.parse(text)
    except WarpglassError:
        return None
    for function in m.functions:
        for instruction in function.instructions:
            reads_writes(instruction)
        ptx_cfg(function)
        ptx_liveness(function)
        assert set(function.labels.values()) <= set(range(len(function.instructions) + 1))
    return m


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_text(text: str) -> None:
    survives(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.booleans())
def test_any_heap_of_tokens(pieces: list[str], spaced: bool) -> None:
    text = (" " if spaced else "").join(pieces)
    survives(HEAD + ".entry k {\n" + text + "\n}\n")
    survives(HEAD + text)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutations_of_real_text(data: st.DataObject) -> None:
    text = SEED
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 0, 1, 2, 5, 40])))
        text = text[:start] + data.draw(st.sampled_from([*PIECES, "", ""])) + text[end:]
    survives(text)


def test_the_seed_itself_is_whole() -> None:
    m = survives(SEED)
    assert m is not None
    assert m.diagnostics == ()
    assert m.kernels[0].instructions[4].loc == ptx.Loc(1, 4, 5, "_Z", ptx.Loc(1, 2, 3))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(WarpglassError):
        ptx.load(data)


@pytest.mark.parametrize("cut", range(0, len(SEED), 37))
def test_truncated_anywhere(cut: int) -> None:
    survives(SEED[:cut])


#: Long enough to hang for minutes where a step is quadratic.
MEGABYTE = 1 << 18


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        HEAD + ".entry k { " + "{" * MEGABYTE,
        HEAD + ".entry k { mov.b64 %r, " + "{" * MEGABYTE,
        HEAD + ".entry k { mov.b64 %r, " + "(" * MEGABYTE,
        HEAD + ".entry k { mov.b64 %r, " + "-" * MEGABYTE,
        HEAD + ".entry k { mov.b64 %r, " + "!" * MEGABYTE,
        HEAD + ".entry k { ld.u32 %r, [" + "[" * MEGABYTE,
        HEAD + ".entry k { mov.u32 %r1, 1" + "+1" * (MEGABYTE // 2) + "; }",
        HEAD + ".entry k { mov.u32 %r1, 1" + "?1" * (MEGABYTE // 2) + "; }",
        HEAD + ".global .u32 x = " + "{" * MEGABYTE,
        HEAD + ".global .u32 x" + "[1]" * (MEGABYTE // 3),
        HEAD + ".entry k { " + "a" * MEGABYTE,
        HEAD + ".entry k { add" + ".a" * (MEGABYTE // 2),
        HEAD + ".entry k { add" + " " * MEGABYTE + "x; }",
        HEAD + ".entry k { add " + "%r1," * (MEGABYTE // 4),
        HEAD + ".entry k {\n" + " " * MEGABYTE,
        HEAD + ".entry k {\n" + "\n" * MEGABYTE,
        HEAD + ".entry k {\n" + ";" * MEGABYTE + "}",
        HEAD + ".entry k {\n" + "{}" * (MEGABYTE // 2) + "}",
        HEAD + ".entry k {\n" + "{};" * (MEGABYTE // 3) + "\nret; }",
        HEAD + ".entry k {\n" + "".join(f"L{i}:" for i in range(MEGABYTE // 8)) + "}",
        HEAD + ".entry k { .reg .b32 %r<9>; " + "mov.u32 %r1, 1; " * (MEGABYTE // 16) + "}",
        HEAD + ".entry k { .reg .b32 %r<9>;\n" + "bra X;\n" * (MEGABYTE // 7) + "}",
        HEAD + '"' * MEGABYTE,
        HEAD + '"' + '\\"' * (MEGABYTE // 2),
        HEAD + "/*" * (MEGABYTE // 2),
        HEAD + "//" * (MEGABYTE // 2),
        HEAD + ".section .debug_str {" * (MEGABYTE // 21),
        HEAD + ".section .debug_str { " + "a" * MEGABYTE + " }",
        HEAD + ".entry k { .loc 1 1 1, function_name a, inlined_at 1 1 1\n"
               "ret; } .section .debug_str { " + "a" * MEGABYTE,
        HEAD + ".unknown " * (MEGABYTE // 9),
        HEAD + ".unknown\n" * (MEGABYTE // 9),
        HEAD + "junk\n" * (MEGABYTE // 5),
        HEAD + ".entry\n" * (MEGABYTE // 7),
        HEAD + ".entry k { ret; }\n" * (MEGABYTE // 18),
        HEAD + ".entry k ( " + ".param " * (MEGABYTE // 7),
        HEAD + ".entry k { .reg .b32 " + ",".join(f"a{i}" for i in range(MEGABYTE // 8)) + "; }",
        HEAD + ".entry k { " + ".reg .b32 %r<65536>; " * (MEGABYTE // 21) + "}",
        HEAD + ".entry k { " + "{.reg .b32 %r<65536>; " * 900,
        HEAD + ".entry k {" + "".join(f".reg .b32 %r{i}_<65536>;" for i in range(2000)) + "}",
        HEAD + ".entry k { mov.u32 %r, 0x" + "f" * MEGABYTE + "; }",
        HEAD + ".entry k { mov.u32 %r, " + "9" * MEGABYTE + "; }",
        HEAD + ".entry k { mov.f64 %r, " + "9" * MEGABYTE + ".0; }",
        "Fatbin ptx code:\n" * (MEGABYTE // 17),
        ("Fatbin ptx code:\n.version 1.0\n" * (MEGABYTE // 30)),
        "\n" * MEGABYTE,
        HEAD
        + ".entry k { .reg .b32 %r; L: t: .branchtargets "
        + ",".join(["L"] * 20000)
        + ";\n"
        + "brx.idx %r, t;\n" * 20000
        + "}",
    ],
    ids=range(46),
)  # fmt: skip
def test_a_megabyte_of_anything_ends(text: str) -> None:
    survives(text)

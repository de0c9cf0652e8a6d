"""Variables of every state space and their initialisers.

The bytes expected here were compared with what ptxas 13.0 puts into ``.nv.global.init``.
"""

from __future__ import annotations

import struct

import pytest

from warpglass import ptx
from warpglass.ptx import Variable

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def variables(text: str) -> dict[str, Variable]:
    m = ptx.parse(HEAD + text)
    assert m.diagnostics == ()
    return {v.name: v for v in m.variables}


def test_spaces_linkage_alignment_and_shape() -> None:
    v = variables(
        ".extern .shared .align 16 .b8 dyn[]; .common .global .u32 z; .weak .global .u32 w; .visible .const "
        ".u32 u = 5;\n"
        ".global .align 8 .b8 bytes[3]; .global .u32 a, b[3], c = 5; .shared .v4 .f32 v4[2][3]; .global "
        ".u32 .align 8 d;\n"
        ".global .attribute(.managed) .u32 m; .global .visible .u32 o; .const[2] .u32 bank; .global .b128 q;"
    )
    assert v["dyn"].is_extern_array
    assert (v["dyn"].linkage, v["dyn"].align, v["dyn"].shape) == ("extern", 16, (0,))
    assert [v[n].linkage for n in "zwu"] == ["common", "weak", "visible"]
    assert (v["bytes"].align, v["bytes"].size) == (8, 3)
    assert (v["b"].shape, v["b"].size, v["b"].align) == ((3,), 12, 4)
    assert not v["b"].is_extern_array
    assert (v["v4"].shape, v["v4"].vector, v["v4"].size, v["v4"].align) == ((2, 3), 4, 96, 16)
    assert v["d"].align == 8
    assert v["o"].linkage == "visible"
    assert (v["bank"].space, v["q"].size) == ("const", 16)
    assert v["a"].initializer is None


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (".global .u32 x = 5;", struct.pack("<I", 5)),
        (".global .u32 x = -1;", b"\xff" * 4),
        (".global .u8 x = 300;", b"\x2c"),
        (".global .b64 x = -1;", b"\xff" * 8),
        (".global .s8 x[] = {-1, -2};", b"\xff\xfe"),
        (".global .b8 x[6] = {1, 2, 3};", b"\1\2\3\0\0\0"),
        (".global .u16 x[3] = {0x10, 017, 0b11};", struct.pack("<3H", 16, 15, 3)),
        (".global .u32 x[2] = {1<<4, (2+3)*4};", struct.pack("<2I", 16, 20)),
        (".global .u32 x[2][3] = {{1,2,3},{4,5,6}};", struct.pack("<6I", 1, 2, 3, 4, 5, 6)),
        (".global .u32 x[2][3] = {{1},{4}};", struct.pack("<6I", 1, 0, 0, 4, 0, 0)),
        (".global .u32 x[][2] = {{1,2},{3,4},{5}};", struct.pack("<6I", 1, 2, 3, 4, 5, 0)),
        (".global .f32 x = 1.5;", struct.pack("<f", 1.5)),
        (".global .f32 x[2] = {0f3F800000, 2.0};", struct.pack("<2f", 1, 2)),
        (".global .f32 x = 0d3FF8000000000000;", struct.pack("<f", 1.5)),
        (".global .f64 x = 0f3FC00000;", struct.pack("<d", 1.5)),
        (".global .b32 x = 1.5;", struct.pack("<f", 1.5)),
        (".global .b32 x = 0f3FC00000;", struct.pack("<f", 1.5)),
        (".global .b64 x = 1.5;", struct.pack("<d", 1.5)),
        (".global .b64 x = 0f3FC00000;", struct.pack("<fI", 1.5, 0)),
        (".global .v4 .f32 x = {1.0,2.0,3.0,4.0};", struct.pack("<4f", 1, 2, 3, 4)),
        (".global .b8 x[3] = { 1 ,\n 2 /* two */ , // {\n 3 };", b"\1\2\3"),
        (".global .f32 x = -1e300;", struct.pack("<f", float("-inf"))),
    ],
)
def test_initial_bytes(text: str, data: bytes) -> None:
    x = variables(text)["x"]
    assert x.initializer == data
    assert x.size == len(data)
    assert x.relocations == ()


def test_addresses_in_initialisers() -> None:
    v = variables(
        ".global .u32 a[4]; .global .u64 p[3] = {a, a+4, generic(a)+8}; .global .u64 q = generic(a);\n"
        ".global .align 8 .b8 m[12] = {1, 0, 0, 0, 0xff(a), 0xff00(a), 0xff0000(a), 0xff000000(a), "
        "0xff00000000(a),"
        " 0xff0000000000(a), 0xff000000000000(a), 0xff00000000000000(a)};\n"
        ".global .align 8 .b8 g[16] = {0xff(generic(a)+4), 0xff00(generic(a)+4)};"
    )
    assert v["p"].relocations == ((0, "a", 0, False), (8, "a", 4, False), (16, "a", 8, True))
    assert v["p"].initializer == bytes(24)
    assert v["q"].relocations == ((0, "a", 0, True),)
    assert v["m"].relocations == ((4, "a", 0, False),)
    assert v["m"].initializer == b"\1" + bytes(11)
    assert v["g"].relocations == ((0, "a", 4, True),)


def test_parts_of_addresses_that_cannot_be_kept_are_reported() -> None:
    m = ptx.parse(HEAD + ".global .u32 a; .global .b8 m[2] = {0xff00(a), 0xff(a)};")
    assert [d.severity for d in m.diagnostics] == ["warning"]
    assert "kept as zero" in m.diagnostics[0].message
    assert m.variables[1].relocations == ((1, "a", 0, False),)


def test_variables_inside_functions() -> None:
    m = ptx.parse(
        HEAD + ".entry k {\n.local .align 16 .b8 depot[32];\n.shared .f32 s, t[3];\n.global .u32 g = 4;\n"
        ".const .f32 c[2] = {1.0, 2.0};\nret; }"
    )
    assert m.diagnostics == ()
    found = {v.name: (v.space, v.size, v.line) for v in m.kernels[0].variables}
    assert found == {
        "depot": ("local", 32, 5), "s": ("shared", 4, 6), "t": ("shared", 12, 6), "g": ("global", 4, 7),
        "c": ("const", 8, 8),
    }  # fmt: skip
    assert m.kernels[0].variables[3].initializer == struct.pack("<I", 4)


def test_opaque_handles() -> None:
    v = variables(".global .texref t; .global .samplerref s = { filter_mode = nearest, addr_mode_0 = wrap };")
    assert (v["t"].type, v["t"].size, v["s"].initializer) == ("texref", 8, None)


@pytest.mark.parametrize(
    "text",
    [
        ".global .u32 x[2] = {1,2,3};", ".global .u32 x = ;", ".global x;", ".global .u32 .f32 x;",
        ".global .u32 x[-1];",
        ".global .u32 x[4][];", ".global .align 3 .u32 x;", ".global .nonsense x;", ".reg .u32 x;",
        ".global .u32 x[99999999999][99999999999];", ".global .u32 x = {1;", ".global .u32 x = 1/0;",
        ".global .pred x = 1;",
    ],
)  # fmt: skip
def test_wrong_declarations_are_errors_and_do_not_stop_the_rest(text: str) -> None:
    m = ptx.parse(f"{HEAD}{text}\n.entry k {{ ret; }}")
    assert [d.severity for d in m.diagnostics][:1] == ["error"]
    assert m.diagnostics[0].line == 4
    assert m.kernels[0].has_body


def test_large_arrays_cost_nothing_until_written() -> None:
    x = variables(".global .b8 x[4000000000] = {1, 2};")["x"]
    assert x.size == 4000000000
    assert x.initializer == b"\1\2"


def test_many_values_are_read_fast_and_right() -> None:
    values = [(i * 37) % 256 for i in range(200000)]
    x = variables(f".global .b8 x[{len(values)}] = {{{', '.join(map(str, values))}}};")["x"]
    assert x.initializer == bytes(values)

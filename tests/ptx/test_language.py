"""What the PTX language allows, form by form."""

from __future__ import annotations

import pytest

from warpglass import ptx
from warpglass.ptx import (
    Address,
    Component,
    Function,
    Guard,
    Immediate,
    Instruction,
    Negated,
    OperandList,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
DECLARED = (
    ".reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<9>; "
    ".reg .f32 %f<9>; .reg .f64 %fd<4>; .reg .b16 %h<4>;\n"
)


def module(text: str) -> ptx.Module:
    """Parse without a diagnostic."""
    found = ptx.parse(text)
    assert found.diagnostics == ()
    return found


def body(text: str, before: str = "", after: str = "") -> Function:
    """The kernel ``k`` whose body is ``text`` after the usual registers."""
    head = f"{HEAD}{before}\n.visible .entry k(.param .u64 p0, .param .u32 p1)\n"
    whole = f"{head}{{\n{DECLARED}{text}\n}}\n{after}"
    return next(f for f in module(whole).functions if f.name == "k")


def one(text: str, before: str = "") -> Instruction:
    """The first instruction of a body."""
    return body(text, before).instructions[0]


def integer(value: int) -> Immediate:
    return Immediate("int", value & 0xFFFFFFFFFFFFFFFF)


R1, R2, P1 = Register("%r1"), Register("%r2"), Register("%p1")


# ---------------------------------------------------------------- header


def test_header() -> None:
    m = module(".version 8.4\n.target sm_90a, debug\n.address_size 64\n")
    assert (m.version, m.target, m.address_size) == ((8, 4), ("sm_90a", "debug"), 64)


def test_address_size_defaults_to_32_bits() -> None:
    assert module(".version 1.4\n.target sm_10, map_f64_to_f32\n").address_size == 32


def test_isa_1_4() -> None:
    m = module(
        '\t.version 1.4\n\t.target sm_10, map_f64_to_f32\n\t.file\t1\t"<command-line>"\n'
        "\t.entry _Z3addPf (\n\t\t.param .u32 __cudaparm__Z3addPf_a)\n\t{\n"
        "\t.reg .u16 %rh<3>;\n\t.reg .u32 %r<8>;\n\t.reg .f32 %f<3>;\n\t.loc\t4\t1\t0\n"
        "$LBB1__Z3addPf:\n\tmov.u16 \t%rh1, %ctaid.x;\n\tld.param.u32 \t%r1, [__cudaparm__Z3addPf_a];\n"
        "\tcvt.u32.u16 \t%r2, %rh1;\n\tld.global.f32 \t%f1, [%r1+0];\n\texit;\n$LDWend__Z3addPf:\n"
        "\t} // _Z3addPf\n"
        '@@DWARF .section .debug_info, "",@progbits\n'
    )
    k = m.kernels[0]
    assert [i.base for i in k.instructions] == ["mov", "ld", "cvt", "ld", "exit"]
    assert k.labels == {"$LBB1__Z3addPf": 0, "$LDWend__Z3addPf": 5}
    assert m.address_size == 32
    assert m.sections["@@DWARF"].startswith("@@DWARF .section")


def test_old_modifier_orders_and_blanks_inside_opcodes() -> None:
    k = body("ld.u32.global %r1, [%rd1]; atom.add.global.u32 %r1, [%rd1], 1; ld .global .u32 %r1, [%rd1];")
    assert [i.opcode for i in k.instructions] == ["ld.u32.global", "atom.add.global.u32", "ld.global.u32"]
    assert k.instructions[0].parts == ("ld", "u32", "global")


def test_files_by_index() -> None:
    m = module(HEAD + '.file 1 "/src/a.cu"\n.file\t2 "b \\"q\\".h", 1234, 99\n')
    assert m.files == {1: "/src/a.cu", 2: 'b "q".h'}


def test_sections_are_kept_as_text() -> None:
    m = module(
        HEAD + ".section .debug_abbrev\n{\n.b8 1\n.b8 2 // }\n}\n.section .debug_str { s: .b8 65,0 }\n"
    )
    assert m.sections[".debug_abbrev"].split() == [".b8", "1", ".b8", "2"]
    assert list(m.sections) == [".debug_abbrev", ".debug_str"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: "\ufeff" + t,
        lambda t: t + "\0",
        lambda t: t + "\0\0\0",
        lambda t: "// ünïcödé — Ω\n" + t,
        lambda t: (
            "\n\nFatbin ptx code:\n================\narch = sm_90\ncode version = [9,0]\nhost = linux\n"
            "compile_size = 64bit\ncompressed\nidentifier = a.cu\n\n//\n// Generated\n//\n" + t
        ),
        lambda t: "/* { */" + t + "// }}}\n",
    ],
    ids=["crlf", "cr", "bom", "nul", "nuls", "non-ascii", "cuobjdump", "comments"],
)
def test_dressings_of_the_same_text(wrap) -> None:  # type: ignore[no-untyped-def]
    text = HEAD + ".visible .entry k(.param .u32 a)\n{\n.reg .b32 %r<3>;\nadd.u32 %r1, %r2, 1;\nret;\n}\n"
    m = module(wrap(text))
    assert [i.text for i in m.kernels[0].instructions] == ["add.u32 %r1, %r2, 1", "ret"]
    assert m.version == (9, 0)


def test_bytes_of_all_kinds_load(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = HEAD + '.file 1 "é.cu"\n.entry k { ret; }\n'
    for data in (
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        text.encode("latin-1"),
    ):
        assert ptx.load(data).kernels[0].name == "k"
    path = tmp_path / "k.ptx"
    path.write_text(text, encoding="utf-8")
    assert ptx.load(path).files == {1: "é.cu"}
    assert ptx.load(str(path)).name == str(path)


def test_several_texts_of_cuobjdump() -> None:
    part = (
        "Fatbin ptx code:\n================\narch = sm_{a}\n\n"
        ".version 8.0\n.target sm_{a}\n.entry k{a} {{ ret; }}\n\n"
    )
    text = "\nFatbin elf code:\n================\narch = sm_80\n\n" + part.format(a=80) + part.format(a=90)
    both = ptx.parse_all(text)
    assert [m.target for m in both] == [("sm_80",), ("sm_90",)]
    assert both[1].kernels[0].line == 20
    first = ptx.parse(text)
    assert first.kernels[0].name == "k80"
    assert "2 PTX texts" in first.diagnostics[0].message


# ---------------------------------------------------------------- functions


def test_entries_and_linkage() -> None:
    m = module(
        HEAD + ".entry a { ret; } .visible .entry b() { ret; } .weak .entry c(.param .u32 x) { ret; }\n"
        ".extern .func d (.param .b32 x) ; .entry .visible e { ret; }"
    )
    assert [(f.name, f.is_entry, f.linkage, f.has_body) for f in m.functions] == [
        ("a", True, "", True), ("b", True, "visible", True), ("c", True, "weak", True),
        ("d", False, "extern", False), ("e", True, "visible", True),
    ]  # fmt: skip


def test_function_with_returns_and_prototype_before_it() -> None:
    m = module(
        HEAD + ".func (.param .b32 r) f (.param .b32 a, .param .align 8 .b8 s[16]);\n"
        ".visible .func (.param .b32 r) f (.param .b32 a, .param .align 8 .b8 s[16]) { st.param.b32 [r], 1; "
        "ret; }\n"
        ".func (.reg .u32 o) g (.reg .u32 x, .reg .f64 y) { add.u32 o, x, 1; ret; }"
    )
    f, g = m.functions
    assert (f.name, f.has_body, f.linkage) == ("f", True, "visible")
    assert [p.name for p in f.returns] == ["r"]
    assert [(p.name, p.size, p.align, p.count) for p in f.params] == [("a", 4, 4, 1), ("s", 16, 8, 16)]
    assert g.registers == {"o": "u32", "x": "u32", "y": "f64"}
    assert g.instructions[0].operands == (Register("o"), Register("x"), integer(1))


def test_parameters() -> None:
    m = module(
        HEAD + ".entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .align 8 .b8 c[12],"
        " .param .f32 f[4], .param .u64 .ptr .shared s, .param .b8 open[], .param .v4 .f32 v) { ret; }"
    )
    a, b, c, f, s, o, v = m.kernels[0].params
    assert (a.pointer, a.pointer_align, a.size, a.type) == ("global", 16, 8, "u64")
    assert (b.pointer, b.pointer_align) == ("generic", 0)
    assert (c.is_array, c.count, c.size, c.align, c.type, c.pointer) == (True, 12, 12, 8, "b8", None)
    assert (f.is_array, f.count, f.size, f.align) == (True, 4, 16, 4)
    assert s.pointer == "shared"
    assert (o.is_array, o.size) == (True, 0)
    assert (v.count, v.size, v.align) == (4, 16, 16)


def test_performance_directives() -> None:
    m = module(
        HEAD
        + '.entry a .maxnreg 32 .reqntid 32,2 .minnctapersm 2 .pragma "x", "y"; { .pragma "nounroll"; ret; '
        "}\n"
        ".entry b .reqnctapercluster 2,1,1 .explicitcluster .maxntid 1,2,3 .maxclusterrank 8 { ret; }\n"
        ".entry c .blocksareclusters .reqnctapercluster 2 .reqntid 64 { ret; }\n"
        ".extern .func d (.param .b32 x) .noreturn ;\n"
        ".func e .abi_preserve 8 .abi_preserve_control 3 { ret; }"
    )
    a, b, c, d, e = m.functions
    assert a.directives == {"maxnreg": (32,), "reqntid": (32, 2), "minnctapersm": (2,)}
    assert a.pragmas == ("x", "y", "nounroll")
    assert b.directives["maxntid"] == (1, 2, 3)
    assert b.directives["explicitcluster"] == ()
    assert c.directives["blocksareclusters"] == ()
    assert d.noreturn
    assert not e.noreturn
    assert e.directives["abi_preserve"] == (8,)


def test_alias_is_a_function_of_its_own_name() -> None:
    m = module(
        HEAD + ".visible .func f(.param .b32 x) { ret; } .visible .func g(.param .b32 x); .alias g, f;"
    )
    g = next(f for f in m.functions if f.name == "g")
    assert g.has_body
    assert len(g.instructions) == 1


def test_lines_of_functions() -> None:
    m = module(HEAD + "\n.visible .entry k(\n  .param .u32 a\n)\n{\n ret;\n}\n")
    assert (m.kernels[0].line, m.kernels[0].end_line) == (5, 10)


# ---------------------------------------------------------------- registers and names


def test_registers_parameterised_and_named() -> None:
    k = body(
        ".reg .u32 counter, _x, $y; .reg .pred q; .reg .v4 .f32 %v; .reg .f16x2 %w<2>;\n"
        "mov.u32 counter, 5; add.u32 _x, counter, $y; @q bra L; @!q bra L; L: ld.global.u32 _x, [p+4];"
        ".reg .u64 p;"
    )
    assert k.registers["counter"] == "u32"
    assert k.registers["%v"] == "v4.f32"
    assert k.registers["%w1"] == "f16x2"
    assert k.registers["%r19"] == "b32"
    assert "%r20" not in k.registers
    assert k.instructions[1].operands == (Register("_x"), Register("counter"), Register("$y"))
    assert k.instructions[2].guard == Guard(Register("q"))
    assert k.instructions[3].guard == Guard(Register("q"), negated=True)
    assert k.instructions[4].operands[1] == Address(Register("p"), 4)


def test_special_registers() -> None:
    k = body(
        "mov.u32 %r1, %tid.x; mov.u32 %r1, %laneid; mov.u64 %rd1, %clock64; mov.v4.u32 {%r1,%r2,%r3,%r4}, "
        "%ctaid;"
    )
    assert [i.operands[1] for i in k.instructions] == [
        SpecialRegister("%tid.x"), SpecialRegister("%laneid"), SpecialRegister("%clock64"),
        SpecialRegister("%ctaid"),
    ]  # fmt: skip


def test_vector_registers_and_components() -> None:
    k = body(
        ".reg .v4 .f32 %v; .reg .v2 .u32 w; mov.f32 %v.x, %f1; add.f32 %f1, %v.y, %v.a; mov.u32 %r1, w.y;"
    )
    assert k.instructions[0].operands[0] == Component(Register("%v"), 0)
    assert k.instructions[1].operands[1:] == (Component(Register("%v"), 1), Component(Register("%v"), 3))
    assert k.instructions[2].operands[1] == Component(Register("w"), 1)


def test_video_selectors_and_negated_source() -> None:
    k = body("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1; vmad.u32.u32.u32 %r1, %r2, %r3, -%r4;")
    assert k.instructions[0].operands[1] == Component(R2, 0, "b0")
    assert k.instructions[1].operands[3] == Negated(Register("%r4"), arithmetic=True)


# ---------------------------------------------------------------- operands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[%rd1]", Address(Register("%rd1"))),
        ("[%rd1+8]", Address(Register("%rd1"), 8)),
        ("[ %rd1 + 0x10 ]", Address(Register("%rd1"), 16)),
        ("[%rd1+-4]", Address(Register("%rd1"), -4)),
        ("[%rd1 + -4]", Address(Register("%rd1"), -4)),
        ("[%rd1-4]", Address(Register("%rd1"), -4)),
        ("[%rd1+4*2]", Address(Register("%rd1"), 8)),
        ("[%rd1+(4*2)]", Address(Register("%rd1"), 8)),
        ("[a]", Address(Symbol("a"))),
        ("[a+4]", Address(Symbol("a"), 4)),
        ("[a+-4]", Address(Symbol("a"), -4)),
        ("[1024]", Address(integer(1024))),
        ("a[2]", Address(Symbol("a"), 8)),
        ("a[WARP_SZ-30]", Address(Symbol("a"), 8)),
        ("a[%r2]", Address(Symbol("a"), 0, OperandList((R2,)))),
        ("a[%rd2+4]", Address(Symbol("a"), 4, OperandList((Register("%rd2"),)))),
        ("w[1]", Address(Symbol("w"), 12)),
    ],
)
def test_addresses(text: str, expected: Address) -> None:
    assert (
        one(f"ld.global.u32 %r1, {text};", ".global .u32 a[4]; .global .u32 w[2][3];").operands[1] == expected
    )


def test_address_of_an_element_is_a_symbol() -> None:
    k = body("mov.u64 %rd1, a[1]; mov.u64 %rd1, a+4; mov.u64 %rd1, a;", ".global .u64 a[4];")
    assert [i.operands[1] for i in k.instructions] == [Symbol("a", 8), Symbol("a", 4), Symbol("a")]


def test_tensor_and_texture_addresses() -> None:
    k = body(
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,_}, [%rd1, {%f5,%f6}];\n"
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, s, {%f5,%f6}];\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
        "%r3}], [%r4];",
        ".global .texref t; .global .samplerref s = { filter_mode = nearest };",
    )
    xy = Vector((Register("%f5"), Register("%f6")))
    assert k.instructions[0].operands[0] == Vector(
        (Register("%f1"), Register("%f2"), Register("%f3"), Sink())
    )
    assert k.instructions[0].operands[1] == Address(Register("%rd1"), 0, xy)
    assert k.instructions[1].operands[1] == Address(Symbol("t"), 0, OperandList((Symbol("s"), xy)))
    assert k.instructions[2].operands[1] == Address(Register("%rd1"), 0, Vector((R2, Register("%r3"))))
    assert k.instructions[2].parts[5:] == ("shared::cluster", "global", "mbarrier::complete_tx::bytes")


def test_vectors_sinks_pairs_and_complements() -> None:
    k = body(
        "mov.b64 {%r1, _}, %rd1; setp.eq.u32 %p1|_, %r1, 3; shfl.sync.idx.b32 %r1|%p1, %r2, 1, 31, -1;\n"
        "setp.ne.and.u32 %p1|%p2, %r1, %r2, !%p3; elect.sync _|%p1, -1; atom.global.add.u32 _, [%rd1], 1;"
    )
    ops = [i.operands for i in k.instructions]
    assert ops[0] == (Vector((R1, Sink())), Register("%rd1"))
    assert ops[1][0] == Pair(P1, Sink())
    assert ops[2][0] == Pair(R1, P1)
    assert ops[3][3] == Negated(Register("%p3"))
    assert ops[4][0] == Pair(Sink(), P1)
    assert ops[5][0] == Sink()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("42", 42), ("-1", -1), ("0x1F", 31), ("0xFFFFFFFFU", 0xFFFFFFFF), ("017", 15),
        ("0b101", 5),
        ("7U", 7), ("(1+2)*3", 9), ("1+2*3", 7), ("1<<4|3", 19), ("WARP_SZ", 32), ("WARP_SZ-1", 31),
        ("5>3?7:9", 7),
        ("~0", -1), ("!5", 0), ("-(-3)", 3), ("7 % 4", 3), ("-7 / 2", -3), ("10-4-3", 3), ("(.u64)5", 5),
        ("(.s64)5+3", 8), ("0xFFFFFFFFFFFFFFFF", -1), ("6 & 3 ^ 1", 3), ("1 == 1 && 2 != 3", 1),
        ("0 || 0", 0),
    ],
)  # fmt: skip
def test_integer_constants(text: str, value: int) -> None:
    found = one(f"mov.u64 %rd1, {text};").operands[1]
    assert isinstance(found, Immediate)
    assert (found.kind, found.value) == ("int", value)
    assert 0 <= found.bits < 1 << 64


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0f3F800000", "f32", 1.0), ("0fBF800000", "f32", -1.0), ("0d3FF8000000000000", "f64", 1.5),
        ("1.5", "f64", 1.5), ("-0.5", "f64", -0.5), ("2.", "f64", 2.0), (".5", "f64", 0.5),
        ("1e3", "f64", 1000.0),
        ("1.0e-3", "f64", 0.001), ("1.0+2.0", "f64", 3.0),
    ],
)  # fmt: skip
def test_float_constants(text: str, kind: str, value: float) -> None:
    found = one(f"mov.f64 %fd1, {text};").operands[1]
    assert isinstance(found, Immediate)
    assert (found.kind, found.value) == (kind, value)


@pytest.mark.parametrize(
    "text",
    [
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0",
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, %p1",
        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3 + 4]",
        "tcgen05.wait::ld.sync.aligned",
        "multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, [%rd1]",
        "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.f32 %f1, [%rd1], %rd2",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3]",
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5",
        "setmaxnreg.inc.sync.aligned.u32 240",
    ],
)
def test_double_colons_inside_modifiers(text: str) -> None:
    k = body(f"{text};")
    assert k.instructions[0].opcode == text.split(" ")[0]
    assert k.instructions[0].text == text


# ---------------------------------------------------------------- control


def test_labels_and_branches() -> None:
    k = body("L1 : add.u32 %r1, %r1, 1;\n@%p1 bra L1;\n@!%p1 bra.uni L2;\n@ %p1 bra L1; L2:")
    assert k.labels == {"L1": 0, "L2": 4}
    assert k.instructions[2].guard == Guard(P1, negated=True)
    assert k.instructions[3].guard == Guard(P1)


def test_brx_idx_and_its_table() -> None:
    k = body("ts: .branchtargets L1,\n L2;\n@%p1 brx.idx.uni %r1, ts; L1: mov.u32 %r1, 1; L2: ret;")
    assert k.branch_targets == {"ts": ("L1", "L2")}
    assert k.instructions[0].operands == (R1, Symbol("ts"))


def test_calls_over_several_lines_with_prototype_and_targets() -> None:
    k = body(
        ".reg .u64 fp; mov.u64 fp, f;\n{\n.param .b32 r;\n.param .b32 a;\nst.param.b32 [a], %r1;\n"
        "pr : .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\nct: .calltargets f, g;\n"
        "call.uni (r), \n\tf, \n\t(\n\ta\n\t);\ncall (r), fp, (a), pr;\ncall (%r2), fp, (%r1), ct;\n"
        "call h;\n}",
        ".func (.param .b32 q) f (.param .b32 w); .func (.param .b32 q) g (.param .b32 w); .func h;",
    )
    direct, indirect, registers, bare = k.instructions[2:]
    assert direct.operands == (OperandList((Symbol("r"),)), Symbol("f"), OperandList((Symbol("a"),)))
    assert direct.text == "call.uni (r), f, ( a )"
    assert indirect.operands[1] == Register("fp")
    assert indirect.operands[3] == Symbol("pr")
    assert registers.operands[0] == OperandList((R2,))
    assert bare.operands == (Symbol("h"),)
    assert k.call_targets == {"ct": ("f", "g")}
    returns, arguments = k.prototypes["pr"]
    assert (returns[0].type, arguments[0].size) == ("b32", 4)


def test_comments_anywhere_and_braces_in_strings() -> None:
    k = body('/* } { */ mov.u32 // ; }\n %r1, /* { */ 1 /* ; */ ; // {\n.pragma "}{;//"; /* " */ ret; // "')
    assert [i.text for i in k.instructions] == ["mov.u32 %r1, 1", "ret"]
    assert k.pragmas == ("}{;//",)


def test_places_of_instructions() -> None:
    k = body("  mov.u32 %r1, 1; mov.u32 %r2,\n    2;\n\t@%p1 ret;")
    assert [(i.line, i.column) for i in k.instructions] == [(8, 3), (8, 19), (10, 2)]


def test_unknown_opcode_and_directive_are_kept_and_reported_once() -> None:
    m = ptx.parse(
        HEAD + ".shiny 1, 2;\n.entry k {\n.reg .b32 %r<3>;\nfrobnicate.u32 %r1, %r2;\n"
        "frobnicate.u32 %r2, <what>;\n"
        ".odd 7\n.odd 8\nret;\n}\n.shiny { x }\n"
    )
    assert [(d.severity, d.message) for d in m.diagnostics] == [
        ("warning", "unknown directive '.shiny' is kept as text"),
        ("info", "unknown opcode 'frobnicate' is kept as text"),
        ("warning", "unknown directive '.odd' is kept as text"),
    ]
    assert m.diagnostics[0].source_line == ".shiny 1, 2;"
    first, second, last = m.kernels[0].instructions
    assert first.operands == (R1, R2)
    assert (second.text, second.operands) == ("frobnicate.u32 %r2, <what>", ())
    assert last.opcode == "ret"

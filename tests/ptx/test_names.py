"""Nested scopes dissolved: what collides gets a name of its own, what does not keeps it."""

from __future__ import annotations

from warpglass import ptx
from warpglass.ptx import Function, Register, Symbol

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def kernel(text: str, before: str = "") -> Function:
    m = ptx.parse(
        f"{HEAD}{before}\n.entry k(.param .u64 p0)\n{{\n.reg .b32 %r<9>; .reg .pred %p<3>;\n{text}\n}}\n"
    )
    assert m.diagnostics == ()
    return m.kernels[0]


def results(function: Function) -> list[str]:
    """Names of the first operands."""
    return [getattr(i.operands[0], "name", "?") for i in function.instructions]


def test_names_without_a_collision_stay() -> None:
    k = kernel("{ .reg .u32 t; mov.u32 t, 1; }\n{ .reg .u32 s; mov.u32 s, 2; }")
    assert results(k) == ["t", "s"]


def test_siblings_with_the_same_names() -> None:
    k = kernel(
        "{ .reg .u32 t; mov.u32 t, 1; }\n{ .reg .f32 t; mov.f32 t, 0f3F800000; }\n"
        "{ .reg .u64 t; mov.u64 t, 3; }"
    )
    first, second, third = results(k)
    assert len({first, second, third}) == 3
    assert [k.registers[n] for n in (first, second, third)] == ["u32", "f32", "u64"]


def test_inner_shadows_outer_until_its_brace() -> None:
    k = kernel("{ .reg .u32 t; mov.u32 t, 1; { .reg .u64 t; mov.u64 t, 2; } add.u32 t, t, 1; }")
    outer, inner, again = results(k)
    assert outer == again != inner
    assert k.registers[inner] == "u64"


def test_families_of_registers_shadow_too() -> None:
    k = kernel("{ .reg .b64 %r<3>; mov.b64 %r1, 2; }\nmov.b32 %r1, 1; mov.b32 %r7, 1;")
    inner, outer, other = results(k)
    assert inner != outer
    assert (outer, other) == ("%r1", "%r7")
    assert k.registers[inner] == "b64"


def test_guards_follow_their_scope() -> None:
    asm = "{ .reg .pred p; setp.eq.u32 p, %r1, 0; @p mov.u32 %r2, 1; @!p mov.u32 %r2, 2; }\n"
    k = kernel(asm + asm)
    guards = [i.guard.register.name for i in k.instructions if i.guard is not None]
    assert guards[0] == guards[1] == results(k)[0]
    assert guards[2] == guards[3] == results(k)[3] != guards[0]


def test_labels_of_inline_asm_are_local() -> None:
    wait = (
        "{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;\n"
        "@P1 bra DONE;\n"
        "bra LAB_WAIT;\nDONE:\n}\n"
    )
    k = kernel(wait + wait)
    targets = [
        i.operands[0].name for i in k.instructions if i.base == "bra" and isinstance(i.operands[0], Symbol)
    ]
    assert [k.labels[t] for t in targets] == [3, 0, 6, 3]
    assert len(set(targets)) == 4


def test_branch_out_of_a_scope() -> None:
    k = kernel("{ bra OUT; }\nmov.u32 %r1, 1;\nOUT: ret;")
    assert k.labels["OUT"] == 2


def test_parameters_of_call_sequences() -> None:
    call = (
        "{ // callseq 0, 0\n.reg .b32 temp_param_reg;\n.param .b64 param0;\nst.param.b64 [param0+0], %r1;\n"
        ".param .b32 retval0;\ncall.uni (retval0), \nf, \n(\nparam0\n);\nld.param.b32 %r1, [retval0+0];\n"
        "} // callseq 0\n"
    )
    k = kernel(call + call, ".func (.param .b32 q) f (.param .b64 w);")
    assert [(v.space, v.size) for v in k.variables] == [("param", 8), ("param", 4)] * 2
    assert len({v.name for v in k.variables}) == 4
    stores = [i.operands[0].base.name for i in k.instructions if i.base == "st"]  # type: ignore[union-attr]
    assert stores[0] != stores[1]
    assert {v.name for v in k.variables} >= set(stores)
    assert [v.line for v in k.variables if v.size == 8] == [10, 22]


def test_unique_names_avoid_names_of_the_text() -> None:
    k = kernel("{ .reg .u32 t; mov.u32 t, 1; }\n{ .reg .u32 t; mov.u32 t, t$1; }", ".global .u32 t$1;")
    first, second = results(k)
    assert second not in ("t", "t$1")
    assert k.instructions[1].operands[1] == Symbol("t$1")
    assert first == "t"


def test_one_statement_in_two_scopes_means_two_things() -> None:
    k = kernel("{ .reg .u32 t;\nmov.u32 t, 1;\n}\n{ .reg .u64 t;\nmov.u32 t, 1;\n}\nmov.u32 %r1, 1;")
    first, second, _ = results(k)
    assert first != second


def test_register_named_like_a_special_register() -> None:
    k = kernel(".reg .u32 %laneid;\nmov.u32 %laneid, 1;")
    assert k.instructions[0].operands[0] == Register("%laneid")


def test_huge_families_exist_where_they_are_used() -> None:
    k = kernel(".reg .b32 %big<4000000000>;\nmov.b32 %big3999999999, %big7;")
    assert k.registers["%big7"] == "b32"
    assert "%big8" not in k.registers
    assert len(k.registers) < 100


def test_deep_scopes_and_many_collisions() -> None:
    k = kernel("{ .reg .u32 t;\nmov.u32 t, 1;\n" * 900 + "}\n" * 900)
    assert len(set(results(k))) == 900
    many = kernel("{ .reg .u32 t; mov.u32 t, 1; }\n" * 20000)
    assert len(set(results(many))) == 20000

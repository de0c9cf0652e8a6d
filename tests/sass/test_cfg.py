"""Edges that are easy to get wrong."""

from __future__ import annotations

from warpglass.flow.sass import sass_cfg
from warpglass.sass import parse
from warpglass.sass.cfg import branch, call_target, code_length, convergence, far_jump, jump_base
from warpglass.sass.model import Function, Instruction

from .conftest import listing


def code(*rows: str) -> Function:
    text = "\n".join(f"/*{16 * index:04x}*/ {row} ;" for index, row in enumerate(rows))
    return parse("Function : f\n" + text).functions[0]


def one(text: str) -> Instruction:
    return code(text).instructions[0]


def test_preexit_is_no_exit() -> None:
    function = code("PREEXIT", "ACQBULK", "EXIT")
    assert branch(function.instructions[0]) is None
    graph = sass_cfg(function)
    assert len(graph.blocks) == 1
    assert graph.blocks[0].end == 3


def test_relative_jump_base_may_be_negative() -> None:
    function = code("NOP", "BRX R4 -0x960", "EXIT")
    assert jump_base(function.instructions[1]) == 0x20 - 0x960
    assert jump_base(one("BRXU UR4 -0x8f0")) == 0x10 - 0x8F0
    assert jump_base(one("BRX R2 0x40")) == 0x50
    assert jump_base(one("BRA 0x40")) is None
    found = branch(function.instructions[1])
    assert found is not None
    assert found.indirect
    assert found.leaves


def test_annotated_targets_of_an_indirect_branch() -> None:
    text = (
        '.section .text.f\n.text.f:\n/*0000*/ BRX R4 -0x10 (*"BRANCH_TARGETS .L_a,.L_b"*);\n'
        ".L_a:\n/*0010*/ EXIT ;\n.L_b:\n/*0020*/ BRA `(.L_b) ;\n"
    )
    function = parse(text).functions[0]
    found = branch(function.instructions[0])
    assert found is not None
    assert found.targets == (0x10, 0x20)
    assert not found.leaves
    assert sass_cfg(function).blocks[0].successors == (1, 2)


def test_return_is_no_edge_to_the_entry() -> None:
    function = code("S2R R0, SR_TID.X", "CALL.REL.NOINC 0x30", "EXIT", "RET.REL.NODEC R4 0x0")
    found = branch(function.instructions[3])
    assert found is not None
    assert found.targets == ()
    assert found.leaves
    assert sass_cfg(function).blocks[0].predecessors == ()


def test_calls_come_back() -> None:
    function = code("CALL.REL.NOINC 0x30", "MOV R0, R1", "EXIT", "RET.REL.NODEC R4 0x0")
    assert branch(function.instructions[0]) is None
    assert call_target(function.instructions[0]) == 0x30
    assert call_target(one("CALL.ABS.NOINC R10")) is None
    assert call_target(one("CALL.REL.NOINC R6 0x0")) is None
    graph = sass_cfg(function)
    assert graph.block_at(0) == graph.block_at(1)


def test_a_call_to_a_place_in_the_code_is_a_jump() -> None:
    """ptxas leaves large loops by such calls: nothing comes back, and nothing else leads behind the loop."""
    text = (
        ".section .text.f\n.text.f:\n.L_x_2:\n/*0000*/ IADD3 R0, R0, 0x1, RZ ;\n"
        "/*0010*/ @P0 CALL.REL.NOINC `(.L_x_1) ;\n/*0020*/ BRA `(.L_x_2) ;\n"
        ".L_x_1:\n/*0030*/ EXIT ;\n"
    )
    function = parse(text).functions[0]
    found = far_jump(function.instructions[1])
    assert found is not None
    assert (found.targets, found.falls) == ((0x30,), True)
    graph = sass_cfg(function)
    assert [block.successors for block in graph.blocks] == [(1, 2), (0,), ()]
    named = parse(text.replace("`(.L_x_1)", "`($f$__internal_0)")).functions[0]
    assert far_jump(named.instructions[1]) is None
    assert far_jump(one("CALL.REL.NOINC 0x30")) is None  # nobody told what lies there


def test_asynchronous_copy_is_neither_load_nor_store() -> None:
    instruction = one("LDGSTS.E.BYPASS.128 [R16], desc[UR10][R4.64]")
    assert instruction.base == "LDGSTS"
    assert instruction.base not in ("LDG", "STS")


def test_padding_is_no_code() -> None:
    function = parse(listing("saxpy.sm_80.cuobjdump.sass")).functions[0]
    count = code_length(function)
    assert function.instructions[count - 1].text == "BRA 0xf0"
    assert all(i.base == "NOP" for i in function.instructions[count:])
    assert sass_cfg(function).instructions == count
    assert code_length(code("NOP", "MOV R0, R1", "NOP", "EXIT", "NOP", "NOP")) == 4


def test_conditional_branches() -> None:
    for text in (
        "@P0 BRA 0x40", "@!UP1 BRA 0x40", "BRA P2, 0x40", "BRA.U !UP0, 0x40", "BRA.DIV ~URZ, 0x40",
        "BRA.DIV UR4, 0x40", "@!P0 BRA !P2, 0x40", "BRA.CONV ~URZ, 0x40",
    ):  # fmt: skip
        found = branch(one(text))
        assert found is not None, text
        assert found.targets == (0x40,), text
        assert found.falls, text
    for text in ("BRA 0x40", "BRA PT, 0x40", "JMP 0x40"):
        found = branch(one(text))
        assert found is not None
        assert not found.falls
    assert branch(one("@!PT BRA 0x40")) is None


def test_exits() -> None:
    plain, guarded, both = branch(one("EXIT")), branch(one("@P0 EXIT")), branch(one("@P0 EXIT P1"))
    assert plain is not None
    assert guarded is not None
    assert both is not None
    assert (plain.falls, guarded.falls, both.falls) == (False, True, True)
    trap = branch(one("BPT.TRAP 0x1"))
    assert trap is not None
    assert trap.dies


def test_convergence_names() -> None:
    assert convergence(one("BSSY.RECONVERGENT B3, 0x80")) == ("BSSY", 3, 0x80)
    assert convergence(one("BSYNC B3")) == ("BSYNC", 3, None)
    assert convergence(one("@!P0 BREAK.RELIABLE P1, B0")) == ("BREAK", 0, None)
    assert convergence(one("BMOV.32.CLEAR R16, B6")) == ("BMOV", 6, None)
    assert convergence(one("WARPSYNC 0xff")) is None
    for text in ("WARPSYNC R4", "WARPSYNC.COLLECTIVE R13, 0x40", "YIELD", "NANOSLEEP 0x64", "BSSY B0, 0x30"):
        assert branch(one(text)) is None


def test_loop() -> None:
    function = code(
        "MOV R0, RZ", "IADD3 R0, R0, 0x1, RZ", "ISETP.LT.AND P0, PT, R0, 0xa, PT", "@P0 BRA 0x10", "EXIT"
    )
    graph = sass_cfg(function)
    assert len(graph.loops) == 1
    assert graph.blocks[graph.loops[0].header].start == 1

"""Listings: the tools' layouts, pasted text, and the cases of other projects' issues."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from warpglass.errors import ParseError
from warpglass.sass import parse
from warpglass.sass.model import Function, Module
from warpglass.sass.operands import Address, Label, Predicate, Register, UniformRegister

from .conftest import Build, listing


def only(module: Module) -> Function:
    assert len(module.functions) == 1
    return module.functions[0]


def test_cuobjdump() -> None:
    module = parse(listing("saxpy.sm_80.cuobjdump.sass"), "saxpy.sass")
    function = only(module)
    assert (module.kind, module.arch, module.sm) == ("cuobjdump", "sm_80", 80)
    assert (function.name, function.is_kernel, function.complete) == ("saxpy", True, True)
    assert not module.diagnostics
    assert not module.missing
    leave = function.instructions[5]
    assert leave.text == "@P0 EXIT"
    assert leave.guard == Predicate(0)
    assert leave.offset == 0x50
    assert leave.words == (0x000000000000094D, 0x000FEA0003800000)
    assert module.text.splitlines()[leave.line - 1].split("*/")[1].strip().startswith("@P0 EXIT")
    load = function.instructions[10]
    assert load.parts == ("LDG", "E")
    assert load.operands == (Register(2), Address(Register(2, ("64",)), None, 0))


def test_nvdisasm_with_subroutines_and_labels() -> None:
    module = parse(listing("calls.sm_120.nvdisasm.sass"))
    function = only(module)
    assert (module.kind, module.arch) == ("nvdisasm", "sm_120")
    names = set(function.subroutines.values())
    assert {"$calls$_Z4facti", "$calls$_Z3gcdii", "$calls$_Z3addii"} <= names
    call = next(i for i in function.instructions if i.base == "CALL")
    assert call.operands == (Label("$calls$_Z4facti", function.labels["$calls$_Z4facti"]),)
    assert function.subroutines[function.labels["$calls$_Z4facti"]] == "$calls$_Z4facti"
    assert all(instruction.control is not None for instruction in function.instructions)


def test_line_info_with_inlining() -> None:
    function = only(parse(listing("inline3.sm_90a.gi.sass")))
    chains = {tuple(frame.line for frame in i.frames) for i in function.instructions}
    assert (3, 6, 10, 16) in chains
    assert (6, 10, 16) in chains
    assert (18,) in chains
    assert {frame.file.rsplit("/")[-1] for i in function.instructions for frame in i.frames} == {"inline3.cu"}


def test_live_counts() -> None:
    function = only(parse(listing("tiled.sm_75.plr.sass")))
    assert function.registers == 63
    first = function.instructions[0].live
    assert first is not None
    assert (first.registers, first.predicates) == (1, 0)
    assert max(i.live.registers or 0 for i in function.instructions if i.live) > 30


def _pasted(text: str) -> str:
    bare = re.sub(r"/\*.*?\*/", "", text)
    return "\n".join(line.strip() for line in bare.splitlines() if ";" in line)


def test_pasted_text_is_the_same_code() -> None:
    text = listing("saxpy.sm_80.cuobjdump.sass")
    full, pasted = only(parse(text)), parse(_pasted(text))
    assert [i.text for i in only(pasted).instructions] == [i.text for i in full.instructions]
    assert [i.offset for i in only(pasted).instructions] == [i.offset for i in full.instructions]
    assert "function header" in pasted.missing
    assert only(pasted).instructions[0].control is None
    assert pasted.arch is None


def test_pasted_without_line_breaks() -> None:
    function = only(parse("MOV R1, c[0x0][0x28] ; S2R R0, SR_TID.X ; @P0 EXIT ; EXIT ;"))
    assert [i.opcode for i in function.instructions] == ["MOV", "S2R", "EXIT", "EXIT"]


def test_pasted_without_semicolons() -> None:
    function = only(parse("  MOV R1, c[0x0][0x28]\n  @!P1 BRA 0x10\n  EXIT\n"))
    assert [i.opcode for i in function.instructions] == ["MOV", "BRA", "EXIT"]
    assert function.instructions[1].guard == Predicate(1, negated=True)


def test_assembler_notation() -> None:
    """Case sass-operand-desc: ``.EL`` is an eviction hint; nothing may hide the operands."""
    text = "[B------:R3:W4:-:S06] @P3 LDG.E.EL.128 R12, desc[UR8][R16.64] ;"
    instruction = only(parse(text)).instructions[0]
    assert instruction.guard == Predicate(3)
    address = Address(Register(16, ("64",)), None, 0, descriptor=UniformRegister(8))
    assert instruction.operands == (Register(12), address)
    control = instruction.control
    assert control is not None
    assert (control.read_barrier, control.write_barrier, control.stall) == (3, 4, 6)


def test_inlined_at_comment_is_one_location() -> None:
    """Case line-inlined-at: the bare second comment is the caller of the first, not a new place."""
    text = (
        '//## File "f.py", line 5 inlined at "f.py", line 3\n'
        '//## File "f.py", line 3\n'
        "S2R R0, SR_TID.X ;\nS2R R1, SR_CTAID.X ;\nIMAD R0, R1, c[0x0][0x0], R0 ;\nEXIT ;\n"
    )
    for instruction in only(parse(text)).instructions[:3]:
        assert [frame.line for frame in instruction.frames] == [5, 3]


def test_a_new_comment_starts_a_new_place() -> None:
    text = '//## File "a", line 1\nNOP ;\n//## File "a", line 2\n//## File "b", line 9\nEXIT ;\n'
    first, second = only(parse(text)).instructions
    assert [frame.line for frame in first.frames] == [1]
    assert [(frame.file, frame.line) for frame in second.frames] == [("b", 9)]


MAXWELL = """
	code for sm_52
		Function : scale
	.headerflags    @"EF_CUDA_SM52 EF_CUDA_PTX_SM(EF_CUDA_SM52)"
                                                                  /* 0x001c4400fe0007f6 */
        /*0008*/                   MOV R1, c[0x0][0x20];          /* 0x4c98078000870001 */
        /*0010*/         {         S2R R0, SR_CTAID.X;            /* 0xf0c8000002570000 */
        /*0018*/                   S2R R2, SR_TID.X;        }     /* 0xf0c8000002170002 */
                                                                  /* 0x003fd800e3e007fa */
        /*0028*/                   XMAD R0, R0.reuse, c[0x0] [0x8], R2;  /* 0x4f107f8000270000 */
        /*0030*/              @P0 EXIT;                           /* 0xe30000000000000f */
        /*0038*/                   BRA 0x38;                      /* 0xe2400fffff87000f */
		..........
"""


def test_maxwell_control_words() -> None:
    module = parse(MAXWELL)
    function = only(module)
    assert module.sm == 52
    assert [i.offset for i in function.instructions] == [8, 16, 24, 40, 48, 56]
    stalls = [i.control.stall for i in function.instructions if i.control is not None]
    fields = [0x001C4400FE0007F6 >> shift & 15 for shift in (0, 21, 42)]
    fields += [0x003FD800E3E007FA >> shift & 15 for shift in (0, 21, 42)]
    assert stalls == fields
    assert [i.dual for i in function.instructions] == [False, False, True, False, False, False]
    assert not module.diagnostics


def test_architectures_keep_their_suffix_and_can_be_chosen() -> None:
    text = listing("saxpy.sm_80.cuobjdump.sass")
    newer = text.replace("sm_80", "sm_90").replace("SM80", "SM90")
    special = text.replace("sm_80", "sm_90a").replace("EF_CUDA_SM80 ", "EF_CUDA_ACCELERATORS EF_CUDA_SM90 ")
    both = text + newer + special
    assert parse(both).arch == "sm_90a"
    assert [member.arch for member in parse(both).members] == ["sm_80", "sm_90", "sm_90a"]
    assert parse(both, arch="sm_80").arch == "sm_80"
    assert parse(both, arch="sm_90").arch == "sm_90"
    with pytest.raises(ParseError, match="sm_75"):
        parse(both, arch="sm_75")


@pytest.mark.parametrize("share", [0.21, 0.4, 0.66, 0.93])
@pytest.mark.parametrize("name", ["saxpy.sm_80.cuobjdump.sass", "calls.sm_120.nvdisasm.sass"])
def test_cut_text_is_partial_and_says_so(name: str, share: float) -> None:
    text = listing(name)
    code = text.rindex("BRA") if "saxpy" in name else len(text)
    module = parse(text[: int(code * share)])
    assert module.functions
    assert "the end of the listing" in module.missing
    assert not module.functions[-1].complete
    assert any("ends" in diagnostic.message for diagnostic in module.diagnostics)


def test_hex_of_another_architecture() -> None:
    text = listing("saxpy.sm_80.cuobjdump.sass")
    swapped = text.replace("/* 0x00", "/* 0x4c").replace("0x4c0000000000094d", "0x4c0000000000f94d")
    swapped = re.sub(r"/\* 0x4c(\w{10})(\w)", r"/* 0x4c\g<1>3", swapped)
    module = parse(swapped)
    assert any("encodings" in diagnostic.message for diagnostic in module.diagnostics)
    assert all(i.control is None for i in only(module).instructions)
    old = MAXWELL.replace("sm_52", "sm_80").replace("SM52", "SM80")
    assert any("encod" in diagnostic.message for diagnostic in parse(old).diagnostics)


def test_unknown_opcode_is_kept() -> None:
    function = only(parse("FROBNICATE.X2 R4, R6, <odd> ;\nEXIT ;"))
    assert function.instructions[0].opcode == "FROBNICATE.X2"
    assert len(function.instructions[0].operands) == 3


def test_no_code_is_an_error() -> None:
    for text in ("", "\n\n", "int main() { return 0; }", "\tcode for sm_80\n"):
        with pytest.raises(ParseError):
            parse(text, "input.sass")


@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.parametrize(
    "options", [(), ("-c",), ("-hex",), ("-g", "-hex"), ("-gi",), ("-gp", "-c"), ("-plr",)]
)
def test_every_mode_of_nvdisasm_is_the_same_code(
    options: tuple[str, ...], build: Build, nvdisasm: Callable[..., str]
) -> None:  # fmt: skip
    path = build("calls", "sm_90a")
    reference = only(parse(nvdisasm(path, "-c", "-hex")))
    module = parse(nvdisasm(path, *options))
    found = only(module)
    assert not module.diagnostics
    count = len(found.instructions)
    assert [i.text for i in found.instructions] == [i.text for i in reference.instructions[:count]]
    assert count >= 380
    assert found.labels.keys() >= {"calls", "$calls$_Z4facti"}
    if "-hex" in options:
        assert [i.words for i in found.instructions] == [i.words for i in reference.instructions]
    if "-gi" in options or "-g" in options:
        assert sum(bool(i.frames) for i in found.instructions) > 300

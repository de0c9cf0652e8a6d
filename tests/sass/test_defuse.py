"""Registers read and written, against known answers and, where nvdisasm is there, register by register."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from warpglass.sass import parse
from warpglass.sass.defuse import PREDICATE, UNIFORM, UNIFORM_PREDICATE, defuse, register_name
from warpglass.sass.elf import describe, read_image

from .conftest import ARCHS, KERNELS, SPECIAL, Build

CASES = {
    "FFMA R4, R5, R6, R7": ("R5 R6 R7", "R4"),
    "@!P3 MOV R4, RZ": ("P3", "R4"),
    "LDG.E.128 R8, desc[UR4][R2.64]": ("R2 R3 UR4 UR5", "R8 R9 R10 R11"),
    "LDG.E.128.SYS R8, [R2]": ("R2 R3", "R8 R9 R10 R11"),
    "LDG.E.U8.SYS R3, [R2.U32+UR4]": ("R2 UR4 UR5", "R3"),
    "STG.E.64 desc[UR4][R2.64+0x8], R6": ("R2 R3 UR4 UR5 R6 R7", ""),
    "STS.128 [R6.X16], R8": ("R6 R8 R9 R10 R11", ""),
    "LDS.64 R4, [UR4+0x10]": ("UR4", "R4 R5"),
    "LDGSTS.E.BYPASS.128 [R16], desc[UR10][R4.64]": ("R16 R4 R5 UR10 UR11", ""),
    "IMAD.WIDE R2, R4, R5, c[0x0][0x168]": ("R4 R5", "R2 R3"),
    "IMAD.WIDE.U32 R10, P0, R8, R15, R10": ("R8 R15 R10 R11", "R10 R11 P0"),
    "IMAD.HI.U32 R3, R3, R9, R2": ("R3 R9 R2", "R3"),
    "IADD3 R8, P0, P1, R5, R7, RZ": ("R5 R7", "R8 P0 P1"),
    "IADD3.X R6, PT, PT, R10, R14, R15, P1, P2": ("R10 R14 R15 P1 P2", "R6"),
    "LOP3.LUT P0, RZ, R2, 0x1, RZ, 0xc0, !PT": ("R2", "P0"),
    "ISETP.GE.AND.EX P0, PT, R3, c[0x0][0x17c], PT, P1": ("R3 P1", "P0"),
    "PLOP3.LUT P0, P4, P0, P1, PT, 0xf8, 0x8f": ("P0 P1", "P0 P4"),
    "SEL R9, R2, RZ, !P0": ("R2 P0", "R9"),
    "DFMA R14, R12, c[0x2][0x8], R4": ("R12 R13 R4 R5", "R14 R15"),
    "DSETP.GT.AND P0, PT, R10, R12, PT": ("R10 R11 R12 R13", "P0"),
    "HMMA.16816.F32 R16, R12.reuse, R10.reuse, RZ": ("R12 R13 R14 R15 R10 R11", "R16 R17 R18 R19"),
    "HMMA.1688.F16 R4, R8, R10, R4": ("R8 R9 R10 R4 R5", "R4 R5"),
    "HMMA.1688.F32.TF32 R4, R8, R12, R4": ("R8 R9 R10 R11 R12 R13 R4 R5 R6 R7", "R4 R5 R6 R7"),
    "IMMA.16832.S8.S8 R20, R20.ROW, R2.COL, RZ": ("R20 R21 R22 R23 R2 R3", "R20 R21 R22 R23"),
    "DMMA.8x8x4 R12, R28, R20, R12": ("R28 R29 R20 R21 R12 R13 R14 R15", "R12 R13 R14 R15"),
    "LDSM.16.M88.4 R12, [R12]": ("R12", "R12 R13 R14 R15"),
    "ATOMG.E.CAS.64.STRONG.GPU PT, R4, [R24], R4, R6": ("R24 R25 R4 R5 R6 R7", "R4 R5"),
    "ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR8][R12.64], R3": ("R12 R13 UR8 UR9 R3", "P0"),
    "ATOMS.CAST.SPIN.64 P0, [R15], R8, R10": ("R15 R8 R9 R10 R11", "P0"),
    "ATOMS.POPC.INC.32 RZ, [R6+UR7]": ("R6 UR7", ""),
    "RED.E.ADD.64.STRONG.GPU [R6.64], R8": ("R6 R7 R8 R9", ""),
    "SHFL.UP P0, R14, R16, R15, R18": ("R16 R15 R18", "P0 R14"),
    "VOTE.ANY R11, PT, P2": ("P2", "R11"),
    "VOTE.ANY P0, !P1": ("P1", "P0"),
    "VOTEU.ALL UP0, P0": ("P0", "UP0"),
    "REDUX.SUM.S32 UR4, R2": ("R2", "UR4"),
    "R2UR UR4, R2": ("R2", "UR4"),
    "CS2R R2, SR_CLOCKLO": ("", "R2 R3"),
    "CS2R.32 R2, SR_CLOCKLO": ("", "R2"),
    "F2F.F64.F32 R2, R9": ("R9", "R2 R3"),
    "F2F.F32.F64 R3, R4": ("R4 R5", "R3"),
    "I2F.F64.S64 R10, R2": ("R2 R3", "R10 R11"),
    "F2I.S64.F64.TRUNC R2, R4": ("R4 R5", "R2 R3"),
    "F2I.U64.TRUNC R2, R4": ("R4", "R2 R3"),
    "MUFU.RSQ64H R9, R19": ("R19", "R9"),
    "BRX R4 -0x960": ("R4 R5", ""),
    "RET.REL.NODEC R20 0x0": ("R20 R21", ""),
    "P2R R10, PR, RZ, 0x21": ("P0 P5", "R10"),
    "R2P PR, R2, 0x7f": ("R2", "P0 P1 P2 P3 P4 P5 P6"),
    "BREAK.RELIABLE P1, B0": ("P1", ""),
    "BAR.RED.OR.DEFER_BLOCKING 0x0, P0": ("P0", ""),
    "B2R.RESULT RZ, P0": ("", "P0"),
    "IADD.64 R26, R8, UR4": ("R8 R9 UR4 UR5", "R26 R27"),
    "UIMAD.WIDE.U32 UR4, UR13, -0x55555555, URZ": ("UR13", "UR4 UR5"),
    "LDC R4, c[0x0][R2+0x10]": ("R2", "R4"),
    "LDCU.128 UR8, c[0x0][UR4]": ("UR4", "UR8 UR9 UR10 UR11"),
    "SYNCS.EXCH.64 URZ, [UR8], UR4": ("UR8 UR4 UR5", ""),
    "LDG.E.ENL2.256 R20, R16, desc[UR4][R10.64]": ("R10 R11 UR4 UR5", "R16 R17 R18 R19 R20 R21 R22 R23"),
    "HGMMA.64x64x16.F32.tnspB R24, gdesc[UR8], R24, gsb0": (
        "UR8 UR9 UR10 UR11 " + " ".join(f"R{i}" for i in range(24, 56)),
        " ".join(f"R{i}" for i in range(24, 56)),
    ),
    "UTMALDG.2D [UR4], [UR8]": ("UR4 UR5 UR6 UR7 UR8 UR9", ""),
    "UTMASTG.2D [UR20], [UR8]": ("UR20 UR21 UR22 UR8 UR9", ""),
    "EXIT": ("", ""),
}


def names(codes: tuple[int, ...]) -> set[str]:
    return {register_name(code) for code in codes}


@pytest.mark.parametrize("text", CASES)
def test_known(text: str) -> None:
    instruction = parse(text + " ;").functions[0].instructions[0]
    found = defuse(instruction, 90)
    reads, writes = CASES[text]
    assert names(found.writes) == set(writes.split())
    expected = set(reads.split())
    if "IMAD.HI" in text:
        expected |= {"R3"}
    assert names(found.reads) == expected


def test_hidden_descriptor_needs_the_encoding() -> None:
    text = "\tcode for sm_80\n\tFunction : f\n/*0000*/ LDG.E R2, [R2.64] ;"
    bare = parse(text).functions[0].instructions[0]
    assert not defuse(bare, 80).complete
    full = parse(text + " /* 0x0000000402027981 */\n /* 0x000ea8000c1e1900 */").functions[0].instructions[0]
    found = defuse(full, 80)
    assert found.complete
    assert names(found.reads) == {"R2", "R3", "UR4", "UR5"}


_BASE = {"GPR": 0, "UGPR": UNIFORM, "PRED": PREDICATE, "UPRED": UNIFORM_PREDICATE}
Marks = dict[tuple[str, int], tuple[set[int], set[int]]]


def read_marks(text: str) -> Marks:
    """Definitions (``^``, ``x``) and uses (``v``, ``x``) of each instruction in the table of -plr."""
    marks: Marks = {}
    columns: list[tuple[str, list[tuple[int, int, int]]]] = []
    tables: list[str] = []
    function = ""
    for line in text.splitlines():
        section = re.match(r'\s*\.section\s+\.text\.([^",]+)', line)
        if section:
            function = section[1]
        if "// " not in line or "|" not in line:
            continue
        cells = line[line.rindex("// ") :].split("|")[1:-1]
        if cells and cells[0].strip() == "GPR":
            tables = [cell.strip() for cell in cells]
        elif cells and cells[0].strip().startswith("#"):
            columns = [
                (name, [(m.start(), m.end(), int(m[0])) for m in re.finditer(r"\d+", cell)])
                for name, cell in zip(tables, cells, strict=True)
            ]
        place = re.match(r"\s*/\*([0-9a-f]+)\*/", line)
        if place is None or not columns:
            continue
        defined: set[int] = set()
        used: set[int] = set()
        for (name, spans), cell in zip(columns, cells, strict=True):
            count = re.match(r"\s*\d+", cell)
            for start, end, number in spans:
                mark = cell[start:end].strip()
                if not mark or (count is not None and start < count.end()):
                    continue
                if mark in "^x":
                    defined.add(_BASE[name] + number)
                if mark in "vx":
                    used.add(_BASE[name] + number)
        marks[function, int(place[1], 16)] = defined, used
    return marks


@pytest.mark.cuda
@pytest.mark.parametrize("arch", [pytest.param(a, marks=pytest.mark.slow) for a in ARCHS])
def test_equal_to_the_disassembler(arch: str, build: Build, nvdisasm: Callable[..., str]) -> None:
    """Calls are left out (the tool assumes a convention there), textures too (it overlooks results)."""
    assert sum(_compare(build(kernel, arch), nvdisasm) for kernel in KERNELS) > 2000


@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.parametrize(("kernel", "arch"), [(k, a) for k, archs in SPECIAL.items() for a in archs])
def test_tensor_cores_and_bulk_copies(
    kernel: str, arch: str, build: Build, nvdisasm: Callable[..., str]
) -> None:  # fmt: skip
    assert _compare(build(kernel, arch), nvdisasm) > 50


def _compare(path: Path, nvdisasm: Callable[..., str]) -> int:
    """Assert equality for every instruction of a cubin; how many there were."""
    checked = 0
    marks = read_marks(nvdisasm(path, "-plr", "-c"))
    module = describe(parse(nvdisasm(path, "-c", "-hex")), read_image(path.read_bytes()))
    assert not module.diagnostics
    for function in module.functions:
        for instruction in function.instructions:
            expected = marks.get((function.name, instruction.offset))
            if expected is None or instruction.base in ("CALL", "P2R", "TEX", "TLD"):
                continue
            found = defuse(instruction, module.sm)
            assert names(found.writes) == names(tuple(expected[0])), instruction.text
            assert names(found.reads) == names(tuple(expected[1])), instruction.text
            checked += 1
    return checked

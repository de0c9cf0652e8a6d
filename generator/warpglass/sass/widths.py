"""How many consecutive registers an operand of an instruction stands for, opcode by opcode.

Each rule is a small function in :data:`RULES`: it gets the opcode's modifiers and returns how many 32-bit
registers each register operand takes. Shapes of the matrix instructions follow the fragment layouts of the
PTX ISA ("Matrix Fragments for mma"); everything was compared with ``nvdisasm -plr`` register by register.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warpglass.sass.model import Instruction
from warpglass.sass.operands import Predicate, Register, UniformPredicate, UniformRegister

__all__ = ["RULES", "data_width", "widths"]

Rule = Callable[[Instruction, tuple[str, ...]], Mapping[int, int]]
_SIZED = {"64": 2, "96": 3, "128": 4, "256": 8, "512": 16}


def data_width(modifiers: tuple[str, ...]) -> int:
    """32-bit registers of one lane's data of a load, store or atomic."""
    for part in modifiers:
        if part in _SIZED:
            return _SIZED[part]
    if any(part in ("F64", "F32x2", "U64", "S64") for part in modifiers):
        return 2
    return 4 if "F32x4" in modifiers else 1


def _registers(instruction: Instruction) -> list[int]:
    """Indexes of the plain register operands (RZ included), per-lane and uniform."""
    return [
        index
        for index, operand in enumerate(instruction.operands)
        if isinstance(operand, Register | UniformRegister)
    ]


def _all(count: int) -> Rule:
    return lambda instruction, modifiers: dict.fromkeys(range(len(instruction.operands)), count)


def _sized(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """Loads, stores and atomics: every plain register operand is data."""
    width = data_width(modifiers)
    if "256" in modifiers:
        # Two register groups of four stand side by side.
        width = 4
    return dict.fromkeys(_registers(instruction), width)


def _if_64(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """Integer operations with a 64-bit form."""
    wide = any(part in ("64", "U64", "S64") for part in modifiers)
    return dict.fromkeys(range(len(instruction.operands)), 2) if wide else {}


def _imad(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """``.WIDE``: pair = a * b + pair; ``.HI``: upper half of a * b + pair."""
    wide, high = "WIDE" in modifiers, "HI" in modifiers
    if not wide and not high:
        return {}
    operands = instruction.operands
    sources = [
        i for i, operand in enumerate(operands) if not isinstance(operand, Predicate | UniformPredicate)
    ]
    result = {sources[0]: 2} if wide and sources else {}
    if len(sources) >= 4:
        result[sources[3]] = 2
    return result


def _convert(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """``F2F.F32.F64``: destination type, then source type; a missing one is 32 bits wide."""
    types = [part for part in modifiers if part[:1] in "FSUB" and part[1:2].isdigit()]
    wide = [part.endswith("64") for part in types]
    base = instruction.base
    if base in ("I2F", "UI2F"):
        # Only the float type is named first where it is not F32; the integer type follows.
        target = any(part == "F64" for part in types)
        source = any(part in ("S64", "U64") for part in types)
    elif base == "F2I":
        target = any(part in ("S64", "U64") for part in types)
        source = any(part == "F64" for part in types)
    elif len(wide) >= 2:
        target, source = wide[0], wide[1]
    else:
        target = source = bool(wide) and wide[0]
    return {0: 2 if target else 1, 1: 2 if source else 1}


def _frnd(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    return {0: 2, 1: 2} if "F64" in modifiers else {}


#: Shape to registers of A and B for 16-bit, tf32, 8-bit … data: (A, B), and of C/D with 32-bit elements.
_MMA: Mapping[str, tuple[int, int, int]] = {
    "HMMA.884": (2, 2, 8), "HMMA.1684": (2, 1, 4), "HMMA.1688": (2, 1, 4), "HMMA.16816": (4, 2, 4),
    "HMMA.SP.1688": (2, 2, 4), "HMMA.SP.16816": (2, 2, 4), "HMMA.SP.16832": (4, 4, 4),
    "IMMA.8816": (1, 1, 2), "IMMA.16816": (2, 1, 4), "IMMA.16832": (4, 2, 4), "IMMA.8832": (1, 1, 2),
    "IMMA.16864": (4, 2, 4), "IMMA.SP.16832": (2, 2, 4), "IMMA.SP.16864": (4, 4, 4),
    "IMMA.SP.168128": (4, 4, 4), "BMMA.88128": (1, 1, 2), "BMMA.168128": (2, 1, 4), "BMMA.168256": (4, 2, 4),
    "QMMA.16816": (2, 1, 4), "QMMA.16832": (4, 2, 4), "QMMA.SP.16864": (4, 4, 4), "OMMA.16864": (4, 2, 4),
    "OMMA.SP.168128": (4, 4, 4), "DMMA.884": (2, 2, 4), "DMMA.8x8x4": (2, 2, 4), "DMMA.16x8x4": (4, 2, 8),
    "DMMA.16x8x8": (8, 4, 8), "DMMA.16x8x16": (16, 8, 8),
}  # fmt: skip


def _mma(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    shape = next((part for part in modifiers if part[:1].isdigit()), "")
    sparse = "SP." if "SP" in modifiers else ""
    a, b, c = _MMA.get(f"{instruction.base}.{sparse}{shape}", (1, 1, 1))
    if instruction.base == "HMMA" and "TF32" in modifiers and not sparse:
        # tf32 elements are twice as wide: the same shape takes twice the registers.
        a, b = {"1684": (2, 1), "1688": (4, 2)}.get(shape, (a, b))
    if (instruction.base == "IMMA" and "S4" in modifiers) or "U4" in modifiers:
        a, b = {"16832": (2, 1), "8832": (1, 1)}.get(shape, (a, b)) if not sparse else (a, b)
    half = instruction.base in ("HMMA", "QMMA") and "F16" in modifiers and "F32" not in modifiers
    if half:
        c //= 2
    registers = _registers(instruction)
    return dict(zip(registers, (c, a, b, c), strict=False))


def _gmma(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """Warp-group products: 64xN results over 128 threads, so N/2 32-bit registers (N/4 for halves)."""
    shape = next((part for part in modifiers if "x" in part), "64x8x16").split("x")
    columns = int(shape[1]) if len(shape) > 1 and shape[1].isdigit() else 8
    half = "F16" in modifiers and "F32" not in modifiers
    size = max(1, columns // (4 if half else 2))
    registers = [index for index, operand in enumerate(instruction.operands) if isinstance(operand, Register)]
    result = {registers[0]: size} if registers else {}
    if len(registers) > 1:
        result[registers[-1]] = size
    if len(registers) > 2:
        result[registers[1]] = 4
    return result


def _matrix_move(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """LDSM and STSM move one, two or four 8x8 matrices: a register each."""
    count = next((int(part) for part in modifiers if part in ("2", "4")), 1)
    return dict.fromkeys(_registers(instruction), count)


def _tensor_memory(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    count = next((int(part[1:]) for part in modifiers if part[:1] == "x" and part[1:].isdigit()), 1)
    return dict.fromkeys(_registers(instruction), count)


def _cs2r(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    return {} if "32" in modifiers else {0: 2}


def _match(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    if "U64" not in modifiers:
        return {}
    registers = _registers(instruction)
    return {registers[-1]: 2} if registers else {}


def _movm(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    """Widening four-bit elements to bytes doubles the result."""
    return {0: 2} if any("TO8" in part for part in modifiers) else {}


def _code_address(instruction: Instruction, modifiers: tuple[str, ...]) -> Mapping[int, int]:
    return dict.fromkeys(_registers(instruction), 2)


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "FADD2", "FMUL2", "FFMA2"), _all(2)),
    **dict.fromkeys(
        ("LD", "LDG", "LDS", "LDL", "LDC", "LDCU", "ULDC", "LDU", "ST", "STG", "STS", "STL",
         "ATOM", "ATOMG", "ATOMS", "RED", "REDG", "STAS", "REDAS", "SYNCS"), _sized
    ),
    **dict.fromkeys(
        ("IADD", "IADD3", "UIADD3", "MOV", "UMOV", "SEL", "USEL", "ISETP", "UISETP", "IMNMX", "UIMNMX",
         "VIMNMX", "UVIMNMX", "LOP3", "ULOP3", "IABS", "VIADD", "UVIADD"), _if_64
    ),
    **dict.fromkeys(("IMAD", "UIMAD"), _imad),
    **dict.fromkeys(("F2F", "F2I", "I2F", "UI2F"), _convert),
    "FRND": _frnd,
    **dict.fromkeys(("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA"), _mma),
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA"), _gmma),
    **dict.fromkeys(("LDSM", "STSM"), _matrix_move),
    **dict.fromkeys(("LDTM", "STTM"), _tensor_memory),
    **dict.fromkeys(("CS2R", "CS2UR"), _cs2r),
    "MATCH": _match,
    "MOVM": _movm,
    **dict.fromkeys(("RET", "CALL", "BRX", "BRXU", "JMP", "JMX", "JMXU", "LEPC"), _code_address),
}  # fmt: skip


def widths(instruction: Instruction) -> Mapping[int, int]:
    """Operand index to number of registers, for those operands that are wider than one."""
    rule = RULES.get(instruction.base)
    return rule(instruction, instruction.modifiers) if rule is not None else {}

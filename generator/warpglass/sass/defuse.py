"""Registers that an instruction reads and writes, wide operands, guards and hidden operands included.

Registers are small integers (see :func:`register_name`): per-lane registers from 0, uniform registers from
256, predicates from 512, uniform predicates from 520. RZ, URZ, PT and UPT are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.sass.bulk import bulk_width, descriptor_width
from warpglass.sass.model import Instruction
from warpglass.sass.operands import (
    Address,
    Constant,
    Descriptor,
    Immediate,
    Operand,
    Predicate,
    Register,
    UniformPredicate,
    UniformRegister,
    Word,
)  # fmt: skip
from warpglass.sass.texture import texture_widths
from warpglass.sass.widths import widths

__all__ = [
    "PREDICATE", "UNIFORM", "UNIFORM_PREDICATE", "DefUse", "defuse", "register_name", "results",
]  # fmt: skip

UNIFORM = 256
PREDICATE = 512
UNIFORM_PREDICATE = 520
_LAST = 528


@dataclass(frozen=True, slots=True)
class DefUse:
    """Registers read and written, each once. ``complete`` is False for an opcode that is not known, or
    where a hidden operand could not be looked up because the listing has no encodings."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    complete: bool = True


def register_name(code: int) -> str:
    """``R4``, ``UR12``, ``P0``, ``UP1``."""
    if code < UNIFORM:
        return f"R{code}"
    if code < PREDICATE:
        return f"UR{code - UNIFORM}"
    return f"P{code - PREDICATE}" if code < UNIFORM_PREDICATE else f"UP{code - UNIFORM_PREDICATE}"


# ---------------------------------------------------------------- which operands are results

#: Opcodes that write no register.
_NO_RESULT = frozenset((
    "ST", "STG", "STS", "STL", "STSM", "STTM", "SUST", "RED", "REDG", "STAS", "REDAS", "SURED", "AST",
    "BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "KILL", "RTT", "BPT", "CAL", "JCAL",
    "BAR", "BSSY", "BSYNC", "BREAK", "BCLEAR", "WARPSYNC", "YIELD", "NANOSLEEP", "ENDCOLLECTIVE",
    "DEPBAR", "LDGDEPBAR", "LDGSTS", "ARRIVES", "MEMBAR", "ERRBAR", "CGAERRBAR", "FENCE", "CCTL", "CCTLL",
    "CCTLT", "WARPGROUP", "WARPGROUPSET", "UCGABAR_ARV", "UCGABAR_WAIT", "ACQBULK", "PREEXIT", "NOP",
    "PMTRIG",
    "USETMAXREG", "UBLKCP", "UBLKPF", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL",
    "UTMACMDFLUSH", "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA", "UTCBAR", "UTCCP", "UTCSHIFT", "UVIRTCOUNT",
    "SSY", "SYNC", "PBK", "BRK", "PCNT", "CONT", "PRET", "SETLMEMBASE", "SETCTAID",
))  # fmt: skip
#: Leading operands that are results, where the general rule (predicates, one register, predicates) fails.
_RESULTS: Mapping[str, int] = {
    "PLOP3": 2, "UPLOP3": 2, "PSETP": 2, "UPSETP": 2, "ISETP": 2, "UISETP": 2, "FSETP": 2, "UFSETP": 2,
    "DSETP": 2, "HSETP2": 2, "CSETP": 2, "VSETP": 2, "FCHK": 1, "R2P": 1, "UR2UP": 1, "P2R": 1, "PSET": 1,
    "B2R": 2, "SHFL": 2, "ATOM": 2, "ATOMG": 2, "QSPC": 2, "ATOMS": 1, "SEL": 1, "FSEL": 1, "USEL": 1,
    "FMNMX": 1, "SYNCS": 1, "LEPC": 1, "UP2UR": 1, "VOTEU": 1,
}  # fmt: skip
_TEXTURE = frozenset(("TEX", "TLD", "TLD4", "TXD", "TMML", "TXQ"))


def _is_predicate(operand: Operand) -> bool:
    return isinstance(operand, Predicate | UniformPredicate)


def _is_register(operand: Operand) -> bool:
    return isinstance(operand, Register | UniformRegister)


def results(instruction: Instruction) -> int:
    """How many leading operands are written."""
    base, operands = instruction.base, instruction.operands
    if base in _NO_RESULT or not operands:
        return 0
    if base in _TEXTURE:
        return 2
    if base == "VOTE":
        return _vote_results(operands)
    if base == "BMOV":
        return 1
    if base == "SYNCS":
        return 1 if _is_register(operands[0]) or _is_predicate(operands[0]) else 0
    if base in ("LD", "LDG"):
        # A 256-bit load names two groups of four registers in front of the address.
        return next((i for i, item in enumerate(operands) if isinstance(item, Address)), 1)
    fixed = _RESULTS.get(base)
    if fixed is not None:
        if base in ("ATOMS", "ATOM", "ATOMG") and _is_predicate(operands[0]):
            # A predicate says whether a spinning exchange won; a register result may follow.
            return 2 if len(operands) > 1 and _is_register(operands[1]) else 1
        return min(fixed, len(operands))
    return _general(operands)


def _general(operands: tuple[Operand, ...]) -> int:
    """Predicates, then one register, then predicates as long as something else follows."""
    index = 0
    while index < len(operands) and _is_predicate(operands[index]):
        index += 1
    if index < len(operands) and _is_register(operands[index]):
        index += 1
    end = index
    while end < len(operands) and _is_predicate(operands[end]):
        end += 1
    return end if end < len(operands) else index


def _vote_results(operands: tuple[Operand, ...]) -> int:
    """``VOTE.ANY R11, PT, P2``: register, predicate, source; ``VOTE.ANY P0, !P0``: predicate, source."""
    return max(1, len(operands) - 1)


# ---------------------------------------------------------------- registers of one operand


def _span(first: int, count: int, limit: int) -> range:
    return range(first, min(first + max(count, 1), limit))


def _plain(operand: Operand, width: int) -> range:
    if isinstance(operand, Register) and operand.index is not None:
        return _span(operand.index, 2 if "64" in operand.suffixes else width, 255)
    if isinstance(operand, UniformRegister) and operand.index is not None:
        return _span(UNIFORM + operand.index, 2 if "64" in operand.suffixes else width, PREDICATE - 1)
    if isinstance(operand, Predicate) and operand.index is not None:
        return _span(PREDICATE + operand.index, 1, UNIFORM_PREDICATE)
    if isinstance(operand, UniformPredicate) and operand.index is not None:
        return _span(UNIFORM_PREDICATE + operand.index, 1, _LAST)
    return range(0)


#: Spaces whose addresses take one register; the others take a pair.
_NARROW = frozenset((
    "LDS", "STS", "ATOMS", "LDSM", "STSM", "LDL", "STL", "LDC", "SYNCS", "ARRIVES", "TEX", "CCTLL",
    "STAS", "REDAS",
))  # fmt: skip


def _address(operand: Address, instruction: Instruction, first: bool) -> list[int]:
    base = instruction.base
    found: list[int] = []
    special = bulk_width(instruction, first)
    if special is not None and operand.uniform is not None:
        return list(_plain(operand.uniform, special))
    narrow = base in _NARROW or (base == "LDGSTS" and first) or operand.space == "tmem"
    pair = not narrow
    if operand.register is not None:
        suffixes = operand.register.suffixes
        width = 2 if "64" in suffixes else 1
        if pair and "64" not in suffixes and "U32" not in suffixes and operand.space == "":
            width = 2
        found += _plain(operand.register, width)
    if operand.uniform is not None:
        wide = "64" in operand.uniform.suffixes or (pair and "32" not in operand.uniform.suffixes)
        found += _plain(operand.uniform, 2 if wide else 1)
    if operand.descriptor is not None:
        found += _plain(operand.descriptor, 2)
    return found


def _sources(instruction: Instruction, index: int, operand: Operand, width: int) -> list[int]:
    if isinstance(operand, Address):
        first = not any(isinstance(item, Address) for item in instruction.operands[:index])
        return _address(operand, instruction, first)
    if isinstance(operand, Constant):
        found: list[int] = []
        if operand.base is not None:
            found += _plain(operand.base, 1)
        if isinstance(operand.bank, UniformRegister):
            found += _plain(operand.bank, 2)
        return found
    if isinstance(operand, Descriptor):
        return list(_plain(operand.register, descriptor_width(instruction, operand.kind)))
    return list(_plain(operand, width))


# ---------------------------------------------------------------- hidden operands

_DESCRIBED = frozenset((
    "LD", "LDG", "ST", "STG", "RED", "REDG", "ATOM", "ATOMG", "LDGSTS", "CCTL", "QSPC",
))  # fmt: skip


def _hidden_descriptor(instruction: Instruction, sm: int | None) -> tuple[int, ...] | None:
    """The descriptor that listings of sm_80 to sm_89 leave out; None where it cannot be known.

    A ``.64`` address without ``desc[…]`` there has its descriptor in bits 37:32 of the encoding, or, where
    those hold the data register (stores, atomics, copies), in bits 69:64; 63 is none.
    """
    if instruction.base not in _DESCRIBED or sm is None or not 80 <= sm < 90:
        return ()
    address = next((item for item in instruction.operands if isinstance(item, Address) and _wide(item)), None)
    if address is None or address.descriptor is not None:
        return ()
    if instruction.words is None or len(instruction.words) != 2:
        return None
    data = instruction.base not in ("LD", "LDG", "CCTL", "QSPC")
    index = instruction.words[1] & 63 if data else instruction.words[0] >> 32 & 63
    return () if index == 63 else (UNIFORM + index, UNIFORM + index + 1)


def _wide(address: Address) -> bool:
    return address.register is not None and "64" in address.register.suffixes


def _predicate_file(instruction: Instruction) -> tuple[int, ...]:
    """``P2R R0, PR, RZ, 0x7f`` and ``R2P PR, R2, 0x7f``: the predicates that the mask names."""
    mask = next(
        (int(item.value) for item in reversed(instruction.operands)
         if isinstance(item, Immediate) and item.kind == "int"), 0x7F,
    )  # fmt: skip
    return tuple(PREDICATE + bit for bit in range(7) if mask >> bit & 1)


def defuse(instruction: Instruction, sm: int | None = None) -> DefUse:
    """Reads and writes of one instruction; ``sm`` is the architecture's number."""
    count = results(instruction)
    sizes = widths(instruction)
    reads: dict[int, None] = {}
    writes: dict[int, None] = {}
    complete = True
    if instruction.base in _TEXTURE or instruction.base in ("SULD", "SUST"):
        sizes = texture_widths(instruction)
    if instruction.guard is not None:
        reads.update(dict.fromkeys(_plain(instruction.guard, 1)))
    for index, operand in enumerate(instruction.operands):
        if isinstance(operand, Word) and operand.text == "PR":
            into = writes if index < count else reads
            into.update(dict.fromkeys(_predicate_file(instruction)))
        elif index < count and (_is_register(operand) or _is_predicate(operand)):
            writes.update(dict.fromkeys(_plain(operand, sizes.get(index, 1))))
        else:
            reads.update(dict.fromkeys(_sources(instruction, index, operand, sizes.get(index, 1))))
    hidden = _hidden_descriptor(instruction, sm)
    if hidden is None:
        complete = False
    else:
        reads.update(dict.fromkeys(hidden))
    return DefUse(tuple(reads), tuple(writes), complete)

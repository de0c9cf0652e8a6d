"""Machine code under the generic flow analyses: graph, reads and writes, occupied registers.

Occupied registers are counted as ``nvdisasm -plr`` counts them, calls included: they follow the calling
convention that the disassembler assumes. Facts that it overlooks (predicates read by P2R) stay overlooked
here and only here; :mod:`warpglass.sass.defuse` says what an instruction really reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpglass.flow.graph import Cfg, Flow, build_cfg
from warpglass.flow.liveness import Access
from warpglass.flow.ranges import Masks, occupied
from warpglass.sass.cfg import branch, code_length, convergence, far_jump
from warpglass.sass.defuse import PREDICATE, UNIFORM, UNIFORM_PREDICATE, defuse
from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import Predicate

__all__ = ["SassLiveness", "sass_accesses", "sass_cfg", "sass_liveness", "sass_occupied"]

_REGISTERS = 528
_STACK = 1
_WARP_WIDE = ("EIATTR_COOP_GROUP_INSTR_OFFSETS", "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS")
#: Registers that a call may change: R0, R3 to R15, and from R32 on four of every eight; R2 and the
#: rest are kept. Read from the live ranges that nvdisasm prints around calls.
_CALL_CHANGES = (0, *range(3, 16), *(r for r in range(32, 255) if r % 8 < 4))
_CALL_CHANGES_UNIFORM = range(UNIFORM + 4, UNIFORM + 36)
#: The bits of per-lane registers, uniform registers, predicates, uniform predicates.
_MASKS = (
    (1 << UNIFORM) - 1,
    (1 << PREDICATE) - (1 << UNIFORM),
    (1 << UNIFORM_PREDICATE) - (1 << PREDICATE),
    (1 << _REGISTERS) - (1 << UNIFORM_PREDICATE),
)


def _flows(function: Function, index: dict[int, int], far: bool = False) -> dict[int, Flow]:
    """Ways of the instructions that have others than the next; ``far`` takes jumps by CALL for jumps."""
    flows: dict[int, Flow] = {}
    for offset, pc in index.items():
        instruction = function.instructions[pc]
        found = branch(instruction) or (far_jump(instruction) if far else None)
        if found is not None:
            targets = tuple(index.get(target, -1) for target in found.targets)
            flows[index[offset]] = Flow(targets, found.falls, found.leaves, found.dies)
    return flows


def _index(function: Function) -> dict[int, int]:
    """Byte offset to index, padding left out."""
    count = code_length(function)
    return {item.offset: pc for pc, item in enumerate(function.instructions[:count])}


def sass_cfg(function: Function) -> Cfg:
    """The graph of a function's code; padding behind it is left out.

    Calls fall through, but for those that are jumps; device functions in the section are blocks that nothing
    enters. An indirect branch with unknown targets leaves.
    """
    index = _index(function)
    leaders = [index[offset] for offset in function.subroutines if offset in index]
    return build_cfg(len(index), _flows(function, index, far=True), leaders)


def sass_accesses(function: Function) -> list[Access]:
    """What the disassembler takes each instruction to read and write, padding left out."""
    sm = _sm(function.arch)
    count = code_length(function)
    found = [defuse(item, sm) for item in function.instructions[:count]]
    limits = _limits(register for item in found for register in (*item.reads, *item.writes))
    named = limits[0] if function.registers is None else max(limits[0], function.registers - 1)
    accesses: list[Access] = []
    for instruction, item in zip(function.instructions[:count], found, strict=True):
        reads, writes = item.reads, item.writes
        if instruction.base == "CALL":
            reads = (*reads, 0, _STACK)
            writes = (*writes, *_changed(limits))
        elif instruction.base == "P2R":
            reads = tuple(r for r in reads if _file(r) != 2)
        elif instruction.base == "RET":
            reads = (*reads, *(r for r in range(named + 1) if r not in _CALL_CHANGES))
        elif instruction.base == "EXIT" or _endless(instruction):
            reads = (*reads, _STACK)
        accesses.append(Access(reads, writes, kills=not isinstance(instruction.guard, Predicate)))
    return accesses


def _endless(instruction: Instruction) -> bool:
    """A jump to itself, which stands behind the last EXIT."""
    found = branch(instruction)
    return found is not None and found.targets == (instruction.offset,) and not found.falls


def _sm(arch: str | None) -> int | None:
    digits = "".join(c for c in arch or "" if c.isdigit())
    return int(digits) if digits else None


def _file(register: int) -> int:
    if register < UNIFORM:
        return 0
    return 1 if register < PREDICATE else 2 if register < UNIFORM_PREDICATE else 3


def _limits(registers: Iterable[int]) -> tuple[int, int, int, int]:
    """The highest register of each file that the function names, -1 for none."""
    highest = [-1, -1, -1, -1]
    for register in registers:
        kind = _file(register)
        highest[kind] = max(highest[kind], register)
    return highest[0], highest[1], highest[2], highest[3]


def _changed(limits: tuple[int, int, int, int]) -> tuple[int, ...]:
    """What a call may change, among the registers that the function uses at all (the low ones in pairs)."""
    return (
        *(r for r in _CALL_CHANGES if r <= limits[0] or (r < 16 and r <= limits[0] | 1)),
        *(r for r in _CALL_CHANGES_UNIFORM if r <= limits[1]),
        *(r for r in range(PREDICATE, UNIFORM_PREDICATE) if r <= limits[2]),
        *(r for r in range(UNIFORM_PREDICATE, _REGISTERS) if r <= limits[3]),
    )


def _marked(function: Function) -> Iterable[int]:
    """Offsets at which the disassembler starts a hyperblock although nothing jumps there: device functions,
    ends of convergence regions, labels, and the warp-wide instructions that the compiler listed."""
    yield from function.subroutines
    yield from function.labels.values()
    for instruction in function.instructions:
        found = convergence(instruction)
        if found is not None and found[2] is not None:
            yield found[2]
    for attribute in function.attributes:
        if attribute.name in _WARP_WIDE and isinstance(attribute.value, tuple):
            yield from attribute.value


def _mask(registers: Iterable[int]) -> int:
    result = 0
    for register in registers:
        result |= 1 << register
    return result


def sass_occupied(function: Function) -> list[int]:
    """Per instruction (padding left out) the mask of occupied registers, numbered as in
    :mod:`warpglass.sass.defuse`."""
    index = _index(function)
    leaders = [index[offset] for offset in _marked(function) if offset in index]
    masks = [
        Masks(_mask(access.reads), _mask(access.writes), not access.kills)
        for access in sass_accesses(function)
    ]
    return occupied(_flows(function, index), leaders, masks)


@dataclass(frozen=True, slots=True)
class SassLiveness:
    """Occupied registers at each instruction (padding left out): per-lane registers, uniform registers,
    predicates, uniform predicates; ``peak`` is the largest ``live`` and ``peak_pc`` the first place of it."""

    live: tuple[int, ...]
    uniform: tuple[int, ...]
    predicates: tuple[int, ...]
    uniform_predicates: tuple[int, ...]
    peak: int
    peak_pc: int | None


def sass_liveness(function: Function) -> SassLiveness:
    """Counts of occupied registers, equal to those of ``nvdisasm -plr -lrm count``.

    For code without encodings on sm_80 to sm_89 the descriptors that the listing leaves out are not counted.
    """
    masks = sass_occupied(function)
    live, uniform, predicates, uniform_predicates = (
        tuple((mask & part).bit_count() for mask in masks) for part in _MASKS
    )
    peak = max(live, default=0)
    return SassLiveness(
        live, uniform, predicates, uniform_predicates, peak, live.index(peak) if live else None
    )

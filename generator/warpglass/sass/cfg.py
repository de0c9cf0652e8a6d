"""Where machine instructions may go: facts about branches, one function an opcode, no graph.

Rules that are easy to get wrong, each with a test: PREEXIT ends nothing; BRX and BRXU add a register to an
offset that is relative to the next instruction and may be negative; ``RET.REL.NODEC R4 0x0`` names the start
of the section as the base of the address in R4 and is no edge to it; CALL.REL comes back; a BRA may have a
predicate operand beside its guard; NOPs behind the code are padding, not code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import (
    Barrier,
    Immediate,
    Label,
    Predicate,
    Register,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

__all__ = ["Branch", "branch", "call_target", "code_length", "convergence", "far_jump", "jump_base"]


@dataclass(frozen=True, slots=True)
class Branch:
    """Where an instruction may go. ``targets`` are byte offsets in the function.

    ``falls``: the next instruction may follow. ``leaves``: lanes may end or return. ``dies``: the launch
    stops here. ``indirect``: the target is in a register; ``targets`` then holds what the disassembler
    found out, possibly nothing.
    """

    targets: tuple[int, ...] = ()
    falls: bool = False
    leaves: bool = False
    dies: bool = False
    indirect: bool = False


def _never(instruction: Instruction) -> bool:
    """``@!PT``: the instruction never does anything."""
    guard = instruction.guard
    return guard is not None and guard.index is None and guard.negated


def _conditional(instruction: Instruction) -> bool:
    """A guard, or a predicate operand that is not PT; BRA.DIV and BRA.CONV depend on the lanes here."""
    guard = instruction.guard
    if guard is not None and (guard.index is not None or guard.negated):
        return True
    if any(part in ("DIV", "CONV") for part in instruction.modifiers):
        return True
    return any(
        isinstance(item, Predicate | UniformPredicate) and (item.index is not None or item.negated)
        for item in instruction.operands
    )


def _label(instruction: Instruction) -> int | None:
    return next((item.target for item in instruction.operands if isinstance(item, Label)), None)


def _jump(instruction: Instruction) -> Branch:
    target = _label(instruction)
    falls = _conditional(instruction)
    if target is None:
        return Branch((), falls, leaves=True, indirect=True)
    return Branch((target,), falls)


def _indirect(instruction: Instruction) -> Branch:
    targets = instruction.targets
    return Branch(targets, _conditional(instruction), leaves=not targets, indirect=True)


def _leave(instruction: Instruction) -> Branch:
    return Branch((), _conditional(instruction), leaves=True)


def _trap(instruction: Instruction) -> Branch | None:
    if "TRAP" not in instruction.modifiers:
        return None
    # A debugger may go on behind it, and so do live ranges.
    return Branch((), falls=True, dies=True)


_RULES: Mapping[str, Callable[[Instruction], Branch | None]] = {
    "BRA": _jump, "JMP": _jump, "BRX": _indirect, "BRXU": _indirect, "JMX": _indirect, "JMXU": _indirect,
    "EXIT": _leave, "RET": _leave, "KILL": _leave, "RTT": _leave, "BPT": _trap,
    "BRK": _leave, "CONT": _leave, "SYNC": _leave,
}  # fmt: skip


def branch(instruction: Instruction) -> Branch | None:
    """Where the instruction may go, or None where only the next one can follow (calls included)."""
    rule = _RULES.get(instruction.base)
    if rule is None or _never(instruction):
        return None
    return rule(instruction)


def call_target(instruction: Instruction) -> int | None:
    """The byte offset that a direct CALL enters in the same function, else None."""
    if instruction.base not in ("CALL", "CAL", "JCAL"):
        return None
    if any(isinstance(item, Register | UniformRegister) for item in instruction.operands):
        return None
    return _label(instruction)


def far_jump(instruction: Instruction) -> Branch | None:
    """Where a CALL goes that is a jump: ``@P0 CALL.REL.NOINC (.L_x_1)`` leaves a large loop and never comes
    back. A subroutine has a name of its own, a place in the code only the assembler's ``.L_``. None for other
    instructions; the disassembler takes these, too, for calls."""
    if call_target(instruction) is None or "NOINC" not in instruction.modifiers or _never(instruction):
        return None
    local = any(isinstance(item, Label) and item.name.startswith(".L_") for item in instruction.operands)
    return _jump(instruction) if local else None


def jump_base(instruction: Instruction) -> int | None:
    """What BRX and BRXU add their register to: the offset of the next instruction plus the immediate.

    The immediate is signed (``BRX R4 -0x960``); the sum may lie before the function's start, since tables
    hold offsets from the section. None for other instructions.
    """
    if instruction.base not in ("BRX", "BRXU"):
        return None
    step = next((int(item.value) for item in instruction.operands if isinstance(item, Immediate)), 0)
    return instruction.offset + 16 + step


def convergence(instruction: Instruction) -> tuple[str, int, int | None] | None:
    """``(opcode, barrier, target)`` where a convergence barrier is named; only BSSY has a target."""
    if instruction.base not in ("BSSY", "BSYNC", "BREAK", "BMOV", "BCLEAR"):
        return None
    barrier = next((item.index for item in instruction.operands if isinstance(item, Barrier)), None)
    return None if barrier is None else (instruction.base, barrier, _label(instruction))


def code_length(function: Function | Sequence[Instruction]) -> int:
    """Number of instructions without the padding: NOPs behind the last instruction that is none."""
    items = function.instructions if isinstance(function, Function) else function
    length = len(items)
    while length and items[length - 1].base == "NOP" and items[length - 1].guard is None:
        length -= 1
    return length

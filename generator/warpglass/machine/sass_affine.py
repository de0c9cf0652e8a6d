"""Whether the control flow and the addresses of SASS code are affine in the block index.

A forward data-flow over the control-flow graph, with the classes of :mod:`warpglass.machine.affine`. Minima,
maxima and selections of affine values count as affine: a comparison with one is a few comparisons with affine
values. Branches and addresses that depend on uniform and affine values only are decided by comparisons that
are monotone along each axis of the grid; see :mod:`warpglass.machine.sampling` for what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpglass.flow.sass import sass_cfg
from warpglass.machine.affine import FREE, UNIFORM_VALUE, first_problem, special_class
from warpglass.sass.defuse import PREDICATE, UNIFORM, DefUse, defuse
from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import (
    Address,
    Immediate,
    Operand,
    Predicate,
    Register,
    SpecialRegister,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

__all__ = ["why_not_affine"]

ClassOf = Callable[[Operand], int]

_LINEAR = frozenset({
    "MOV", "UMOV", "IADD3", "UIADD3", "IADD", "VIADD", "UVIADD", "LEA", "ULEA", "R2UR", "IMNMX", "VIMNMX",
    "UIMNMX", "VIMNMX3", "SEL", "USEL",
})  # fmt: skip
_PRODUCTS = frozenset({"IMAD", "UIMAD", "IMUL"})
_COMPARES = frozenset({"ISETP", "UISETP"})
_LOGIC_OF_PREDICATES = frozenset({"PLOP3", "UPLOP3"})
_LOADS = frozenset({
    "LDG", "LD", "LDL", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS", "TEX", "TLD", "SULD", "MATCH", "VOTE",
    "VOTEU", "SHFL", "REDUX", "B2R", "ELECT", "SYNCS",
})  # fmt: skip
_CONSTANT_LOADS = frozenset({"LDC", "ULDC", "LDCU"})
_BRANCHING = frozenset({"BRA", "BRX", "EXIT", "BREAK", "BSYNC", "RET", "CALL", "JMP", "BAR", "WARPSYNC"})
_STORES = frozenset({"STG", "STS", "STL", "ST", "RED", "REDG", "ATOMG", "ATOMS"})
_BLOCK = ("CTAID", "CLUSTERID")
_CHANGING = ("CLOCK", "GLOBALTIMER", "SMID", "VIRTUALSMID", "TMCNT")


def _result(instruction: Instruction, values: Sequence[int], class_of: ClassOf) -> int:
    """Class of an instruction's results from the classes of the registers it reads."""
    base = instruction.base
    worst = max(values, default=UNIFORM_VALUE)
    special = next((o for o in instruction.operands if isinstance(o, SpecialRegister)), None)
    if special is not None:
        return special_class(special.name, _BLOCK, _CHANGING)
    if base in _LOADS:
        return FREE
    if base in _CONSTANT_LOADS or worst == UNIFORM_VALUE:
        return UNIFORM_VALUE if worst == UNIFORM_VALUE else FREE
    if base in _LINEAR or base in _COMPARES or base in _LOGIC_OF_PREDICATES:
        return worst
    if base in _PRODUCTS:
        return _product(instruction, worst, class_of)
    if base in ("SHF", "USHF") and "L" in instruction.modifiers:
        return worst if any(isinstance(o, Immediate) for o in instruction.operands[2:3]) else FREE
    return FREE


def _product(instruction: Instruction, worst: int, class_of: ClassOf) -> int:
    """``a * b + c`` is affine where one factor at least is the same for all blocks."""
    if worst == FREE or {"MOV", "IADD", "SHL"} & set(instruction.modifiers):
        return worst
    plain = [o for o in instruction.operands[1:] if not isinstance(o, Predicate | UniformPredicate)]
    factors = [class_of(o) for o in plain[:2]]
    return worst if UNIFORM_VALUE in factors else FREE


@dataclass(frozen=True, slots=True)
class _State:
    """Classes of registers at one place; what is not named is uniform. ``step`` changes them."""

    classes: dict[int, int]

    def of(self, register: int) -> int:
        """Class of a register by its code."""
        return self.classes.get(register, UNIFORM_VALUE)

    def operand(self, operand: Operand) -> int:
        """Class of an operand; constants and immediates are uniform."""
        if isinstance(operand, Register) and operand.index is not None:
            return self.of(operand.index)
        if isinstance(operand, UniformRegister) and operand.index is not None:
            return self.of(UNIFORM + operand.index)
        return UNIFORM_VALUE

    def step(self, instruction: Instruction, use: DefUse) -> None:
        """Go past one instruction."""
        result = _result(instruction, [self.of(r) for r in use.reads], self.operand)
        guarded = instruction.guard is not None and instruction.guard.index is not None
        for register in use.writes:
            # Under a guard it is one of two values, chosen by a condition that is judged by itself.
            self.classes[register] = max(result, self.of(register)) if guarded else result


def why_not_affine(function: Function, sm: int) -> str | None:
    """None where branches and addresses are affine in the block index, else what is not, in words."""
    code = [(i, defuse(i, sm)) for i in function.instructions]
    calls = next((i for i, _ in code if i.base in ("CALL", "RET")), None)
    if calls is not None:
        return f"line {calls.line}: {calls.text} calls a function"

    def step(index: int, classes: dict[int, int]) -> None:
        _State(classes).step(*code[index])

    def problem(index: int, classes: dict[int, int]) -> str | None:
        return _problem(*code[index], _State(classes))

    return first_problem(sass_cfg(function), step, problem)


def _problem(instruction: Instruction, use: DefUse, state: _State) -> str | None:
    predicates = [r for r in use.reads if r >= PREDICATE]
    decides = instruction.base in _BRANCHING or instruction.guard is not None
    where = f"line {instruction.line}: "
    if decides and any(state.of(r) == FREE for r in predicates):
        return f"{where}{instruction.text} depends on loaded data"
    if instruction.base in ("BRX", "BRXU", "JMX") and any(state.of(r) for r in use.reads):
        return f"{where}{instruction.text} goes where a register says"
    if not any(isinstance(o, Address) for o in instruction.operands):
        return None
    if instruction.base in _STORES:
        free = _store_address_is_free(instruction, state)
    else:
        free = any(state.of(r) == FREE for r in use.reads if r < PREDICATE)
    return f"{where}the address of {instruction.text} depends on loaded data" if free else None


def _store_address_is_free(instruction: Instruction, state: _State) -> bool:
    """Stores read their data too, which may be anything: only the address's own registers count."""
    for operand in instruction.operands:
        if isinstance(operand, Address):
            registers = []
            if operand.register is not None and operand.register.index is not None:
                registers += [operand.register.index, operand.register.index + 1]
            return any(state.of(r) == FREE for r in registers)
    return False

"""Whether the control flow and the addresses of SASS code are affine in the block index.

A forward data-flow over the control-flow graph, with the classes of :mod:`warpglass.machine.affine`. Minima,
maxima and selections of affine values count as affine: a comparison with one is a few comparisons with affine
values. Branches and addresses that depend on uniform and affine values only are decided by comparisons that
are monotone along each axis of the grid; see :mod:`warpglass.machine.sampling` for what follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpglass.flow.sass import sass_cfg
from warpglass.machine.affine import FREE, Value, either, first_problem
from warpglass.machine.sass_values import operand_value, result_value
from warpglass.sass.cfg import far_jump
from warpglass.sass.defuse import PREDICATE, UNIFORM, UNIFORM_PREDICATE, DefUse, defuse
from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import (
    Address,
    UniformPredicate,
)  # fmt: skip

__all__ = ["why_not_affine"]

_BRANCHING = frozenset({"BRA", "BRX", "EXIT", "BREAK", "BSYNC", "RET", "CALL", "JMP", "BAR", "WARPSYNC"})
_STORES = frozenset({"STG", "STS", "STL", "ST", "RED", "REDG", "ATOMG", "ATOMS"})
_SHORT = frozenset({"STS", "STL", "ATOMS"})

#: A register, or what it holds where a guard holds: (register, predicate, whether it is negated).
_Name = int | tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class _State:
    """Values of registers at one instruction; what is not named is uniform. ``step`` changes them.

    ``guard`` is the instruction's (predicate, negated), None without one.
    """

    values: dict[_Name, Value]
    guard: tuple[int, bool] | None

    def of(self, register: int) -> Value:
        """Value of a register by its code: under a guard, of what was written to it under the same one."""
        if self.guard is not None and (register, *self.guard) in self.values:
            return self.values[register, *self.guard]
        return self.values.get(register, Value())

    def step(self, instruction: Instruction, use: DefUse) -> None:
        """Go past one instruction."""
        result = result_value(
            instruction, [self.of(r) for r in use.reads], lambda o: operand_value(o, self.of, UNIFORM)
        )
        for number, register in enumerate(sorted(use.writes)):
            # Of a pair the lower register holds the low bits.
            self._write(register, (Value(result.cls) if number else result).cut(32))

    def _write(self, register: int, result: Value) -> None:
        known, kept = self.values, None
        if self.guard is None:
            known[register] = result
        else:
            # Under a guard it is one of two values, chosen by a condition that is judged by itself.
            predicate, negated = self.guard
            kept = (register, predicate, not negated)
            other = known.get(kept, known.get(register, Value()))
            known[register] = either(result, other)
        for name in [n for n in known if isinstance(n, tuple) and register in n[:2]]:
            if name != kept or register == name[1]:
                del known[name]
        if self.guard is not None and register != self.guard[0]:
            known[register, *self.guard] = result


def _guard(instruction: Instruction) -> tuple[int, bool] | None:
    """(code of the guard's predicate, whether it is negated), None where it always holds or never does."""
    guard = instruction.guard
    if guard is None or guard.index is None:
        return None
    base = UNIFORM_PREDICATE if isinstance(guard, UniformPredicate) else PREDICATE
    return base + guard.index, guard.negated


def why_not_affine(function: Function, sm: int) -> str | None:
    """None where branches and addresses are affine in the block index, else what is not, in words."""
    code = [(i, defuse(i, sm)) for i in function.instructions]
    calls = next((i for i, _ in code if i.base in ("CALL", "RET") and far_jump(i) is None), None)
    if calls is not None:
        return f"line {calls.line}: {calls.text} calls a function"

    def step(index: int, values: dict[_Name, Value]) -> None:
        _State(values, _guard(code[index][0])).step(*code[index])

    def problem(index: int, values: dict[_Name, Value]) -> str | None:
        return _problem(*code[index], _State(values, _guard(code[index][0])))

    return first_problem(sass_cfg(function), step, problem)


def _problem(instruction: Instruction, use: DefUse, state: _State) -> str | None:
    predicates = [r for r in use.reads if r >= PREDICATE]
    decides = instruction.base in _BRANCHING or instruction.guard is not None
    where = f"line {instruction.line}: "
    if decides and any(state.of(r).cls == FREE for r in predicates):
        return f"{where}{instruction.text} depends on loaded data"
    if instruction.base in ("BRX", "BRXU", "JMX") and any(state.of(r).cls for r in use.reads):
        return f"{where}{instruction.text} goes where a register says"
    if not any(isinstance(o, Address) for o in instruction.operands):
        return None
    if instruction.base in _STORES:
        free = _store_address_is_free(instruction, state)
    else:
        free = any(state.of(r).cls == FREE for r in use.reads if r < PREDICATE)
    return f"{where}the address of {instruction.text} depends on loaded data" if free else None


def _store_address_is_free(instruction: Instruction, state: _State) -> bool:
    """Stores read their data too, which may be anything: only the address's own registers count."""
    for operand in instruction.operands:
        if isinstance(operand, Address):
            registers = []
            if operand.register is not None and operand.register.index is not None:
                first = operand.register.index
                # Shared and local memory have addresses of 32 bits.
                registers += [first] if instruction.base in _SHORT else [first, first + 1]
            return any(state.of(r).cls == FREE for r in registers)
    return False

"""Whether the control flow and the addresses of PTX code are affine in the block index.

The twin of :mod:`warpglass.machine.sass_affine`: the same classes, the same use. Opcodes that are not listed
give free values, so that a new one costs the sampling and never its truth.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpglass.flow import ptx_cfg, reads_writes
from warpglass.machine.affine import FREE, UNIFORM_VALUE, first_problem, special_class
from warpglass.ptx.model import (
    Address,
    Component,
    Function,
    Instruction,
    Negated,
    Operand,
    OperandList,
    Pair,
    Register,
    SpecialRegister,
    Vector,
)

__all__ = ["why_not_affine"]

#: Sums, choices and comparisons of affine values.
_LINEAR = frozenset({"mov", "cvta", "add", "sub", "neg", "min", "max", "selp", "setp"})
_PRODUCTS = frozenset({"mul", "mad", "mul24", "mad24"})
_LOGIC = frozenset({"and", "or", "xor", "not"})
#: Results depend on nothing but the operands: uniform ones give a uniform result.
_PURE = _LINEAR | _PRODUCTS | _LOGIC | frozenset({
    "abs", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos", "cvt", "div", "dp2a",
    "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3", "mapa", "popc", "prmt", "rcp", "rem", "rsqrt",
    "sad", "set", "shf", "shl", "shr", "sin", "slct", "sqrt", "szext", "tanh", "testp",
})  # fmt: skip
#: Operands beside the address are data: what they hold changes no count.
_STORES = frozenset({"st", "red", "atom", "stmatrix"})
#: Who waits depends on these operands: lanes named, barriers, numbers of threads.
_MASK_LAST = frozenset({"shfl", "vote", "match", "redux", "elect"})
_MASKED = frozenset({"bar", "barrier"})
#: Narrower ones wrap around too soon to be taken as numbers.
_INTEGERS = frozenset({f"{sign}{bits}" for sign in "bsu" for bits in (32, 64)})
_TYPES = _INTEGERS | frozenset({
    "pred", "b8", "u8", "s8", "b16", "u16", "s16", "b128", "f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2",
    "f64", "tf32",
})  # fmt: skip
_BLOCK = ("%ctaid", "%clusterid")
_CHANGING = ("%clock", "%globaltimer", "%smid", "%pm", "%gridid")


def _class_of(operand: Operand, classes: Mapping[str, int]) -> int:
    """Class of a source operand; constants and addresses of variables are uniform."""
    if isinstance(operand, Register):
        return classes.get(operand.name, UNIFORM_VALUE)
    if isinstance(operand, SpecialRegister):
        return special_class(operand.name, _BLOCK, _CHANGING)
    if isinstance(operand, Component):
        return classes.get(operand.register.name, UNIFORM_VALUE)
    if isinstance(operand, Negated):
        return _class_of(operand.operand, classes)
    if isinstance(operand, Address):
        parts = [part for part in (operand.base, operand.coordinates) if part is not None]
        return max((_class_of(part, classes) for part in parts), default=UNIFORM_VALUE)
    if isinstance(operand, Vector | OperandList):
        return max((_class_of(part, classes) for part in operand.elements), default=UNIFORM_VALUE)
    if isinstance(operand, Pair):
        return max(_class_of(operand.first, classes), _class_of(operand.second, classes))
    return UNIFORM_VALUE


def _result(instruction: Instruction, classes: Mapping[str, int]) -> int:
    """Class of an instruction's results from the classes of what it reads."""
    base, sources = instruction.base, instruction.operands[1:]
    values = [_class_of(operand, classes) for operand in sources]
    worst = max(values, default=UNIFORM_VALUE)
    if base in ("ld", "ldu"):
        # Nothing writes constants and kernel arguments while a kernel runs.
        fixed = "const" in instruction.parts or any(p.startswith("param") for p in instruction.parts)
        return UNIFORM_VALUE if fixed and worst == UNIFORM_VALUE else FREE
    if base not in _PURE or "cc" in instruction.parts:
        return FREE
    if worst in (UNIFORM_VALUE, FREE):
        return worst
    if any(isinstance(o, Vector) for o in instruction.operands):
        return FREE
    types = [part for part in instruction.parts if part in _TYPES]
    if "pred" in types and base in _LOGIC:
        return worst
    if not types or not _INTEGERS.issuperset(types):
        return FREE
    if base in _LINEAR or base == "cvt":
        return FREE if "sat" in instruction.parts else worst
    if base in _PRODUCTS:
        return worst if "hi" not in instruction.parts and UNIFORM_VALUE in values[:2] else FREE
    return worst if base == "shl" and values[1:2] == [UNIFORM_VALUE] else FREE


def _step(instruction: Instruction, classes: dict[str, int]) -> None:
    """Go past one instruction."""
    _, writes = reads_writes(instruction)
    if not writes:
        return
    result = _result(instruction, classes)
    # Under a guard a register is one of two values, chosen by a condition that is judged by itself; so is a
    # vector register of which one element is written.
    kept = instruction.guard is not None or isinstance(instruction.operands[0], Component | Vector)
    for name in writes:
        classes[name] = max(result, classes.get(name, UNIFORM_VALUE)) if kept else result


def why_not_affine(function: Function) -> str | None:
    """None where branches and addresses are affine in the block index, else what is not, in words."""
    code = function.instructions

    def problem(index: int, classes: Mapping[str, int]) -> str | None:
        found = _problem(code[index], classes)
        return None if found is None else f"line {code[index].line}: {found}"

    return first_problem(ptx_cfg(function), lambda index, classes: _step(code[index], classes), problem)


def _problem(i: Instruction, classes: Mapping[str, int]) -> str | None:
    if i.base == "call":
        return f"{i.text} calls a function"
    if i.base == "brx":
        return f"{i.text} goes where a register says"
    if i.guard is not None and _class_of(i.guard.register, classes) == FREE:
        return f"{i.text} depends on loaded data"
    deciding: list[Operand] = [o for o in i.operands if isinstance(o, Address)]
    if deciding and i.base not in _STORES:
        # Sizes, strides and masks of the other forms are counted with their addresses.
        first = 1 if i.base in ("ld", "ldu", "ldmatrix") or i.opcode.startswith("wmma.load") else 0
        deciding += [o for o in i.operands[first:] if isinstance(o, Register)]
    if i.base in _MASK_LAST:
        deciding += i.operands[-1:]
    elif i.base in _MASKED:
        deciding += [o for o in i.operands if isinstance(o, Register)]
    elif i.base in ("div", "rem") and i.parts[-1][:1] in "su":
        deciding += i.operands[2:3]
    free = any(_class_of(o, classes) == FREE for o in deciding)
    if not free:
        return None
    what = "the address of " if any(isinstance(o, Address) for o in deciding) else ""
    return f"{what}{i.text} depends on loaded data"

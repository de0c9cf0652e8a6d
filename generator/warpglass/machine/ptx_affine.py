"""Whether the control flow and the addresses of PTX code are affine in the block index.

The twin of :mod:`warpglass.machine.sass_affine`: the same classes, the same use. Opcodes that are not listed
give free values, so that a new one costs the sampling and never its truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warpglass.flow import ptx_cfg, reads_writes
from warpglass.machine.affine import (
    FREE,
    UNIFORM_VALUE,
    Value,
    constant,
    disjoint,
    either,
    first_problem,
    masked,
    merged,
    negated,
    scaled,
    shifted_down,
    special_value,
    summed,
    worst_of,
)
from warpglass.ptx.model import (
    Address,
    Component,
    Function,
    Immediate,
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


def _value_of(operand: Operand, values: Mapping[str, Value]) -> Value:
    """Value of a source operand; addresses of variables are uniform."""
    if isinstance(operand, Register):
        return values.get(operand.name, Value())
    if isinstance(operand, Immediate) and operand.kind == "int":
        return constant(operand.bits - (1 << 64) if operand.bits >> 63 else operand.bits)
    if isinstance(operand, SpecialRegister):
        return special_value(operand.name, _BLOCK, _CHANGING)
    return Value(_class_of(operand, values))


def _class_of(operand: Operand, values: Mapping[str, Value]) -> int:
    """Class of a source operand."""
    if isinstance(operand, Component):
        return _value_of(operand.register, values).cls
    if isinstance(operand, Negated):
        return _class_of(operand.operand, values)
    if isinstance(operand, Address):
        parts = [part for part in (operand.base, operand.coordinates) if part is not None]
        return max((_class_of(part, values) for part in parts), default=UNIFORM_VALUE)
    if isinstance(operand, Vector | OperandList):
        return max((_class_of(part, values) for part in operand.elements), default=UNIFORM_VALUE)
    if isinstance(operand, Pair):
        return max(_class_of(operand.first, values), _class_of(operand.second, values))
    if isinstance(operand, Register | SpecialRegister):
        return _value_of(operand, values).cls
    return UNIFORM_VALUE


def _multiplied(i: Instruction, given: Sequence[Value]) -> Value:
    """``mul`` and ``mad``: the high half of a product steps, it does not rise evenly."""
    if "hi" in i.parts:
        worst = worst_of(given)
        return Value(worst if worst == UNIFORM_VALUE else FREE)
    product = scaled(given[0], given[1])
    return summed(product, given[2]) if len(given) > 2 else _signed(i, product)


def _signed(i: Instruction, value: Value) -> Value:
    """A value after a conversion or a wide product: a 32-bit pattern from 2**31 on is a negative number."""
    return value if value.may < 1 << 31 else negated(value)


def _shifted(i: Instruction, given: Sequence[Value]) -> Value:
    places = i.operands[2]
    worst = worst_of(given)
    if not isinstance(places, Immediate) or not 0 <= places.bits < 32:
        return Value(worst if worst == UNIFORM_VALUE or (i.base == "shl" and given[1].cls == 0) else FREE)
    if i.base == "shl":
        return scaled(given[0], constant(1 << places.bits))
    if "s32" in i.parts and places.bits == 31:  # the sign alone: a choice by a comparison
        return Value(worst)
    if any(part.startswith("s") for part in i.parts) and given[0].may >= 1 << 31:
        return Value(worst if worst == UNIFORM_VALUE else FREE)  # copies of the sign come in
    return shifted_down(given[0], places.bits)


def _inserted(i: Instruction, given: Sequence[Value]) -> Value:
    """``bfi``: the low bits of the first operand, from a place on, over the second."""
    place, length = i.operands[3], i.operands[4]
    worst = worst_of(given)
    if not isinstance(place, Immediate) or not isinstance(length, Immediate) or "b32" not in i.parts:
        return Value(worst if worst == UNIFORM_VALUE else FREE)
    at, end = min(place.bits & 255, 32), min((place.bits & 255) + (length.bits & 255), 32)
    mask = (1 << end) - (1 << at) if end > at else 0
    return merged(scaled(given[0], constant(1 << at)).cut(32), given[1].cut(32), mask)


_RULES: Mapping[str, Callable[[Instruction, Sequence[Value]], Value]] = {
    **dict.fromkeys(("mov", "cvta"), lambda i, given: given[0]),
    "cvt": lambda i, given: _signed(i, given[0]),
    "add": lambda i, given: summed(*given),
    "sub": lambda i, given: summed(given[0], negated(given[1])),
    "neg": lambda i, given: negated(given[0]),
    **dict.fromkeys(("min", "max", "selp"), lambda i, given: either(given[0], given[1])),
    **dict.fromkeys(("mul", "mad"), _multiplied),
    **dict.fromkeys(("shl", "shr"), _shifted),
    "bfi": _inserted,
    "and": lambda i, given: masked(given[0], given[1]),
    **dict.fromkeys(("or", "xor"), lambda i, given: disjoint(*given)),
}


#: Sources that a rule needs; another number is no instruction of the set.
_SOURCES: Mapping[str, int] = {
    **dict.fromkeys(("mov", "cvta", "cvt", "neg"), 1),
    **dict.fromkeys(("add", "sub", "min", "max", "mul", "shl", "shr", "and", "or", "xor"), 2),
    **dict.fromkeys(("selp", "mad"), 3), "bfi": 4,
}  # fmt: skip


def _result(instruction: Instruction, values: Mapping[str, Value]) -> Value:
    """Value of an instruction's results from those of what it reads."""
    base, sources = instruction.base, instruction.operands[1:]
    given = [_value_of(operand, values) for operand in sources]
    worst = worst_of(given)
    if base in ("ld", "ldu"):
        # Nothing writes constants and kernel arguments while a kernel runs.
        fixed = "const" in instruction.parts or any(p.startswith("param") for p in instruction.parts)
        return Value(UNIFORM_VALUE if fixed and worst == UNIFORM_VALUE else FREE)
    if base not in _PURE or "cc" in instruction.parts or worst == FREE:
        return Value(FREE)
    types = [part for part in instruction.parts if part in _TYPES]
    whole = types and _INTEGERS.issuperset(types) and "sat" not in instruction.parts
    rule = _RULES.get(base)
    if rule is not None and whole and not any(isinstance(o, Vector) for o in instruction.operands):
        if len(given) != _SOURCES[base]:
            return Value(FREE)
        made = rule(instruction, given)
        if "wide" not in instruction.parts and all(part.endswith("32") for part in types):
            made = made.cut(32)
        return made._replace(cls=max(made.cls, worst))
    if worst == UNIFORM_VALUE:
        return Value()
    if "pred" in types and base in _LOGIC:
        return Value(worst)
    # A comparison's result, a sum in 24 bits: no more than that it is affine.
    linear = base in _LINEAR or (
        base in _PRODUCTS
        and "hi" not in instruction.parts
        and any(value.cls == UNIFORM_VALUE for value in given[:2])
    )
    return Value(worst if whole and linear else FREE)


def _step(instruction: Instruction, values: dict[str, Value]) -> None:
    """Go past one instruction."""
    _, writes = reads_writes(instruction)
    if not writes:
        return
    result = _result(instruction, values)
    # Under a guard a register is one of two values, chosen by a condition that is judged by itself; so is a
    # vector register of which one element is written.
    kept = instruction.guard is not None or isinstance(instruction.operands[0], Component | Vector)
    for name in writes:
        values[name] = either(result, values.get(name, Value())) if kept else result


def why_not_affine(function: Function) -> str | None:
    """None where branches and addresses are affine in the block index, else what is not, in words."""
    code = function.instructions

    def problem(index: int, values: Mapping[str, Value]) -> str | None:
        found = _problem(code[index], values)
        return None if found is None else f"line {code[index].line}: {found}"

    return first_problem(ptx_cfg(function), lambda index, values: _step(code[index], values), problem)


def _problem(i: Instruction, values: Mapping[str, Value]) -> str | None:
    if i.base == "call":
        return f"{i.text} calls a function"
    if i.base == "brx":
        return f"{i.text} goes where a register says"
    if i.guard is not None and _class_of(i.guard.register, values) == FREE:
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
    free = any(_class_of(o, values) == FREE for o in deciding)
    if not free:
        return None
    what = "the address of " if any(isinstance(o, Address) for o in deciding) else ""
    return f"{what}{i.text} depends on loaded data"

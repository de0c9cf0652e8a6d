"""What SASS arithmetic makes of values that are affine in the block index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warpglass.machine.affine import (
    AFFINE,
    FREE,
    UNIFORM_VALUE,
    Value,
    constant,
    disjoint,
    either,
    masked,
    merged,
    negated,
    scaled,
    shifted_down,
    special_value,
    summed,
    worst_of,
)
from warpglass.sass.model import Instruction
from warpglass.sass.operands import (
    Immediate,
    Operand,
    Predicate,
    Register,
    SpecialRegister,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

__all__ = ["ValueOf", "operand_value", "result_value"]

ValueOf = Callable[[Operand], Value]
Values = Sequence[Value]

_LOADS = frozenset({
    "LDG", "LD", "LDL", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS", "TEX", "TLD", "SULD", "MATCH", "VOTE",
    "VOTEU", "SHFL", "REDUX", "B2R", "ELECT", "SYNCS",
})  # fmt: skip
_BLOCK = ("CTAID", "CLUSTERID", "SR_CTAID", "SR_CLUSTERID")
_CHANGING = ("CLOCK", "GLOBALTIMER", "SMID", "VIRTUALSMID", "TMCNT")


def operand_value(operand: Operand, of: Callable[[int], Value], uniform: int) -> Value:
    """Value of a source operand; ``of`` gives a register's by its code, ``uniform`` is the code of UR0."""
    if isinstance(operand, Immediate) and isinstance(operand.value, int):
        return constant(operand.value)
    if not isinstance(operand, Register | UniformRegister):
        return Value()
    if operand.index is None:
        return constant(0)
    found = of(operand.index + (uniform if isinstance(operand, UniformRegister) else 0))
    if getattr(operand, "inverted", False):
        return Value(found.cls)
    return negated(found) if operand.negated else found


def _moved(i: Instruction, values: Values, worst: int) -> Value:
    return values[0]._replace(cls=worst) if values else Value(worst)


def _chosen(i: Instruction, values: Values, worst: int) -> Value:
    return either(values[0], values[1])._replace(cls=worst) if len(values) > 1 else Value(worst)


def _added(i: Instruction, values: Values, worst: int) -> Value:
    # A carry that comes in sets the lowest bit.
    return Value(worst) if "X" in i.modifiers else summed(*values)._replace(cls=worst)


def _lea(i: Instruction, values: Values, worst: int) -> Value:
    """``a * 2**shift + b``; the high half of the sum follows the low one where a carry joins them."""
    if "HI" in i.modifiers:
        apart = values and values[0].cls == AFFINE and "X" not in i.modifiers
        return Value(FREE if apart else worst)
    shift = _number(_sources(i)[2:3])
    if shift is None or len(values) < 2:
        return Value(worst)
    return summed(scaled(values[0], constant(1 << shift)), values[1])._replace(cls=worst)


def _product(i: Instruction, values: Values, worst: int) -> Value:
    """``a * b + c`` is affine where one factor at least is the same for all blocks."""
    parts = set(i.modifiers)
    if len(values) < 3:
        return Value(worst if worst == UNIFORM_VALUE else FREE)
    if "MOV" in parts:
        return values[2]._replace(cls=worst)
    if "HI" in parts:  # the quotient of a division by a constant steps, it does not rise evenly
        return Value(worst if worst == UNIFORM_VALUE else FREE)
    product = scaled(values[0], values[1])
    cls = FREE if product.cls == FREE else worst
    if "X" in parts:
        return Value(cls)
    made = product if values[2] == constant(0) else summed(product, values[2])
    return made._replace(cls=cls)


def _shift(i: Instruction, values: Values, worst: int) -> Value:
    parts, places = set(i.modifiers), _number(_sources(i)[1:2])
    if places is None or len(values) < 3:
        return Value(worst if worst == UNIFORM_VALUE else FREE)
    if "L" in parts:
        return Value(worst) if "HI" in parts else scaled(values[0], constant(1 << places))._replace(cls=worst)
    if "S32" in parts and places == 31:  # the sign alone: a choice by a comparison
        return Value(worst)
    if "U32" in parts and values[0] == constant(0):
        return shifted_down(values[2], places)
    return Value(worst if worst == UNIFORM_VALUE else FREE)


def _sources(i: Instruction) -> Sequence[Operand]:
    """What an instruction with one result reads beside predicates, in order."""
    return [o for o in i.operands if not isinstance(o, Predicate | UniformPredicate)][1:]


def _number(operands: Sequence[Operand]) -> int | None:
    """The constant that an operand is, None where it is none."""
    one = operands[0] if operands else None
    return one.value & 63 if isinstance(one, Immediate) and isinstance(one.value, int) else None


def _selected(mask: Value, one: Value, zero: Value) -> Value:
    """Bits of ``one`` where a constant mask has one, else of ``zero``."""
    if mask.may == mask.must:
        return merged(one, zero, mask.may).cut(32)
    worst = worst_of((mask, one, zero))
    return Value(worst if worst == UNIFORM_VALUE else FREE)


#: LOP3's tables of truth by what they are: a, b and c are 0xf0, 0xcc and 0xaa.
_TABLES: Mapping[int, Callable[[Value, Value, Value], Value]] = {
    0xC0: lambda a, b, c: masked(a, b),
    0x80: lambda a, b, c: masked(masked(a, b), c),
    0xFC: lambda a, b, c: disjoint(a, b),
    0x3C: lambda a, b, c: disjoint(a, b),
    0xFE: disjoint,
    0x96: disjoint,
    0xF8: lambda a, b, c: disjoint(a, masked(b, c)),
    0x78: lambda a, b, c: disjoint(a, masked(b, c)),
    0xEA: lambda a, b, c: disjoint(masked(a, b), c),
    0x6A: lambda a, b, c: disjoint(masked(a, b), c),
    0xE2: lambda a, b, c: _selected(b, a, c),
    0xB8: lambda a, b, c: _selected(b, c, a),
    0xE4: lambda a, b, c: _selected(c, a, b),
    0xD8: lambda a, b, c: _selected(c, b, a),
    0xCA: lambda a, b, c: _selected(a, b, c),
    0xAC: lambda a, b, c: _selected(a, c, b),
    0xEC: lambda a, b, c: disjoint(masked(a, c), b),
    0x6C: lambda a, b, c: disjoint(masked(a, c), b),
}


def _logic(i: Instruction, values: Values, worst: int) -> Value:
    table = _sources(i)[3:4]
    known = None
    if table and isinstance(table[0], Immediate) and isinstance(table[0].value, int):
        known = _TABLES.get(table[0].value & 0xFF)
    found = known(*values[:3]) if known is not None else Value(FREE)
    return found if worst == AFFINE or found.cls == UNIFORM_VALUE else Value(worst)


_RULES: Mapping[str, Callable[[Instruction, Values, int], Value]] = {
    **dict.fromkeys(("MOV", "UMOV", "R2UR"), _moved),
    **dict.fromkeys(("SEL", "USEL", "IMNMX", "VIMNMX", "UIMNMX"), _chosen),
    **dict.fromkeys(("IADD3", "UIADD3", "IADD", "VIADD", "UVIADD"), _added),
    **dict.fromkeys(("LEA", "ULEA"), _lea),
    **dict.fromkeys(("IMAD", "UIMAD", "IMUL"), _product),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
}
#: Affine values give affine results, of which no more is known: comparisons, logic of predicates.
_LINEAR = frozenset({"ISETP", "UISETP", "PLOP3", "UPLOP3", "VIMNMX3"})


def result_value(instruction: Instruction, reads: Values, value_of: ValueOf) -> Value:
    """Value of an instruction's first result. ``reads`` are those of every register that it reads."""
    base, worst = instruction.base, worst_of(reads)
    special = next((o for o in instruction.operands if isinstance(o, SpecialRegister)), None)
    if special is not None:
        return special_value(special.name, _BLOCK, _CHANGING)
    if base in _LOADS or worst == FREE:
        return Value(FREE)
    rule = _RULES.get(base)
    if rule is None:
        return Value(worst if worst == UNIFORM_VALUE or base in _LINEAR else FREE)
    return rule(instruction, [value_of(o) for o in _sources(instruction)], worst)

"""Operands of machine instructions as bare registers plus a function that makes their value.

An :class:`Arg` names the 32-bit registers or predicates an operand stands for, and ``fix``, which turns their
containers into the value the instruction computes with: sign, bars, tilde, halves and pairs included.
"""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpglass.machine.numeric import half
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.convert import float_to_float
from warpglass.machine.numeric.formats import FORMATS, round_f64
from warpglass.machine.numeric.integer import absolute
from warpglass.machine.sass_ops.model import Source
from warpglass.sass.model import Instruction
from warpglass.sass.operands import (
    Constant,
    Immediate,
    Label,
    Operand,
    Predicate,
    Register,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

__all__ = [
    "Arg", "Fix", "Parts", "complemented", "constant", "double", "half_pair", "half_sources", "immediate",
    "integer", "is_null", "is_predicate", "is_register", "is_signed", "is_value", "predicate", "selected",
    "single", "split", "unsigned", "wide", "word",
]  # fmt: skip

Fix = Callable[..., Array]
_U32: Any = np.uint32
_U64: Any = np.uint64
_SIGN32 = np.uint32(1 << 31)
_SIGN64 = np.uint64(1 << 63)
_Modified = Register | UniformRegister | Constant


@dataclass(frozen=True, slots=True)
class Arg:
    """One operand. ``fix`` takes the containers of ``operands``; None: the only one is the value."""

    operands: tuple[Source, ...]
    types: tuple[str, ...]
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """Operands by place: predicates, the register written, predicates, sources, predicates."""

    lead: tuple[Operand, ...]
    dest: Operand
    mid: tuple[Operand, ...]
    sources: tuple[Operand, ...]
    tail: tuple[Operand, ...]


def is_predicate(operand: Operand) -> bool:
    """Whether it is a predicate, per lane or uniform."""
    return isinstance(operand, Predicate | UniformPredicate)


def is_register(operand: Operand) -> bool:
    """Whether it is a register, per lane or uniform."""
    return isinstance(operand, Register | UniformRegister)


def is_null(operand: Operand) -> bool:
    """RZ, URZ, PT and UPT."""
    return (
        isinstance(operand, Register | UniformRegister | Predicate | UniformPredicate)
        and operand.index is None
    )


def is_value(arg: Arg, value: int) -> bool:
    """Whether the argument is this constant."""
    operand = arg.operands[0]
    return arg.fix is None and isinstance(operand, Immediate) and operand.value == value


def is_signed(instruction: Instruction) -> bool:
    """Whether an integer operation is signed: where it is not, ``.U32`` or ``.U64`` stands in its name."""
    return not any(part in ("U32", "U64") for part in instruction.modifiers)


def split(instruction: Instruction) -> Parts:
    """Operands by place. ValueError where no register stands first."""
    operands = instruction.operands
    start = 0
    while start < len(operands) and is_predicate(operands[start]):
        start += 1
    if start == len(operands) or not is_register(operands[start]):
        raise ValueError(instruction.text)
    first = start + 1
    while first < len(operands) and is_predicate(operands[first]):
        first += 1
    last = len(operands)
    while last > first and is_predicate(operands[last - 1]):
        last -= 1
    return Parts(
        operands[:start], operands[start], operands[start + 1 : first], operands[first:last], operands[last:]
    )


def constant(bits: int) -> Immediate:
    """A container's pattern as an operand."""
    return Immediate("int", bits, hex(bits))


def immediate(operand: Operand) -> int:
    """The number of an integer immediate; ValueError for anything else."""
    if isinstance(operand, Immediate) and operand.kind == "int":
        return int(operand.value)
    if isinstance(operand, Register | UniformRegister) and operand.index is None:
        return 0
    raise ValueError(str(operand))


# ---------------------------------------------------------------- bare registers


def _bare(operand: Operand) -> Source:
    """One 32-bit register without its modifiers."""
    if isinstance(operand, Register):
        return constant(0) if operand.index is None else Register(operand.index)
    if isinstance(operand, UniformRegister):
        return constant(0) if operand.index is None else UniformRegister(operand.index)
    if isinstance(operand, Constant):
        return Constant(operand.bank, operand.offset, operand.base)
    if isinstance(operand, Immediate):
        return constant(operand.bits32)
    if isinstance(operand, Label):
        return operand
    raise ValueError(str(operand))


def _next(source: Source) -> Source:
    """The register, or the four bytes, behind ``source``."""
    if isinstance(source, Register | UniformRegister):
        assert source.index is not None
        return replace(source, index=source.index + 1)
    if isinstance(source, Constant):
        return replace(source, offset=source.offset + 4)
    raise ValueError(str(source))


def _pair(operand: Operand) -> tuple[Source, Source]:
    low = _bare(operand)
    if isinstance(low, Immediate):
        return low, constant(0)  # RZ; immediates have their own rules
    if isinstance(low, Label):
        raise ValueError(str(operand))
    return low, _next(low)


def _join(low: Array, high: Array) -> Array:
    """The 64-bit value of a register pair."""
    if low.shape == high.shape:
        both = np.empty((*low.shape, 2), dtype=np.uint32)
        both[..., 0] = low
        both[..., 1] = high
        joined: Array = both.view(np.uint64)[..., 0]
        return joined
    return low.astype(np.uint64) | (high.astype(np.uint64) << _U64(32))


def _chain(steps: list[Fix]) -> Fix | None:
    if not steps:
        return None
    if len(steps) == 1:
        return steps[0]
    first, *rest = steps

    def fix(*xs: Array) -> Array:
        value = first(*xs)
        for step in rest:
            value = step(value)
        return value

    return fix


# ---------------------------------------------------------------- integers


def selected(suffixes: tuple[str, ...]) -> Fix | None:
    """``.B1``, ``.H1``: that part of the register, zero-extended."""
    for suffix in suffixes:
        if len(suffix) == 2 and suffix[0] in "BH" and suffix[1].isdigit():
            width = 8 if suffix[0] == "B" else 16
            shift, mask = _U32(width * int(suffix[1])), _U32((1 << width) - 1)
            return lambda a: (a >> shift) & mask
    return None


def word(operand: Operand) -> Arg:
    """A 32-bit pattern; no modifier but a choice of byte or half is looked at."""
    steps = [fix] if (fix := selected(getattr(operand, "suffixes", ()))) is not None else []
    return Arg((_bare(operand),), ("b32",), _chain(steps))


def integer(operand: Operand) -> Arg:
    """A 32-bit integer: bars, then minus, or tilde."""
    steps: list[Fix] = []
    if isinstance(operand, _Modified):
        part = selected(operand.suffixes)
        if part is not None:
            steps.append(part)
        if operand.absolute:
            steps.append(absolute)
        if operand.negated:
            steps.append(np.negative)
        if operand.inverted:
            steps.append(np.invert)
    return Arg((_bare(operand),), ("b32",), _chain(steps))


def wide(operand: Operand) -> Arg:
    """A 64-bit integer in a register pair; immediates are sign-extended."""
    if isinstance(operand, Immediate):
        bits = operand.bits64 if operand.kind == "int" else operand.bits32
        return Arg((constant(bits & 0xFFFFFFFF), constant(bits >> 32)), ("b32", "b32"), _join)
    steps: list[Fix] = [_join]
    if isinstance(operand, _Modified):
        if operand.absolute:
            steps.append(absolute)
        if operand.negated:
            steps.append(np.negative)
        if operand.inverted:
            steps.append(np.invert)
    return Arg(_pair(operand), ("b32", "b32"), _chain(steps))


def predicate(operand: Operand) -> Arg:
    """A predicate, complemented where a ``!`` stands before it."""
    if not isinstance(operand, Predicate | UniformPredicate):
        raise ValueError(str(operand))
    if operand.index is None:
        return Arg((constant(0 if operand.negated else 1),), ("pred",))
    bare: Source = (
        Predicate(operand.index) if isinstance(operand, Predicate) else UniformPredicate(operand.index)
    )
    return Arg((bare,), ("pred",), np.logical_not if operand.negated else None)


def unsigned(operand: Operand) -> Operand:
    """The operand without minus and bars."""
    return replace(operand, negated=False, absolute=False) if isinstance(operand, _Modified) else operand


def complemented(operand: Operand) -> Operand:
    """The operand's complement, in place of its minus: what a sum with a carry in of one adds."""
    if not isinstance(operand, _Modified):
        raise ValueError(str(operand))
    return replace(operand, negated=False, inverted=True)


# ---------------------------------------------------------------- floats


def _number(operand: Immediate) -> float:
    """A float literal; ``5`` and ``-0`` are printed without a point."""
    if operand.kind == "float":
        return float(operand.value)
    return -0.0 if operand.value == 0 and operand.text.startswith("-") else float(operand.value)


def _is_pattern(operand: Immediate) -> bool:
    return operand.kind == "int" and "x" in operand.text.lower()


def _encoded(instruction: Instruction | None) -> int | None:
    """The immediate field of an encoding of two words (Volta on): bits 63 to 32."""
    if instruction is None or instruction.words is None or len(instruction.words) != 2:
        return None
    return instruction.words[0] >> 32


def _bits32(operand: Immediate, instruction: Instruction | None) -> int:
    if _is_pattern(operand):
        return operand.bits32
    value = _number(operand)
    if math.isnan(value):
        exact = _encoded(instruction)
        return operand.bits32 if exact is None else exact
    return Immediate("float", value, operand.text).bits32


def single(operand: Operand, instruction: Instruction | None = None) -> Arg:
    """A single-precision pattern. NaN literals take their exact bits from the encoding where there is one."""
    if isinstance(operand, Immediate):
        return Arg((constant(_bits32(operand, instruction)),), ("b32",))
    steps: list[Fix] = []
    if isinstance(operand, _Modified):
        if operand.absolute and operand.negated:
            steps.append(lambda a: a | _SIGN32)
        elif operand.absolute:
            steps.append(lambda a: a & ~_SIGN32)
        elif operand.negated:
            steps.append(lambda a: a ^ _SIGN32)
        if operand.inverted:
            raise ValueError(str(operand))
    bare = _bare(operand)
    if isinstance(bare, Label):
        raise ValueError(str(operand))
    if isinstance(bare, Immediate) and steps:  # -RZ
        return Arg((constant(1 << 31 if operand.negated else 0),), ("b32",))  # type: ignore[union-attr]
    return Arg((bare,), ("b32",), _chain(steps))


def double(operand: Operand, instruction: Instruction | None = None) -> Arg:
    """A double-precision pattern in a register pair; of an immediate only the upper word is encoded."""
    if isinstance(operand, Immediate):
        if _is_pattern(operand):
            high = operand.bits32
        elif math.isnan(_number(operand)):
            exact = _encoded(instruction)
            high = operand.bits64 >> 32 if exact is None else exact
        else:
            # The text is the decimal of {upper word, 0}: rounding brings back exactly that.
            high = (Immediate("float", _number(operand), operand.text).bits64 + 0x80000000) >> 32
        return Arg((constant(0), constant(high)), ("b32", "b32"), _join)
    steps: list[Fix] = [_join]
    if isinstance(operand, _Modified):
        if operand.absolute and operand.negated:
            steps.append(lambda a: a | _SIGN64)
        elif operand.absolute:
            steps.append(lambda a: a & ~_SIGN64)
        elif operand.negated:
            steps.append(lambda a: a ^ _SIGN64)
    return Arg(_pair(operand), ("b32", "b32"), _chain(steps))


# ---------------------------------------------------------------- packed halves

HalfOperand = Operand | tuple[Immediate, Immediate]


def half_sources(sources: tuple[Operand, ...]) -> list[HalfOperand]:
    """Sources of a packed operation: two immediates in a row are the upper and lower half of one."""
    found: list[HalfOperand] = []
    index = 0
    while index < len(sources):
        here = sources[index]
        if isinstance(here, Immediate) and index + 1 < len(sources):
            following = sources[index + 1]
            if isinstance(following, Immediate):
                found.append((here, following))
                index += 2
                continue
        found.append(here)
        index += 1
    return found


def _half_bits(operand: Immediate, name: str) -> int:
    if _is_pattern(operand):
        return operand.bits32 & 0xFFFF
    value = np.array([_number(operand)])
    bits = int(round_f64(value, FORMATS[name])[0]) & 0xFFFF
    return bits | 0x8000 if operand.text.startswith("-") else bits


_SWIZZLES: dict[str, tuple[int, int]] = {
    "H0_H0": (0, 0), "H1_H1": (1, 1), "H1_H0": (0, 1), "H0_H1": (1, 0), "H0_NH1": (0, 1), "H1_NH0": (0, 1),
    "H0": (0, 0), "H1": (1, 1),
}  # fmt: skip


def half_pair(operand: HalfOperand, name: str, instruction: Instruction | None = None) -> Arg:
    """Two halves ``name`` (f16 or bf16) as one uint32 pattern, swizzled and signed as written."""
    if isinstance(operand, tuple):
        if any(math.isnan(_number(part)) for part in operand):
            exact = _encoded(instruction)
            if exact is not None:
                return Arg((constant(exact),), ("b32",))
        high, low = (_half_bits(part, name) for part in operand)
        return Arg((constant(high << 16 | low),), ("b32",))
    if isinstance(operand, Immediate):
        bits = operand.bits32 if _is_pattern(operand) else _half_bits(operand, name) * 0x10001
        return Arg((constant(bits),), ("b32",))
    if not isinstance(operand, _Modified):
        raise ValueError(str(operand))
    steps: list[Fix] = []
    swizzle = next((_SWIZZLES[s] for s in operand.suffixes if s in _SWIZZLES), (0, 1))
    if swizzle != (0, 1):
        low_from, high_from = swizzle

        def arrange(a: Array) -> Array:
            parts = half.split(a)
            low, high = parts[low_from].astype(np.uint32), parts[high_from].astype(np.uint32)
            joined: Array = low | (high << _U32(16))
            return joined

        steps.append(arrange)
    if "F32" in operand.suffixes:
        # A single in place of the pair: cut to the format (ptxas converts so where it must round to zero).
        def cut(a: Array) -> Array:
            low = float_to_float(a, "f32", name, "rz").astype(np.uint32)
            return low | (low << _U32(16))

        steps.append(cut)
    if operand.absolute:
        steps.append(lambda a: a & _U32(0x7FFF7FFF))
    if operand.negated:
        steps.append(lambda a: a ^ _U32(0x80008000))
    for suffix, flip in (("H0_NH1", 0x80000000), ("H1_NH0", 0x8000)):
        if suffix in operand.suffixes:
            mask = _U32(flip)
            steps.append(lambda a, mask=mask: a ^ mask)
    bare = _bare(operand)
    if isinstance(bare, Immediate):  # RZ
        bits = 0x80008000 if operand.negated else 0
        return Arg((constant(bits),), ("b32",))
    return Arg((bare,), ("b32",), _chain(steps))

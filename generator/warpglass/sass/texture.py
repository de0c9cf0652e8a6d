"""Register widths of texture and surface instructions: results by component mask, coordinates by shape."""

from __future__ import annotations

from collections.abc import Mapping

from warpglass.sass.model import Instruction
from warpglass.sass.operands import Address, Immediate, Register, UniformRegister, Word
from warpglass.sass.widths import data_width

__all__ = ["texture_widths"]

#: Coordinates of a shape, the array index not counted.
_DIMENSIONS = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3}


def _shape(instruction: Instruction) -> tuple[int, bool]:
    """Number of coordinates, and whether an array index comes with them."""
    for operand in instruction.operands:
        if isinstance(operand, Word):
            array = operand.text.startswith("ARRAY_")
            count = _DIMENSIONS.get(operand.text.removeprefix("ARRAY_"))
            if count is not None:
                return count, array
    parts = instruction.modifiers
    for name, count in _DIMENSIONS.items():
        if name in parts:
            return count, "ARRAY" in parts
    return 2, False


def _mask(instruction: Instruction) -> int:
    """Components wanted: the last immediate behind the shape, 15 where none is printed."""
    after = False
    for operand in instruction.operands:
        if isinstance(operand, Word):
            after = True
        elif after and isinstance(operand, Immediate) and operand.kind == "int":
            return int(operand.value) & 15
    return 15


def texture_widths(instruction: Instruction) -> Mapping[int, int]:
    """Operand index to number of registers.

    Four components come back in two pairs: the second operand holds the first two, the first operand the
    rest. Coordinates stand in consecutive registers of the first source.
    """
    if instruction.base in ("SULD", "SUST"):
        return _surface(instruction)
    components = bin(_mask(instruction)).count("1")
    result = {0: max(0, components - 2) or 1, 1: min(components, 2)}
    count, array = _shape(instruction)
    total = count + array
    sources = [i for i, item in enumerate(instruction.operands) if i >= 2 and isinstance(item, Register)]
    if sources:
        result[sources[0]] = min(total, 4)
    # Level, bias, reference, offset and sample come in the second source, a register each.
    extra = [part for part in instruction.modifiers if part in ("LL", "LB", "DC", "AOFFI", "MS", "PTP")]
    if len(sources) > 1:
        result[sources[1]] = max(1, len(extra))
    for index, item in enumerate(instruction.operands):
        if isinstance(item, UniformRegister):
            # A bindless handle has 64 bits.
            result[index] = 2
    return result


def _surface(instruction: Instruction) -> Mapping[int, int]:
    width = data_width(instruction.modifiers)
    return {
        index: width
        for index, operand in enumerate(instruction.operands)
        if isinstance(operand, Register) and not isinstance(operand, Address)
    }

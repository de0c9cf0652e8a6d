"""PTX arithmetic, logic, conversion, cross-lane and tensor semantics as tables of small functions.

:func:`lower` is the one door. Each module beside it holds one family: a table from (opcode base, kind of
its type) to a builder, which turns modifiers and operand shape into formats and a numpy function.
"""

from __future__ import annotations

from functools import lru_cache

from warpglass.machine.ptx_ops import (
    arithmetic,
    conversion,
    floating,
    logic,
    move,
    predicate,
    tensor,
    video,
    warp,
)
from warpglass.machine.ptx_ops.isa import is_valid, operands_fit
from warpglass.machine.ptx_ops.model import CARRY, LaneOp, WarpOp
from warpglass.machine.ptx_ops.opcode import Meaning, Shape, Table, container, kind_of, parse_opcode
from warpglass.ptx.model import Component, Instruction, Negated, Operand, Pair, Register, Vector

__all__ = ["LaneOp", "WarpOp", "lower"]

_TABLES: tuple[Table, ...] = (
    arithmetic.TABLE,
    logic.TABLE,
    floating.TABLE,
    predicate.TABLE,
    conversion.TABLE,
    move.TABLE,
    warp.TABLE,
    tensor.TABLE,
    video.TABLE,
)
_TABLE = {key: builder for table in _TABLES for key, builder in table.items()}


def _shape(operand: Operand) -> str:
    if isinstance(operand, Vector):
        return f"v{len(operand.elements)}"
    if isinstance(operand, Pair):
        return "p"
    if isinstance(operand, Negated) and operand.arithmetic:
        return "-" + _shape(operand.operand)
    if isinstance(operand, Component) and operand.selector:
        return f"r:{operand.selector}"
    return "r"


def _flat(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Vector):
        return operand.elements
    if isinstance(operand, Negated) and operand.arithmetic:
        return _flat(operand.operand)
    if isinstance(operand, Component) and operand.selector:
        return (operand.register,)  # the function picks the part
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)


@lru_cache(maxsize=4096)
def _meaning(text: str, shape: Shape) -> Meaning | None:
    """Meaning of an opcode with operands of these shapes; None where the tables do not know it."""
    opcode = parse_opcode(text)
    builder = _TABLE.get((opcode.base, kind_of(opcode.type))) or _TABLE.get((opcode.base, "*"))
    if builder is None or not is_valid(opcode) or not operands_fit(opcode, shape):
        return None
    try:
        return builder(opcode, shape)
    except (KeyError, IndexError, ValueError):
        # A combination of types or modifiers outside the ISA: as unknown as an unknown opcode.
        return None


def lower(instruction: Instruction) -> LaneOp | WarpOp | None:
    """Meaning of ``instruction``, or None where this table does not know its opcode or operand shape."""
    operands = instruction.operands
    meaning = _meaning(instruction.opcode, tuple(_shape(o) for o in operands))
    if meaning is None or not operands:
        return None
    dests = _flat(operands[0])
    sources = tuple(element for operand in operands[1:] for element in _flat(operand))
    if len(dests) != len(meaning.dests) or len(sources) != len(meaning.sources):
        return None
    dest_formats, source_formats = meaning.dests, meaning.sources
    if meaning.carry_out:
        dests, dest_formats = (*dests, Register(CARRY)), (*dest_formats, "pred")
    if meaning.carry_in:
        sources, source_formats = (*sources, Register(CARRY)), (*source_formats, "pred")
    dest_types = tuple(map(container, dest_formats))
    source_types = tuple(map(container, source_formats))
    if meaning.warp:
        return WarpOp(
            dests,
            dest_types,
            sources,
            source_types,
            meaning.fn,
            dest_formats,
            source_formats,
            meaning.membermask,
        )
    return LaneOp(dests, dest_types, sources, source_types, meaning.fn, dest_formats, source_formats)

"""PTX arithmetic, logic, conversion, cross-lane and tensor semantics as tables of small functions."""

from __future__ import annotations

from warpglass.machine.ptx_ops.model import LaneOp, WarpOp
from warpglass.ptx.model import Instruction

__all__ = ["LaneOp", "WarpOp", "lower"]


def lower(instruction: Instruction) -> LaneOp | WarpOp | None:
    """Meaning of ``instruction``, or None where this table does not know its opcode or operand shape."""
    return None

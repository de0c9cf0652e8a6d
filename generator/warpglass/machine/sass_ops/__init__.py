"""Meaning of SASS computation, opcode by opcode, as tables of small functions.

:func:`lower` is the one door. Each module beside it holds one family: a table from the opcode's first part
to a builder, which reads modifiers and operands. The uniform datapath does the same on uniform registers:
an opcode with a U in front is looked up without it. What a value is, bit for bit, is decided by
:mod:`warpglass.machine.numeric` alone. Memory, control flow, barriers and special registers are not here.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpglass.machine.sass_ops import (
    compare,
    conversion,
    extremes,
    floating,
    integer,
    lanes,
    logic,
    move,
    tensor,
)
from warpglass.machine.sass_ops.model import LaneOp, WarpOp
from warpglass.machine.sass_ops.operands import split
from warpglass.machine.sass_ops.wiring import Builder, Table
from warpglass.sass.model import Instruction

__all__ = ["LaneOp", "WarpOp", "knows", "lower"]

_TABLES: tuple[Table, ...] = (
    integer.TABLE,
    extremes.TABLE,
    logic.TABLE,
    compare.TABLE,
    floating.TABLE,
    conversion.TABLE,
    move.TABLE,
    lanes.TABLE,
    tensor.TABLE,
)
_TABLE: dict[str, Builder] = {base: builder for table in _TABLES for base, builder in table.items()}


#: Sources (registers, constants, immediates) of opcodes whose functions take a fixed number of them.
_SOURCES: Mapping[str, int] = {
    **dict.fromkeys((
        "IABS", "POPC", "FLO", "BREV", "MUFU", "F2I", "I2F", "I2FP", "F2F", "FRND", "I2I", "MATCH", "REDUX",
        "CREDUX", "R2UR",
    ), 1),
    **dict.fromkeys((
        "IADD", "VIADD", "IMNMX", "VIMNMX", "SHL", "SHR", "BMSK", "SGXT", "SEL", "FSET", "FSEL", "FADD",
        "FMUL", "FADD2", "FMUL2", "DADD", "DMUL", "FMNMX", "DMNMX",
    ), 2),
    **dict.fromkeys((
        "IADD3", "IMAD", "ISCADD", "VIMNMX3", "VIADDMNMX", "VABSDIFF", "VABSDIFF4", "IDP", "SHF", "PRMT",
        "FFMA", "FFMA2", "DFMA", "FMNMX3", "SHFL", "I2IP", "F2IP",
    ), 3),
    "LOP3": 4,
}  # fmt: skip


def _builder(base: str) -> Builder | None:
    found = _TABLE.get(base)
    if found is None and base.startswith("U"):
        found = _TABLE.get(base[1:])
    return found


def knows(base: str) -> bool:
    """Whether the first part of an opcode names a computation of these tables."""
    return _builder(base) is not None


def lower(instruction: Instruction, sm: int) -> LaneOp | WarpOp | None:
    """Meaning of ``instruction`` on architecture ``sm`` (75, 80 …), or None where the tables lack it.

    Nothing here depends on ``sm`` so far: listings of all architectures from sm_70 on name the same things
    alike. Older ones are not known.
    """
    if sm < 70:
        return None
    builder = _builder(instruction.base)
    if builder is None:
        return None
    try:
        base = instruction.base
        count = _SOURCES.get(base) or _SOURCES.get(base.removeprefix("U"))
        if count is not None and len(split(instruction).sources) != count:
            return None
        return builder(instruction)
    except (KeyError, IndexError, ValueError, StopIteration, OverflowError):
        # A form nobody has met: as unknown as an unknown opcode.
        return None

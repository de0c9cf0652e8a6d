"""Who lowers an opcode that is not arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from warpglass.machine import ptx_flow, ptx_sync
from warpglass.machine.ptx_lowering import Builder
from warpglass.ptx.model import Instruction

__all__ = ["builder_of"]

_TABLE: Mapping[str, Builder] = {**ptx_flow.TABLE, **ptx_sync.TABLE}


def builder_of(instruction: Instruction) -> Builder | None:
    """Builder of an instruction, or None where the arithmetic tables must know it."""
    return _TABLE.get(instruction.base)

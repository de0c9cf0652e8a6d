"""Memory barriers of Hopper and later in SASS: SYNCS, UBLKCP and their kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warpglass.machine.program import Op
from warpglass.machine.sass_control import CodeMap
from warpglass.machine.sass_registers import SassRegisters
from warpglass.sass.model import Instruction

__all__ = ["TABLE"]

Builder = Callable[[SassRegisters, CodeMap, Instruction, int], Op]

#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {}

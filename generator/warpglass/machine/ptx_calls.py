"""Calls and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpglass.machine.program import Op
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["CallOp", "RetOp"]


class CallOp(Op):
    __slots__ = ()


class RetOp(Op):
    """``ret`` of a function."""

    __slots__ = ("function",)

    def __init__(self, pc: int, function: str) -> None:
        super().__init__(pc)
        self.function = function

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Return."""
        m.stop("unsupported", "ret", self.pc)
        return False

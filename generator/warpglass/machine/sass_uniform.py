"""Uniform registers: one value for the lanes of a warp that go together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine.program import Op

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["UniformOp", "live_mask"]


class UniformOp(Op):
    """A computation of lanes' values into uniform registers; of lanes that differ the first one on decides.

    Only the lanes on get it: groups of a split warp, which take turns here at every instruction, must not
    see each other's uniform registers. Compiled code reads none that its own lanes have not written.
    """

    __slots__ = ("cross", "fn", "sources", "targets")

    placed: ClassVar[tuple[str, ...]] = ("sources",)

    def __init__(
        self,
        pc: int,
        fn: Callable[..., Any],
        sources: tuple[int, ...],
        targets: tuple[int, ...],
        cross: bool,
    ) -> None:
        super().__init__(pc)
        self.fn = fn
        self.sources = sources
        self.targets = targets
        self.cross = cross
        self.dests = targets

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Compute for the warps of ``on``."""
        live = on.live_rows()
        args = [m.rows(i, live) if m.is_lane[i] else m.R[i] for i in self.sources]
        out = self.fn(live_mask(live), *args) if self.cross else self.fn(*args)
        lowest = live.bits & (~live.bits + np.uint32(1))
        first = np.log2(lowest.astype(np.float64)).astype(np.int64)[:, None]
        for register, value in zip(self.targets, out, strict=True):
            wide = np.broadcast_to(value, (live.nrows, 32))
            wide = np.broadcast_to(np.take_along_axis(wide, first, axis=1), (live.nrows, 32))
            m.put_rows(register, np.ascontiguousarray(wide), live)
        return False


def live_mask(on: Selection) -> Any:
    """Lanes on as bool ``[nrows, 32]``."""
    return (on.bits[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1) != 0

"""Whether the blocks of a batch do the same: the same lanes at every instruction, requests that count alike.

A batch counts its blocks together. Where they are known to be alike each of them counted its share, so that
many blocks are compared at the cost of little more than one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints
from warpglass.machine.selection import Selection

__all__ = ["Alike"]


class Alike:
    """Watches a batch of ``blocks`` with ``warps`` each; ``holds`` until two of them differ."""

    __slots__ = ("_last", "_starts", "blocks", "holds", "warps")

    def __init__(self, blocks: int, warps: int) -> None:
        self.blocks = blocks
        self.warps = warps
        self.holds = True
        self._starts = (np.arange(blocks, dtype=np.int64) * warps)[:, None]
        #: What was looked at last: a group that goes on whole is looked at once.
        self._last: tuple[Selection | None, Selection | None] = (None, None)

    def issue(self, sel: Selection, on: Selection) -> None:
        """Look at the warps of a group, and at the lanes that its guard leaves on."""
        if not self.holds or (self._last[0] is sel and self._last[1] is on):
            return
        self._last = (sel, on)
        whole = self.blocks * self.warps
        if not (sel.full and sel.nrows == whole):
            self.counted(sel, sel.bits)
        if on is not sel and self.holds:
            self.counted(on, on.bits)

    def counted(self, on: Selection, *columns: npt.NDArray[Any]) -> None:
        """Look at what was counted for each warp of ``on``: one entry a row of it, or a row of its slice."""
        if not self.holds:
            return
        each, rest = divmod(on.nrows, self.blocks)
        if rest or not self._periodic(on.rows, each):
            self.holds = False
            return
        for column in columns:
            mine = column if column.shape[0] == on.nrows else column[on.rows - on.low]
            table = mine.reshape(self.blocks, each)
            if not (table == table[:1]).all():
                self.holds = False
                return

    def _periodic(self, rows: Ints, each: int) -> bool:
        table = rows.reshape(self.blocks, each) - self._starts
        return bool((table == table[:1]).all())

    def refuse(self) -> None:
        """Give up: something was counted that cannot be told by block."""
        self.holds = False

"""Addresses of shared memory in a cluster: mapa, getctarank, isspacep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine.program import Op
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["MapAddressOp", "RankOp", "SpaceQueryOp"]

#: A shared address holds the rank of its block plus one above this bit, or zero for the own block.
RANK_SHIFT = 24


def _own_rank(m: Machine, on: Selection) -> Any:
    return (m.block_of % m.cluster.size)[on.flat >> 5]


class MapAddressOp(Op):
    """``mapa``: the same place in another block's shared memory."""

    __slots__ = ("base", "dtype", "rank", "target", "window")

    placed: ClassVar[tuple[str, ...]] = ("base", "rank")

    def __init__(self, pc: int, target: int, base: int, rank: int, window: int, dtype: np.dtype[Any]) -> None:
        super().__init__(pc)
        self.target = target
        self.base = base
        self.rank = rank
        self.window = window
        self.dtype = dtype
        self.dests = (target,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Map."""
        address = np.broadcast_to(m.get(self.base, on), (on.count,)).astype(np.int64) - self.window
        rank = np.broadcast_to(m.get(self.rank, on), (on.count,)).astype(np.int64)
        mapped = (address & ((1 << RANK_SHIFT) - 1)) + ((rank + 1) << RANK_SHIFT) + self.window
        m.put_flat(self.target, mapped.astype(self.dtype), on)
        return False


class RankOp(Op):
    """``getctarank``: the rank of the block that a shared address belongs to."""

    __slots__ = ("base", "target", "window")

    placed: ClassVar[tuple[str, ...]] = ("base",)

    def __init__(self, pc: int, target: int, base: int, window: int) -> None:
        super().__init__(pc)
        self.target = target
        self.base = base
        self.window = window
        self.dests = (target,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Look."""
        address = np.broadcast_to(m.get(self.base, on), (on.count,)).astype(np.int64) - self.window
        rank = (address >> RANK_SHIFT) - 1
        m.put_flat(self.target, np.where(rank < 0, _own_rank(m, on), rank).astype(np.uint32), on)
        return False


class SpaceQueryOp(Op):
    """``isspacep``."""

    __slots__ = ("base", "own_only", "space", "target")

    placed: ClassVar[tuple[str, ...]] = ("base",)

    def __init__(self, pc: int, target: int, base: int, space: str, own_only: bool) -> None:
        super().__init__(pc)
        self.target = target
        self.base = base
        self.space = space
        self.own_only = own_only
        self.dests = (target,)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Compare with the windows."""
        layout = m.arena.layout
        address = np.broadcast_to(m.get(self.base, on), (on.count,)).astype(np.int64)
        shared = (address >= layout.shared_window) & (address < layout.shared_window + layout.window_size)
        local = (address >= layout.local_window) & (address < layout.local_window + layout.window_size)
        if self.space == "shared":
            value = shared
            if self.own_only:
                rank = ((address - layout.shared_window) >> RANK_SHIFT) - 1
                value = shared & ((rank < 0) | (rank == _own_rank(m, on)))
        elif self.space == "local":
            value = local
        else:
            value = self._of_regions(m, address, shared | local)
        m.put_flat(self.target, value, on)
        return False

    def _of_regions(self, m: Machine, address: Any, windows: Any) -> Any:
        kinds = {"const": ("const",), "param": ("param",)}.get(self.space)
        special = np.zeros(address.shape, dtype=np.bool_)
        for region in m.arena.regions:
            if region.kind in (kinds or ("const", "param")):
                start = region.start + m.arena.layout.global_base
                special |= (address >= start) & (address < start + max(region.size, 1))
        return special if kinds else ~windows & ~special

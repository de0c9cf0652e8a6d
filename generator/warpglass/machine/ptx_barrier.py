"""Executable barriers beyond the plain one: register operands, reductions, clusters, warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine.convergence import Group
from warpglass.machine.program import Op
from warpglass.machine.ptx_alu import named_lanes
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.barriers import Parked
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.warp_sync import SyncOp

__all__ = ["ClusterArriveOp", "ClusterWaitOp", "GeneralBarrierOp", "WarpBarrierOp"]


class GeneralBarrierOp(Op):
    """``bar``/``barrier`` with operands in registers, or with a reduction over the threads' predicates."""

    __slots__ = ("barrier", "negate", "predicate", "reduction", "target", "threads", "wait")

    placed: ClassVar[tuple[str, ...]] = ("barrier", "threads", "predicate")

    def __init__(
        self, pc: int, barrier: int, threads: int | None, wait: bool, reduction: str = "",
        target: int | None = None, predicate: int | None = None, negate: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.barrier = barrier
        self.threads = threads
        self.wait = wait
        self.reduction = reduction
        self.target = target
        self.predicate = predicate
        self.negate = negate

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Arrive at the barrier that each warp names."""
        barrier = self._row_values(m, self.barrier, on)
        count = self._row_values(m, self.threads, on) if self.threads is not None else np.zeros_like(barrier)
        keys = np.stack([barrier, count], axis=1)[on.bits != 0]
        finish = self._finish if self.reduction else None
        kinds = np.unique(keys, axis=0)
        if kinds.shape[0] == 1:
            return self._arrive(m, g, on, int(kinds[0, 0]), int(kinds[0, 1]), finish)
        rest = m.split(g, on)
        for number, threads in kinds.tolist():
            mine = (barrier == number) & (count == threads) & (on.bits != 0)
            part = g.part(self.pc, mine, on.bits)
            part.traced = None
            if not self._arrive(m, part, part.sel, number, threads, finish):
                part.pc += 1
                m.place(part)
        m.place(rest)
        return True

    def _arrive(self, m: Machine, g: Group, on: Selection, number: int, threads: int, finish: Any) -> bool:
        if not 0 <= number < 16 or threads % 32:
            m.findings.add(
                m, "bar-operands", kind="synccheck", severity="critical", category="synchronisation",
                pc=self.pc,
                lane=int(on.flat[0]), message=f"barrier {number} for {threads} threads: no such barrier",
            )  # fmt: skip
            return False
        return m.barriers.arrive(g, on, number, threads or None, self.wait, finish)

    @staticmethod
    def _row_values(m: Machine, register: int, on: Selection) -> Any:
        if not m.is_lane[register]:
            return np.full(on.nrows, int(m.R[register][0]), dtype=np.int64)
        out = np.zeros(on.nrows, dtype=np.int64)
        live = on.bits != 0
        starts = (np.cumsum(on.counts) - on.counts)[live]
        out[live] = m.R[register].reshape(-1)[on.flat[starts]]
        return out

    def _finish(self, m: Machine, free: list[Parked]) -> None:
        """All came: give every one the reduction over the threads of its block."""
        totals = np.zeros(m.B, dtype=np.int64)
        trues = np.zeros(m.B, dtype=np.int64)
        assert self.predicate is not None
        for parked in free:
            lanes = parked.group.sel.flat
            value = np.broadcast_to(m.get(self.predicate, parked.group.sel), lanes.shape) != self.negate
            block = m.block_of[lanes >> 5]
            totals += np.bincount(block, minlength=m.B)
            trues += np.bincount(block[value], minlength=m.B)
        if self.target is None:
            return
        for parked in free:
            block = m.block_of[parked.group.sel.flat >> 5]
            if self.reduction == "popc":
                m.put_flat(self.target, trues[block].astype(np.uint32), parked.group.sel)
            elif self.reduction == "and":
                m.put_flat(self.target, (trues == totals)[block], parked.group.sel)
            else:
                m.put_flat(self.target, (trues > 0)[block], parked.group.sel)
            m.tracer.late(m, parked.group.sel, (self.target,))


class WarpBarrierOp(Op):
    """``bar.warp.sync``: the named lanes wait for each other, which also orders their memory accesses."""

    __slots__ = ("key", "member")

    placed: ClassVar[tuple[str, ...]] = ("member",)

    def __init__(self, pc: int, member: int) -> None:
        super().__init__(pc)
        self.key = "bar.warp.sync"
        self.member = member

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Wait for the lanes named."""
        need = named_lanes(m, self.member, on)
        if ((need & ~on.bits)[on.bits != 0] != 0).any():
            return m.warp_sync.wait(m, self, g, on, need)
        self.apply(m, on)
        return False

    def apply(self, m: Machine, on: Selection) -> None:
        """The lanes ``on`` of each warp met."""
        m.races.warp_barrier(m, on)

    def apply_parts(self, m: Machine, parts: list[tuple[SyncOp, Selection]]) -> None:
        """Lanes of one warp met at different places."""
        for _, sel in parts:
            m.races.warp_barrier(m, sel)


class ClusterArriveOp(Op):
    """``barrier.cluster.arrive``."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Arrive."""
        m.cluster.arrive(m, on)
        return False


class ClusterWaitOp(Op):
    """``barrier.cluster.wait``."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Wait for all threads of the cluster."""
        return m.cluster.wait(m, g, on)

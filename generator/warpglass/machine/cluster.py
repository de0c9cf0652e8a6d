"""The barrier of a cluster, and who its blocks are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine.barriers import name_warps
from warpglass.machine.bits import FULL, Ints
from warpglass.machine.convergence import Group
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine

__all__ = ["ClusterBarrier"]


class ClusterBarrier:
    """Arrivals of a batch; a batch holds whole clusters, their blocks next to each other."""

    def __init__(self, m: Machine) -> None:
        x, y, z = m.launch.cluster
        self.size = x * y * z
        self.count = m.B // self.size
        self.arrived = np.zeros(m.W, dtype=np.uint32)
        self.generation = np.zeros(self.count, dtype=np.int64)
        self.lane_generation: Ints = np.full(m.W * 32, -1, dtype=np.int64)
        self.parked: list[Group] = []
        #: Cluster of each warp.
        self.of: Ints = m.block_of // self.size

    def arrive(self, m: Machine, on: Selection) -> None:
        """The lanes on arrive."""
        again = (self.arrived[on.rows] & on.bits) != 0
        if again.any():
            m.findings.add(
                m, "cluster-twice", kind="synccheck", severity="critical", category="synchronisation",
                message="a thread arrives at the cluster barrier twice without a wait between",
                pc=m.current_pc, lane=int(on.flat[0]),
            )  # fmt: skip
        self.arrived[on.rows] |= on.bits
        self.lane_generation[on.flat] = self.generation[self.of[on.flat >> 5]]
        self.check(m, on.rows)

    def check(self, m: Machine, rows: Ints) -> None:
        """Open the barriers of the clusters of ``rows`` where all came or exited."""
        complete = (self.arrived | m.dead | ~m.exists) == FULL
        for cluster in np.unique(self.of[rows]).tolist():
            mine = slice(cluster * self.size * m.wpb, (cluster + 1) * self.size * m.wpb)
            if complete[mine].all() and self.arrived[mine].any():
                self.arrived[mine] = 0
                self.generation[cluster] += 1
                blocks = np.arange(cluster * self.size, (cluster + 1) * self.size)
                m.barriers.epoch[blocks] += 1
                m.races.epoch(m, blocks)
                self._release(m, cluster)

    def _release(self, m: Machine, cluster: int) -> None:
        still = []
        for group in self.parked:
            go = self.of[group.sel.rows] == cluster
            if go.any():
                free = group.part(group.pc + 1, go, group.sel.bits)
                m.place(free)
            if not go.all():
                still.append(group if not go.any() else group.part(group.pc, ~go, group.sel.bits))
        self.parked = still

    def wait(self, m: Machine, group: Group, on: Selection) -> bool:
        """Lanes whose barrier is not open yet wait."""
        late = self.generation[self.of[on.flat >> 5]] == self.lane_generation[on.flat]
        if not late.any():
            return False
        # Lanes of one warp arrived in one generation in any program that is not broken: the row decides.
        rows_late = np.isin(on.rows, np.unique(on.flat[late] >> 5)) & (on.bits != 0)
        rest = m.split(group, on)
        ready = ~rows_late & (on.bits != 0)
        if ready.any():
            m.place(group.part(group.pc + 1, ready, on.bits))
        self.parked.append(group.part(group.pc, rows_late, on.bits))
        m.place(rest)
        return True

    def explain(self, m: Machine, pcs: dict[int, int]) -> list[str]:
        """Who waits, in words."""
        parts = []
        for group in self.parked:
            pcs[group.pc] = pcs.get(group.pc, 0) + group.sel.count
            line = m.program.lines[group.pc]
            parts.append(f"{name_warps(m, group.sel.rows.tolist())} at the cluster barrier (line {line})")
        return parts

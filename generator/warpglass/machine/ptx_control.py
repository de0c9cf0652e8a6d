"""Executable control flow of PTX: branches, calls and returns, barriers, exits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from warpglass.machine.convergence import NO_JOIN
from warpglass.machine.program import Op
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["BarrierOp", "BranchOp", "ExitOp", "FenceOp", "NopOp", "StopOp", "TrapOp", "diverge"]


class NopOp(Op):
    """Nothing that can be seen from inside one run: fences, hints, prefetches."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Go on."""
        return False


class FenceOp(Op):
    """``membar``/``fence``: memory is sequentially consistent here; for the race check it orders."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Order what came before."""
        m.races.sync(m, on)
        return False


class StopOp(Op):
    """An instruction that is not executed: the run ends here and keeps what it has."""

    __slots__ = ("kind", "message")

    def __init__(self, pc: int, message: str, kind: str = "unsupported") -> None:
        super().__init__(pc)
        self.message = message
        self.kind = kind

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """End the run."""
        m.stop(self.kind, self.message, self.pc)
        return False


class TrapOp(Op):
    """``trap``."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """End the run."""
        m.findings.lanes(
            m, "trap", on.flat, None, self.pc, kind="trap", severity="critical", category="divergence",
            message="the kernel executes trap",
        )  # fmt: skip
        m.stop("trap", f"stopped at line {m.program.lines[self.pc]}: trap", self.pc)
        return False


def diverge(m: Machine, g: Group, on: Selection, taken_pc: int, fall_pc: int, join: int) -> None:
    """Split ``g`` into the lanes ``on``, at ``taken_pc``, and the others, at ``fall_pc``.

    ``join`` is where the lanes of a split warp meet, :data:`RETURN`, or :data:`NO_JOIN`.
    """
    all_bits, bits = g.sel.bits, on.bits
    other = all_bits & ~bits
    taken, fallen = bits != 0, other != 0
    both = taken & fallen
    node = g.node
    if join != NO_JOIN and both.any():
        node = g.nodes().copy()
        depth = g.depths()
        # Lanes that leave a loop one after the other meet at one place: the join they have serves.
        there = (node >= 0) & (m.joins.pc[node] == join) & (m.joins.depth[node] == depth)
        fresh = both & ~there
        if fresh.any():
            node[fresh] = m.joins.push(join, g.sel.rows[fresh], all_bits[fresh], node[fresh], depth[fresh])
    m.counters.branch_divergent[g.pc] += int(both.sum())
    m.counters.branch_uniform[g.pc] += int((taken ^ fallen).sum())
    m.counters.branch_taken[g.pc] += on.count
    if taken.any():
        m.place(g.part(taken_pc, taken, bits, node))
    if fallen.any():
        m.place(g.part(fall_pc, fallen, other, node))


class BranchOp(Op):
    """``bra``."""

    __slots__ = ("join", "target")

    skippable: ClassVar[bool] = False

    def __init__(self, pc: int, target: int, join: int) -> None:
        super().__init__(pc)
        self.target = target
        self.join = join

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Go to the target with the lanes on."""
        if on.count == 0:
            m.counters.branch_uniform[self.pc] += g.sel.nrows
            return False
        if on.count < g.sel.count:
            diverge(m, g, on, self.target, self.pc + 1, self.join)
            return True
        c = m.counters
        c.branch_uniform[self.pc] += g.sel.nrows
        c.branch_taken[self.pc] += on.count
        g.pc = self.target
        if len(m.groups) == 1 and g.node is None:
            # Alone and whole: no one to meet, so the group simply stands somewhere else.
            g.pc -= 1
            return False
        m.place(g)
        return True


class ExitOp(Op):
    """``exit``, and ``ret`` of the kernel."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """End the lanes on."""
        m.exit(g, on)
        return True


class BarrierOp(Op):
    """``bar.sync`` and ``bar.arrive`` with constant operands."""

    __slots__ = ("barrier", "threads", "wait")

    def __init__(self, pc: int, barrier: int, threads: int | None, wait: bool) -> None:
        super().__init__(pc)
        self.barrier = barrier
        self.threads = threads
        self.wait = wait

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Arrive, and wait where asked to."""
        return m.barriers.arrive(g, on, self.barrier, self.threads, self.wait)

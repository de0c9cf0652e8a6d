"""Calls and returns: frames in local memory, return places by lane, saved registers of recursion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints
from warpglass.machine.convergence import NO_JOIN, RETURN, Group
from warpglass.machine.program import Op
from warpglass.machine.ptx_operands import Fix
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.ptx_lowering import Lowering
    from warpglass.machine.scheduler import Machine

__all__ = ["BranchTableOp", "CallOp", "Callee", "RetOp", "Transfer", "fan_out"]

#: Calls inside calls, over which a run ends: registers of every activation are kept.
DEEPEST = 4096


@dataclass(frozen=True, slots=True)
class Transfer:
    """One parameter or return value: ``size`` bytes between the callee's frame at ``callee`` and the caller's
    frame at ``caller``, or the caller's register ``register`` (through ``fix``). ``inner`` is the callee's
    register where parameters are registers."""

    callee: int
    size: int
    caller: int | None = None
    register: int | None = None
    fix: Fix | None = None
    inner: int | None = None


@dataclass(frozen=True, slots=True)
class Callee:
    """Where a function starts, its frame, and the registers to save if it may be active already."""

    name: str
    start: int
    frame_base: int
    frame_size: int
    stack: int | None
    saved: tuple[int, ...]
    params: tuple[Transfer, ...]
    returns: tuple[Transfer, ...]


def _local(m: Machine, lanes: Ints, frame: npt.NDArray[Any], offset: int) -> Ints:
    """Arena bytes of ``offset`` in frames that start at local offsets ``frame`` of ``lanes``."""
    return m.local_at + lanes * m.local_stride + frame.astype(np.int64) + offset


def _copy(m: Machine, source: Ints, dest: Ints, size: int) -> None:
    step = 8 if size % 8 == 0 else 4 if size % 4 == 0 else 2 if size % 2 == 0 else 1
    if ((source | dest) & (step - 1)).any():
        step = 1
    m.local_check.fill(dest - m.local_at, size)
    view = m.arena.views[step]
    for at in range(0, size, step):
        view[(dest + at) // step] = view[(source + at) // step]


class CallOp(Op):
    """``call``: ``callees`` by address for an indirect one, where ``register`` holds the address."""

    __slots__ = ("callees", "direct", "frame_base", "frame_size", "register", "stack")

    def __init__(
        self, pc: int, direct: Callee | None, register: int | None, callees: Mapping[int, Callee],
        frame_base: int, frame_size: int, stack: int | None,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.direct = direct
        self.register = register
        self.callees = callees
        self.frame_base = frame_base
        self.frame_size = frame_size
        self.stack = stack

    placed: ClassVar[tuple[str, ...]] = ("register",)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Enter the function with the lanes on; the others go on behind the call."""
        if self.direct is not None:
            m.place(m.split(g, on))
            self._enter(m, m.only(g, on, self.pc), self.direct)
            return True
        assert self.register is not None
        targets = np.broadcast_to(m.get(self.register, on), (on.count,))
        wanted = np.unique(targets)
        unknown = [int(t) for t in wanted if int(t) not in self.callees]
        if unknown:
            line = m.program.lines[self.pc]
            m.findings.add(
                m, "wild-call", kind="memcheck", severity="critical", category="memory", pc=self.pc,
                lane=int(on.flat[0]), address=unknown[0],
                message=f"call of address 0x{unknown[0]:x}, where no function with such parameters is",
            )  # fmt: skip
            m.stop("fault", f"stopped at line {line}: call of an address where no function is", self.pc)
        if wanted.shape[0] == 1:
            m.place(m.split(g, on))
            self._enter(m, m.only(g, on, self.pc), self.callees[int(wanted[0])])
            return True
        # Lanes that call different functions meet again behind the call.
        rest = m.split(g, on)
        group = m.only(g, on, self.pc)
        node = m.joins.push(self.pc + 1, group.sel.rows, group.sel.bits, group.nodes(), group.depths())
        m.place(rest)
        for target in wanted.tolist():
            part = Selection(group.sel.rows, flat=on.flat[targets == target])
            keep = part.bits != 0
            self._enter(m, group.part(self.pc, keep, part.bits, node), self.callees[target])
        return True

    def _enter(self, m: Machine, group: Group, callee: Callee) -> None:
        sel = group.sel
        lanes = sel.flat
        depth = group.depths() + 1
        deepest = int(depth.max())
        frame = m.get(self.frame_base, sel).astype(np.int64)
        inner = frame + self.frame_size
        if self.stack is not None:
            # What alloca took lies between this frame and the next.
            inner = (inner + m.get(self.stack, sel).astype(np.int64) + 15) // 16 * 16
        if deepest > DEEPEST or int(inner.max()) + callee.frame_size > m.local_stride:
            line = m.program.lines[self.pc]
            m.findings.add(
                m, "stack", kind="stack-overflow", severity="critical", category="memory", pc=self.pc,
                lane=int(lanes[0]), message=f"the call stack overflows, {deepest} calls deep",
            )  # fmt: skip
            m.stop(
                "fault", f"stopped at line {line}: the call stack overflows, {deepest} calls deep", self.pc
            )
        values = [_argument(m, t, sel) for t in callee.params]
        if callee.saved:
            m.stacks.save(callee.saved, lanes, np.repeat(depth, sel.counts))
        for transfer, value in zip(callee.params, values, strict=True):
            if transfer.inner is not None:
                assert value is not None
                m.put_flat(transfer.inner, value, sel)
                continue
            dest = _local(m, lanes, inner, transfer.callee)
            if value is None:
                assert transfer.caller is not None
                _copy(m, _local(m, lanes, frame, transfer.caller), dest, transfer.size)
            else:
                m.local_check.fill(dest - m.local_at, transfer.size)
                m.arena.views[transfer.size][dest // transfer.size] = value
        m.put_flat(callee.frame_base, inner.astype(np.uint32), sel)
        if callee.stack is not None:
            m.put_flat(callee.stack, np.zeros(1, dtype=np.uint32), sel)
        m.stacks.push(self.pc, lanes, np.repeat(depth, sel.counts))
        entered = Group(callee.start, sel, group.node, depth)
        m.place(entered)

    def finish(self, m: Machine, sel: Selection, callee: Callee, inner: npt.NDArray[Any]) -> None:
        """Bring back the return values of the lanes ``sel``, whose callee's frames were at ``inner``."""
        lanes = sel.flat
        for transfer in callee.returns:
            if transfer.inner is not None:
                assert transfer.register is not None
                given = np.broadcast_to(m.get(transfer.inner, sel), lanes.shape)
                m.put_flat(transfer.register, given if transfer.fix is None else transfer.fix(given), sel)
                continue
            source = _local(m, lanes, inner, transfer.callee)
            if transfer.register is None:
                assert transfer.caller is not None
                frame = m.get(self.frame_base, sel)
                _copy(m, source, _local(m, lanes, frame, transfer.caller), transfer.size)
            else:
                value = m.arena.views[transfer.size][source // transfer.size]
                m.put_flat(transfer.register, value if transfer.fix is None else transfer.fix(value), sel)

    def target_of(self, start: int) -> Callee:
        """The callee of this call that starts at ``start``."""
        if self.direct is not None:
            return self.direct
        return next(c for c in self.callees.values() if c.start == start)


def _argument(m: Machine, transfer: Transfer, sel: Selection) -> npt.NDArray[Any] | None:
    if transfer.register is None:
        return None
    value = m.get(transfer.register, sel)
    return value if transfer.fix is None else transfer.fix(value)


class RetOp(Op):
    """``ret`` of a function. Lanes of a warp that split inside it and met nowhere else meet here."""

    __slots__ = ("frame_base", "low", "saved", "start")

    def __init__(self, pc: int, low: Lowering) -> None:
        super().__init__(pc)
        self.start = low.first
        self.frame_base = low.frame_base
        self.low: Lowering | None = low
        self.saved: tuple[int, ...] = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Go back to the caller with the lanes on."""
        m.place(m.split(g, on))
        group = m.only(g, on, self.pc)
        if group.node is not None:
            met = m.joins.arrive(group, RETURN, m.round)
            if met is None:
                return True
            group = met
        sel = group.sel
        depth = group.depths()
        lanes = sel.flat
        starts = np.cumsum(sel.counts) - sel.counts
        back = m.stacks.place(lanes[starts], depth)
        inner = m.get(self.frame_base, sel).astype(np.int64)
        inner = np.broadcast_to(inner, (sel.count,))
        if self.saved:
            m.stacks.restore(self.saved, lanes, np.repeat(depth, sel.counts))
        for place in np.unique(back).tolist():
            keep = back == place
            part = group.part(place + 1, keep, sel.bits)
            part = Group(place + 1, part.sel, part.node, depth[keep] - 1)
            call = m.call_at(place)
            mine = np.repeat(keep, sel.counts)
            call.finish(m, part.sel, call.target_of(self.start), inner[mine])
            m.place(part)
        return True


def fan_out(m: Machine, g: Group, on: Selection, targets: Ints, fall_pc: int, join: int) -> None:
    """Send the lanes ``on`` of ``g`` to ``targets`` (by lane of ``on.flat``), the others to ``fall_pc``."""
    sel = g.sel
    places: list[tuple[int, npt.NDArray[np.uint32]]] = []
    for target in np.unique(targets).tolist():
        part = Selection(sel.rows, flat=on.flat[targets == target])
        places.append((target, part.bits))
    rest = sel.bits & ~on.bits if on.count < sel.count else np.zeros(sel.nrows, dtype=np.uint32)
    if rest.any():
        places.append((fall_pc, rest))
    ways = np.zeros(sel.nrows, dtype=np.int64)
    for _, bits in places:
        ways += bits != 0
    both = ways > 1
    node = g.node
    if join != NO_JOIN and both.any():
        node = g.nodes().copy()
        depth = g.depths()
        there = (node >= 0) & (m.joins.pc[node] == join) & (m.joins.depth[node] == depth)
        fresh = both & ~there
        if fresh.any():
            node[fresh] = m.joins.push(join, sel.rows[fresh], sel.bits[fresh], node[fresh], depth[fresh])
    m.counters.branch_divergent[g.pc] += int(both.sum())
    m.counters.branch_uniform[g.pc] += int((~both).sum())
    m.counters.branch_taken[g.pc] += on.count
    for target, bits in places:
        m.place(g.part(target, bits != 0, bits, node))


class BranchTableOp(Op):
    """``brx.idx``: lanes go where their index says."""

    __slots__ = ("index", "join", "table")

    placed: ClassVar[tuple[str, ...]] = ("index",)

    def __init__(self, pc: int, index: int, table: tuple[int, ...], join: int) -> None:
        super().__init__(pc)
        self.index = index
        self.table = np.array(table, dtype=np.int64)
        self.join = join

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Branch."""
        index = np.broadcast_to(m.get(self.index, on), (on.count,)).astype(np.int64)
        bad = index >= self.table.shape[0]
        if bad.any():
            m.findings.lanes(
                m, "brx", on.flat[bad], None, self.pc,
                kind="memcheck", severity="critical", category="divergence",
                message=f"brx.idx with an index beyond its {self.table.shape[0]} targets",
            )  # fmt: skip
            index = np.minimum(index, self.table.shape[0] - 1)
        fan_out(m, g, on, self.table[index], self.pc + 1, self.join)
        return True

"""Block barriers, named and counted: who stands at one, and when it opens.

Arrivals are kept as lane masks ``[blocks, 16 barriers, warps]``. Lanes that exited count as arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine.bits import FULL, Bits, Bools, Ints, popcount
from warpglass.machine.convergence import Group
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpglass.machine.scheduler import Machine

__all__ = ["BarrierUnit", "Parked", "name_warps"]

BARRIERS = 16
#: Pseudo barrier numbers: the cluster barrier stands behind the sixteen of a block.
CLUSTER = 16


@dataclass(slots=True)
class Parked:
    """Rows that wait at a barrier. ``finish`` is called with all that go when it opens."""

    group: Group
    finish: Callable[[Machine, list[Parked]], None] | None = None
    count: Ints | None = None


class BarrierUnit:
    """Barriers of a batch."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        shape = (machine.B, BARRIERS, machine.wpb)
        self.arrived = np.zeros(shape, dtype=np.uint32)
        self.need = np.zeros(shape[:2], dtype=np.int64)
        self.everywhere: Ints = np.arange(machine.B, dtype=np.int64)
        self.parked: list[list[Parked]] = [[] for _ in range(BARRIERS)]
        self.waiting = 0
        #: Of warps that came divided to an aligned barrier: the lanes that they will meet again, and where
        #: they stand. Empty while no warp did.
        self.meant: dict[tuple[int, int, int], tuple[int, int]] = {}
        #: Barrier generations passed by each block: the race check's clock.
        self.epoch = np.zeros(machine.B, dtype=np.int64)

    # -- arriving ----------------------------------------------------------------------------------------

    def arrive(
        self,
        group: Group,
        on: Selection,
        barrier: int,
        count: int | None,
        wait: bool,
        finish: Callable[[Machine, list[Parked]], None] | None = None,
    ) -> bool:
        """The lanes ``on`` of ``group`` come to ``barrier``; True where they wait (or were placed).

        ``count`` is the number of threads that open it, None for all of the block.
        """
        m = self.m
        tracer = m.tracer
        if group.traced:
            tracer.barrier(m, group, on, barrier, 0 if wait else 1)
        everyone = count is None or count == m.launch.threads_per_block
        if wait and finish is None and everyone and on.count == m.live and not self.waiting:
            # All that lives came at once, so nothing has to be parked or looked up.
            whole = on.nrows == m.W
            blocks = self.everywhere if whole else np.unique(m.block_of[on.rows])
            if not self.arrived[blocks, barrier].any():
                self._opened(blocks, barrier, [group])
                return False
        rest = m.split(group, on) if wait else None
        rows, bits = on.rows, on.bits
        block, warp = m.block_of[rows], rows % m.wpb
        again = (self.arrived[block, barrier, warp] & bits) != 0
        if again.any():
            m.findings.barrier_twice(m, group, on, barrier)
        self.arrived[block, barrier, warp] |= bits
        if group.node is not None and self._is_aligned(group.pc):
            self._came_divided(group, bits, barrier)
        if count is not None:
            self.need[block, barrier] = count
        if wait:
            stay = m.only(group, on, group.pc)
            self.parked[barrier].append(Parked(stay, finish))
            self.waiting += stay.sel.count
            m.place(rest)
        self.check(barrier, np.unique(block))
        return wait

    def check(self, barrier: int, blocks: Ints) -> None:
        """Open ``barrier`` in those of ``blocks`` where enough lanes came."""
        m = self.m
        arrived = self.arrived[blocks, barrier]
        dead = (m.dead | ~m.exists).reshape(m.B, m.wpb)[blocks]
        need = self.need[blocks, barrier]
        any_came = (arrived != 0).any(axis=1)
        everyone = ((arrived | dead) == FULL).all(axis=1)
        # A warp that takes part counts whole: its exited lanes, and those that never were, have arrived.
        came = np.where(arrived != 0, arrived | dead, np.uint32(0))
        total = popcount(came.reshape(-1)).reshape(came.shape).sum(axis=1)
        done = any_came & np.where(need > 0, total >= need, everyone)
        if done.any():
            self._open(barrier, blocks[done])

    def _open(self, barrier: int, blocks: Ints) -> None:
        m = self.m
        if self.meant:
            self._check_whole(barrier, blocks)
        self.arrived[blocks, barrier] = 0
        self.need[blocks, barrier] = 0
        opened = np.zeros(m.B, dtype=np.bool_)
        opened[blocks] = True
        still: list[Parked] = []
        free: list[Parked] = []
        for parked in self.parked[barrier]:
            go = opened[m.block_of[parked.group.sel.rows]]
            if go.all():
                free.append(parked)
            elif go.any():
                group = parked.group
                free.append(Parked(group.part(group.pc, go, group.sel.bits), parked.finish))
                still.append(Parked(group.part(group.pc, ~go, group.sel.bits), parked.finish))
            else:
                still.append(parked)
        self.parked[barrier] = still
        self._opened(blocks, barrier, [p.group for p in free])
        for parked in free:
            self.waiting -= parked.group.sel.count
        self._check_aligned(barrier, [p.group for p in free])
        finish = next((p.finish for p in free if p.finish is not None), None)
        if finish is not None:
            finish(m, free)
        for parked in free:
            parked.group.pc += 1
            m.place(parked.group)

    def _check_aligned(self, barrier: int, groups: list[Group]) -> None:
        """An aligned barrier must be the same instruction for all threads of a warp."""
        if len(groups) < 2:
            return
        m = self.m
        rows = np.concatenate([g.sel.rows for g in groups])
        pcs = np.repeat([g.pc for g in groups], [g.sel.nrows for g in groups])
        order = np.argsort(rows, kind="stable")
        rows, pcs = rows[order], pcs[order]
        apart = (rows[1:] == rows[:-1]) & (pcs[1:] != pcs[:-1])
        for index in np.flatnonzero(apart).tolist():
            if self._is_aligned(int(pcs[index])):
                other = m.program.lines[int(pcs[index + 1])]
                m.findings.add(
                    m, f"aligned-{barrier}", kind="synccheck", severity="critical",
                    category="synchronisation", pc=int(pcs[index]), lane=int(rows[index]) * 32,
                    message=f"threads of one warp meet at barrier {barrier} from different instructions, "
                    f"here and at line {other}; an aligned barrier must be the same one for the whole warp",
                )  # fmt: skip

    @cached_property
    def _goes_on(self) -> Bools:
        """By instruction: it does not only leave the kernel. Few kernels need it, and batches are many."""
        codes = self.m.program.opcodes
        return np.array([code.split(".")[0] not in ("ret", "exit") for code in codes] + [False] * 2)

    def _is_aligned(self, pc: int) -> bool:
        opcode = self.m.program.opcodes[pc]
        return self.m.program.isa == "ptx" and (opcode.startswith("bar.") or ".aligned" in opcode)

    def _came_divided(self, group: Group, bits: Bits, barrier: int) -> None:
        """Note which lanes the warps of ``group`` parted from at a branch and will meet again behind it.

        A meeting place that only leaves the kernel is none: those lanes have returned.
        """
        m = self.m
        node = group.nodes()
        lanes = np.zeros(node.shape, dtype=np.uint32)
        while (node >= 0).any():
            again = (node >= 0) & self._goes_on[m.joins.pc[node]]
            lanes |= np.where(again, m.joins.expected[node], np.uint32(0))
            node = np.where(node >= 0, m.joins.parent[node], node)
        for row in np.flatnonzero((bits != 0) & ((lanes & ~bits) != 0)).tolist():
            warp = int(group.sel.rows[row])
            key = (warp // m.wpb, barrier, warp % m.wpb)
            self.meant[key] = (self.meant.get(key, (0, 0))[0] | int(lanes[row]), group.pc)

    def _check_whole(self, barrier: int, blocks: Ints) -> None:
        """An aligned barrier opens: lanes that a warp parted from must have come to it, too."""
        m = self.m
        opening = set(blocks.tolist())
        for key in [k for k in self.meant if k[1] == barrier and k[0] in opening]:
            lanes, pc = self.meant.pop(key)
            came = int(self.arrived[key])
            missing = (lanes & ~came).bit_count()
            if missing and came:
                warp = key[0] * m.wpb + key[2]
                m.findings.add(
                    m, f"divided-{barrier}", kind="synccheck", severity="critical",
                    category="synchronisation", pc=pc,
                    lane=warp * 32 + (came & -came).bit_length() - 1,
                    message=f"divergent threads in a warp: {came.bit_count()} come to barrier {barrier}, "
                    f"{missing} went another way; an aligned barrier must be met by the whole warp",
                )  # fmt: skip

    def _opened(self, blocks: Ints, barrier: int, groups: list[Group]) -> None:
        m = self.m
        self.epoch[blocks] += 1
        m.races.epoch(m, blocks)
        m.tracer.release(m, blocks, barrier, groups)

    def recheck(self, rows: Ints) -> None:
        """Lanes of ``rows`` exited: open what waited for them."""
        if not self.waiting:
            return
        blocks = np.unique(self.m.block_of[rows])
        for barrier in range(BARRIERS):
            if self.parked[barrier]:
                self.check(barrier, blocks)

    # -- when nothing runs -------------------------------------------------------------------------------

    def explain(self) -> tuple[list[str], dict[int, int]]:
        """Say in words which warps wait where; gives also the lanes that wait at each instruction."""
        m = self.m
        parts: list[str] = []
        pcs: dict[int, int] = {}
        for barrier, parked in enumerate(self.parked):
            by_line: dict[int, list[int]] = {}
            for entry in parked:
                pcs[entry.group.pc] = pcs.get(entry.group.pc, 0) + entry.group.sel.count
                by_line.setdefault(entry.group.pc, []).extend(entry.group.sel.rows.tolist())
            for pc, rows in sorted(by_line.items()):
                parts.append(f"{name_warps(m, rows)} at barrier {barrier} (line {m.program.lines[pc]})")
        return parts, pcs


def name_warps(m: Machine, rows: list[int]) -> str:
    """Name warps of a batch by block and warp in the block."""
    by_block: dict[int, set[int]] = {}
    for row in rows:
        by_block.setdefault(row // m.wpb, set()).add(row % m.wpb)
    parts = []
    for block in sorted(by_block)[:2]:
        warps = sorted(by_block[block])
        names = ", ".join(map(str, warps[:8])) + (" …" if len(warps) > 8 else "")
        dim = m.block_dim(block * m.wpb)
        parts.append(f"warp{'s' if len(warps) > 1 else ''} {names} of block ({dim[0]},{dim[1]},{dim[2]})")
    more = len(by_block) - 2
    return " and ".join(parts) + (f" and {more} more blocks" if more > 0 else "")

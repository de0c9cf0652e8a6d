"""The scheduler: fair rounds over the convergence groups of a batch of blocks.

In a round every runnable group issues one instruction, for all its warps at once. Groups at the same
instruction that share no warp are put together; lanes of one warp meet at joins only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpglass.machine.alike import Alike
from warpglass.machine.async_copy import AsyncCopies
from warpglass.machine.barriers import BarrierUnit
from warpglass.machine.bits import Ints
from warpglass.machine.cluster import ClusterBarrier
from warpglass.machine.convergence import Group, Joins
from warpglass.machine.initcheck import LocalCheck
from warpglass.machine.mbarrier import Mbarriers
from warpglass.machine.program import Program
from warpglass.machine.ptx_calls import CallOp
from warpglass.machine.racecheck import RaceCheck
from warpglass.machine.regions import MemoryLimitError
from warpglass.machine.result import Stop
from warpglass.machine.run_state import Area, RunState
from warpglass.machine.selection import Selection
from warpglass.machine.spin import SpinWatch
from warpglass.machine.stacks import CallStacks
from warpglass.machine.state import State
from warpglass.machine.unknown import Unknowns
from warpglass.machine.warp_sync import WarpSync

if TYPE_CHECKING:
    from warpglass.machine.sass_convergence import Meetings

__all__ = ["Machine", "StopRun"]

#: Rounds that lanes wait where they need not for the rest of their warp: longer than most loops part a warp.
PATIENCE = 600


class StopRun(Exception):
    """Ends the run; what was executed so far is kept."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message)
        self.stop = stop


class Machine(State):
    """A batch of blocks being executed."""

    def __init__(self, program: Program, run: RunState, blocks: Ints, area: Area) -> None:
        super().__init__(program, run, blocks, area)
        self.joins = Joins()
        self.barriers = BarrierUnit(self)
        self.warp_sync = WarpSync()
        self.stacks = CallStacks(self)
        self.cluster = ClusterBarrier(self)
        self.copies = AsyncCopies(self)
        self.mbarriers = Mbarriers()
        #: Where lanes of SASS meet again; None until the first one waits.
        self.meetings: Meetings | None = None
        self.current_pc = 0
        self.races = RaceCheck(self)
        self.local_check = LocalCheck(self)
        #: What comes of instructions that are counted only; None for programs without any.
        self.unknown = Unknowns(self, program.uses) if program.uses else None
        self.placed: list[Group] = []
        self.round = 0
        rows = np.flatnonzero(self.exists != 0)
        self.groups: list[Group] = [Group(0, Selection(rows, self.exists[rows]))]
        self.spin = SpinWatch(self)
        self._join_places = program.join_places
        #: Compares the blocks of the batch where that was asked for.
        self.alike = Alike(blocks.shape[0], self.wpb) if run.options.compare else None
        if self.alike is not None:
            run.alike.append(self.alike)

    # -- placing groups ----------------------------------------------------------------------------------

    def place(self, group: Group | None) -> None:
        """Let ``group`` go on at its pc in the next round, or wait there for the rest of its warp."""
        if group is None or group.sel.nrows == 0:
            return
        if group.node is not None and self._join_places[group.pc]:
            met = self.joins.arrive(group, group.pc, self.round)
            if met is None:
                return
            group = met
        self.placed.append(group)

    def place_rows(self, loose: list[tuple[int, int, int, int, int]]) -> None:
        """Place single warps given as (pc, warp, bits, join, depth)."""
        for pc, warp, bits, node, depth in loose:
            self.place(
                Group(
                    pc,
                    Selection(np.array([warp], dtype=np.int64), np.array([bits], dtype=np.uint32)),
                    np.array([node], dtype=np.int32),
                    np.array([depth], dtype=np.int32),
                )
            )

    def split(self, group: Group, on: Selection) -> Group | None:
        """The lanes of ``group`` that are not ``on``, at the next instruction; None where there are none."""
        if on.count == group.sel.count:
            return None
        rest = group.sel.bits & ~on.bits
        return group.part(group.pc + 1, rest != 0, rest)

    def only(self, group: Group, on: Selection, pc: int) -> Group:
        """The lanes ``on`` of ``group``, at ``pc``."""
        if on.count == group.sel.count:
            group.pc = pc
            return group
        return group.part(pc, on.bits != 0, on.bits)

    def exit(self, group: Group, on: Selection) -> None:
        """End the lanes ``on`` of ``group``; the rest goes on behind."""
        rest = self.split(group, on)
        live = on.live_rows()
        if group.node is not None:
            keep = on.bits != 0
            self.place_rows(self.joins.leave(group.node[keep], live.bits))
        self.dead[live.rows] |= live.bits
        self.live -= on.count
        self.place(rest)
        if self.live:
            self.barriers.recheck(live.rows)
            self.warp_sync.recheck(self, live.rows)
            self.cluster.check(self, live.rows)

    # -- calls -------------------------------------------------------------------------------------------

    def call_at(self, pc: int) -> CallOp:
        """The call at ``pc``."""
        op = self.ops[pc]
        assert isinstance(op, CallOp)
        return op

    # -- the loop ----------------------------------------------------------------------------------------

    def issue(self, group: Group) -> bool:
        """One instruction of one group; True where the op placed what goes on."""
        if group.pc >= self.size:
            self.stop(
                "fault", f"stopped behind line {self.program.lines[-1]}: the code ends there", self.size - 1
            )
        op = self.ops[group.pc]
        sel = group.sel
        pc = self.current_pc = op.pc
        on = sel if op.guard < 0 else sel.narrow(self.R[op.guard], op.negated)
        self.counters.issue(pc, sel, on)
        if self.alike is not None:
            self.alike.issue(sel, on)
        self.run_state.issued += sel.nrows
        traced = group.traced
        if traced is None:
            traced = group.traced = self.tracer.members(self, group)
        if traced:
            self.tracer.step(self, traced, pc, sel, on)
        if self.unknown is not None:
            self.unknown.issue(self, pc, sel, on)
        if on.count == 0 and op.skippable:
            group.pc += 1
            moved = False
        else:
            moved = op.run(self, group, on)
            if not moved:
                if traced and (op.dests or self.unknown is not None):
                    self.tracer.writes(self, traced, op.dests, on)
                group.pc += 1
        if not moved and group.node is not None and self._join_places[group.pc]:
            self.place(group)
            return True
        return moved

    def run(self, rounds: int) -> bool:
        """Run at most ``rounds`` rounds; True when every lane has exited. Raises :class:`StopRun`."""
        try:
            return self._run(rounds)
        except MemoryLimitError as error:
            line = self.program.lines[self.current_pc]
            self.stop("memory", f"stopped at line {line}: {error}", self.current_pc)
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            # A defect of the machine must not cost the user what was executed so far.
            line = self.program.lines[self.current_pc]
            text = self.program.texts[self.current_pc]
            reason = f"{type(error).__name__}: {error}"
            self.stop(
                "fault", f"stopped at line {line}: the machine failed at {text} ({reason})", self.current_pc
            )
        return True

    def _run(self, rounds: int) -> bool:
        last = self.round + rounds
        state = self.run_state
        with np.errstate(all="ignore"):
            while self.round < last:
                if not self.groups and not self._unblock():
                    return True
                self.round += 1
                state.rounds += 1
                if state.issued > state.issue_limit or state.rounds > state.round_limit:
                    self._over_budget()
                if len(self.groups) == 1:
                    group = self.groups[0]
                    if self.issue(group):
                        self.groups = self._regroup(self.placed)
                        self.placed = []
                    elif self.placed:
                        self.groups = self._regroup([group, *self.placed])
                        self.placed = []
                else:
                    self._round()
                if self.round % self.spin.period == 0:
                    if self.meetings is not None and self.meetings.soft:
                        self._let_go(PATIENCE)
                    if self.joins.open:
                        self.spin.look()
                    if self.spin.stuck() and not self._let_go():
                        return False
        return self.live == 0

    def _round(self) -> None:
        stay = []
        moved = False
        for group in self.groups:
            if self.issue(group):
                moved = True
            else:
                stay.append(group)
        if moved or self.placed:
            stay.extend(self.placed)
            self.placed = []
        self.groups = self._regroup(stay)

    def _regroup(self, groups: list[Group]) -> list[Group]:
        if len(groups) < 2:
            return groups
        by_place: dict[int, list[Group]] = {}
        for group in groups:
            by_place.setdefault(group.pc, []).append(group)
        if len(by_place) == len(groups):
            return groups
        out = []
        for place in sorted(by_place):
            out.extend(self._put_together(by_place[place]))
        return out

    def _put_together(self, groups: list[Group]) -> list[Group]:
        if len(groups) == 1:
            return groups
        piles: list[tuple[Any, list[Group]]] = []
        for group in groups:
            rows = group.sel.rows
            for used, pile in piles:
                if not used[rows].any():
                    used[rows] = True
                    pile.append(group)
                    break
            else:
                used = np.zeros(self.W, dtype=np.bool_)
                used[rows] = True
                piles.append((used, [group]))
        return [pile[0] if len(pile) == 1 else Group.merged(pile) for _, pile in piles]

    # -- when nothing runs -------------------------------------------------------------------------------

    def _unblock(self) -> bool:
        """Find something to run among waiting lanes; False when all lanes have exited."""
        if self.live == 0:
            return False
        waiting = self.joins.waiting()
        if waiting.size:
            self.place_rows(self.joins.force(waiting))
        else:
            self.warp_sync.unblock(self)
            if not self.placed:
                self.mbarriers.unblock(self)
            if not self.placed:
                self._let_go()
        self.groups = self._regroup(self.placed)
        self.placed = []
        if not self.groups:
            self._deadlock()
        return True

    def _let_go(self, patience: int = 0) -> bool:
        """Let lanes go on that wait where they need not, for ``patience`` rounds; whether there were any."""
        held = self.meetings
        if held is None or not held.force(self, patience):
            return False
        self.groups = self._regroup([*self.groups, *self.placed])
        self.placed = []
        return True

    def _deadlock(self) -> None:
        parts, pcs = self.barriers.explain()
        units = (self.warp_sync, self.cluster, self.mbarriers)
        for unit in units if self.meetings is None else (*units, self.meetings):
            parts += unit.explain(self, pcs)
        shown = "; ".join(parts[:6]) + (f"; and {len(parts) - 6} more" if len(parts) > 6 else "")
        pc = max(pcs, key=lambda p: pcs[p]) if pcs else None
        message = f"deadlock: no warp can go on; waiting: {shown or 'nothing known'}"
        self.findings.deadlock(self, message, pc)
        raise StopRun(Stop("deadlock", message, pc, self.program.lines[pc] if pc is not None else None))

    def _over_budget(self) -> None:
        state = self.run_state
        group = self.groups[0]
        pc = min(group.pc, self.size - 1)
        line = self.program.lines[pc]
        what = (
            f"the budget of {state.issue_limit:,} warp instructions"
            if state.issued > state.issue_limit
            else f"the budget of {state.round_limit:,} scheduler rounds"
        )
        if state.blocks_done:
            blocks = f"{state.blocks_done:,} of {state.launch.blocks:,} blocks"
            message = (
                f"stopped at line {line}: {what} is used up; {blocks} came to their end, the rest did not"
            )
            self.findings.budget(self, message, group, "warning")
        else:
            message = f"stopped at line {line}: {what} is used up; the kernel may loop without end"
            self.findings.budget(self, message, group)
        raise StopRun(Stop("budget", message, pc, line))

    def stop(self, kind: str, message: str, pc: int) -> None:
        """End the run at ``pc``."""
        raise StopRun(Stop(kind, message, pc, self.program.lines[pc]))

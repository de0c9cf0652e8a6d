"""Records every step of chosen blocks, as columns.

While running, a step of a group is one entry whatever its number of warps; columns are made at the end.
The fair round of the scheduler becomes the round of the trace; where a warp issued for several of its
groups in one round, the block's rounds are stretched so that each warp issues once in each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bits, Ints
from warpglass.machine.result import BlockTrace
from warpglass.machine.trace_columns import Recorder, block_trace

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.launch import Launch
    from warpglass.machine.program import Program
    from warpglass.machine.runoptions import RunOptions
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["Member", "Tracer"]

#: Raw bytes of values held while running, over which only the first warp's are kept.
RAW_LIMIT = 64 << 20
#: Raw bytes of access addresses and data that a recorder holds.
ACCESS_LIMIT = 96 << 20


class Member:
    """The rows of one group that belong to one traced block."""

    __slots__ = ("index", "order", "recorder", "rows", "warps")

    def __init__(self, recorder: Recorder, index: npt.NDArray[np.int64], rows: Ints, warps: Ints) -> None:
        self.recorder = recorder
        self.index = index  # positions in the group's rows
        self.rows = rows
        self.warps = warps
        self.order = np.arange(rows.shape[0])


class Tracer:
    """Recorders of the chosen blocks, and the step budget they share."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.left = options.trace_steps
        self.wanted = frozenset(options.trace_blocks)
        self.recorders: dict[int, Recorder] = {}

    def members(self, m: Machine, group: Group) -> tuple[Member, ...]:
        """The traced parts of ``group``, looked up once a group."""
        recorders = m.local.get("recorders")
        if recorders is None:
            recorders = m.local["recorders"] = self._start(m)
        out = []
        rows = group.sel.rows
        for recorder in recorders:
            low, high = np.searchsorted(rows, (recorder.first_row, recorder.first_row + m.wpb))
            if low < high:
                mine = rows[low:high]
                out.append(Member(recorder, np.arange(low, high), mine, mine - recorder.first_row))
        return tuple(out)

    def _start(self, m: Machine) -> list[Recorder]:
        out = []
        for at, block in enumerate(m.blocks.tolist()):
            if block in self.wanted:
                recorder = Recorder(block, at * m.wpb)
                self.recorders[block] = recorder
                out.append(recorder)
        return out

    # -- while running -----------------------------------------------------------------------------------

    def step(self, m: Machine, members: tuple[Any, ...], pc: int, sel: Selection, on: Selection) -> None:
        """Record one issue."""
        for member in members:
            recorder: Recorder = member.recorder
            if recorder.full:
                continue
            count = member.rows.shape[0]
            if count > self.left:
                recorder.full = True
                continue
            self.left -= count
            group_bits = sel.bits[member.index]
            mask_bits = group_bits if on is sel else self._bits(member, sel, on)
            recorder.last = recorder.count
            recorder.steps.append((m.round, pc, member.warps, mask_bits, group_bits))
            recorder.count += count

    @staticmethod
    def _bits(member: Member, sel: Selection, on: Selection) -> Bits:
        if on.count == 0:
            return np.zeros(member.rows.shape[0], dtype=np.uint32)
        if on.nrows == sel.nrows:
            return on.bits[member.index]
        out = np.zeros(member.rows.shape[0], dtype=np.uint32)
        at = np.searchsorted(on.rows, member.rows)
        at = np.minimum(at, on.nrows - 1)
        found = on.rows[at] == member.rows
        out[found] = on.bits[at[found]]
        return out

    def writes(self, m: Machine, members: tuple[Any, ...], dests: tuple[int, ...], on: Selection) -> None:
        """Record the registers that the step just recorded has written."""
        wanted = self.options.value_warps
        for member in members:
            recorder: Recorder = member.recorder
            if m.unknown is not None and not recorder.values_done:
                # Old values would pass for current ones: from an unknown result on none are kept.
                recorder.values_done = m.unknown.hides(m.current_pc, member.rows)
            if recorder.full or recorder.values_done:
                continue
            rows, base = member.rows, recorder.last
            steps: Ints
            if wanted is not None or recorder.values_cut:
                chosen = (0,) if recorder.values_cut and wanted is None else wanted or ()
                keep = np.isin(member.warps, chosen)
                if not keep.any():
                    continue
                steps = base + np.flatnonzero(keep)
                rows = rows[keep]
            else:
                steps = base + member.order
            low, high = int(rows[0]), int(rows[-1]) + 1
            for dest in dests:
                array = m.R[dest]
                values = array[low:high].copy() if high - low == rows.shape[0] else array[rows]
                recorder.values.append((recorder.count, dest, steps, values))
                recorder.value_bytes += values.nbytes
            if recorder.value_bytes > RAW_LIMIT and not recorder.values_cut:
                self._cut(recorder)

    def late(self, m: Machine, on: Selection, dests: tuple[int, ...]) -> None:
        """Record registers that lanes got when their wait ended: they belong to the step that waited."""
        wanted = self.options.value_warps
        for recorder in m.local.get("recorders", ()):
            if recorder.full or recorder.values_done:
                continue
            for row in on.rows.tolist():
                warp = row - recorder.first_row
                if not 0 <= warp < m.wpb or (wanted is not None and warp not in wanted):
                    continue
                step = recorder.last_step_of(warp)
                if step is not None:
                    for dest in dests:
                        values = m.R[dest][row : row + 1].copy()
                        recorder.values.append((recorder.count, dest, np.array([step]), values))
                        recorder.value_bytes += values.nbytes

    @staticmethod
    def _cut(recorder: Recorder) -> None:
        """Too much to hold: keep the first warp's values only, from here and before."""
        recorder.values_cut = True
        warp_of = np.concatenate([warps for _, _, warps, _, _ in recorder.steps])
        kept = []
        for count, dest, steps, values in recorder.values:
            mine = warp_of[steps] == 0
            if mine.any():
                kept.append((count, dest, steps[mine], values[mine].copy()))
        recorder.values = kept

    def access(
        self,
        m: Machine,
        group: Group,
        on: Selection,
        kind: int,
        space: int,
        size: int,
        dense: bool,
        addresses: Callable[[int, int], Ints],
        data: Callable[[int, int], npt.NDArray[np.uint32] | None] | None,
    ) -> None:
        """Record an access of ``group``.

        ``addresses(first, last)`` and ``data(first, last)`` give addresses and words of a range of the lanes
        on, which are all lanes of the rows of ``on`` if ``dense``.
        """
        members: tuple[Any, ...] = group.traced or ()
        for member in members:
            recorder: Recorder = member.recorder
            if recorder.full or recorder.access_cut:
                continue
            low, high = recorder.first_row * 32, (recorder.first_row + m.wpb) * 32
            lanes: Ints | None = None
            if dense:
                first, last = max(low - on.low * 32, 0), min(high, on.high * 32) - on.low * 32
            else:
                first, last = (int(x) for x in np.searchsorted(on.flat, (low, high)))
            if first >= last:
                continue
            if not dense:
                lanes = on.flat[first:last] - low
            at = addresses(first, last)
            words = None if data is None else data(first, last)
            recorder.accesses.append(
                (recorder.last, kind, space, size, member.rows.shape[0], lanes, at, words)
            )
            recorder.access_bytes += at.nbytes * 2 + (0 if words is None else words.nbytes)
            recorder.access_cut = recorder.access_bytes > ACCESS_LIMIT

    def barrier(self, m: Machine, group: Group, on: Selection, barrier: int, kind: int) -> None:
        """Record an arrival of ``group`` at ``barrier``."""
        for member in group.traced or ():
            assert isinstance(member, Member)
            recorder = member.recorder
            if recorder.full:
                continue
            step = recorder.last
            for index, warp in enumerate(member.warps.tolist()):
                recorder.events.append((step + index, warp, barrier, kind))

    def release(self, m: Machine, blocks: Ints, barrier: int, groups: list[Group]) -> None:
        """Record that ``groups`` of ``blocks`` were let go."""
        for recorder in m.local.get("recorders", ()):
            if recorder.full or not recorder.count or not (blocks == recorder.first_row // m.wpb).any():
                continue
            step = recorder.count - 1
            for group in groups:
                rows = group.sel.rows - recorder.first_row
                for warp in rows[(rows >= 0) & (rows < m.wpb)].tolist():
                    recorder.events.append((step, warp, barrier, 2))

    # -- afterwards --------------------------------------------------------------------------------------

    def finish(self, program: Program, launch: Launch) -> tuple[BlockTrace, ...]:
        """The traces, by block."""
        return tuple(
            block_trace(self.recorders[block], program, launch, self.options)
            for block in sorted(self.recorders)
        )

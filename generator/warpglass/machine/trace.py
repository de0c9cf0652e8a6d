"""Records every step of chosen blocks, as columns.

While running, a step of a group is one entry whatever its number of warps; columns are made at the end.
The fair round of the scheduler becomes the round of the trace; where a warp issued for several of its
groups in one round, the block's rounds are stretched so that each warp issues once in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import FULL, Bits, Ints, bits_of, popcount
from warpglass.machine.result import Accesses, Barriers, BlockTrace, RegisterWrites

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.launch import Launch
    from warpglass.machine.program import Program
    from warpglass.machine.runoptions import RunOptions
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["Member", "Recorder", "Tracer"]

NOT_KEPT = 0xFFFFFFFF
#: A page packs values to about a quarter of their raw size.
PACKED = 4
#: Raw bytes of values held while running, over which only the first warp's are kept.
RAW_LIMIT = 64 << 20
#: Raw bytes of access addresses and data that a recorder holds.
ACCESS_LIMIT = 96 << 20


class Member:
    """The rows of one group that belong to one traced block."""

    __slots__ = ("index", "recorder", "rows", "warps")

    def __init__(self, recorder: Recorder, index: npt.NDArray[np.int64], rows: Ints, warps: Ints) -> None:
        self.recorder = recorder
        self.index = index  # positions in the group's rows
        self.rows = rows
        self.warps = warps


class Recorder:
    """What was seen of one block."""

    def __init__(self, block: int, first_row: int) -> None:
        self.block = block
        self.first_row = first_row
        self.count = 0
        self.full = False
        self.steps: list[tuple[int, int, Ints, Bits, Bits]] = []
        self.values: list[tuple[int, int, Ints, npt.NDArray[Any]]] = []
        self.value_bytes = 0
        self.values_cut = False
        self.accesses: list[tuple[int, int, int, int, int, Ints, npt.NDArray[Any], Any]] = []
        self.access_bytes = 0
        self.access_cut = False
        self.events: list[tuple[int, int, int, int]] = []
        self.last = 0

    def step_of(self, warp: int) -> int | None:
        """The step of the last issue if ``warp`` took part in it, else None."""
        if self.full or not self.steps:
            return None
        warps = self.steps[-1][2]
        at = int(np.searchsorted(warps, warp))
        return self.last + at if at < warps.shape[0] and int(warps[at]) == warp else None


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
            if recorder.full:
                continue
            rows, base = member.rows, recorder.last
            if wanted is not None or recorder.values_cut:
                chosen = (0,) if recorder.values_cut and wanted is None else wanted or ()
                keep = np.isin(member.warps, chosen)
                if not keep.any():
                    continue
                steps = base + np.flatnonzero(keep)
                rows = rows[keep]
            else:
                steps = base + np.arange(rows.shape[0])
            for dest in dests:
                array = m.R[dest]
                values = (
                    array[rows[0] : rows[-1] + 1] if rows[-1] - rows[0] + 1 == rows.shape[0] else array[rows]
                )
                values = values.copy()
                recorder.values.append((recorder.count, dest, steps, values))
                recorder.value_bytes += values.nbytes
            if recorder.value_bytes > RAW_LIMIT and not recorder.values_cut:
                self._cut(recorder)

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
        flat_at: Any,
        data: Any,
    ) -> None:
        """Record a memory access of ``group``: ``flat_at()`` gives addresses of ``on.flat``, ``data()`` words."""
        members: tuple[Any, ...] = group.traced or ()
        for member in members:
            recorder: Recorder = member.recorder
            if recorder.full or recorder.access_cut:
                continue
            low, high = recorder.first_row * 32, (recorder.first_row + m.wpb) * 32
            first, last = np.searchsorted(on.flat, (low, high))
            if first == last:
                continue
            lanes = on.flat[first:last] - low
            addresses = np.array(flat_at()[first:last], dtype=np.uint64)
            words = data()
            words = None if words is None else words[first:last]
            recorder.accesses.append(
                (recorder.last, kind, space, size, member.rows.shape[0], lanes, addresses, words)
            )
            recorder.access_bytes += addresses.nbytes * 2 + (0 if words is None else words.nbytes)
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
            _trace(self.recorders[block], program, launch, self.options) for block in sorted(self.recorders)
        )


def _trace(recorder: Recorder, program: Program, launch: Launch, options: RunOptions) -> BlockTrace:
    x, y, _ = launch.grid
    linear = recorder.block
    steps = recorder.steps
    sizes = np.array([s[2].shape[0] for s in steps], dtype=np.int64)
    warp = np.concatenate([s[2] for s in steps]) if steps else np.zeros(0, dtype=np.int64)
    rounds = np.repeat(np.array([s[0] for s in steps], dtype=np.int64), sizes)
    fair = _fair_rounds(rounds, warp)
    return BlockTrace(
        block=(linear % x, linear // x % y, linear // (x * y)),
        index=linear,
        warps=launch.warps_per_block,
        round=fair.astype(np.uint32),
        warp=warp.astype(np.uint16),
        pc=np.repeat(np.array([s[1] for s in steps], dtype=np.uint32), sizes),
        mask=np.concatenate([s[3] for s in steps]) if steps else np.zeros(0, dtype=np.uint32),
        group=np.concatenate([s[4] for s in steps]) if steps else np.zeros(0, dtype=np.uint32),
        writes=_writes(recorder, program, warp, options),
        accesses=_accesses(recorder, warp),
        barriers=_barriers(recorder, fair),
        truncated=recorder.full,
    )


def _fair_rounds(rounds: Ints, warp: Ints) -> Ints:
    """Rounds from 0 without gaps in which each warp issues once at most, in the order of the steps."""
    if rounds.size == 0:
        return rounds
    # How often the warp of each step has issued in that round before.
    order = np.lexsort((np.arange(rounds.size), warp, rounds))
    key = rounds[order] * (int(warp.max()) + 1) + warp[order]
    fresh = np.ones(key.size, dtype=np.bool_)
    fresh[1:] = key[1:] != key[:-1]
    starts = np.flatnonzero(fresh)
    nth = np.arange(key.size) - np.repeat(starts, np.diff(np.append(starts, key.size)))
    turn = np.empty_like(nth)
    turn[order] = nth
    change = np.ones(rounds.size, dtype=np.bool_)
    change[1:] = rounds[1:] != rounds[:-1]
    starts = np.flatnonzero(change)
    lengths = np.diff(np.append(starts, rounds.size))
    running = np.zeros_like(turn)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        if length == 1 or not turn[start : start + length].any():
            continue
        column = 0
        seen: set[int] = set()
        for index in range(start, start + length):
            if int(warp[index]) in seen:
                column += 1
                seen.clear()
            seen.add(int(warp[index]))
            running[index] = column
    width = np.maximum.reduceat(running, starts) + 1
    base = np.concatenate([[0], np.cumsum(width)[:-1]])
    return np.repeat(base, lengths) + running


def _writes(recorder: Recorder, program: Program, warp: Ints, options: RunOptions) -> RegisterWrites | None:
    if not recorder.values:
        return None
    steps = np.concatenate([v[2] for v in recorder.values])
    words_of = np.repeat([_words(v[3]) for v in recorder.values], [v[2].shape[0] for v in recorder.values])
    warps = warp[steps]
    by_warp = np.bincount(warps, weights=words_of)
    room = options.value_budget * PACKED // 4
    chosen: list[int] = []
    used = 0
    for index in np.flatnonzero(by_warp).tolist():
        used += int(by_warp[index])
        if used > room:
            break
        chosen.append(index)
    complete = bool(chosen)
    if not chosen:
        # Even one warp's values are too many: its first ones, marked as cut.
        chosen = [int(np.flatnonzero(by_warp)[0])]
    keep_warp = np.isin(np.arange(by_warp.shape[0]), chosen)
    whole = bool(keep_warp[by_warp > 0].all())
    out_step: list[Ints] = []
    out_words: list[npt.NDArray[np.uint32]] = []
    registers: list[int] = []
    filled = 0
    for _, register, at, values in recorder.values:
        if not whole:
            keep = keep_warp[warp[at]]
            if not keep.any():
                continue
            at, values = at[keep], values[keep]
        words = _as_words(values)
        filled += words.size
        if filled > max(room, 64):
            complete = False
            break
        out_step.append(at)
        registers.append(register)
        out_words.append(words)
    rows = [w.shape[0] for w in out_words]
    lengths = np.repeat(np.array([w.shape[1] for w in out_words], dtype=np.int64), rows)
    empty = np.zeros(0, dtype=np.uint32)
    return RegisterWrites(
        names=program.register_names,
        types=program.register_types,
        step=np.concatenate(out_step).astype(np.uint32) if out_step else empty,
        register=np.repeat(np.array(registers, dtype=np.uint32), rows),
        offset=(np.cumsum(lengths) - lengths).astype(np.uint32),
        words=np.concatenate([w.reshape(-1) for w in out_words]) if out_words else empty,
        warps=tuple(chosen),
        complete=complete and not recorder.full,
    )


def _words(values: npt.NDArray[Any]) -> int:
    return 1 if values.dtype == np.bool_ else 64 if values.dtype.itemsize == 8 else 32


def _as_words(values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Register values ``[n, 32]`` in the layout of :class:`RegisterWrites`."""
    if values.dtype == np.bool_:
        return bits_of(values).reshape(-1, 1)
    if values.dtype.itemsize == 8:
        halves = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape[0], 32, 2)
        return np.concatenate([halves[:, :, 0], halves[:, :, 1]], axis=1)
    return values.astype(np.uint32)


def _accesses(recorder: Recorder, warp: Ints) -> Accesses | None:
    if not recorder.accesses:
        return None
    steps: list[Ints] = []
    masks: list[Bits] = []
    counts: list[Ints] = []
    fixed: list[tuple[int, int, int, int]] = []
    for step, kind, space, size, rows, lanes, _, words in recorder.accesses:
        each = 0 if words is None else words.shape[1]
        if lanes.shape[0] == rows * 32:
            at, bits, live = np.arange(rows), np.full(rows, FULL, dtype=np.uint32), np.full(rows, 32)
        else:
            local = warp[step : step + rows]
            weights = (np.int64(1) << (lanes & 31)).astype(np.float64)
            room = int(local.max()) + 1
            bits = np.bincount(lanes >> 5, weights=weights, minlength=room).astype(np.uint32)[local]
            at = np.flatnonzero(bits)
            bits, live = bits[at], popcount(bits[at])
        steps.append(at + step)
        masks.append(bits)
        counts.append(live)
        fixed.append((kind, space, size, each))
    sizes = [s.shape[0] for s in steps]
    kinds, spaces, widths, words_each = (np.repeat(column, sizes) for column in zip(*fixed, strict=True))
    count = np.concatenate(counts).astype(np.int64)
    data_words = count * words_each
    starts = np.cumsum(data_words) - data_words
    data = [words.reshape(-1) for *_, words in recorder.accesses if words is not None]
    return Accesses(
        step=np.concatenate(steps).astype(np.uint32),
        kind=kinds.astype(np.uint8),
        space=spaces.astype(np.uint8),
        size=widths.astype(np.uint8),
        mask=np.concatenate(masks),
        offset=(np.cumsum(count) - count).astype(np.uint32),
        addresses=np.concatenate([entry[6] for entry in recorder.accesses]),
        data_offset=np.where(words_each > 0, starts, NOT_KEPT).astype(np.uint32),
        data=np.concatenate(data).astype(np.uint32) if data else np.zeros(0, dtype=np.uint32),
        complete=not (recorder.full or recorder.access_cut),
    )


def _barriers(recorder: Recorder, fair: Ints) -> Barriers | None:
    if not recorder.events:
        return None
    events = np.array(recorder.events, dtype=np.int64)
    return Barriers(
        step=events[:, 0].astype(np.uint32),
        round=fair[events[:, 0]].astype(np.uint32),
        warp=events[:, 1].astype(np.uint16),
        barrier=events[:, 2].astype(np.uint16),
        kind=events[:, 3].astype(np.uint8),
    )

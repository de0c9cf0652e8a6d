"""Records every step of chosen blocks, as columns.

While running, a step of a group is one entry whatever its number of warps; columns are made at the end.
The fair round of the scheduler becomes the round of the trace; where a warp issued for several of its
groups in one round, the block's rounds are stretched so that each warp issues once in each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bits, Ints, bits_of
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
    words_of = np.concatenate([np.full(v[2].shape[0], _words(v[3])) for v in recorder.values])
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
    out_step, out_register, out_words = [], [], []
    filled = 0
    for _, register, at, values in recorder.values:
        keep = keep_warp[warp[at]]
        if not keep.any():
            continue
        words = _as_words(values[keep])
        filled += words.size
        if filled > max(room, 64):
            complete = False
            break
        out_step.append(at[keep])
        out_register.append(np.full(int(keep.sum()), register))
        out_words.append(words)
    lengths = (
        np.concatenate([np.full(w.shape[0], w.shape[1]) for w in out_words]) if out_words else np.zeros(0)
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if out_words else np.zeros(0)
    empty = np.zeros(0, dtype=np.uint32)
    return RegisterWrites(
        names=program.register_names,
        types=program.register_types,
        step=np.concatenate(out_step).astype(np.uint32) if out_step else empty,
        register=np.concatenate(out_register).astype(np.uint32) if out_register else empty,
        offset=offsets.astype(np.uint32),
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
    columns: dict[str, list[Any]] = {k: [] for k in ("step", "fixed", "mask", "count", "data")}
    addresses, data = [], []
    filled = 0
    for step, kind, space, size, rows, lanes, at, words in recorder.accesses:
        warps = lanes >> 5
        local = warp[step : step + rows]
        bits = np.bincount(warps, weights=(np.int64(1) << (lanes & 31)).astype(np.float64)).astype(np.uint32)
        counts = np.bincount(warps)
        here = np.flatnonzero(
            (local < counts.shape[0]) & (np.append(counts, 0)[np.minimum(local, counts.shape[0])] > 0)
        )
        size_of = counts[local[here]]
        columns["step"].append(step + here)
        columns["fixed"].append(np.tile(np.array([kind, space, size], dtype=np.uint8), (here.shape[0], 1)))
        columns["mask"].append(bits[local[here]])
        columns["count"].append(size_of)
        if words is None:
            columns["data"].append(np.full(here.shape[0], NOT_KEPT, dtype=np.int64))
        else:
            places = size_of * words.shape[1]
            columns["data"].append(filled + np.cumsum(places) - places)
            filled += int(places.sum())
        addresses.append(at)
        if words is not None:
            data.append(words.reshape(-1))
    counts = np.concatenate(columns["count"]).astype(np.int64)
    fixed = np.concatenate(columns["fixed"])
    return Accesses(
        step=np.concatenate(columns["step"]).astype(np.uint32),
        kind=fixed[:, 0].copy(),
        space=fixed[:, 1].copy(),
        size=fixed[:, 2].copy(),
        mask=np.concatenate(columns["mask"]).astype(np.uint32),
        offset=(np.cumsum(counts) - counts).astype(np.uint32),
        addresses=np.concatenate(addresses),
        data_offset=np.concatenate(columns["data"]).astype(np.uint32),
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

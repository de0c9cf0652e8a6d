"""What was recorded of a block, made into the columns of its trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import FULL, Bits, Ints, bits_of, popcount
from warpglass.machine.result import Accesses, Barriers, BlockTrace, RegisterWrites

if TYPE_CHECKING:
    from warpglass.machine.launch import Launch
    from warpglass.machine.program import Program
    from warpglass.machine.runoptions import RunOptions

__all__ = ["Recorder", "block_trace"]

NOT_KEPT = 0xFFFFFFFF
#: A page packs values to about a quarter of their raw size.
PACKED = 4


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
        #: No values are recorded any more.
        self.values_done = False
        self.accesses: list[tuple[int, int, int, int, int, Ints | None, npt.NDArray[Any], Any]] = []
        self.access_bytes = 0
        self.access_cut = False
        self.events: list[tuple[int, int, int, int]] = []
        self.last = 0

    def last_step_of(self, warp: int) -> int | None:
        """The last step of ``warp``, however long ago."""
        end = self.count
        for _, _, warps, _, _ in reversed(self.steps):
            end -= warps.shape[0]
            at = int(np.searchsorted(warps, warp))
            if at < warps.shape[0] and int(warps[at]) == warp:
                return int(end + at)
        return None

    def step_of(self, warp: int) -> int | None:
        """The step of the last issue if ``warp`` took part in it, else None."""
        if self.full or not self.steps:
            return None
        warps = self.steps[-1][2]
        at = int(np.searchsorted(warps, warp))
        return self.last + at if at < warps.shape[0] and int(warps[at]) == warp else None


def block_trace(recorder: Recorder, program: Program, launch: Launch, options: RunOptions) -> BlockTrace:
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
    # Entries of one word layout are worked on together; where their words lie is free.
    groups: dict[int, list[tuple[int, int, Ints, npt.NDArray[Any]]]] = {}
    for entry in recorder.values:
        groups.setdefault(_words(entry[3]), []).append(entry)
    steps, registers, lengths, words = [], [], [], []
    for width, entries in sorted(groups.items()):
        steps.append(np.concatenate([e[2] for e in entries]))
        registers.append(np.repeat([e[1] for e in entries], [e[2].shape[0] for e in entries]))
        lengths.append(np.full(steps[-1].shape[0], width))
        words.append(_as_words(np.concatenate([e[3] for e in entries])))
    step, register, length = (np.concatenate(c) for c in (steps, registers, lengths))
    starts = np.cumsum(length) - length
    chosen, complete, room = _within_budget(np.bincount(warp[step], weights=length), options)
    # What a wait brought was written down when the wait ended, but belongs to the step that began it.
    order = np.argsort(step, kind="stable")
    order = order[np.isin(warp[step[order]], chosen)]
    if not complete:
        order = order[np.cumsum(length[order]) <= max(room, 64)]
    flat = np.concatenate([w.reshape(-1) for w in words])
    if order.shape[0] < step.shape[0]:
        flat = np.concatenate(
            [np.zeros(0, np.uint32), *(flat[starts[i] : starts[i] + length[i]] for i in order)]
        )
        offset = np.cumsum(length[order]) - length[order]
    else:
        offset = starts[order]
    return RegisterWrites(
        names=program.register_names,
        types=program.register_types,
        step=step[order].astype(np.uint32),
        register=register[order].astype(np.uint32),
        offset=offset.astype(np.uint32),
        words=flat,
        warps=tuple(chosen),
        complete=complete and not (recorder.full or recorder.values_done),
    )


def _within_budget(by_warp: npt.NDArray[Any], options: RunOptions) -> tuple[list[int], bool, int]:
    """Warps whose values are kept, whether all of theirs fit, and the words there is room for."""
    room = options.value_budget * PACKED // 4
    chosen: list[int] = []
    used = 0
    for index in np.flatnonzero(by_warp).tolist():
        used += int(by_warp[index])
        if used > room:
            break
        chosen.append(index)
    if chosen:
        return chosen, True, room
    # Even one warp's values are too many: its first ones, marked as cut.
    return [int(np.flatnonzero(by_warp)[0])], False, room


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
    whole: dict[int, tuple[Ints, Bits, Ints]] = {}
    for step, kind, space, size, rows, lanes, _, words in recorder.accesses:
        each = 0 if words is None else words.shape[1]
        if lanes is None or lanes.shape[0] == rows * 32:
            if rows not in whole:
                whole[rows] = (np.arange(rows), np.full(rows, FULL, dtype=np.uint32), np.full(rows, 32))
            at, bits, live = whole[rows]
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
        addresses=np.concatenate([entry[6] for entry in recorder.accesses]).astype(np.uint64),
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

"""Which blocks run together, and how batches take turns."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from warpglass.errors import LaunchError
from warpglass.machine.bits import Ints
from warpglass.machine.launch import Launch
from warpglass.machine.memory import Arena
from warpglass.machine.program import Program
from warpglass.machine.regions import MemoryLimitError
from warpglass.machine.result import Stop
from warpglass.machine.run_state import Area, RunState
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.scheduler import Machine, StopRun

__all__ = ["MAX_SLOTS", "batch_size", "blocks_from", "reserve_areas", "run_all"]

#: Lanes a batch aims at. Fewer keep registers in the cache; more make up for groups that divergence splits.
BATCH_LANES = 32768
#: Bytes of registers and of shared memory a batch may have: both are backed by more arrays than one.
REGISTER_BYTES = 192 << 20
SHARED_BYTES = 16 << 20
#: Lanes of a grid that must run as a whole; more than any GPU keeps resident.
WHOLE_GRID_LANES = 1 << 20
#: Rounds a batch may run before the others get a turn; only blocks that wait for each other need that.
TURN = 100_000
#: Batches that may be under way at the same time.
MAX_SLOTS = 16


def batch_size(
    launch: Launch, options: RunOptions, together: bool, *, lane_bytes: int = 0, block_bytes: int = 0
) -> int:
    """Blocks that run at once; whole clusters, the whole grid if its blocks must run ``together``.

    ``lane_bytes`` are a lane's registers, ``block_bytes`` a block's shared memory: large ones make batches
    smaller. Raises :class:`LaunchError` for a grid that must run together and is too large for that.
    """
    block_lanes = launch.warps_per_block * 32
    if together:
        if launch.blocks * block_lanes > WHOLE_GRID_LANES:
            raise LaunchError(
                f"a cooperative grid of {launch.blocks} blocks is larger than any GPU can keep resident"
            )
        return launch.blocks
    lanes = min(options.batch_lanes or BATCH_LANES, REGISTER_BYTES // max(lane_bytes, 1))
    blocks = min(max(1, lanes // block_lanes), max(1, SHARED_BYTES // max(block_bytes, 1)))
    cluster = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
    return min(launch.blocks, max(cluster, blocks // cluster * cluster))


def reserve_areas(
    arena: Arena, launch: Launch, at_once: int, shared_stride: int, local_stride: int
) -> list[Area]:
    """Shared and local memory for as many batches as may be under way, ``at_once`` blocks each."""
    slots = min(MAX_SLOTS, -(-launch.blocks // at_once))
    shared = shared_stride * at_once
    local = local_stride * at_once * launch.warps_per_block * 32
    return [
        Area(arena.reserve(shared, 4096), arena.reserve(local, 4096), shared, local) for _ in range(slots)
    ]


def blocks_from(launch: Launch, first: int, count: int) -> Ints:
    """Linear indexes of ``count`` blocks from the ``first`` on, those of a cluster next to each other."""
    number = np.arange(first, min(first + count, launch.blocks), dtype=np.int64)
    if launch.cluster == (1, 1, 1):
        return number
    cx, cy, cz = launch.cluster
    x, y, _ = launch.grid
    cluster, rank = number // (cx * cy * cz), number % (cx * cy * cz)
    across, down = x // cx, y // cy
    bx = cluster % across * cx + rank % cx
    by = cluster // across % down * cy + rank // cx % cy
    bz = cluster // (across * down) * cz + rank // (cx * cy)
    linear: Ints = bx + x * (by + y * bz)
    return linear


def _batches(launch: Launch, options: RunOptions, at_once: int) -> Iterator[Ints]:
    if options.only_blocks is not None:
        chosen = np.array(sorted(b for b in options.only_blocks if 0 <= b < launch.blocks), dtype=np.int64)
        for start in range(0, chosen.shape[0], at_once):
            yield chosen[start : start + at_once]
        return
    first = 0
    while first < launch.blocks:
        yield blocks_from(launch, first, at_once)
        first += at_once


def run_all(
    run: RunState, program: Program, launch: Launch, at_once: int, areas: Sequence[Area]
) -> tuple[Stop | None, int]:
    """Run all batches; gives why the run ended early, and the blocks executed.

    A batch that does not end soon may wait for blocks of a later one: they take turns.
    """
    batches = _batches(launch, run.options, at_once)
    upcoming = next(batches, None)
    free = list(reversed(areas))
    active: deque[tuple[Machine, Area]] = deque()
    executed = 0
    collecting = gc.isenabled()
    # The run makes many small objects and hardly any garbage in circles; looking for it costs a tenth.
    gc.disable()
    try:
        while upcoming is not None or active:
            if upcoming is not None and free:
                area = free.pop()
                active.appendleft((Machine(program, run, upcoming, area), area))
                upcoming = next(batches, None)
            machine, area = active.popleft()
            if machine.run(TURN):
                machine.races.finish(machine)
                executed += machine.B
                run.blocks_done = executed
                run.arena.clear(area.shared_at, area.shared_size)
                run.arena.clear(area.local_at, area.local_size)
                free.append(area)
                # Its parts refer to each other: without this, arrays would stay until the collector comes by.
                vars(machine).clear()
            elif machine.spin.looping and upcoming is None and not active:
                return _endless(machine), executed
            else:
                active.append((machine, area))
    except StopRun as stop:
        return stop.stop, executed
    except MemoryLimitError as error:
        return Stop("memory", str(error)), executed
    finally:
        if collecting:
            gc.enable()
    return None, executed


def _endless(machine: Machine) -> Stop:
    """All that still runs came back to where it was, with the memory unchanged."""
    group = machine.groups[0]
    line = machine.program.lines[group.pc]
    message = f"stopped at line {line}: the kernel loops without end; registers and memory repeat exactly"
    machine.findings.budget(machine, message, group)
    return Stop("budget", message, group.pc, line)

"""Registers, lanes and memory bases of a batch of blocks.

Registers are arrays ``[W, 32]`` of unsigned containers. A write to all live lanes replaces the array; other
writes change it in place after making it the register's own, because a replaced array may be shared with
another register or with a constant. Lanes that do not exist or have exited may hold anything.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import FULL, Bits, Ints, popcount
from warpglass.machine.program import DTYPES, Array, Program
from warpglass.machine.run_state import Area, RunState
from warpglass.machine.selection import Selection
from warpglass.machine.special import special_values

__all__ = ["State"]


class State:
    """The data of a batch. ``R`` holds registers, then specials and constants; ``W`` warps, ``B`` blocks."""

    def __init__(self, program: Program, run: RunState, blocks: Ints, area: Area) -> None:
        launch = run.launch
        self.program = program
        self.ops = program.ops
        self.size = program.size
        self.run_state = run
        self.launch = launch
        self.counters = run.counters
        self.findings = run.findings
        self.tracer = run.tracer
        self.arena = run.arena
        self.blocks = blocks
        self.B = int(blocks.shape[0])
        self.wpb = launch.warps_per_block
        self.W = self.B * self.wpb
        self.shape = (self.W, 32)
        tail = launch.threads_per_block - (self.wpb - 1) * 32
        one = np.full(self.wpb, FULL, dtype=np.uint32)
        one[-1] = FULL if tail == 32 else np.uint32((1 << tail) - 1)
        self.exists: Bits = np.tile(one, self.B)
        self.dead: Bits = np.zeros(self.W, dtype=np.uint32)
        self.live = int(popcount(self.exists).sum())
        self.shared_bytes = run.shared_bytes
        self.block_of: Ints = np.repeat(np.arange(self.B, dtype=np.int64), self.wpb)
        self.shared_stride = (run.shared_bytes + 511) // 256 * 256
        self.shared_at: int = area.shared_at
        self.local_at: int = area.local_at
        self.local_stride: int = run.extra["local_stride"]
        #: Whether shared addresses name the block by its plain rank: SASS of a launch with clusters.
        self.plain_ranks = program.isa == "sass" and launch.cluster != (1, 1, 1)
        self.address_cache: dict[Any, Any] = {}
        self.local: dict[str, Any] = {}
        self._registers()

    def _registers(self) -> None:
        program = self.program
        zeros = {c: np.zeros(self.shape, dtype=d) for c, d in DTYPES.items()}
        self.R: list[Array] = [zeros[c] for c in program.containers]
        self.program_registers = len(program.register_names)
        count = len(self.R)
        self.owned = [False] * count
        self.ver = [0] * count
        for index, name in program.specials.items():
            self.R[index] = special_values(self, name)
        for index, value in program.constants.items():
            self.R[index] = value
        self.is_lane = [a.shape == self.shape for a in self.R]

    def cluster_peers(self) -> Ints:
        """Blocks of the batch by block and rank in its cluster, ``[B, size]``."""
        found: Ints | None = self.local.get("peers")
        if found is None:
            x, y, z = self.launch.cluster
            size = x * y * z
            first = np.arange(self.B, dtype=np.int64) // size * size
            found = self.local["peers"] = first[:, None] + np.arange(size)
        return found

    # -- reading -----------------------------------------------------------------------------------------

    def get(self, index: int, on: Selection) -> Array:
        """Register values of the lanes ``on``, flat ``[on.count]`` (or (1,) for a constant)."""
        array = self.R[index]
        if not self.is_lane[index]:
            return array
        return array.reshape(-1)[on.flat]

    def rows(self, index: int, on: Selection) -> Array:
        """Register values of the warps of ``on``, ``[on.nrows, 32]``; lanes off hold anything."""
        array = self.R[index]
        if not self.is_lane[index]:
            return np.broadcast_to(array, (on.nrows, 32))
        if on.nrows == on.high - on.low:
            return array[on.slice]
        return array[on.rows]

    # -- writing -----------------------------------------------------------------------------------------

    def own(self, index: int) -> Array:
        """The register's array, safe to change in place."""
        run = self.run_state
        run.version += 1
        self.ver[index] = run.version
        # Moves and views make registers share an array; whoever else holds it keeps it alive.
        if not self.owned[index] or sys.getrefcount(self.R[index]) > 2:
            self.R[index] = np.array(self.R[index], order="C")
            self.owned[index] = True
        return self.R[index]

    def put_whole(self, index: int, value: Array) -> None:
        """Replace the register for all live lanes by ``value`` (any shape that broadcasts)."""
        if value.shape != self.shape:
            value = np.array(np.broadcast_to(value, self.shape), order="C")
        elif not value.flags.c_contiguous:
            value = np.ascontiguousarray(value)
        self.R[index] = value
        self.owned[index] = False
        run = self.run_state
        run.version += 1
        self.ver[index] = run.version

    def put_slice(self, index: int, value: Array, on: Selection) -> None:
        """Write ``value`` over the bounding slice of ``on``, only lanes on."""
        held = self.own(index)
        if on.full:
            held[on.slice] = value
            return
        old = held[on.slice]
        if old.dtype == np.bool_:
            mask = on.mask
            held[on.slice] = (value & mask) | (old & ~mask)
        else:
            held[on.slice] = old ^ ((old ^ value) & on.blend(old.dtype))

    def put_flat(self, index: int, value: Array, on: Selection) -> None:
        """Write ``value [on.count]`` to the lanes on."""
        self.own(index).reshape(-1)[on.flat] = value

    def put_rows(self, index: int, value: npt.NDArray[Any], on: Selection) -> None:
        """Write ``value [on.nrows, 32]`` to the lanes on."""
        if on.count == self.live and on.nrows == self.W:
            self.put_whole(index, value)
        elif on.nrows == on.high - on.low:
            self.put_slice(index, value, on)
        else:
            keep = on.live_rows()
            if keep is not on:
                value = value[on.bits != 0]
            where = on.flat
            row = np.searchsorted(keep.rows, where >> 5)
            self.put_flat(index, value[row, where & 31], on)

    # -- places ------------------------------------------------------------------------------------------

    def block_dim(self, row: int) -> tuple[int, int, int]:
        """Block index of warp ``row``."""
        linear = int(self.blocks[row // self.wpb])
        x, y, _ = self.launch.grid
        return linear % x, linear // x % y, linear // (x * y)

    def thread_dim(self, row: int, lane: int) -> tuple[int, int, int]:
        """Thread index of a lane of warp ``row``."""
        linear = (row % self.wpb) * 32 + lane
        x, y, _ = self.launch.block
        return linear % x, linear // x % y, linear // (x * y)

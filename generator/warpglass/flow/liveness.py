"""Liveness of registers, per instruction, over any instruction set.

Registers are small integers here; sets are bit masks in Python integers, which cost one machine word for
64 registers and nothing where they are empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpglass.flow.graph import Cfg

__all__ = ["Access", "Liveness", "liveness"]

#: Bits of all block masks together beyond which liveness is not computed (about 1 GiB).
MAX_BITS = 1 << 33


@dataclass(frozen=True, slots=True)
class Access:
    """Registers an instruction reads and writes. ``kills`` False: a guarded or partial write."""

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    kills: bool = True


@dataclass(frozen=True, slots=True)
class Liveness:
    """Masks of registers live at the start and the end of each block; bit ``r`` is register ``r``."""

    cfg: Cfg
    accesses: Sequence[Access]
    live_in: tuple[int, ...]
    live_out: tuple[int, ...]

    def backwards(self, block: int) -> Iterator[tuple[int, int, int]]:
        """(pc, mask live before it, mask live after it) from the block's last instruction to its first."""
        after = self.live_out[block]
        node = self.cfg.blocks[block]
        for pc in range(node.end - 1, node.start - 1, -1):
            before = _before(self.accesses[pc], after)
            yield pc, before, after
            after = before

    def after(self, pc: int) -> int:
        """Mask of the registers live after instruction ``pc``."""
        for at, _, live in self.backwards(self.cfg.block_at(pc).index):
            if at == pc:
                return live
        return 0

    def pressure(self, weights: Sequence[int]) -> list[int]:
        """Per instruction, the weight of registers that hold a value around it.

        That is the larger of what is live before it and what is live after it with its own results, used
        later or not; incremental, so its cost follows the accesses and not the number of registers.
        """
        result = [0] * self.cfg.instructions
        for block in self.cfg.blocks:
            live = self.live_out[block.index]
            total = _weight(live, weights)
            for pc in range(block.end - 1, block.start - 1, -1):
                access = self.accesses[pc]
                dead = sum(weights[r] for r in set(access.writes) if not live >> r & 1)
                after = total + dead
                if access.kills:
                    for r in access.writes:
                        if live >> r & 1:
                            live ^= 1 << r
                            total -= weights[r]
                for r in access.reads:
                    if not live >> r & 1:
                        live |= 1 << r
                        total += weights[r]
                result[pc] = max(total, after)
        return result


def _weight(mask: int, weights: Sequence[int]) -> int:
    total = 0
    data = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
    for position, byte in enumerate(data):
        while byte:
            low = byte & -byte
            total += weights[position * 8 + low.bit_length() - 1]
            byte ^= low
    return total


def _before(access: Access, after: int) -> int:
    if access.kills:
        for r in access.writes:
            if after >> r & 1:
                after ^= 1 << r
    for r in access.reads:
        after |= 1 << r
    return after


def liveness(cfg: Cfg, accesses: Sequence[Access], registers: int) -> Liveness | None:
    """Live registers of every block by the usual backward fixed point; None where it would not fit.

    ``accesses`` has one entry an instruction, ``registers`` is the number of registers. A write that does
    not kill (guarded, or part of a vector) leaves the old value live.
    """
    if len(cfg.blocks) * registers > MAX_BITS:
        return None
    generated: list[int] = []
    killed: list[int] = []
    for block in cfg.blocks:
        gen: set[int] = set()
        kill: set[int] = set()
        for pc in range(block.end - 1, block.start - 1, -1):
            access = accesses[pc]
            if access.kills:
                kill.update(access.writes)
                gen.difference_update(access.writes)
            gen.update(access.reads)
        generated.append(_mask(gen))
        killed.append(_mask(kill))
    count = len(cfg.blocks)
    live_in, live_out = list(generated), [0] * count
    waiting = [True] * count
    work = list(range(count))  # taken from the end: later blocks first
    while work:
        index = work.pop()
        waiting[index] = False
        out = 0
        for successor in cfg.blocks[index].successors:
            out |= live_in[successor]
        live_out[index] = out
        new = generated[index] | (out & ~killed[index])
        if new != live_in[index]:
            live_in[index] = new
            for before in cfg.blocks[index].predecessors:
                if not waiting[before]:
                    waiting[before] = True
                    work.append(before)
    return Liveness(cfg, accesses, tuple(live_in), tuple(live_out))


def _mask(registers: set[int]) -> int:
    if not registers:
        return 0
    data = bytearray(max(registers) // 8 + 1)
    for r in registers:
        data[r >> 3] |= 1 << (r & 7)
    return int.from_bytes(data, "little")

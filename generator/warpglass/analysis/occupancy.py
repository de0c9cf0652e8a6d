"""Theoretical occupancy, as the toolkit's own ``cuda_occupancy.h`` computes it.

What simple formulas miss and this keeps: registers are allocated a warp at a time in units, and from a
sub-partition's share of the register file; warps come in whole blocks; a block reserves 1 KB of shared
memory from compute capability 8.0 on; a block beyond the register file of an SM does not start at all.
Held equal to the header's answers by tests over thousands of configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpglass.gpu import Arch

__all__ = ["Cliff", "Occupancy", "Resources", "nearest_cliffs", "occupancy"]

#: The header checks a single block against the register file with warps rounded up to this many,
#: whatever the number of sub-partitions.
_BLOCK_WARP_ROUNDING = 4
#: Named-barrier allocation limits residency from this compute capability on.
_BARRIER_LIMIT_SINCE = (9, 0)
#: Threads of a block, on every architecture since 2.0.
_MAX_THREADS_BLOCK = 1024
#: Shared memory a kernel may use without opting in, bytes.
STATIC_SHARED_LIMIT = 48 * 1024


@dataclass(frozen=True, slots=True)
class Resources:
    """What a block asks for: threads, registers a thread, shared bytes, named barriers.

    ``carveout`` is the preferred share of shared memory in percent, None for the most.
    """

    threads: int
    registers: int
    static_shared: int = 0
    dynamic_shared: int = 0
    barriers: int = 1
    carveout: int | None = None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks and warps of an SM, each limit in blocks (None where it does not apply).

    ``limiters`` names what keeps the number of blocks down: ``registers``, ``shared memory``, ``warps``,
    ``blocks``, ``barriers``, or ``not launchable``; empty at full occupancy.
    """

    blocks: int
    warps: int
    max_warps: int
    by_registers: int | None
    by_shared: int | None
    by_warps: int
    by_blocks: int
    by_barriers: int | None
    registers_block: int
    shared_block: int
    limiters: tuple[str, ...]
    needs_optin: bool

    @property
    def fraction(self) -> float:
        """Resident warps of the most an SM holds, 0 to 1."""
        return self.warps / self.max_warps


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _capacity(arch: Arch, needed: int, carveout: int | None) -> int:
    """Shared memory an SM offers: the least carve-out that serves the preference and one block."""
    if not arch.carveouts_kb or carveout is None:
        return arch.smem_sm
    wanted = carveout * arch.smem_sm / 100
    for size in (kb * 1024 for kb in arch.carveouts_kb):
        if size >= wanted and size >= needed:
            return size
    return arch.smem_sm


def occupancy(arch: Arch, ask: Resources) -> Occupancy:
    """Occupancy of one configuration. A configuration that cannot start has 0 blocks."""
    warps = -(-ask.threads // 32)
    registers_warp = _up(ask.registers * 32, arch.reg_alloc_unit_warp)
    by_registers: int | None = None
    if ask.registers:
        if registers_warp * _up(warps, _BLOCK_WARP_ROUNDING) > arch.regs_sm:
            by_registers = 0
        else:
            a_partition = arch.regs_sm // arch.warp_alloc_gran // registers_warp
            by_registers = a_partition * arch.warp_alloc_gran // warps
    shared = ask.static_shared + ask.dynamic_shared
    shared_block = _up(shared + arch.smem_reserved, arch.smem_alloc_gran)
    capacity = _capacity(arch, shared_block, ask.carveout)
    by_shared = capacity // shared_block if shared_block else None
    if shared > arch.smem_block_optin:
        by_shared = 0
    by_barriers = None
    if arch.base >= _BARRIER_LIMIT_SINCE and ask.barriers:
        by_barriers = arch.block_barriers_sm // ask.barriers
    named = {
        "registers": by_registers,
        "shared memory": by_shared,
        "warps": arch.max_warps_sm // warps,
        "blocks": arch.max_blocks_sm,
        "barriers": by_barriers,
    }
    blocks = min(value for value in named.values() if value is not None)
    if ask.threads > _MAX_THREADS_BLOCK or ask.registers > arch.max_regs_thread:
        blocks = 0
    resident = blocks * warps
    limiters: tuple[str, ...] = ()
    if blocks == 0:
        limiters = ("not launchable",)
    elif resident < arch.max_warps_sm:
        limiters = tuple(name for name, value in named.items() if value == blocks)
    return Occupancy(
        blocks=blocks,
        warps=resident,
        max_warps=arch.max_warps_sm,
        by_registers=by_registers,
        by_shared=by_shared,
        by_warps=arch.max_warps_sm // warps,
        by_blocks=arch.max_blocks_sm,
        by_barriers=by_barriers,
        registers_block=registers_warp * warps,
        shared_block=shared_block,
        limiters=limiters,
        needs_optin=shared > STATIC_SHARED_LIMIT,
    )


@dataclass(frozen=True, slots=True)
class Cliff:
    """The nearest change of one resource that changes the resident blocks.

    ``change`` is in registers a thread or bytes of shared memory; negative frees, positive costs.
    """

    resource: str
    change: int
    blocks: int

    def sentence(self) -> str:
        """The cliff in words."""
        many = "" if abs(self.change) == 1 else "s"
        shared = self.resource == "shared memory"
        unit, of = ("byte", " of shared memory a block") if shared else ("register", " a thread")
        blocks = f"{self.blocks} block{'' if self.blocks == 1 else 's'} an SM" if self.blocks else "no block"
        verb = "give" if self.change < 0 else "leave"
        word = "fewer" if self.change < 0 else "more"
        return f"{abs(self.change):,} {word} {unit}{many}{of} {verb}{'' if many else 's'} {blocks}"


def nearest_cliffs(arch: Arch, ask: Resources) -> tuple[Cliff, ...]:
    """The nearest cliffs in registers and shared memory, in both directions, where there are any."""
    now = occupancy(arch, ask)
    found: list[Cliff] = []

    def search(resource: str, candidates: Sequence[tuple[int, Resources]]) -> None:
        for change, changed in candidates:
            then = occupancy(arch, changed)
            if then.blocks != now.blocks and (change < 0) == (then.blocks > now.blocks):
                found.append(Cliff(resource, change, then.blocks))
                return

    def registers(count: int) -> Resources:
        return replace(ask, registers=count)

    def shared(size: int) -> Resources:
        return replace(ask, static_shared=0, dynamic_shared=size)

    # Beyond what a thread or block may have nothing is resident: a damaged file's count of 2^31 is not
    # walked down to there.
    if ask.registers:
        top = arch.max_regs_thread
        start = min(ask.registers - 1, top)
        search("registers", [(r - ask.registers, registers(r)) for r in range(start, 15, -1)])
        search("registers", [(r - ask.registers, registers(r)) for r in range(ask.registers + 1, top + 1)])
    size = ask.static_shared + ask.dynamic_shared
    unit = arch.smem_alloc_gran
    # Allocation grows in units of (size + reserved): the sizes that just fit one are the only candidates.
    edge = _up(size + arch.smem_reserved, unit) - arch.smem_reserved
    most = _up(arch.smem_block_optin + arch.smem_reserved, unit) - arch.smem_reserved
    down = range(min(edge - unit, most), -1, -unit)
    search("shared memory", [(s - size, shared(s)) for s in down if s < size])
    up = range(edge, arch.smem_block_optin + 1, unit)
    search("shared memory", [(s + 1 - size, shared(s + 1)) for s in up if s >= size])
    return tuple(found)

"""Occupancy read out: limiters, waves and tail, whether the warps suffice, cliffs, curves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from warpglass.analysis.latency import latencies
from warpglass.analysis.occupancy import Cliff, Occupancy, Resources, nearest_cliffs, occupancy
from warpglass.analysis.resources import Model
from warpglass.analysis.sass_loops import LoopView
from warpglass.analysis.stage import Stages, find_stages
from warpglass.analysis.subject import Subject
from warpglass.gpu import Arch, GpuModel

__all__ = [
    "Curve",
    "OccupancyView",
    "Sufficiency",
    "Waves",
    "curves",
    "stage_costs",
    "sufficiency",
    "view",
    "view_of",
    "waves",
]


@dataclass(frozen=True, slots=True)
class Waves:
    """``waves`` = blocks / (SMs x resident); ``tail_idle`` is the share of block slots idle in the last one,
    ``efficiency`` the share of all slots that do work (Micikevicius, GTC 2012, "tail effect")."""

    blocks: int
    slots: int
    waves: float
    tail_idle: float
    efficiency: float
    idle_sms: int


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """Warps an SM needs by Little's law against those it has. ``by_issue`` hides the latency behind other
    warps' instructions, ``by_bandwidth`` keeps enough bytes in flight; the smaller one decides."""

    latency: int
    loads: int
    instructions: int
    by_issue: int
    by_bandwidth: int | None
    needed: int
    active: int
    rule: str

    @property
    def enough(self) -> bool:
        """Whether the active warps suffice."""
        return self.active >= self.needed


@dataclass(frozen=True, slots=True)
class Curve:
    """Resident warps over one resource; ``now`` is the index of the present configuration or None."""

    name: str
    unit: str
    x: tuple[int, ...]
    warps: tuple[int, ...]
    present: int


@dataclass(frozen=True, slots=True)
class OccupancyView:
    """Everything that the occupancy section says."""

    ask: Resources
    found: Occupancy
    cliffs: tuple[Cliff, ...]
    waves: Waves | None
    sufficiency: Sufficiency | None
    curves: tuple[Curve, ...]
    limiters: tuple[str, ...]
    stages: Stages | None = None


def waves(blocks: int, sms: int, resident: int) -> Waves:
    """Waves of a grid. Worked example: 865 blocks on 108 SMs with 8 each are 864 slots: 1.001 waves, and the
    second wave holds one block: 99.9 % of its slots are idle, efficiency 50.06 %."""
    slots = sms * max(1, resident)
    number = math.ceil(blocks / slots)
    last = blocks - (number - 1) * slots
    return Waves(
        blocks, slots, blocks / slots, 1 - last / slots, blocks / (number * slots), max(0, sms - blocks)
    )


def sufficiency(
    machine: Arch, model: GpuModel | None, found: Occupancy, loop: LoopView | None, latency: int, active: int
) -> Sufficiency | None:
    """Little's law for a loop: warps = latency x rate / (work a warp has in flight).

    Worked example: a loop of 20 instructions with 2 independent 4-byte loads and 500 cycles latency needs
    4 x 500 / 20 = 100 warps to keep four schedulers busy; on an A100 SM (10.2 B a clock) 500 x 10.2 B are
    in flight with 5105 / (2 x 128) = 20 warps. 20 are needed (Volkov, "Better performance at lower
    occupancy", GTC 2010).
    """
    if loop is None or not loop.loads:
        return None
    by_issue = math.ceil(4 * latency / max(1, loop.instructions))
    by_bandwidth = None
    if model is not None and model.dram_gbs and model.boost_mhz and loop.bytes is not None:
        each = model.dram_gbs * 1e9 / (model.boost_mhz * 1e6) / model.sm_count
        by_bandwidth = math.ceil(each * latency / max(1.0, loop.bytes))
    needed = min(by_issue, by_bandwidth) if by_bandwidth is not None else by_issue
    size = "of unknown size" if loop.bytes is None else f"{loop.bytes:.4g} bytes a warp"
    rule = (
        f"latency {latency} cycles; {loop.instructions} instructions and {loop.loads} loads ({size}) "
        "an iteration"
    )
    return Sufficiency(
        latency, loop.loads, loop.instructions, by_issue, by_bandwidth, max(1, needed), active, rule
    )


def curves(machine: Arch, ask: Resources) -> tuple[Curve, ...]:
    """Warps over block size, registers a thread and shared bytes a block, the other two kept."""
    blocks = tuple(range(32, 1025, 32))
    registers = (*range(16, machine.max_regs_thread + 1, 8), machine.max_regs_thread)
    step = 1024
    shared = tuple(range(0, machine.smem_block_optin + 1, step))
    total = ask.static_shared + ask.dynamic_shared

    def warps(changed: Resources) -> int:
        return occupancy(machine, changed).warps

    return (
        Curve(
            "block size",
            "threads",
            blocks,
            tuple(warps(replace(ask, threads=b)) for b in blocks),
            ask.threads,
        ),
        Curve(
            "registers",
            "a thread",
            registers,
            tuple(warps(replace(ask, registers=r)) for r in registers),
            ask.registers,
        ),
        Curve(
            "shared memory",
            "bytes a block",
            shared,
            tuple(warps(replace(ask, static_shared=0, dynamic_shared=s)) for s in shared),
            total,
        ),
    )


def stage_costs(machine: Arch, ask: Resources, tile: int, most: int = 4) -> tuple[tuple[int, int, int], ...]:
    """(further stages, shared bytes a block, blocks an SM) for each further stage of ``tile`` bytes.

    The 1 KB that a block reserves from 8.0 on is counted. sm_86 with 49 KB still gives two blocks:
    2 x (49 + 1) KB are the 100 KB that an SM has; 50 KB give one.
    """
    total = ask.static_shared + ask.dynamic_shared
    out = []
    for stages in range(most + 1):
        size = total + stages * tile
        found = occupancy(machine, replace(ask, static_shared=0, dynamic_shared=size))
        out.append((stages, size, found.blocks))
    return tuple(out)


def view_of(machine: Arch, ask: Resources, blocks: int | None, sms: int | None) -> OccupancyView:
    """The view of a configuration alone: what its loops need is not known. ``blocks`` is the grid's size."""
    found = occupancy(machine, ask)
    wave = waves(blocks, sms, found.blocks) if blocks and sms and found.blocks else None
    named = _named(found, wave)
    return OccupancyView(ask, found, nearest_cliffs(machine, ask), wave, None, curves(machine, ask), named)


def _named(found: Occupancy, wave: Waves | None) -> tuple[str, ...]:
    """Limiters, those of the grid included."""
    if wave is not None and wave.waves < 1:
        return (*found.limiters, "grid too small")
    return (*found.limiters, "tail") if wave is not None and wave.efficiency < 0.8 else found.limiters


def view(subject: Subject, model: Model, loops: tuple[LoopView, ...]) -> OccupancyView | None:
    """The view of a launch, or None where the registers are not known."""
    ask = subject.resources()
    if ask is None:
        return None
    found = occupancy(subject.arch, ask)
    wave = None
    if subject.gpu is not None and subject.grid_given and found.blocks:
        wave = waves(subject.launch.blocks, subject.sms, found.blocks)
    latency = latencies(subject.arch, model.dram_share, model.l1_hits).loads
    active = found.warps
    if wave is not None and wave.waves < 1:
        active = math.ceil(subject.launch.blocks / subject.sms) * subject.launch.warps_per_block
    hot = next((loop for loop in loops if loop.loads), None)
    enough = sufficiency(subject.arch, subject.gpu, found, hot, latency, active)
    return OccupancyView(
        ask,
        found,
        nearest_cliffs(subject.arch, ask),
        wave,
        enough,
        curves(subject.arch, ask),
        _named(found, wave),
        find_stages(subject),
    )

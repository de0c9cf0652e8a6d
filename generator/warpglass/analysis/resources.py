"""How many cycles of an SM each of the hardware's resources is busy with a launch: the bottleneck model.

Every resource is a sum over executed instructions divided by a rate of the architecture's table. The
largest decides if all of them overlap perfectly, their sum if nothing does; the truth lies between, and so
does the gain of any change that makes one of them smaller. All of this is ``modelled``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from warpglass.analysis.access import AccessRow, access_table
from warpglass.analysis.l1 import l1_share
from warpglass.analysis.latency import Chain, latencies, warp_chain
from warpglass.analysis.listing import ListingRow
from warpglass.analysis.operations import arithmetic
from warpglass.analysis.subject import Subject
from warpglass.gpu.rates import peaks

__all__ = ["L1_SECTORS", "LABELS", "Model", "build_model", "distinct_atomics", "unique_bytes"]

LABELS: Mapping[str, str] = {
    "issue": "instruction issue",
    "fp32": "FP32 pipe",
    "fp64": "FP64 pipe",
    "fp16": "half-precision pipe",
    "int": "integer pipe",
    "special": "special-function unit",
    "tensor": "tensor cores",
    "shared": "shared-memory wavefronts",
    "l1": "L1 sectors",
    "l2": "L2 traffic",
    "dram": "device memory",
    "atomics": "atomics on the same address",
    "latency": "latency of dependent instructions",
}
#: Registers that the assembler adds to those that hold values: addresses in halves, the stack's end.
_ADDRESSING = 8
_PIPES = {
    "fpu": ("fp32", "fp32"),
    "half": ("fp16", "fp16x2_results"),
    "double": ("fp64", "fp64"),
    "alu": ("int", "int_add"),
    "predicate": ("int", "int_add"),
    "sfu": ("special", "sfu"),
    "convert": ("special", "conv_other"),
}
#: PTX instructions that become a sequence in machine code: (pattern, slots on the pipe, special-function
#: slots). Counted in code of ptxas 13.0 for sm_80; division by a constant is a multiplication and not here.
_SEQUENCES: tuple[tuple[re.Pattern[str], int, int], ...] = (
    (re.compile(r"(div|rem)\.[su]64"), 70, 2),
    (re.compile(r"(div|rem)\.[su](16|32)"), 18, 1),
    (re.compile(r"div\.(rn|rz|rm|rp)(\.ftz)?\.f32"), 9, 1),
    (re.compile(r"sqrt\.(rn|rz|rm|rp)(\.ftz)?\.f32"), 7, 1),
    (re.compile(r"(div|sqrt|rcp)\.(rn|rz|rm|rp)\.f64"), 12, 1),
    (re.compile(r"rcp\.(rn|rz|rm|rp)(\.ftz)?\.f32"), 6, 1),
)
#: Bytes a clock between an SM and the L2 (Jia et al., arXiv:1804.06826, table 3.1) and L1 (128 B: 4 sectors).
_L2_BYTES, L1_SECTORS = 64, 4
#: Cycles below which a launch is what takes time: starting an empty kernel takes thousands of them (some
#: microseconds; Zhang et al., "Understanding the overheads of launching CUDA kernels", ICPP 2019).
_NOTHING = 100
#: Addresses that the L2's slices serve at once.
_L2_SLICES = 64


@dataclass(frozen=True, slots=True)
class Model:
    """Busy cycles of the busiest SM, by resource; ``chain`` is one warp's dependence chain.

    ``rounds`` is how many times an SM is filled with blocks; ``imbalance`` what an uneven grid costs.
    """

    cycles: Mapping[str, float]
    chain: Chain | None
    rounds: int
    resident: int
    imbalance: float
    dram_bytes: float
    sector_bytes: float
    l1_hits: float
    dram_share: float

    @property
    def top(self) -> str:
        """The resource that is busy longest."""
        return max(self.cycles, key=lambda name: self.cycles[name])

    @property
    def overlapped(self) -> float:
        """Cycles if everything overlaps."""
        return max(self.cycles.values(), default=0.0)

    @property
    def nothing(self) -> bool:
        """Whether the kernel does next to nothing: no memory, no arithmetic, fewer cycles than any launch."""
        return self.overlapped < _NOTHING and set(self.cycles) <= {"issue", "int", "latency"}

    def gain(self, **changed: float) -> tuple[float, float]:
        """(least, most) speed-up if resources took ``changed`` cycles: with perfect overlap and with none."""
        after = {**self.cycles, **changed}
        return _ratios(self.cycles, after)

    def scaled(self, factor: float) -> tuple[float, float]:
        """The gain where all of an SM's work shrinks by ``factor``."""
        return factor, factor

    def with_chain(self, chain: Chain | None) -> Model:
        """The same with another chain."""
        return replace(self, chain=chain)


def _ratios(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[float, float]:
    most = max(before.values(), default=0.0) / max(max(after.values(), default=0.0), 1e-9)
    total = sum(before.values()) / max(sum(after.values()), 1e-9)
    low, high = sorted((most, total))
    return max(1.0, low), max(1.0, high)


def unique_bytes(subject: Subject) -> tuple[int, int] | None:
    """Bytes of distinct sectors read and written over all buffers, or None where nobody counted them."""
    read = written = 0
    for buffer in subject.result.buffers:
        if buffer is None or buffer.touched is None:
            continue
        if buffer.sectors is None:
            return None
        read += 32 * buffer.sectors[0]
        written += 32 * buffer.sectors[1]
    return read, written


def occupancy_blocks(subject: Subject) -> int:
    """Resident blocks of an SM, at least 1.

    Where no compiler said how many registers there are, PTX's highest count of live ones stands for them.
    """
    found = subject.occupancy()
    if found is None:
        live = max((n for n in subject.listing.live if n is not None), default=32)
        found = subject.with_registers(min(255, live + _ADDRESSING)).occupancy()
    return max(1, found.blocks if found is not None else 1)


def _slots(row: ListingRow) -> tuple[int, int]:
    for pattern, slots, special in _SEQUENCES:
        if pattern.match(row.opcode):
            constant = row.text.rstrip("; ").rsplit(",", 1)[-1].strip()
            return (4, 0) if re.fullmatch(r"-?\d+", constant) else (slots, special)
    return 1, 0


def build_model(subject: Subject) -> Model:
    """The bottleneck model of a launch from its executed counts."""
    a, result = subject.arch, subject.result
    rows = access_table(subject.listing, result)
    executed = result.counters["warp_executed"]
    cycles = dict.fromkeys(LABELS, 0.0)
    ptx = result.isa == "ptx"
    tensor = 0.0
    for pc, row in enumerate(subject.listing.rows):
        times = int(executed[pc])
        if not times or (ptx and row.kind in ("move", "call") and row.opcode.startswith(("mov", "cvta"))):
            continue  # the assembler folds moves and address conversions away
        slots, special = _slots(row) if ptx else (1, 0)
        cycles["issue"] += times * (slots + special) / 4
        if row.kind == "tensor":
            work = arithmetic(row, result.isa)
            tensor += times * _tensor_cycles(subject, work.precision, work.warp) if work is not None else 0.0
        name, rate = _PIPES.get(row.kind, ("", ""))
        wide = "f64" in row.opcode or "F64" in row.opcode
        lanes = getattr(a, "conv_f64" if row.kind == "convert" and wide else rate, None) if rate else None
        if name and lanes:
            cycles[name] += times * slots * 32 / (lanes / 2 if row.kind == "half" else lanes)
        if special and a.sfu:
            cycles["special"] += times * special * 32 / a.sfu
    cycles["tensor"] = tensor
    sectors = 0
    for access in rows:
        cycles["shared"] += access.wavefronts or 0
        if access.sectors:
            sectors += access.sectors
            cycles["l1"] += max(access.requests, access.sectors / L1_SECTORS)
        if access.operation == "atomic" and access.space == "shared" and access.atomic_addresses:
            cycles["atomics"] += access.requests * access.lanes * access.requests / access.atomic_addresses
    resident = occupancy_blocks(subject)
    if subject.grid_given:  # a small grid shares no L1
        resident = min(resident, -(-max(1, subject.launch.blocks) // subject.sms))
    hits = l1_share(subject, rows, resident)
    unique = unique_bytes(subject)
    moved = float(sum(unique)) if unique is not None else float(32 * sectors)
    share = min(1.0, moved / max(1.0, 32 * sectors * (1 - hits))) if sectors else 0.0
    waits = latencies(a, share, hits)
    extra = {
        row.pc: max(0.0, (row.conflicts or 0) / row.requests) + max(0.0, row.sector_excess / row.requests)
        for row in rows
    }
    chain = warp_chain(subject.listing, result, waits, extra)
    return _spread(subject, cycles, chain, rows, moved, 32.0 * sectors, hits, share)


def _tensor_cycles(subject: Subject, precision: str, work: int) -> float:
    """Cycles of an SM for one warp instruction on the tensor cores."""
    from warpglass.gpu.rates import tensor_ratio

    base = subject.arch.tensor_fp16_fp32acc
    if subject.gpu is not None and subject.gpu.tensor_fp16_fp32acc:
        base = subject.gpu.tensor_fp16_fp32acc
    scale = tensor_ratio(subject.arch, precision.removeprefix("tensor_")) or 1.0
    return work / (base * scale) if base else 0.0


def _spread(
    subject: Subject,
    cycles: dict[str, float],
    chain: Chain | None,
    rows: tuple[AccessRow, ...],
    moved: float,
    sector_bytes: float,
    hits: float,
    share: float,
) -> Model:
    """From sums over the grid to cycles of the busiest SM."""
    blocks, sms, resident = max(1, subject.launch.blocks), subject.sms, occupancy_blocks(subject)
    executed = max(1, subject.result.blocks_counted)
    # A default grid says nothing about the real one: a GPU filled eight times stands for it.
    stands_for = 8 * sms * resident if not subject.grid_given else blocks
    # Of a run that did not end nobody knows what its blocks lacked: its counts stand for themselves.
    factor = stands_for / executed if subject.result.complete else 1.0
    most = -(-stands_for // sms)
    imbalance = most * sms / stands_for
    for name in cycles:
        cycles[name] *= factor * imbalance / sms
    clock = subject.gpu.boost_mhz * 1e6 if subject.gpu is not None and subject.gpu.boost_mhz else None
    if clock and subject.gpu is not None and subject.gpu.dram_gbs:
        cycles["dram"] = factor * moved / (subject.gpu.dram_gbs * 1e9 / clock)
    cycles["l2"] = factor * sector_bytes * (1 - hits) / (_L2_BYTES * sms)
    for row in rows:
        if row.operation == "atomic" and row.space != "shared" and row.atomic_addresses:
            # Lanes on one address are merged by sixteen before they reach the L2 (measured on a V100).
            sent = row.requests * max(1.0, 2 * row.atomic_addresses / max(row.lanes * row.requests, 1))
            apart = min(_L2_SLICES, max(1.0, distinct_atomics(subject, row)))
            merged = (
                max(sent, 2.0 * row.requests) if row.atomic_addresses < row.lanes * row.requests else sent
            )
            cycles["atomics"] += factor * max(merged, row.atomic_addresses) / apart
    rounds = -(-stands_for // (sms * resident)) if subject.result.complete else 1
    if chain is not None:
        cycles["latency"] = rounds * chain.cycles
    return Model(
        {name: value for name, value in cycles.items() if value > 0},
        chain,
        rounds,
        resident,
        imbalance,
        moved,
        sector_bytes,
        hits,
        share,
    )


def distinct_atomics(subject: Subject, row: AccessRow) -> float:
    """Distinct addresses that an atomic instruction used over the grid, from its first traced block."""
    for trace in subject.result.traces:
        a = trace.accesses
        if a is None:
            continue
        wanted = trace.pc[a.step.astype(np.int64)] == row.pc
        if not wanted.any():
            continue
        lanes = [int(m).bit_count() for m in a.mask[wanted]]
        found = [
            a.addresses[int(o) : int(o) + n]
            for o, n in zip(a.offset[wanted].tolist()[:4096], lanes, strict=False)
        ]
        return float(np.unique(np.concatenate(found)).size)
    return float(row.atomic_addresses or 1)


def peak_of(subject: Subject, precision: str) -> float | None:
    """Peak in 1e12 operations a second, or None where no table gives one."""
    if subject.gpu is None:
        return None
    return next((p.tflops for p in peaks(subject.arch, subject.gpu) if p.precision == precision), None)

"""Inner loops found in the control-flow graph, and what they do for each load: the compute-to-load ratio.

Counted are warp-level instructions of the loop's own blocks: tensor instructions or FFMAs over loads that
bring bytes in (LDG, LDGSTS, UBLKCP, UTMALDG; an LDGSTS once). Beside the ratio stands FLOP a byte loaded:
what the lanes that were on computed over the bytes that they asked for; without an execution all 32 count as
on.

A loop that loads what a loop inside it computes with is shown whole, as a nest: its inner instructions count
as often as they were executed for each iteration of the outer loop. Inner loops that never ran count as
absent.

Thresholds for tensor-core loops are 5:1 and 20:1. A warp's 16-byte load moves 512 bytes. The L2 gives an SM
64 bytes a clock, so that one load takes 8 clocks, in which 2,048 FLOP a clock are 4 HMMA.16816 of 4,096 FLOP:
below 5:1 not even the L2 keeps up. Device memory gives about a sixth of that, with a third of the sectors
found in the L2 about 20:1. An FFMA is only 64 FLOP a warp, so that FFMA loops have thresholds of their own,
derived in :func:`thresholds` from the rates of the architecture, the GPU and the width of the loop's loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpglass.analysis.listing import Listing, ListingRow, own_frame
from warpglass.analysis.mix import loop_trips
from warpglass.analysis.operations import arithmetic, is_async_copy, is_global_load
from warpglass.analysis.subject import Subject
from warpglass.gpu import Arch, GpuModel

__all__ = ["TENSOR_THRESHOLDS", "LoopSource", "LoopView", "inner_loops", "loops_of", "thresholds"]

TENSOR_THRESHOLDS = (5.0, 20.0)
_L2_BYTES_CLOCK = 64


@dataclass(frozen=True, slots=True)
class LoopView:
    """One innermost loop, or with ``nest`` a loop that loads for one inside it. ``compute`` and ``loads`` are
    warp instructions of one iteration; ``flops`` and ``bytes`` (None where no table and no run tells a copy's
    size) are of one iteration of a warp with ``lanes`` lanes on (the mean over its arithmetic and loads;
    None: not executed, all taken to be on); ``low``/``high`` are the thresholds of ``ratio``. ``line`` is
    (path, line) of its header. ``executions`` are the header's warp instructions; ``spills`` accesses of
    local memory."""

    index: int
    isa: str
    start: int
    end: int
    pcs: tuple[int, ...]
    instructions: int
    compute_name: str
    compute: int
    loads: int
    asynchronous: int
    shared_loads: int
    shared_stores: int
    barriers: int
    conversions: int
    integer: int
    uniform: int
    flops: float
    bytes: float | None
    low: float
    high: float
    threshold_rule: str
    line: tuple[str, int] | None
    executions: int | None
    trips: float | None
    opcodes: tuple[tuple[str, int], ...]
    spills: int = 0
    lanes: float | None = None
    nest: bool = False

    @property
    def ratio(self) -> float | None:
        """Compute instructions a load, None without loads."""
        return self.compute / self.loads if self.loads else None

    @property
    def flop_per_byte(self) -> float | None:
        """FLOP a byte loaded, None without loads."""
        return self.flops / self.bytes if self.bytes else None


def thresholds(
    machine: Arch, model: GpuModel | None, width: float, name: str = "FFMA"
) -> tuple[float, float, str]:
    """(low, high, reason) for FFMA loops: below ``low`` the L2, below ``high`` device memory cannot keep up.
    ``name`` is ``DFMA`` for loops of doubles, which have the rate of the FP64 lanes.

    ``width`` is the mean bytes a lane loads. A warp's load moves 32 x width bytes; meanwhile the SM could
    issue fp32/32 FFMAs a clock. Worked example, sm_80 (64 lanes) and an A100 (1555 GB/s, 1.41 GHz, 108 SMs),
    4-byte loads: 128 B / 64 B = 2 clocks x 2 FFMA = 4:1; 128 B / 10.2 B = 12.5 clocks x 2 FFMA = 25:1.
    """
    rate = ((machine.fp64 or 2) if name == "DFMA" else (machine.fp32 or 64)) / 32
    moved = 32 * width
    low = moved / _L2_BYTES_CLOCK * rate
    if model is None or not model.dram_gbs or not model.boost_mhz:
        return (
            low,
            low * 6,
            f"{moved:g} bytes a load at 64 B a clock from the L2; device memory assumed a sixth",
        )
    each = model.dram_gbs * 1e9 / (model.boost_mhz * 1e6) / model.sm_count
    rule = (
        f"a load moves {moved:g} bytes: {moved / _L2_BYTES_CLOCK:.3g} clocks from the L2 (64 B a clock), "
        f"{moved / each:.3g} from device memory ({each:.3g} B a clock and SM); {rate:g} {name} a clock"
    )
    return low, max(low, moved / each * rate), rule


@dataclass(frozen=True, slots=True)
class LoopSource:
    """Code whose loops are looked for, and what is known of its executions.

    ``counts`` are columns by instruction: ``warp_executed``, ``thread_executed`` and, where somebody counted
    them, ``bytes``; None where the code did not run. ``trips`` are mean iterations of each loop of the
    listing, ``headers`` executions of its header that another run tells (both None where unknown).
    """

    listing: Listing
    arch: Arch
    gpu: GpuModel | None
    own: frozenset[str]
    counts: Mapping[str, Any] | None
    trips: tuple[float | None, ...]
    headers: tuple[int | None, ...]


def inner_loops(subject: Subject) -> tuple[LoopView, ...]:
    """Innermost loops of the machine code, else of the PTX, and nests that load for them, hottest first."""
    listing = subject.sass_listing or subject.listing
    ran = listing is subject.listing or subject.result.isa == listing.isa
    unknown = (None,) * len(listing.loops)
    trips = loop_trips(listing, subject.result) if ran else unknown
    headers: tuple[int | None, ...] = unknown
    if not ran:
        headers = tuple(_by_line(subject, listing, _pcs(listing, loop.blocks)) for loop in listing.loops)
    counts = subject.result.counters if ran else None
    return loops_of(LoopSource(listing, subject.arch, subject.gpu, subject.own, counts, trips, headers))


def loops_of(source: LoopSource) -> tuple[LoopView, ...]:
    """Innermost loops of some code and nests that load for them, hottest first."""
    listing = source.listing
    executed = None if source.counts is None else source.counts["warp_executed"]

    def alive(index: int) -> bool:
        return executed is None or bool(executed[listing.blocks[listing.loops[index].header].start])

    found = []
    for index, loop in enumerate(listing.loops):
        inside = set(loop.blocks)
        inner: set[int] = set()
        for other, candidate in enumerate(listing.loops):
            if set(candidate.blocks) < inside and alive(other):
                inner.update(candidate.blocks)
        if inner:
            outside = [b for b in loop.blocks if b not in inner]
            rows = [listing.rows[pc] for pc in _pcs(listing, outside)]
            within = [listing.rows[pc] for pc in _pcs(listing, sorted(inner))]
            loads = any(is_global_load(row, listing.isa) for row in rows)
            if executed is None or not loads or any(is_global_load(row, listing.isa) for row in within):
                continue
        found.append(_view(source, index, bool(inner)))
    return tuple(sorted(found, key=lambda v: (-(v.executions or 0) * v.instructions, -v.flops, v.start)))


def _pcs(listing: Listing, blocks: Sequence[int]) -> list[int]:
    return [pc for b in blocks for pc in range(listing.blocks[b].start, listing.blocks[b].end)]


@dataclass(frozen=True, slots=True)
class _Weighed:
    """Instructions of a loop with how often each counts and how many of its lanes are on (None: unknown)."""

    isa: str
    items: tuple[tuple[ListingRow, float, float | None, float | None], ...]

    def count(self, wanted: Sequence[bool]) -> int:
        return round(sum(item[1] for item, yes in zip(self.items, wanted, strict=True) if yes))


def _weighed(source: LoopSource, header: int, pcs: Sequence[int], nest: bool) -> _Weighed:
    c, listing = source.counts, source.listing
    entered = int(c["warp_executed"][header]) if c is not None else 0
    sized = c is not None and "bytes" in c
    items = []
    for pc in pcs:
        times = int(c["warp_executed"][pc]) if c is not None else 0
        weight = times / entered if nest and entered else 1.0
        lanes = int(c["thread_executed"][pc]) / times if c is not None and times else None
        moved = int(c["bytes"][pc]) / times if c is not None and sized and times else None
        items.append((listing.rows[pc], weight, lanes, moved))
    return _Weighed(listing.isa, tuple(items))


def _bytes(row: ListingRow, lanes: float | None, moved: float | None) -> float | None:
    """Bytes that one warp instruction brings in: counted where it ran, else a width times 32 lanes."""
    if moved:
        return moved
    if lanes is not None:
        return 0.0 if lanes == 0 else None if row.width is None else lanes * row.width
    return 32.0 * row.width if row.width is not None else None


def _view(source: LoopSource, index: int, nest: bool) -> LoopView:
    listing = source.listing
    loop = listing.loops[index]
    pcs = tuple(_pcs(listing, loop.blocks))
    isa = listing.isa
    header = listing.blocks[loop.header].start
    weighed = _weighed(source, header, pcs, nest)
    rows = [item[0] for item in weighed.items]
    works = [arithmetic(row, isa) for row in rows]
    is_load = [is_global_load(row, isa) for row in rows]
    flops, lanes_on, lanes_of = 0.0, 0.0, 0.0
    for (_, weight, lanes, _moved), work, load in zip(weighed.items, works, is_load, strict=True):
        if work is not None:
            flops += weight * (work.warp or (32 if lanes is None else lanes) * work.lane)
        if lanes is not None and (load or (work is not None and not work.warp)):
            lanes_on, lanes_of = lanes_on + weight * lanes, lanes_of + weight
    tensor = weighed.count([w is not None and w.warp > 0 for w in works])
    scalar = weighed.count([w is not None and w.precision in ("fp32", "fp64") and w.lane >= 2 for w in works])
    half = weighed.count([w is not None and w.precision == "fp16" and w.lane >= 2 for w in works])
    doubles = weighed.count([w is not None and w.precision == "fp64" and w.lane >= 2 for w in works])
    loads = weighed.count(is_load)
    sizes = [
        None if (size := _bytes(row, lanes, found)) is None else size * weight
        for (row, weight, lanes, found), load in zip(weighed.items, is_load, strict=True)
        if load
    ]
    moved = None if None in sizes else sum(size for size in sizes if size is not None)
    base = Counter(row.opcode.split(".", 1)[0] for row in rows)
    name = next((b for b in base if b in ("HMMA", "IMMA", "HGMMA", "DMMA", "QMMA", "IGMMA", "QGMMA")), "MMA")
    if tensor:
        low, high = TENSOR_THRESHOLDS
        rule = (
            "tensor-core loops: below 5:1 not even the L2 feeds 16-byte loads, below 20:1 not device memory"
        )
        compute, named = tensor, name
    else:
        widths = [row.width for row, load in zip(rows, is_load, strict=True) if load and row.width]
        fused = "DFMA" if 2 * doubles > scalar else "FFMA"
        low, high, rule = thresholds(
            source.arch, source.gpu, sum(widths) / len(widths) if widths else 4, fused
        )
        compute, named = (scalar, fused) if scalar >= half else (half, "HFMA2")
    return LoopView(
        index=index,
        isa=isa,
        start=min(pcs),
        end=max(pcs) + 1,
        pcs=pcs,
        instructions=round(sum(item[1] for item in weighed.items)),
        compute_name=named,
        compute=compute,
        loads=loads,
        asynchronous=weighed.count([is_async_copy(row, isa) for row in rows]),
        shared_loads=weighed.count([row.space == "shared" and row.operation == "load" for row in rows]),
        shared_stores=weighed.count([row.space == "shared" and row.operation == "store" for row in rows]),
        barriers=weighed.count([row.opcode.startswith(("BAR", "bar", "barrier")) for row in rows]),
        conversions=weighed.count([row.kind == "convert" for row in rows]),
        integer=weighed.count([row.kind == "alu" for row in rows]),
        uniform=weighed.count([row.opcode.startswith("U") and isa == "sass" for row in rows]),
        flops=flops,
        bytes=moved,
        low=low,
        high=high,
        threshold_rule=rule,
        line=_line(source, header, pcs),
        executions=source.headers[index]
        if source.counts is None
        else int(source.counts["warp_executed"][header]),
        trips=source.trips[index],
        opcodes=tuple(base.most_common(8)),
        spills=weighed.count([row.space == "local" for row in rows]),
        lanes=lanes_on / lanes_of if lanes_of else None,
        nest=nest,
    )


def _line(source: LoopSource, header: int, pcs: tuple[int, ...]) -> tuple[str, int] | None:
    for pc in (header, *pcs):
        frame = own_frame(source.listing.rows[pc].frames, source.own)
        if frame is not None:
            return frame.path, frame.line
    return None


def _by_line(subject: Subject, listing: Listing, pcs: Sequence[int]) -> int | None:
    """Executions of a machine-code loop from the PTX run: the most that a line of it was executed there."""
    lines = {
        (f.path, f.line) for pc in pcs if (f := own_frame(listing.rows[pc].frames, subject.own)) is not None
    }
    executed = subject.result.counters["warp_executed"]
    counts = [int(executed[pc]) for pc in range(len(subject.listing.rows)) if subject.line_of(pc) in lines]
    return max(counts) if counts else None

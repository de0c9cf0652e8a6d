"""Inner loops found in the control-flow graph, and what they do for each load: the compute-to-load ratio.

Counted are warp-level instructions of the loop's own blocks: tensor instructions or FFMAs over loads that
bring bytes in (LDG, LDGSTS, UBLKCP, UTMALDG; an LDGSTS once). Beside the ratio stands FLOP a byte loaded.

Thresholds for tensor-core loops are 5:1 and 20:1. A warp's 16-byte load moves 512 bytes. The L2 gives an SM
64 bytes a clock, so that one load takes 8 clocks, in which 2,048 FLOP a clock are 4 HMMA.16816 of 4,096 FLOP:
below 5:1 not even the L2 keeps up. Device memory gives about a sixth of that, with a third of the sectors
found in the L2 about 20:1. An FFMA is only 64 FLOP a warp, so that FFMA loops have thresholds of their own,
derived in :func:`thresholds` from the rates of the architecture, the GPU and the width of the loop's loads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from warpglass.analysis.listing import Listing
from warpglass.analysis.mix import loop_trips
from warpglass.analysis.operations import arithmetic, is_async_copy, is_global_load
from warpglass.analysis.subject import Subject
from warpglass.gpu import Arch, GpuModel

__all__ = ["TENSOR_THRESHOLDS", "LoopView", "inner_loops", "thresholds"]

TENSOR_THRESHOLDS = (5.0, 20.0)
_L2_BYTES_CLOCK = 64


@dataclass(frozen=True, slots=True)
class LoopView:
    """One innermost loop. ``compute`` and ``loads`` are warp instructions of one iteration; ``flops`` and
    ``bytes`` are of one iteration of a warp with all lanes on; ``low``/``high`` are the thresholds of
    ``ratio``. ``line`` is (path, line) of its header. ``executions`` are the header's warp instructions."""

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
    bytes: float
    low: float
    high: float
    threshold_rule: str
    line: tuple[str, int] | None
    executions: int | None
    trips: float | None
    opcodes: tuple[tuple[str, int], ...]

    @property
    def ratio(self) -> float | None:
        """Compute instructions a load, None without loads."""
        return self.compute / self.loads if self.loads else None

    @property
    def flop_per_byte(self) -> float | None:
        """FLOP a byte loaded, None without loads."""
        return self.flops / self.bytes if self.bytes else None


def thresholds(machine: Arch, model: GpuModel | None, width: float) -> tuple[float, float, str]:
    """(low, high, reason) for FFMA loops: below ``low`` the L2, below ``high`` device memory cannot keep up.

    ``width`` is the mean bytes a lane loads. A warp's load moves 32 x width bytes; meanwhile the SM could
    issue fp32/32 FFMAs a clock. Worked example, sm_80 (64 lanes) and an A100 (1555 GB/s, 1.41 GHz, 108 SMs),
    4-byte loads: 128 B / 64 B = 2 clocks x 2 FFMA = 4:1; 128 B / 10.2 B = 12.5 clocks x 2 FFMA = 25:1.
    """
    rate = (machine.fp32 or 64) / 32
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
        f"{moved / each:.3g} from device memory ({each:.3g} B a clock and SM); {rate:g} FFMA a clock"
    )
    return low, max(low, moved / each * rate), rule


def inner_loops(subject: Subject) -> tuple[LoopView, ...]:
    """The innermost loops of the machine code, else of the PTX, hottest first."""
    listing = subject.sass_listing or subject.listing
    ran = listing is subject.listing or subject.result.isa == listing.isa
    trips = loop_trips(listing, subject.result) if ran else (None,) * len(listing.loops)
    found = []
    for index, loop in enumerate(listing.loops):
        inside = set(loop.blocks)
        if any(set(o.blocks) < inside for o in listing.loops):
            continue
        found.append(_view(subject, listing, index, trips[index] if index < len(trips) else None, ran))
    return tuple(sorted(found, key=lambda v: (-(v.executions or 0) * v.instructions, -v.flops, v.start)))


def _view(subject: Subject, listing: Listing, index: int, trips: float | None, ran: bool) -> LoopView:
    loop = listing.loops[index]
    pcs = tuple(pc for b in loop.blocks for pc in range(listing.blocks[b].start, listing.blocks[b].end))
    rows = [listing.rows[pc] for pc in pcs]
    isa = listing.isa
    flops, tensor, scalar, half = 0.0, 0, 0, 0
    for row in rows:
        work = arithmetic(row, isa)
        if work is None:
            continue
        flops += work.warp or 32 * work.lane
        tensor += work.warp > 0
        scalar += work.precision in ("fp32", "fp64") and work.lane >= 2
        half += work.precision == "fp16" and work.lane >= 2
    loads = [row for row in rows if is_global_load(row, isa)]
    moved = sum(32.0 * (row.width or 4) for row in loads)
    base = Counter(row.opcode.split(".", 1)[0] for row in rows)
    name = next((b for b in base if b in ("HMMA", "IMMA", "HGMMA", "DMMA", "QMMA", "IGMMA", "QGMMA")), "MMA")
    if tensor:
        low, high = TENSOR_THRESHOLDS
        rule = (
            "tensor-core loops: below 5:1 not even the L2 feeds 16-byte loads, below 20:1 not device memory"
        )
        compute, named = tensor, name
    else:
        low, high, rule = thresholds(subject.arch, subject.gpu, moved / 32 / len(loads) if loads else 4)
        compute, named = (scalar, "FFMA") if scalar >= half else (half, "HFMA2")
    header = listing.blocks[loop.header].start
    return LoopView(
        index=index,
        isa=isa,
        start=min(pcs),
        end=max(pcs) + 1,
        pcs=pcs,
        instructions=len(rows),
        compute_name=named,
        compute=compute,
        loads=len(loads),
        asynchronous=sum(is_async_copy(row, isa) for row in rows),
        shared_loads=sum(row.space == "shared" and row.operation == "load" for row in rows),
        shared_stores=sum(row.space == "shared" and row.operation == "store" for row in rows),
        barriers=sum(row.opcode.startswith(("BAR", "bar", "barrier")) for row in rows),
        conversions=sum(row.kind == "convert" for row in rows),
        integer=sum(row.kind == "alu" for row in rows),
        uniform=sum(row.opcode.startswith("U") and isa == "sass" for row in rows),
        flops=flops,
        bytes=moved,
        low=low,
        high=high,
        threshold_rule=rule,
        line=_line(subject, listing, header, pcs),
        executions=int(subject.result.counters["warp_executed"][header])
        if ran
        else _by_line(subject, listing, pcs),
        trips=trips,
        opcodes=tuple(base.most_common(8)),
    )


def _line(subject: Subject, listing: Listing, header: int, pcs: tuple[int, ...]) -> tuple[str, int] | None:
    from warpglass.analysis.listing import own_frame

    for pc in (header, *pcs):
        frame = own_frame(listing.rows[pc].frames, subject.own)
        if frame is not None:
            return frame.path, frame.line
    return None


def _by_line(subject: Subject, listing: Listing, pcs: tuple[int, ...]) -> int | None:
    """Executions of a machine-code loop from the PTX run: the most that a line of it was executed there."""
    from warpglass.analysis.listing import own_frame

    lines = {
        (f.path, f.line) for pc in pcs if (f := own_frame(listing.rows[pc].frames, subject.own)) is not None
    }
    executed = subject.result.counters["warp_executed"]
    counts = [int(executed[pc]) for pc in range(len(subject.listing.rows)) if subject.line_of(pc) in lines]
    return max(counts) if counts else None

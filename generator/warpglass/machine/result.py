"""What a run leaves behind: counters per instruction, traces, findings, memory.

Everything that grows with the run is a column (numpy array), never an object an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warpglass.machine.launch import Dim3, Launch

__all__ = [
    "COUNTERS", "AccessSample", "Accesses", "Barriers", "BlockTrace", "Buffer", "Finding",
    "RegisterWrites", "RunResult", "Stop", "Writer",
]  # fmt: skip

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

#: Per-instruction counters, each an int64 array with one entry a static instruction.
COUNTERS: Mapping[str, str] = {
    "warp_executed": "warp instructions issued, predicated off or not",
    "warp_on": "warp instructions with at least one lane on after the guard",
    "thread_executed": "lanes on after the guard, summed over warp instructions",
    "thread_active": "lanes of the issuing group before the guard, summed",
    "requests": "memory warp instructions with a live lane",
    "sectors": "distinct 32-byte sectors a request, summed (global, local and generic-to-global)",
    "sectors_ideal": "ceil(distinct bytes of a request / 32), summed",
    "wavefronts": "shared-memory wavefronts by the bank rule, summed",
    "wavefronts_ideal": "shared-memory phases (1, halves, quarters) that have a live lane, summed",
    "broadcasts": "requests in which two live lanes touch the same word",
    "bytes": "bytes requested by live lanes",
    "bytes_distinct": "distinct bytes a request, summed",
    "atomic_addresses": "distinct addresses an atomic request, summed",
    "branch_uniform": "branches at which all lanes of the group went one way",
    "branch_divergent": "branches at which the group split",
    "branch_taken": "lanes that took the branch",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended early. ``kind``: unsupported, budget, deadlock, trap, memory, fault."""

    kind: str
    message: str
    pc: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """The instruction and thread that wrote a byte last."""

    pc: int
    line: int
    block: Dim3
    thread: Dim3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reviewer should know.

    ``kind`` is compute-sanitizer's name where it has one (memcheck, racecheck, initcheck, synccheck), else
    the project's (``bank-conflict``, ``uncoalesced``, ``divergence``, ``deadlock``, ``budget``, …).
    ``severity`` is info, warning or critical. ``pc``, ``step`` and ``thread`` locate the first occurrence,
    ``worst_step`` the worst; steps index the trace of ``block`` where that block was traced, else None.
    """

    kind: str
    severity: str
    category: str
    message: str
    evidence: str
    count: int = 1
    pc: int | None = None
    line: int | None = None
    block: Dim3 | None = None
    thread: Dim3 | None = None
    address: int | None = None
    step: int | None = None
    worst_step: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccessSample:
    """One request kept for its picture. ``addresses`` has 32 entries; those outside ``mask`` are 0.

    ``label`` is ``first`` or ``worst``; ``space`` the space it ended up in; shared and local addresses
    are offsets within their window.
    """

    pc: int
    label: str
    block: Dim3
    warp: int
    space: str
    size: int
    mask: int
    addresses: U64
    sectors: int
    sectors_ideal: int
    wavefronts: int
    wavefronts_ideal: int


@dataclass(frozen=True, slots=True)
class RegisterWrites:
    """Values written by chosen warps: row i says that ``step[i]`` wrote register ``register[i]``.

    ``offset[i]`` indexes ``words``: 32 words (lane 0 first) for registers up to 32 bits, 64 (32 low words,
    then 32 high words) for 64-bit ones, 1 (a lane mask) for predicates. Lanes not written keep their value.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    step: U32
    register: U32
    offset: U32
    words: U32
    warps: tuple[int, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Accesses:
    """Memory accesses of a traced block in step order, live lanes only.

    ``kind`` 0 load, 1 store, 2 atomic; ``space`` 0 global, 1 shared, 2 local, 3 const/param; ``size`` bytes
    a lane; ``offset`` indexes ``addresses`` (popcount(mask) entries, lane order) and ``data_offset`` indexes
    ``data`` (ceil(size/4) words a live lane, stores and atomics' new values only; 0xFFFFFFFF where not kept).
    """

    step: U32
    kind: npt.NDArray[np.uint8]
    space: npt.NDArray[np.uint8]
    size: npt.NDArray[np.uint8]
    mask: U32
    offset: U32
    addresses: U64
    data_offset: U32
    data: U32
    complete: bool


@dataclass(frozen=True, slots=True)
class Barriers:
    """Barrier events of a traced block: ``kind`` 0 arrive (and wait), 1 arrive only, 2 release."""

    step: U32
    round: U32
    warp: npt.NDArray[np.uint16]
    barrier: npt.NDArray[np.uint16]
    kind: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class BlockTrace:
    """Every step of one block, in issue order; all columns have one entry a step.

    ``round`` is the fair round (an order, not time), ``warp`` the warp in the block, ``pc`` the static
    instruction, ``mask`` the lanes on after the guard, ``group`` the lanes of the issuing group before it.
    ``truncated`` is True where the trace budget ended before the block did.
    """

    block: Dim3
    index: int
    warps: int
    round: U32
    warp: npt.NDArray[np.uint16]
    pc: U32
    mask: U32
    group: U32
    writes: RegisterWrites | None
    accesses: Accesses | None
    barriers: Barriers | None
    truncated: bool = False

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.pc.shape[0])


@dataclass(frozen=True, slots=True)
class Buffer:
    """A global-memory region after the run. ``touched`` is the byte range that was accessed, or None.

    ``array`` is the content in the argument's dtype: the given extent, or the touched prefix rounded up to
    whole elements where no count was given. ``sectors`` are the distinct 32-byte sectors read and written
    (None where nobody counted them). ``unknown`` says why the content is not known; ``array`` is empty
    then.
    """

    name: str
    base: int
    size: int
    given: bool
    dtype: str
    array: npt.NDArray[np.generic]
    initial: npt.NDArray[np.generic] | None
    touched: tuple[int, int] | None
    sectors: tuple[int, int] | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """One executed launch with one instruction set. ``counters`` has the keys of :data:`COUNTERS`."""

    isa: str
    kernel: str
    launch: Launch
    complete: bool
    stopped: Stop | None
    blocks_executed: int
    counters: Mapping[str, I64]
    samples: tuple[AccessSample, ...]
    findings: tuple[Finding, ...]
    buffers: tuple[Buffer | None, ...]
    traces: tuple[BlockTrace, ...]
    printed: tuple[str, ...]
    assumptions: tuple[str, ...]
    active_histogram: I64  # [instructions, 33]: warp instructions by number of lanes on
    #: (name, first pc, end pc) of the kernel and the functions it calls: they cover all instructions.
    functions: tuple[tuple[str, int, int], ...] = ()
    writer: Writer | None = None  # of the byte that RunOptions.watch names
    scaled: Mapping[str, object] | None = None  # block classes and multiplicities where blocks were sampled
    alike: bool | None = None  # whether all blocks did the same, where ``RunOptions.compare`` asked

    @property
    def blocks_counted(self) -> int:
        """Blocks that the counters stand for: all of them where blocks were sampled."""
        return self.blocks_executed if self.scaled is None else self.launch.blocks

    @property
    def counts(self) -> Mapping[str, int]:
        """Whole-run sums of every counter."""
        return {name: int(column.sum()) for name, column in self.counters.items()}

"""What outlives a batch: memory, counters, findings, traces, budgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpglass.machine.alike import Alike
from warpglass.machine.counters import Counters
from warpglass.machine.launch import Launch
from warpglass.machine.memory import Arena
from warpglass.machine.runoptions import RunOptions
from warpglass.machine.watch import Watch

if TYPE_CHECKING:
    from warpglass.machine.findings import Findings
    from warpglass.machine.program import Program
    from warpglass.machine.trace import Tracer

__all__ = ["Area", "RunState"]


@dataclass(frozen=True, slots=True)
class Area:
    """Arena offsets and sizes of the shared and local memory of one batch."""

    shared_at: int
    local_at: int
    shared_size: int
    local_size: int


class RunState:
    """One run."""

    def __init__(
        self,
        program: Program,
        launch: Launch,
        options: RunOptions,
        arena: Arena,
        findings: Findings,
        tracer: Tracer,
    ) -> None:
        self.program = program
        self.launch = launch
        self.options = options
        self.arena = arena
        self.findings = findings
        self.tracer = tracer
        self.counters = Counters(program.size)
        self.watch = None if options.watch is None else Watch(options.watch - arena.layout.global_base)
        self.issued = 0
        #: Blocks of batches that came to their end.
        self.blocks_done = 0
        #: Counts stores and atomics that changed something, so that a repeated state means a standstill.
        self.mutations = 0
        #: Instructions that read made-up buffer content, with the buffer's name.
        self.default_reads: dict[int, str] = {}
        self.rounds = 0
        self.issue_limit = options.max_warp_instructions
        self.round_limit = options.round_limit
        self.printed: list[str] = []
        self.printed_bytes = 0
        self.assumptions: dict[str, None] = {}
        #: Growing number that marks every register write, so that caches know when a register changed.
        self.version = 0
        #: Facts of the launch that special instructions need (symbol table, parameter offsets …).
        self.extra: dict[str, Any] = {}
        #: One for each batch whose blocks are compared.
        self.alike: list[Alike] = []
        #: Global regions whose content is unknown: start to 1 + pc of the counted instruction it comes from.
        self.unknown_regions: dict[int, int] = {}
        #: Bytes at the start of a block's shared memory that belong to the system.
        self.reserved_shared = 0
        self.shared_bytes = program.dynamic_base + launch.shared_bytes

    def assume(self, text: str) -> None:
        """Note something the report must say about this run, once."""
        self.assumptions.setdefault(text)

"""What outlives a batch: memory, counters, findings, traces, budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpglass.machine.counters import Counters
from warpglass.machine.launch import Launch
from warpglass.machine.memory import Arena
from warpglass.machine.runoptions import RunOptions

if TYPE_CHECKING:
    from warpglass.machine.findings import Findings
    from warpglass.machine.program import Program
    from warpglass.machine.trace import Tracer

__all__ = ["RunState"]


class RunState:
    """One run. ``shared_at`` and ``local_at`` are arena offsets of the areas that batches use in turn."""

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
        self.issued = 0
        self.rounds = 0
        self.issue_limit = options.max_warp_instructions
        self.round_limit = options.max_rounds
        self.printed: list[str] = []
        self.printed_bytes = 0
        self.assumptions: dict[str, None] = {}
        #: Growing number that marks every register write, so that caches know when a register changed.
        self.version = 0
        #: Facts of the launch that special instructions need (symbol table, parameter offsets …).
        self.extra: dict[str, Any] = {}
        self.shared_bytes = program.dynamic_base + launch.shared_bytes

    def assume(self, text: str) -> None:
        """Note something the report must say about this run, once."""
        self.assumptions.setdefault(text)

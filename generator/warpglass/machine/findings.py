"""Collects what a reviewer should know: one finding a kind and instruction, its first place, a count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpglass.machine.bits import Ints
from warpglass.machine.result import Finding

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.launch import Dim3
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["Findings"]


@dataclass(slots=True)
class _Held:
    kind: str
    severity: str
    category: str
    message: str
    count: int = 0
    pc: int | None = None
    line: int | None = None
    block: Dim3 | None = None
    thread: Dim3 | None = None
    address: int | None = None
    step: int | None = None
    evidence: str = "executed"
    detail: dict[str, object] = field(default_factory=dict)


class Findings:
    """Findings of a run."""

    def __init__(self) -> None:
        self._held: dict[tuple[Any, ...], _Held] = {}

    def add(
        self,
        m: Machine,
        key: str,
        *,
        kind: str,
        severity: str,
        category: str,
        message: str,
        pc: int | None,
        lane: int | None = None,
        address: int | None = None,
        count: int = 1,
        **detail: object,
    ) -> None:
        """Count ``count`` occurrences; the first of ``(key, pc)`` gives the place.

        ``lane`` is the flat lane index in the batch. ``message`` may hold ``{thread}`` and ``{block}``.
        """
        held = self._held.get((key, pc))
        if held is None:
            held = self._held[key, pc] = _Held(kind, severity, category, message, pc=pc, detail=dict(detail))
            held.address = address
            if pc is not None:
                held.line = m.program.lines[pc]
            if lane is not None:
                held.block = m.block_dim(lane >> 5)
                held.thread = m.thread_dim(lane >> 5, lane & 31)
                recorder = m.tracer.recorders.get(int(m.blocks[(lane >> 5) // m.wpb]))
                if recorder is not None:
                    held.step = recorder.step_of((lane >> 5) % m.wpb)
        held.count += count

    def lanes(self, m: Machine, key: str, lanes: Ints, addresses: Ints | None, pc: int, **more: Any) -> None:
        """Add a finding for flat lane indexes, the lowest being the place of the first."""
        self.add(
            m, key, pc=pc, lane=int(lanes[0]), count=int(lanes.shape[0]),
            address=None if addresses is None else int(addresses[0]), **more,
        )  # fmt: skip

    def static(
        self,
        key: str,
        pc: int,
        line: int,
        count: int,
        *,
        kind: str,
        severity: str,
        category: str,
        message: str,
    ) -> None:
        """A finding read from the code, of an instruction that was executed ``count`` times."""
        held = _Held(kind, severity, category, message, count, pc, line)
        held.evidence = "static"
        self._held.setdefault((key, pc), held)

    def deadlock(self, m: Machine, message: str, pc: int | None) -> None:
        """Nothing can go on."""
        self.add(
            m,
            "deadlock",
            kind="deadlock",
            severity="critical",
            category="synchronisation",
            message=message,
            pc=pc,
        )

    def budget(self, m: Machine, message: str, group: Group, severity: str = "critical") -> None:
        """The instruction budget is used up: by an endless loop, or by a grid with more work than that."""
        pc = min(group.pc, m.size - 1)
        lane = int(group.sel.flat[0]) if group.sel.count else None
        self.add(
            m,
            "budget",
            kind="budget",
            severity=severity,
            category="divergence" if severity == "critical" else "launch",
            message=message,
            pc=pc,
            lane=lane,
        )

    def barrier_twice(self, m: Machine, group: Group, on: Selection, barrier: int) -> None:
        """A warp arrived twice in one generation of a barrier."""
        self.add(
            m, f"barrier-twice-{barrier}", kind="synccheck", severity="critical", category="synchronisation",
            message=f"a warp arrives at barrier {barrier} again before the barrier has opened",
            pc=group.pc, lane=int(on.flat[0]),
        )  # fmt: skip

    def finish(self) -> tuple[Finding, ...]:
        """All findings: the severest first, then by instruction."""
        rank = {"critical": 0, "warning": 1, "info": 2}
        held = sorted(
            self._held.values(),
            key=lambda h: (rank[h.severity], h.pc if h.pc is not None else -1, h.kind, h.message),
        )
        return tuple(
            Finding(
                kind=h.kind, severity=h.severity, category=h.category, message=h.message, evidence=h.evidence,
                count=h.count, pc=h.pc, line=h.line, block=h.block, thread=h.thread, address=h.address,
                step=h.step, detail=h.detail,
            )
            for h in held
        )  # fmt: skip

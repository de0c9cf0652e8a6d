"""What an analysis of one launch looks at, gathered once: hardware, launch, code, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from warpglass import sass
from warpglass.analysis.listing import Frame, Listing, own_frame
from warpglass.analysis.occupancy import Occupancy, Resources, occupancy
from warpglass.analysis.problem import Problem
from warpglass.gpu import Arch, GpuModel
from warpglass.machine.launch import Launch
from warpglass.machine.result import RunResult

__all__ = ["Subject"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One launch. ``listing``/``result`` are the run that numbers come from (SASS where it ran, else PTX).

    ``function``/``sass_listing`` are the machine code as it stands, executed or not; ``facts`` what the
    compiler reported (``registers``, ``static_shared``, ``spill_stores`` …); ``own`` the user's own source
    paths; ``time_ms`` a time with ``time_origin`` saying who took it.
    """

    kernel: str
    arch: Arch
    gpu: GpuModel | None
    launch: Launch
    listing: Listing
    result: RunResult
    function: sass.Function | None = None
    sass_listing: Listing | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    time_ms: float | None = None
    time_origin: str = "--time-ms"
    problem: Problem | None = None
    expected: float | None = None
    half_pointers: bool = False
    #: Whether an argument is a double or points to doubles; True where the types are not known.
    double_data: bool = True

    @property
    def grid_given(self) -> bool:
        """Whether anybody chose the grid; a default grid says nothing about the user's launch."""
        return self.launch.origin.get("grid", "given") != "default"

    @property
    def sms(self) -> int:
        """Multiprocessors; 1 where no GPU is known, which keeps numbers by SM."""
        return self.gpu.sm_count if self.gpu is not None else 1

    @property
    def registers(self) -> int | None:
        """Registers a thread, as compiled."""
        value = self.facts.get("registers")
        if value is None and self.function is not None:
            value = self.function.registers
        return int(value) if value is not None else None

    @property
    def static_shared(self) -> int:
        """Static shared memory of a block, bytes."""
        value = self.facts.get("static_shared")
        if value is None and self.function is not None:
            value = self.function.shared
        return int(value or 0)

    def resources(self) -> Resources | None:
        """What a block asks for, or None where the registers are not known."""
        if self.registers is None:
            return None
        barriers = self.facts.get("barriers")
        return Resources(
            threads=self.launch.threads_per_block,
            registers=self.registers,
            static_shared=self.static_shared,
            dynamic_shared=self.launch.shared_bytes,
            barriers=int(barriers) if barriers is not None else 1,
        )

    def occupancy(self) -> Occupancy | None:
        """Theoretical occupancy, or None where the registers are not known."""
        ask = self.resources()
        return occupancy(self.arch, ask) if ask is not None else None

    def with_registers(self, count: int) -> Subject:
        """The same, as if a thread had ``count`` registers."""
        return replace(self, facts={**self.facts, "registers": count})

    def place(self, pc: int | None) -> Frame | None:
        """The user's own line of an instruction of the run."""
        if pc is None or not 0 <= pc < len(self.listing.rows):
            return None
        return own_frame(self.listing.rows[pc].frames, self.own)

    def line_of(self, pc: int) -> tuple[str, int] | None:
        """(path, line) of an instruction of the run."""
        frame = self.place(pc)
        return (frame.path, frame.line) if frame is not None else None

"""Limits and wishes of one run, apart from the launch itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RunOptions"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How far to run and what to keep.

    ``max_warp_instructions`` is the instruction budget over the whole grid; ``max_rounds`` bounds the
    scheduler's own steps, so that a lone warp in an endless loop ends as soon as a thousand of them; None
    is a fiftieth of the instructions, a million at least (seconds of a lone warp).
    ``trace_blocks`` are linear block indexes whose every step is kept, ``trace_steps`` at most over all of
    them. ``value_budget`` is in bytes of the page (values compress to about a quarter); ``value_warps``
    names warps of a traced block whose register writes are kept, None means as many as fit.
    ``batch_lanes`` is how many lanes run at once, None lets the machine choose. ``memory_limit`` bounds
    materialised bytes. ``racecheck`` watches shared memory. ``only_blocks`` executes these
    linear block indexes alone; ``sample`` allows to execute classes of equal blocks once where the whole
    grid is beyond the budget; ``compare`` watches whether the blocks of the one batch do the same;
    ``keep_buffers`` copies the buffers into the result. ``watch`` is the
    address of a byte of global memory whose last writer is to be found.
    """

    seed: int = 0
    max_warp_instructions: int = 50_000_000
    max_rounds: int | None = None
    trace_blocks: tuple[int, ...] = (0,)
    trace_steps: int = 1_200_000
    value_budget: int = 250_000
    value_warps: tuple[int, ...] | None = None
    batch_lanes: int | None = None
    memory_limit: int = 2 << 30
    racecheck: bool = True
    only_blocks: tuple[int, ...] | None = None
    sample: bool = True
    compare: bool = False
    keep_buffers: bool = True
    watch: int | None = None

    @property
    def round_limit(self) -> int:
        """``max_rounds``, or what follows from the instruction budget."""
        if self.max_rounds is not None:
            return self.max_rounds
        return max(1_000_000, self.max_warp_instructions // 50)

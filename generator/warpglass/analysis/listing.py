"""Static code as the analyses see it: one row an instruction, whatever the instruction set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Frame", "Listing", "ListingBlock", "ListingLoop", "ListingRow", "own_frame"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in high-level source: path as the line table has it, line from 1, function if known."""

    path: str
    line: int
    function: str | None = None


@dataclass(frozen=True, slots=True)
class ListingRow:
    """One static instruction.

    ``line`` is the line in the PTX or SASS text; ``frames`` the inlining chain, innermost first;
    ``space``/``width``/``operation`` are set for memory instructions (width in bytes a lane, all vector
    elements together); ``reads``/``writes`` are register names.
    """

    line: int
    opcode: str
    text: str
    kind: str
    function: str
    frames: tuple[Frame, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    space: str | None = None
    width: int | None = None
    operation: str | None = None
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class ListingBlock:
    """A basic block, instructions ``start`` to ``end`` (exclusive); ``ipdom`` is a block index or None."""

    start: int
    end: int
    successors: tuple[int, ...]
    ipdom: int | None
    loop: int | None


@dataclass(frozen=True, slots=True)
class ListingLoop:
    """A loop: header block, member blocks, nesting depth from 1, blocks that jump back to the header."""

    header: int
    blocks: tuple[int, ...]
    depth: int
    latches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """All instructions a launch can reach; ``rows[pc]`` is static instruction pc of the run.

    ``live`` is the number of live registers after each instruction (None where not computed).
    """

    isa: str
    kernel: str
    rows: tuple[ListingRow, ...]
    blocks: tuple[ListingBlock, ...] = ()
    loops: tuple[ListingLoop, ...] = ()
    live: tuple[int | None, ...] = ()
    register_types: tuple[tuple[str, str], ...] = ()

    def block_of(self) -> list[int | None]:
        """Basic block of each instruction."""
        out: list[int | None] = [None] * len(self.rows)
        for index, block in enumerate(self.blocks):
            for pc in range(block.start, block.end):
                out[pc] = index
        return out


def own_frame(frames: Sequence[Frame], own: frozenset[str]) -> Frame | None:
    """The user's own line: the innermost frame in a file of ``own``; else the innermost frame at all."""
    for frame in frames:
        if frame.path in own:
            return frame
    return frames[0] if frames else None

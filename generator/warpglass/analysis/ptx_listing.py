"""The listing of a PTX kernel and all functions it calls, in the order of the machine's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpglass import ptx
from warpglass.analysis.listing import Frame, Listing, ListingBlock, ListingLoop, ListingRow
from warpglass.flow.ptx import ptx_cfg, ptx_liveness, reads_writes
from warpglass.machine.ptx_program import falls_off
from warpglass.ptx.kinds import access_width, kind_of, operation_of, space_of

__all__ = ["ptx_frames", "ptx_listing"]


def ptx_frames(loc: ptx.Loc | None, files: Mapping[int, str]) -> tuple[Frame, ...]:
    """The inlining chain of a ``.loc``, innermost first. Line 0 means "no line" and is left out."""
    frames: list[Frame] = []
    while loc is not None and len(frames) < 256:
        if loc.line > 0 and loc.file in files:
            frames.append(Frame(files[loc.file], loc.line, loc.function))
        loc = loc.inlined_at
    return tuple(frames)


def ptx_listing(
    module: ptx.Module, kernel: str, functions: Sequence[tuple[str, int, int]], noreturn: frozenset[str]
) -> Listing:
    """Rows for ``functions`` (name, first pc, end pc), which must cover ``0 … n`` without gaps.

    ``noreturn`` names functions that never come back (``__assertfail``).
    """
    by_name = {function.name: function for function in module.functions if function.has_body}
    rows: list[ListingRow] = []
    blocks: list[ListingBlock] = []
    loops: list[ListingLoop] = []
    live: list[int | None] = []
    types: dict[str, str] = {}
    for name, start, end in functions:
        function = by_name[name]
        body = function.instructions[: end - start]
        prefix = "" if name == kernel else f"{name}:"
        for register, kind in function.registers.items():
            types[prefix + register] = kind
        for instruction in body:
            reads, writes = reads_writes(instruction)
            rows.append(
                ListingRow(
                    line=instruction.line,
                    opcode=instruction.opcode,
                    text=instruction.text,
                    kind=kind_of(instruction.opcode),
                    function=name,
                    frames=ptx_frames(instruction.loc, module.files),
                    reads=tuple(prefix + r for r in reads),
                    writes=tuple(prefix + r for r in writes),
                    space=space_of(instruction.opcode),
                    width=access_width(instruction.opcode),
                    operation=operation_of(instruction.opcode),
                    guarded=instruction.guard is not None,
                )
            )
        cfg = ptx_cfg(function, noreturn)
        base, loop_base = len(blocks), len(loops)
        for block in cfg.blocks:
            ipdom, loop = cfg.ipdom[block.index], cfg.loop_of[block.index]
            blocks.append(
                ListingBlock(
                    start + block.start,
                    start + block.end,
                    tuple(base + s for s in block.successors),
                    None if ipdom is None else base + ipdom,
                    None if loop is None else loop_base + loop,
                )
            )
        for one in cfg.loops:
            members = tuple(base + b for b in cfg.loop_blocks(one))
            latches = tuple(base + b for b in one.latches)
            loops.append(ListingLoop(base + one.header, members, one.depth, latches))
        pressure = ptx_liveness(function, cfg)
        live.extend(pressure.live if pressure is not None else [None] * len(body))
        if falls_off(function):
            # The machine returns behind the last instruction; without a row, later ones shift.
            place = start + len(body)
            rows.append(
                ListingRow(line=function.end_line, opcode="ret", text="ret", kind="exit", function=name)
            )
            blocks.append(ListingBlock(place, place + 1, (), None, None))
            live.append(0 if pressure is not None else None)
    return Listing("ptx", kernel, tuple(rows), tuple(blocks), tuple(loops), tuple(live), tuple(types.items()))

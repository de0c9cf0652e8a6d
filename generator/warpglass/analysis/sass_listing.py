"""The listing of SASS functions, in the order of the machine's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpglass import sass
from warpglass.analysis.listing import Frame, Listing, ListingBlock, ListingLoop, ListingRow
from warpglass.flow.sass import sass_cfg, sass_liveness
from warpglass.sass.defuse import defuse, register_name
from warpglass.sass.opcodes import kind

__all__ = ["control_columns", "ptx_line_columns", "sass_listing"]

#: State space and operation of each memory opcode (CUDA Binary Utilities, instruction set reference).
_MEMORY: Mapping[str, tuple[str, str]] = {
    "LDG": ("global", "load"), "STG": ("global", "store"), "LD": ("generic", "load"),
    "ST": ("generic", "store"), "LDL": ("local", "load"), "STL": ("local", "store"),
    "LDS": ("shared", "load"), "STS": ("shared", "store"), "LDSM": ("shared", "load"),
    "STSM": ("shared", "store"), "LDGSTS": ("global", "async"), "ATOM": ("generic", "atomic"),
    "ATOMG": ("global", "atomic"), "ATOMS": ("shared", "atomic"), "RED": ("global", "atomic"),
    "REDG": ("global", "atomic"), "LDC": ("const", "load"), "UBLKCP": ("global", "async"),
}  # fmt: skip
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


def _width(instruction: sass.Instruction) -> int | None:
    if instruction.base in ("LDSM", "STSM"):
        return 16
    if instruction.base not in _MEMORY:
        return None
    return next((_WIDTHS[part] for part in instruction.modifiers if part in _WIDTHS), 4)


def sass_listing(
    module: sass.Module, kernel: str, functions: Sequence[tuple[str, int, int]], links: bool = True
) -> Listing:
    """Rows for ``functions`` (name, first pc, end pc), which must cover ``0 … n`` without gaps.

    Frames are the source places of each instruction, innermost first, where the image has line tables.
    """
    by_name = {function.name: function for function in module.functions}
    rows: list[ListingRow] = []
    blocks: list[ListingBlock] = []
    loops: list[ListingLoop] = []
    live: list[int | None] = []
    types: dict[str, str] = {}
    for name, start, end in functions:
        function = by_name[name]
        sm = _sm(function.arch)
        places = sass.link(function) if links else ()
        for pc, instruction in enumerate(function.instructions[: end - start]):
            item = defuse(instruction, sm)
            reads, writes = (
                tuple(register_name(code) for code in codes) for codes in (item.reads, item.writes)
            )
            for register in (*reads, *writes):
                types.setdefault(register, "pred" if register.lstrip("U").startswith("P") else "b32")
            space, operation = _MEMORY.get(instruction.base, (None, None))
            frames = places[pc].frames if places else ()
            rows.append(
                ListingRow(
                    line=instruction.line,
                    opcode=instruction.opcode,
                    text=instruction.text,
                    kind=kind(instruction.opcode),
                    function=name,
                    frames=tuple(Frame(f.file, f.line, f.function) for f in frames),
                    reads=reads,
                    writes=writes,
                    space=space,
                    width=_width(instruction),
                    operation=operation,
                    guarded=instruction.guard is not None,
                )
            )
        cfg = sass_cfg(function)
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
        known: list[int | None] = [*sass_liveness(function).live]
        live.extend((known + [None] * (end - start))[: end - start])
    return Listing(
        "sass", kernel, tuple(rows), tuple(blocks), tuple(loops), tuple(live), tuple(types.items())
    )


def _sm(arch: str | None) -> int | None:
    digits = "".join(c for c in arch or "" if c.isdigit())
    return int(digits) if digits else None


def control_columns(
    module: sass.Module, functions: Sequence[tuple[str, int, int]]
) -> list[Mapping[str, object] | None]:
    """The control field of every instruction as the report's JSON holds it, None where there is none."""
    by_name = {function.name: function for function in module.functions}
    out: list[Mapping[str, object] | None] = []
    for name, start, end in functions:
        for instruction in by_name[name].instructions[: end - start]:
            c = instruction.control
            out.append(
                None
                if c is None
                else {
                    "stall": c.stall,
                    "yield_bit": c.yield_bit,
                    "write_barrier": c.write_barrier,
                    "read_barrier": c.read_barrier,
                    "wait_mask": c.wait_mask,
                    "reuse": c.reuse,
                }
            )
    return out


def ptx_line_columns(
    module: sass.Module, functions: Sequence[tuple[str, int, int]]
) -> list[tuple[int, ...] | None] | None:
    """Lines of the PTX that each instruction was assembled from; None where the image does not tell."""
    by_name = {function.name: function for function in module.functions}
    if not any(by_name[name].ptx_lines for name, _, _ in functions):
        return None
    out: list[tuple[int, ...] | None] = []
    for name, start, end in functions:
        out += [place.ptx_lines or None for place in sass.link(by_name[name])[: end - start]]
    return out

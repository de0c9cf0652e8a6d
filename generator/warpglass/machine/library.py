"""Calls of functions without a body: printf, assert, the device heap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine.printf import format_text, read_string
from warpglass.machine.program import Op
from warpglass.machine.ptx_control import StopOp
from warpglass.machine.ptx_operands import Unsupported, container_of_type
from warpglass.machine.selection import Selection
from warpglass.ptx.model import Instruction, Operand, Symbol

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.ptx_lowering import Lowering
    from warpglass.machine.scheduler import Machine

__all__ = ["HEAP_BYTES", "ROUTINES", "SIZES", "LibraryOp", "library_call"]

#: Text kept of printf, in characters.
PRINT_LIMIT = 1 << 20
#: Bytes of the device heap, the default of cudaLimitMallocHeapSize.
HEAP_BYTES = 8 << 20

Routine = Callable[["Machine", "LibraryOp", Selection], None]


class LibraryOp(Op):
    """A call of ``routine``; ``params``: (frame offset or None, register or None, bytes) by argument."""

    __slots__ = ("frame_base", "name", "params", "result", "routine")

    placed: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, pc: int, name: str, routine: Routine, params: tuple[tuple[int | None, int | None, int], ...],
        result: int | None, frame_base: int,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.name = name
        self.routine = routine
        self.params = params
        self.result = result
        self.frame_base = frame_base

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Call it for the lanes on."""
        self.routine(m, self, on)
        return False

    def argument(self, m: Machine, on: Selection, number: int) -> list[int]:
        """Values of one argument, by lane on."""
        offset, register, size = self.params[number]
        if offset is None:
            assert register is not None
            return [int(v) for v in np.broadcast_to(m.get(register, on), (on.count,))]
        lanes = on.flat
        at = m.local_at + lanes * m.local_stride + m.get(self.frame_base, on).astype(np.int64) + offset
        return [int(v) for v in m.arena.views[size][at // size]]

    def give(self, m: Machine, on: Selection, values: Any, size: int) -> None:
        """Store the return value, if the caller has a place for it."""
        if self.result is None:
            return
        at = m.local_at + on.flat * m.local_stride + m.get(self.frame_base, on).astype(np.int64) + self.result
        m.arena.views[size][at // size] = values


def library_call(
    low: Lowering,
    i: Instruction,
    pc: int,
    name: str,
    returns: tuple[Operand, ...],
    params: tuple[Operand, ...],
) -> Op:
    """A call of function ``name``, which the module does not define."""
    routine = ROUTINES.get(name)
    if routine is None:
        return StopOp(pc, f"stopped at line {i.line}: {name} has no body in this module")
    sizes = SIZES[name]
    if len(sizes) != len(params):
        raise Unsupported(f"{name} with {len(params)} arguments")
    places: list[tuple[int | None, int | None, int]] = []
    for operand, size in zip(params, sizes, strict=True):
        if isinstance(operand, Symbol) and operand.name in low.frame.offsets:
            places.append((low.frame.offsets[operand.name] + operand.offset, None, size))
        else:
            register, _, _ = low.scope.source(operand, container_of_type(f"b{8 * size}"))
            if register < 0:
                raise Unsupported("a constant as call argument")
            places.append((None, register, size))
    result = None
    if returns and isinstance(returns[0], Symbol):
        result = low.frame.offsets.get(returns[0].name)
    return LibraryOp(pc, name, routine, tuple(places), result, low.frame_base)


def _vprintf(m: Machine, op: LibraryOp, on: Selection) -> None:
    formats = op.argument(m, on, 0)
    places = op.argument(m, on, 1)
    state = m.run_state
    texts: dict[int, str] = {}
    for lane, where, data in zip(on.flat.tolist(), formats, places, strict=True):
        if state.printed_bytes > PRINT_LIMIT:
            state.assume(f"printf output beyond {PRINT_LIMIT >> 20} MiB is not kept")
            break
        if where not in texts:
            texts[where] = read_string(m, lane, where)
        text = format_text(m, lane, texts[where], data)
        state.printed_bytes += len(text) + 1
        _append(state.printed, text)
    op.give(m, on, np.uint32(1), 4)


def _append(printed: list[str], text: str) -> None:
    """Keep output as lines: what ends without a line break is continued by the next."""
    if printed and not printed[-1].endswith("\n"):
        text = printed.pop() + text
    printed.extend(text.splitlines(keepends=True))


def _assertfail(m: Machine, op: LibraryOp, on: Selection) -> None:
    first = int(on.flat[0])
    message, file, line, function = (op.argument(m, on, n)[0] for n in range(4))
    block, thread = m.block_dim(first >> 5), m.thread_dim(first >> 5, first & 31)
    where = f"{read_string(m, first, file)}:{line}: {read_string(m, first, function)}"
    text = (
        f"{where}: block: [{block[0]},{block[1]},{block[2]}], thread: [{thread[0]},{thread[1]},{thread[2]}] "
        f"Assertion `{read_string(m, first, message)}` failed."
    )
    for lane in on.flat.tolist():
        block, thread = m.block_dim(lane >> 5), m.thread_dim(lane >> 5, lane & 31)
        place = f"block: [{block[0]},{block[1]},{block[2]}], thread: [{thread[0]},{thread[1]},{thread[2]}]"
        _append(
            m.run_state.printed, f"{where}: {place} Assertion `{read_string(m, lane, message)}` failed.\n"
        )
        if len(m.run_state.printed) > 4096:
            break
    m.findings.lanes(
        m, "assert", on.flat, None, op.pc, kind="assert", severity="critical", category="memory", message=text
    )
    m.stop("trap", f"stopped at line {m.program.lines[op.pc]}: {text}", op.pc)


def _malloc(m: Machine, op: LibraryOp, on: Selection) -> None:
    heap = m.run_state.extra.get("heap")
    out = []
    for size in op.argument(m, on, 0):
        place = 0
        if heap is not None and size:
            start = (heap["next"] + 15) // 16 * 16
            if start + size <= heap["end"]:
                heap["next"] = start + size
                place = start + m.arena.layout.global_base
        out.append(place)
    op.give(m, on, np.array(out, dtype=np.uint64), 8)


def _free(m: Machine, op: LibraryOp, on: Selection) -> None:
    m.run_state.assume("the device heap never reuses memory that was freed")


#: What each function does, and the bytes of its arguments.
ROUTINES: Mapping[str, Routine] = {
    "vprintf": _vprintf, "__assertfail": _assertfail, "malloc": _malloc, "free": _free,
}  # fmt: skip
SIZES: Mapping[str, tuple[int, ...]] = {
    "vprintf": (8, 8), "__assertfail": (8, 8, 4, 8, 8), "malloc": (8,), "free": (8,),
}  # fmt: skip

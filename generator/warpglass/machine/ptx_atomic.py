"""Executable ``atom`` and ``red``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine import lsu
from warpglass.machine.atomics import (
    OPERATIONS,
    Operation,
    apply_atomic,
    bfloat_add,
    bfloat_order,
    element_dtype,
)  # fmt: skip
from warpglass.machine.ptx_memory import MemoryOp
from warpglass.machine.ptx_operands import Fix, Unsupported
from warpglass.machine.selection import Selection
from warpglass.ptx.model import Instruction, Operand, Sink, Vector

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.ptx_lowering import Lowering
    from warpglass.machine.scheduler import Machine

__all__ = ["AtomicOp", "build_atomic"]


class AtomicOp(MemoryOp):
    """One update a lane and element. ``targets`` get the old values; ``b``, ``c`` are operand registers."""

    __slots__ = (
        "b",
        "b_fixes",
        "c",
        "c_fixes",
        "dtype",
        "fixes",
        "lanes_each",
        "name",
        "operation",
        "targets",
    )

    placed: ClassVar[tuple[str, ...]] = ("base", "b", "c")

    def __init__(
        self, pc: int, space: int, base: int, offset: int, size: int, name: str, kind: str,
        targets: tuple[int | None, ...], fixes: tuple[Fix | None, ...],
        b: tuple[int, ...], b_fixes: tuple[Fix | None, ...],
        c: tuple[int, ...], c_fixes: tuple[Fix | None, ...],
    ) -> None:  # fmt: skip
        super().__init__(pc, space, base, offset, size, len(b))
        self.name = name
        self.targets = targets
        self.fixes = fixes
        self.b, self.b_fixes = b, b_fixes
        self.c, self.c_fixes = c, c_fixes
        self.dests = tuple(t for t in targets if t is not None)
        self.operation: Operation | None = None
        dtype = element_dtype(kind)
        if dtype is None:
            table = {"add": bfloat_add, "min": bfloat_order(np.fmin), "max": bfloat_order(np.fmax)}
            self.operation = table[name]
            dtype = np.dtype(np.uint16)
        self.dtype = dtype
        #: Packed types are updated part by part: f16x2 are two f16.
        self.lanes_each = size // dtype.itemsize

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Update, lane after lane."""
        for access in self.parts(m, on):
            c = m.counters
            before = c.bytes_distinct[self.pc]
            okay = self.checked(m, g, access, not self.targets)
            c.atomic_addresses[self.pc] += (c.bytes_distinct[self.pc] - before) // (self.size * self.count)
            dense = access.index.ndim == 2
            index = access.index.reshape(-1) + self.offset
            good = None if okay is None else okay.reshape(-1)
            news: list[Any] = []
            for element in range(self.count):
                b = self._operand(m, access.on, dense, self.b, self.b_fixes, element)
                third = self._operand(m, access.on, dense, self.c, self.c_fixes, element) if self.c else b
                old = self._update(m, index + element * self.size, b, third, good)
                if self.name != "cas" or bool((old == b.reshape(-1)).any()):
                    m.run_state.mutations += 1
                news.append(
                    OPERATIONS[self.name](old, b.reshape(-1), third.reshape(-1))
                    if g.traced and self.operation is None and self.lanes_each == 1 and self.dtype.kind == "u"
                    else None
                )
                target = self.targets[element] if self.targets else None
                if target is not None:
                    fix = self.fixes[element]
                    value = old if fix is None else fix(old)
                    if access.on.count == m.live and dense and access.on.nrows == m.W:
                        m.put_whole(target, value.reshape(m.shape))
                    else:
                        m.put_flat(target, value, access.on)
            if g.traced:
                kept = None if any(n is None for n in news) else [n.reshape(access.index.shape) for n in news]
                lsu.trace_access(m, g, access, self.offset, self.size * self.count, 2, kept)
            m.races.atomic(m, self.pc, access, self.offset, self.size * self.count, okay)
        return False

    @staticmethod
    def _operand(
        m: Machine,
        on: Selection,
        dense: bool,
        registers: tuple[int, ...],
        fixes: tuple[Fix | None, ...],
        element: int,
    ) -> Any:
        value = lsu.register_values(m, registers[element], on, dense).reshape(-1)
        fix = fixes[element]
        return value if fix is None else fix(value)

    def _update(self, m: Machine, index: Any, b: Any, c: Any, good: Any) -> Any:
        unsigned = np.dtype(f"u{self.size}")
        b, c = b.astype(unsigned, copy=False), c.astype(unsigned, copy=False)
        old = np.zeros(index.shape, dtype=unsigned)
        if good is not None:
            index, b, c = index[good], b[good], c[good]
        got = self._apply(m, index, b, c)
        if good is None:
            return got
        old[good] = got
        return old

    def _apply(self, m: Machine, index: Any, b: Any, c: Any) -> Any:
        width = self.dtype.itemsize
        view = m.arena.views[width].view(self.dtype)
        units = index // width
        if self.lanes_each == 1:
            out = apply_atomic(view, units, self.name, b.view(self.dtype), c.view(self.dtype), self.operation)
            return out.view(f"u{self.size}")
        parts = np.empty((index.shape[0], self.lanes_each), dtype=self.dtype)
        b_parts = np.ascontiguousarray(b).view(self.dtype).reshape(-1, self.lanes_each)
        for part in range(self.lanes_each):
            parts[:, part] = apply_atomic(
                view, units + part, self.name, b_parts[:, part], b_parts[:, part], self.operation
            )
        return parts.view(f"u{self.size}").reshape(-1)


def build_atomic(low: Lowering, i: Instruction, pc: int, space: int, kind: str, size: int) -> AtomicOp:
    """``atom``/``red`` of elements of ``size`` bytes."""
    name = next((p for p in i.parts[1:] if p in OPERATIONS), None)
    if name is None or (name in ("inc", "dec", "cas", "exch") and kind[0] not in "ub"):
        raise Unsupported("")
    operands = list(i.operands)
    dest: Operand = operands.pop(0) if i.base == "atom" else Sink()
    where = operands.pop(0)
    space, base, offset = low.address(where, space)
    if size == 16:
        raise Unsupported("128-bit atomics")
    b, b_fixes, _ = low.stored(operands[0], kind)
    c: tuple[int | None, ...] = ()
    c_fixes: tuple[Fix | None, ...] = ()
    if len(operands) > 1 and name == "cas":
        c, c_fixes, _ = low.stored(operands[1], kind)
    targets: tuple[int | None, ...] = ()
    fixes: tuple[Fix | None, ...] = ()
    if not isinstance(dest, Sink):
        targets, fixes, _ = low.loaded(dest, kind)
    if any(r is None for r in (*b, *c)):
        raise Unsupported("a sink as operand")
    elements = operands[0].elements if isinstance(operands[0], Vector) else (operands[0],)
    if targets and len(targets) != len(elements):
        raise Unsupported("")
    return AtomicOp(
        pc, space, base, offset, size, name, kind, targets, fixes,
        tuple(r for r in b if r is not None), b_fixes, tuple(r for r in c if r is not None), c_fixes,
    )  # fmt: skip

"""``wmma.load`` and ``wmma.store``: fragments between memory and a warp's registers.

Which lane holds which element is the machine's own choice, kept in one table for load, store and mma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine import access as rules
from warpglass.machine import lsu
from warpglass.machine.bits import Ints
from warpglass.machine.numeric.fragments import wmma_fragment
from warpglass.machine.program import Op
from warpglass.machine.ptx_memory import generic_parts
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.selection import Selection
from warpglass.ptx.model import Instruction, Vector

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.ptx_lowering import Lowering
    from warpglass.machine.scheduler import Machine

__all__ = ["FragmentOp", "build_wmma"]

_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4, "f64": 8, "s8": 1, "u8": 1}


class FragmentOp(Op):
    """One fragment. ``offsets(stride)`` of elements are in elements from the base address."""

    __slots__ = (
        "base",
        "columns",
        "load",
        "offset",
        "registers",
        "row_major",
        "rows",
        "size",
        "space",
        "stride",
    )

    placed: ClassVar[tuple[str, ...]] = ("base", "stride", "registers")

    def __init__(
        self, pc: int, space: int, base: int, offset: int, stride: int, registers: tuple[int, ...], size: int,
        rows: Any, columns: Any, row_major: bool, load: bool,
    ) -> None:  # fmt: skip
        super().__init__(pc)
        self.space = space
        self.base = base
        self.offset = offset
        self.stride = stride
        self.registers = registers
        self.size = size
        self.rows = rows
        self.columns = columns
        self.row_major = row_major
        self.load = load
        self.dests = registers if load else ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Move the fragment; all lanes of a warp take part."""
        on = on.live_rows()
        if self.space == lsu.GENERIC:
            access = generic_parts(m, self.base, self.offset, on)[0]
        else:
            access = lsu.resolve(m, self.base, on, self.space)
        stride = np.broadcast_to(m.rows(self.stride, on), (on.nrows, 32)).astype(np.int64)[:, :, None]
        major, minor = (self.rows, self.columns) if self.row_major else (self.columns, self.rows)
        index = np.zeros((on.nrows, 32), dtype=np.int64)
        own = np.zeros((on.nrows, 32), dtype=np.int64)
        mine = np.searchsorted(on.rows, on.flat >> 5)
        index[mine, on.flat & 31] = access.index.reshape(-1)
        own[mine, on.flat & 31] = access.own.reshape(-1)
        steps = (major * stride + minor) * self.size + self.offset
        places = index[:, :, None] + steps
        if not self._allowed(m, on, access, own[:, :, None] + steps, places):
            return False
        self._count(m, access, own[:, :, None] + steps)
        if self.load:
            self._load(m, on, places)
        else:
            self._store(m, on, places)
            if access.space == lsu.SHARED:
                for start in np.unique(places).tolist():
                    m.races.fill(m, start, self.size)
        return False

    def _allowed(self, m: Machine, on: Selection, access: lsu.Access, own: Ints, places: Ints) -> bool:
        low, high = int(own.min()), int(own.max()) + self.size
        if access.space == lsu.GLOBAL:
            fine = bool(m.arena.valid(places, self.size).all())
            if fine:
                m.arena.touch(places.reshape(-1), self.size)
        else:
            fine = low >= 0 and high <= (m.shared_bytes if access.space == lsu.SHARED else m.local_stride)
        if not fine or (places & (self.size - 1)).any():
            m.findings.add(
                m, "wmma", kind="memcheck", severity="critical", category="memory", pc=self.pc,
                lane=int(on.flat[0]), address=low + m.arena.layout.global_base,
                message="a wmma fragment lies outside its memory or is misaligned",
            )  # fmt: skip
            return False
        return True

    def _count(self, m: Machine, access: lsu.Access, own: Ints) -> None:
        c, pc = m.counters, self.pc
        rows = own.shape[0]
        flat = own.reshape(rows, -1)
        volume = flat.shape[1] * self.size * rows
        distinct = rules.distinct(flat, None) * self.size
        if m.alike is not None:
            m.alike.refuse()
        c.requests[pc] += rows
        c.bytes[pc] += volume
        c.bytes_distinct[pc] += int(distinct.sum())
        if access.space == lsu.SHARED:
            per = max(4 // self.size, 1)
            for word in range(0, own.shape[2], per):
                counts = rules.shared_counts(own[:, :, word], max(self.size, 4), None)
                c.wavefronts[pc] += int(counts.wavefronts.sum())
                c.wavefronts_ideal[pc] += int(counts.ideal.sum())
        else:
            c.sectors[pc] += int(rules.distinct(flat >> 5, None).sum())
            c.sectors_ideal[pc] += int(rules.ideal_sectors(distinct).sum())

    def _load(self, m: Machine, on: Selection, places: Ints) -> None:
        values = m.arena.views[self.size][places // self.size]
        per = max(4 // self.size, 1)
        for number, register in enumerate(self.registers):
            parts = values[:, :, number * per : (number + 1) * per]
            packed = np.ascontiguousarray(parts).view(np.uint64 if self.size == 8 else np.uint32)
            m.put_rows(register, packed.reshape(on.nrows, 32), on)

    def _store(self, m: Machine, on: Selection, places: Ints) -> None:
        view = m.arena.views[self.size]
        per = max(4 // self.size, 1)
        for number, register in enumerate(self.registers):
            value = np.ascontiguousarray(np.broadcast_to(m.rows(register, on), (on.nrows, 32)))
            parts = value.view(view.dtype).reshape(on.nrows, 32, per)
            view[places[:, :, number * per : (number + 1) * per] // self.size] = parts


def build_wmma(low: Lowering, i: Instruction, pc: int, space: int) -> Op:
    """``wmma.load.{a,b,c}`` and ``wmma.store.d``."""
    load, matrix = i.parts[1] == "load", i.parts[2]
    shape = next((p for p in i.parts if p[:1] == "m" and p[1:2].isdigit()), "")
    kind = i.parts[-1]
    size = _BYTES.get(kind)
    if size is None:
        raise Unsupported("elements below a byte")
    operands = list(i.operands)
    data, where = (operands[0], operands[1]) if load else (operands[1], operands[0])
    elements = data.elements if isinstance(data, Vector) else (data,)
    registers = tuple(low.scope.register(e) for e in elements)
    try:
        rows, columns = wmma_fragment("c" if matrix == "d" else matrix, shape, kind)
    except (KeyError, ValueError) as error:
        raise Unsupported("") from error
    row_major = "row" in i.parts
    if len(operands) > 2:
        stride, _, _ = low.scope.source(operands[2], "b32", "u32")
    else:
        major, minor = (rows, columns) if row_major else (columns, rows)
        del major
        stride = low.constant(int(minor.max()) + 1, "b32")
    space, base, offset = low.address(where, space)
    if rows.shape[1] != len(registers) * max(4 // size, 1):
        raise Unsupported("another number of registers than the fragment has")
    return FragmentOp(pc, space, base, offset, stride, registers, size, rows, columns, row_major, load)

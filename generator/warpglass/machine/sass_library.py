"""Calls of the runtime library from machine code: printf, assert, the device heap.

The image names these functions but does not hold them. Each gets an address where no code is; a jump there
runs the routine with the arguments of the calling convention (from R4 on, wide ones in even pairs; results
likewise) and comes back to the address in R20.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warpglass.machine.library import ROUTINES, SIZES, LibraryOp
from warpglass.machine.sass_registers import SassRegisters
from warpglass.sass.operands import Register

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["LIBRARY", "RETURN_REGISTER", "SassLibraryOp", "library_ops"]

#: Address of each function of the library: beyond all code, below 2^31.
LIBRARY: Mapping[str, int] = {name: 0x7F000000 + 16 * place for place, name in enumerate(sorted(ROUTINES))}
#: First register of arguments and results, and the one with the return address (its low half).
FIRST_REGISTER = 4
RETURN_REGISTER = 20


class SassLibraryOp(LibraryOp):
    """A library function whose arguments and result are in registers: (low, high or None) each."""

    __slots__ = ("registers", "results")

    def __init__(self, pc: int, name: str, r: SassRegisters) -> None:
        sizes = SIZES[name]
        super().__init__(pc, name, ROUTINES[name], tuple((None, None, size) for size in sizes), None, 0)
        at = FIRST_REGISTER
        registers: list[tuple[int, int | None]] = []
        for size in sizes:
            if size == 8:
                at += at & 1
                registers.append((r.register(Register(at)), r.register(Register(at + 1))))
                at += 2
            else:
                registers.append((r.register(Register(at)), None))
                at += 1
        self.registers = tuple(registers)
        self.results = (r.register(Register(FIRST_REGISTER)), r.register(Register(FIRST_REGISTER + 1)))

    def argument(self, m: Machine, on: Selection, number: int) -> list[int]:
        """Values of one argument, by lane on."""
        low, high = self.registers[number]
        values = np.broadcast_to(m.get(low, on), (on.count,)).astype(np.uint64)
        if high is not None:
            values = values | (m.get(high, on).astype(np.uint64) << np.uint64(32))
        return [int(v) for v in values]

    def give(self, m: Machine, on: Selection, values: Any, size: int) -> None:
        """Put the return value where the caller looks for it."""
        wide = np.broadcast_to(np.asarray(values).astype(np.uint64), (on.count,))
        m.put_flat(self.results[0], wide.astype(np.uint32), on)
        if size == 8:
            m.put_flat(self.results[1], (wide >> np.uint64(32)).astype(np.uint32), on)


def library_ops(pc: int, r: SassRegisters) -> Mapping[int, SassLibraryOp]:
    """The library as the call at ``pc`` sees it, by address."""
    return {address: SassLibraryOp(pc, name, r) for name, address in LIBRARY.items()}

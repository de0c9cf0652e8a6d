"""What the machine runs: a list of executable instructions over numbered registers.

Both instruction sets lower to this. An :class:`Op` does one instruction for all lanes of a selection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection
    from warpglass.machine.unknown import Use

__all__ = ["DTYPES", "Array", "FunctionRange", "Op", "Program"]

Array = npt.NDArray[Any]

#: Numpy dtype of each register container.
DTYPES: Mapping[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_), "b16": np.dtype(np.uint16), "b32": np.dtype(np.uint32),
    "b64": np.dtype(np.uint64),
}  # fmt: skip


class Op:
    """One executable instruction.

    ``guard`` is the register of the guard predicate or -1; ``dests`` the registers it writes, for the trace.
    """

    __slots__ = ("dests", "guard", "negated", "pc")

    #: Whether :meth:`run` may be left out when no lane is on.
    skippable: ClassVar[bool] = True
    #: Attributes with register numbers (or tuples of them) that may be placeholders while lowering.
    placed: ClassVar[tuple[str, ...]] = ()

    def __init__(self, pc: int) -> None:
        self.pc = pc
        self.guard = -1
        self.negated = False
        self.dests: tuple[int, ...] = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Do it for the lanes ``on`` of ``g``.

        False: the group goes on at the next instruction. True: the groups that go on were placed.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FunctionRange:
    """Instructions ``[start, end)`` of a function, and its registers ``[first, last)``."""

    name: str
    start: int
    end: int
    first: int
    last: int
    recursive: bool = False
    local_bytes: int = 0


@dataclass(slots=True)
class Program:
    """A kernel and all it calls, lowered. Columns have one entry an instruction.

    ``specials`` maps registers that hold read-only values of a lane to their PTX name; ``constants`` maps
    registers to arrays of shape (1,). ``join_places`` says where lanes of a split warp may meet.
    """

    isa: str
    name: str
    ops: list[Op]
    lines: tuple[int, ...]
    texts: tuple[str, ...]
    opcodes: tuple[str, ...]
    register_names: tuple[str, ...]
    register_types: tuple[str, ...]
    containers: tuple[str, ...]
    specials: Mapping[int, str]
    constants: Mapping[int, Array]
    join_places: tuple[bool, ...]
    functions: tuple[FunctionRange, ...]
    static_shared: int
    dynamic_base: int
    local_bytes: int
    shared_symbols: Mapping[str, int] = field(default_factory=dict)
    #: Registers of each instruction, where some are counted without being executed; else empty.
    uses: tuple[Use, ...] = ()

    @property
    def size(self) -> int:
        """Number of instructions."""
        return len(self.ops)

"""Return places and saved registers of calls, by depth and lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints
from warpglass.machine.regions import MemoryLimitError

if TYPE_CHECKING:
    from warpglass.machine.state import State

__all__ = ["CallStacks"]


class CallStacks:
    """Stacks of a batch: ``places[d]`` holds for each lane the call it entered depth ``d`` by."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.places: list[npt.NDArray[np.int32]] = []
        self.saved: list[dict[int, npt.NDArray[Any]]] = []
        self.bytes = 0

    def _level(self, depth: int) -> None:
        while len(self.places) <= depth:
            self.places.append(np.zeros(self.state.W * 32, dtype=np.int32))
            self.saved.append({})

    def push(self, pc: int, lanes: Ints, depth: npt.NDArray[Any]) -> None:
        """``lanes`` enter their ``depth`` from the call at ``pc``."""
        self._level(int(depth.max()))
        for level in np.unique(depth).tolist():
            self.places[level][lanes[depth == level]] = pc

    def place(self, lanes: Ints, depth: npt.NDArray[Any]) -> Ints:
        """The calls by which ``lanes`` entered their ``depth``."""
        out = np.zeros(lanes.shape, dtype=np.int64)
        for level in np.unique(depth).tolist():
            mine = depth == level
            out[mine] = self.places[level][lanes[mine]]
        return out

    def save(self, registers: tuple[int, ...], lanes: Ints, depth: npt.NDArray[Any]) -> None:
        """Keep ``registers`` of ``lanes`` until they come back from ``depth``."""
        self._level(int(depth.max()))
        for level in np.unique(depth).tolist():
            mine = lanes[depth == level]
            held = self.saved[level]
            for register in registers:
                array = self.state.R[register].reshape(-1)
                if register not in held:
                    held[register] = np.zeros(array.shape, dtype=array.dtype)
                    self.bytes += array.nbytes
                    if self.bytes > self.state.run_state.options.memory_limit:
                        raise MemoryLimitError("registers of recursive calls take more memory than allowed")
                held[register][mine] = array[mine]

    def restore(self, registers: tuple[int, ...], lanes: Ints, depth: npt.NDArray[Any]) -> None:
        """Bring back what :meth:`save` kept."""
        for level in np.unique(depth).tolist():
            mine = lanes[depth == level]
            for register in registers:
                self.state.own(register).reshape(-1)[mine] = self.saved[level][register][mine]

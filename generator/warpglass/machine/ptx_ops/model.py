"""What an arithmetic PTX instruction is to the machine: operands, container types and a numpy function.

Containers are the unsigned view in which every register lives:

=========  ============  ==========================================================
container  numpy dtype   holds
=========  ============  ==========================================================
``pred``   bool          predicates, the carry flag
``b16``    uint16        8-bit and 16-bit integers, f16, bf16, two packed fp8
``b32``    uint32        32-bit integers, f32, tf32, f16x2, bf16x2
``b64``    uint64        64-bit integers, f64, f32x2
``b128``   uint64[...,2] only ``mov.b128`` (low half first)
=========  ============  ==========================================================

Rules for whoever executes them (the machine core):

- Run ``fn`` under ``np.errstate(all="ignore")``; functions never write into their inputs, and may return
  an input itself (copy on write-back).
- A source register wider than its container is truncated; a narrower one is zero-extended.
- An :class:`~warpglass.ptx.model.Immediate` becomes a container scalar by ``source_formats`` (``f32``:
  IEEE single pattern, ``s8``…``u64``: two's complement).
- ``Negated`` among the sources is the complement of a predicate.
- A result narrower than its register is sign-extended where ``dest_formats`` starts with ``s``, else
  zero-extended; a ``Sink`` drops it.
- ``Register("%cc")`` is the carry flag, a ``pred``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.ptx.model import Operand

__all__ = ["CARRY", "Array", "LaneFunction", "LaneOp", "WarpFunction", "WarpOp"]

Array = npt.NDArray[Any]
LaneFunction = Callable[..., tuple[Array, ...]]
WarpFunction = Callable[..., tuple[Array, ...]]

#: Name of the pseudo register that holds the carry flag.
CARRY = "%cc"

#: Numpy dtype of each container.
DTYPES = {"pred": np.bool_, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64, "b128": np.uint64}


@dataclass(frozen=True, slots=True)
class LaneOp:
    """One instruction that works lane by lane.

    ``fn(*sources) -> (dest, ...)`` is elementwise on containers of any broadcastable shape.
    ``dest_formats`` and ``source_formats`` give the meaning inside the container (``s32``, ``f16x2``).
    """

    dests: tuple[Operand, ...]
    dest_types: tuple[str, ...]
    sources: tuple[Operand, ...]
    source_types: tuple[str, ...]
    fn: LaneFunction
    dest_formats: tuple[str, ...] = ()
    source_formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WarpOp:
    """One instruction in which lanes of a warp see each other.

    ``fn(mask, *sources) -> (dest, ...)``: ``mask`` is bool ``[W, 32]`` (the lanes that execute it together),
    sources are containers ``[W, 32]`` (scalars where the operand is an immediate), results ``[W, 32]``.
    ``membermask`` is the index in ``sources`` of the lane mask of a ``.sync`` form, or None.
    """

    dests: tuple[Operand, ...]
    dest_types: tuple[str, ...]
    sources: tuple[Operand, ...]
    source_types: tuple[str, ...]
    fn: WarpFunction
    dest_formats: tuple[str, ...] = ()
    source_formats: tuple[str, ...] = ()
    membermask: int | None = None

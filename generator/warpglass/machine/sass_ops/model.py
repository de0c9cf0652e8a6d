"""What a computing SASS instruction is to the machine: registers, container types and a numpy function.

The same contract as :mod:`warpglass.machine.ptx_ops.model`, made simpler by what machine registers are:

- Every source and destination is one 32-bit register (``b32``, uint32) or one predicate (``pred``, bool).
  A register pair is two operands, low half first; the function joins and splits.
- Operands are bare: signs, bars, tildes, halves and ``!`` are part of ``fn``. RZ and PT never appear: as
  sources they are an :class:`~warpglass.sass.operands.Immediate` (0 or 1), as destinations they are left
  out. ``PR`` is spelled out as predicates.
- A source is a ``Register``, ``UniformRegister``, ``Predicate``, ``UniformPredicate``, ``Immediate`` (of
  kind ``int``, the pattern of its container), four bytes of a ``Constant``, or a ``Label`` with its part.
- A uniform register may be given as ``[W, 1]`` or ``[W, 32]``; functions broadcast. The result of an
  operation on uniform operands alone has their shape.
- ``fn`` runs under ``np.errstate(all="ignore")``, never writes into its inputs and may return one of them.
- All sources are read before any destination is written (a destination may be a source as well).
"""

from __future__ import annotations

from dataclasses import dataclass

from warpglass.machine.ptx_ops.model import LaneFunction, WarpFunction
from warpglass.sass.operands import (
    Constant,
    Immediate,
    Label,
    Predicate,
    Register,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

__all__ = ["Dest", "LaneOp", "Source", "WarpOp"]

Dest = Register | UniformRegister | Predicate | UniformPredicate
Source = Dest | Constant | Immediate | Label


@dataclass(frozen=True, slots=True)
class LaneOp:
    """One instruction that works lane by lane (or once a warp, where all its operands are uniform).

    ``fn(*sources) -> (dest, ...)`` is elementwise on containers of any broadcastable shape.
    """

    dests: tuple[Dest, ...]
    dest_types: tuple[str, ...]
    sources: tuple[Source, ...]
    source_types: tuple[str, ...]
    fn: LaneFunction


@dataclass(frozen=True, slots=True)
class WarpOp:
    """One instruction in which the lanes of a warp see each other.

    ``fn(mask, *sources) -> (dest, ...)``: ``mask`` is bool ``[W, 32]``, the lanes that execute it together;
    sources are ``[W, 32]``, ``[W, 1]`` or scalars; results broadcast to ``[W, 32]``. Where the destination is
    uniform, all lanes of a warp hold the same result. None of them waits for other lanes: the compiler puts
    WARPSYNC in front where the source language asks for it.
    """

    dests: tuple[Dest, ...]
    dest_types: tuple[str, ...]
    sources: tuple[Source, ...]
    source_types: tuple[str, ...]
    fn: WarpFunction

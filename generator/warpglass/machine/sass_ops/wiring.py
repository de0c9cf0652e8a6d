"""From operands and a function on values to an operation on containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.model import LaneFunction
from warpglass.machine.sass_ops.model import Dest, LaneOp, WarpOp
from warpglass.machine.sass_ops.operands import Arg, is_null
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Operand, Predicate, Register, UniformPredicate, UniformRegister

__all__ = ["Builder", "Lowered", "Out", "Table", "choose", "lane", "out32", "out64", "outp", "warp"]

Lowered = LaneOp | WarpOp
#: Meaning of an instruction; None where the form is not known. May raise KeyError, IndexError, ValueError.
Builder = Callable[[Instruction], Lowered | None]
#: By the opcode's first part; uniform twins are found without their U.
Table = dict[str, Builder]

_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Out:
    """A result: the operand and its kind, ``b32``, ``b64`` (a pair) or ``pred``."""

    operand: Operand
    kind: str


def out32(operand: Operand) -> Out:
    """A 32-bit result."""
    return Out(operand, "b32")


def out64(operand: Operand) -> Out:
    """A result in a register pair."""
    return Out(operand, "b64")


def outp(operand: Operand) -> Out:
    """A predicate."""
    return Out(operand, "pred")


def _dests(out: Out) -> tuple[Dest, ...]:
    operand = out.operand
    if isinstance(operand, Predicate | UniformPredicate):
        assert out.kind == "pred"
        return (replace(operand, negated=False),)
    if not isinstance(operand, Register | UniformRegister) or operand.index is None or out.kind == "pred":
        raise ValueError(str(operand))
    make = Register if isinstance(operand, Register) else UniformRegister
    count = 2 if out.kind == "b64" else 1
    return tuple(make(operand.index + i) for i in range(count))


def _low(x: Array) -> Array:
    return x.astype(np.uint32)


def _high(x: Array) -> Array:
    return (x >> _SHIFT).astype(np.uint32)


def _wired(outs: Sequence[Out], args: Sequence[Arg], core: LaneFunction, skip: int) -> LaneFunction:
    """``core`` on values behind containers; the first ``skip`` arguments pass through."""
    spans: list[tuple[int, int, Any]] = []
    start = skip
    for arg in args:
        spans.append((start, start + len(arg.operands), arg.fix))
        start += len(arg.operands)
    plain_in = all(arg.fix is None for arg in args)
    keep: list[tuple[int, Any]] = []
    for position, out in enumerate(outs):
        if is_null(out.operand):
            continue
        keep += [(position, _low), (position, _high)] if out.kind == "b64" else [(position, None)]
    plain_out = keep == [(i, None) for i in range(len(outs))]
    if plain_in and plain_out:
        return core

    def results(values: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(values[i] if part is None else part(values[i]) for i, part in keep)

    if plain_in:
        return lambda *raw: results(core(*raw))

    def gather(raw: tuple[Array, ...]) -> list[Array]:
        given = list(raw[:skip])
        for first, last, fix in spans:
            given.append(raw[first] if fix is None else fix(*raw[first:last]))
        return given

    if plain_out:
        return lambda *raw: core(*gather(raw))
    return lambda *raw: results(core(*gather(raw)))


def _pieces(outs: Sequence[Out], args: Sequence[Arg]) -> tuple[Any, ...]:
    dests: list[Dest] = []
    for out in outs:
        if not is_null(out.operand):
            dests += _dests(out)
    dest_types = tuple("pred" if isinstance(d, Predicate | UniformPredicate) else "b32" for d in dests)
    sources = tuple(operand for arg in args for operand in arg.operands)
    source_types = tuple(kind for arg in args for kind in arg.types)
    return tuple(dests), dest_types, sources, source_types


def choose(choice: Array, a: Array, b: Array) -> Array:
    """``a`` where the predicate holds, else ``b``."""
    return np.where(choice, a, b)


def lane(outs: Sequence[Out], args: Sequence[Arg], core: LaneFunction) -> LaneOp:
    """A lane operation: ``core(*values)`` gives one value for each of ``outs``; null ones are dropped."""
    dests, dest_types, sources, source_types = _pieces(outs, args)
    return LaneOp(dests, dest_types, sources, source_types, _wired(outs, args, core, 0))


def warp(outs: Sequence[Out], args: Sequence[Arg], core: LaneFunction) -> WarpOp:
    """A warp operation: ``core(mask, *values)``."""
    dests, dest_types, sources, source_types = _pieces(outs, args)
    return WarpOp(dests, dest_types, sources, source_types, _wired(outs, args, core, 1))

"""Moves between registers of either kind."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.sass_ops.operands import is_null, is_register, single, split, wide, word
from warpglass.machine.sass_ops.wiring import Lowered, Table, lane, out32, out64, outp, warp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Immediate

__all__ = ["TABLE"]


def _mov(i: Instruction) -> Lowered | None:
    """A following mask other than 0xf (bytes written) is not known here."""
    p = split(i)
    if len(p.sources) > 1:
        mask = p.sources[1]
        if not isinstance(mask, Immediate) or mask.value != 0xF:
            return None
    source = p.sources[0]
    if "64" in i.modifiers:
        return lane([out64(p.dest)], [wide(source)], lambda a: (a,))
    if isinstance(source, Immediate) and source.kind == "float":
        return lane([out32(p.dest)], [single(source, i)], lambda a: (a,))
    return lane([out32(p.dest)], [word(source)], lambda a: (a,))


def _first(mask: Array, a: Array) -> Array:
    """Value of each warp's lowest lane on, ``[W, 1]``."""
    values = np.broadcast_to(a, mask.shape)
    return np.take_along_axis(values, mask.argmax(axis=1)[:, None], axis=1)


def _r2ur(i: Instruction) -> Lowered | None:
    """``{P,} UR, R``: the value of the lowest lane on; P where a lane's own value is that one.

    ``.OR`` joins the bits of all lanes on.
    """
    p = split(i)
    flags = [q for q in (*p.lead, *p.mid) if not is_null(q)]
    if len(flags) > 1 or not is_register(p.dest):
        return None
    either = "OR" in i.modifiers

    def core(mask: Array, a: Array) -> tuple[Array, ...]:
        if either:
            value = np.bitwise_or.reduce(np.where(mask, a, np.uint32(0)), axis=1)[:, None]
        else:
            value = _first(mask, a)
        return value, a == value

    outs = [out32(p.dest), *map(outp, flags)]
    return warp(outs, [word(p.sources[0])], core if flags else lambda mask, a: core(mask, a)[:1])


TABLE: Table = {"MOV": _mov, "MOV32I": _mov, "UMOV": _mov, "R2UR": _r2ur}

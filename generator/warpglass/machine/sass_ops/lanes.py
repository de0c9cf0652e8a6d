"""Instructions in which the lanes of a warp see each other: SHFL, VOTE, MATCH, REDUX, ELECT."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpglass.machine.numeric import shuffle
from warpglass.machine.numeric.bits import Array
from warpglass.machine.sass_ops.operands import (
    is_null,
    is_predicate,
    is_register,
    predicate,
    split,
    wide,
    word,
)
from warpglass.machine.sass_ops.wiring import Lowered, Table, out32, outp, warp
from warpglass.sass.model import Instruction

__all__ = ["TABLE"]

_ALL: Any = np.uint32(0xFFFFFFFF)
_SHUFFLES = {"IDX": "idx", "UP": "up", "DOWN": "down", "BFLY": "bfly"}


def _shfl(i: Instruction) -> Lowered | None:
    """``P, R, a, b, c``: P where the source lane is in range."""
    p = split(i)
    mode = next(_SHUFFLES[m] for m in i.modifiers if m in _SHUFFLES)
    flags = [outp(q) for q in p.lead]
    args = [word(s) for s in p.sources]

    def core(mask: Array, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        value, inside = shuffle.shuffle(mask, mode, a, b, c)
        return (value, inside) if flags else (value,)

    return warp([out32(p.dest), *flags], args, core)


def _vote(i: Instruction) -> Lowered | None:
    """``{R,} P, Pa``: the ballot, and all, any or equal over the lanes on."""
    o = i.operands
    mode = {"ALL": "all", "ANY": "any", "EQ": "uni"}[i.modifiers[0]]
    registers = [x for x in o if is_register(x)]
    flags = [x for x in o if is_predicate(x)]
    if len(registers) > 1 or not 1 <= len(flags) <= 2:
        return None
    outs = [out32(r) for r in registers] + [outp(q) for q in flags[:-1]]
    several = bool(registers)

    def core(mask: Array, a: Array) -> tuple[Array, ...]:
        flag = shuffle.vote(mask, mode, a, None)
        if not several:
            return (flag,)
        return shuffle.vote(mask, "ballot", a, None), flag

    return warp(outs, [predicate(flags[-1])], core if outs else lambda mask, a: ())


def _match(i: Instruction) -> Lowered | None:
    """``MATCH.ANY R, a``; ``MATCH.ALL P, R, a``."""
    p = split(i)
    value = wide(p.sources[0]) if "U64" in i.modifiers else word(p.sources[0])
    if "ANY" in i.modifiers:
        return warp([out32(p.dest)], [value], lambda mask, a: (shuffle.match_any(mask, a, _ALL),))
    flags = [outp(q) for q in (*p.lead, *p.mid)]

    def core(mask: Array, a: Array) -> tuple[Array, ...]:
        lanes, same = shuffle.match_all(mask, a, _ALL)
        return (lanes, same) if flags else (lanes,)

    return warp([out32(p.dest), *flags], [value], core)


_REDUCTIONS = {
    "SUM": "add", "MIN": "min", "MAX": "max", "AND": "and", "OR": "or", "XOR": "xor", "MINABS": "min",
    "MAXABS": "max",
}  # fmt: skip


def _redux(i: Instruction) -> Lowered | None:
    """``UR, a``: ``.AND`` where nothing is named; extremes are unsigned without ``.S32`` or ``.F32``."""
    p = split(i)
    mods = i.modifiers
    name = next((_REDUCTIONS[m] for m in mods if m in _REDUCTIONS), "and")
    kind = "f32" if "F32" in mods else "s32" if "S32" in mods else "u32"
    nan = "NAN" in mods
    source = p.sources[0]
    absolute = bool(getattr(source, "absolute", False)) or any(m in ("MINABS", "MAXABS") for m in mods)
    if getattr(source, "negated", False):
        return None
    return warp(
        [out32(p.dest)], [word(source)],
        lambda mask, a: (shuffle.reduce(mask, name, a, _ALL, kind, absolute, nan),),
    )  # fmt: skip


def _elect(i: Instruction) -> Lowered | None:
    """``P, UR, Pa``: the lowest lane on (where Pa holds), and P in that lane alone."""
    p = split(i)
    flags = [q for q in (*p.lead, *p.mid) if not is_null(q)]
    if len(flags) > 1:
        return None
    taking = predicate(p.tail[0] if p.tail else i.operands[-1])

    def core(mask: Array, a: Array) -> tuple[Array, ...]:
        lane, chosen = shuffle.elect(mask & np.broadcast_to(a, mask.shape), _ALL)
        return lane, np.broadcast_to(chosen, mask.shape)

    return warp([out32(p.dest), *map(outp, flags)], [taking], core if flags else lambda m, a: core(m, a)[:1])


TABLE: Table = {
    "SHFL": _shfl,
    "VOTE": _vote,
    "VOTEU": _vote,
    "MATCH": _match,
    "REDUX": _redux,
    "CREDUX": _redux,
    "ELECT": _elect,
}

"""Instructions in which the lanes of a warp see each other: shfl, vote, match, redux, elect, activemask."""

from __future__ import annotations

from warpglass.machine.numeric import shuffle
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table

__all__ = ["TABLE"]


def _shfl(op: Opcode, shape: Shape) -> Meaning:
    mode = op.need(("up", "down", "bfly", "idx"))
    sync, pair = op.has("sync"), shape[0] == "p"

    def fn(mask: Array, a: Array, b: Array, c: Array, members: Array | None = None) -> tuple[Array, ...]:
        result, inside = shuffle.shuffle(mask, mode, a, b, c, members)
        return (result, inside) if pair else (result,)

    sources = ("b32", "u32", "u32", "b32") if sync else ("b32", "u32", "u32")
    dests = ("b32", "pred") if pair else ("b32",)
    return Meaning(dests, sources, fn, warp=True, membermask=3 if sync else None)


def _vote(op: Opcode, _: Shape) -> Meaning:
    mode = op.need(("all", "any", "uni", "ballot"))
    dest = "b32" if mode == "ballot" else "pred"
    if op.has("sync"):
        return Meaning(
            (dest,),
            ("pred", "b32"),
            lambda mask, a, m: (shuffle.vote(mask, mode, a, m),),
            warp=True,
            membermask=1,
        )
    return Meaning((dest,), ("pred",), lambda mask, a: (shuffle.vote(mask, mode, a, None),), warp=True)


def _match(op: Opcode, shape: Shape) -> Meaning:
    sources = (op.type, "b32")
    if op.need(("any", "all")) == "any":
        return Meaning(
            ("b32",), sources, lambda mask, a, m: (shuffle.match_any(mask, a, m),), warp=True, membermask=1
        )
    if shape[0] == "p":
        return Meaning(
            ("b32", "pred"),
            sources,
            lambda mask, a, m: shuffle.match_all(mask, a, m),
            warp=True,
            membermask=1,
        )
    return Meaning(
        ("b32",), sources, lambda mask, a, m: shuffle.match_all(mask, a, m)[:1], warp=True, membermask=1
    )


def _redux(op: Opcode, _: Shape) -> Meaning:
    name = op.need(("add", "min", "max", "and", "or", "xor"))
    kind, absolute, nan = op.type, op.has("abs"), op.has("NaN")
    return Meaning(
        (kind,),
        (kind, "b32"),
        lambda mask, a, m: (shuffle.reduce(mask, name, a, m, kind, absolute, nan),),
        warp=True,
        membermask=1,
    )


def _elect(_: Opcode, __: Shape) -> Meaning:
    return Meaning(("b32", "pred"), ("b32",), lambda mask, m: shuffle.elect(mask, m), warp=True, membermask=0)


def _activemask(_: Opcode, __: Shape) -> Meaning:
    return Meaning(("b32",), (), lambda mask: (shuffle.vote(mask, "ballot", mask, None),), warp=True)


TABLE: Table = {
    ("shfl", "*"): _shfl,
    ("vote", "*"): _vote,
    ("match", "*"): _match,
    ("redux", "*"): _redux,
    ("elect", "*"): _elect,
    ("activemask", "*"): _activemask,
}

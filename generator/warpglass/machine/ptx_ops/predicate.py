"""setp, set, selp, slct and testp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import compare
from warpglass.machine.numeric.bits import Array, signed
from warpglass.machine.numeric.convert import value_of
from warpglass.machine.numeric.float32 import flush
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table, kind_of, width

__all__ = ["TABLE", "comparison"]


def _view(type_name: str, ftz: bool) -> Callable[[Array], Array] | None:
    """How a container is seen for comparing: a function to a numpy array, or None for as it is."""
    if type_name == "f32":
        if ftz:
            return lambda a: flush(a).view(np.float32)
        return lambda a: a.view(np.float32)
    if type_name == "f64":
        return lambda a: a.view(np.float64)
    if type_name == "f16":
        return lambda a: a.view(np.float16).astype(np.float32)
    if type_name == "bf16":
        return lambda a: (a.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if type_name.startswith("s"):
        return signed
    return None


def comparison(op: Opcode, type_name: str) -> compare.Compare:
    """``(a, b) -> bool array`` of the opcode's comparison operator on containers of a type."""
    is_float = kind_of(type_name) in ("f32", "f64", "half")
    table = compare.FLOAT if is_float else compare.INTEGER
    relation = table[op.need(table)]
    seen = _view(type_name, op.has("ftz"))
    if seen is None:
        return relation
    return lambda a, b: relation(seen(a), seen(b))


def _pair(type_name: str) -> str:
    return {"f16x2": "f16", "bf16x2": "bf16"}[type_name]


def _combined(op: Opcode, shape: Shape) -> None:
    """A third source has to come with one boolean operator, and the other way round; else ValueError."""
    if len(shape) not in (3, 4) or sum(m in compare.BOOLEAN for m in op.mods) != len(shape) - 3:
        raise ValueError(op.text)


def _setp(op: Opcode, shape: Shape) -> Meaning:
    _combined(op, shape)
    if op.type in ("f16x2", "bf16x2"):
        return _setp_pair(op, shape)
    relation = comparison(op, op.type)
    two = shape[0] == "p"
    dests = ("pred", "pred") if two else ("pred",)
    if len(shape) == 3:
        if two:

            def plain_pair(a: Array, b: Array) -> tuple[Array, ...]:
                t = relation(a, b)
                return t, ~t

            return Meaning(dests, (op.type,) * 2, plain_pair)
        return Meaning(dests, (op.type,) * 2, lambda a, b: (relation(a, b),))
    join = compare.BOOLEAN[op.pick(compare.BOOLEAN)]

    def joined(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        t = relation(a, b)
        return (join(t, c), join(~t, c)) if two else (join(t, c),)

    return Meaning(dests, (op.type, op.type, "pred"), joined)


def _setp_pair(op: Opcode, shape: Shape) -> Meaning:
    """``setp.CmpOp.f16x2 p|q, a, b``: p from the low halves, q from the high ones."""
    relation = comparison(op, _pair(op.type))
    name = op.pick(compare.BOOLEAN)

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        low = relation(a.astype(np.uint16), b.astype(np.uint16))
        high = relation((a >> np.uint32(16)).astype(np.uint16), (b >> np.uint32(16)).astype(np.uint16))
        if c:
            low, high = compare.BOOLEAN[name](low, c[0]), compare.BOOLEAN[name](high, c[0])
        return (low, high) if shape[0] == "p" else (low,)

    sources = (op.type, op.type, "pred")[: len(shape) - 1]
    return Meaning(("pred", "pred") if shape[0] == "p" else ("pred",), sources, fn)


def _true(dest: str) -> Array:
    """What ``set`` writes for true: all ones for integers, 1.0 for floats."""
    one: dict[str, Any] = {
        "f32": np.uint32(0x3F800000), "f16": np.uint16(0x3C00), "bf16": np.uint16(0x3F80),
        "u32": np.uint32(0xFFFFFFFF), "s32": np.uint32(0xFFFFFFFF), "b32": np.uint32(0xFFFFFFFF),
        "u16": np.uint16(0xFFFF), "s16": np.uint16(0xFFFF),
    }  # fmt: skip
    result: Array = one[dest]
    return result


def _set(op: Opcode, shape: Shape) -> Meaning:
    dest, source = op.types
    _combined(op, shape)
    if source in ("f16x2", "bf16x2"):
        return _set_pair(op, shape)
    relation = comparison(op, source)
    true = _true(dest)
    false = true.dtype.type(0)
    name = op.pick(compare.BOOLEAN)

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        t = relation(a, b)
        return (np.where(compare.BOOLEAN[name](t, c[0]) if c else t, true, false),)

    return Meaning((dest,), (source, source, "pred")[: len(shape) - 1], fn)


def _set_pair(op: Opcode, shape: Shape) -> Meaning:
    dest, source = op.types
    relation = comparison(op, _pair(source))
    true = np.uint32(_true(_pair(dest)) if dest in ("f16x2", "bf16x2") else 0xFFFF)
    name = op.pick(compare.BOOLEAN)

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        low = relation(a.astype(np.uint16), b.astype(np.uint16))
        high = relation((a >> np.uint32(16)).astype(np.uint16), (b >> np.uint32(16)).astype(np.uint16))
        if c:
            low, high = compare.BOOLEAN[name](low, c[0]), compare.BOOLEAN[name](high, c[0])
        none = np.uint32(0)
        return (np.where(low, true, none) | np.where(high, true << np.uint32(16), none),)

    return Meaning((dest,), (source, source, "pred")[: len(shape) - 1], fn)


def _selp(op: Opcode, _: Shape) -> Meaning:
    def fn(a: Array, b: Array, p: Array) -> tuple[Array, ...]:
        return (np.where(p, a, b),)

    return Meaning((op.type,), (op.type, op.type, "pred"), fn)


def _slct(op: Opcode, _: Shape) -> Meaning:
    """``c >= 0 ? a : b``; a NaN selects b, and -0 counts as 0."""
    dest, by = op.types
    if by == "s32":

        def by_integer(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
            return (np.where(signed(c) >= 0, a, b),)

        return Meaning((dest,), (dest, dest, by), by_integer)
    ftz = op.has("ftz")

    def fn(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        x = (flush(c) if ftz else c).view(np.float32)
        return (np.where(x >= 0, a, b),)

    return Meaning((dest,), (dest, dest, by), fn)


def _testp(op: Opcode, _: Shape) -> Meaning:
    name = op.need(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    tiny = 2.0**-126 if width(op.type) == 32 else 2.0**-1022

    def fn(a: Array) -> tuple[Array, ...]:
        x = value_of(a, op.type)
        tests: dict[str, Callable[[], Array]] = {
            "finite": lambda: np.isfinite(x),
            "infinite": lambda: np.isinf(x),
            "number": lambda: ~np.isnan(x),
            "notanumber": lambda: np.isnan(x),
            # PTX counts both zeros as normal.
            "normal": lambda: np.isfinite(x) & ((np.abs(x) >= tiny) | (x == 0)),
            "subnormal": lambda: (np.abs(x) < tiny) & (x != 0),
        }
        return (tests[name](),)

    return Meaning(("pred",), (op.type,), fn)


TABLE: Table = {
    ("setp", "*"): _setp,
    ("set", "*"): _set,
    ("selp", "*"): _selp,
    ("slct", "*"): _slct,
    ("testp", "*"): _testp,
}

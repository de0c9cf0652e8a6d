"""Comparisons that set predicates, and selections between floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpglass.machine.numeric import compare, float32, half
from warpglass.machine.numeric.bits import Array, signed
from warpglass.machine.sass_ops.operands import (
    Arg,
    Fix,
    double,
    half_pair,
    half_sources,
    integer,
    is_null,
    is_predicate,
    predicate,
    single,
    split,
    wide,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Lowered, Table, choose, lane, out32, outp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Immediate, Operand

__all__ = ["TABLE", "half_name"]

_U64 = np.uint64


def _relation(i: Instruction, table: dict[str, compare.Compare]) -> tuple[str, compare.Compare]:
    for part in i.modifiers:
        if part.lower() in table:
            return part, table[part.lower()]
        if part == "T":
            return part, lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), dtype=bool)
        if part == "F":
            return part, lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), dtype=bool)
    raise KeyError(i.opcode)


def _boolean(i: Instruction) -> compare.Compare:
    name = next(part for part in i.modifiers if part in ("AND", "OR", "XOR"))
    return compare.BOOLEAN[name.lower()]


def _joined(
    i: Instruction, dests: tuple[Operand, ...], third: Operand, args: list[Arg], test: Callable[..., Array]
) -> Lowered:
    """``P = test join third``, ``Q = !test join third``; the neutral third is left out."""
    join = _boolean(i)
    pin = predicate(third)
    only = pin.operands[0]
    constant_pin = isinstance(only, Immediate)
    value = constant_pin and bool(only.value)  # type: ignore[union-attr]
    neutral = constant_pin and value == (join is compare.BOOLEAN["and"])
    first, second = dests
    count = len(args)
    if neutral and is_null(second) and not is_null(first):
        return lane([outp(first)], args, lambda *xs: (test(*xs),))

    def core(*xs: Array) -> tuple[Array, ...]:
        result = test(*xs[:count])
        third_value = xs[count]
        return join(result, third_value), join(~result, third_value)

    return lane([outp(first), outp(second)], [*args, pin], core)


def _isetp(i: Instruction) -> Lowered | None:
    """``P, Q, a, b, Pin{, Plow}``: with ``.EX`` the words are the upper ones and Plow compared the lower."""
    o = i.operands
    _, relation = _relation(i, {k: compare.INTEGER[k] for k in ("eq", "ne", "lt", "le", "gt", "ge")})
    is_signed = not any(m in ("U32", "U64") for m in i.modifiers)
    read = wide if any(m in ("S64", "U64") for m in i.modifiers) else integer
    args = [read(o[2]), read(o[3])]
    view: Fix = signed if is_signed else (lambda a: a)
    test: Callable[..., Array]
    if "EX" in i.modifiers:
        name = next(m for m in i.modifiers if m in ("EQ", "NE", "LT", "LE", "GT", "GE"))
        args.append(predicate(o[5]))
        if name == "NE":
            test = lambda a, b, low: (a != b) | low  # noqa: E731
        elif name == "EQ":
            test = lambda a, b, low: (a == b) & low  # noqa: E731
        else:
            strict = compare.INTEGER[name[:1].lower() + "t"]
            test = lambda a, b, low: strict(view(a), view(b)) | ((a == b) & low)  # noqa: E731
    elif is_signed and relation not in (np.equal, np.not_equal):
        test = lambda a, b: relation(signed(a), signed(b))  # noqa: E731
    else:
        test = relation
    return _joined(i, (o[0], o[1]), o[4], args, test)


def _floats(i: Instruction) -> Callable[[Array], Array]:
    if "FTZ" in i.modifiers:
        return lambda a: float32.flush(a).view(np.float32)
    return lambda a: a.view(np.float32)


def _fsetp(i: Instruction) -> Lowered | None:
    o = i.operands
    _, relation = _relation(i, compare.FLOAT)
    view = _floats(i)
    args = [single(o[2], i), single(o[3], i)]
    return _joined(i, (o[0], o[1]), o[4], args, lambda a, b: relation(view(a), view(b)))


def _fset(i: Instruction) -> Lowered | None:
    """``R, a, b, Pin``: 1.0 with ``.BF``, else all ones."""
    p = split(i)
    _, relation = _relation(i, compare.FLOAT)
    join, view = _boolean(i), _floats(i)
    yes = np.uint32(0x3F800000 if "BF" in i.modifiers else 0xFFFFFFFF)
    args = [*(single(s, i) for s in p.sources), predicate(p.tail[0])]
    return lane(
        [out32(p.dest)], args,
        lambda a, b, q: (np.where(join(relation(view(a), view(b)), q), yes, np.uint32(0)),),
    )  # fmt: skip


def _dsetp(i: Instruction) -> Lowered | None:
    """A comparison, or with ``.MIN`` and ``.MAX`` which operand to take and whether both are NaN."""
    o = i.operands
    args = [double(o[2], i), double(o[3], i)]
    if any(m in ("MIN", "MAX") for m in i.modifiers):
        larger = "MAX" in i.modifiers
        return lane([outp(o[0]), outp(o[1])], args, lambda a, b: _extreme(a, b, larger))
    _, relation = _relation(i, compare.FLOAT)
    return _joined(i, (o[0], o[1]), o[4], args, lambda a, b: relation(a.view(np.float64), b.view(np.float64)))


def _extreme(a: Array, b: Array, larger: bool) -> tuple[Array, ...]:
    """Whether a is the minimum (maximum), and whether both are NaN.

    Read off the code around it: ptxas takes a where the first holds, and a quieted b where the second does.
    """
    x, y = a.view(np.float64), b.view(np.float64)
    nan_x, nan_y = np.isnan(x), np.isnan(y)
    minus = np.signbit(x)
    same = ~minus if larger else minus
    first = np.where(x == y, same, (x > y) if larger else (x < y))
    return first | (nan_y & ~nan_x), nan_x & nan_y


def _fsel(i: Instruction) -> Lowered | None:
    p = split(i)
    args = [*(single(s, i) for s in p.sources), predicate(p.tail[0])]
    if "FTZ" in i.modifiers:
        return lane([out32(p.dest)], args, lambda a, b, q: (float32.flush(choose(q, a, b)),))
    return lane([out32(p.dest)], args, lambda a, b, q: (choose(q, a, b),))


# ---------------------------------------------------------------- packed halves


def half_name(i: Instruction) -> str:
    """f16, or bf16 where the opcode says so."""
    return "bf16" if any(m in ("BF16_V2", "BF16") for m in i.modifiers) else "f16"


def _half_test(i: Instruction) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The comparison of the lower and of the upper halves."""
    _, relation = _relation(i, compare.FLOAT)
    name = half_name(i)
    ftz = "FTZ" in i.modifiers

    def test(a: Array, b: Array) -> tuple[Array, Array]:
        found = []
        for x, y in zip(half.split(a), half.split(b), strict=True):
            if ftz:
                x, y = half.flush(x, name), half.flush(y, name)
            found.append(relation(half.single(x, name), half.single(y, name)))
        return found[0], found[1]

    return test


def _hsetp2(i: Instruction) -> Lowered | None:
    """``P, Q, a, b, Pin``: P of the lower halves, Q of the upper; with ``.H0_AND`` P of both."""
    o = i.operands
    if len(o) < 5 or not is_predicate(o[-1]):
        return None
    name, test, join = half_name(i), _half_test(i), _boolean(i)
    args = [half_pair(s, name, i) for s in half_sources(o[2:-1])]
    both = "H0_AND" in i.modifiers or "H1_AND" in i.modifiers

    def core(a: Array, b: Array, q: Array) -> tuple[Array, ...]:
        low, high = test(a, b)
        if both:
            return join(low & high, q), join(~(low & high), q)
        return join(low, q), join(high, q)

    return lane([outp(o[0]), outp(o[1])], [*args, predicate(o[-1])], core)


def _hset2(i: Instruction) -> Lowered | None:
    """``R, a, b, Pin``: 1.0 with ``.BF``, else all ones, in each half."""
    p = split(i)
    name, test, join = half_name(i), _half_test(i), _boolean(i)
    one = (0x3C00 if name == "f16" else 0x3F80) if "BF" in i.modifiers else 0xFFFF
    low_one, high_one, zero = np.uint32(one), np.uint32(one << 16), np.uint32(0)
    args = [*(half_pair(s, name, i) for s in half_sources(p.sources)), predicate(p.tail[0])]

    def core(a: Array, b: Array, q: Array) -> tuple[Array, ...]:
        low, high = test(a, b)
        return (np.where(join(low, q), low_one, zero) | np.where(join(high, q), high_one, zero),)

    return lane([out32(p.dest)], args, core)


TABLE: Table = {
    "ISETP": _isetp,
    "FSETP": _fsetp,
    "FSET": _fset,
    "DSETP": _dsetp,
    "FSEL": _fsel,
    "HSETP2": _hsetp2,
    "HSET2": _hset2,
}

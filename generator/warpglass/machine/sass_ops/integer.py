"""Integer arithmetic: sums with carries, products, scaled sums."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import bits
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.integer import (
    add_carry,
    mul_high,
    mul_wide,
)
from warpglass.machine.sass_ops.operands import (
    Arg,
    Fix,
    complemented,
    constant,
    immediate,
    integer,
    is_null,
    is_signed,
    is_value,
    predicate,
    split,
    wide,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, lane, out32, out64, outp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Operand

__all__ = ["TABLE"]

_U32: Any = np.uint32
_U64: Any = np.uint64
_MASK = np.uint64(0xFFFFFFFF)


def _is_zero(arg: Arg) -> bool:
    return len(arg.operands) == 1 and arg.fix is None and arg.operands[0] == constant(0)


def _term(operand: Operand) -> tuple[Arg, int]:
    """A summand of a sum with carries: minus is the complement, and one more."""
    negated = bool(getattr(operand, "negated", False))
    arg = integer(operand)
    if not negated:
        return arg, 0
    if getattr(operand, "absolute", False):
        raise ValueError(str(operand))
    return Arg(arg.operands, arg.types, np.invert), 1


def _exact_sum(terms: tuple[Array, ...], ones: int, carries: tuple[Array, ...]) -> Array:
    """The sum of 32-bit terms as uint64."""
    total = terms[0].astype(np.uint64) + _U64(ones)
    for term in (*terms[1:], *carries):
        total = total + term
    return total


def _iadd3(i: Instruction) -> Lowered | None:
    """``R, {Pcarry0, Pcarry1,} a, b, c{, Pin0, Pin1}``; the carries out count: at least one, two."""
    if "64" in i.modifiers:
        return _iadd3_64(i)
    p = split(i)
    outs = [outp(m) for m in p.mid if not is_null(m)]
    extended = "X" in i.modifiers
    ins = [predicate(q) for q in p.tail] if extended else []
    if not outs:
        args = [a for a in map(integer, p.sources) if not _is_zero(a)] or [integer(p.sources[0])]
        ins = [q for q in ins if not is_value(q, 0)]
        count = len(args)

        def core(*xs: Array) -> tuple[Array, ...]:
            total = xs[0]
            for x in xs[1:count]:
                total = total + x
            for carry in xs[count:]:
                total = total + carry.astype(np.uint32)
            return (total,)

        if not ins and count == 2:
            return lane([out32(p.dest)], args, lambda a, b: (a + b,))
        if not ins and count == 3:
            return lane([out32(p.dest)], args, lambda a, b, c: (a + b + c,))
        return lane([out32(p.dest)], [*args, *ins], core)
    terms = [_term(s) for s in p.sources]
    ones = sum(one for _, one in terms)
    args = [a for a, _ in terms if not _is_zero(a)] or [terms[0][0]]
    ins = [q for q in ins if not is_value(q, 0)]
    places = [1 if k == 0 else 2 for k, m in enumerate(p.mid) if not is_null(m)]
    if len(args) == 2 and ones == 0 and not ins and places == [1]:
        return lane([out32(p.dest), *outs], args, lambda a, b: add_carry(a, b, None))
    count = len(args)

    def carried(*xs: Array) -> tuple[Array, ...]:
        total = _exact_sum(xs[:count], ones, xs[count:])
        carry = total >> _U64(32)
        return (total.astype(np.uint32), *(carry >= _U64(place) for place in places))

    return lane([out32(p.dest), *outs], [*args, *ins], carried)


def _iadd3_64(i: Instruction) -> Lowered | None:
    """Register pairs: ``IADD.64 R, {Pcarry,} a, b{, Pin}`` and ``UIADD3.64``."""
    p = split(i)
    outs = [outp(m) for m in p.mid if not is_null(m)]
    ins = [predicate(q) for q in p.tail] if "X" in i.modifiers else []
    ins = [q for q in ins if not is_value(q, 0)]
    args = [a for s, a in zip(p.sources, map(wide, p.sources), strict=True) if not is_null(s)]
    args = args or [wide(p.sources[0])]
    count = len(args)
    if outs:
        return _carried_64(i, outs, ins)

    def core(*xs: Array) -> tuple[Array, ...]:
        total = xs[0]
        for x in xs[1:count]:
            total = total + x
        for carry in xs[count:]:
            total = total + carry.astype(np.uint64)
        return (total,)

    return lane([out64(p.dest)], [*args, *ins], core)


def _carried_64(i: Instruction, outs: list[Out], ins: list[Arg]) -> Lowered | None:
    """One carry out of the sum of two pairs; minus is the complement and a carry in."""
    p = split(i)
    sources = [s for s in p.sources if not is_null(s)]
    negated = [bool(getattr(s, "negated", False)) for s in sources]
    if len(outs) > 1 or len(sources) != 2 or len(ins) + sum(negated) > 1:
        return None
    args = [wide(complemented(s)) if n else wide(s) for s, n in zip(sources, negated, strict=True)]
    one = np.array([any(negated)])

    def core(a: Array, b: Array, *carry: Array) -> tuple[Array, ...]:
        return add_carry(a, b, carry[0] if carry else one)

    return lane([out64(p.dest), *outs], [*args, *ins], core)


def _iadd(i: Instruction) -> Lowered | None:
    """``IADD R, a, b`` and ``IADD.64``; Maxwell's carry flag is not there."""
    if "64" in i.modifiers:
        return _iadd3_64(i)
    p = split(i)
    if any(m in i.modifiers for m in ("X", "CC", "SAT")) or p.mid:
        return None
    return lane([out32(p.dest)], [*map(integer, p.sources)], lambda a, b: (a + b,))


# ---------------------------------------------------------------- products


def _imad(i: Instruction) -> Lowered | None:
    """``a * b + c``: low half, ``.WIDE`` both, ``.HI`` upper; ``.X`` adds a carry."""
    mods = i.modifiers
    p = split(i)
    ins = [predicate(q) for q in p.tail] if "X" in mods else []
    ins = [q for q in ins if not is_value(q, 0)]
    if "WIDE" in mods or "HI" in mods:
        return _imad_wide(i, ins)
    if any(not is_null(m) for m in p.mid):
        return None
    a, b, c = map(integer, p.sources)
    if _is_zero(a) or _is_zero(b):
        factors: list[Arg] = []
        core: Callable[..., Array] = lambda z: z  # noqa: E731
    elif is_value(b, 1):
        factors, core = [a], (lambda x, z: x + z)
    else:
        factors, core = [a, b], (lambda x, y, z: x * y + z)
    args = [*factors, c]
    if _is_zero(c) and len(factors) == 2:
        args, core = factors, (lambda x, y: x * y)
    if not ins:
        return lane([out32(p.dest)], args, lambda *xs: (core(*xs),))
    return lane([out32(p.dest)], [*args, *ins], lambda *xs: (core(*xs[:-1]) + xs[-1].astype(np.uint32),))


def _imad_wide(i: Instruction, ins: list[Arg]) -> Lowered | None:
    """The 64-bit sum may carry out of ``.WIDE``."""
    p = split(i)
    signed = is_signed(i)
    a, b = integer(p.sources[0]), integer(p.sources[1])
    c = wide(p.sources[2])
    carries = [m for m in p.mid if not is_null(m)]
    high = "HI" in i.modifiers
    if len(carries) > 1:
        return None
    out = out32(p.dest) if high else out64(p.dest)

    def core(x: Array, y: Array, z: Array, *carry: Array) -> tuple[Array, ...]:
        product = mul_wide(x, y, signed)
        if not carries:
            total = product + z
            for one in carry:
                total = total + one.astype(np.uint64)
            return (_upper(total) if high else total,)
        total, over = add_carry(product, z, carry[0] if carry else None)
        return (_upper(total) if high else total), over

    outs = [out, *map(outp, carries)]
    if (p.sources[2] == _ZERO or is_null(p.sources[2])) and not ins and not carries:
        if high:
            return lane([out], [a, b], lambda x, y: (mul_high(x, y, signed),))
        return lane([out], [a, b], lambda x, y: (mul_wide(x, y, signed),))
    return lane(outs, [a, b, c, *ins], core)


_ZERO = constant(0)


def _upper(x: Array) -> Array:
    return (x >> _U64(32)).astype(np.uint32)


def _lea(i: Instruction) -> Lowered | None:
    """``(a << n) + b``; ``.HI``: the upper half of ``{c, a} << n``, plus b (``.SX32``: c is a's sign)."""
    mods = i.modifiers
    p = split(i)
    high, sign = "HI" in mods, "SX32" in mods
    shift = _U32(immediate(p.sources[-1]) & 31)
    outs = [outp(m) for m in p.mid if not is_null(m)]
    ins = [predicate(q) for q in p.tail] if "X" in mods else []
    ins = [q for q in ins if not is_value(q, 0)]
    if len(outs) > 1:
        return None
    first, second = p.sources[0], p.sources[1]
    negated, inverted = getattr(first, "negated", False), getattr(first, "inverted", False)
    a = Arg(integer(first).operands, ("b32",))
    args = [a]
    if high and not sign:
        args.append(integer(p.sources[2]))
    scaled = _scaled(high, sign, shift, bool(inverted))
    b, one = _term(second)
    ones = one + (1 if negated and not (high or sign) else 0)
    if negated and (high or sign):
        flip = True
    else:
        flip = bool(negated)
    count = len(args)

    def core(*xs: Array) -> tuple[Array, ...]:
        term = scaled(*xs[:count])
        if flip:
            term = ~term
        if not outs:
            total = term + xs[count] + _U32(ones)
            for carry in xs[count + 1 :]:
                total = total + carry.astype(np.uint32)
            return (total,)
        exact = _exact_sum((term, xs[count]), ones, xs[count + 1 :])
        return exact.astype(np.uint32), exact > _MASK

    if flip and high:
        return None
    if not outs and not ins and not ones:
        if not high:
            return lane([out32(p.dest)], [a, b], lambda x, y: (scaled(x) + y,))
        return lane([out32(p.dest)], [*args, b], lambda *xs: (scaled(*xs[:count]) + xs[count],))
    return lane([out32(p.dest), *outs], [*args, b, *ins], core)


def _scaled(high: bool, sign: bool, shift: Any, inverted: bool) -> Fix:
    def scaled(a: Array, *c: Array) -> Array:
        if not high:
            return np.left_shift(a, shift)
        top = bits.sar(a, _U32(31)) if sign else c[0]
        result: Array = bits.funnel_left(a, top, shift, False)
        return result

    if not inverted:
        return scaled
    return lambda a, *c: ~scaled(a, *c)


def _iscadd(i: Instruction) -> Lowered | None:
    p = split(i)
    shift = _U32(immediate(p.sources[2]) & 31)
    args = [integer(p.sources[0]), integer(p.sources[1])]
    return lane([out32(p.dest)], args, lambda a, b: (np.left_shift(a, shift) + b,))


TABLE: Table = {
    "IADD3": _iadd3,
    "IADD": _iadd,
    "IADD32I": _iadd,
    "IMAD": _imad,
    "LEA": _lea,
    "ISCADD": _iscadd,
}

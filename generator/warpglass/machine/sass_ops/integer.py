"""Integer arithmetic: sums with carries, products, LEA, minima, dot products."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import bits, video
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.integer import (
    absolute,
    add_carry,
    dot2,
    dot4,
    maximum,
    minimum,
    mul_high,
    mul_wide,
    sad,
    saturating_add,
)
from warpglass.machine.sass_ops.operands import (
    Arg,
    Fix,
    complemented,
    constant,
    immediate,
    integer,
    is_null,
    predicate,
    split,
    wide,
    word,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, lane, out32, out64, outp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Immediate, Operand

__all__ = ["TABLE"]

_U32: Any = np.uint32
_U64: Any = np.uint64
_MASK = np.uint64(0xFFFFFFFF)


def _is_zero(arg: Arg) -> bool:
    return len(arg.operands) == 1 and arg.fix is None and arg.operands[0] == constant(0)


def _is_value(arg: Arg, value: int) -> bool:
    operand = arg.operands[0]
    return arg.fix is None and isinstance(operand, Immediate) and operand.value == value


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
        ins = [q for q in ins if not _is_value(q, 0)]
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
    ins = [q for q in ins if not _is_value(q, 0)]
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
    ins = [q for q in ins if not _is_value(q, 0)]
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


def _is_signed(i: Instruction) -> bool:
    return not any(m in ("U32", "U64") for m in i.modifiers)


def _imad(i: Instruction) -> Lowered | None:
    """``a * b + c``: low half, ``.WIDE`` both, ``.HI`` upper; ``.X`` adds a carry."""
    mods = i.modifiers
    p = split(i)
    ins = [predicate(q) for q in p.tail] if "X" in mods else []
    ins = [q for q in ins if not _is_value(q, 0)]
    if "WIDE" in mods or "HI" in mods:
        return _imad_wide(i, ins)
    if any(not is_null(m) for m in p.mid):
        return None
    a, b, c = map(integer, p.sources)
    if _is_zero(a) or _is_zero(b):
        factors: list[Arg] = []
        core: Callable[..., Array] = lambda z: z  # noqa: E731
    elif _is_value(b, 1):
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
    signed = _is_signed(i)
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
    ins = [q for q in ins if not _is_value(q, 0)]
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


# ---------------------------------------------------------------- minima, differences


def _packed_type(i: Instruction) -> tuple[int, bool] | None:
    """Width and signedness of ``.S16x2``, ``.U8x4`` …"""
    for m in i.modifiers:
        if m.endswith(("16x2", "8x4")):
            return (16 if "16" in m else 8), m[0] == "S"
    return None


def _by_lanes(width: int, signed: bool, core: Callable[..., Array]) -> Callable[..., Array]:
    """``core`` on int64 bytes or halves, packed again."""
    selector = "b" if width == 8 else "h"
    mask = (1 << width) - 1

    def fn(*xs: Array) -> Array:
        result: Array | None = None
        for k in range(32 // width):
            part = core(*(video.pick(x, f"{selector}{k}", signed) for x in xs)) & mask
            piece = np.left_shift(part.astype(np.uint32), _U32(width * k))
            result = piece if result is None else result | piece
        assert result is not None
        return result

    return fn


def _extremes(i: Instruction) -> tuple[Callable[..., Array], Callable[..., Array]]:
    packed = _packed_type(i)
    if packed is not None:
        width, signed = packed
        return _by_lanes(width, signed, np.minimum), _by_lanes(width, signed, np.maximum)
    signed = _is_signed(i)
    return (lambda a, b: minimum(a, b, signed)), (lambda a, b: maximum(a, b, signed))


def _relu(i: Instruction) -> Callable[[Array], Array]:
    packed = _packed_type(i)
    if packed is not None:
        fn = _by_lanes(packed[0], True, lambda a: np.maximum(a, 0))
        return lambda a: fn(a)
    return lambda a: maximum(a, np.zeros_like(a), True)


def _chosen(
    smaller: Callable[..., Array], larger: Callable[..., Array], choice: Arg
) -> tuple[Callable[..., Array], list[Arg]]:
    """Minimum where the predicate holds, else maximum; a constant predicate needs no operand."""
    if _is_value(choice, 1):
        return smaller, []
    if _is_value(choice, 0):
        return larger, []
    return (lambda *xs: np.where(xs[-1], smaller(*xs[:-1]), larger(*xs[:-1]))), [choice]


def _imnmx(i: Instruction) -> Lowered | None:
    """``R, a, b, P``; ``VIMNMX3``: three values, two predicates; ``.RELU``: at least zero."""
    p = split(i)
    if any(not is_null(m) for m in p.mid):
        return None
    double = any(m in ("64", "S64", "U64") for m in i.modifiers)
    reader, out = (wide, out64) if double else (integer, out32)
    args = [reader(s) for s in p.sources]
    smaller, larger = _extremes(i)
    relu = _relu(i) if "RELU" in i.modifiers else None
    pick, extra = _chosen(smaller, larger, predicate(p.tail[0]))
    if len(args) == 3:
        then, more = _chosen(smaller, larger, predicate(p.tail[1]) if len(p.tail) > 1 else _ALWAYS)
        if extra or more:
            return None

        def three(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
            result = then(pick(a, b), c)
            return (result if relu is None else relu(result),)

        return lane([out(p.dest)], args, three)
    if relu is not None:
        return lane([out(p.dest)], [*args, *extra], lambda *xs: (relu(pick(*xs)),))
    return lane([out(p.dest)], [*args, *extra], lambda *xs: (pick(*xs),))


_ALWAYS = Arg((constant(1),), ("pred",))


def _viaddmnmx(i: Instruction) -> Lowered | None:
    """``R, a, b, c, P``: the smaller (larger) of a + b and c."""
    p = split(i)
    if any(not is_null(m) for m in p.mid):
        return None
    packed = _packed_type(i)
    add: Callable[..., Array] = lambda a, b: a + b  # noqa: E731
    if packed is not None:
        if any(getattr(s, "negated", False) for s in p.sources):
            return None
        add = _by_lanes(packed[0], packed[1], lambda a, b: a + b)
    smaller, larger = _extremes(i)
    pick, extra = _chosen(smaller, larger, predicate(p.tail[0]))
    relu = _relu(i) if "RELU" in i.modifiers else None

    def core(a: Array, b: Array, *rest: Array) -> tuple[Array, ...]:
        result = pick(add(a, b), *rest)
        return (result if relu is None else relu(result),)

    return lane([out32(p.dest)], [*map(integer, p.sources), *extra], core)


def _viadd(i: Instruction) -> Lowered | None:
    """``R, a, b``: a word, or two halves or four bytes; ``.ISAT`` clamps to the signed word."""
    p = split(i)
    packed = _packed_type(i)
    args = [*map(integer, p.sources)]
    if "64" in i.modifiers:
        return lane([out64(p.dest)], [*map(wide, p.sources)], lambda a, b: (a + b,))
    if packed is None:
        if "ISAT" in i.modifiers:
            return lane([out32(p.dest)], args, lambda a, b: (saturating_add(a, b),))
        return lane([out32(p.dest)], args, lambda a, b: (a + b,))
    if "ISAT" in i.modifiers:
        return None
    # A minus before a packed operand negates each part.
    signs = [-1 if getattr(s, "negated", False) else 1 for s in p.sources]
    first, second = signs
    bare = [Arg(a.operands, a.types) for a in args]
    fn = _by_lanes(packed[0], packed[1], lambda a, b: first * a + second * b)
    return lane([out32(p.dest)], bare, lambda a, b: (fn(a, b),))


def _iabs(i: Instruction) -> Lowered | None:
    p = split(i)
    if "64" in i.modifiers:
        return lane([out64(p.dest)], [wide(p.sources[0])], lambda a: (absolute(a),))
    return lane([out32(p.dest)], [integer(p.sources[0])], lambda a: (absolute(a),))


def _vabsdiff(i: Instruction) -> Lowered | None:
    """``|a - b| + c``."""
    p = split(i)
    signed = _is_signed(i)
    return lane([out32(p.dest)], [*map(integer, p.sources)], lambda a, b, c: (sad(a, b, c, signed),))


def _vabsdiff4(i: Instruction) -> Lowered | None:
    """Four absolute byte differences: side by side (c unused), or with ``.ACC`` their sum and c."""
    p = split(i)
    signed = "S8" in i.modifiers
    parts = _by_lanes(8, signed, lambda a, b: np.abs(a - b))

    def core(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        if "ACC" not in i.modifiers:
            return (parts(a, b),)
        total = c
        for k in range(4):
            x, y = video.pick(a, f"b{k}", signed), video.pick(b, f"b{k}", signed)
            total = total + np.abs(x - y).astype(np.uint32)
        return (total,)

    return lane([out32(p.dest)], [*map(integer, p.sources)], core)


def _idp(i: Instruction) -> Lowered | None:
    """``IDP.4A.S8.U8`` and ``IDP.2A.LO.S16.U8``."""
    p = split(i)
    signs = [m[0] == "S" for m in i.modifiers if m in ("S8", "U8", "S16", "U16")]
    first, second = signs[0], signs[1]
    args = [word(s) for s in p.sources]
    if "4A" in i.modifiers:
        return lane([out32(p.dest)], args, lambda a, b, c: (dot4(a, b, c, first, second),))
    high = "HI" in i.modifiers
    return lane([out32(p.dest)], args, lambda a, b, c: (dot2(a, b, c, first, second, high),))


TABLE: Table = {
    "IADD3": _iadd3,
    "IADD": _iadd,
    "IADD32I": _iadd,
    "VIADD": _viadd,
    "IMAD": _imad,
    "LEA": _lea,
    "ISCADD": _iscadd,
    "IMNMX": _imnmx,
    "VIMNMX": _imnmx,
    "VIMNMX3": _imnmx,
    "VIADDMNMX": _viaddmnmx,
    "IABS": _iabs,
    "VABSDIFF": _vabsdiff,
    "VABSDIFF4": _vabsdiff4,
    "IDP": _idp,
}

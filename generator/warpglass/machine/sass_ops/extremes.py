"""Integer minima, packed sums, absolute values and differences, dot products."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import video
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.integer import (
    absolute,
    dot2,
    dot4,
    maximum,
    minimum,
    sad,
    saturating_add,
)
from warpglass.machine.sass_ops.operands import (
    Arg,
    integer,
    is_null,
    is_signed,
    is_value,
    predicate,
    split,
    wide,
    word,
)
from warpglass.machine.sass_ops.wiring import Lowered, Table, lane, out32, out64
from warpglass.sass.model import Instruction

__all__ = ["TABLE"]

_U32: Any = np.uint32


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
    signed = is_signed(i)
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
    if is_value(choice, 1):
        return smaller, []
    if is_value(choice, 0):
        return larger, []
    return (lambda *xs: np.where(xs[-1], smaller(*xs[:-1]), larger(*xs[:-1]))), [choice]


def _imnmx(i: Instruction) -> Lowered | None:
    """``R, a, b, P``; ``VIMNMX3``: three values, one predicate for both steps; ``.RELU``: at least zero."""
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
        if extra or len(p.tail) != 1:
            return None

        def three(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
            result = pick(pick(a, b), c)
            return (result if relu is None else relu(result),)

        return lane([out(p.dest)], args, three)
    if relu is not None:
        return lane([out(p.dest)], [*args, *extra], lambda *xs: (relu(pick(*xs)),))
    return lane([out(p.dest)], [*args, *extra], lambda *xs: (pick(*xs),))


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
    signed = is_signed(i)
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
    "VIADD": _viadd,
    "IMNMX": _imnmx,
    "VIMNMX": _imnmx,
    "VIMNMX3": _imnmx,
    "VIADDMNMX": _viaddmnmx,
    "IABS": _iabs,
    "VABSDIFF": _vabsdiff,
    "VABSDIFF4": _vabsdiff4,
    "IDP": _idp,
}

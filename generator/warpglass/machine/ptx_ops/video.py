"""Video instructions: vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad, vset and their SIMD forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpglass.machine.numeric import compare, video
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.opcode import Builder, Meaning, Opcode, Shape, Table

__all__ = ["TABLE"]


def _selector(word: str) -> str:
    """``b0`` of the shape word ``r:b0``; empty without one."""
    return word.partition(":")[2]


def _is_signed(name: str) -> bool:
    return name.startswith("s")


def _second(op: Opcode) -> str:
    return op.pick(("add", "min", "max"))


def _finish(op: Opcode, shape: Shape, dest: str) -> tuple[int, Callable[..., Array]]:
    """Number of operands after b, and ``(value, c?) -> 32 bits``: clamp, then merge or combine with c."""
    selector, second, sat = _selector(shape[0]), _second(op), op.has("sat")
    is_signed = _is_signed(dest)
    extra = 1 if selector or second else 0

    def fn(x: Array, *c: Array) -> Array:
        if sat:
            x = video.saturate(x, is_signed, selector)
        if selector:
            return video.merge(x, selector, c[0])
        if second:
            return video.secondary(second, x, c[0], is_signed)
        return x.astype(np.uint32)

    return extra, fn


def _scalar(name: str) -> Builder:
    operation = video.LANE_OPERATIONS[name]

    def build(op: Opcode, shape: Shape) -> Meaning:
        dest, a_type, b_type = op.types
        a_part, b_part = _selector(shape[1]), _selector(shape[2])
        extra, finish = _finish(op, shape, dest)

        def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
            x = video.pick(a, a_part, _is_signed(a_type))
            y = video.pick(b, b_part, _is_signed(b_type))
            return (finish(operation(x, y), *c),)

        return Meaning((dest,), (a_type, b_type, "b32")[: 2 + extra], fn)

    return build


def _shift(op: Opcode, shape: Shape) -> Meaning:
    dest, a_type, b_type = op.types
    a_part, b_part = _selector(shape[1]), _selector(shape[2])
    left, wrap = op.base == "vshl", op.has("wrap")
    extra, finish = _finish(op, shape, dest)

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        x = video.pick(a, a_part, _is_signed(a_type))
        n = video.pick(b, b_part, False)
        n = n & 31 if wrap else np.minimum(n, 32)
        if left:
            # In two steps, so that clamping sees the size of what does not fit into 64 bits.
            first = np.minimum(n, 16)
            y = np.left_shift(x, first)
            y = np.left_shift(np.clip(y, -(1 << 45), 1 << 45) if op.has("sat") else y, n - first)
        else:
            y = np.right_shift(x, n)
        return (finish(y, *c),)

    return Meaning((dest,), (a_type, b_type, "b32")[: 2 + extra], fn)


def _vset(op: Opcode, shape: Shape) -> Meaning:
    a_type, b_type = op.types
    a_part, b_part = _selector(shape[1]), _selector(shape[2])
    relation = compare.INTEGER[op.need(compare.INTEGER)]
    extra, finish = _finish(op, shape, "u32")

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        x = video.pick(a, a_part, _is_signed(a_type))
        y = video.pick(b, b_part, _is_signed(b_type))
        return (finish(relation(x, y).astype(np.int64), *c),)

    return Meaning(("u32",), (a_type, b_type, "b32")[: 2 + extra], fn)


def _vmad(op: Opcode, shape: Shape) -> Meaning:
    """``(a * b + c + lsb) >> scale``: lsb is 1 in ``.po`` mode or for a negated operand."""
    dest, a_type, b_type = op.types
    a_part, b_part = _selector(shape[1]), _selector(shape[2])
    minus = [word.startswith("-") for word in shape[1:4]]
    flip = minus[0] != minus[1]
    final_signed = _is_signed(a_type) or _is_signed(b_type) or flip or minus[2]
    scale = {"shr7": 7, "shr15": 15}.get(op.pick(("shr7", "shr15")), 0)
    plus_one, sat = op.has("po"), op.has("sat")

    def fn(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        x = video.pick(a, a_part, _is_signed(a_type))
        y = video.pick(b, b_part, _is_signed(b_type))
        z = c
        lsb = 0
        high, low = _product(x, y)
        if plus_one:
            lsb = 1
        elif flip:
            high, low, lsb = ~high, ~low & _LOW, 1
        elif minus[2]:
            z, lsb = ~c, 1
        addend = video.pick(z, "", final_signed)
        low = low + (addend & _LOW) + lsb
        high = high + (addend >> 32) + (low >> 32)
        low = low & _LOW
        if scale:
            low = ((high << (32 - scale)) & _LOW) | (low >> scale)
            high = high >> scale
        if sat:
            if final_signed:
                over = (high > 0) | ((high == 0) & (low >> 31 != 0))
                under = (high < -1) | ((high == -1) & (low >> 31 == 0))
                low = np.where(over, 0x7FFFFFFF, np.where(under, 0x80000000, low))
            else:
                low = np.where(high != 0, 0xFFFFFFFF, low)
        return (low.astype(np.uint32),)

    return Meaning((dest,), (a_type, b_type, "b32"), fn)


_LOW = np.int64(0xFFFFFFFF)


def _product(x: Array, y: Array) -> tuple[Array, Array]:
    """Exact product of 33-bit integers as (signed high words, low 32 bits), int64 each."""
    x_low, x_high = x & _LOW, x >> 32
    y_low, y_high = y & _LOW, y >> 32
    full = x_low.astype(np.uint64) * y_low.astype(np.uint64)
    low = (full & np.uint64(0xFFFFFFFF)).astype(np.int64)
    high = (
        (full >> np.uint64(32)).astype(np.int64) + x_high * y_low + x_low * y_high + ((x_high * y_high) << 32)
    )
    return high, low


def _simd(name: str, lanes: int) -> Builder:
    letter = "h" if lanes == 2 else "b"
    default = letter + "".join(str(i) for i in reversed(range(lanes)))
    b_default = letter + "".join(str(i) for i in reversed(range(lanes, 2 * lanes)))

    def build(op: Opcode, shape: Shape) -> Meaning:
        if name == "set":
            a_type, b_type = op.types
            dest = "u32"
            relation = compare.INTEGER[op.need(compare.INTEGER)]
            operation: Callable[[Array, Array], Array] = lambda x, y: relation(x, y).astype(np.int64)  # noqa: E731
        else:
            dest, a_type, b_type = op.types
            operation = video.LANE_OPERATIONS[name]
        mask = video.mask_lanes(_selector(shape[0]), lanes)
        a_lanes = video.lane_selection(_selector(shape[1]) or default, lanes)
        b_lanes = video.lane_selection(_selector(shape[2]) or b_default, lanes)
        sat, total = op.has("sat"), op.has("add")
        part = f"{letter}0"

        def lane(a: Array, b: Array, index: int, is_signed: bool) -> Array:
            word = a if index < lanes else b
            return video.pick(word, f"{letter}{index % lanes}", is_signed)

        def fn(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
            result = c
            for i in range(lanes):
                if not mask[i]:
                    continue
                x = lane(a, b, a_lanes[i], _is_signed(a_type))
                y = lane(a, b, b_lanes[i], _is_signed(b_type))
                value = operation(x, y)
                if sat:
                    value = video.saturate(value, _is_signed(dest), part)
                if total:
                    result = result + value.astype(np.uint32)
                else:
                    result = video.merge(value, f"{letter}{i}", result)
            return (result,)

        return Meaning((dest,), (a_type, b_type, "b32"), fn)

    return build


TABLE: Table = {
    **{(f"v{n}", "*"): _scalar(n) for n in ("add", "sub", "absdiff", "min", "max")},
    ("vshl", "*"): _shift,
    ("vshr", "*"): _shift,
    ("vset", "*"): _vset,
    ("vmad", "*"): _vmad,
    **{
        (f"v{n}{k}", "*"): _simd(n, k)
        for n in ("add", "sub", "avrg", "absdiff", "min", "max", "set")
        for k in (2, 4)
    },
}

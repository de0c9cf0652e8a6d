"""Integer arithmetic of PTX (ISA sections "Integer Arithmetic" and "Extended-Precision Arithmetic")."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric import bits, integer
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.model import LaneFunction
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table, width

__all__ = ["TABLE"]


def _signed(op: Opcode) -> bool:
    return op.type.startswith("s")


def _same(op: Opcode, count: int, fn: LaneFunction, **carry: bool) -> Meaning:
    return Meaning((op.type,), (op.type,) * count, fn, **carry)


def _add(op: Opcode, _: Shape) -> Meaning:
    if op.has("sat"):
        return _same(op, 2, lambda a, b: (integer.saturating_add(a, b),))
    if op.has("cc"):
        return _same(op, 2, lambda a, b: integer.add_carry(a, b, None), carry_out=True)
    return _same(op, 2, lambda a, b: (a + b,))


def _sub(op: Opcode, _: Shape) -> Meaning:
    if op.has("sat"):
        return _same(op, 2, lambda a, b: (integer.saturating_sub(a, b),))
    if op.has("cc"):
        return _same(op, 2, lambda a, b: integer.sub_borrow(a, b, None), carry_out=True)
    return _same(op, 2, lambda a, b: (a - b,))


def _addc(op: Opcode, _: Shape) -> Meaning:
    if op.has("cc"):
        return _same(op, 2, integer.add_carry, carry_in=True, carry_out=True)
    return _same(op, 2, lambda a, b, c: (a + b + c.astype(a.dtype),), carry_in=True)


def _subc(op: Opcode, _: Shape) -> Meaning:
    if op.has("cc"):
        return _same(op, 2, integer.sub_borrow, carry_in=True, carry_out=True)
    return _same(op, 2, lambda a, b, c: (a - b - c.astype(a.dtype),), carry_in=True)


def _wider(op: Opcode) -> str:
    return f"{op.type[0]}{2 * width(op.type)}"


def _mul(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    if op.has("wide"):
        return Meaning((_wider(op),), (op.type,) * 2, lambda a, b: (integer.mul_wide(a, b, s),))
    if op.has("hi"):
        return _same(op, 2, lambda a, b: (integer.mul_high(a, b, s),))
    return _same(op, 2, lambda a, b: (a * b,))


def _mad(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    if op.has("wide"):
        wide = _wider(op)
        return Meaning((wide,), (op.type, op.type, wide), lambda a, b, c: (integer.mul_wide(a, b, s) + c,))
    if op.has("hi"):
        if op.has("sat"):
            return _same(op, 3, lambda a, b, c: (integer.saturating_add(integer.mul_high(a, b, s), c),))
        if op.has("cc"):
            return _same(
                op, 3, lambda a, b, c: integer.add_carry(integer.mul_high(a, b, s), c, None), carry_out=True
            )
        return _same(op, 3, lambda a, b, c: (integer.mul_high(a, b, s) + c,))
    if op.has("cc"):
        return _same(op, 3, lambda a, b, c: integer.add_carry(a * b, c, None), carry_out=True)
    return _same(op, 3, lambda a, b, c: (a * b + c,))


def _madc(op: Opcode, _: Shape) -> Meaning:
    s, high = _signed(op), op.has("hi")

    def product(a: Array, b: Array) -> Array:
        return integer.mul_high(a, b, s) if high else a * b

    if op.has("cc"):
        return _same(
            op, 3, lambda a, b, c, k: integer.add_carry(product(a, b), c, k), carry_in=True, carry_out=True
        )
    return _same(op, 3, lambda a, b, c, k: (product(a, b) + c + k.astype(a.dtype),), carry_in=True)


def _mul24(op: Opcode, _: Shape) -> Meaning:
    s, high = _signed(op), op.has("hi")
    return _same(op, 2, lambda a, b: (integer.mul24(a, b, s, high),))


def _mad24(op: Opcode, _: Shape) -> Meaning:
    s, high = _signed(op), op.has("hi")
    if op.has("sat"):
        return _same(op, 3, lambda a, b, c: (integer.saturating_add(integer.mul24(a, b, s, high), c),))
    return _same(op, 3, lambda a, b, c: (integer.mul24(a, b, s, high) + c,))


def _sad(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    return _same(op, 3, lambda a, b, c: (integer.sad(a, b, c, s),))


def _div(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    return _same(op, 2, lambda a, b: (integer.divide(a, b, s),))


def _rem(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    return _same(op, 2, lambda a, b: (integer.remainder(a, b, s),))


def _abs(op: Opcode, _: Shape) -> Meaning:
    return _same(op, 1, lambda a: (integer.absolute(a),))


def _neg(op: Opcode, _: Shape) -> Meaning:
    return _same(op, 1, lambda a: (np.negative(a),))


def _min(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    if op.has("relu"):
        zero = 0
        return _same(
            op, 2, lambda a, b: (integer.maximum(integer.minimum(a, b, s), a.dtype.type(zero), True),)
        )
    return _same(op, 2, lambda a, b: (integer.minimum(a, b, s),))


def _max(op: Opcode, _: Shape) -> Meaning:
    s = _signed(op)
    if op.has("relu"):
        return _same(op, 2, lambda a, b: (integer.maximum(integer.maximum(a, b, s), a.dtype.type(0), True),))
    return _same(op, 2, lambda a, b: (integer.maximum(a, b, s),))


def _lanes(a: Array, lane_bits: int, is_signed: bool) -> list[Array]:
    kind = {(8, False): np.uint8, (8, True): np.int8, (16, False): np.uint16, (16, True): np.int16}
    return [
        np.right_shift(a, np.uint32(shift)).astype(f"u{lane_bits // 8}").view(kind[lane_bits, is_signed])
        for shift in range(0, 32, lane_bits)
    ]


def _join(parts: list[Array], lane_bits: int) -> Array:
    total: Array = np.uint32(0)  # type: ignore[assignment]
    for index, part in enumerate(parts):
        total = total | np.left_shift(
            part.view(f"u{lane_bits // 8}").astype(np.uint32), np.uint32(index * lane_bits)
        )
    return total


def _packed(op: Opcode, _: Shape) -> Meaning:
    """add, sub, neg, min, max on u16x2, s16x2, u8x4, s8x4."""
    s = _signed(op)
    lane_bits = int(op.type[1:].split("x")[0])
    low, high = integer.limits(lane_bits, s)
    relu, sat = op.has("relu"), op.has("sat")
    base = op.base

    def fn(a: Array, b: Array | None = None) -> tuple[Array, ...]:
        out = []
        xs = _lanes(a, lane_bits, s)
        ys = xs if b is None else _lanes(b, lane_bits, s)
        for x, y in zip(xs, ys, strict=True):
            if base in ("min", "max"):
                r = np.minimum(x, y) if base == "min" else np.maximum(x, y)
                if relu:
                    r = np.maximum(r, r.dtype.type(0))
            else:
                wide = x.astype(np.int32)
                wide = -wide if base == "neg" else wide + y if base == "add" else wide - y
                r = (np.clip(wide, low, high) if sat else wide).astype(x.dtype)
            out.append(r)
        return (_join(out, lane_bits),)

    return _same(op, 1 if base == "neg" else 2, fn)


def _dp4a(op: Opcode, _: Shape) -> Meaning:
    x, y = (t.startswith("s") for t in op.types)
    total = "s32" if x or y else "u32"
    return Meaning(
        (total,), (op.types[0], op.types[1], total), lambda a, b, c: (integer.dot4(a, b, c, x, y),)
    )


def _dp2a(op: Opcode, _: Shape) -> Meaning:
    x, y = (t.startswith("s") for t in op.types)
    total, high = "s32" if x or y else "u32", op.has("hi")
    return Meaning(
        (total,), (op.types[0], op.types[1], total), lambda a, b, c: (integer.dot2(a, b, c, x, y, high),)
    )


def _popc(op: Opcode, _: Shape) -> Meaning:
    return Meaning(("u32",), (op.type,), lambda a: (bits.popc(a),))


def _clz(op: Opcode, _: Shape) -> Meaning:
    return Meaning(("u32",), (op.type,), lambda a: (bits.clz(a),))


def _bfind(op: Opcode, _: Shape) -> Meaning:
    s, amount = _signed(op), op.has("shiftamt")
    return Meaning(("u32",), (op.type,), lambda a: (bits.bfind(a, s, amount),))


def _brev(op: Opcode, _: Shape) -> Meaning:
    return _same(op, 1, lambda a: (bits.brev(a),))


def _bfe(op: Opcode, _: Shape) -> Meaning:
    extract = bits.bfe_s if _signed(op) else bits.bfe_u
    return Meaning((op.type,), (op.type, "u32", "u32"), lambda a, b, c: (extract(a, b, c),))


def _bfi(op: Opcode, _: Shape) -> Meaning:
    return Meaning((op.type,), (op.type, op.type, "u32", "u32"), lambda a, b, c, d: (bits.bfi(a, b, c, d),))


def _fns(_: Opcode, __: Shape) -> Meaning:
    return Meaning(("b32",), ("b32", "b32", "s32"), lambda a, b, c: (bits.fns(a, b, c),))


def _szext(op: Opcode, _: Shape) -> Meaning:
    s, wrap = _signed(op), op.has("wrap")
    return Meaning((op.type,), (op.type, "u32"), lambda a, b: (bits.szext(a, b, s, wrap),))


def _bmsk(op: Opcode, _: Shape) -> Meaning:
    wrap = op.has("wrap")
    return Meaning(("b32",), ("u32", "u32"), lambda a, b: (bits.bmsk(a, b, wrap),))


TABLE: Table = {
    ("add", "int"): _add,
    ("sub", "int"): _sub,
    ("addc", "int"): _addc,
    ("subc", "int"): _subc,
    ("mul", "int"): _mul,
    ("mad", "int"): _mad,
    ("madc", "int"): _madc,
    ("mul24", "int"): _mul24,
    ("mad24", "int"): _mad24,
    ("sad", "int"): _sad,
    ("div", "int"): _div,
    ("rem", "int"): _rem,
    ("abs", "int"): _abs,
    ("neg", "int"): _neg,
    ("min", "int"): _min,
    ("max", "int"): _max,
    ("add", "packed"): _packed,
    ("sub", "packed"): _packed,
    ("neg", "packed"): _packed,
    ("min", "packed"): _packed,
    ("max", "packed"): _packed,
    ("dp4a", "*"): _dp4a,
    ("dp2a", "*"): _dp2a,
    ("popc", "int"): _popc,
    ("clz", "int"): _clz,
    ("bfind", "int"): _bfind,
    ("brev", "int"): _brev,
    ("bfe", "int"): _bfe,
    ("bfi", "int"): _bfi,
    ("fns", "int"): _fns,
    ("szext", "int"): _szext,
    ("bmsk", "int"): _bmsk,
}

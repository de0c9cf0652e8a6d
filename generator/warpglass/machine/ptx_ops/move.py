"""mov and its packing and unpacking of vectors."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.convert import CONTAINER
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table, width

__all__ = ["TABLE"]


def _pass(a: Array) -> tuple[Array, ...]:
    return (a,)


def _mov(op: Opcode, shape: Shape) -> Meaning | None:
    if len(shape) != 2:
        return None
    dest, source = shape
    if dest == "r" and source == "r":
        return Meaning((op.type,), (op.type,), _pass)
    count = int((source if dest == "r" else dest)[1:])
    total = width(op.type)
    if "r" in shape and (count < 2 or total % count or total // count not in (8, 16, 32, 64)):
        return None
    if dest == "r":
        return _pack(op, total, count)
    if source == "r":
        return _unpack(op, total, count)
    # mov.v2.u32 {a, b}, {c, d}: element by element, each of the opcode's type.
    return Meaning((op.type,) * count, (op.type,) * count, lambda *xs: xs) if dest == source else None


def _pack(op: Opcode, total: int, count: int) -> Meaning:
    part = total // count
    kind = np.uint64 if total == 128 else CONTAINER[total]
    if total == 128:

        def join128(*xs: Array) -> tuple[Array, ...]:
            words = []
            for half in range(2):
                piece = xs[half * count // 2 : (half + 1) * count // 2]
                words.append(_joined(piece, part, np.uint64))
            return (np.stack(np.broadcast_arrays(*words), axis=-1),)

        return Meaning((op.type,), (f"b{part}",) * count, join128)
    return Meaning((op.type,), (f"b{part}",) * count, lambda *xs: (_joined(xs, part, kind),))


def _joined(xs: tuple[Array, ...], part: int, kind: type[np.unsignedinteger]) -> Array:
    result = xs[0].astype(kind) if part > 8 else xs[0].astype(kind) & kind(0xFF)
    for index, x in enumerate(xs[1:], start=1):
        piece = x.astype(kind) if part > 8 else x.astype(kind) & kind(0xFF)
        result = result | np.left_shift(piece, kind(index * part))
    return result


def _unpack(op: Opcode, total: int, count: int) -> Meaning:
    part = total // count
    kind = CONTAINER[part]
    mask = kind(0xFF) if part == 8 else None

    def split(a: Array) -> tuple[Array, ...]:
        out = []
        for index in range(count):
            word = a[..., index * part // 64] if total == 128 else a
            shift = index * part % 64 if total == 128 else index * part
            piece = np.right_shift(word, word.dtype.type(shift)).astype(kind)
            out.append(piece if mask is None else piece & mask)
        return tuple(out)

    return Meaning((f"b{part}",) * count, (op.type,), split)


TABLE: Table = {("mov", "*"): _mov}

"""mma.sync, wmma.mma and movmatrix. Loads and stores of fragments belong to the memory instructions."""

from __future__ import annotations

import re

import numpy as np

from warpglass.machine.numeric import fragments, mma
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.fragments import Places
from warpglass.machine.ptx_ops.model import WarpFunction
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table

__all__ = ["TABLE"]

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)\Z")

#: Types of A and B that go together.
_FAMILIES: dict[str, frozenset[str]] = {
    "f16": frozenset({"f16"}),
    "bf16": frozenset({"bf16"}),
    "tf32": frozenset({"tf32"}),
    "f64": frozenset({"f64"}),
    "small": frozenset({"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}),
    "bytes": frozenset({"s8", "u8"}),
    "nibbles": frozenset({"s4", "u4"}),
    "b1": frozenset({"b1"}),
}
_MIXED = (("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32"))
#: (D, C) for each family.
_ACCUMULATORS: dict[str, tuple[tuple[str, str], ...]] = {
    "f16": _MIXED,
    "small": _MIXED,
    "bf16": (("f32", "f32"),),
    "tf32": (("f32", "f32"),),
    "f64": (("f64", "f64"),),
    "bytes": (("s32", "s32"),),
    "nibbles": (("s32", "s32"),),
    "b1": (("s32", "s32"),),
}

#: Shapes of mma.sync by the type of A (PTX ISA, "Warp-level Matrix Instructions: mma").
_SHAPES: dict[str, frozenset[str]] = {
    "f16": frozenset({"m16n8k8", "m16n8k16", "m8n8k4"}),
    "bf16": frozenset({"m16n8k8", "m16n8k16"}),
    "tf32": frozenset({"m16n8k4", "m16n8k8"}),
    "f64": frozenset({"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}),
    "e4m3": frozenset({"m16n8k16", "m16n8k32"}),
    "e5m2": frozenset({"m16n8k16", "m16n8k32"}),
    "s8": frozenset({"m8n8k16", "m16n8k16", "m16n8k32"}),
    "u8": frozenset({"m8n8k16", "m16n8k16", "m16n8k32"}),
    "s4": frozenset({"m8n8k32", "m16n8k32", "m16n8k64"}),
    "u4": frozenset({"m8n8k32", "m16n8k32", "m16n8k64"}),
    "b1": frozenset({"m8n8k128", "m16n8k128", "m16n8k256"}),
}


def _registers(places: Places, kind: str) -> int:
    bits = mma.ELEMENT_BITS[kind]
    return int(places[0].shape[1]) // max(1, 32 // bits)


def _formats(kind: str, count: int) -> tuple[str, ...]:
    wide = {"f64": "f64", "f32": "f32", "s32": "s32", "f16": "f16x2", "bf16": "bf16x2"}
    return (wide.get(kind, "b32"),) * count


def _counts(shape: Shape, *counts: int) -> bool:
    """Whether the operands have these numbers of registers."""
    return tuple(1 if word == "r" else int(word[1:]) for word in shape) == counts


def _product(
    op: Opcode,
    shape: Shape,
    kinds: tuple[str, str, str, str],
    sizes: tuple[int, int, int],
    places: tuple[Places, Places, Places],
) -> Meaning | None:
    """A meaning from the types of D, A, B, C, sizes and places; None if they do not fit."""
    d_kind, a_kind, b_kind, c_kind = kinds
    group = next((g for g, types in _FAMILIES.items() if {a_kind, b_kind} <= types), "")
    if (d_kind, c_kind) not in _ACCUMULATORS.get(group, ()):
        return None
    m, n, k = sizes
    a_places, b_places, c_places = places
    a_count, b_count = _registers(a_places, a_kind), _registers(b_places, b_kind)
    c_count, d_count = _registers(c_places, c_kind), _registers(c_places, d_kind)
    saturate, mode = op.has("satfinite"), op.rounding
    arithmetic = "int" if group in ("bytes", "nibbles") else group

    def fn(mask: Array, *xs: Array) -> tuple[Array, ...]:
        full = [np.broadcast_to(x, mask.shape) for x in xs]
        a = mma.gather(full[:a_count], a_places, (m, k), a_kind)
        b = mma.gather(full[a_count : a_count + b_count], b_places, (k, n), b_kind)
        c = mma.gather(full[a_count + b_count :], c_places, (m, n), c_kind)
        if a_kind == "b1":
            d = mma.popcount_product(a, b, c, np.bitwise_and if op.has("and") else np.bitwise_xor)
        else:
            d = mma.multiply(a, b, c, arithmetic, saturate, mode)
        return mma.scatter(d, c_places, d_kind)

    if not _counts(shape, d_count, a_count, b_count, c_count):
        return None
    sources = _formats(a_kind, a_count) + _formats(b_kind, b_count) + _formats(c_kind, c_count)
    return Meaning(_formats(d_kind, d_count), sources, fn, warp=True)


def _mma(op: Opcode, shape: Shape) -> Meaning | None:
    if op.has("sp", "sp::ordered_metadata"):
        return _sparse(op, shape)
    small = op.has("kind::f8f6f4")
    text = op.pick(tuple(x for x in op.mods if _SHAPE.match(x)))
    found = _SHAPE.match(text)
    if found is None or len(op.types) != 4:
        return None
    m, n, k = (int(x) for x in found.groups())
    d_kind, a_kind, b_kind, c_kind = op.types
    if small:
        if text != "m16n8k32" or not {a_kind, b_kind} <= _FAMILIES["small"]:
            return None
    elif text not in _SHAPES[a_kind]:
        return None
    if text == "m8n8k4" and a_kind == "f16":
        return _quad_pairs(op, shape, (d_kind, a_kind, b_kind, c_kind))
    if not op.mods.index("row") < op.mods.index("col"):
        return None
    bits = mma.ELEMENT_BITS[a_kind]
    places = (fragments.mma_a(m, k, bits), fragments.mma_b(k, n, bits), fragments.mma_c(m, n))
    return _product(op, shape, (d_kind, a_kind, b_kind, c_kind), (m, n, k), places)


def _sparse(op: Opcode, shape: Shape) -> Meaning | None:
    """``mma.sp`` on f16 and bf16: A keeps two of each four elements of a row, the metadata says which."""
    d_kind, a_kind, b_kind, c_kind = op.types
    k = {"m16n8k16": 16, "m16n8k32": 32}[op.need(("m16n8k16", "m16n8k32"))]
    allowed = _ACCUMULATORS[a_kind] if a_kind in ("f16", "bf16") and a_kind == b_kind else ()
    if (d_kind, c_kind) not in allowed or not op.mods.index("row") < op.mods.index("col"):
        return None
    a_places = fragments.mma_a(16, k // 2, 16)
    b_places, c_places = fragments.mma_b(k, 8, 16), fragments.mma_c(16)
    a_count, b_count = k // 8, k // 8
    c_count, d_count = _registers(c_places, c_kind), _registers(c_places, d_kind)
    if not _counts(shape, d_count, a_count, b_count, c_count, 1, 1):
        return None

    def fn(mask: Array, *xs: Array) -> tuple[Array, ...]:
        full = [np.broadcast_to(x, mask.shape) for x in xs[:-1]]
        stored = mma.gather(full[:a_count], a_places, (16, k // 2), a_kind)
        b = mma.gather(full[a_count : a_count + b_count], b_places, (k, 8), b_kind)
        c = mma.gather(full[a_count + b_count : -1], c_places, (16, 8), c_kind)
        a = mma.expand_sparse(stored, full[-1], int(xs[-1].flat[0]))
        return mma.scatter(mma.multiply(a, b, c, "float"), c_places, d_kind)

    sources = _formats(a_kind, a_count) + _formats(b_kind, b_count) + _formats(c_kind, c_count)
    return Meaning(_formats(d_kind, d_count), (*sources, "b32", "u32"), fn, warp=True)


def _quad_pairs(op: Opcode, shape: Shape, kinds: tuple[str, str, str, str]) -> Meaning | None:
    """``mma.m8n8k4.f16``: four 8x8x4 products, each by eight lanes."""
    d_kind, a_kind, b_kind, c_kind = kinds
    if (a_kind, b_kind) != ("f16", "f16") or (d_kind, c_kind) not in _MIXED:
        return None
    layouts = [x for x in op.mods if x in ("row", "col")]
    a_places = fragments.quad_pair_a(layouts[0] == "row")
    b_places = fragments.quad_pair_b(layouts[1] == "row")
    c_places = fragments.quad_pair_c(c_kind == "f32")
    d_places = fragments.quad_pair_c(d_kind == "f32")
    pair = (np.arange(32) % 16) // 4

    def shifted(places: Places, rows: int) -> Places:
        """The four matrices stacked: rows of product q start at q * rows."""
        return places[0] + pair[:, None] * rows, places[1]

    c_count = 8 if c_kind == "f32" else 4
    d_count = 8 if d_kind == "f32" else 4

    def fn(mask: Array, *xs: Array) -> tuple[Array, ...]:
        full = [np.broadcast_to(x, mask.shape) for x in xs]
        warps = mask.shape[0]
        a = mma.gather(full[:2], shifted(a_places, 8), (32, 4), "f16").reshape(warps * 4, 8, 4)
        b = mma.gather(full[2:4], shifted(b_places, 4), (16, 8), "f16").reshape(warps * 4, 4, 8)
        c = mma.gather(full[4:], shifted(c_places, 8), (32, 8), c_kind).reshape(warps * 4, 8, 8)
        d = mma.multiply(a, b, c, "float").reshape(warps, 32, 8)
        return mma.scatter(d, shifted(d_places, 8), d_kind)

    if not _counts(shape, d_count, 2, 2, c_count):
        return None
    sources = ("f16x2",) * 4 + _formats(c_kind, c_count)
    return Meaning(_formats(d_kind, d_count), sources, fn, warp=True)


def _wmma(op: Opcode, shape: Shape) -> Meaning | None:
    """``wmma.mma``: f16 names only D and C, the other forms all four types."""
    if not op.has("mma"):
        return None
    text = op.pick(tuple(x for x in op.mods if _SHAPE.match(x)))
    found = _SHAPE.match(text)
    if found is None:
        return None
    m, n, k = (int(x) for x in found.groups())
    if len(op.types) == 2:
        d_kind, c_kind = op.types
        a_kind = b_kind = "f16"
    else:
        d_kind, a_kind, b_kind, c_kind = op.types
    places = (
        fragments.wmma_fragment("a", text, a_kind),
        fragments.wmma_fragment("b", text, b_kind),
        fragments.wmma_fragment("c", text, c_kind),
    )
    return _product(op, shape, (d_kind, a_kind, b_kind, c_kind), (m, n, k), places)


def _movmatrix(op: Opcode, _: Shape) -> Meaning | None:
    if not op.has("m8n8") or not op.has("trans"):
        return None
    rows, columns = fragments.tile8x8()

    def move(mask: Array, a: Array) -> tuple[Array, ...]:
        values = mma.unpack_elements([np.broadcast_to(a, mask.shape)], 16)
        tile = np.zeros((mask.shape[0], 8, 8), dtype=np.uint32)
        tile[:, rows, columns] = values
        return mma.pack_elements(tile[:, columns, rows], 16)

    fn: WarpFunction = move
    return Meaning(("b32",), ("b32",), fn, warp=True)


TABLE: Table = {("mma", "*"): _mma, ("wmma", "*"): _wmma, ("movmatrix", "*"): _movmatrix}

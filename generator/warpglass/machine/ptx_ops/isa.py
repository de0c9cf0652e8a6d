"""Which types and modifiers the ISA gives to which opcode.

An opcode outside these rows is refused rather than executed as something similar: an unknown modifier may
change everything. Source: PTX ISA 9, chapter 9.7, syntax of each instruction.
"""

from __future__ import annotations

import re
from itertools import product

from warpglass.machine.numeric.compare import BOOLEAN, FLOAT, INTEGER
from warpglass.machine.ptx_ops.opcode import Opcode, Shape

__all__ = ["is_valid", "operands_fit"]

_INT = "u16 s16 u32 s32 u64 s64"
_WORDS = "u32 s32 u64 s64"
_ROUND = "rn rz rm rp"
_BITS = "b16 b32 b64"
_HALF = "f16 f16x2"
_BRAIN = "bf16 bf16x2"
_COMPARE = " ".join((*FLOAT, *INTEGER, *BOOLEAN))
_CVT_INT = "u8 s8 u16 s16 u32 s32 u64 s64"
_CVT_FLOAT = "f16 bf16 f32 f64"
_SHAPE = re.compile(r"m\d+n\d+k\d+\Z")


def _pairs(*columns: str) -> str:
    """All combinations of types, written ``d.a``."""
    return " ".join(".".join(row) for row in product(*(column.split() for column in columns)))


#: (bases, types, modifiers): each base takes each type (several of an opcode joined by dots) with any of the
#: modifiers. Rows add up: one row has to allow the type and all modifiers together.
_ROWS: tuple[tuple[str, str, str], ...] = (
    ("add sub", f"{_INT} u16x2 s16x2", ""),
    ("add sub", "s32", "sat"),
    ("add sub addc subc", _WORDS, "cc"),
    ("add sub mul", "f32", f"{_ROUND} ftz sat"),
    ("add sub mul", "f64", _ROUND),
    ("add sub mul", _HALF, "rn ftz sat"),
    ("add sub mul", _BRAIN, "rn"),
    ("add sub mul fma", "f32x2", f"{_ROUND} ftz"),
    ("add sub fma", "f32.f16 f32.bf16", f"{_ROUND} sat"),
    ("fma mad", "f32", f"{_ROUND} ftz sat"),
    ("fma mad", "f64", _ROUND),
    ("fma", _HALF, "rn ftz sat relu"),
    ("fma", _BRAIN, "rn relu"),
    ("mul mad", _INT, "lo hi"),
    ("mul mad", "u16 s16 u32 s32", "wide"),
    ("mad", "s32", "hi sat"),
    ("mad madc", _WORDS, "lo hi cc"),
    ("mul24 mad24", "u32 s32", "lo hi"),
    ("mad24", "s32", "hi sat"),
    ("sad div rem", _INT, ""),
    ("div", "f32", f"{_ROUND} approx full ftz"),
    ("div", "f64", _ROUND),
    ("rcp sqrt", "f32", f"{_ROUND} approx ftz"),
    ("rcp", "f64", "approx ftz"),
    ("rcp sqrt", "f64", _ROUND),
    ("rsqrt", "f32 f64", "approx ftz"),
    ("sin cos lg2 ex2", "f32", "approx ftz"),
    ("ex2", f"{_HALF} {_BRAIN}", "approx ftz"),
    ("tanh", f"f32 {_HALF} {_BRAIN}", "approx"),
    ("abs neg", f"s16 s32 s64 f64 {_BRAIN}", ""),
    ("abs neg", f"f32 {_HALF}", "ftz"),
    ("min max", f"{_INT} u16x2 s16x2 f64", ""),
    ("min max", "s32 s16x2", "relu"),
    ("min max", f"f32 {_HALF}", "ftz NaN xorsign abs"),
    ("min max", _BRAIN, "NaN xorsign abs"),
    ("copysign", "f32 f64", ""),
    ("testp", "f32 f64", "finite infinite number notanumber normal subnormal"),
    ("popc clz brev bfi", "b32 b64", ""),
    ("bfind", _WORDS, "shiftamt"),
    ("bfe", _WORDS, ""),
    ("fns", "b32", ""),
    ("szext", "u32 s32", "clamp wrap"),
    ("bmsk", "b32", "clamp wrap"),
    ("dp4a", _pairs("u32 s32", "u32 s32"), ""),
    ("dp2a", _pairs("u32 s32", "u32 s32"), "lo hi"),
    ("and or xor not", f"pred {_BITS}", ""),
    ("cnot shl", _BITS, ""),
    ("shr", f"{_BITS} {_INT}", ""),
    ("shf", "b32", "l r clamp wrap"),
    ("lop3", "b32", "or and"),
    ("prmt", "b32", "f4e b4e rc8 ecl ecr rc16"),
    ("setp", f"{_BITS} {_INT} f32 f64 {_HALF} {_BRAIN}", f"{_COMPARE} ftz"),
    (
        "set",
        _pairs("u32 s32 f32 f16 bf16 u16 s16", f"{_BITS} {_INT} f32 f64 f16 bf16")
        + " "
        + _pairs("f16x2 bf16x2 u32 s32", "f16x2 bf16x2"),
        f"{_COMPARE} ftz",
    ),
    ("selp", f"{_BITS} {_INT} f32 f64", ""),
    ("slct", _pairs(f"{_BITS} {_INT} f32 f64", "s32 f32"), "ftz"),
    ("mov", f"{_BITS} b128 {_INT} f32 f64 pred", ""),
    ("cvt", _pairs(_CVT_INT, _CVT_INT), "sat"),
    ("cvt", _pairs(_CVT_INT, _CVT_FLOAT), "rni rzi rmi rpi ftz sat"),
    ("cvt", _pairs(_CVT_FLOAT, _CVT_INT), f"{_ROUND} ftz sat"),
    ("cvt", _pairs(_CVT_FLOAT, _CVT_FLOAT), f"{_ROUND} rni rzi rmi rpi ftz sat"),
    ("cvt", _pairs("f16 bf16 tf32", "f32"), "rn rz rna relu satfinite"),
    ("cvt", _pairs(_BRAIN + " " + _HALF, "f32"), "rn rz rs ftz relu satfinite"),
    ("cvt", _pairs("e4m3x2 e5m2x2", "f32 f16x2 bf16x2"), "rn relu satfinite"),
    ("cvt", _pairs("e3m2x2 e2m3x2 e2m1x2", "f32 f16x2 bf16x2"), "rn relu satfinite"),
    ("cvt", _pairs("f16x2 bf16x2", "e4m3x2 e5m2x2 e3m2x2 e2m3x2 e2m1x2"), "rn relu satfinite"),
    ("cvt", _pairs("ue8m0x2", "f32 bf16x2"), "rz rp satfinite"),
    ("cvt", "bf16x2.ue8m0x2", "rn"),
    ("cvt", _pairs("u16 s16", "s32") + " " + _pairs("u2 s2 u4 s4 u8 s8 u16 s16", "s32", "b32"), "pack sat"),
    ("shfl", "b32", "sync up down bfly idx"),
    ("vote", "pred", "sync all any uni"),
    ("vote", "b32", "sync ballot"),
    ("match", "b32 b64", "sync any all"),
    ("redux", "u32 s32", "sync add min max"),
    ("redux", "b32", "sync and or xor"),
    ("redux", "f32", "sync min max abs NaN"),
    ("elect", "", "sync"),
    ("activemask", "b32", ""),
    ("movmatrix", "b16", "sync aligned m8n8 trans"),
    ("vadd vsub vabsdiff vmin vmax", _pairs(*["u32 s32"] * 3), "sat add min max"),
    ("vshl vshr", _pairs("u32 s32", "u32 s32", "u32"), "sat clamp wrap add min max"),
    ("vmad", _pairs(*["u32 s32"] * 3), "sat shr7 shr15 po"),
    ("vset", _pairs(*["u32 s32"] * 2), " ".join(INTEGER) + " add min max"),
    (
        "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4",
        _pairs(*["u32 s32"] * 3),
        "sat add",
    ),
    ("vset2 vset4", _pairs(*["u32 s32"] * 2), " ".join(INTEGER) + " add"),
)

#: mma and wmma: their builders know the types; the modifiers are these and one shape.
_TENSOR = frozenset(
    (
        "sync",
        "aligned",
        "row",
        "col",
        "satfinite",
        "xor",
        "and",
        "popc",
        "mma",
        "kind::f8f6f4",
        "rn",
        "rz",
        "rm",
        "rp",
        "sp",
        "sp::ordered_metadata",
    )
)


def _table() -> dict[str, list[tuple[frozenset[str], frozenset[str]]]]:
    table: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
    for bases, types, mods in _ROWS:
        row = (frozenset(types.split() or [""]), frozenset(mods.split()))
        for base in bases.split():
            table.setdefault(base, []).append(row)
    return table


_TABLE = _table()


def is_valid(op: Opcode) -> bool:
    """Whether the ISA has this opcode with these types and modifiers."""
    if op.base in ("mma", "wmma"):
        return all(m in _TENSOR or _SHAPE.match(m) for m in op.mods)
    if len(set(op.mods)) != len(op.mods):
        return False
    types, mods = ".".join(op.types), set(op.mods)
    return any(types in allowed and mods <= row for allowed, row in _TABLE.get(op.base, ()))


_WITH_PAIR = frozenset({"setp", "shfl", "lop3", "match", "elect"})
_WITH_VECTORS = frozenset({"mov", "mma", "wmma"})
_PART = re.compile(r"r:(?:b[0-3]|h[01])\Z")
_LANES = re.compile(r"r:(?:b[0-7]{1,4}|h[0-3]{1,2})\Z")


def operands_fit(op: Opcode, shape: Shape) -> bool:
    """Whether operands of these shapes may stand here at all: pairs, vectors and parts of registers."""
    video = op.base.startswith("v") and op.base != "vote"
    for position, word in enumerate(shape):
        if word == "p":
            if position > 0 or op.base not in _WITH_PAIR:
                return False
        elif word[0] == "v":
            if op.base not in _WITH_VECTORS:
                return False
        elif word != "r":
            plain = word.removeprefix("-")
            if not video or (plain != word and (op.base != "vmad" or position == 0)):
                return False
            pattern = _LANES if op.base[-1] in "24" else _PART
            if plain != "r" and not pattern.match(plain):
                return False
    return True

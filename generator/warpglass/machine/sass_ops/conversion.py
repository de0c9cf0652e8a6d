"""Conversions: between floats, between integers, and between both; packing and unpacking."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import convert, float32
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.formats import FORMATS, round_f64
from warpglass.machine.sass_ops.operands import (
    Arg,
    double,
    half_pair,
    integer,
    selected,
    single,
    split,
    wide,
    word,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, lane, out32
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Operand

__all__ = ["TABLE"]

_U32: Any = np.uint32
_FLOATS = {"F16": "f16", "F32": "f32", "F64": "f64", "BF16": "bf16", "BF16_V2": "bf16", "TF32": "tf32"}
_SMALL = {"E4M3": "e4m3", "E5M2": "e5m2", "E2M3": "e2m3", "E3M2": "e3m2", "E2M1": "e2m1", "E8": "ue8m0"}
_INTEGERS = ("S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64")
_WHOLE = {"TRUNC": "rzi", "FLOOR": "rmi", "CEIL": "rpi"}
_MODES = {"RM": "rm", "RP": "rp", "RZ": "rz", "RN": "rn", "RNA": "rna"}


def _mode(i: Instruction) -> str:
    return next((_MODES[m] for m in i.modifiers if m in _MODES), "rn")


def _float_arg(operand: Operand, name: str, i: Instruction) -> Arg:
    """A float operand as the container of its format."""
    if name == "f64":
        return double(operand, i)
    if name == "f32":
        return single(operand, i)
    arg = half_pair(operand, name, i)
    fix = arg.fix
    if fix is None:
        return Arg(arg.operands, arg.types, lambda a: a.astype(np.uint16))
    return Arg(arg.operands, arg.types, lambda a: fix(a).astype(np.uint16))


def _int_arg(operand: Operand, name: str) -> Arg:
    """An integer operand as the container of its type."""
    width = int(name[1:])
    if width == 64:
        return wide(operand)
    if width == 32:
        return integer(operand)
    arg = word(operand)
    fix = arg.fix
    if fix is None:
        return Arg(arg.operands, arg.types, lambda a: a.astype(np.uint16))
    return Arg(arg.operands, arg.types, lambda a: fix(a).astype(np.uint16))


def _out(operand: Operand, width: int) -> Out:
    return Out(operand, "b64" if width == 64 else "b32")


def _widened(a: Array, name: str) -> Array:
    """A container of 16 bits or less in a register."""
    if a.dtype != np.uint16:
        return a
    if name[0] == "s":
        return a.view(np.int16).astype(np.int32).view(np.uint32)
    return a.astype(np.uint32)


def _integer_types(i: Instruction) -> list[str]:
    return [m.lower() for m in i.modifiers if m in _INTEGERS]


def _float_types(i: Instruction) -> list[str]:
    return [_FLOATS[m] for m in i.modifiers if m in _FLOATS]


def _f2i(i: Instruction) -> Lowered | None:
    """``F2I.U32.F64.TRUNC``: s32 and f32 where nothing is named; ``.NTZ``: NaN gives 0."""
    p = split(i)
    to = next(iter(_integer_types(i)), "s32")
    source = next(iter(_float_types(i)), "f32")
    mode = next((_WHOLE[m] for m in i.modifiers if m in _WHOLE), "rni")
    flush = "FTZ" in i.modifiers and source == "f32"
    width = int(to[1:])
    special = _U32(0 if "NTZ" in i.modifiers else 1 << (width - 1) & 0xFFFFFFFF)

    def core(a: Array) -> tuple[Array, ...]:
        value = float32.flush(a) if flush else a
        result = _widened(convert.float_to_int(value, source, to, mode), to)
        if width <= 32:
            nan = np.isnan(convert.value_of(value, source))
            result = np.where(nan, special, result)
        return (result,)

    return lane([_out(p.dest, width)], [_float_arg(p.sources[0], source, i)], core)


def _i2f(i: Instruction) -> Lowered | None:
    """``I2F.F64.U32``, ``I2FP.F32.S32``: f32 and s32 where nothing is named."""
    p = split(i)
    to = next(iter(_float_types(i)), "f32")
    source = next(iter(_integer_types(i)), "s32")
    mode = _mode(i)

    def core(a: Array) -> tuple[Array, ...]:
        return (_widened(convert.int_to_float(a, source, to, mode), "u"),)

    return lane([_out(p.dest, FORMATS[to].width)], [_int_arg(p.sources[0], source)], core)


def _f2f(i: Instruction) -> Lowered | None:
    """``F2F.F32.F64``: destination, source."""
    p = split(i)
    types = _float_types(i)
    to, source = (types[0], types[1]) if len(types) > 1 else (types[0], "f32") if types else ("f32", "f32")
    mode = _mode(i)
    mods = i.modifiers
    whole = next((_WHOLE[m] for m in mods if m in _WHOLE), "")
    flush_in = "FTZ" in mods and source == "f32"
    flush_out = "FTZ" in mods and to == "f32"
    sat = "SAT" in mods

    def core(a: Array) -> tuple[Array, ...]:
        value = float32.flush(a) if flush_in else a
        if whole or sat:
            x = convert.integral(value, source, whole) if whole else convert.value_of(value, source)
            result = _encoded(convert.saturate_unit(x) if sat else x, to, mode)
        else:
            result = convert.float_to_float(value, source, to, mode)
        if flush_out:
            result = float32.flush(result)
        return (_widened(result, "u"),)

    return lane([_out(p.dest, FORMATS[to].width)], [_float_arg(p.sources[0], source, i)], core)


def _encoded(x: Array, name: str, mode: str = "rn") -> Array:
    if name == "f64":
        return np.asarray(x).view(np.uint64)
    return convert.float_container(round_f64(x, FORMATS[name], mode), name)


def _frnd(i: Instruction) -> Lowered | None:
    """To an integral value of the same format."""
    p = split(i)
    name = next(iter(_float_types(i)), "f32")
    mode = next((_WHOLE[m] for m in i.modifiers if m in _WHOLE), "rni")
    flush = "FTZ" in i.modifiers and name == "f32"

    def core(a: Array) -> tuple[Array, ...]:
        value = float32.flush(a) if flush else a
        return (_widened(_encoded(convert.integral(value, name, mode), name), "u"),)

    return lane([_out(p.dest, FORMATS[name].width)], [_float_arg(p.sources[0], name, i)], core)


def _i2i(i: Instruction) -> Lowered | None:
    """``I2I.S8.S32.SAT``."""
    p = split(i)
    types = _integer_types(i)
    to, source = types[0], (types[1] if len(types) > 1 else "s32")
    sat = "SAT" in i.modifiers
    args = [_int_arg(p.sources[0], source)]
    width = int(to[1:])
    return lane(
        [_out(p.dest, width)], args, lambda a: (_widened(convert.int_to_int(a, source, to, sat), to),)
    )


def _i2ip(i: Instruction) -> Lowered | None:
    """``I2IP.U8.S32.SAT R, a, b, c``: b lowest, then a, then c shifted up."""
    p = split(i)
    types = _integer_types(i)
    if len(types) != 2 or "SAT" not in i.modifiers:
        return None
    part, source = types
    size = int(part[1:])
    mask = _U32((1 << size) - 1)

    def core(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        high = convert.int_to_int(a, source, part, True).astype(np.uint32) & mask
        low = convert.int_to_int(b, source, part, True).astype(np.uint32) & mask
        result = low | (high << _U32(size))
        return (result if size == 16 else result | (c << _U32(2 * size)),)

    return lane([out32(p.dest)], [integer(s) for s in p.sources], core)


def _f2ip(i: Instruction) -> Lowered | None:
    """``F2IP.U8.F32.NTZ R, a, b, c``: bytes of a and b (b lowest) below c shifted up."""
    p = split(i)
    part = _integer_types(i)[0]
    if int(part[1:]) != 8 or "NTZ" not in i.modifiers:
        return None
    mode = next((_WHOLE[m] for m in i.modifiers if m in _WHOLE), "rni")

    def byte(a: Array) -> Array:
        return convert.float_to_int(a, "f32", part, mode).astype(np.uint32) & _U32(0xFF)

    def core(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        return (byte(b) | (byte(a) << _U32(8)) | (c << _U32(16)),)

    args = [single(p.sources[0], i), single(p.sources[1], i), word(p.sources[2])]
    return lane([out32(p.dest)], args, core)


# ---------------------------------------------------------------- packed floats


def _one(i: Instruction, to: str, source: str) -> Callable[[Array], Array]:
    """One element: a container of ``source`` to the pattern of ``to`` as uint32."""
    mods = i.modifiers
    mode, finite, rectify = _mode(i), "SATFINITE" in mods, "RELU" in mods

    def one(a: Array) -> Array:
        if to == "ue8m0":
            return convert.to_ue8m0(a, source, mode, finite).astype(np.uint32)
        if source == "ue8m0":
            x = convert.from_ue8m0(a)
            if rectify:
                x = convert.relu(x)
            return round_f64(x, FORMATS[to], mode, finite).astype(np.uint32)
        return convert.float_to_float(a, source, to, mode, finite, rectify).astype(np.uint32)

    return one


def _f2fp(i: Instruction) -> Lowered | None:
    """``PACK_AB``: a above b. ``PACK_AB_MERGE_C``: a above b, below c shifted up. ``UNPACK_B``: two elements.

    ``F2FP.PACK_AB`` alone is f16 from f32 (sm_75 to sm_86).
    """
    p = split(i)
    types = [m for m in i.modifiers if m in _FLOATS or m in _SMALL]
    names = [_FLOATS.get(m) or _SMALL[m] for m in types]
    what = next(m for m in i.modifiers if m.startswith(("PACK", "UNPACK")))
    if what == "PACK_AB":
        to = names[0] if names else "f16"
        if (names[1:] or ["f32"]) != ["f32"] or FORMATS[to].width != 16:
            return None
        one = _one(i, to, "f32")
        args = [single(s, i) for s in p.sources]
        return lane([out32(p.dest)], args, lambda a, b: ((one(a) << _U32(16)) | one(b),))
    if what == "PACK_B":
        one = _one(i, names[0], names[1])
        return lane([out32(p.dest)], [_float_arg(p.sources[0], names[1], i)], lambda b: (one(b),))
    if what == "PACK_AB_MERGE_C":
        to, source = names[0], names[1]
        step = _step(to)
        one = _one(i, to, source)
        args = [*(_float_arg(s, source, i) for s in p.sources[:2]), word(p.sources[2])]
        return lane(
            [out32(p.dest)], args,
            lambda a, b, c: (one(b) | (one(a) << _U32(step)) | (c << _U32(2 * step)),),
        )  # fmt: skip
    return _unpack(i, what, names[0], names[1])


def _step(name: str) -> int:
    """Bits from one element to the next in memory order."""
    if name == "ue8m0":
        return 8
    width = FORMATS[name].width
    return width if width in (4, 16) else 8


def _unpack(i: Instruction, what: str, to: str, source: str) -> Lowered | None:
    """Two elements of the register (of its ``.H1`` half or ``.Bk`` byte) converted and packed."""
    p = split(i)
    from_step, to_step = _step(source), _step(to)
    operand = p.sources[0]
    part = selected(getattr(operand, "suffixes", ()))
    bare = word(operand)
    args = [Arg(bare.operands, bare.types, part)]
    merge = what == "UNPACK_B_MERGE_C"
    if merge:
        args.append(word(p.sources[1]))
    elif what != "UNPACK_B":
        return None
    mask = _U32((1 << from_step) - 1)
    narrow = _U32(0x3F) if source in ("e2m3", "e3m2") else mask
    one = _one(i, to, source)

    def core(b: Array, *c: Array) -> tuple[Array, ...]:
        low = (b & narrow).astype(np.uint16)
        high = ((b >> _U32(from_step)) & narrow).astype(np.uint16)
        result = one(low) | (one(high) << _U32(to_step))
        return (result | (c[0] << _U32(2 * to_step)) if merge else result,)

    return lane([out32(p.dest)], args, core)


TABLE: Table = {
    "F2I": _f2i,
    "I2F": _i2f,
    "I2FP": _i2f,
    "F2F": _f2f,
    "FRND": _frnd,
    "I2I": _i2i,
    "I2IP": _i2ip,
    "F2IP": _f2ip,
    "F2FP": _f2fp,
}

"""cvt and cvt.pack."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric import convert, float32, integer
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.formats import FORMATS, round_f64
from warpglass.machine.ptx_ops.conversion_packed import packed
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table, kind_of

__all__ = ["TABLE"]

_INT_ROUNDING = ("rni", "rzi", "rmi", "rpi")


def _is_int(name: str) -> bool:
    return kind_of(name) == "int"


def _cvt(op: Opcode, shape: Shape) -> Meaning | None:
    if op.has("pack"):
        return _pack(op, shape)
    dest, source = op.types[0], op.types[1]
    if "x" in dest or "x" in source:
        return packed(op, shape)
    if any(_is_int(name) and int(name[1:]) not in convert.CONTAINER for name in (dest, source)):
        return None
    if _is_int(dest) and _is_int(source):
        sat = op.has("sat")
        d, s = dest.replace("b", "u"), source.replace("b", "u")
        if d == s and not sat:
            return Meaning((dest,), (source,), lambda a: (convert.int_to_int(a, s, d),))
        return Meaning((dest,), (source,), lambda a: (convert.int_to_int(a, s, d, sat),))
    if _is_int(dest):
        return _float_to_int(op, dest, source)
    if _is_int(source):
        return _int_to_float(op, dest, source)
    return _float_to_float(op, dest, source)


def _float_to_int(op: Opcode, dest: str, source: str) -> Meaning:
    mode = op.pick(_INT_ROUNDING, "rzi")
    flush = op.has("ftz") and source == "f32"

    def fn(a: Array) -> tuple[Array, ...]:
        return (convert.float_to_int(float32.flush(a) if flush else a, source, dest, mode),)

    return Meaning((dest,), (source,), fn)


def _int_to_float(op: Opcode, dest: str, source: str) -> Meaning:
    mode, sat = op.rounding, op.has("sat")

    def fn(a: Array) -> tuple[Array, ...]:
        result = convert.int_to_float(a, source, dest, mode)
        if sat:
            clamped = convert.saturate_unit(convert.value_of(result, dest))
            result = convert.float_container(round_f64(clamped, FORMATS[dest]), dest)
        return (result,)

    return Meaning((dest,), (source,), fn)


def _float_to_float(op: Opcode, dest: str, source: str) -> Meaning:
    ftz, sat, finite, rectify = op.has("ftz"), op.has("sat"), op.has("satfinite"), op.has("relu")
    flush_in, flush_out = ftz and source == "f32", ftz and dest == "f32"
    whole = op.pick(_INT_ROUNDING)
    mode = op.rounding

    def core(a: Array) -> Array:
        if whole or sat:
            x = convert.integral(a, source, whole) if whole else convert.value_of(a, source)
            if sat:
                x = convert.saturate_unit(x)
            if dest == "f64":
                return np.asarray(x).view(np.uint64)
            return convert.float_container(round_f64(x, FORMATS[dest], mode, finite), dest)
        return convert.float_to_float(a, source, dest, mode, finite, rectify)

    def fn(a: Array) -> tuple[Array, ...]:
        result = core(float32.flush(a) if flush_in else a)
        return (float32.flush(result) if flush_out else result,)

    return Meaning((dest,), (source,), fn)


def _pack(op: Opcode, shape: Shape) -> Meaning:
    """``cvt.pack.sat.s16.s32 d, a, b`` and ``cvt.pack.sat.u8.s32.b32 d, a, b, c``: b lowest, a, c."""
    part, source = op.types[0], op.types[1]
    size = int(part[1:])
    three = len(shape) == 4
    mask = np.uint32((1 << size) - 1)
    least, most = integer.limits(size, part[0] == "s")

    def fn(a: Array, b: Array, *c: Array) -> tuple[Array, ...]:
        high = np.clip(convert.extend(a, source), least, most).astype(np.uint32) & mask
        low = np.clip(convert.extend(b, source), least, most).astype(np.uint32) & mask
        result = low | (high << np.uint32(size))
        if c:
            result = result | (c[0] << np.uint32(2 * size))
        return (result,)

    return Meaning(("b32",), (source, source, "b32") if three else (source, source), fn)


TABLE: Table = {("cvt", "*"): _cvt}

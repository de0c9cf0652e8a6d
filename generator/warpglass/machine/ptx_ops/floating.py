"""Floating-point arithmetic of f32, f64 and f32x2 (ISA sections "Floating Point" and mixed precision)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpglass.machine.numeric import approx, float32, float64, half
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.convert import value_of
from warpglass.machine.ptx_ops.model import LaneFunction
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, Table

__all__ = ["TABLE", "wrapped_f32"]

Core = Callable[..., Array]

_F32: dict[str, tuple[int, Core]] = {
    "add": (2, float32.add),
    "sub": (2, float32.sub),
    "mul": (2, float32.mul),
    "fma": (3, float32.fma),
    "mad": (3, float32.fma),
}
_F64: dict[str, tuple[int, Core]] = {
    "add": (2, float64.add),
    "sub": (2, float64.sub),
    "mul": (2, float64.mul),
    "fma": (3, float64.fma),
    "mad": (3, float64.fma),
}


def wrapped_f32(core: Core, count: int, ftz: bool, sat: bool) -> LaneFunction:
    """``core`` on containers, with subnormals flushed on both sides and the result clamped where asked."""
    flush, clamp = float32.flush, float32.saturate
    if not ftz and not sat:
        if count == 2:
            return lambda a, b: (core(a, b),)
        return lambda *xs: (core(*xs),)

    def fn(*xs: Array) -> tuple[Array, ...]:
        result = core(*(flush(x) for x in xs)) if ftz else core(*xs)
        if ftz:
            result = flush(result)
        return (clamp(result) if sat else result,)

    return fn


def _f32(op: Opcode, _: Shape) -> Meaning:
    if len(op.types) == 2:  # add.f32.f16 and the like end in "half"; nothing ends in f32 with two types
        raise ValueError(op.text)
    count, core = _F32[op.base]
    mode = op.rounding
    rounded: Core = core if mode == "rn" else lambda *xs: core(*xs, mode)
    return Meaning(("f32",), ("f32",) * count, wrapped_f32(rounded, count, op.has("ftz"), op.has("sat")))


def _f64(op: Opcode, _: Shape) -> Meaning:
    count, core = _F64[op.base]
    mode = op.rounding
    if mode == "rn":
        return Meaning(("f64",), ("f64",) * count, lambda *xs: (core(*xs),))
    return Meaning(("f64",), ("f64",) * count, lambda *xs: (core(*xs, mode),))


def _f32x2(op: Opcode, _: Shape) -> Meaning:
    count, core = _F32[op.base]
    mode = op.rounding
    one = wrapped_f32(lambda *xs: core(*xs, mode), count, op.has("ftz"), False)
    shift = np.uint64(32)

    def fn(*xs: Array) -> tuple[Array, ...]:
        low = one(*(x.astype(np.uint32) for x in xs))[0]
        high = one(*((x >> shift).astype(np.uint32) for x in xs))[0]
        return ((high.astype(np.uint64) << shift) | low,)

    return Meaning(("f32x2",), ("f32x2",) * count, fn)


def _div(op: Opcode, _: Shape) -> Meaning:
    core: Core
    if op.has("approx"):
        core = approx.divide_approx
    elif op.has("full") or op.rounding == "rn":
        core = float32.divide
    else:
        mode = op.rounding
        core = lambda a, b: float32.divide(a, b, mode)  # noqa: E731
    return Meaning(("f32",), ("f32",) * 2, wrapped_f32(core, 2, op.has("ftz"), False))


def _div64(op: Opcode, _: Shape) -> Meaning:
    mode = op.rounding
    return Meaning(("f64",), ("f64",) * 2, lambda a, b: (float64.divide(a, b, mode),))


def _rcp(op: Opcode, _: Shape) -> Meaning:
    mode, one = op.rounding, np.array(0x3F800000, dtype=np.uint32)
    core: Core = lambda a: float32.divide(one, a, mode)  # noqa: E731
    return Meaning(("f32",), ("f32",), wrapped_f32(core, 1, op.has("ftz"), False))


def _rcp64(op: Opcode, _: Shape) -> Meaning:
    if op.has("approx"):
        return Meaning(("f64",), ("f64",), lambda a: (approx.rcp_f64(a),))
    mode, one = op.rounding, np.array(1.0).view(np.uint64)
    return Meaning(("f64",), ("f64",), lambda a: (float64.divide(one, a, mode),))


def _sqrt(op: Opcode, _: Shape) -> Meaning:
    mode = op.rounding
    core: Core = lambda a: float32.sqrt(a, mode)  # noqa: E731
    return Meaning(("f32",), ("f32",), wrapped_f32(core, 1, op.has("ftz"), False))


def _sqrt64(op: Opcode, _: Shape) -> Meaning:
    mode = op.rounding
    return Meaning(("f64",), ("f64",), lambda a: (float64.sqrt(a, mode),))


def _rsqrt64(op: Opcode, _: Shape) -> Meaning:
    ftz = op.has("ftz")
    return Meaning(("f64",), ("f64",), lambda a: (approx.rsqrt_f64(a, ftz),))


def _approx(op: Opcode, _: Shape) -> Meaning:
    name = op.base
    core: Core = lambda a: approx.unary_f32(name, a)  # noqa: E731
    return Meaning(("f32",), ("f32",), wrapped_f32(core, 1, op.has("ftz"), False))


def _quiet(a: Array) -> Array:
    """NaNs canonical: compiled code changes signs by an addition."""
    return float32.canonical(a.view(np.float32))


def _abs(op: Opcode, _: Shape) -> Meaning:
    mask = np.uint32(0x7FFFFFFF)
    return Meaning(("f32",), ("f32",), wrapped_f32(lambda a: _quiet(a & mask), 1, op.has("ftz"), False))


def _neg(op: Opcode, _: Shape) -> Meaning:
    sign = np.uint32(0x80000000)
    return Meaning(("f32",), ("f32",), wrapped_f32(lambda a: _quiet(a ^ sign), 1, op.has("ftz"), False))


def _abs64(_: Opcode, __: Shape) -> Meaning:
    mask = np.uint64((1 << 63) - 1)
    return Meaning(("f64",), ("f64",), lambda a: (a & mask,))


def _neg64(_: Opcode, __: Shape) -> Meaning:
    sign = np.uint64(1 << 63)
    return Meaning(("f64",), ("f64",), lambda a: (a ^ sign,))


def _extreme(op: Opcode, shape: Shape) -> Meaning:
    """min and max of two or three f32; ``.xorsign.abs`` compares magnitudes and multiplies the signs."""
    pick = float32.minimum if op.base == "min" else float32.maximum
    nan, magnitude, xorsign = op.has("NaN"), op.has("abs"), op.has("xorsign")
    mask, sign = np.uint32(0x7FFFFFFF), np.uint32(0x80000000)
    count = len(shape) - 1
    if count not in (2, 3) or (count == 3 and xorsign):
        raise ValueError(op.text)

    def core(*xs: Array) -> Array:
        seen = tuple(x & mask for x in xs) if magnitude else xs
        result = pick(seen[0], seen[1], nan)
        for x in seen[2:]:
            result = pick(result, x, nan)
        if xorsign:
            flip = (xs[0] ^ xs[1]) & sign
            result = np.where((result & mask) > np.uint32(0x7F800000), result, result | flip)
        return result

    fn = core if magnitude or count != 2 or nan else pick
    return Meaning(("f32",), ("f32",) * count, wrapped_f32(fn, count, op.has("ftz"), False))


def _extreme64(op: Opcode, _: Shape) -> Meaning:
    pick = float64.minimum if op.base == "min" else float64.maximum
    return Meaning(("f64",), ("f64",) * 2, lambda a, b: (pick(a, b),))


def _copysign(_: Opcode, __: Shape) -> Meaning:
    return Meaning(("f32",), ("f32",) * 2, lambda a, b: (float32.copysign(a, b),))


def _copysign64(_: Opcode, __: Shape) -> Meaning:
    return Meaning(("f64",), ("f64",) * 2, lambda a, b: (float64.copysign(a, b),))


def _mixed(op: Opcode) -> Meaning:
    """``add.f32.f16 d, a, c`` and ``fma.rn.f32.f16 d, a, b, c``: half operands widened exactly first."""
    source = op.types[1]
    count, core = _F32[op.base]
    mode, narrow = op.rounding, count - 1

    def widened(*xs: Array) -> Array:
        wide = (value_of(x, source).astype(np.float32).view(np.uint32) for x in xs[:narrow])
        return core(*wide, xs[narrow], mode)

    fn = wrapped_f32(widened, count, False, op.has("sat"))
    return Meaning(("f32",), (source,) * narrow + ("f32",), fn)


_HALF: dict[str, tuple[int, Core]] = {
    "add": (2, half.add),
    "sub": (2, half.sub),
    "mul": (2, half.mul),
    "fma": (3, half.fma),
}


def _lanewise(op: Opcode, count: int, core: Callable[..., Array]) -> Meaning:
    """``core(*lanes, name)`` on f16 or bf16, once or on both halves; ftz, sat and relu around it."""
    pair = op.type.endswith("x2")
    name = op.type.removesuffix("x2")
    ftz, sat, rectify = op.has("ftz"), op.has("sat"), op.has("relu")

    def one(*xs: Array) -> Array:
        result = core(*(half.flush(x, name) for x in xs), name) if ftz else core(*xs, name)
        if ftz:
            result = half.flush(result, name)
        if sat:
            result = half.saturate(result, name)
        return half.relu(result, name) if rectify else result

    if not pair:
        return Meaning((op.type,), (op.type,) * count, lambda *xs: (one(*xs),))

    def both(*xs: Array) -> tuple[Array, ...]:
        halves = [half.split(x) for x in xs]
        low = one(*(h[0] for h in halves)).astype(np.uint32)
        high = one(*(h[1] for h in halves)).astype(np.uint32)
        return (low | (high << np.uint32(16)),)

    return Meaning((op.type,), (op.type,) * count, both)


def _half(op: Opcode, _: Shape) -> Meaning | None:
    if len(op.types) == 2:
        return _mixed(op) if op.types[0] == "f32" else None
    if op.has("oob"):
        return None
    if op.rounding != "rn":
        return None
    count, core = _HALF[op.base]
    return _lanewise(op, count, core)


def _half_sign(op: Opcode, _: Shape) -> Meaning:
    mask, sign = np.uint16(0x7FFF), np.uint16(0x8000)
    if op.base == "abs":
        return _lanewise(op, 1, lambda a, name: half.canonical(a & mask, name))
    return _lanewise(op, 1, lambda a, name: half.canonical(a ^ sign, name))


def _half_extreme(op: Opcode, _: Shape) -> Meaning:
    pick = half.minimum if op.base == "min" else half.maximum
    nan, magnitude = op.has("NaN"), op.has("abs")
    mask, sign = np.uint16(0x7FFF), np.uint16(0x8000)

    def core(*args: object) -> Array:
        *xs, name = args
        a, b = xs
        if not magnitude:
            return pick(a, b, name, nan)  # type: ignore[arg-type]
        result = pick(a & mask, b & mask, name, nan)  # type: ignore[operator,arg-type]
        flip = (a ^ b) & sign  # type: ignore[operator]
        special = result > np.uint16(0x7C00 if name == "f16" else 0x7F80)
        return np.where(special, result, result | flip)

    return _lanewise(op, 2, core)


def _half_function(op: Opcode, _: Shape) -> Meaning:
    """ex2 and tanh on f16 and bf16: computed in float64, rounded once."""
    function = approx.UNARY[op.base]
    return _lanewise(op, 1, lambda a, name: half.encode(function(half.value(a, name)), name))


TABLE: Table = {
    **{(base, "f32"): _f32 for base in _F32},
    **{(base, "f64"): _f64 for base in _F64},
    **{(base, "f32x2"): _f32x2 for base in ("add", "sub", "mul", "fma")},
    **{(base, "half"): _half for base in _HALF},
    **{(base, "f32"): _approx for base in ("rsqrt", "sin", "cos", "lg2", "ex2", "tanh")},
    ("ex2", "half"): _half_function,
    ("tanh", "half"): _half_function,
    ("div", "f32"): _div,
    ("div", "f64"): _div64,
    ("rcp", "f32"): _rcp,
    ("rcp", "f64"): _rcp64,
    ("sqrt", "f32"): _sqrt,
    ("sqrt", "f64"): _sqrt64,
    ("rsqrt", "f64"): _rsqrt64,
    ("abs", "f32"): _abs,
    ("neg", "f32"): _neg,
    ("abs", "f64"): _abs64,
    ("neg", "f64"): _neg64,
    ("abs", "half"): _half_sign,
    ("neg", "half"): _half_sign,
    ("min", "f32"): _extreme,
    ("max", "f32"): _extreme,
    ("min", "f64"): _extreme64,
    ("max", "f64"): _extreme64,
    ("min", "half"): _half_extreme,
    ("max", "half"): _half_extreme,
    ("copysign", "f32"): _copysign,
    ("copysign", "f64"): _copysign64,
}

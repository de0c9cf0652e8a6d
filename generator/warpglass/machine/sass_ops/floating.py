"""Single, double and half precision arithmetic, the special-function unit, and the check of a division."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpglass.machine.numeric import approx, float32, float64, half
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.floating import wrapped_f32
from warpglass.machine.sass_ops.compare import half_name
from warpglass.machine.sass_ops.operands import (
    Arg,
    double,
    half_pair,
    half_sources,
    predicate,
    single,
    split,
    unsigned,
    wide,
)  # fmt: skip
from warpglass.machine.sass_ops.wiring import Builder, Lowered, Table, choose, lane, out32, out64, outp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Immediate

__all__ = ["TABLE"]

_U32: Any = np.uint32
_U64: Any = np.uint64
Core = Callable[..., Array]
_MODES = {"RM": "rm", "RP": "rp", "RZ": "rz", "RN": "rn"}


def _mode(i: Instruction) -> str:
    return next((_MODES[m] for m in i.modifiers if m in _MODES), "rn")


def _rounded(core: Core, mode: str) -> Core:
    return core if mode == "rn" else lambda *xs: core(*xs, mode)


def _arith32(core: Core) -> Builder:
    def build(i: Instruction) -> Lowered | None:
        p = split(i)
        args = [single(s, i) for s in p.sources]
        ftz, sat = "FTZ" in i.modifiers, "SAT" in i.modifiers
        return lane([out32(p.dest)], args, wrapped_f32(_rounded(core, _mode(i)), len(args), ftz, sat))

    return build


def _arith64(core: Core) -> Builder:
    def build(i: Instruction) -> Lowered | None:
        p = split(i)
        rounded = _rounded(core, _mode(i))
        return lane([out64(p.dest)], [double(s, i) for s in p.sources], lambda *xs: (rounded(*xs),))

    return build


def _arith32x2(core: Core) -> Builder:
    """Two singles in a register pair; the sign, where there is one, belongs to both."""

    def build(i: Instruction) -> Lowered | None:
        p = split(i)
        count = len(p.sources)
        one = wrapped_f32(_rounded(core, _mode(i)), count, "FTZ" in i.modifiers, "SAT" in i.modifiers)
        args: list[Arg] = []
        flips: list[tuple[bool, bool]] = []
        for source in p.sources:
            if isinstance(source, Immediate):
                return None
            order = [s for s in source.suffixes if s in ("HI_LO", "LO_HI", "LO_LO", "HI_HI")]  # type: ignore[union-attr]
            if order and order[0] != "HI_LO":
                return None
            flips.append((getattr(source, "negated", False), getattr(source, "absolute", False)))
            args.append(wide(unsigned(source)))

        def half_of(xs: tuple[Array, ...], shift: int) -> Array:
            parts = []
            for x, (negated, absolute) in zip(xs, flips, strict=True):
                part = (x >> _U64(shift)).astype(np.uint32)
                if absolute:
                    part = part & _U32(0x7FFFFFFF)
                if negated:
                    part = part ^ _U32(0x80000000)
                parts.append(part)
            return one(*parts)[0]

        def fn(*xs: Array) -> tuple[Array, ...]:
            return (half_of(xs, 0).astype(np.uint64) | (half_of(xs, 32).astype(np.uint64) << _U64(32)),)

        return lane([out64(p.dest)], args, fn)

    return build


def _fmnmx(i: Instruction) -> Lowered | None:
    """``R, a, b, P``: minimum where P holds; ``FMNMX3`` takes three, one predicate for both steps."""
    p = split(i)
    mods = i.modifiers
    nan, xorsign = "NAN" in mods, "XORSIGN" in mods
    args = [single(s, i) for s in p.sources]
    choices = [predicate(q) for q in p.tail]
    constants = [c.operands[0] for c in choices]
    if xorsign and len(args) != 2:
        return None

    def pick(larger: bool, a: Array, b: Array) -> Array:
        result = (float32.maximum if larger else float32.minimum)(a, b, nan)
        if xorsign:
            flip = (a ^ b) & _U32(0x80000000)
            magnitude = result & _U32(0x7FFFFFFF)
            result = np.where(magnitude > _U32(0x7F800000), result, magnitude | flip)
        return result

    known = [not bool(c.value) for c in constants if isinstance(c, Immediate)]
    if len(known) == len(constants):

        def core(*xs: Array) -> Array:
            result = pick(known[0], xs[0], xs[1])
            return pick(known[-1], result, xs[2]) if len(xs) == 3 else result

        return lane([out32(p.dest)], args, wrapped_f32(core, len(args), "FTZ" in mods, False))
    if len(args) != 2:
        return None
    ftz = "FTZ" in mods

    def chosen(a: Array, b: Array, q: Array) -> tuple[Array, ...]:
        if ftz:
            a, b = float32.flush(a), float32.flush(b)
        return (choose(q, pick(False, a, b), pick(True, a, b)),)

    return lane([out32(p.dest)], [*args, *choices], chosen)


def _dmnmx(i: Instruction) -> Lowered | None:
    p = split(i)
    args = [*(double(s, i) for s in p.sources), predicate(p.tail[0])]
    return lane(
        [out64(p.dest)], args, lambda a, b, q: (choose(q, float64.minimum(a, b), float64.maximum(a, b)),)
    )


# ---------------------------------------------------------------- division check

_EXPONENT = np.uint32(0xFF)


def _fchk(i: Instruction) -> Lowered | None:
    """``P, a, b``: whether a / b needs the slow path.

    The hardware's own rule is not public. This one holds wherever ptxas' short sequence (reciprocal, two
    Newton steps, a remainder) could leave the normal range: special or subnormal operands, a tiny dividend,
    a divisor whose reciprocal is subnormal, a quotient near either end of the range.
    """
    o = i.operands

    def core(a: Array, b: Array) -> tuple[Array, ...]:
        ea = ((a >> _U32(23)) & _EXPONENT).astype(np.int32)
        eb = ((b >> _U32(23)) & _EXPONENT).astype(np.int32)
        ratio = ea - eb
        special = (ea == 255) | (eb == 255) | (eb == 0) | (eb >= 252)
        return (special | (ea <= 24) | (ratio >= 126) | (ratio <= -125),)

    return lane([outp(o[0])], [single(o[1], i), single(o[2], i)], core)


# ---------------------------------------------------------------- special functions

_TURN = 2.0 * np.pi

#: MUFU's sine and cosine take the angle in turns (ptxas multiplies by 1/(2 pi) first).
_MUFU: dict[str, Callable[[Array], Array]] = {
    "RCP": approx.UNARY["rcp"],
    "RSQ": approx.UNARY["rsqrt"],
    "LG2": approx.UNARY["lg2"],
    "EX2": approx.UNARY["ex2"],
    "SQRT": approx.UNARY["sqrt"],
    "TANH": approx.UNARY["tanh"],
    "SIN": lambda x: np.sin(np.remainder(x, 1.0) * _TURN),
    "COS": lambda x: np.cos(np.remainder(x, 1.0) * _TURN),
}


def _mufu(i: Instruction) -> Lowered | None:
    """Subnormals are flushed on both sides; else the result is the true value rounded once."""
    p = split(i)
    name = next(m for m in i.modifiers if m in _MUFU or m in ("RCP64H", "RSQ64H"))
    if name in ("RCP64H", "RSQ64H"):
        reciprocal = name == "RCP64H"

        def high(a: Array) -> tuple[Array, ...]:
            x = a.astype(np.uint64) << _U64(32)
            result = approx.rcp_f64(x) if reciprocal else approx.rsqrt_f64(x, True)
            return ((result >> _U64(32)).astype(np.uint32),)

        return lane([out32(p.dest)], [single(p.sources[0], i)], high)
    function = _MUFU[name]
    if any(m in ("F16", "BF16", "BF16_V2", "F16_V2") for m in i.modifiers):
        return _mufu_half(i, function)

    def core(a: Array) -> Array:
        return float32.canonical(np.asarray(function(float32.wide(a)).astype(np.float32)))

    return lane([out32(p.dest)], [single(p.sources[0], i)], wrapped_f32(core, 1, True, "SAT" in i.modifiers))


def _mufu_half(i: Instruction, function: Callable[[Array], Array]) -> Lowered | None:
    """Half precision in the lower half (or the one named); the upper half of the result is zero."""
    p = split(i)
    name = "bf16" if any(m.startswith("BF16") for m in i.modifiers) else "f16"
    packed = "PACKED" in i.modifiers or any(m.endswith("_V2") for m in i.modifiers)

    def core(a: Array) -> tuple[Array, ...]:
        low, high = (half.encode(function(half.value(x, name)), name) for x in half.split(a))
        result = low.astype(np.uint32)
        return (result | (high.astype(np.uint32) << _U32(16)) if packed else result,)

    return lane([out32(p.dest)], [half_pair(p.sources[0], name, i)], core)


# ---------------------------------------------------------------- halves


def _packed(i: Instruction, core: Callable[..., Array], count: int) -> Lowered | None:
    p = split(i)
    name, mods = half_name(i), i.modifiers
    args = [half_pair(s, name, i) for s in half_sources(p.sources)]
    if len(args) != count:
        return None
    ftz, sat, rectify = "FTZ" in mods, "SAT" in mods, "RELU" in mods

    def one(*xs: Array) -> Array:
        result = core(*(half.flush(x, name) for x in xs)) if ftz else core(*xs)
        if ftz:
            result = half.flush(result, name)
        if sat:
            result = half.saturate(result, name)
        return half.relu(result, name) if rectify else result

    def fn(*xs: Array) -> tuple[Array, ...]:
        halves = [half.split(x) for x in xs]
        low = one(*(h[0] for h in halves)).astype(np.uint32)
        high = one(*(h[1] for h in halves)).astype(np.uint32)
        return (low | (high << _U32(16)),)

    return lane([out32(p.dest)], args, fn)


def _hadd2(i: Instruction) -> Lowered | None:
    """``.F32``: the lower halves as singles, added."""
    name = half_name(i)
    if "F32" in i.modifiers:
        p = split(i)
        args = [half_pair(s, name, i) for s in half_sources(p.sources)]
        ftz, sat = "FTZ" in i.modifiers, "SAT" in i.modifiers

        def fn(a: Array, b: Array) -> tuple[Array, ...]:
            x, y = (half.single(half.split(v)[0], name).view(np.uint32) for v in (a, b))
            result = float32.add(x, y)
            if ftz:
                result = float32.flush(result)
            return (float32.saturate(result) if sat else result,)

        return lane([out32(p.dest)], args, fn)
    return _packed(i, lambda a, b: half.add(a, b, name), 2)


def _hmul2(i: Instruction) -> Lowered | None:
    name = half_name(i)
    return _packed(i, lambda a, b: half.mul(a, b, name), 2)


def _hfma2(i: Instruction) -> Lowered | None:
    """Also how ptxas loads a constant: ``HFMA2 R4, -RZ, RZ, 1.875, 0``."""
    name = half_name(i)
    if "F32" in i.modifiers:
        return None
    p = split(i)
    args = [half_pair(s, name, i) for s in half_sources(p.sources)]
    if len(args) == 3 and all(isinstance(a.operands[0], Immediate) and a.fix is None for a in args):
        a, b, c = (int(a.operands[0].value) for a in args)  # type: ignore[union-attr]
        # -0 * 0 + c is c, whatever its sign; a NaN would come out canonical.
        special = any((c >> shift & 0x7FFF) > (0x7C00 if name == "f16" else 0x7F80) for shift in (0, 16))
        if ((a | b) & 0x7FFF7FFF) == 0 and (a ^ b) == 0x80008000 and not special:
            return lane([out32(p.dest)], [args[2]], lambda z: (z,))
    return _packed(i, lambda x, y, z: half.fma(x, y, z, name), 3)


def _hmnmx2(i: Instruction) -> Lowered | None:
    p = split(i)
    name, nan, xorsign = half_name(i), "NAN" in i.modifiers, "XORSIGN" in i.modifiers
    choice = predicate(p.tail[0])
    only = choice.operands[0]
    if not isinstance(only, Immediate):
        return None
    pick = half.minimum if only.value else half.maximum

    def core(a: Array, b: Array) -> Array:
        result = pick(a, b, name, nan)
        if not xorsign:
            return result
        magnitude = result & np.uint16(0x7FFF)
        special = magnitude > np.uint16(0x7C00 if name == "f16" else 0x7F80)
        return np.where(special, result, magnitude | ((a ^ b) & np.uint16(0x8000)))

    args = half_sources(p.sources)
    if len(args) != 2:
        return None
    return _packed(i, core, 2)


TABLE: Table = {
    "FADD": _arith32(float32.add),
    "FMUL": _arith32(float32.mul),
    "FFMA": _arith32(float32.fma),
    "FADD32I": _arith32(float32.add),
    "FMUL32I": _arith32(float32.mul),
    "FFMA32I": _arith32(float32.fma),
    "FADD2": _arith32x2(float32.add),
    "FMUL2": _arith32x2(float32.mul),
    "FFMA2": _arith32x2(float32.fma),
    "DADD": _arith64(float64.add),
    "DMUL": _arith64(float64.mul),
    "DFMA": _arith64(float64.fma),
    "FMNMX": _fmnmx,
    "FMNMX3": _fmnmx,
    "DMNMX": _dmnmx,
    "FCHK": _fchk,
    "MUFU": _mufu,
    "HADD2": _hadd2,
    "HMUL2": _hmul2,
    "HFMA2": _hfma2,
    "HMNMX2": _hmnmx2,
}

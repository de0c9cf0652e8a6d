"""cvt between packed formats: pairs of f16, bf16, fp8, fp6, fp4 and ue8m0.

``cvt.rn.f16x2.f32 d, a, b`` puts a into the upper and b into the lower half; formats of 8 and 6 bits take a
byte each, of 4 bits a nibble. Per-vector scales, and stochastic rounding (``.rs``) to less than 16 bits, are
not known here.
"""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric import convert, float32, half
from warpglass.machine.numeric.bits import Array
from warpglass.machine.numeric.formats import FORMATS, round_f64
from warpglass.machine.ptx_ops.opcode import Meaning, Opcode, Shape, width

__all__ = ["packed"]


def _element(pair: str) -> tuple[str, int]:
    """Element format of a pair and the distance of its elements in bits."""
    name = pair.removesuffix("x2")
    if name == "ue8m0":
        return name, 8
    bits = FORMATS[name].width
    return name, 4 if bits == 4 else max(8, bits)


def _values(a: Array, name: str) -> Array:
    return convert.from_ue8m0(a) if name == "ue8m0" else convert.value_of(a, name)


def _stochastic(op: Opcode, shape: Shape) -> Meaning | None:
    """``cvt.rs.f16x2.f32 d, a, b, rbits``: the upper half of rbits serves a, the lower one b."""
    dest, source = op.types
    if dest not in ("f16x2", "bf16x2") or source != "f32" or len(shape) != 4:
        return None
    name, finite, rectify = dest.removesuffix("x2"), op.has("satfinite"), op.has("relu")

    def one(x: Array, random: Array) -> Array:
        result = half.stochastic(x.view(np.float32), random, name, finite)
        return half.relu(result, name) if rectify else result

    def fn(a: Array, b: Array, random: Array) -> tuple[Array, ...]:
        low, high = half.split(random)
        return (one(b, low).astype(np.uint32) | (one(a, high).astype(np.uint32) << np.uint32(16)),)

    return Meaning((dest,), ("f32", "f32", "b32"), fn)


def packed(op: Opcode, shape: Shape) -> Meaning | None:
    """Meaning of a conversion to or from a pair, or None."""
    dest, source = op.types[0], op.types[1]
    if len(op.types) > 2 or any("::" in m for m in op.mods):
        return None
    if op.has("rs"):
        return _stochastic(op, shape)
    if not dest.endswith("x2"):
        return None
    to, step = _element(dest)
    mode, finite, rectify = op.rounding, op.has("satfinite"), op.has("relu")
    ftz = op.has("ftz")

    def one(x: Array, name: str) -> Array:
        """One element: a container of ``name`` to the pattern of the destination element (uint16)."""
        if to == "ue8m0":
            return convert.to_ue8m0(x, name, mode, finite)
        if name == "f32" and to in ("f16", "bf16") and mode == "rn" and not finite and not rectify:
            return half.nearest(x.view(np.float32), to)
        value = _values(x, name)
        if rectify:
            value = convert.relu(value)
        return round_f64(value, FORMATS[to], mode, finite).astype(np.uint16)

    kind = np.uint32 if width(dest) == 32 else np.uint16

    def join(high: Array, low: Array) -> tuple[Array, ...]:
        return (low.astype(kind) | np.left_shift(high.astype(kind), kind(step)),)

    if source == "f32":
        if len(shape) != 3:
            return None

        def from_floats(a: Array, b: Array) -> tuple[Array, ...]:
            if ftz:
                a, b = float32.flush(a), float32.flush(b)
            return join(one(a, "f32"), one(b, "f32"))

        return Meaning((dest,), ("f32", "f32"), from_floats)
    if not source.endswith("x2") or len(shape) != 2:
        return None
    origin, distance = _element(source)
    mask = (1 << distance) - 1

    def from_pair(a: Array) -> tuple[Array, ...]:
        low = (a & a.dtype.type(mask)).astype(np.uint16)
        high = (np.right_shift(a, a.dtype.type(distance)) & a.dtype.type(mask)).astype(np.uint16)
        if FORMATS.get(origin) is not None and FORMATS[origin].width == 6:
            low, high = low & np.uint16(0x3F), high & np.uint16(0x3F)
        return join(one(high, origin), one(low, origin))

    return Meaning((dest,), (source,), from_pair)

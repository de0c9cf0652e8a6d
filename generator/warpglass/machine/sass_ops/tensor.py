"""Tensor-core products: each is one ``mma`` of PTX, with the same fragments."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric import mma
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.opcode import parse_opcode
from warpglass.machine.ptx_ops.tensor import TABLE as PTX
from warpglass.machine.sass_ops.model import Source
from warpglass.machine.sass_ops.operands import Arg, double, split, word
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, out32, warp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Operand, Register

__all__ = ["TABLE"]

_TYPES = {
    "F16": "f16", "BF16": "bf16", "TF32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2", "S8": "s8", "U8": "u8",
    "S4": "s4", "U4": "u4", "E3M2": "e3m2", "E2M3": "e2m3", "E2M1": "e2m1",
}  # fmt: skip
_SHAPES = {
    "1684": "m16n8k4", "1688": "m16n8k8", "16816": "m16n8k16", "16832": "m16n8k32", "16864": "m16n8k64",
    "8816": "m8n8k16", "8832": "m8n8k32", "88128": "m8n8k128", "168128": "m16n8k128", "168256": "m16n8k256",
    "884": "m8n8k4", "8x8x4": "m8n8k4", "16x8x4": "m16n8k4", "16x8x8": "m16n8k8", "16x8x16": "m16n8k16",
}  # fmt: skip


def _run(operand: Operand, count: int, f64: bool) -> list[Arg]:
    """``count`` consecutive values from the register on; RZ is as many zeros."""
    if not isinstance(operand, Register):
        raise ValueError(str(operand))
    step = 2 if f64 else 1
    found: list[Arg] = []
    for k in range(count):
        part: Source = Register(None if operand.index is None else operand.index + step * k)
        found.append(double(part) if f64 else word(part))
    return found


def _count(elements: int, kind: str) -> int:
    """Registers (pairs for f64) a lane gives to a matrix."""
    return elements // 32 // max(1, 32 // mma.ELEMENT_BITS[kind])


def _product(
    i: Instruction, shape: str, kinds: tuple[str, str, str, str], modifiers: str = "", tail: str = ""
) -> Lowered | None:
    """PTX's ``mma`` of this shape and these types of D, A, B, C, on SASS registers."""
    p = split(i)
    dest = p.dest
    if "SP" in i.modifiers or len(p.sources) != 3 or not isinstance(dest, Register) or dest.index is None:
        return None
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    sizes = (int(m) * int(n), int(m) * int(k), int(k) * int(n), int(m) * int(n))
    counts = tuple(_count(size, kind) for size, kind in zip(sizes, kinds, strict=True))
    words = tuple("r" if count == 1 else f"v{count}" for count in counts)
    text = f"mma.sync.aligned.{shape}.row.col{modifiers}.{'.'.join(kinds)}{tail}"
    meaning = PTX["mma", "*"](parse_opcode(text), words)
    if meaning is None:
        return None
    f64 = kinds[0] == "f64"
    args = [a for s, n_ in zip(p.sources, counts[1:], strict=True) for a in _run(s, n_, f64)]
    outs = [
        Out(Register(dest.index + 2 * place), "b64") if f64 else out32(Register(dest.index + place))
        for place in range(counts[0])
    ]
    return warp(outs, args, meaning.fn)


def _shape(i: Instruction) -> str:
    return _SHAPES[next(m for m in i.modifiers if m in _SHAPES)]


def _hmma(i: Instruction) -> Lowered | None:
    """``HMMA.16816.F32.BF16``: accumulator type, then input type (f16 where none is named)."""
    if any(m.startswith("STEP") for m in i.modifiers):
        return None  # the steps of Volta's 8x8x4
    kinds = [m for m in i.modifiers if m in ("F32", "F16", "BF16", "TF32")]
    d = "f32" if kinds[0] == "F32" else "f16"
    a = _TYPES[kinds[1]] if len(kinds) > 1 else "f16"
    return _product(i, _shape(i), (d, a, a, d))


def _imma(i: Instruction) -> Lowered | None:
    """``IMMA.16832.S8.U8.SAT``: types of A and B."""
    a, b = (_TYPES[m] for m in i.modifiers if m in ("S8", "U8", "S4", "U4"))
    return _product(i, _shape(i), ("s32", a, b, "s32"), ".satfinite" if "SAT" in i.modifiers else "")


def _bmma(i: Instruction) -> Lowered | None:
    how = ".and.popc" if "AND" in i.modifiers else ".xor.popc"
    return _product(i, _shape(i), ("s32", "b1", "b1", "s32"), tail=how)


def _qmma(i: Instruction) -> Lowered | None:
    """``QMMA.16832.F32.E4M3.E5M2``: accumulator, A, B; with scale factors (``.SF``) it is not known."""
    if "SF" in i.modifiers:
        return None
    d = "f32" if "F32" in i.modifiers else "f16"
    a, b = (_TYPES[m] for m in i.modifiers if m in ("E4M3", "E5M2", "E3M2", "E2M3", "E2M1"))
    small = any(kind[:2] in ("e3", "e2") for kind in (a, b))
    return _product(i, _shape(i), (d, a, b, d), ".kind::f8f6f4" if small else "")


def _dmma(i: Instruction) -> Lowered | None:
    mode = next((m.lower() for m in i.modifiers if m in ("RM", "RP", "RZ", "RN")), "rn")
    return _product(i, _shape(i), ("f64",) * 4, f".{mode}")


def _movm(i: Instruction) -> Lowered | None:
    """``MOVM.16.MT88``: an 8x8 matrix of halves transposed; ``MOVM.U4TO8.M832``: an 8x32 one widened."""
    p = split(i)
    mods = i.modifiers
    if "MT88" in mods and "16" in mods:
        meaning = PTX["movmatrix", "*"](parse_opcode("movmatrix.sync.aligned.m8n8.trans.b16"), ("r", "r"))
        return None if meaning is None else warp([out32(p.dest)], [word(p.sources[0])], meaning.fn)
    if "U4TO8" in mods and "M832" in mods:
        return warp(
            [out32(p.dest), out32(Register(_index(p.dest) + 1))], [word(p.sources[0])], _widen_nibbles
        )
    return None


def _index(operand: Operand) -> int:
    if not isinstance(operand, Register) or operand.index is None:
        raise ValueError(str(operand))
    return operand.index


def _widen_nibbles(mask: Array, a: Array) -> tuple[Array, ...]:
    """A fragment of 8x32 nibbles to the fragments of two 8x16 byte matrices, zero-extended."""
    nibbles = mma.unpack_elements([np.broadcast_to(a, mask.shape)], 4)
    rows = nibbles.reshape(mask.shape[0], 8, 32)  # a row's 32 columns lie in four lanes of eight
    halves = rows.reshape(mask.shape[0], 8, 2, 4, 4)  # row, half, lane of the row, byte
    return tuple(mma.pack_elements(halves[:, :, k].reshape(mask.shape[0], 32, 4), 8)[0] for k in range(2))


TABLE: Table = {
    "HMMA": _hmma,
    "IMMA": _imma,
    "BMMA": _bmma,
    "QMMA": _qmma,
    "DMMA": _dmma,
    "MOVM": _movm,
}

"""Tensor-core products: each is one ``mma`` of PTX, with the same fragments."""

from __future__ import annotations

import numpy as np

from warpglass.machine.numeric import mma
from warpglass.machine.numeric.bits import Array
from warpglass.machine.ptx_ops.opcode import container, parse_opcode
from warpglass.machine.ptx_ops.tensor import TABLE as PTX
from warpglass.machine.sass_ops.model import Source
from warpglass.machine.sass_ops.operands import Arg, double, integer, split, word
from warpglass.machine.sass_ops.wiring import Lowered, Out, Table, out32, warp
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Operand, Register

__all__ = ["TABLE"]

_TYPES = {
    "F16": "f16", "BF16": "bf16", "TF32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2", "S8": "s8", "U8": "u8",
    "S4": "s4", "U4": "u4",
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


def _product(i: Instruction, text: str) -> Lowered | None:
    """The meaning of PTX's ``mma`` on SASS registers D, A, B, C."""
    p = split(i)
    if any(m == "SP" for m in i.modifiers) or len(p.sources) != 3:
        return None
    meaning = PTX["mma", "*"](parse_opcode(text), ())
    if meaning is None:
        return None
    formats = list(meaning.sources)
    f64 = formats[0] == "f64"
    # The C fragment is as long as D unless their types differ; A and B share what is left.
    c_count = len(meaning.dests)
    rest = len(formats) - c_count
    a_count, b_count = _ab(rest, text)
    counts = (a_count, b_count, c_count)
    args = [a for s, n in zip(p.sources, counts, strict=True) for a in _run(s, n, f64)]
    dest = p.dest
    if not isinstance(dest, Register) or dest.index is None:
        return None
    step = 2 if f64 else 1
    outs = [
        Out(Register(dest.index + step * k), "b64") if f64 else out32(Register(dest.index + k))
        for k in range(len(meaning.dests))
    ]
    assert all(container(f) in ("b32", "b64") for f in formats)
    return warp(outs, args, meaning.fn)


def _ab(rest: int, text: str) -> tuple[int, int]:
    """Registers of A and B: A has m rows, B eight columns, of the same k and width."""
    rows = 2 if ".m16" in text else 1
    b = rest // (rows + 1)
    return rest - b, b


def _hmma(i: Instruction) -> Lowered | None:
    """``HMMA.16816.F32.BF16``: accumulator type, then input type (f16 where none is named)."""
    mods = i.modifiers
    shape = _SHAPES[next(m for m in mods if m in _SHAPES)]
    if any(m.startswith("STEP") for m in mods):
        return None
    kinds = [m for m in mods if m in ("F32", "F16", "BF16", "TF32")]
    accumulator = "f32" if kinds[0] == "F32" else "f16"
    source = _TYPES[kinds[1]] if len(kinds) > 1 else "f16"
    return _product(i, f"mma.sync.aligned.{shape}.row.col.{accumulator}.{source}.{source}.{accumulator}")


def _imma(i: Instruction) -> Lowered | None:
    """``IMMA.16832.S8.U8.SAT``: types of A and B."""
    mods = i.modifiers
    shape = _SHAPES[next(m for m in mods if m in _SHAPES)]
    a, b = (_TYPES[m] for m in mods if m in ("S8", "U8", "S4", "U4"))
    sat = ".satfinite" if "SAT" in mods else ""
    return _product(i, f"mma.sync.aligned.{shape}.row.col{sat}.s32.{a}.{b}.s32")


def _bmma(i: Instruction) -> Lowered | None:
    mods = i.modifiers
    shape = _SHAPES[next(m for m in mods if m in _SHAPES)]
    how = "and" if "AND" in mods else "xor"
    return _product(i, f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{how}.popc")


def _qmma(i: Instruction) -> Lowered | None:
    """``QMMA.16832.F32.E4M3.E5M2``: accumulator, A, B."""
    mods = i.modifiers
    if "SF" in mods:
        return None  # with scale factors
    shape = _SHAPES[next(m for m in mods if m in _SHAPES)]
    accumulator = "f32" if "F32" in mods else "f16"
    a, b = (_TYPES[m] for m in mods if m in ("E4M3", "E5M2"))
    return _product(i, f"mma.sync.aligned.{shape}.row.col.{accumulator}.{a}.{b}.{accumulator}")


def _dmma(i: Instruction) -> Lowered | None:
    mods = i.modifiers
    shape = _SHAPES[next(m for m in mods if m in _SHAPES)]
    mode = next((m.lower() for m in mods if m in ("RM", "RP", "RZ", "RN")), "rn")
    return _product(i, f"mma.sync.aligned.{shape}.row.col.{mode}.f64.f64.f64.f64")


def _movm(i: Instruction) -> Lowered | None:
    """``MOVM.16.MT88``: an 8x8 matrix of halves transposed; ``MOVM.U4TO8.M832``: an 8x32 one widened."""
    p = split(i)
    mods = i.modifiers
    if "MT88" in mods and "16" in mods:
        meaning = PTX["movmatrix", "*"](parse_opcode("movmatrix.sync.aligned.m8n8.trans.b16"), ())
        return None if meaning is None else warp([out32(p.dest)], [integer(p.sources[0])], meaning.fn)
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

"""The lowering as a whole: nothing it is given makes it raise, and whatever it accepts can be executed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from machine.lanes import DTYPES, instruction, lowered
from warpglass.machine.ptx_ops import _TABLE, LaneOp, WarpOp, isa, lower
from warpglass.machine.ptx_ops.opcode import parse_opcode
from warpglass.ptx.model import Component, Instruction, Register, Sink, Vector

BASES = sorted({base for base, _ in _TABLE})
MODS = [
    "lo", "hi", "wide", "sat", "cc", "rn", "rz", "rm", "rp", "ftz", "approx", "full", "relu",
    "satfinite", "NaN", "abs", "xorsign", "eq", "lt", "equ", "num", "and", "or", "xor", "l", "r",
    "clamp", "wrap", "shiftamt", "f4e", "rc8", "sync", "aligned", "down", "bfly", "any", "all",
    "ballot", "add", "min", "pack", "rni", "rzi", "rs", "row", "col", "m16n8k16", "m16n8k8",
    "m8n8k4", "m16n16k16", "mma", "popc", "po", "shr7", "finite", "kind::f8f6f4", "oob", "trans",
    "m8n8",
]  # fmt: skip
TYPES = [
    "u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b8", "b16", "b32", "b64", "b128", "f16",
    "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64", "pred", "tf32", "u16x2", "s16x2", "e4m3x2",
    "e5m2x2", "e2m1x2", "ue8m0x2", "e4m3", "e4m3x4", "s4", "b1", "s8x4",
]  # fmt: skip
SHAPES = ["r", "r", "r", "r", "p", "v1", "v2", "v3", "v4", "v8", "r:b1", "r:h10", "-r", "r:b9"]


def execute(op, rng):
    """Run an operation on three warps of random operands; check containers and shapes."""
    args = []
    for kind in op.source_types:
        if kind == "b128":
            args.append(rng.integers(0, 2**63, (3, 32, 2), dtype=np.uint64))
        else:
            args.append(
                rng.integers(0, 2 if kind == "pred" else 2**63, (3, 32), dtype=np.uint64).astype(DTYPES[kind])
            )
    with np.errstate(all="ignore"):
        if isinstance(op, WarpOp):
            results = op.fn(rng.integers(0, 2, (3, 32)).astype(bool), *args)
        else:
            results = op.fn(*args)
    assert len(results) == len(op.dests) == len(op.dest_types)
    for result, kind in zip(results, op.dest_types, strict=True):
        array = np.asarray(result)
        assert array.dtype == DTYPES[kind], (kind, array.dtype)
        np.broadcast_to(array, (3, 32, 2) if kind == "b128" else (3, 32))


@given(
    st.sampled_from(BASES),
    st.lists(st.sampled_from(MODS), max_size=4),
    st.lists(st.sampled_from(TYPES), max_size=4),
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=5),
)
@settings(
    max_examples=800,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_any_combination_is_executed_or_refused(base, mods, types, shape):
    op = lower(instruction(".".join([base, *mods, *types]), " ".join(shape)))
    if op is None:
        return
    assert len(op.sources) == len(op.source_types) == len(op.source_formats)
    assert len(op.dests) == len(op.dest_types) == len(op.dest_formats)
    execute(op, np.random.default_rng(1))


@given(st.text(alphabet="abcdefmnrstvx.:0123456789_%", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_text_is_refused_in_peace(text):
    lower(instruction(text, "r r r"))
    lower(Instruction(text, (), None, 1, 1, None, text))
    lower(Instruction(f"mov.{text}", (Vector(()), Register("%r1")), None, 1, 1, None, text))


def test_operands_are_flattened_in_order():
    a, b, c = (Register(f"%r{i}") for i in range(3))
    op = lower(Instruction("mov.b64", (Vector((a, Sink())), c), None, 1, 1, None, ""))
    assert isinstance(op, LaneOp)
    assert (op.dests, op.dest_types, op.sources, op.source_types) == (
        (a, Sink()),
        ("b32", "b32"),
        (c,),
        ("b64",),
    )
    op = lowered("add.cc.u32", "r r r")
    assert (op.dests[-1], op.dest_types[-1]) == (Register("%cc"), "pred")
    op = lowered("addc.cc.u64", "r r r")
    assert (op.sources[-1], op.dests[-1]) == (Register("%cc"), Register("%cc"))
    op = lower(Instruction("mov.b32", (a, Component(b, 2)), None, 1, 1, None, ""))
    assert op is not None
    assert op.sources == (Component(b, 2),)


@pytest.mark.parametrize(
    ("opcode", "shape", "dests", "sources"),
    [
        ("mul.wide.s32", "r r r", ("s64",), ("s32", "s32")),
        ("mad.wide.u16", "r r r r", ("u32",), ("u16", "u16", "u32")),
        ("fma.rn.f32", "r r r r", ("f32",), ("f32",) * 3),
        ("shl.b64", "r r r", ("b64",), ("b64", "u32")),
        ("cvt.s8.s32", "r r", ("s8",), ("s32",)),
        ("cvt.f64.bf16.rp", "r r", ("f64",), ("bf16",)),
        ("setp.lt.f64", "r r r", ("pred",), ("f64", "f64")),
        ("shfl.sync.idx.b32", "p r r r r", ("b32", "pred"), ("b32", "u32", "u32", "b32")),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "v2 v2 r v2", ("f16x2",) * 2, ("f16x2",) * 5),
    ],
)
def test_formats(opcode, shape, dests, sources):
    op = lowered(opcode, shape)
    assert (op.dest_formats, op.source_formats) == (dests, sources)


@pytest.mark.parametrize(
    "opcode",
    [
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        "tex.2d.v4.f32.f32",
        "ld.global.f32",
        "bra",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
        "fma.rn.oob.f16",
        "add.unheard.f32",
        "mul.wide.u64",
        "add.sat.u32",
        "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        "cvt.rs.satfinite.e4m3x4.f32",
        "nothing",
    ],
)
def test_unknown_opcodes_are_refused(opcode):
    for shape in ("r r", "r r r", "r r r r", "v4 v2 v2 v4"):
        assert lower(instruction(opcode, shape)) is None


OPERANDS = [
    "r",
    "r r",
    "r r r",
    "r r r r",
    "r r r r r",
    "p r",
    "p r r",
    "p r r r",
    "p r r r r",
    "p r r r r r",
]
#: Without one of these the ISA has no such opcode.
NEEDED = {
    "setp": "eq",
    "set": "ne",
    "vset": "lt",
    "vset2": "lt",
    "vset4": "lt",
    "shfl": "idx",
    "vote": "ballot any",
    "match": "any",
    "redux": "min xor",
    "testp": "finite",
    "movmatrix": "m8n8.trans",
    "lop3": "or",
    "cvt": "pack.sat",
}


@pytest.mark.parametrize("row", range(len(isa._ROWS)), ids=lambda i: isa._ROWS[i][0].split()[0] + str(i))
def test_every_row_of_the_isa_is_executed(row):
    """Every type of every row, with every modifier and some pairs, is accepted in some form and runs."""
    bases, types, mods = isa._ROWS[row]
    rng = np.random.default_rng(row)
    for base in bases.split():
        needed = [""] + [f".{n}" for n in NEEDED.get(base, "").split()]
        names = mods.split()
        pairs = [f".{x}.{y}" for x in names for y in names if x < y]
        extras = ["", *(f".{m}" for m in names), *rng.permutation(pairs)[:6]]
        for type_name in (types.split() or [""])[:40]:
            accepted = set()
            for need, extra, shape in product(needed, extras, OPERANDS):
                text = f"{base}{need}{extra}" + (f".{type_name}" if type_name else "")
                op = lower(instruction(text, shape))
                if op is not None and (extra, len(shape)) not in accepted:
                    accepted.add((extra, len(shape)))
                    execute(op, rng)
            assert accepted, (base, type_name)


def test_types_are_told_from_modifiers():
    op = parse_opcode("mad.lo.cc.u32")
    assert (op.base, op.mods, op.types) == ("mad", ("lo", "cc"), ("u32",))
    op = parse_opcode("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc")
    assert op.types == ("s32", "b1", "b1", "s32")
    assert parse_opcode("cvt.rp.satfinite.ue8m0x2.bf16x2").types == ("ue8m0x2", "bf16x2")

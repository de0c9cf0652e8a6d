"""What ptxas takes, the tables execute: opcodes are written out by the thousand and assembled.

ptxas is the authority on which types and modifiers go together, and on how many registers a fragment has.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product

import pytest

from machine.lanes import instruction
from warpglass.machine.ptx_ops import lower
from warpglass.machine.ptx_ops.opcode import container

pytestmark = pytest.mark.cuda

ARCH = "sm_100a"
HEADER = f""".version 8.7
.target {ARCH}
.address_size 64
.visible .entry k() {{
.reg .pred %p<40>; .reg .b8 %c<40>; .reg .b16 %h<40>; .reg .b32 %r<80>; .reg .b64 %l<40>;
.reg .f32 %f<40>; .reg .f64 %d<40>; .reg .b128 %q<40>;
"""


def accepted(tmp_path, lines):
    """Indexes of the lines that ptxas takes."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is missing: nothing to ask")
    path = tmp_path / "t.ptx"
    path.write_text(HEADER + "\n".join(lines) + "\nret;\n}\n")
    done = subprocess.run(
        [ptxas, f"-arch={ARCH}", str(path), "-o", str(tmp_path / "out"), "--compile-only"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    first = HEADER.count("\n") + 1
    bad = {int(m[1]) - first for m in re.finditer(r"line (\d+);", done.stderr)}
    assert "syntax" not in done.stderr.lower(), done.stderr[:500]  # it would stop at one
    return [i for i in range(len(lines)) if i not in bad]


def register(kind, index):
    if kind in ("f32", "f64"):
        return f"%{'f' if kind == 'f32' else 'd'}{index}"
    if kind == "e2m1x2":
        return f"%c{index}"
    return {"pred": "%p", "b16": "%h", "b32": "%r", "b64": "%l", "b128": "%q"}[container(kind)] + str(index)


def test_conversions(tmp_path):
    plain = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "tf32"]
    pairs = ["f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2", "ue8m0x2"]
    roundings = ["", "rn", "rz", "rp", "rna", "rni", "rpi"]
    extras = ["", "sat", "ftz", "satfinite", "satfinite.relu"]
    forms = []
    for dest, source in [*product(plain, plain), *product(pairs, [*pairs, "f32"])]:
        for rounding, extra in product(roundings, extras):
            text = ".".join(["cvt", *filter(None, (rounding, extra)), dest, source])
            forms.append((text, (dest, *[source] * (2 if dest in pairs and source == "f32" else 1))))
    lines = [f"{t} {', '.join(register(k, i) for i, k in enumerate(kinds))};" for t, kinds in forms]
    taken = accepted(tmp_path, lines)
    assert len(taken) > 300
    missing = [lines[i] for i in taken if lower(instruction(forms[i][0], "r " * len(forms[i][1]))) is None]
    assert missing == []


def test_arithmetic(tmp_path):
    kinds = [
        "u16",
        "s16",
        "u32",
        "s32",
        "u64",
        "s64",
        "b16",
        "b32",
        "b64",
        "f16",
        "f16x2",
        "bf16",
        "bf16x2",
        "f32",
        "f32x2",
        "f64",
        "pred",
        "u16x2",
        "s16x2",
    ]
    modifiers = [
        "", "lo", "hi", "sat", "cc", "rn", "rz", "rm", "approx", "approx.ftz", "full.ftz", "rn.ftz", "rn.sat",
        "rn.ftz.sat", "rn.relu", "rp.ftz.sat", "lo.cc", "hi.cc", "hi.sat", "relu", "NaN", "xorsign.abs",
        "ftz.NaN", "ftz.NaN.xorsign.abs", "ftz", "clamp", "wrap", "shiftamt", "eq", "lt.ftz", "geu",
        "sync.add", "sync.min", "sync.xor", "sync.max.abs.NaN", "sync.any", "sync.ballot",
    ]  # fmt: skip
    bases = [
        "add",
        "sub",
        "mul",
        "fma",
        "mad",
        "addc",
        "subc",
        "madc",
        "mul24",
        "mad24",
        "sad",
        "div",
        "rem",
        "abs",
        "neg",
        "min",
        "max",
        "popc",
        "clz",
        "bfind",
        "brev",
        "bfi",
        "bfe",
        "fns",
        "szext",
        "bmsk",
        "rcp",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
        "lg2",
        "ex2",
        "tanh",
        "copysign",
        "and",
        "or",
        "xor",
        "not",
        "cnot",
        "shl",
        "shr",
        "selp",
        "redux",
        "match",
        "vote",
    ]
    # What ptxas takes beyond the ISA document.
    skip = {
        "madc.hi.sat.s32",
        "rcp.rn.ftz.f64",
        "fma.rm.bf16",
        "fma.rm.bf16x2",
        "fma.rz.bf16",
        "fma.rz.bf16x2",
    }
    forms = [
        (".".join([base, *filter(None, [modifier]), kind]), kind, count)
        for base, modifier, kind in product(bases, modifiers, kinds)
        for count in (2, 3, 4)
        if not (base in ("addc", "subc", "madc") and "16" in kind)
        and not (base in ("addc", "subc") and modifier == "sat")
    ]
    lines = [f"{t} {', '.join(register(kind, i) for i in range(count))};" for t, kind, count in forms]
    taken = accepted(tmp_path, lines)
    assert len(taken) > 200
    missing = [
        lines[i]
        for i in taken
        if forms[i][0] not in skip and lower(instruction(forms[i][0], "r " * forms[i][2])) is None
    ]
    assert missing == []


def vector(kind, count, start):
    names = [register(kind, start + i) for i in range(count)]
    return "{" + ", ".join(names) + "}"


FRAGMENTS = [
    # opcode, type and registers of d, a, b, c
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f32*4 b32*4 b32*2 f32*4"),
    ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "b32*2 b32*2 b32*1 b32*2"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f32*4 b32*4 b32*2 f32*4"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f32*4 b32*4 b32*2 f32*4"),
    ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "f32*4 b32*2 b32*1 f32*4"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "f64*2 f64*1 f64*1 f64*2"),
    ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "f64*4 f64*8 f64*4 f64*4"),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "f32*4 b32*4 b32*2 f32*4"),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "b32*4 b32*4 b32*2 b32*4"),
    ("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32", "b32*2 b32*1 b32*1 b32*2"),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "b32*4 b32*4 b32*2 b32*4"),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "b32*4 b32*4 b32*2 b32*4"),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "f32*8 b32*2 b32*2 f32*8"),
    ("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", "b32*4 b32*2 b32*2 b32*4"),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "f32*8 b32*8 b32*8 f32*8"),
    ("wmma.mma.sync.aligned.row.col.m8n32k16.f16.f16", "b32*4 b32*8 b32*8 b32*4"),
    ("wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32", "f32*8 b32*8 b32*2 f32*8"),
    ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "f32*8 b32*4 b32*4 f32*8"),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", "b32*8 b32*2 b32*2 b32*8"),
    ("wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32", "b32*8 b32*1 b32*4 b32*8"),
    ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32", "b32*2 b32*1 b32*1 b32*2"),
    ("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "b32*2 b32*1 b32*1 b32*2"),
    ("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64", "f64*2 f64*1 f64*1 f64*2"),
]


def test_fragments_have_as_many_registers(tmp_path):
    """ptxas takes the written number of registers, and so does the table; with one more, neither does."""
    lines, shapes = [], []
    for opcode, text in FRAGMENTS:
        parts = [(kind, int(count)) for kind, _, count in (word.partition("*") for word in text.split())]
        for more in (0, 1):
            sized = [(kind, count + more * (position == 1)) for position, (kind, count) in enumerate(parts)]
            lines.append(f"{opcode} {', '.join(vector(k, c, 0) for k, c in sized)};")
            shapes.append((opcode, " ".join(f"v{c}" for _, c in sized)))
    taken = accepted(tmp_path, lines)
    known = [i for i, (opcode, shape) in enumerate(shapes) if lower(instruction(opcode, shape)) is not None]
    assert known == list(range(0, len(lines), 2))
    # The 1- and 4-bit forms are not in every architecture; none may be wrong, though.
    assert set(taken) <= set(known)
    assert len(taken) >= 14

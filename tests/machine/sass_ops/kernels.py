"""One-thread-per-row PTX kernels around a few instructions, and rows of operands worth trying.

A row is sixteen 32-bit words: the first eight are read as ``%r0`` to ``%r7`` (also as the pairs ``%d0`` to
``%d3``, floats ``%f0`` to ``%f7``, doubles ``%e0`` to ``%e3``), the results are stored as words 8 to 15.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warpglass
from machine.sass_ops.evaluator import assemble, evaluate

#: The first is tested always, the others with the slow tests.
ARCHES = ("sm_80", "sm_120", "sm_75", "sm_86", "sm_89", "sm_90a", "sm_100a")

MODULE = """.version 8.7
.target {arch}
.address_size 64
"""
HEAD = """.visible .entry {name}(.param .u64 .ptr .global p)
{{
.reg .b64 %d<16>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .f64 %e<16>; .reg .b64 %a<3>;
.reg .pred %p<8>; .reg .b16 %h<16>; .reg .b64 %t<16>; .reg .b32 %s<16>;
ld.param.u64 %a0, [p];
mov.u32 %r31, %tid.x;
mul.wide.u32 %a1, %r31, 64;
add.u64 %a2, %a0, %a1;
ld.global.v2.u64 {{%d0, %d1}}, [%a2];
ld.global.v2.u64 {{%d2, %d3}}, [%a2+16];
mov.b64 {{%r0, %r1}}, %d0; mov.b64 {{%r2, %r3}}, %d1; mov.b64 {{%r4, %r5}}, %d2; mov.b64 {{%r6, %r7}}, %d3;
mov.b64 %e0, %d0; mov.b64 %e1, %d1; mov.b64 %e2, %d2; mov.b64 %e3, %d3;
mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
mov.b32 %f4, %r4; mov.b32 %f5, %r5; mov.b32 %f6, %r6; mov.b32 %f7, %r7;
"""
TAIL = "\nret;\n}}\n"


def kernel(body: str, outputs: str, name: str = "k") -> str:
    """An entry; ``outputs`` names result registers: r, f (32 bits), d, e (64), h (16), p (predicates)."""
    text = HEAD.format(name=name) + body
    at = 32
    for name in outputs.split():
        kind = name[1]
        if kind == "p":
            text += f"\nselp.u32 %s15, 1, 0, {name}; st.global.u32 [%a2+{at}], %s15;"
            at += 4
        elif kind in "de":
            at = (at + 7) // 8 * 8
            text += f"\nst.global.b64 [%a2+{at}], {name};"
            at += 8
        elif kind == "h":
            text += f"\nst.global.b16 [%a2+{at}], {name};"
            at += 4
        else:
            text += f"\nst.global.b32 [%a2+{at}], {name};"
            at += 4
    assert at <= 64, outputs
    return text + TAIL.format()


INTEGERS = (
    0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001,
    0xFFFFFFFF, 0xFFFFFFFE, 0x12345678, 0xDEADBEEF, 0x00FF00FF, 0x55555555,
)  # fmt: skip
SINGLES = (
    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF,
    0x40490FDB, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x4B000001, 0xCF000000,
    0x4F7FFFFF, 0x5F000000, 0x3F000000, 0xC0200000, 0x33800000, 0x1F800000, 0x60800000,
)  # fmt: skip
DOUBLES = (
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x0000000000000001,
    0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
    0x7FF8000000000000, 0x400921FB54442D18, 0x41DFFFFFFFC00000, 0x43E0000000000000, 0x3CA0000000000000,
    0x1FF0000000000001, 0x5FF0000000000001, 0xC0045F306DC9C883,
)  # fmt: skip
HALVES = (
    0x0000,
    0x8000,
    0x0001,
    0x83FF,
    0x0400,
    0x3C00,
    0xBC00,
    0x7BFF,
    0x7C00,
    0xFC00,
    0x7E00,
    0x3555,
    0xC500,
)


def rows(kind: str, count: int = 256, seed: int = 1) -> np.ndarray:
    """``uint32 [count, 16]``: operands of ``kind`` (int, f32, f64, half), half of them special values."""
    rng = np.random.default_rng(seed)
    out = np.zeros((count, 16), dtype=np.uint32)
    if kind == "small":  # halves and singles of moderate size, for sums of products
        halves = rng.normal(size=(count, 16)).astype(np.float16).view(np.uint32)
        out[:, :8] = halves
        return out
    if kind == "f64":
        special = rng.choice(np.array(DOUBLES, dtype=np.uint64), (count, 4))
        near = rng.normal(size=(count, 4)) * np.exp2(rng.integers(-40, 40, (count, 4)))
        wide = rng.integers(0, 1 << 64, (count, 4), dtype=np.uint64)
        wide = np.where((wide >> np.uint64(52)) & np.uint64(0x7FF) == 0x7FF, np.uint64(0x3FF8 << 48), wide)
        pick = rng.integers(0, 4, (count, 4))
        values = np.where(pick == 0, special, np.where(pick == 1, wide, near.view(np.uint64)))
        out[:, :8] = values.view(np.uint32)
        return out
    wide32 = rng.integers(0, 1 << 32, (count, 8), dtype=np.uint32)
    pick = rng.integers(0, 4, (count, 8))
    if kind == "f32":
        near = (rng.normal(size=(count, 8)) * np.exp2(rng.integers(-20, 20, (count, 8)))).astype(np.float32)
        wide32 = np.where((wide32 >> 23) & 0xFF == 0xFF, np.uint32(0x3FC00000), wide32)
        special32 = rng.choice(np.array(SINGLES, dtype=np.uint32), (count, 8))
        out[:, :8] = np.where(pick == 0, special32, np.where(pick == 1, wide32, near.view(np.uint32)))
    elif kind == "half":
        pairs = rng.choice(np.array(HALVES, dtype=np.uint16), (count, 16))
        any_ = rng.integers(0, 1 << 16, (count, 16), dtype=np.uint16)
        any_ = np.where(any_ & 0x7C00 == 0x7C00, np.uint16(0x3A00), any_)
        out[:, :8] = (
            np.where(rng.integers(0, 2, (count, 16)) == 0, pairs, any_).astype(np.uint16).view(np.uint32)
        )
    else:
        special32 = rng.choice(np.array(INTEGERS, dtype=np.uint32), (count, 8))
        small = rng.integers(0, 70, (count, 8), dtype=np.uint32)
        out[:, :8] = np.where(pick == 0, small, np.where(pick == 1, wide32, special32))
    return out


Cases = dict[str, tuple[str, ...]]


def both(cases: Cases, name: str, arch: str) -> tuple[np.ndarray, np.ndarray, set[str]]:
    """Result words ``[rows, 8]`` of a case in PTX and in machine code, and the opcodes met.

    A case is the PTX body, the result registers and the kind of operands. All cases that an architecture
    knows are assembled at once.
    """
    entries = {case: f"k{place}" for place, case in enumerate(cases)}
    head = MODULE.format(arch=arch)
    text = head + "\n".join(kernel(c[0], c[1], entries[case]) for case, c in cases.items())
    body, outputs, kind = cases[name]
    data = rows(kind, seed=len(name))
    count = data.shape[0]
    result = warpglass.run(head + kernel(body, outputs), kernel="k", grid=1, block=count, args=[data.copy()])
    assert result.complete, result.stop
    expected = result.buffers[0].array.reshape(count, 16)
    got = data.copy()
    opcodes = evaluate(assemble(text, arch), entries[name], count, [got])
    return expected[:, 8:], got[:, 8:], opcodes


def chosen(table: Callable[[str], Cases]) -> list[object]:
    """Parameters (case, architecture) of every case that ``table`` gives for an architecture."""
    return [
        pytest.param(name, arch, marks=[] if place < 1 else [pytest.mark.slow])
        for place, arch in enumerate(ARCHES)
        for name in table(arch)
    ]

"""Helpers that run one opcode on arrays of containers through its lowered form."""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from warpglass.machine.ptx_ops import LaneOp, WarpOp, lower
from warpglass.ptx.model import Component, Instruction, Negated, Pair, Register, Vector

#: A list of lanes shrinks slowly and a failing lane is printed anyway, so failures are not shrunk.
FAST = settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.generate))

DTYPES = {"pred": np.bool_, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64, "b128": np.uint64}


def instruction(opcode: str, shape: str) -> Instruction:
    """``shape`` is one word an operand: r, p, v2, v4, r:b0, -r …"""
    count = 0

    def fresh() -> Register:
        nonlocal count
        count += 1
        return Register(f"%r{count}")

    operands = []
    for word in shape.split():
        if word == "p":
            operands.append(Pair(fresh(), fresh()))
        elif ":" in word or word[0] == "-":
            _, _, part = word.removeprefix("-").partition(":")
            operand = Component(fresh(), 0, part) if part else fresh()
            operands.append(Negated(operand, arithmetic=True) if word[0] == "-" else operand)
        elif word[0] == "v":
            operands.append(Vector(tuple(fresh() for _ in range(int(word[1:])))))
        else:
            operands.append(fresh())
    return Instruction(opcode, tuple(operands), None, 1, 1, None, opcode)


def lowered(opcode: str, shape: str) -> LaneOp | WarpOp:
    op = lower(instruction(opcode, shape))
    assert op is not None, f"{opcode} {shape} is not known"
    return op


def arrays(op: LaneOp | WarpOp, sources) -> list[np.ndarray]:
    assert len(sources) == len(op.source_types), (op.source_types, len(sources))
    return [
        np.array([int(v) & _mask(kind) for v in np.atleast_1d(np.array(source, dtype=object)).ravel()],
                 dtype=DTYPES[kind]).reshape(np.shape(source))
        for source, kind in zip(sources, op.source_types, strict=True)
    ]  # fmt: skip


def _mask(kind: str) -> int:
    return 1 if kind == "pred" else (1 << int(kind[1:])) - 1


def run(opcode: str, *sources, shape: str | None = None):
    """Results of a lane opcode on lists of patterns: a list of ints, or a tuple of lists for several."""
    op = lowered(opcode, shape or "r " * (1 + len(sources)))
    assert isinstance(op, LaneOp)
    inputs = arrays(op, sources)
    before = [x.copy() for x in inputs]
    with np.errstate(all="ignore"):
        results = op.fn(*inputs)
    for x, y in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, y)
    assert len(results) == len(op.dest_types)
    out = []
    for result, kind in zip(results, op.dest_types, strict=True):
        assert np.asarray(result).dtype == DTYPES[kind], (opcode, kind, np.asarray(result).dtype)
        out.append([int(v) for v in np.broadcast_to(result, np.broadcast_shapes(*(x.shape for x in inputs)))])
    return out[0] if len(out) == 1 else tuple(out)


_EDGES = {
    16: [
        0x0, 0x1, 0x2, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7C01, 0x7E00,
        0x3FF, 0x400, 0x7BFF, 0x3F80, 0x7F80, 0xFF80, 0x7F7F, 0x80, 0x7F, 0xFF, 0x100,
    ],
    32: [
        0x0, 0x1, 0x2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x7F800000,
        0xFF800000, 0x7F800001, 0x7FC00000, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x807FFFFF,
        0x34000000, 0x33800000, 0x4B000000, 0x4B800001, 0xFFFF, 0x10000, 0x1F, 0x20, 0x21, 0xFFFFFF,
        0x800000,
    ],
    64: [
        0x0, 0x1, 0x2, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFFFFFFFFFF,
        0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
        0xFFFFFFFFFFFFF, 0x10000000000000, 0x7FEFFFFFFFFFFFFF, 0x3CA0000000000000, 0x3CB0000000000000,
        0x4330000000000001, 0xFFFFFFFF, 0x100000000, 0x380FFFFFFFFFFFFF, 0x36A0000000000000,
        0x3690000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000,
    ],
}  # fmt: skip


def patterns(width: int, size: int = 24):
    """Lists of ``size`` bit patterns: edges, their neighbours and anything."""
    top = (1 << width) - 1
    one = st.one_of(
        st.sampled_from(_EDGES[max(width, 16)]).map(lambda v: v & top),
        st.integers(0, top),
        st.tuples(st.sampled_from(_EDGES[max(width, 16)]), st.integers(-3, 3)).map(
            lambda t: (t[0] + t[1]) & top
        ),
    )
    return st.lists(one, min_size=size, max_size=size)


def floats(name: str, size: int = 24):
    """Patterns of a float format whose exponents lie close together, so that sums and ties matter."""
    exp, man, width = {"f64": (11, 52, 64), "f32": (8, 23, 32), "f16": (5, 10, 16), "bf16": (8, 7, 16)}[name]
    bias = (1 << (exp - 1)) - 1
    near = st.builds(
        lambda s, e, m: (s << (width - 1)) | ((bias + e) << man) | m,
        st.integers(0, 1),
        st.integers(-man // 2 if man > 10 else -5, man // 2 if man > 10 else 5),
        st.one_of(
            st.integers(0, (1 << man) - 1),
            st.sampled_from(
                [0, 1, 2, 3, (1 << man) - 1, (1 << man) - 2, 1 << (man - 1), (1 << (man - 1)) + 1]
            ),
        ),
    )
    wild = patterns(width, 1).map(lambda v: v[0])
    return st.lists(st.one_of(near, near, wild), min_size=size, max_size=size)

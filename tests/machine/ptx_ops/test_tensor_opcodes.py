"""Tensor-core fragments and products: places from the ISA's formulas, products against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from machine.lanes import lowered
from warpglass.machine.numeric import fragments

# The ISA's own formulas, one lane and element at a time: (group g, member t, element i) -> (row, column).
A_FORMULAS = {
    (16, 8, 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    (16, 16, 16): lambda g, t, i: (g if i in (0, 1, 4, 5) else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
    (16, 4, 32): lambda g, t, i: (g if i == 0 else g + 8, t),
    (16, 8, 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (8, 4, 64): lambda g, t, i: (g, t),
    (16, 8, 64): lambda g, t, i: (g if i % 2 == 0 else g + 8, t + 4 * (i // 2)),
    (16, 16, 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    (16, 32, 8): lambda g, t, i: (
        g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0),
    ),
    (8, 16, 8): lambda g, t, i: (g, t * 4 + i),
    (8, 32, 4): lambda g, t, i: (g, t * 8 + i),
    (16, 64, 4): lambda g, t, i: (
        g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (32 if i >= 16 else 0),
    ),
    (8, 128, 1): lambda g, t, i: (g, t * 32 + i),
}  # fmt: skip
B_FORMULAS = {
    (8, 16): lambda g, t, i: (t * 2 + i, g),
    (16, 16): lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    (4, 32): lambda g, t, i: (t, g),
    (8, 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    (16, 8): lambda g, t, i: (t * 4 + i, g),
    (32, 8): lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    (64, 4): lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    (256, 1): lambda g, t, i: (t * 32 + (i & 31) + (128 if i >= 32 else 0), g),
}


def agrees(places, formula):
    rows, columns = places
    for lane in range(32):
        for i in range(rows.shape[1]):
            assert (rows[lane, i], columns[lane, i]) == formula(lane >> 2, lane % 4, i), (lane, i)


@pytest.mark.parametrize("key", A_FORMULAS)
def test_places_of_a(key):
    agrees(fragments.mma_a(*key), A_FORMULAS[key])


@pytest.mark.parametrize("key", B_FORMULAS)
def test_places_of_b(key):
    agrees(fragments.mma_b(key[0], 8, key[1]), B_FORMULAS[key])


def test_places_of_c():
    agrees(fragments.mma_c(16), lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)))
    agrees(fragments.mma_c(8), lambda g, t, i: (g, t * 2 + i))


def covers(places, rows, columns, times=1):
    seen = np.zeros((rows, columns), dtype=int)
    np.add.at(seen, places, 1)
    assert (seen == times).all()


@pytest.mark.parametrize("shape", ["m16n16k16", "m32n8k16", "m8n32k16"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "s8"])
def test_wmma_fragments_hold_every_element(shape, kind):
    m, n, k = fragments._sizes(shape)
    for matrix, size in (("a", (m, k)), ("b", (k, n)), ("c", (m, n))):
        element = kind if matrix != "c" else {"f16": "f32", "bf16": "f32", "s8": "s32"}[kind]
        places = fragments.wmma_fragment(matrix, shape, element)
        times = places[0].size // (size[0] * size[1])
        covers(places, *size, times=times)
        assert times == 1 or (kind == "f16" and matrix != "c")


def test_ldmatrix_tile():
    rows, columns = fragments.tile8x8()
    assert (rows[5].tolist(), columns[5].tolist()) == ([1, 1], [2, 3])
    rows, columns = fragments.tile8x8(transposed=True)
    assert (rows[5].tolist(), columns[5].tolist()) == ([2, 3], [1, 1])


def f32(x):
    return np.asarray(x, dtype=np.float32).view(np.uint32)


def encode(values, kind):
    """Raw patterns of exactly representable values."""
    values = np.asarray(values)
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (f32(values) >> np.uint32(16)).astype(np.uint16)
    if kind in ("f32", "tf32"):
        return f32(values)
    if kind == "f64":
        return values.astype(np.float64).view(np.uint64)
    if kind == "e4m3":
        # Small integers and halves only: sign, exponent, mantissa by hand.
        table = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, 0.5: 0x30}
        return np.vectorize(lambda v: table[abs(v)] | (0x80 if v < 0 else 0))(values).astype(np.uint8)
    if kind == "e5m2":
        table = {0: 0, 1: 0x3C, 2: 0x40, 3: 0x42, 0.5: 0x38}
        return np.vectorize(lambda v: table[abs(v)] | (0x80 if v < 0 else 0))(values).astype(np.uint8)
    width = {"s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32}[kind]
    return (values.astype(np.int64) & ((1 << width) - 1)).astype(np.uint32)


BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8,
        "s4": 4, "u4": 4, "b1": 1, "s32": 32}  # fmt: skip


def registers(matrix, formula_places, kind):
    """Registers [W, 32] that hold ``matrix`` [W, R, C], packed by the ISA's places."""
    rows, columns = formula_places
    raw = encode(matrix, kind)
    bits = BITS[kind]
    per = max(1, 32 // bits)
    word = np.uint64 if bits == 64 else np.uint32
    out = []
    for start in range(0, rows.shape[1], per):
        total = np.zeros((matrix.shape[0], 32), dtype=word)
        for i in range(per):
            total |= raw[:, rows[:, start + i], columns[:, start + i]].astype(word) << word(bits * i)
        out.append(total)
    return out


MMA = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 16),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8),
    ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 16),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16),
    ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8),
    ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 4),
    ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", 16, 4),
    ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", 16, 8),
    ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", 16, 16),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 16, 32),
    ("mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e4m3.f32", 16, 16),
    ("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32", 8, 16),
    ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", 16, 16),
    ("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 16, 32),
    ("mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32", 8, 32),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 16, 64),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 256),
    ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 128),
]


def draw(rng, shape, kind):
    if kind in ("s8", "s4"):
        low = -128 if kind == "s8" else -8
        return rng.integers(low, -low, shape)
    if kind in ("u8", "u4", "b1"):
        return rng.integers(0, {"u8": 256, "u4": 16, "b1": 2}[kind], shape)
    if kind == "s32":
        return rng.integers(-1000, 1000, shape)
    if kind in ("e4m3", "e5m2"):
        return rng.choice([0, 1, -1, 2, -2, 3, -3, 0.5], shape)
    return rng.integers(-8, 9, shape) / 4


@pytest.mark.parametrize(("opcode", "m", "k"), MMA, ids=lambda v: v if isinstance(v, str) else "")
def test_mma(opcode, m, k):
    rng = np.random.default_rng(7)
    d_kind, a_kind, b_kind, c_kind = [p for p in opcode.split(".") if p in BITS]
    a, b = draw(rng, (3, m, k), a_kind), draw(rng, (3, k, 8), b_kind)
    c = draw(rng, (3, m, 8), c_kind)
    bits = BITS[a_kind]
    ra = registers(a, fragments.mma_a(m, k, bits), a_kind)
    rb = registers(b, fragments.mma_b(k, 8, bits), b_kind)
    rc = registers(c, fragments.mma_c(m), c_kind)
    d_count = len(registers(c, fragments.mma_c(m), d_kind))
    op = lowered(opcode, f"v{d_count} v{len(ra)} v{len(rb)} v{len(rc)}")
    with np.errstate(all="ignore"):
        got = op.fn(np.ones((3, 32), dtype=bool), *ra, *rb, *rc)
    if a_kind == "b1":
        combine = np.bitwise_and if ".and" in opcode else np.bitwise_xor
        want = c + combine(a[:, :, :, None], b[:, None, :, :]).sum(axis=2)
    else:
        want = a @ b + c  # quarters and small integers: exact in any order
    expected = registers(want, fragments.mma_c(m), d_kind)
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("kinds", ["f32.f16.f16.f32", "f16.f16.f16.f16", "f32.f16.f16.f16"])
@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
def test_quad_pairs(kinds, layouts):
    """mma.m8n8k4 of sm_70: the places written out from the ISA, one lane at a time."""
    rng = np.random.default_rng(3)
    first, second = layouts.split(".")
    d_kind, _, _, c_kind = kinds.split(".")
    a, b, c = draw(rng, (4, 8, 4), "f16"), draw(rng, (4, 4, 8), "f16"), draw(rng, (4, 8, 8), "f16")
    want = a @ b + c

    def lane_registers(pick, kind, count):
        out = [np.zeros((1, 32), dtype=np.uint32) for _ in range(count // (2 if kind == "f16" else 1))]
        for lane in range(32):
            for i in range(count):
                raw = int(encode(pick(lane, i), kind))
                if kind == "f16":
                    out[i // 2][0, lane] |= np.uint32(raw << (16 * (i % 2)))
                else:
                    out[i][0, lane] = raw
        return out

    def pair(lane):
        return lane % 16 // 4

    def up(lane):
        return 4 if lane >= 16 else 0

    def a_at(lane, i):
        r, col = (lane % 4 + up(lane), i) if first == "row" else (i + up(lane), lane % 4)
        return a[pair(lane), r, col]

    def b_at(lane, i):
        r, col = (lane % 4, i + up(lane)) if second == "row" else (i, lane % 4 + up(lane))
        return b[pair(lane), r, col]

    def acc(matrix, kind):
        def at(lane, i):
            if kind == "f16":
                return matrix[pair(lane), lane % 4 + up(lane), i]
            row = (lane & 1) + (i & 2) + up(lane)
            return matrix[pair(lane), row, (i & 4) + (lane & 2) + (i & 1)]

        return lane_registers(at, kind, 8)

    ra, rb, rc = lane_registers(a_at, "f16", 4), lane_registers(b_at, "f16", 4), acc(c, c_kind)
    expected = acc(want, d_kind)
    op = lowered(f"mma.sync.aligned.m8n8k4.{layouts}.{kinds}", f"v{len(expected)} v2 v2 v{len(rc)}")
    got = op.fn(np.ones((1, 32), dtype=bool), *ra, *rb, *rc)
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_saturation_and_wrapping_of_integer_accumulators():
    full = np.full((1, 32), 0x7F7F7F7F, dtype=np.uint32)
    top = np.full((1, 32), 0x7FFFFFFF, dtype=np.uint32)
    op = lowered("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32", "v2 r r v2")
    assert (op.fn(np.ones((1, 32), dtype=bool), full, full, top, top)[0] == 0x7FFFFFFF).all()
    op = lowered("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "v2 r r v2")
    wrapped = (0x7FFFFFFF + 16 * 127 * 127) & 0xFFFFFFFF
    assert (op.fn(np.ones((1, 32), dtype=bool), full, full, top, top)[0] == wrapped).all()


WMMA = [
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "f16", "f32", "f32", 8, 8, 8, 8),
    ("wmma.mma.sync.aligned.col.row.m32n8k16.f16.f16", "f16", "f16", "f16", 4, 8, 8, 4),
    ("wmma.mma.sync.aligned.row.row.m8n32k16.f32.f32", "f16", "f32", "f32", 8, 8, 8, 8),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "bf16", "f32", "f32", 8, 4, 4, 8),
    ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", "tf32", "f32", "f32", 8, 4, 4, 8),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", "s8", "s32", "s32", 8, 2, 2, 8),
    ("wmma.mma.sync.aligned.row.col.m8n32k16.s32.u8.u8.s32", "u8", "s32", "s32", 8, 1, 4, 8),
    ("wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64", "f64", "f64", "f64", 2, 1, 1, 2),
]


@pytest.mark.parametrize("case", WMMA, ids=lambda c: c[0])
def test_wmma(case):
    opcode, kind, d_kind, c_kind, nd, na, nb, nc = case
    shape = next(p for p in opcode.split(".") if p.startswith("m") and p[1].isdigit())
    m, n, k = fragments._sizes(shape)
    rng = np.random.default_rng(11)
    a, b, c = draw(rng, (2, m, k), kind), draw(rng, (2, k, n), kind), draw(rng, (2, m, n), c_kind)
    ra = registers(a, fragments.wmma_fragment("a", shape, kind), kind)
    rb = registers(b, fragments.wmma_fragment("b", shape, kind), kind)
    rc = registers(c, fragments.wmma_fragment("c", shape, c_kind), c_kind)
    assert [len(ra), len(rb), len(rc)] == [na, nb, nc]
    op = lowered(opcode, f"v{nd} v{na} v{nb} v{nc}")
    with np.errstate(all="ignore"):
        got = op.fn(np.ones((2, 32), dtype=bool), *ra, *rb, *rc)
    expected = registers(a @ b + c, fragments.wmma_fragment("d", shape, d_kind), d_kind)
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_movmatrix():
    op = lowered("movmatrix.sync.aligned.m8n8.trans.b16", "r r")
    tile = np.arange(64, dtype=np.uint32).reshape(8, 8)
    rows, columns = fragments.tile8x8()
    word = (tile[rows[:, 0], columns[:, 0]] | tile[rows[:, 1], columns[:, 1]] << np.uint32(16))[None]
    (got,) = op.fn(np.ones((1, 32), dtype=bool), word)
    assert got[0, 5] == tile[2, 1] | tile[3, 1] << np.uint32(16)


@pytest.mark.parametrize(("a_kind", "b_kind"), [("e2m1", "e3m2"), ("e2m3", "e2m1"), ("e4m3", "e2m3")])
def test_small_floats_in_bytes(a_kind, b_kind):
    """kind::f8f6f4: fp6 in the low six bits of a byte, fp4 in the middle four."""
    rng = np.random.default_rng(2)
    codes = {
        "e2m1": {0: 0, 1: 0b0010 << 2, -1: 0b1010 << 2, 2: 0b0100 << 2, 0.5: 0b0001 << 2},
        "e3m2": {0: 0, 1: 0b001100, -1: 0b101100, 2: 0b010000, 0.5: 0b001000},
        "e2m3": {0: 0, 1: 0b001000, -1: 0b101000, 2: 0b010000, 0.5: 0b000100},
        "e4m3": {0: 0, 1: 0x38, -1: 0xB8, 2: 0x40, 0.5: 0x30},
    }
    values = [0, 1, -1, 2, 0.5]
    a, b = rng.choice(values, (1, 16, 32)), rng.choice(values, (1, 32, 8))

    def words(matrix, places, kind):
        raw = np.vectorize(codes[kind].get)(matrix)
        return registers(raw, places, "u8")

    ra = words(a, fragments.mma_a(16, 32, 8), a_kind)
    rb = words(b, fragments.mma_b(32, 8, 8), b_kind)
    rc = [np.zeros((1, 32), dtype=np.uint32)] * 4
    op = lowered(f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{a_kind}.{b_kind}.f32", "v4 v4 v2 v4")
    got = op.fn(np.ones((1, 32), dtype=bool), *ra, *rb, *rc)
    for x, y in zip(got, registers(a @ b, fragments.mma_c(16), "f32"), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(("k", "selector"), [(16, 0), (16, 3), (32, 0), (32, 1)])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("variant", ["sp", "sp::ordered_metadata"])
def test_sparse(k, selector, kind, variant):
    """A with two values in each four: compressed, its metadata spread over the lanes that the ISA names."""
    rng = np.random.default_rng(5)
    dense = np.zeros((2, 16, k))
    stored = np.zeros((2, 16, k // 2))
    metadata = np.zeros((2, 32), dtype=np.uint32)
    for w in range(2):
        for row in range(16):
            for group in range(k // 4):
                for i, place in enumerate(sorted(rng.choice(4, 2, replace=False))):
                    value = int(rng.integers(1, 9))
                    element = 2 * group + i
                    dense[w, row, 4 * group + place] = value
                    stored[w, row, element] = value
                    lane = 4 * (row % 8) + (selector if k == 16 else 2 * selector + element // 8)
                    metadata[w, lane] |= np.uint32(
                        int(place) << (2 * (element % 8) + (16 if row >= 8 else 0))
                    )
    b, c = draw(rng, (2, k, 8), kind), draw(rng, (2, 16, 8), "f32")
    ra = registers(stored, fragments.mma_a(16, k // 2, 16), kind)
    rb = registers(b, fragments.mma_b(k, 8, 16), kind)
    rc = registers(c, fragments.mma_c(16), "f32")
    opcode = f"mma.{variant}.sync.aligned.m16n8k{k}.row.col.f32.{kind}.{kind}.f32"
    op = lowered(opcode, f"v4 v{len(ra)} v{len(rb)} v4 r r")
    got = op.fn(np.ones((2, 32), dtype=bool), *ra, *rb, *rc, metadata, np.array([selector], dtype=np.uint32))
    for x, y in zip(got, registers(dense @ b + c, fragments.mma_c(16), "f32"), strict=True):
        np.testing.assert_array_equal(x, y)

"""Integer, logic and bit opcodes against Python integers and the ISA's own pseudo code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine.lanes import FAST, LaneOp, arrays, lowered, patterns, run


def s(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def u(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def number(value: int, kind: str) -> int:
    width = int(kind[1:])
    return s(value, width) if kind[0] == "s" else u(value, width)


def trunc_div(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def check(opcode, rule, *columns):
    got = run(opcode, *columns)
    want = [rule(*row) for row in zip(*columns, strict=True)]
    assert got == want, [(row, hex(g), hex(w)) for row, g, w in zip(zip(*columns), got, want) if g != w][:3]


KINDS = ("u16", "s16", "u32", "s32", "u64", "s64")


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@FAST
def test_binary_arithmetic(kind, data):
    w = int(kind[1:])
    a, b, c = (data.draw(patterns(w)) for _ in range(3))

    def n(v):
        return number(v, kind)

    check(f"add.{kind}", lambda x, y: u(x + y, w), a, b)
    check(f"sub.{kind}", lambda x, y: u(x - y, w), a, b)
    check(f"mul.lo.{kind}", lambda x, y: u(x * y, w), a, b)
    check(f"mul.hi.{kind}", lambda x, y: u(n(x) * n(y) >> w, w), a, b)
    check(f"mad.lo.{kind}", lambda x, y, z: u(x * y + z, w), a, b, c)
    check(f"mad.hi.{kind}", lambda x, y, z: u((n(x) * n(y) >> w) + z, w), a, b, c)
    check(f"sad.{kind}", lambda x, y, z: u(z + abs(n(x) - n(y)), w), a, b, c)
    check(f"min.{kind}", lambda x, y: u(min(n(x), n(y)), w), a, b)
    check(f"max.{kind}", lambda x, y: u(max(n(x), n(y)), w), a, b)
    if w < 64:
        check(f"mul.wide.{kind}", lambda x, y: u(n(x) * n(y), 2 * w), a, b)
        d = data.draw(patterns(2 * w))
        check(f"mad.wide.{kind}", lambda x, y, z: u(n(x) * n(y) + z, 2 * w), a, b, d)
    check(f"div.{kind}", lambda x, y: u(trunc_div(n(x), n(y)), w) if y else u(-1, w), a, b)
    check(f"rem.{kind}", lambda x, y: u(n(x) - n(y) * trunc_div(n(x), n(y)) if y else -1, w), a, b)
    if kind[0] == "s":
        check(f"abs.{kind}", lambda x: u(abs(n(x)), w), a)
        check(f"neg.{kind}", lambda x: u(-n(x), w), a)


def test_division_edges():
    assert run("div.s32", [0x80000000], [0xFFFFFFFF]) == [0x80000000]
    assert run("rem.s32", [0x80000000], [0xFFFFFFFF]) == [0]
    assert run("div.s64", [1 << 63], [(1 << 64) - 1]) == [1 << 63]
    assert run("div.u32", [7], [0]) == [0xFFFFFFFF]
    assert run("rem.s32", [u(-7, 32)], [2]) == [u(-1, 32)]


@given(patterns(32), patterns(32), patterns(32))
@FAST
def test_saturating_and_24_bit(a, b, c):
    def clamp(v):
        return u(max(-(2**31), min(2**31 - 1, v)), 32)

    check("add.sat.s32", lambda x, y: clamp(s(x, 32) + s(y, 32)), a, b)
    check("sub.sat.s32", lambda x, y: clamp(s(x, 32) - s(y, 32)), a, b)
    check("mad.hi.sat.s32", lambda x, y, z: clamp((s(x, 32) * s(y, 32) >> 32) + s(z, 32)), a, b, c)
    check("mul24.lo.u32", lambda x, y: u(u(x, 24) * u(y, 24), 32), a, b)
    check("mul24.hi.u32", lambda x, y: u(u(x, 24) * u(y, 24) >> 16, 32), a, b)
    check("mul24.lo.s32", lambda x, y: u(s(x, 24) * s(y, 24), 32), a, b)
    check("mul24.hi.s32", lambda x, y: u(s(x, 24) * s(y, 24) >> 16, 32), a, b)
    check("mad24.lo.s32", lambda x, y, z: u(s(x, 24) * s(y, 24) + z, 32), a, b, c)
    check("mad24.hi.u32", lambda x, y, z: u((u(x, 24) * u(y, 24) >> 16) + z, 32), a, b, c)
    check("mad24.hi.sat.s32", lambda x, y, z: clamp((s(s(x, 24) * s(y, 24) >> 16, 32)) + s(z, 32)), a, b, c)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64"])
@given(st.data())
@FAST
def test_carry_chains(kind, data):
    w = int(kind[1:])
    a, b, c = (data.draw(patterns(w)) for _ in range(3))
    k = data.draw(st.lists(st.integers(0, 1), min_size=len(a), max_size=len(a)))

    def pair(opcode, rule, *columns):
        carried = "addc" in opcode or "subc" in opcode or "madc" in opcode
        count = len(columns) - (1 if carried else 0)
        op = lowered(opcode, "r " * (1 + count))
        assert isinstance(op, LaneOp)
        results = op.fn(*arrays(op, columns))
        want = [rule(*row) for row in zip(*columns, strict=True)]
        assert [int(v) for v in results[0]] == [u(x, w) for x in want]
        if len(results) == 2:
            assert op.dests[-1].name == "%cc"
            assert [bool(v) for v in results[1]] == [x < 0 or x >> w != 0 for x in want]

    pair(f"add.cc.{kind}", lambda x, y: x + y, a, b)
    pair(f"sub.cc.{kind}", lambda x, y: x - y, a, b)
    pair(f"addc.cc.{kind}", lambda x, y, z: x + y + z, a, b, k)
    pair(f"addc.{kind}", lambda x, y, z: x + y + z, a, b, k)
    pair(f"subc.cc.{kind}", lambda x, y, z: x - y - z, a, b, k)
    pair(f"subc.{kind}", lambda x, y, z: x - y - z, a, b, k)
    pair(f"mad.lo.cc.{kind}", lambda x, y, z: u(x * y, w) + z, a, b, c)
    pair(f"mad.hi.cc.{kind}", lambda x, y, z: u(number(x, kind) * number(y, kind) >> w, w) + z, a, b, c)
    pair(f"madc.lo.cc.{kind}", lambda x, y, z, f: u(x * y, w) + z + f, a, b, c, k)
    pair(
        f"madc.hi.{kind}", lambda x, y, z, f: u(number(x, kind) * number(y, kind) >> w, w) + z + f, a, b, c, k
    )


@pytest.mark.parametrize("w", [32, 64])
@given(st.data())
@FAST
def test_counts_and_reversal(w, data):
    a = data.draw(patterns(w))
    check(f"popc.b{w}", lambda x: bin(x).count("1"), a)
    check(f"clz.b{w}", lambda x: w - x.bit_length(), a)
    check(f"brev.b{w}", lambda x: int(f"{x:0{w}b}"[::-1], 2), a)
    check(f"bfind.u{w}", lambda x: u(x.bit_length() - 1, 32), a)
    check(f"bfind.shiftamt.u{w}", lambda x: w - x.bit_length() if x else 0xFFFFFFFF, a)

    def signed_top(x):
        x = s(x, w)
        return (~x if x < 0 else x).bit_length() - 1

    check(f"bfind.s{w}", lambda x: u(signed_top(x), 32), a)
    check(
        f"bfind.shiftamt.s{w}",
        lambda x: w - 1 - signed_top(x) if signed_top(x) >= 0 else 0xFFFFFFFF,
        a,
    )


def bfe(a, b, c, w, is_signed):
    """The ISA's pseudo code."""
    msb = w - 1
    pos, length = b & 0xFF, c & 0xFF
    sbit = 0 if not is_signed or length == 0 else a >> min(pos + length - 1, msb) & 1
    d = 0
    for i in range(w):
        bit = a >> (pos + i) & 1 if i < length and pos + i <= msb else sbit
        d |= bit << i
    return d


def bfi(a, b, c, d, w):
    pos, length = c & 0xFF, d & 0xFF
    f = b
    i = 0
    while i < length and pos + i < w:
        f = (f & ~(1 << (pos + i))) | ((a >> i & 1) << (pos + i))
        i += 1
    return f


SHIFTS = st.lists(
    st.one_of(st.integers(0, 70), st.sampled_from([255, 256, 300, 0xFFFFFFFF, 0x80000000])),
    min_size=24,
    max_size=24,
)


@pytest.mark.parametrize("w", [32, 64])
@given(st.data())
@FAST
def test_fields_and_shifts(w, data):
    a, b = data.draw(patterns(w)), data.draw(patterns(w))
    p, n = data.draw(SHIFTS), data.draw(SHIFTS)
    check(f"bfe.u{w}", lambda x, y, z: bfe(x, y, z, w, False), a, p, n)
    check(f"bfe.s{w}", lambda x, y, z: bfe(x, y, z, w, True), a, p, n)
    check(f"bfi.b{w}", lambda x, y, i, k: bfi(x, y, i, k, w), a, b, p, n)
    check(f"shl.b{w}", lambda x, k: u(x << k, w) if k < w else 0, a, p)
    check(f"shr.u{w}", lambda x, k: x >> min(k, w), a, p)
    check(f"shr.b{w}", lambda x, k: x >> min(k, w), a, p)
    check(f"shr.s{w}", lambda x, k: u(s(x, w) >> min(k, w), w), a, p)


@given(patterns(16), SHIFTS)
@FAST
def test_16_bit_shifts(a, p):
    check("shl.b16", lambda x, k: u(x << k, 16) if k < 16 else 0, a, p)
    check("shr.u16", lambda x, k: x >> min(k, 16), a, p)
    check("shr.s16", lambda x, k: u(s(x, 16) >> min(k, 16), 16), a, p)


def test_shift_by_the_whole_width():
    assert run("shl.b32", [1, 1, 1], [31, 32, 0xFFFFFFFF]) == [0x80000000, 0, 0]
    assert run("shr.s32", [0x80000000] * 3, [31, 32, 0xFFFFFFFF]) == [0xFFFFFFFF] * 3


@given(patterns(32), patterns(32), SHIFTS, SHIFTS)
@FAST
def test_funnel_masks_extension(a, b, p, n):
    def left(lo, hi, k):
        return u((hi << 32 | lo) << k >> 32, 32)

    def right(lo, hi, k):
        return u((hi << 32 | lo) >> k, 32)

    check("shf.l.clamp.b32", lambda x, y, k: left(x, y, min(k, 32)), a, b, p)
    check("shf.l.wrap.b32", lambda x, y, k: left(x, y, k & 31), a, b, p)
    check("shf.r.clamp.b32", lambda x, y, k: right(x, y, min(k, 32)), a, b, p)
    check("shf.r.wrap.b32", lambda x, y, k: right(x, y, k & 31), a, b, p)
    check("bmsk.clamp.b32", lambda x, y: u(((1 << min(y, 32)) - 1) << min(x, 32), 32), p, n)
    check("bmsk.wrap.b32", lambda x, y: u(((1 << (y & 31)) - 1) << (x & 31), 32), p, n)

    def ext(x, k, is_signed):
        low = x & ((1 << k) - 1)
        return u(s(low, k), 32) if is_signed and k else low

    check("szext.clamp.u32", lambda x, k: ext(x, min(k, 32), False), a, p)
    check("szext.clamp.s32", lambda x, k: ext(x, min(k, 32), True), a, p)
    check("szext.wrap.s32", lambda x, k: ext(x, k & 31, True), a, p)
    check("szext.wrap.u32", lambda x, k: ext(x, k & 31, False), a, p)


def fns(mask, base, offset):
    """The ISA's pseudo code."""
    offset = s(offset, 32)
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    pos, count, inc = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= pos < 32:
        if mask >> pos & 1:
            if count == 0:
                return pos
            count -= 1
        pos += inc
    return 0xFFFFFFFF


@given(
    patterns(32),
    st.lists(st.integers(0, 40), min_size=24, max_size=24),
    st.lists(st.integers(-34, 34), min_size=24, max_size=24),
)
@FAST
def test_fns(mask, base, offset):
    check("fns.b32", fns, mask, base, offset)


@given(patterns(32), patterns(32), patterns(32), st.integers(0, 255))
@FAST
def test_lop3_and_logic(a, b, c, table):
    def rule(x, y, z, t):
        out = 0
        for i in range(32):
            out |= (t >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1)) & 1) << i
        return out

    n = len(a)
    check("lop3.b32", rule, a, b, c, [table] * n)
    check("and.b32", lambda x, y: x & y, a, b)
    check("or.b32", lambda x, y: x | y, a, b)
    check("xor.b32", lambda x, y: x ^ y, a, b)
    check("not.b32", lambda x: u(~x, 32), a)
    check("cnot.b32", lambda x: int(x == 0), a)
    bits = [x & 1 for x in a]
    others = [x & 1 for x in b]
    check("and.pred", lambda x, y: x & y, bits, others)
    check("xor.pred", lambda x, y: x ^ y, bits, others)
    check("not.pred", lambda x: 1 - x, bits)
    d, p = run("lop3.or.b32", a, b, c, [table] * n, others, shape="p r r r r r")
    assert d == [rule(x, y, z, table) for x, y, z in zip(a, b, c)]
    assert p == [int(v != 0 or q) for v, q in zip(d, others)]


def test_every_lop3_table():
    a, b, c = [0xF0F0F0F0], [0xCCCCCCCC], [0xAAAAAAAA]
    for table in range(256):
        want = int(f"{table:08b}" * 4, 2)
        assert run("lop3.b32", a, b, c, [table]) == [want]


@given(patterns(32), patterns(32), patterns(32))
@FAST
def test_prmt(a, b, sel):
    def byte(x, y, i):
        return (y << 32 | x) >> (8 * i) & 0xFF

    def generic(x, y, k):
        out = 0
        for lane in range(4):
            nib = k >> (4 * lane) & 15
            v = byte(x, y, nib & 7)
            if nib & 8:
                v = 0xFF if v & 0x80 else 0
            out |= v << (8 * lane)
        return out

    check("prmt.b32", generic, a, b, sel)
    picks = {
        "f4e": lambda k: [k, k + 1, k + 2, k + 3],
        "b4e": lambda k: [k, (k - 1) % 8, (k - 2) % 8, (k - 3) % 8],
        "rc8": lambda k: [k, k, k, k],
        "ecl": lambda k: [k, max(k, 1), max(k, 2), 3],
        "ecr": lambda k: [0, min(k, 1), min(k, 2), k],
        "rc16": lambda k: [2 * (k & 1), 2 * (k & 1) + 1] * 2,
    }
    for mode, pick in picks.items():
        check(
            f"prmt.b32.{mode}",
            lambda x, y, k, pick=pick: sum(byte(x, y, i) << (8 * n) for n, i in enumerate(pick(k & 3))),
            a,
            b,
            sel,
        )


@pytest.mark.parametrize("x", "us")
@pytest.mark.parametrize("y", "us")
@given(a=patterns(32), b=patterns(32), c=patterns(32))
@FAST
def test_dot_products(x, y, a, b, c):
    def part(v, i, w, sign):
        v = v >> (i * w) & ((1 << w) - 1)
        return s(v, w) if sign == "s" else v

    check(
        f"dp4a.{x}32.{y}32",
        lambda p, q, r: u(r + sum(part(p, i, 8, x) * part(q, i, 8, y) for i in range(4)), 32),
        a, b, c,
    )  # fmt: skip
    for mode, base in (("lo", 0), ("hi", 2)):
        check(
            f"dp2a.{mode}.{x}32.{y}32",
            lambda p, q, r, base=base: u(
                r + sum(part(p, i, 16, x) * part(q, i + base, 8, y) for i in range(2)), 32
            ),
            a, b, c,
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["u16x2", "s16x2"])
@given(a=patterns(32), b=patterns(32))
@FAST
def test_packed_16_bit(kind, a, b):
    signed = kind[0] == "s"

    def lanes(v):
        return [s(v >> k, 16) if signed else u(v >> k, 16) for k in (0, 16)]

    def join(parts):
        return sum(u(p, 16) << (16 * i) for i, p in enumerate(parts))

    check(f"add.{kind}", lambda x, y: join([p + q for p, q in zip(lanes(x), lanes(y))]), a, b)
    check(f"min.{kind}", lambda x, y: join([min(p, q) for p, q in zip(lanes(x), lanes(y))]), a, b)
    check(f"max.{kind}", lambda x, y: join([max(p, q) for p, q in zip(lanes(x), lanes(y))]), a, b)
    if signed:
        check(
            "max.relu.s16x2",
            lambda x, y: join([max(p, q, 0) for p, q in zip(lanes(x), lanes(y))]), a, b,
        )  # fmt: skip
        check("min.relu.s32", lambda x, y: u(max(0, min(s(x, 32), s(y, 32))), 32), a, b)


def test_moves():
    assert run("mov.b64", [0x11223344], [0x55667788], shape="r v2") == [0x5566778811223344]
    assert run("mov.b64", [0x5566778811223344], shape="v2 r") == ([0x11223344], [0x55667788])
    assert run("mov.b32", [0x1122], [0x3344], shape="r v2") == [0x33441122]
    assert run("mov.b32", [0x44332211], shape="v4 r") == ([0x11], [0x22], [0x33], [0x44])
    assert run("mov.b64", [1], [2], [3], [4], shape="r v4") == [0x0004000300020001]
    assert run("mov.u32", [7]) == [7]
    assert run("mov.pred", [1]) == [1]


@given(patterns(32), patterns(32), st.lists(st.integers(0, 1), min_size=24, max_size=24))
@FAST
def test_integer_comparison(a, b, q):
    rules = {
        "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
    }  # fmt: skip
    for name, rule in rules.items():
        check(f"setp.{name}.s32", lambda x, y: int(rule(s(x, 32), s(y, 32))), a, b)
        check(f"setp.{name}.u32", lambda x, y: int(rule(x, y)), a, b)
        check(f"set.{name}.u32.s32", lambda x, y: 0xFFFFFFFF * rule(s(x, 32), s(y, 32)), a, b)
        check(f"set.{name}.f32.u32", lambda x, y: 0x3F800000 * rule(x, y), a, b)
        p, n = run(f"setp.{name}.and.u32", a, b, q, shape="p r r r")
        assert p == [int(rule(x, y) and k) for x, y, k in zip(a, b, q)]
        assert n == [int(not rule(x, y) and k) for x, y, k in zip(a, b, q)]
    for name, like in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        assert run(f"setp.{name}.u32", a, b) == run(f"setp.{like}.u32", a, b)
    check("selp.b32", lambda x, y, k: x if k else y, a, b, q)
    check("slct.u32.s32", lambda x, y, z: x if s(z, 32) >= 0 else y, a, b, b)

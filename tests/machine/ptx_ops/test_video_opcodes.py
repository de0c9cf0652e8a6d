"""Scalar and SIMD video instructions against the ISA's pseudo code on Python integers."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine.lanes import FAST, patterns, run

M32 = 0xFFFFFFFF


def part(v, selector, kind):
    width = {"": 32, "b": 8, "h": 16}[selector[:1]]
    v = v >> (width * int(selector[1:] or 0)) & ((1 << width) - 1)
    return v - (1 << width) if kind[0] == "s" and v >> (width - 1) else v


def clamp(v, kind, width=32):
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return max(low, min(high, v))


def s32(v):
    v &= M32
    return v - (1 << 32) if v >> 31 else v


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "absdiff": lambda a, b: abs(a - b),
    "min": min,
    "max": max,
    "avrg": lambda a, b: (a + b + (1 if a + b >= 0 else 0)) >> 1,
}


@pytest.mark.parametrize("name", ["add", "sub", "absdiff", "min", "max"])
@given(
    a=patterns(32),
    b=patterns(32),
    c=patterns(32),
    parts=st.tuples(*[st.sampled_from(["", "b0", "b3", "h1"])] * 2),
)
@FAST
def test_scalar(name, a, b, c, parts):
    rule = OPERATIONS[name]
    words = [f"r:{p}" if p else "r" for p in parts]
    for d, x, y in itertools.product(("u32", "s32"), repeat=3):
        want = [rule(part(p, parts[0], x), part(q, parts[1], y)) for p, q in zip(a, b)]
        shape = f"r {words[0]} {words[1]}"
        assert run(f"v{name}.{d}.{x}.{y}", a, b, shape=shape) == [v & M32 for v in want]
        assert run(f"v{name}.{d}.{x}.{y}.sat", a, b, shape=shape) == [clamp(v, d) & M32 for v in want]
        assert run(f"v{name}.{d}.{x}.{y}.sat.add", a, b, c, shape=shape + " r") == [
            (clamp(v, d) + k) & M32 for v, k in zip(want, c)
        ]
        sign = s32 if d == "s32" else lambda v: v & M32
        assert run(f"v{name}.{d}.{x}.{y}.min", a, b, c, shape=shape + " r") == [
            min(sign(v), sign(k)) & M32 for v, k in zip(want, c)
        ]
        merged = [(k & ~0xFF00) | ((clamp(v, d, 8) & 0xFF) << 8) for v, k in zip(want, c)]
        assert run(f"v{name}.{d}.{x}.{y}.sat", a, b, c, shape=f"r:b1 {words[0]} {words[1]} r") == merged


@given(patterns(32), st.lists(st.integers(0, 70), min_size=24, max_size=24))
@FAST
def test_shifts(a, n):
    for kind in ("u32", "s32"):
        for mode, amount in (("clamp", lambda k: min(k, 32)), ("wrap", lambda k: k & 31)):
            left = [part(x, "", kind) << amount(k) for x, k in zip(a, n)]
            right = [part(x, "", kind) >> amount(k) for x, k in zip(a, n)]
            assert run(f"vshl.{kind}.{kind}.u32.{mode}", a, n) == [v & M32 for v in left]
            assert run(f"vshr.{kind}.{kind}.u32.{mode}", a, n) == [v & M32 for v in right]
            assert run(f"vshl.{kind}.{kind}.u32.sat.{mode}", a, n) == [clamp(v, kind) & M32 for v in left]


@given(patterns(32), patterns(32), patterns(32), st.sampled_from(["", "-a", "-b", "-c", "po"]))
@FAST
def test_vmad(a, b, c, form):
    for x, y in itertools.product(("u32", "s32"), repeat=2):
        for scale, sat in itertools.product(("", ".shr7", ".shr15"), ("", ".sat")):
            flip = form in ("-a", "-b")
            final = "s" if x[0] == "s" or y[0] == "s" or flip or form == "-c" else "u"
            want = []
            for p, q, r in zip(a, b, c):
                tmp = part(p, "", x) * part(q, "", y)
                lsb = 0
                if form == "po":
                    lsb = 1
                elif flip:
                    tmp, lsb = ~tmp, 1
                elif form == "-c":
                    r, lsb = ~r & M32, 1
                tmp = tmp + (s32(r) if final == "s" else r) + lsb
                tmp >>= {"": 0, ".shr7": 7, ".shr15": 15}[scale]
                want.append((clamp(tmp, final) if sat else tmp) & M32)
            shape = "r {} {} {}".format(*("-r" if form == f"-{k}" else "r" for k in "abc"))
            po = ".po" if form == "po" else ""
            assert (
                run(f"vmad.{'s32' if final == 's' else 'u32'}.{x}.{y}{po}{sat}{scale}", a, b, c, shape=shape)
                == want
            )


@given(patterns(32), patterns(32), patterns(32))
@FAST
def test_vset(a, b, c):
    assert run("vset.s32.u32.lt", a, b) == [int(s32(x) < y) for x, y in zip(a, b)]
    assert run("vset.u32.u32.ge.add", a, b, c) == [(int(x >= y) + k) & M32 for x, y, k in zip(a, b, c)]


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("name", ["add", "sub", "absdiff", "min", "max", "avrg"])
@given(a=patterns(32), b=patterns(32), c=patterns(32), data=st.data())
@FAST
def test_simd(lanes, name, a, b, c, data):
    width, letter = 32 // lanes, "h" if lanes == 2 else "b"
    rule = OPERATIONS[name]
    pick_a = data.draw(st.lists(st.integers(0, 2 * lanes - 1), min_size=lanes, max_size=lanes))
    pick_b = data.draw(st.lists(st.integers(0, 2 * lanes - 1), min_size=lanes, max_size=lanes))
    mask = sorted(data.draw(st.sets(st.integers(0, lanes - 1), min_size=1)), reverse=True)
    d, x, y = (data.draw(st.sampled_from(["u32", "s32"])) for _ in range(3))

    def words(digits):
        return f"r:{letter}" + "".join(str(v) for v in digits)

    def lane(p, q, index, kind):
        return part(p if index < lanes else q, f"{letter}{index % lanes}", kind)

    for sat in ("", ".sat"):
        merged, added = [], []
        for p, q, k in zip(a, b, c):
            out, total = k, k
            for i in mask:
                v = rule(lane(p, q, pick_a[lanes - 1 - i], x), lane(p, q, pick_b[lanes - 1 - i], y))
                if sat:
                    v = clamp(v, d, width)
                field = ((1 << width) - 1) << (width * i)
                out = (out & ~field) | ((v << (width * i)) & field)
                total = (total + v) & M32
            merged.append(out)
            added.append(total)
        shape = f"{words(mask)} {words(pick_a)} {words(pick_b)} r"
        assert run(f"v{name}{lanes}.{d}.{x}.{y}{sat}", a, b, c, shape=shape) == merged
        assert run(f"v{name}{lanes}.{d}.{x}.{y}{sat}.add", a, b, c, shape=shape) == added


def test_simd_defaults():
    assert run("vadd4.u32.u32.u32", [0x01020304], [0x10203040], [0]) == [0x11223344]
    assert run("vadd4.u32.u32.u32.sat", [0xFF0000FF], [0x02000001], [0]) == [0xFF0000FF]
    assert run("vabsdiff4.u32.u32.u32.add", [0x01020304], [0x04030201], [100]) == [100 + 3 + 1 + 1 + 3]
    assert run("vset2.s32.s32.lt", [0xFFFF0001], [0x00000001], [0]) == [0x00010000]
    assert run("vset4.u32.u32.ge.add", [0x01020304], [0x01030303], [7]) == [7 + 3]

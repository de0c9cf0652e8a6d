"""shfl, vote, match, redux, elect: against the ISA's pseudo code, one lane at a time, over partial warps."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine import scalar_reference as ref
from machine.lanes import FAST, lowered
from warpglass.machine.ptx_ops import WarpOp

M32 = 2**32 - 1
WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=64)
SMALL = st.lists(st.integers(0, 3), min_size=64, max_size=64)
MASKS = st.lists(st.one_of(st.just(0xFFFFFFFF), st.integers(1, 2**32 - 1)), min_size=2, max_size=2)


def grid(values, dtype=np.uint32):
    return np.array(values, dtype=np.uint64).reshape(2, 32).astype(dtype)


def lanes(masks):
    return np.array([[bool(m >> i & 1) for i in range(32)] for m in masks])


def call(opcode, shape, mask, *sources):
    op = lowered(opcode, shape)
    assert isinstance(op, WarpOp)
    with np.errstate(all="ignore"):
        results = op.fn(mask, *sources)
    return [np.broadcast_to(r, mask.shape) for r in results]


def source_lane(mode, lane, b, c):
    """The ISA's pseudo code of shfl."""
    bval, cval, seg = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & seg) | (cval & ~seg & 31)
    min_lane = lane & seg
    if mode == "up":
        j = lane - bval
        p = j >= max_lane
    elif mode == "down":
        j = lane + bval
        p = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        p = j <= max_lane
    else:
        j = min_lane | (bval & ~seg & 31)
        p = j <= max_lane
    return (j, True) if p else (lane, False)


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@given(
    WORDS,
    st.lists(st.integers(0, 40), min_size=64, max_size=64),
    st.sampled_from([1, 2, 4, 8, 16, 32]),
    MASKS,
)
@FAST
def test_shfl(mode, a, b, width, masks):
    clamp = 0 if mode == "up" else 31
    c = (32 - width) << 8 | clamp
    mask = lanes(masks)
    members = np.array(masks, dtype=np.uint32)[:, None] * np.ones(32, dtype=np.uint32)
    value, inside = call(f"shfl.sync.{mode}.b32", "p r r r r", mask, grid(a), grid(b), np.uint32(c), members)
    for w in range(2):
        for lane in range(32):
            if not mask[w, lane]:
                continue
            j, p = source_lane(mode, lane, b[w * 32 + lane], c)
            assert bool(inside[w, lane]) == p
            if masks[w] >> j & 1:
                assert value[w, lane] == a[w * 32 + j], (w, lane, j)
            else:
                assert value[w, lane] == a[w * 32 + lane]


def test_shfl_old_form_and_immediates():
    mask = np.ones((1, 32), dtype=bool)
    lane = np.arange(32, dtype=np.uint32)[None]
    (value,) = call("shfl.down.b32", "r r r r", mask, lane, np.uint32(16), np.uint32(31))
    assert value[0].tolist() == [*range(16, 32), *range(16, 32)]
    value, p = call(
        "shfl.sync.bfly.b32", "p r r r r", mask, lane, np.uint32(1), np.uint32(31), np.uint32(0xFFFFFFFF)
    )
    assert value[0].tolist() == [i ^ 1 for i in range(32)]
    assert p.all()


@given(st.lists(st.integers(0, 1), min_size=64, max_size=64), MASKS, st.booleans())
@FAST
def test_vote(a, masks, constant):
    if constant:
        a = [a[0]] * 64
    mask = lanes(masks)
    # Half of each warp calls with its own half as member mask: two votes in one instruction.
    halves = np.where(np.arange(32) < 16, np.uint32(0xFFFF), np.uint32(0xFFFF0000))
    members = np.broadcast_to(halves, (2, 32))
    got = {
        mode: call(f"vote.sync.{mode}.{kind}", "r r r", mask, grid(a, bool), members)[0]
        for mode, kind in (("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32"))
    }
    for w in range(2):
        for half in range(2):
            named = [i for i in range(16 * half, 16 * half + 16) if mask[w, i]]
            votes = [a[w * 32 + i] for i in named]
            for lane in named:
                assert got["all"][w, lane] == all(votes)
                assert got["any"][w, lane] == any(votes)
                assert got["uni"][w, lane] == (len(set(votes)) == 1)
                assert got["ballot"][w, lane] == sum(v << i for i, v in zip(named, votes))
    (active,) = call("activemask.b32", "r", mask)
    assert active[:, 0].tolist() == masks


@pytest.mark.parametrize("kind", ["b32", "b64"])
@given(SMALL, MASKS, st.booleans())
@FAST
def test_match(kind, a, masks, constant):
    if constant:
        a = [2] * 64
    mask = lanes(masks)
    members = np.broadcast_to(np.array(masks, dtype=np.uint32)[:, None], (2, 32))
    values = grid(a, np.uint64 if kind == "b64" else np.uint32)
    (some,) = call(f"match.any.sync.{kind}", "r r r", mask, values, members)
    every, p = call(f"match.all.sync.{kind}", "p r r", mask, values, members)
    for w in range(2):
        named = [i for i in range(32) if mask[w, i]]
        for lane in named:
            same = [i for i in named if a[w * 32 + i] == a[w * 32 + lane]]
            assert some[w, lane] == sum(1 << i for i in same)
            assert bool(p[w, lane]) == (len(same) == len(named))
            assert every[w, lane] == (masks[w] if len(same) == len(named) else 0)


def s32(v):
    return v - (1 << 32) if v >> 31 else v


@given(WORDS, MASKS, st.booleans())
@FAST
def test_redux_on_integers(a, masks, split):
    mask = lanes(masks)
    if split:
        members = np.broadcast_to(
            np.where(np.arange(32) % 2 == 0, 0x55555555, 0xAAAAAAAA).astype(np.uint32), (2, 32)
        )
    else:
        members = np.broadcast_to(np.array(masks, dtype=np.uint32)[:, None], (2, 32))
    rules = {
        "add.u32": lambda v: sum(v) & 0xFFFFFFFF, "add.s32": lambda v: sum(v) & 0xFFFFFFFF,
        "min.u32": min, "max.u32": max,
        "min.s32": lambda v: min(v, key=s32), "max.s32": lambda v: max(v, key=s32),
        "and.b32": lambda v: np.bitwise_and.reduce(np.array(v, dtype=np.uint32)),
        "or.b32": lambda v: np.bitwise_or.reduce(np.array(v, dtype=np.uint32)),
        "xor.b32": lambda v: np.bitwise_xor.reduce(np.array(v, dtype=np.uint32)),
    }  # fmt: skip
    for name, rule in rules.items():
        (got,) = call(f"redux.sync.{name}", "r r r", mask, grid(a), members)
        for w in range(2):
            for lane in range(32):
                if mask[w, lane]:
                    named = [i for i in range(32) if mask[w, i] and int(members[w, lane]) >> i & 1]
                    assert got[w, lane] == rule([a[w * 32 + i] for i in named]), (name, w, lane)


@given(
    st.lists(
        st.one_of(st.integers(0, M32), st.sampled_from([0, 1 << 31, 0x7FC00000, 0x7F800000, 0xFF800000])),
        min_size=64, max_size=64,
    ),
    MASKS,
)  # fmt: skip
@FAST
def test_redux_on_floats(a, masks):
    mask = lanes(masks)
    members = np.broadcast_to(np.array(masks, dtype=np.uint32)[:, None], (2, 32))
    for base, absolute, nan in product(("min", "max"), ("", ".abs"), ("", ".NaN")):
        (got,) = call(f"redux.sync.{base}{absolute}{nan}.f32", "r r r", mask, grid(a), members)
        for w in range(2):
            values = [
                a[w * 32 + i] & (0x7FFFFFFF if absolute else 0xFFFFFFFF) for i in range(32) if mask[w, i]
            ]
            numbers = [v for v in values if not ref.is_nan(v, "f32")]

            def key(v):
                x = ref.signed_value(v, "f32")
                return {"inf": math.inf, "-inf": -math.inf}.get(x, x), 0 if v >> 31 else 1

            if not numbers or (nan and len(numbers) < len(values)):
                want = 0x7FFFFFFF
            else:
                want = min(numbers, key=key) if base == "min" else max(numbers, key=key)
            assert got[w, mask[w].argmax()] == want


@given(MASKS)
@FAST
def test_elect(masks):
    mask = lanes(masks)
    members = np.array(masks, dtype=np.uint32)[:, None]
    leader, p = call("elect.sync", "p r", mask, members)
    for w in range(2):
        first = next(i for i in range(32) if mask[w, i])
        assert leader[w, first] == first
        assert [i for i in range(32) if p[w, i]] == [first]

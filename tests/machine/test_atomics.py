"""Atomic updates in block, warp and lane order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from machine.kernelkit import by_opcode, launch, out, text, words
from warpglass.api_run import run
from warpglass.machine.atomics import CHAIN, OPERATIONS, apply_atomic


def one_by_one(memory: np.ndarray, units: np.ndarray, name: str, b: np.ndarray, c: np.ndarray) -> list[Any]:
    """The same, a lane at a time."""
    old = []
    for unit, second, third in zip(units, b, c, strict=True):
        was = memory[unit : unit + 1].copy()
        old.append(was[0])
        memory[unit : unit + 1] = OPERATIONS[name](was, np.array([second]), np.array([third]))
    return old


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_groups_of_lanes_give_what_single_lanes_give(name: str, data: st.DataObject) -> None:
    kinds = [np.uint32, np.int32, np.uint64]
    if name in ("add", "min", "max", "exch"):
        kinds.append(np.float32)
    dtype = data.draw(st.sampled_from(kinds))
    seed = data.draw(st.integers(0, 2**32 - 1))
    places = data.draw(st.sampled_from([1, 2, 7, 300]))
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8 * CHAIN))
    high = 4 if name in ("cas", "inc", "dec") else 2**31 - 1
    memory = rng.integers(0, high, places).astype(dtype)
    units = rng.integers(0, places, count)
    b, c = (rng.integers(0, high, count).astype(dtype) for _ in range(2))
    want_memory = memory.copy()
    with np.errstate(over="ignore"):
        want = one_by_one(want_memory, units, name, b, c)
        got = apply_atomic(memory, units, name, b, c)
    assert got.dtype == memory.dtype
    assert got.tolist() == [w.item() for w in want]
    assert np.array_equal(memory, want_memory)


def test_float_sums_round_as_they_would_one_by_one() -> None:
    values = np.array([2.0**24, 1, 1, 1, 2.0**-30] * 40, dtype=np.float32)
    memory = np.zeros(1, np.float32)
    apply_atomic(memory, np.zeros(200, np.int64), "add", values, values)
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    assert memory[0] == total != np.float32(values.astype(np.float64).sum())


def test_tickets_are_dealt_in_thread_order() -> None:
    body = "atom.global.add.u32 %r5, [%rd1+1024], 1; st.global.u32 [%rd2], %r5; ret;"
    got = out(launch(body, [words(257)], grid=2, block=128))
    assert got[:256] == list(range(256))
    assert got[256] == 256


def test_counts_of_atomics() -> None:
    body = """
        and.b32 %r5, %r4, 3; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd4, %rd1, %rd4;
        red.global.add.u32 [%rd4], 1; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=64, args=[words(4)])
    assert out(result) == [16] * 4
    assert by_opcode(result, source, "red", "requests") == 2
    assert by_opcode(result, source, "red", "atomic_addresses") == 8
    assert by_opcode(result, source, "red", "sectors") == 2
    assert by_opcode(result, source, "red", "broadcasts") == 2


def test_shared_atomics_and_packed_halves() -> None:
    body = """
        .shared .align 4 .b32 s[2]; mov.u32 %r5, 0x3c003c00; atom.shared.add.noftz.f16x2 %r6, [s], %r5;
        atom.shared.max.s32 %r7, [s+4], %r4; bar.sync 0; ld.shared.u32 %r8, [s]; ld.shared.u32 %r9, [s+4];
        add.u32 %r8, %r8, %r9; st.global.u32 [%rd2], %r8; ret;
    """
    half = int(np.float16(32).view(np.uint16))
    assert out(launch(body, [words(32)])) == [(half << 16 | half) + 31] * 32


def test_compare_and_swap_lets_one_lane_win() -> None:
    body = """
        add.u32 %r6, %r4, 1; atom.global.cas.b32 %r5, [%rd1+256], 0, %r6;
        setp.eq.u32 %p1, %r5, 0; selp.u32 %r7, 1, 0, %p1; st.global.u32 [%rd2], %r7; ret;
    """
    got = out(launch(body, [words(65)], block=64))
    assert got[:64] == [1] + [0] * 63
    assert got[64] == 1

"""The counting rules, and how they differ from the naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpglass.machine import access

LANE = np.arange(32, dtype=np.int64)


def rows(*patterns: np.ndarray) -> np.ndarray:
    return np.stack(patterns).astype(np.int64)


def waves(addresses: np.ndarray, size: int, mask: np.ndarray | None = None) -> tuple[int, int]:
    counts = access.shared_counts(rows(addresses), size, None if mask is None else mask[None, :])
    return int(counts.wavefronts[0]), int(counts.ideal[0])


def test_coalesced_and_offset_sectors() -> None:
    got = access.sectors(rows(4 * LANE, 4 * LANE + 16, 4 * LANE + 32, 128 * LANE, 0 * LANE), 4, None)
    # 128-byte lines would say 1, 2, 2, 32, 1.
    assert got.tolist() == [4, 5, 4, 32, 1]


def test_wide_accesses_cover_their_whole_width() -> None:
    assert access.sectors(rows(16 * LANE), 16, None).tolist() == [16]
    assert access.sectors(rows(32 * LANE), 32, None).tolist() == [32]
    # Not lane 0's address times 32: lanes that share an address share its sectors.
    assert access.sectors(rows(32 * (LANE // 4)), 32, None).tolist() == [8]


def test_ideal_counts_distinct_bytes() -> None:
    assert access.ideal_sectors(np.array([0, 1, 32, 33, 128])).tolist() == [0, 1, 1, 2, 4]
    counts = access.global_counts(rows(4 * (LANE // 8), 4 * LANE * 33), 4, None)
    assert counts.ideal.tolist() == [1, 4]
    assert counts.broadcast.tolist() == [True, False]


def test_masked_lanes_do_not_count() -> None:
    mask = np.zeros((1, 32), dtype=bool)
    mask[0, [0, 9]] = True
    counts = access.global_counts(rows(1024 * LANE), 4, mask)
    assert counts.sectors.tolist() == [2]
    assert counts.live.tolist() == [2]
    assert access.sectors(rows(LANE), 4, np.zeros((1, 32), dtype=bool)).tolist() == [0]


def test_shared_words_not_lanes_decide() -> None:
    assert waves(0 * LANE, 4) == (1, 1)  # a broadcast, although all lanes hit one bank
    assert waves(4 * LANE, 4) == (1, 1)
    assert waves(8 * LANE, 4) == (2, 1)
    assert waves(16 * LANE, 4) == (4, 1)
    assert waves(128 * LANE, 4) == (32, 1)
    assert waves(132 * LANE, 4) == (1, 1)
    assert waves(LANE, 1) == (1, 1)  # four bytes of one word are one word
    assert waves(2 * LANE, 2) == (1, 1)


def test_double_words_go_by_halves() -> None:
    assert waves(8 * LANE, 8) == (2, 2)
    assert waves(256 * LANE, 8) == (32, 2)
    assert waves(8 * (LANE % 16), 8) == (2, 2)  # each half is served by itself
    lower = LANE < 16
    assert waves(8 * LANE, 8, lower) == (1, 1)


def test_quad_words_go_by_quarters() -> None:
    assert waves(16 * LANE, 16) == (4, 4)  # lanes 0 and 8 share banks but not a phase
    assert waves(128 * LANE, 16) == (32, 4)


@pytest.mark.parametrize("distance", [1, 2])
def test_paired_quad_words_go_by_halves(distance: int) -> None:
    pairs = LANE & ~distance
    _, index = np.unique(pairs, return_inverse=True)
    assert waves(16 * index, 16) == (2, 2)
    broken = 16 * index
    broken[31] = 16 * 40
    assert waves(broken, 16)[0] == 4


@given(
    st.lists(st.integers(0, 4095), min_size=32, max_size=32),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, deadline=None)
def test_rules_agree_with_counting_by_hand(units: list[int], size: int, bits: int) -> None:
    mask = np.array([bits >> lane & 1 for lane in range(32)], dtype=bool)
    addresses = np.array(units, dtype=np.int64) * size
    live = [int(a) for a, on in zip(addresses, mask, strict=True) if on]
    counts = access.global_counts(rows(addresses), size, mask[None, :])
    assert counts.sectors[0] == len({b // 32 for a in live for b in range(a, a + size)})
    assert counts.ideal[0] == -(-len({b for a in live for b in range(a, a + size)}) // 32)
    phase = {8: 16, 16: 8}.get(size, 32)
    partner = [LANE ^ 1, LANE ^ 2]
    if size == 16 and any(
        all(
            (mask[p[n]] and addresses[n] == addresses[p[n]]) if mask[n] else not mask[p[n]] for n in range(32)
        )
        for p in partner
    ):
        phase = 16
    total = phases = 0
    for start in range(0, 32, phase):
        banks: dict[int, set[int]] = {}
        for lane in range(start, start + phase):
            if mask[lane]:
                for word in range(int(addresses[lane]) // 4, (int(addresses[lane]) + size + 3) // 4):
                    banks.setdefault(word % 32, set()).add(word)
        if banks:
            total += max(len(words) for words in banks.values())
            phases += 1
    got = access.shared_counts(rows(addresses), size, mask[None, :])
    assert (int(got.wavefronts[0]), int(got.ideal[0])) == (total, phases)

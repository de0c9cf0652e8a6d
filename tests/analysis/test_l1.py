"""What an L1 serves, by the distance between reads of the same sector: worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from warpglass import gpu
from warpglass.analysis.l1 import l1_room, served


def reads(*sectors: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array(sectors, dtype=np.int64), np.arange(len(sectors), dtype=np.int64)


@pytest.mark.parametrize(("room", "share"), [(8192, 0.5), (8191, 0.0), (1 << 20, 0.5)])
def test_two_passes_over_an_array(room: int, share: float) -> None:
    """64 sectors, each in a line of its own, read twice: between two reads of one lie 63 other lines."""
    once = tuple(range(0, 256, 4))
    assert served(*reads(*once, *once), room) == share


def test_a_row_walked_by_lanes_stays_while_its_lines_fit() -> None:
    """32 lanes walk rows of their own: eight steps in a sector, so that seven of eight reads find it."""
    steps = [row * 1024 + step // 8 for step in range(64) for row in range(32)]
    sectors = np.array(steps, dtype=np.int64)
    requests = np.repeat(np.arange(64, dtype=np.int64), 32)
    assert served(sectors, requests, 32 * 128) == pytest.approx(7 / 8)
    assert served(sectors, requests, 31 * 128) == 0.0


def test_lanes_of_one_request_serve_nobody() -> None:
    sectors = np.array([0, 1, 2, 3], dtype=np.int64)
    assert served(sectors, np.zeros(4, dtype=np.int64), 1 << 20) == 0.0


def test_shared_memory_takes_its_part() -> None:
    """sm_80 has 192 KB; two blocks of 60 KB take the carve-out of 132 KB."""
    assert l1_room(gpu.arch("sm_80"), 0, 8) == 192 * 1024
    assert l1_room(gpu.arch("sm_80"), 60 * 1024, 2) == (192 - 132) * 1024

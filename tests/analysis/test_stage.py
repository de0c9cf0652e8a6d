"""Stages of shared memory, by what a block fills between two barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.test_advice_faults import FAULTS, advice_of
from warpglass.analysis.stage import Stages


@pytest.mark.cuda
@pytest.mark.slow
def test_one_tile_is_one_stage() -> None:
    """Two tiles of 16 x 16 floats are filled in each turn and are all that there is."""
    fault = next(f for f in FAULTS if f.name == "untiled")
    seen = advice_of(fault, True).occupancy
    assert seen is not None
    assert seen.stages == Stages(filled=2048, number=1, tile=2048)


@pytest.mark.cuda
@pytest.mark.slow
def test_two_buffers_are_two_stages() -> None:
    """256 floats of two times 256 are copied in each turn: a third stage costs 1,024 bytes, not 2,048."""
    fault = replace(next(f for f in FAULTS if f.name == "staged"), shared=0)
    seen = advice_of(fault, True).occupancy
    assert seen is not None
    assert seen.stages == Stages(filled=1024, number=2, tile=1024)


@pytest.mark.cuda
@pytest.mark.slow
def test_a_tree_has_no_stages() -> None:
    seen = advice_of(next(f for f in FAULTS if f.name == "tree"), False).occupancy
    assert seen is not None
    assert seen.stages is None

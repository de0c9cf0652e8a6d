"""Options are typed and checked before any work."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass import cli_options
from warpglass.cli_options import make_options, resolve_archs
from warpglass.errors import UsageError
from warpglass.inputs.devices import Device
from warpglass.jsonable import to_jsonable
from warpglass.options import ReportOptions, parse_block_ranges, parse_dim3
from warpglass.resources import KINDS, resource_dir


@pytest.mark.parametrize(
    ("text", "extents"), [("4", (4, 1, 1)), ("4,2", (4, 2, 1)), ("4x2x3", (4, 2, 3)), (" (4, 2) ", (4, 2, 1))]
)
def test_extents(text, extents):
    assert parse_dim3(text, "--grid") == extents


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "a", "1,2,3,4", "1,,2", "99999999999", "٣", "1e3"])
def test_bad_extents(text):
    with pytest.raises(UsageError):
        parse_dim3(text, "--grid")


@given(st.text(max_size=20))
def test_any_extents(text):
    with contextlib.suppress(UsageError):
        assert min(parse_dim3(text, "--grid")) >= 1


def test_block_ranges():
    assert parse_block_ranges("0-3,7") == ((0, 3), (7, 7))
    options = ReportOptions(blocks=parse_block_ranges("5,0-2"))
    assert options.traced_blocks(100) == (0, 1, 2, 5)
    assert options.traced_blocks(2) == (0, 1)
    everything = ReportOptions(blocks=parse_block_ranges("all"))
    assert everything.traced_blocks(3) == (0, 1, 2)
    assert len(everything.traced_blocks(10**12)) == 64
    assert ReportOptions().traced_blocks(4) == (0,)


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1-", "0,,1", "²"])
def test_bad_block_ranges(text):
    with pytest.raises(UsageError):
        parse_block_ranges(text)


@pytest.mark.parametrize(
    "values",
    [
        {"block": (1025, 1, 1)},
        {"block": (32, 33, 1)},
        {"grid": (1, 65536, 1)},
        {"cluster": (17, 1, 1)},
        {"shared_bytes": -1},
        {"charts": "none"},
        {"isa": "x86"},
        {"max_warp_instructions": 0},
        {"value_budget": -1},
        {"seed": -1},
        {"seed": 2**64},
        {"rtol": -1.0},
        {"rtol": float("nan")},
        {"time_ms": 0.0},
    ],
)
def test_values_that_cannot_be_meant(values):
    with pytest.raises(UsageError):
        ReportOptions(**values).check()


def test_changed_options_are_what_the_report_shows():
    options = make_options(arch=["SM_90a"], grid="2x3", arg=["n=1"], notes=Path("/home/me/notes.md"))
    assert options.changed() == {"arch": ["sm_90a"], "grid": [2, 3, 1], "args": ["n=1"], "notes": "notes.md"}
    assert ReportOptions().changed() == {}


def test_native_takes_the_first_gpu(monkeypatch):
    gpus = (Device(0, "a", "x", None), Device(1, "b", "y", "8.6"), Device(2, "c", "z", "9.0"))
    monkeypatch.setattr(cli_options, "find_devices", lambda: gpus)
    assert resolve_archs(["native", "sm_86", "compute_80"]) == ("sm_86", "sm_80")
    monkeypatch.setattr(cli_options, "find_devices", lambda: ())
    with pytest.raises(UsageError, match="no GPU"):
        resolve_archs(["native"])


def test_resources():
    for kind in KINDS:
        assert resource_dir(kind).is_dir()
    with pytest.raises(UsageError):
        resource_dir("..")


def test_models_as_json():
    import numpy as np

    value = {
        "a": (1, 2.5),
        "b": b"\x01",
        "c": float("nan"),
        "d": 2**60,
        "e": np.arange(2),
        "f": Path("/x/y"),
        "g": {3},
    }
    assert to_jsonable(value) == {
        "a": [1, 2.5],
        "b": "01",
        "c": "nan",
        "d": str(2**60),
        "e": [0, 1],
        "f": "y",
        "g": [3],
    }
    assert to_jsonable({(1, 2): "x"}) == [[[1, 2], "x"]]

from __future__ import annotations

import base64
import gzip
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample import sample

from warpglass.report.pack import (
    gzip_bytes,
    pack_column,
    pack_page,
    pack_report,
    unpack_column,
    unpack_page,
)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.booleans())
def test_any_column_comes_back(values: list[int], rising: bool) -> None:
    packed = pack_column(values, rising=rising)
    if packed is None:  # numpy has no integer type for a mix of small and huge: stays a list
        assert max(values) >= 2**63
    else:
        assert unpack_column(packed) == values


@pytest.mark.parametrize(("top", "kind"), [(255, "u8"), (256, "u16"), (65536, "u32"), (2**32, "u64")])
def test_the_type_is_the_narrowest_that_fits(top: int, kind: str) -> None:
    packed = pack_column([0, top])
    assert packed is not None
    assert (packed["$"], packed["n"]) == (kind, 2)


@pytest.mark.parametrize("values", [[], [1, None], [-1], [0.5], ["x"], [[1, 2], [3, 4]], [2**64]])
def test_what_cannot_be_packed_is_left_alone(values: list[object]) -> None:
    assert pack_column(values) is None


def test_planes_are_little_endian_lowest_bytes_first() -> None:
    packed = pack_column([0x01020304, 0x05060708])
    assert packed is not None
    raw = zlib.decompress(base64.b64decode(packed["d"]), wbits=31)
    assert raw == bytes([4, 8, 3, 7, 2, 6, 1, 5])


def test_differences_wrap_and_are_used_where_they_are_smaller() -> None:
    values = np.cumsum(np.full(5000, 977, dtype=np.uint32), dtype=np.uint32)[::-1].tolist()
    packed = pack_column(values, rising=True)
    assert packed is not None
    assert packed["x"] == "delta"
    assert unpack_column(packed) == values


def test_gzip_has_no_time_and_is_readable() -> None:
    data = b"warp" * 1000
    assert gzip_bytes(data) == gzip_bytes(data)
    assert gzip_bytes(data)[4:8] == b"\0\0\0\0"
    assert gzip.decompress(gzip_bytes(data)) == data


def test_a_report_is_packed_in_its_traces_only() -> None:
    report = sample()
    before = json.dumps(report)
    packed = pack_report(report)
    assert json.dumps(report) == before
    columns = packed["launches"][0]["runs"][0]["traces"][0]["columns"]
    for name, column in report["launches"][0]["runs"][0]["traces"][0]["columns"].items():
        assert unpack_column(columns[name]) == column
    assert packed["launches"][0]["runs"][0]["profile"] == report["launches"][0]["runs"][0]["profile"]


def test_a_page_carries_the_packed_report() -> None:
    report = sample()
    packed = pack_page(report)
    assert packed["$"] == "json"
    assert packed["schema"] == report["schema"]
    assert packed["n"] == len(zlib.decompress(base64.b64decode(packed["d"]), wbits=31))
    assert unpack_page(packed) == pack_report(report)
    assert pack_page(report) == packed


def test_a_million_steps_pack_small() -> None:
    steps, warps = 1_000_000, 32
    pc = np.tile(np.repeat(np.arange(40), warps), steps // (40 * warps) + 1)[:steps]
    columns = {
        "round": np.repeat(np.arange(steps // warps + 1), warps)[:steps].tolist(),
        "warp": np.tile(np.arange(warps), steps // warps + 1)[:steps].tolist(),
        "pc": pc.tolist(),
        "mask": np.full(steps, 2**32 - 1).tolist(),
        "group": np.full(steps, 2**32 - 1).tolist(),
    }
    packed = {name: pack_column(column, rising=True) for name, column in columns.items()}
    assert len(json.dumps(packed)) < 750_000

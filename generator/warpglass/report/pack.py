"""Packs the report for the page: gzip and base64, trace columns as byte planes (docs/json-schema.md)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.report.json_writer import compact

__all__ = ["gzip_bytes", "pack_column", "pack_page", "pack_report", "unpack_column", "unpack_page"]

#: Columns that grow slowly along a trace: stored as differences where that is smaller.
_RISING = frozenset({"round", "step", "offset", "data_offset", "addresses", "pc"})
#: Below this a list in the page is shorter than its packed form.
_MIN_PACKED = 64
_WIDTHS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


def gzip_bytes(data: bytes, level: int = 9) -> bytes:
    """``data`` as gzip with no time, name or system in its header, so the same on every Python."""
    squeeze = zlib.compressobj(level, zlib.DEFLATED, -15, 9)
    body = squeeze.compress(data) + squeeze.flush()
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return header + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def _planes(values: npt.NDArray[np.unsignedinteger[Any]]) -> bytes:
    width = values.dtype.itemsize
    little = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"), copy=False))
    return little.view(np.uint8).reshape(-1, width).T.tobytes()


def pack_column(values: Any, *, rising: bool = False) -> dict[str, Any] | None:
    """Packed form of a column of integers from 0 below 2**64, or None where it cannot be packed.

    ``rising`` also tries differences modulo 2**32 and keeps the smaller form.
    """
    if not len(values):
        return None
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "iu" or int(array.min()) < 0:
            return None
    except (TypeError, ValueError, OverflowError):
        return None
    top = int(array.max())
    kind = "u8" if top < 2**8 else "u16" if top < 2**16 else "u32" if top < 2**32 else "u64"
    planes = _planes(array.astype(f"u{_WIDTHS[kind]}"))
    packed: dict[str, Any] = {"$": kind, "n": len(array)}
    if rising and kind != "u64":
        wide = array.astype(np.uint32)
        steps = _planes(wide - np.concatenate((np.zeros(1, np.uint32), wide[:-1])))
        # The quick level decides which form to keep: it ranks them as the slow one does.
        if len(gzip_bytes(steps, 1)) < len(gzip_bytes(planes, 1)):
            planes = steps
            packed.update({"$": "u32", "x": "delta"})
    packed["d"] = base64.b64encode(gzip_bytes(planes)).decode("ascii")
    return packed


def unpack_column(packed: Mapping[str, Any]) -> list[int]:
    """Inverse of :func:`pack_column`; the reference for the page's own decoder."""
    raw = zlib.decompress(base64.b64decode(packed["d"]), wbits=31)
    width = _WIDTHS[packed["$"]]
    planes = np.frombuffer(raw, np.uint8).reshape(width, packed["n"]).T
    values = np.ascontiguousarray(planes).view(f"<u{width}").ravel()
    if packed.get("x") == "delta":
        values = np.cumsum(values, dtype=np.uint32)
    out: list[int] = values.tolist()
    return out


def _pack_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, column in columns.items():
        packed = None
        if isinstance(column, list) and len(column) >= _MIN_PACKED:
            packed = pack_column(column, rising=name in _RISING)
        out[name] = column if packed is None else packed
    return out


def pack_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """One trace with its columns, values, accesses and barriers packed."""
    return {
        key: _pack_columns(value) if isinstance(value, Mapping) else value for key, value in trace.items()
    }


def pack_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """A shallow copy of the report in which every trace column of every run is packed.

    Of profiles only what the page's script reads is kept: the rest is drawn in its HTML.
    """
    launches = []
    for launch in report.get("launches") or []:
        runs = [
            {**run, "traces": [pack_trace(trace) for trace in run.get("traces") or []]}
            for run in launch.get("runs") or []
        ]
        launches.append({**launch, "runs": runs, **_without_drawn(launch)})
    profile = report.get("profile")
    if profile:
        report = {**report, "profile": {key: profile[key] for key in ("files", "metrics", "sets", "codes")}}
    return {**report, "launches": launches}


def _without_drawn(launch: Mapping[str, Any]) -> dict[str, Any]:
    """What of a profiled launch the page's script uses; rules, samples and rooflines stand in the HTML."""
    measured = launch.get("measured")
    if not measured:
        return {}
    return {"measured": {key: measured[key] for key in ("file", "set", *_MEASURED)}}


#: Parts of a profiled launch that stand packed by themselves, for all but the first launch of a page.
_MEASURED = ("values", "marks", "code")


def _base64(value: Any) -> str:
    text = compact(value).encode("utf-8", "surrogatepass")
    return base64.b64encode(gzip_bytes(text)).decode("ascii")


def _apart(report: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The packed report without what later launches measured, and that, packed, by launch.

    A profile of a hundred launches is mostly their values: the page reads those of one when it is chosen.
    What stays tells which columns its code panes have.
    """
    launches: list[Any] = []
    parts: dict[str, str] = {}
    for index, launch in enumerate(report["launches"]):
        measured = launch.get("measured")
        if not index or not measured:
            launches.append(launch)
            continue
        parts[str(index)] = _base64({key: measured[key] for key in _MEASURED})
        columns = sorted((measured["code"] or {}).get("profile") or {})
        stub = {"file": measured["file"], "set": measured["set"], "columns": columns}
        launches.append({**launch, "measured": stub})
    return {**report, "launches": launches}, parts


def pack_page(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page carries: the schema's name, and the report with packed traces as gzip of its JSON.

    Columns are packed by themselves first, so that the page inflates a trace when it is first looked at; what
    later launches measured is a part of its own each (``m``, by launch).
    """
    core, parts = _apart(pack_report(report))
    length = len(compact(core).encode("utf-8", "surrogatepass"))
    packed = {"schema": report.get("schema"), "$": "json", "n": length, "d": _base64(core)}
    return {**packed, "m": parts} if parts else packed


def unpack_page(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Inverse of :func:`pack_page`, the columns of traces still packed."""

    def unpacked(part: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(part), wbits=31))
        return found

    report = unpacked(packed["d"])
    for index, part in packed.get("m", {}).items():
        measured = report["launches"][int(index)]["measured"]
        measured.update(unpacked(part))
        del measured["columns"]
    return report

"""Nsight Compute reports, read without the vendor's tools."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from warpglass.errors import InputError
from warpglass.ncu.container import read_container
from warpglass.ncu.decode import decode_report
from warpglass.ncu.model import Launch, Metric, Report
from warpglass.ncu.names import counter, ratio, throughput, typed_metrics
from warpglass.ncu.query import frame, query, render_tree, single

__all__ = [
    "Launch", "Metric", "Report", "counter", "frame", "load", "parse", "query", "ratio", "render_tree",
    "single", "throughput", "typed_metrics",
]  # fmt: skip


def parse(content: bytes, name: str = "<bytes>") -> Report:
    """Read a report from bytes. Raises :class:`FormatError` where nothing of it is a report."""
    return decode_report(read_container(content, name), name)


def load(source: str | PathLike[str] | bytes) -> Report:
    """Read a report from a path or bytes."""
    if isinstance(source, bytes):
        return parse(source)
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    return parse(content, path.name)

"""Nsight Compute reports, read without the vendor's tools."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from warpglass.errors import FormatError
from warpglass.files import read_file
from warpglass.inputs.sniff import decode_text, sniff
from warpglass.ncu import factories
from warpglass.ncu.container import read_container
from warpglass.ncu.decode import decode_report
from warpglass.ncu.details_text import parse_details_text
from warpglass.ncu.exports import parse_csv
from warpglass.ncu.model import Launch, Metric, Report
from warpglass.ncu.names import counter, ratio, throughput, typed_metrics
from warpglass.ncu.query import frame, query, render_tree, single
from warpglass.ncu.run import ProfileRequest, profile

__all__ = [
    "Launch", "Metric", "ProfileRequest", "Report", "counter", "factories", "frame", "load", "parse",
    "profile", "query", "ratio", "render_tree", "single", "throughput", "typed_metrics",
    "with_launches",
]  # fmt: skip

#: The largest report that is read.
MAX_BYTES = 1 << 30


def parse(content: bytes, name: str = "<bytes>") -> Report:
    """Read a report, or a CSV or text export of one, from bytes.

    Raises :class:`FormatError` or :class:`ParseError` where nothing of it is one.
    """
    kind = sniff(content, name)
    if kind == "ncu-csv" or (kind == "csv" and name.lower().endswith(".csv")):
        return parse_csv(decode_text(content), name)
    if kind == "ncu-text":
        return parse_details_text(decode_text(content), name)
    return decode_report(read_container(content, name), name)


def with_launches(report: Report) -> Report:
    """The report itself. Raises :class:`FormatError` that says why where it holds no launch."""
    if report.launches:
        return report
    why = "; ".join(report.problems)
    raise FormatError(
        f"the report holds no {'whole ' if why else ''}launch{': ' + why if why else ''}",
        file=report.name,
        hint=None
        if why
        else "no kernels were profiled: check the profiler's filters and the program's output",
    )


def load(source: str | PathLike[str] | bytes) -> Report:
    """Read a report from a path or bytes."""
    if isinstance(source, bytes):
        return parse(source)
    path = Path(source)
    return parse(read_file(path, MAX_BYTES), path.name)

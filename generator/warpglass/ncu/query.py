"""Launches by NVTX range, as a tree, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpglass.errors import UsageError
from warpglass.inputs.demangle import demangled
from warpglass.ncu.derive import parse_derived
from warpglass.ncu.model import Launch, Report
from warpglass.ncu.nvtx import matches

__all__ = ["RangeNode", "frame", "query", "range_tree", "render_tree", "single"]


def query(report: Report, range_path: str = "") -> tuple[Launch, ...]:
    """Launches within an NVTX range (``domain@outer/inner``, see :func:`~warpglass.ncu.nvtx.matches`).

    All for the empty path.
    """
    if not range_path:
        return report.launches
    return tuple(
        launch
        for launch in report.launches
        if any(matches(path.domain, path.ranges, range_path) for path in launch.nvtx)
    )


def single(report: Report, range_path: str = "") -> Launch:
    """The one launch of a range. Raises :class:`UsageError` where there is none or more than one."""
    found = query(report, range_path)
    if len(found) != 1:
        what = f"range {range_path!r}" if range_path else "the report"
        names = ", ".join(launch.name[:60] for launch in found[:5])
        raise UsageError(f"{what} holds {len(found)} launches, not one" + (f": {names}" if names else ""))
    return found[0]


@dataclass(slots=True)
class RangeNode:
    """A range with the ranges and launches in it, in order of appearance."""

    name: str
    children: dict[str, RangeNode] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)


def range_tree(report: Report) -> RangeNode:
    """Ranges and launches as a tree; launches outside any range hang from the root."""
    root = RangeNode(report.name)
    for launch in report.launches:
        if not launch.nvtx:
            root.launches.append(launch)
            continue
        for path in launch.nvtx:
            node = root
            for part in (f"{path.domain}@{path.ranges[0]}", *path.ranges[1:]):
                node = node.children.setdefault(part, RangeNode(part))
            node.launches.append(launch)
    return root


def _within(node: RangeNode) -> set[int]:
    """Launches at and below a range; one may stand in several ranges."""
    return {launch.index for launch in node.launches}.union(*map(_within, node.children.values()))


def _lines(node: RangeNode, prefix: str) -> Iterator[str]:
    entries: list[RangeNode | Launch] = [*node.children.values(), *node.launches]
    for i, entry in enumerate(entries):
        last = i == len(entries) - 1
        branch, below = ("└── ", "    ") if last else ("├── ", "│   ")
        if isinstance(entry, RangeNode):
            count = len(_within(entry))
            yield f"{prefix}{branch}{entry.name}  ({count} launch{'es' if count != 1 else ''})"
            yield from _lines(entry, prefix + below)
        else:
            name = entry.demangled or demangled(entry.mangled).full or entry.function
            mangled = f"  [{entry.mangled}]" if entry.mangled and entry.mangled != name else ""
            yield f"{prefix}{branch}#{entry.index} {name}{mangled}"


def render_tree(report: Report) -> str:
    """The tree as text, with demangled and mangled names."""
    return "\n".join([report.name, *_lines(range_tree(report), "")])


def frame(report: Report, launches: Iterable[Launch] | None = None, derive: Sequence[str] = ()) -> Any:
    """One row a launch, one column a metric, as a pandas or polars data frame.

    ``derive`` adds columns, each ``name=expression``. Raises :class:`UsageError` where neither package is
    installed, and for an expression that cannot be read.
    """
    formulas = [parse_derived(text) for text in derive]
    rows = [
        {
            "id": launch.index,
            "kernel": launch.name,
            "grid": "x".join(map(str, launch.grid)),
            "block": "x".join(map(str, launch.block)),
            **{name: metric.value for name, metric in launch.metrics.items()},
            **{formula.name: formula.value(launch.number) for formula in formulas},
        }
        for launch in (report.launches if launches is None else launches)
    ]
    try:
        import pandas
    except ImportError:
        try:
            import polars
        except ImportError:
            raise UsageError(
                "a data frame needs pandas or polars", hint="pip install pandas, or use .metrics of a launch"
            ) from None
        return polars.DataFrame(rows, infer_schema_length=None)
    return pandas.DataFrame(rows)

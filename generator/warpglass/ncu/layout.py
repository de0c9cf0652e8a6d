"""Sections as a report's own definitions lay them out: filters decided, options chosen, in order.

A report stores the profiler's section files. What they name by label alone is laid out by
:mod:`warpglass.ncu.memory_tables` and :mod:`warpglass.ncu.memory_chart`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from warpglass.ncu.link_tables import LINK_GRIDS, LINK_TABLES
from warpglass.ncu.memory_chart import MEMORY_CHART
from warpglass.ncu.memory_tables import MEMORY_TABLES
from warpglass.ncu.model import Launch

__all__ = ["Block", "Cell", "RoofLine", "SectionLayout", "compute_capability", "layout"]

#: Definitions are a few dozen; nested containers are two deep.
_MAX_DEPTH = 8
#: Real sections have up to 20 cells in a list and 5 blocks, launches some 500 cells; what is beyond these
#: numbers is no section for people, and a page of it would not open.
_MAX_CELLS, _MAX_BLOCKS, _MAX_ROOFS, _MAX_TOTAL = 400, 100, 40, 20_000


@dataclass(frozen=True, slots=True)
class Cell:
    """One labelled metric. ``instances`` asks for a bar an instance instead of one for the whole."""

    label: str
    metric: str
    instances: bool = False


@dataclass(frozen=True, slots=True)
class RoofLine:
    """A line or point: work is the sum of ``work`` times ``rate``, traffic that of ``traffic``.

    An empty rate means that the metrics already are a second.
    """

    label: str
    work: tuple[str, ...]
    rate: str
    traffic: tuple[str, ...]
    traffic_rate: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section.

    ``kind`` is ``table``, ``bars``, ``grid``, ``roofline``, ``timeline``, ``curve`` (a metric over the keys
    of its instances: the first cell; the second, if any, is where the launch stands; ``columns`` names both
    axes), ``hotspots`` (instructions with the most of its cell), ``memory`` (the memory chart) or ``links``
    (a row for each instance of its cells' metrics). ``rows`` holds lines of cells for a grid (with
    ``columns`` as heads), for a timeline and for a memory chart.
    """

    kind: str
    title: str
    cells: tuple[Cell, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = ()
    roofs: tuple[RoofLine, ...] = ()
    achieved: tuple[RoofLine, ...] = ()


@dataclass(frozen=True, slots=True)
class SectionLayout:
    """One section: ``parent`` names the section it extends, if any."""

    id: str
    title: str
    order: int
    parent: str
    description: str
    header: tuple[Cell, ...]
    blocks: tuple[Block, ...] = field(default=())


def compute_capability(launch: Launch, arch: str | None = None) -> int | None:
    """Ten times the major plus the minor number (86), None where nothing tells."""
    major = launch.number("device__attribute_compute_capability_major")
    minor = launch.number("device__attribute_compute_capability_minor")
    if major is not None and minor is not None:
        return int(major) * 10 + int(minor)
    digits = "".join(c for c in arch or "" if c.isdigit())
    return int(digits) if digits else None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _passes(message: Any, cc: int | None) -> bool:
    """Whether a filter lets an architecture through; an unknown one passes everything."""
    if cc is None:
        return True
    if message.HasField("min_arch") and cc < message.min_arch:
        return False
    if message.HasField("max_arch") and cc > message.max_arch:
        return False
    if message.ranges:
        return any(
            (not r.HasField("low") or cc >= r.low) and (not r.HasField("high") or cc <= r.high)
            for r in message.ranges
        )
    return True


def _cell(metric: Any, cc: int | None) -> Cell | None:
    """The metric, else the first option whose filter passes, else nothing."""
    name, label = _text(metric.name), _text(metric.label)
    if not metric.HasField("filter") or _passes(metric.filter, cc):
        return Cell(label or name, name, bool(metric.show_instances))
    for option in metric.options:
        if not option.HasField("filter") or _passes(option.filter, cc):
            return Cell(_text(option.label) or label or _text(option.name), _text(option.name))
    return None


def _cells(metrics: Iterable[Any], cc: int | None) -> tuple[Cell, ...]:
    found = (_cell(metric, cc) for metric in islice(metrics, _MAX_CELLS))
    return tuple(cell for cell in found if cell is not None)


def _rated(value: Any, cc: int | None) -> tuple[tuple[str, ...], str]:
    """(metrics, rate) of a roof's work or traffic: a sum a cycle with its clock, or one metric a second."""
    if value.HasField("metric"):
        return tuple(cell.metric for cell in _cells([value.metric], cc)), ""
    metrics = value.per_cycle.metrics
    found = tuple(cell.metric for cell in _cells(metrics, cc))
    cycles = _cell(value.per_cycle.cycles, cc) if value.per_cycle.HasField("cycles") else None
    # A sum that lacks a part would pass for the whole; without a clock it is no rate.
    return (found, cycles.metric) if cycles is not None and len(found) == len(metrics) else ((), "")


def _roofline(message: Any, cc: int | None) -> Block:
    def line(one: Any) -> RoofLine:
        work, rate = _rated(one.work, cc)
        traffic, traffic_rate = _rated(one.traffic, cc)
        return RoofLine(_text(one.caption.label), work, rate, traffic, traffic_rate)

    return Block(
        "roofline",
        _text(message.label),
        columns=(_text(message.x_axis.label), _text(message.y_axis.label)),
        roofs=tuple(map(line, message.roofs[:_MAX_ROOFS])),
        achieved=tuple(map(line, message.achieved[:_MAX_ROOFS])),
    )


def _metric_table(message: Any, cc: int | None) -> Block:
    suffixes = [(_text(c.suffix), _text(c.header)) for group in message.columns for c in group.columns]
    del suffixes[_MAX_ROOFS:]
    rows = []
    for group in message.rows[:_MAX_CELLS]:
        for cell in _cells(group.metrics, cc):
            base = cell.metric
            cells = tuple(Cell(head, base + suffix) for suffix, head in suffixes)
            rows.append((cell.label, cells))
    return Block("grid", _text(message.label), columns=tuple(head for _, head in suffixes), rows=tuple(rows))


def _timeline(message: Any, cc: int | None) -> Block:
    rows = []
    for group in message.groups[:_MAX_BLOCKS]:
        for row in group.rows[:_MAX_BLOCKS]:
            cells = _cells(row.metrics, cc)
            if cells:
                rows.append((_text(group.label), cells))
    return Block("timeline", "Sampled over time", rows=tuple(rows))


def _curve(message: Any, cc: int | None) -> Block:
    cells = _cells(message.metrics, cc)[:1] + _cells(message.present.metrics, cc)[:1]
    axes = (_text(message.x_axis.label), _text(message.y_axis.label))
    return Block("curve", _text(message.label), cells, axes)


def _named_table(title: str) -> Block:
    """One of the tables that a report names by label only."""
    if title in LINK_TABLES:
        return Block("links", title, tuple(Cell(head, metric) for head, metric in LINK_TABLES[title]))
    columns, rows = LINK_GRIDS[title] if title in LINK_GRIDS else MEMORY_TABLES[title]
    return Block("grid", title, columns=columns, rows=tuple(
        (label, tuple(Cell(head, name) for head, name in zip(columns, names, strict=True)))
        for label, names in rows
    ))  # fmt: skip


#: Body item -> our table.
_NAMED_TABLES = {
    "shared_table": "Shared memory", "first_level_table": "L1/TEX cache", "l1tex_table": "L1/TEX cache",
    "second_level_table": "L2 cache", "l2_table": "L2 cache", "dram_table": "Device memory",
    "eviction_table": "L2 eviction policies", "nvlink_topology": "NVLink topology",
    "nvlink_properties": "NVLink properties", "nvlink_throughput": "NVLink throughput",
    "numa_table": "NUMA nodes",
}  # fmt: skip


def _blocks(items: Sequence[Any], cc: int | None, depth: int = 0) -> list[Block]:
    out: list[Block] = []
    if depth > _MAX_DEPTH:
        return out
    for item in items[:_MAX_BLOCKS]:
        if item.HasField("filter") and not _passes(item.filter, cc):
            continue
        if item.HasField("container"):
            out += _blocks(item.container.items, cc, depth + 1)
        if item.HasField("table"):
            out.append(Block("table", _text(item.table.label), _cells(item.table.metrics, cc)))
        if item.HasField("bar_chart"):
            out.append(Block("bars", _text(item.bar_chart.label), _cells(item.bar_chart.metrics, cc)))
        if item.HasField("roofline"):
            out.append(_roofline(item.roofline, cc))
        if item.HasField("metric_table"):
            out.append(_metric_table(item.metric_table, cc))
        if item.HasField("timeline"):
            out.append(_timeline(item.timeline, cc))
        if item.HasField("line_chart"):
            out.append(_curve(item.line_chart, cc))
        if item.HasField("hot_spots"):
            out.append(Block("hotspots", _text(item.hot_spots.label), _cells(item.hot_spots.metrics, cc)))
        if item.HasField("memory_chart"):
            out.append(Block("memory", "Memory chart", rows=tuple(
                (label, tuple(Cell(what, name) for what, name in cells)) for label, cells in MEMORY_CHART
            )))  # fmt: skip
        out += [_named_table(title) for field, title in _NAMED_TABLES.items() if item.HasField(field)]
    return out


def _section(message: Any, cc: int | None) -> SectionLayout:
    identifier = _text(message.identifier)
    blocks: list[Block] = []
    for body in message.body[:_MAX_BLOCKS]:
        blocks += _blocks(body.items, cc)
        if len(blocks) >= _MAX_BLOCKS:
            break
    if "MemoryWorkloadAnalysis_Tables" in identifier and not blocks:
        blocks += [_named_table(title) for title in MEMORY_TABLES]
    return SectionLayout(
        id=identifier,
        title=_text(message.display_name) or identifier,
        order=int(message.order),
        parent=_text(message.extends),
        description=_text(message.description),
        header=_cells(message.header.metrics, cc),
        blocks=tuple(blocks[:_MAX_BLOCKS]),
    )


def _size(section: SectionLayout) -> int:
    """Cells of a section."""
    blocks = sum(
        len(block.cells) + len(block.roofs) + sum(len(cells) for _, cells in block.rows)
        for block in section.blocks
    )
    return len(section.header) + blocks


def layout(launch: Launch, arch: str | None = None) -> tuple[SectionLayout, ...]:
    """A launch's sections in their stored order, those that extend another right behind it."""
    cc = compute_capability(launch, arch)
    sections = []
    left = _MAX_TOTAL
    for raw in launch.sections:
        if isinstance(raw, SectionLayout):  # an export lays itself out
            sections.append(raw)
            continue
        message: Any = raw
        if message.HasField("filter") and not _passes(message.filter, cc):
            continue
        section = _section(message, cc)
        left -= _size(section)
        if left < 0:
            break
        sections.append(section)
    orders = {section.id: section.order for section in sections}
    sections.sort(key=lambda s: (orders.get(s.parent, s.order), bool(s.parent), s.order, s.id))
    return tuple(sections)

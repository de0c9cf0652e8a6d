"""Tables with a row for each link or device of the machine: a report names them by label only.

Metric names are the profiler's own; each holds an instance for each row. Numbers of devices count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpglass.ncu.model import Launch, Value

__all__ = ["LINK_GRIDS", "LINK_TABLES", "LinkTable", "link_table"]

#: Column and metric, in order; what is 0 or 1 reads no or yes (:data:`_ANSWERS`).
LINK_TABLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "NVLink topology": (
        ("Device", "nvlink__dev0Id"), ("Linked to", "nvlink__dev1Id"),
        ("Direct", "nvlink__is_direct_link"), ("Ports", "nvlink__source_ports"),
        ("Ports there", "nvlink__destination_ports"),
    ),
    "NVLink properties": (
        ("Device", "nvlink__dev0Id"), ("Linked to", "nvlink__dev1Id"),
        ("Physical links", "nvlink__count_physical"), ("Bandwidth", "nvlink__bandwidth"),
        ("Peer access", "nvlink__peer_access"), ("Peer atomics", "nvlink__peer_atomic"),
        ("System access", "nvlink__system_access"), ("System atomics", "nvlink__system_atomic"),
    ),
    "NUMA nodes": (
        ("Device", "numa__dev_display_name_all"), ("CPUs", "numa__cpu_affinity"),
        ("Node of the CPUs", "numa__id_cpu"), ("Node of the memory", "numa__id_memory"),
    ),
}  # fmt: skip
_BYTES = ("bytes.sum", "bytes_data_user.sum", "bytes_data_protocol.sum", "bytes.sum.per_second")
#: Columns, and rows of metrics of the launch as a whole.
LINK_GRIDS: Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "NVLink throughput": (
        ("Bytes", "User data", "Protocol", "Bandwidth"),
        (
            ("Received", tuple(f"nvlrx__{name}" for name in _BYTES)),
            ("Sent", tuple(f"nvltx__{name}" for name in _BYTES)),
        ),
    )
}
_ANSWERS = frozenset({"Direct", "Peer access", "Peer atomics", "System access", "System atomics"})
#: A machine of 16 devices has 120 links.
_MOST_ROWS = 512


@dataclass(frozen=True, slots=True)
class LinkTable:
    """Heads with the units of their columns, and rows; None is a cell that was not collected."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Value, ...], ...]


def link_table(launch: Launch, wanted: Iterable[tuple[str, str]]) -> LinkTable | None:
    """The table of (head, metric) columns, None where fewer than two of them have instances."""
    columns: list[tuple[str, str]] = []
    values: list[dict[int | str | float | None, Value]] = []
    for label, name in wanted:
        metric = launch.metrics.get(name)
        if metric is None or not metric.instances:
            continue
        columns.append((label, metric.unit))
        found = {entry.key: entry.value for entry in metric.instances[:_MOST_ROWS]}
        if label in _ANSWERS:
            found = {key: {0: "no", 1: "yes"}.get(v, v) for key, v in found.items()}  # type: ignore[arg-type]
        values.append(found)
    keys = list(dict.fromkeys(key for column in values for key in column))[:_MOST_ROWS]
    if not keys or len(columns) < 2:
        return None
    return LinkTable(tuple(columns), tuple(tuple(column.get(key) for column in values) for key in keys))

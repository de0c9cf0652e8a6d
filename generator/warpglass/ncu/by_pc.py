"""Per-instruction metrics: instances keyed by program counter, as columns over code offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.ncu.model import Launch, Source, Value

__all__ = ["PcTable", "by_pc", "load_address"]

#: Program counters are device addresses; indexes and counts stay far below.
_LEAST_PC = 1 << 24
#: Instances whose key is a time in nanoseconds since 1970 are no program counters.
_LEAST_TIME = 1 << 59


@dataclass(frozen=True, slots=True)
class PcTable:
    """``offsets`` in bytes from the function's start, ascending; columns hold None where nothing was stored.

    ``exact`` is False where the report stores no load address and the lowest counter stands for it.
    """

    base: int
    exact: bool
    offsets: tuple[int, ...]
    columns: Mapping[str, tuple[Value, ...]]


def load_address(launch: Launch, source: Source | None) -> int | None:
    """Where the launched function was loaded, None where the report does not say."""
    if source is not None:
        for function in source.functions:
            if function.name == (launch.mangled or launch.function) and function.address:
                return function.address
    pcs = launch.metrics.get("launch__function_pcs")
    if pcs is not None and len(pcs.instances) == 1 and isinstance(pcs.instances[0].key, int):
        value = pcs.value
        return int(value) if isinstance(value, (int, float)) and value >= _LEAST_PC else None
    return None


def by_pc(launch: Launch, source: Source | None = None) -> PcTable | None:
    """Every metric stored by program counter, or None where there is none."""
    columns: dict[str, dict[int, Value]] = {}
    for metric in launch.metrics.values():
        first = metric.instances[0].key if metric.instances else None
        if not isinstance(first, int) or not _LEAST_PC <= first < _LEAST_TIME:
            continue
        columns[metric.name] = {
            entry.key: entry.value for entry in metric.instances if isinstance(entry.key, int)
        }
    if not columns:
        return None
    pcs = sorted({pc for column in columns.values() for pc in column})
    stored = load_address(launch, source)
    exact = stored is not None and stored <= pcs[0]
    base = stored if stored is not None and exact else pcs[0]
    return PcTable(
        base,
        exact,
        tuple(pc - base for pc in pcs),
        {name: tuple(column.get(pc) for pc in pcs) for name, column in columns.items()},
    )

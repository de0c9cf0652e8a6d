"""Cells of exports that hold more than a number: NVTX ranges, and a value with its instances."""

from __future__ import annotations

import re
from collections.abc import Mapping

from warpglass.ncu.locale import Locale, to_value
from warpglass.ncu.model import Instance, NvtxPath, Value

__all__ = ["NVTX_COLUMNS", "instances_of", "nvtx_of"]

#: Starts of the heads of both NVTX columns; behind them stand the names of the fields of a range.
NVTX_COLUMNS = ("thread Domain:Push/Pop_Range", "Id:Domain:Start/Stop_Range")
_QUOTED = re.compile(r'"([^"]*)"')
_WITH_INSTANCES = re.compile(r"(?P<value>[-+\d.,'nainf/]{1,40}) \((?P<instances>.+)\)", re.DOTALL)
_MOST_INSTANCES = 100_000


def _range(text: str, fields: int) -> tuple[str, str]:
    """(domain, name) of ``domain:name:…``; ``fields`` stand behind the name, which may hold colons."""
    parts = text.split(":")
    if len(parts) > fields + 1:
        return parts[0], ":".join(parts[1 : len(parts) - fields])
    return parts[0], ":".join(parts[1:])


def nvtx_of(cells: Mapping[str, str]) -> tuple[NvtxPath, ...]:
    """The ranges that a row's NVTX columns tell: push/pop ranges as a stack a domain, others alone."""
    stacks: dict[str, list[str]] = {}
    alone: list[NvtxPath] = []
    for head, cell in cells.items():
        if not head.startswith(NVTX_COLUMNS):
            continue
        pushed = head.startswith(NVTX_COLUMNS[0])
        fields = max(0, head.count(":") - (1 if pushed else 2))
        for text in _QUOTED.findall(cell) or ([cell.strip()] if cell.strip() else []):
            # A start/end range stands behind its number.
            domain, name = _range(text if pushed else re.sub(r"^\d+:", "", text), fields)
            if not name:
                continue
            if pushed:
                stacks.setdefault(domain, []).append(name)
            else:
                alone.append(NvtxPath(domain, (name,)))
    paths = [NvtxPath(domain, tuple(names[:100])) for domain, names in stacks.items()]
    return tuple(dict.fromkeys(paths + alone))


def instances_of(text: str, locale: Locale) -> tuple[Value, tuple[Instance, ...]] | None:
    """(value, instances) of ``158 (0: 100; 16: 58)`` or ``158 (100; 58)``, None for any other cell."""
    match = _WITH_INSTANCES.fullmatch(text.strip())
    if match is None:
        return None
    value = to_value(match["value"], locale)
    if isinstance(value, str):
        return None
    found = []
    for index, part in enumerate(match["instances"].split(";")[:_MOST_INSTANCES]):
        key, colon, number = part.rpartition(":")
        key = key.strip()
        one = to_value(number, locale)
        found.append(Instance((int(key) if key.isdigit() else key) if colon else index, one))
    return value, tuple(found)

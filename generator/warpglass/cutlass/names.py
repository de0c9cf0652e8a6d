"""Knobs from a compiled kernel's name: its template arguments carry stages, tile, cluster and schedule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["KernelName", "read_name"]

_MAINLOOP = re.compile(r"Mainloop(Sm\d+)(\w*?)(?:ILi(\d+)E|<\s*(?:\(int\)\s*)?(\d+))")
_NUMBERS = re.compile(r"CILi(\d+)E|C<\s*(?:\(int\)\s*)?(\d+)\s*>")
_TUPLE = re.compile(
    r"tupleIJ((?:N?[\w]*?CILi\d+EE?)+?)E(?![\d])|tuple<((?:[\s,]*(?:cute::)?C<\s*(?:\(int\)\s*)?\d+\s*>\s*)+)>"
)
_SCHEDULES = (("Pingpong", "pingpong"), ("Cooperative", "cooperative"), ("WarpSpecialized", "basic"))
_BITS = (
    ("float_e4m3", 8),
    ("float_e5m2", 8),
    ("float_e2m1", 4),
    ("half_t", 16),
    ("bfloat16", 16),
    ("tfloat32", 32),
)


@dataclass(frozen=True, slots=True)
class KernelName:
    """What a name says. ``knobs`` are presets of a program; ``schedule`` is None where it is not named."""

    arch: str
    mainloop: str
    stages: int
    cluster: tuple[int, ...]
    tile: tuple[int, ...]
    schedule: str | None
    two_sm: bool
    knobs: dict[str, int] = field(default_factory=dict)


def read_name(name: str) -> KernelName | None:
    """The template arguments of a mangled or demangled CUTLASS 3 kernel name, or None for any other."""
    text = name[:200_000]
    found = _MAINLOOP.search(text)
    if found is None:
        return None
    stages = int(found.group(3) or found.group(4))
    behind = text[found.end() :]
    tuples: list[tuple[int, ...]] = []
    for match in _TUPLE.finditer(behind[:20_000]):
        numbers = tuple(int(a or b) for a, b in _NUMBERS.findall(match.group()))
        if len(numbers) == 3:
            tuples.append(numbers)
        if len(tuples) == 2:
            break
    cluster, tile = ([*tuples, (), ()])[:2]
    policy = found.group(2) + behind[:600]
    schedule = next((mode for word, mode in _SCHEDULES if word in policy), None)
    if found.group(1) != "Sm90" and schedule == "basic":
        schedule = None
    knobs: dict[str, int] = {"S": stages}
    if tile:
        knobs.update(bm=tile[0], bn=tile[1], bk=tile[2])
    if found.group(1) == "Sm90" and len(cluster) == 3 and "CpAsync" not in found.group(2):
        knobs.update(cm=cluster[0], cn=cluster[1])
    bits = next((size for word, size in _BITS if word in behind), None)
    if bits is not None:
        knobs.update(ba=bits, bb=bits)
    two = "2Sm" in policy or (found.group(1) in ("Sm100", "Sm103") and bool(cluster) and cluster[0] % 2 == 0)
    if found.group(1) in ("Sm100", "Sm103"):
        knobs["CTA"] = 2 if two else 1
    return KernelName(
        found.group(1).lower().replace("sm", "sm_"),
        found.group(2),
        stages,
        cluster,
        tile,
        schedule,
        two,
        knobs,
    )

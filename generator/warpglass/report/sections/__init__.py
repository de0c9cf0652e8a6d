"""The sections of the page, one module each.

A module exposes ``TITLE`` and ``context(report) -> dict | None``; None means that the page has no such
section. Its partial is ``templates/sections/<id>.html.jinja`` and receives ``ctx`` and ``report``.
Sections of the report that have no module here (a user's own) are drawn by ``custom``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["PAGE_ORDER", "SectionModule", "registry"]

#: Ids in page order. Those without a module yet are drawn from the report's own section data, where it has
#: any; a user's own sections come before ``provenance``.
PAGE_ORDER = (
    "launches", "verdict", "advice", "notes", "profile", "findings", "code", "stepper", "schedule", "memory",
    "mix", "counters", "occupancy", "roofline", "bottleneck", "loops", "metrics", "pipeline", "scopes",
    "comparison", "provenance",
)  # fmt: skip

Context = Callable[[Mapping[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class SectionModule:
    """One built-in section: what it is called and what it makes of a report."""

    id: str
    title: str
    context: Context


@cache
def registry() -> Mapping[str, SectionModule]:
    """Built-in sections by id."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name in PAGE_ORDER:
            module = importlib.import_module(f"{__name__}.{info.name}")
            found[info.name] = SectionModule(info.name, module.TITLE, module.context)
    return found

"""Profiler reports to the report's JSON: one table of metric names, and a ``measured`` part a launch.

The shape is described in docs/json-schema.md. Nothing private (host, user, command line, environment)
passes here unless it is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpglass import gpu
from warpglass.analysis.occupancy import Resources, occupancy
from warpglass.inputs.demangle import demangled
from warpglass.ncu.describe import describe
from warpglass.ncu.layout import Block, Cell, SectionLayout, compute_capability, layout
from warpglass.ncu.model import Launch, NvtxPath, Report, Rule
from warpglass.report.measured_figures import figures
from warpglass.report.measured_text import (
    MAX_NAME,
    MAX_RANGES,
    MAX_TEXT,
    MOST_GAIN,
    cut,
    plain,
    rule_text,
    short_path,
)  # fmt: skip

__all__ = [
    "MeasuredFile",
    "MeasuredTables",
    "launch_arch",
    "measured_launch",
    "measured_value",
    "rule_text",
    "short_path",
]

Json = dict[str, Any]

#: Metrics whose value identifies a machine or a moment.
_PRIVATE = re.compile(r"uuid|pci_(?:bus|device|domain|sub)|profiler__timestamp", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """One profiler report of the inputs: its input id, kind and content."""

    input: int
    name: str
    kind: str
    report: Report


@dataclass(slots=True)
class MeasuredTables:
    """What launches share, each thing once: metric names, sets of them, layouts of sections.

    ``private`` lets metrics through that identify a machine.
    """

    private: bool = False
    names: dict[str, int] = field(default_factory=dict)
    units: list[str] = field(default_factory=list)
    sets: dict[tuple[int, ...], int] = field(default_factory=dict)
    layouts: dict[tuple[SectionLayout, ...], int] = field(default_factory=dict)

    def metric(self, name: str, unit: str) -> int:
        """Index of a metric name."""
        if name not in self.names:
            self.names[name] = len(self.names)
            self.units.append(unit[:40])
        elif unit and not self.units[self.names[name]]:
            self.units[self.names[name]] = unit[:40]
        return self.names[name]

    def metric_set(self, ids: tuple[int, ...]) -> int:
        """Index of a list of metrics."""
        return self.sets.setdefault(ids, len(self.sets))

    def layout(self, sections: tuple[SectionLayout, ...]) -> int:
        """Index of a layout."""
        return self.layouts.setdefault(sections, len(self.layouts))

    def to_json(self, files: Sequence[MeasuredFile], with_session: bool) -> Json:
        """The report's ``profile`` member."""
        return {
            "files": [_file(file, with_session) for file in files],
            "metrics": {
                "name": [cut(name) for name in self.names],
                "unit": self.units,
                "about": [describe(name) for name in self.names],
            },
            "sets": [list(ids) for ids in self.sets],
            "layouts": [[self._section(section) for section in sections] for sections in self.layouts],
        }

    def _section(self, section: SectionLayout) -> Json:
        return {
            "id": cut(section.id),
            "title": cut(section.title),
            "parent": cut(section.parent) or None,
            "description": cut(section.description, MAX_TEXT),
            "header": self._cells(section.header),
            "blocks": [self._block(block) for block in section.blocks],
        }

    def _cells(self, cells: Iterable[Cell]) -> list[Json]:
        # A cell may name alternatives; those no launch has stay out.
        return [
            {
                "label": cut(cell.label),
                "metrics": [self.names[n] for n in cell.metric.split("|") if n in self.names],
                "instances": cell.instances,
            }
            for cell in cells
        ]

    def _block(self, block: Block) -> Json:
        return {
            "kind": block.kind,
            "title": cut(block.title),
            "cells": self._cells(block.cells),
            "columns": [cut(column) for column in block.columns],
            "rows": [{"label": cut(label), "cells": self._cells(cells)} for label, cells in block.rows],
        }


def _file(file: MeasuredFile, with_session: bool) -> Json:
    report = file.report
    out: Json = {
        "input": file.input,
        "name": file.name,
        "kind": file.kind,
        "launches": len(report.launches),
        "problems": list(report.problems),
        "versions": {cut(k): cut(v) for k, v in report.session.versions.items()},
        "devices": [cut(str(d["name"])) for d in report.session.devices.values() if d.get("name")],
        "session": None,
    }
    if with_session:
        s = report.session
        out["session"] = {
            "created": s.created, "host": s.host, "os": s.os, "executable": s.executable,
            "arguments": s.arguments, "working_directory": s.working_directory,
            "environment": s.environment, "command_line": s.command_line,
        }  # fmt: skip
    return out


def launch_arch(launch: Launch, report: Report) -> str | None:
    """``sm_86`` where the report tells, else None."""
    source = report.sources.get(launch.source_reference or -1)
    if source is not None and source.arch:
        return source.arch
    cc = compute_capability(launch)
    return f"sm_{cc}" if cc else None


def measured_launch(
    index: int, launch: Launch, file_index: int, file: MeasuredFile, tables: MeasuredTables
) -> Json:
    """The ``launches[]`` entry of a profiled launch, without code."""
    arch = launch_arch(launch, file.report)
    sections = layout(launch, arch)
    names = demangled(launch.mangled) if launch.mangled else None
    full = launch.demangled or (names.full if names else "") or launch.function or "unnamed kernel"
    bare = names.bare if names and names.bare != launch.mangled else _bare(launch.function or full)
    device = launch.get("device__attribute_display_name")
    cluster = [int(launch.number(f"launch__cluster_dim_{axis}") or 1) or 1 for axis in "xyz"]
    shared = launch.number("launch__shared_mem_per_block_dynamic")
    return {
        "id": index,
        "label": "",
        "kernel": {
            "name": (launch.mangled or launch.function or full)[:MAX_NAME],
            "demangled": full[:MAX_NAME],
            "bare": bare[:200],
        },
        "arch": arch or "unknown",
        "gpu": {"name": cut(device)} if isinstance(device, str) else None,
        "launch": {
            "grid": list(launch.grid),
            "block": list(launch.block),
            "cluster": cluster,
            "shared_bytes": int(shared) if shared is not None else None,
            "args": [],
            "origin": dict.fromkeys(("grid", "block", "cluster", "shared_bytes"), "profiler report"),
        },
        "compile": None,
        "runs": [],
        "primary": 0,
        "measured": _measured(launch, file_index, tables, sections, arch),
    }


def _bare(name: str) -> str:
    """``scale`` of ``void ns::scale<float>(float *)``: up to the first bracket, last part, last word."""
    head = re.split(r"[(<]", name.replace("(anonymous namespace)", ""), maxsplit=1)[0].strip()
    return head.split("::")[-1].split(" ")[-1] or name


def _measured(
    launch: Launch,
    file_index: int,
    tables: MeasuredTables,
    sections: tuple[SectionLayout, ...],
    arch: str | None,
) -> Json:
    ids: list[int] = []
    values: list[Any] = []
    marks: list[list[Any]] = []
    for metric in {one.name: one for one in launch.metrics.values()}.values():
        if not tables.private and _PRIVATE.search(metric.name):
            continue
        value, mark = plain(metric.value)
        if mark is not None:
            marks.append([len(values), mark])
        ids.append(tables.metric(metric.name, metric.unit))
        values.append(value)
    return {
        "file": file_index,
        "index": launch.index,
        "evidence": "measured",
        "context": launch.context,
        "stream": launch.stream,
        "nvtx": _ranges(launch),
        "call_stack": [
            {"function": f.function[:200], "module": short_path(f.module)[:200], "line": f.line}
            for f in launch.call_stack[:64]
        ],
        "set": tables.metric_set(tuple(ids)),
        "values": values,
        "marks": marks,
        "layout": tables.layout(sections),
        "rules": [_rule(rule) for rule in launch.rules],
        **figures(launch, sections),
        "occupancy": _occupancy(launch, arch),
        "code": None,
        "predicted": [],
    }  # fmt: skip


def _ranges(launch: Launch) -> list[str]:
    """The launch's NVTX paths, as many as a page can hold: real ones are a few of some fifty letters."""
    out: list[str] = []
    room = MAX_TEXT
    for path in launch.nvtx[:MAX_RANGES]:
        ranges = tuple(map(cut, path.ranges))
        while len(ranges) > 1 and sum(map(len, ranges)) > room:
            ranges = ranges[:-1]
        text = str(NvtxPath(cut(path.domain), ranges))
        room -= len(text)
        if room < 0 and out:
            break
        out.append(text)
    return out


def _rule(rule: Rule) -> Json:
    return {
        "id": cut(rule.identifier),
        "name": cut(rule.name),
        "section": cut(rule.section),
        "messages": [
            {
                "severity": m.severity,
                "title": rule_text(cut(m.title)),
                "text": rule_text(cut(m.text, MAX_TEXT)),
                "speedup": m.speedup if m.speedup is not None and 0 <= m.speedup <= MOST_GAIN else None,
                "scope": m.scope,
                "focus": [
                    [
                        cut(name),
                        value if value is None or math.isfinite(value) else None,
                        rule_text(cut(info)),
                    ]
                    for name, value, info in m.focus
                ],
            }
            for m in rule.messages
        ],
        "markers": [
            {
                "kind": m.kind,
                "pc": m.pc,
                "file": cut(short_path(m.file)) if m.file else None,
                "source": None,
                "line": m.line,
                "message": rule_text(cut(m.message)),
            }
            for m in rule.markers
        ],
    }


def _occupancy(launch: Launch, arch: str | None) -> Json | None:
    """Theoretical occupancy of the launch by our own tables, beside what the profiler measured."""
    known = gpu.find_arch(arch) if arch else None
    registers = launch.number("launch__registers_per_thread")
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    if known is None or registers is None or not 0 < threads <= 1024:
        return None
    static = launch.number("launch__shared_mem_per_block_static") or 0
    dynamic = launch.number("launch__shared_mem_per_block_dynamic") or 0
    made = occupancy(
        known,
        Resources(
            threads=threads, registers=int(registers), static_shared=int(static), dynamic_shared=int(dynamic)
        ),
    )
    return {
        "warps": made.warps,
        "max_warps": made.max_warps,
        "blocks": made.blocks,
        "limits": {
            "registers": made.by_registers,
            "shared memory": made.by_shared,
            "warps": made.by_warps,
            "blocks": made.by_blocks,
            "barriers": made.by_barriers,
        },
        "limiters": list(made.limiters),
        "evidence": "static",
    }


def measured_value(report: Mapping[str, Any], launch: Mapping[str, Any], name: str) -> Any:
    """A metric of a launch of the report's JSON by name, None where it has none."""
    measured = launch.get("measured")
    profile = report.get("profile")
    if not measured or not profile:
        return None
    try:
        index = profile["metrics"]["name"].index(name)
        return measured["values"][profile["sets"][measured["set"]].index(index)]
    except (ValueError, IndexError):
        return None

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
from warpglass.ncu.curve import curve
from warpglass.ncu.describe import describe
from warpglass.ncu.layout import Block, Cell, SectionLayout, compute_capability, layout
from warpglass.ncu.model import Launch, Metric, NvtxPath, Report, Rule, Value
from warpglass.ncu.roofline import roofline
from warpglass.ncu.timeline import series

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

#: Names longer than this (template parameters in full) are cut in the page; the JSON too, to stay small.
_MAX_NAME = 4000
#: Letters of a label, a metric's name, a range; of a rule's or a section's text. Real ones are a third as
#: long at most, and a browser lays out lines of a hundred thousand letters for minutes.
_MAX_LABEL, _MAX_TEXT = 400, 12_000
_MAX_RANGES = 64
#: Percent; an estimate beyond it, below 0 or NaN is none.
_MOST_GAIN = 10_000
_ENDLESS = re.compile(r"\S{300}")
_MARKUP = re.compile(r"@(?:section|url|metric|link|source)\s*:([^:@]*)(?::([^@]*))?@")
#: An absolute path of any system in a text (a rule that fails tells where its file lies); folders may hold
#: blanks. Addresses (``https://…``) and fractions are no paths.
_PATH = re.compile(
    r"""(?<![\w.:/\\-])(?:/|[A-Za-z]:[/\\])[^\s/\\:"'<>|]+[/\\]"""
    r"""(?:[^\s/\\:"'<>|,]+(?: [^\s/\\:"'<>|,]+){0,4}[/\\]){0,64}([^\s/\\:"'<>|,]+)"""
)
_MAX_BARS = 40
#: Metrics whose value identifies a machine or a moment.
_PRIVATE = re.compile(r"uuid|pci_(?:bus|device|domain|sub)|profiler__timestamp", re.IGNORECASE)


def _cut(text: str, most: int = _MAX_LABEL) -> str:
    """The text, at most so many letters of it; a word without end gets gaps to break at."""
    shown = text if len(text) <= most else f"{text[:most]}…"
    return _ENDLESS.sub(r"\g<0> ", shown) if most > _MAX_LABEL else shown


def rule_text(text: str) -> str:
    """A rule's text without the profiler's link marks (``@section:Id:Label@`` is its label) and folders."""

    def shown(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        if second is None:
            return first
        return first if "//" in second else second

    return _PATH.sub(r"\1", _MARKUP.sub(shown, text))


def short_path(path: str) -> str:
    """The last part of a path of any system: folders are private."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


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
                "name": [_cut(name) for name in self.names],
                "unit": self.units,
                "about": [describe(name) for name in self.names],
            },
            "sets": [list(ids) for ids in self.sets],
            "layouts": [[self._section(section) for section in sections] for sections in self.layouts],
        }

    def _section(self, section: SectionLayout) -> Json:
        return {
            "id": _cut(section.id),
            "title": _cut(section.title),
            "parent": _cut(section.parent) or None,
            "description": _cut(section.description, _MAX_TEXT),
            "header": self._cells(section.header),
            "blocks": [self._block(block) for block in section.blocks],
        }

    def _cells(self, cells: Iterable[Cell]) -> list[Json]:
        # A cell may name alternatives; those no launch has stay out.
        return [
            {
                "label": _cut(cell.label),
                "metrics": [self.names[n] for n in cell.metric.split("|") if n in self.names],
                "instances": cell.instances,
            }
            for cell in cells
        ]

    def _block(self, block: Block) -> Json:
        return {
            "kind": block.kind,
            "title": _cut(block.title),
            "cells": self._cells(block.cells),
            "columns": [_cut(column) for column in block.columns],
            "rows": [{"label": _cut(label), "cells": self._cells(cells)} for label, cells in block.rows],
        }


def _file(file: MeasuredFile, with_session: bool) -> Json:
    report = file.report
    out: Json = {
        "input": file.input,
        "name": file.name,
        "kind": file.kind,
        "launches": len(report.launches),
        "problems": list(report.problems),
        "versions": {_cut(k): _cut(v) for k, v in report.session.versions.items()},
        "devices": [_cut(str(d["name"])) for d in report.session.devices.values() if d.get("name")],
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


def _plain(value: Value) -> tuple[Any, str | None]:
    """A JSON value and the mark of what JSON cannot say."""
    if isinstance(value, float) and not math.isfinite(value):
        return None, "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, int) and abs(value) >= 2**53:
        return str(value), None
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value), None
    if isinstance(value, str) and len(value) > _MAX_NAME:
        return value[:_MAX_NAME] + "…", None
    return value, None


def _short(value: float | None) -> Any:
    """A sample to five significant digits: a drawn line needs no more."""
    return None if value is None else _plain(float(f"{value:.5g}"))[0]


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
            "name": (launch.mangled or launch.function or full)[:_MAX_NAME],
            "demangled": full[:_MAX_NAME],
            "bare": bare[:200],
        },
        "arch": arch or "unknown",
        "gpu": {"name": _cut(device)} if isinstance(device, str) else None,
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
        value, mark = _plain(metric.value)
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
        "nvtx": [
            str(NvtxPath(_cut(path.domain), tuple(map(_cut, path.ranges))))
            for path in launch.nvtx[:_MAX_RANGES]
        ],
        "call_stack": [
            {"function": f.function[:200], "module": short_path(f.module)[:200], "line": f.line}
            for f in launch.call_stack[:64]
        ],
        "set": tables.metric_set(tuple(ids)),
        "values": values,
        "marks": marks,
        "layout": tables.layout(sections),
        "rules": [_rule(rule) for rule in launch.rules],
        "rooflines": [
            {
                "section": _cut(section.id),
                "title": _cut(block.title),
                "roofs": [_point(p.label, p.work, p.traffic) for p in roofs],
                "achieved": [_point(p.label, p.work, p.traffic) for p in achieved],
            }
            for section in sections
            for block in section.blocks
            if block.kind == "roofline"
            for roofs, achieved in [roofline(launch, block)]
            if roofs
        ],
        "curves": [
            {
                "section": _cut(section.id),
                "title": _cut(block.title),
                "x": [_plain(x)[0] for x in found.x],
                "y": [_plain(y)[0] for y in found.y],
                "now": _plain(found.now)[0],
            }
            for section in sections
            for block in section.blocks
            if block.kind == "curve"
            for found in [curve(launch, block)]
            if found is not None
        ],
        "instances": _instances(launch, sections),
        "timelines": [
            {"group": _cut(s.group), "label": _cut(s.label), "metric": _cut(s.metric), "unit": s.unit,
             "step": s.step, "t": None if s.step else list(s.t), "v": [_short(v) for v in s.v]}
            for s in series(launch, sections)
        ],
        "occupancy": _occupancy(launch, arch),
        "code": None,
        "predicted": [],
    }  # fmt: skip


def _point(label: str, work: float, traffic: float) -> Json:
    return {"label": _cut(label), "work": work, "traffic": traffic}


def _instances(launch: Launch, sections: Sequence[SectionLayout]) -> Json:
    """Metrics that a section shows instance by instance (the opcode histogram)."""
    out: Json = {}
    for section in sections:
        for block in section.blocks:
            for cell in block.cells:
                metric = launch.metrics.get(cell.metric)
                if cell.instances and metric is not None and metric.instances:
                    out[_cut(metric.name)] = _largest(metric)
    return out


def _largest(metric: Metric) -> list[list[Any]]:
    rows = [
        (_cut(str(entry.key)), float(entry.value))
        for entry in metric.instances
        if isinstance(entry.value, (int, float)) and math.isfinite(entry.value)
    ]
    rows.sort(key=lambda row: (-row[1], row[0]))
    return [[key, _plain(value)[0]] for key, value in rows[:_MAX_BARS]]


def _rule(rule: Rule) -> Json:
    return {
        "id": _cut(rule.identifier),
        "name": _cut(rule.name),
        "section": _cut(rule.section),
        "messages": [
            {
                "severity": m.severity,
                "title": rule_text(_cut(m.title)),
                "text": rule_text(_cut(m.text, _MAX_TEXT)),
                "speedup": m.speedup if m.speedup is not None and 0 <= m.speedup <= _MOST_GAIN else None,
                "scope": m.scope,
                "focus": [
                    [
                        _cut(name),
                        value if value is None or math.isfinite(value) else None,
                        rule_text(_cut(info)),
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
                "file": short_path(m.file)[:_MAX_LABEL] if m.file else None,
                "source": None,
                "line": m.line,
                "message": rule_text(_cut(m.message)),
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

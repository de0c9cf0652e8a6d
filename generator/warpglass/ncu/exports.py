"""CSV exports of the profiler's details and raw pages, in every style it has written since 2020.

Columns are found by their header names, never by their number: two different 15-column layouts exist.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from warpglass.errors import ParseError
from warpglass.ncu.export_cells import NVTX_COLUMNS, instances_of, nvtx_of
from warpglass.ncu.labels import add_labelled, exported_layout
from warpglass.ncu.locale import Locale, infer_locale, to_value
from warpglass.ncu.model import Instance, Launch, Metric, Report, Rule, RuleMessage, Session, Value

__all__ = ["capability_metrics", "normal_unit", "parse_csv"]

_ID_COLUMNS = frozenset(
    {
        "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream",
        "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit",
        "Metric Value", "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
        "Estimated Speedup", "Body Item Label", "Invocations", "Minimum", "Maximum", "Average",
        "Range Name",
    }
)  # fmt: skip
_LAUNCH_KEY = ("ID", "Process ID", "Kernel Name", "Kernel Time", "Block Size", "Grid Size")
_DIMS = re.compile(r"(\d+)\D+(\d+)\D+(\d+)")
_RULE_TYPES = {"INF": "info", "WRN": "warning", "ERR": "error", "OPT": "optimization"}
#: Columns that are read at most: a report with every metric has some thousands.
_MOST_COLUMNS = 100_000
_EMPTY_SESSION = Session(None, None, None, None, None, None, None, None, {}, {})

#: Unit spellings that drifted between versions, and the scale to the base unit.
_UNITS: dict[str, tuple[str, float]] = {
    "nsecond": ("ns", 1), "ns": ("ns", 1), "usecond": ("ns", 1e3), "us": ("ns", 1e3), "msecond": ("ns", 1e6),
    "ms": ("ns", 1e6), "second": ("ns", 1e9), "s": ("ns", 1e9),
    "byte": ("byte", 1), "Kbyte": ("byte", 1e3), "Mbyte": ("byte", 1e6), "Gbyte": ("byte", 1e9),
    "Tbyte": ("byte", 1e12), "Thz": ("hz", 1e12), "Mbyte/block": ("byte/block", 1e6),
    "KB": ("byte", 1e3), "MB": ("byte", 1e6), "GB": ("byte", 1e9),
    "byte/second": ("byte/s", 1), "byte/s": ("byte/s", 1), "Kbyte/second": ("byte/s", 1e3),
    "Kbyte/s": ("byte/s", 1e3), "Mbyte/second": ("byte/s", 1e6), "Mbyte/s": ("byte/s", 1e6),
    "Gbyte/second": ("byte/s", 1e9), "Gbyte/s": ("byte/s", 1e9), "Tbyte/second": ("byte/s", 1e12),
    "Tbyte/s": ("byte/s", 1e12),
    "hz": ("hz", 1), "Hz": ("hz", 1), "Khz": ("hz", 1e3), "Mhz": ("hz", 1e6), "Ghz": ("hz", 1e9),
    "cycle/second": ("hz", 1), "cycle/nsecond": ("hz", 1e9), "cycle/usecond": ("hz", 1e6),
    "cycle/s": ("hz", 1), "cycle/ns": ("hz", 1e9), "cycle/us": ("hz", 1e6),
    "Kbyte/block": ("byte/block", 1e3), "byte/block": ("byte/block", 1),
}  # fmt: skip


def normal_unit(unit: str, value: Value) -> tuple[str, Value]:
    """The base unit and the value in it; unknown units pass unchanged."""
    known = _UNITS.get(unit)
    if known is None or not isinstance(value, (int, float)):
        return (known[0] if known else unit), value
    name, scale = known
    return name, value if scale == 1 else float(value) * scale


@dataclass(slots=True)
class _Draft:
    """A launch while its rows are collected."""

    identity: dict[str, str]
    metrics: dict[str, Metric] = field(default_factory=dict)
    rules: dict[str, list[RuleMessage]] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    bodies: list[tuple[str, str, str, str]] = field(default_factory=list)


def _body(text: str, name: str, problems: list[str]) -> tuple[list[str], list[list[str]]]:
    """Header and rows, preamble and ``==…==`` lines dropped, and what a cut left of a last cell."""
    lines = text.split("\n")
    start = next(
        (
            i
            for i, line in enumerate(lines)
            if line.lstrip("﻿").startswith(('"ID"', "ID,")) or ('"Kernel Name"' in line and "," in line)
        ),
        None,
    )
    if start is None:
        hint = "export with `ncu --csv --page details` or `--page raw`"
        if "No kernels were profiled" in text:
            hint = "the profiler says that no kernels were profiled: check the kernel filter and the launch"
        raise ParseError(
            "no CSV header found: no line starts with the column ID", file=name, line=1, column=1, hint=hint
        )
    kept = "\n".join(line for line in lines[start:] if not line.startswith("=="))
    # A cell may be as long as a C++ name of templates; the default limit of 128 KiB is not enough.
    csv.field_size_limit(1 << 24)
    try:
        rows = list(csv.reader(io.StringIO(kept), skipinitialspace=True))
    except csv.Error as error:
        raise ParseError(f"the CSV is broken: {error}", file=name, line=start + 1, column=1) from None
    if len(rows) > 1 and rows[-1] and (kept.count('"') % 2 or not kept.endswith(('"', ",", "\n"))):
        # The last cell may be the start of a longer number.
        problems.append("the file ends inside a cell, which is left out")
        rows[-1].pop()
    header = [cell.strip().lstrip("\ufeff") for cell in rows[0]]
    body = [row for row in rows[1:] if any(cell.strip() for cell in row)]
    for number, row in enumerate(body, start=2):
        if {"ID", "Kernel Name"} <= {cell.strip() for cell in row}:
            # Launch numbers start again there: read as one, two reports would pass for one.
            raise ParseError(
                f"a second header stands in row {number} of the table: two reports are mixed in one file",
                file=name,
                line=start + number,
                column=1,
                hint="give each report as a file of its own",
            )
    return header, body


def _identity(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    return {
        name: row[i]
        for i, name in enumerate(header)
        if i < len(row) and (name in _ID_COLUMNS or name.startswith(NVTX_COLUMNS))
    }


def _metric(name: str, raw_unit: str, text: str, locale: Locale) -> Metric:
    """A metric from its cell, with the instances that the cell may hold; both in the base unit."""
    whole = instances_of(text, locale)
    value, instances = whole if whole is not None else (to_value(text, locale), ())
    unit, base = normal_unit(raw_unit, value)
    scaled = tuple(Instance(one.key, normal_unit(raw_unit, one.value)[1]) for one in instances)
    return Metric(name, base, unit, scaled)


def _dims(text: str) -> tuple[int, int, int]:
    match = _DIMS.search(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)


def capability_metrics(text: str) -> dict[str, Metric]:
    """``8.6`` as the two metrics that a report stores it in; empty where it is something else."""
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text.strip())
    if match is None:
        return {}
    names = [f"device__attribute_compute_capability_{part}" for part in ("major", "minor")]
    return {name: Metric(name, int(value), "") for name, value in zip(names, match.groups(), strict=True)}


def _pid(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def parse_csv(text: str, name: str = "<csv>") -> Report:
    """Read an export. Raises :class:`ParseError` where there is no header; odd rows become problems."""
    text = text.replace("\r\n", "\n")
    problems: list[str] = []
    header, rows = _body(text, name, problems)
    if len(header) > _MOST_COLUMNS:
        raise ParseError(
            f"{len(header)} columns; a profiler has far fewer than {_MOST_COLUMNS} metrics",
            file=name,
            line=1,
            column=1,
        )
    if "Metric Name" in header:
        drafts = _details(header, rows, problems)
    else:
        drafts = _raw(header, rows, problems)
    launches = tuple(_launch(i, draft) for i, draft in enumerate(drafts))
    return Report(name, 0, launches, {}, _EMPTY_SESSION, tuple(dict.fromkeys(problems)))


def _launch(index: int, draft: _Draft) -> Launch:
    identity = draft.identity
    kernel = identity.get("Kernel Name", "")
    return Launch(
        index=index,
        mangled="",
        function=kernel.split("(", 1)[0],
        demangled=kernel,
        grid=_dims(identity.get("Grid Size", "")),
        block=_dims(identity.get("Block Size", "")),
        context=_pid(identity.get("Context", "")) or 0,
        stream=_pid(identity.get("Stream", "")) or 0,
        thread=0,
        process=_pid(identity.get("Process ID", "")),
        metrics={**capability_metrics(identity.get("CC", "")), **draft.metrics},
        rules=tuple(
            Rule(rule, rule, draft.sections.get(rule, ""), tuple(found))
            for rule, found in draft.rules.items()
        ),
        nvtx=nvtx_of(identity),
        call_stack=(),
        source_reference=None,
        sections=exported_layout(draft.rows, draft.bodies),
    )


def _details(header: list[str], rows: list[list[str]], problems: list[str]) -> list[_Draft]:
    column = {name: i for i, name in enumerate(header)}
    summary = "Average" in column and "Metric Value" not in column
    value_column = column.get("Average" if summary else "Metric Value")
    if value_column is None:
        problems.append("the CSV has no column Metric Value: nothing can be read from it")
        return []
    unit_column = column.get("Metric Unit")

    def cell(row: Sequence[str], index: int | None) -> str:
        return row[index].strip() if index is not None and index < len(row) else ""

    if summary:
        problems.append("a summary: values are means over each kernel's launches, not those of one launch")
    locale = infer_locale((cell(r, value_column), cell(r, unit_column) == "%") for r in rows)
    drafts: dict[tuple[str, ...], _Draft] = {}
    odd: dict[int, list[int]] = {}
    for number, row in enumerate(rows, start=2):
        # Rows of metrics end behind their value: cells of rules are written in rows of rules alone.
        if not value_column < len(row) <= len(header):
            odd.setdefault(len(row), []).append(number)
            if len(row) <= value_column:
                continue
        identity = _identity(header, row)
        # Two reports in one file repeat their ids: kernel, process and time keep their launches apart.
        key = tuple(identity.get(k, "") for k in _LAUNCH_KEY)
        draft = drafts.setdefault(key, _Draft(identity))
        if metric := cell(row, column["Metric Name"]):
            read = _metric(metric, cell(row, unit_column), cell(row, value_column), locale)
            section = cell(row, column.get("Section Name"))
            item = cell(row, column.get("Body Item Label"))
            if item:
                # Charts of a section use the header's labels for other metrics: only a name is one.
                name = metric if "__" in metric else f"{section}: {item}: {metric}"
                made = Metric(name, read.value, read.unit, read.instances)
                draft.metrics[name] = made
                draft.bodies.append((section, item, metric, name))
            else:
                # One label may stand in two sections ("Memory Throughput" in % and in byte/s).
                taken = metric in draft.metrics and "__" not in metric
                label = f"{section}: {metric}" if taken else metric
                made = add_labelled(
                    draft.metrics, label, section, metric, read.unit, read.value, read.instances
                )
                draft.rows.append((section, metric, made.name))
            if summary:
                for part in ("Minimum", "Maximum"):
                    end = normal_unit(cell(row, unit_column), to_value(cell(row, column.get(part)), locale))
                    one = Metric(f"{made.name} ({part.lower()})", end[1], end[0])
                    draft.metrics[one.name] = one
                    draft.rows.append((section, f"{metric}, {part.lower()}", one.name))
        if rule := cell(row, column.get("Rule Name")):
            gain = to_value(cell(row, column.get("Estimated Speedup")), locale)
            kind = cell(row, column.get("Rule Type"))
            draft.sections.setdefault(rule, cell(row, column.get("Section Name")))
            draft.rules.setdefault(rule, []).append(
                RuleMessage(
                    _RULE_TYPES.get(kind, kind.lower() or "info"),
                    "",
                    cell(row, column.get("Rule Description")),
                    float(gain) if isinstance(gain, (int, float)) else None,
                    cell(row, column.get("Estimated Speedup Type")) or None,
                )
            )
    problems += _odd_rows(odd, len(header))
    return list(drafts.values())


def _odd_rows(odd: Mapping[int, Sequence[int]], expected: int) -> list[str]:
    """A sentence for each number of cells that rows should not have; ``odd`` holds their row numbers."""
    return [
        f"{len(numbers):,} row{'s' if len(numbers) > 1 else ''} of {cells} cells where the header has "
        f"{expected} (the first is row {numbers[0]})"
        for cells, numbers in odd.items()
    ]


def _raw(header: list[str], rows: list[list[str]], problems: list[str]) -> list[_Draft]:
    metrics = [
        (i, name)
        for i, name in enumerate(header)
        if name not in _ID_COLUMNS and not name.startswith(NVTX_COLUMNS)
    ]
    if not metrics:
        problems.append("the CSV has neither a column Metric Name nor one for each metric")
        return []
    units = [""] * len(header)
    id_column = header.index("ID") if "ID" in header else 0
    if rows and not rows[0][id_column].strip():
        # The row behind the header names the units; its id cells are empty.
        units = [unit.strip() for unit in rows[0]] + [""] * len(header)
        rows = rows[1:]
    locale = infer_locale(_cells(rows, metrics, units))
    drafts = []
    odd: dict[int, list[int]] = {}
    for number, row in enumerate(rows, start=3):
        if len(row) != len(header):
            odd.setdefault(len(row), []).append(number)
        draft = _Draft(_identity(header, row))
        for i, name in metrics:
            if i < len(row):
                draft.metrics[name] = _metric(name, units[i], row[i], locale)
        drafts.append(draft)
    problems += _odd_rows(odd, len(header))
    return drafts


def _cells(
    rows: Sequence[Sequence[str]], metrics: Sequence[tuple[int, str]], units: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    for row in rows:
        for i, _ in metrics:
            if i < len(row):
                yield row[i].strip().split(" (", 1)[0], units[i] == "%"

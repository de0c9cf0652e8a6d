"""Checks that a dict is a report: the JSON Schema beside this file, and what a schema cannot say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from warpglass.errors import InputError

__all__ = ["SCHEMA", "check_report", "problems", "report_schema"]

SCHEMA = "warpglass-report/1"


@cache
def report_schema() -> Mapping[str, Any]:
    """The JSON Schema of a report."""
    text = resources.files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = json.loads(text)
    return loaded


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(report_schema())


def _where(error: ValidationError) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return f"report{path}"


def problems(report: Any) -> Iterator[str]:
    """Everything that keeps ``report`` from being one, a line each: the best match of the schema first."""
    error = best_match(_validator().iter_errors(report))
    if error is not None:
        message = error.message if len(error.message) <= 200 else f"{error.message[:200]}…"
        yield f"{_where(error)}: {message}"
        return
    yield from _column_problems(report)


def _measured_problems(report: Mapping[str, Any]) -> Iterator[str]:
    """Indexes of profiled launches that point nowhere."""
    profile = report.get("profile")
    for number, launch in enumerate(report["launches"]):
        measured = launch.get("measured")
        if not measured:
            continue
        here = f"report.launches[{number}].measured"
        if not profile:
            yield f"{here}: the report has no profile"
            return
        for key, table in (("file", "files"), ("set", "sets"), ("layout", "layouts")):
            if measured[key] >= len(profile[table]):
                yield f"{here}.{key}: there are {len(profile[table])} {table}"
                return
        yield from _type_problems(here, {"values": measured["values"]}, {"values": _VALUE})
        if len(measured["values"]) != len(profile["sets"][measured["set"]]):
            yield f"{here}.values: not as many as the metrics of its set"
        if any(position >= len(measured["values"]) for position, _ in measured["marks"]):
            yield f"{here}.marks: a position beyond the values"
        for line in measured["timelines"]:
            columns = {"v": line["v"], "t": line["t"] or []}
            yield from _type_problems(f"{here}.timelines", columns, {"v": _NUMBER, "t": _INT})
            if any(time < 0 for time in line["t"] or [] if isinstance(time, int)):
                yield f"{here}.timelines.t: a negative time"
            if line["t"] is None and line["step"] is None:
                yield f"{here}.timelines: neither step nor times"
            if line["t"] is not None and len(line["t"]) != len(line["v"]):
                yield f"{here}.timelines: times and values of different length"
        for line in measured.get("curves") or []:
            if not line["x"] or len(line["x"]) != len(line["y"]):
                yield f"{here}.curves: as many x as y are needed, and at least one"
        code = measured["code"]
        if code and code["code"] >= len(profile["codes"]):
            yield f"{here}.code: there are {len(profile['codes'])} codes"
        elif code:
            columns = code["profile"]
            yield from _type_problems(f"{here}.code.profile", columns, dict.fromkeys(columns, _NUMBER))
            rows = len(profile["codes"][code["code"]]["instructions"]["line"])
            if any(len(column) != rows for column in code["profile"].values()):
                yield f"{here}.code.profile: columns of another length than the code"


def _profile_problems(report: Mapping[str, Any]) -> Iterator[str]:
    """What launches share of their profiles: columns and indexes."""
    profile = report.get("profile")
    if not profile:
        return
    metrics = profile["metrics"]
    count = len(metrics["name"])
    yield from _type_problems(
        "report.profile.metrics", metrics, {"name": _TEXT, "unit": _TEXT, "about": _TEXT_OR_NONE}
    )
    for ids in profile["sets"]:
        yield from _type_problems("report.profile.sets", {"set": ids}, {"set": _INT})
        if any(isinstance(index, int) and index < 0 for index in ids):
            yield "report.profile.sets: a negative index"
    if {len(column) for column in metrics.values()} != {count}:
        yield "report.profile.metrics: columns of different length"
    used = {index for ids in profile["sets"] for index in ids if isinstance(index, int)}
    for layout in profile["layouts"]:
        for section in layout:
            blocks = section["blocks"]
            cells = [*section["header"], *(cell for block in blocks for cell in block["cells"])]
            cells += [cell for block in blocks for row in block["rows"] for cell in row["cells"]]
            used |= {index for cell in cells for index in cell["metrics"]}
    if used and max(used) >= count:
        yield f"report.profile: there are {count} metrics"
    for number, code in enumerate(profile["codes"]):
        here = f"report.profile.codes[{number}].instructions"
        if len({len(column) for column in code["instructions"].values()}) > 1:
            yield f"{here}: columns of different length"
        yield from _type_problems(here, code["instructions"], _CODE)


def _column_problems(report: Mapping[str, Any]) -> Iterator[str]:
    """Columns of unequal length, and indexes that point nowhere."""
    yield from _profile_problems(report)
    yield from _measured_problems(report)
    for number, launch in enumerate(report["launches"]):
        primary, runs = launch.get("primary"), launch["runs"]
        if primary is not None and runs and primary >= len(runs):
            yield f"report.launches[{number}].primary: there are {len(runs)} runs"
        for index, run in enumerate(runs):
            here = f"report.launches[{number}].runs[{index}]"
            tables = {"profile": run.get("profile") or {}}
            if run.get("code"):
                tables["code.instructions"] = run["code"]["instructions"]
            for position, trace in enumerate(run.get("traces") or []):
                tables[f"traces[{position}].columns"] = trace["columns"]
            for name, table in tables.items():
                lengths = {len(column) for column in table.values()}
                if len(lengths) > 1:
                    yield f"{here}.{name}: columns of different length {sorted(lengths)}"
            yield from _type_problems(f"{here}.profile", tables["profile"], {})
            yield from _type_problems(f"{here}.code.instructions", tables.get("code.instructions", {}), _CODE)
            rows = dict(enumerate(row for row in run.get("active_histogram") or [] if row))
            yield from _type_problems(f"{here}.active_histogram", rows, dict.fromkeys(rows, _INT))
            instructions = max((len(c) for c in tables.get("code.instructions", {}).values()), default=0)
            for position, trace in enumerate(run.get("traces") or []):
                yield from _trace_problems(f"{here}.traces[{position}]", trace, instructions)


#: What the columns of ``code.instructions`` hold; every other column of a run counts.
_INT = frozenset({int})
_COUNT = frozenset({int, type(None)})
_TEXT: frozenset[type] = frozenset({str})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})
_NUMBER: frozenset[type] = frozenset({int, float, type(None)})
_VALUE: frozenset[type] = frozenset({int, float, str, type(None)})
_CODE: Mapping[str, frozenset[type]] = {
    "line": _INT,
    "opcode": frozenset({str}),
    "text": frozenset({str}),
    "kind": frozenset({str}),
    "function": frozenset({str, int, type(None)}),
    "source": frozenset({str, int, type(None)}),
    "inlined": frozenset({list, type(None)}),
    "reads": frozenset({list}),
    "writes": frozenset({list}),
    "control": frozenset({dict, list, str, int, type(None)}),
    "ptx_lines": frozenset({list, type(None)}),
}


def _type_problems(
    here: str, table: Mapping[Any, Any], types: Mapping[Any, frozenset[type]]
) -> Iterator[str]:
    """Columns with an entry of another type than theirs; by type, since a schema would take seconds."""
    for name, column in table.items():
        odd = set(map(type, column)) - types.get(name, _COUNT)
        if odd:
            yield f"{here}.{name}: holds {', '.join(sorted(one.__name__ for one in odd))}"


def _trace_problems(here: str, trace: Mapping[str, Any], instructions: int) -> Iterator[str]:
    """Steps that name an instruction, warp or round that is not there."""
    limits = {
        "pc": instructions,
        "warp": trace["warps"],
        "round": trace.get("rounds"),
        "mask": 2**32,
        "group": 2**32,
    }
    for name, column in trace["columns"].items():
        limit = limits.get(name)
        if limit is None or not column:
            continue
        try:
            values = np.asarray(column)
            fits = values.dtype.kind in "iu" and int(values.min()) >= 0 and int(values.max()) < limit
        except (ValueError, OverflowError):
            fits = False
        if not fits:
            yield f"{here}.columns.{name}: has entries that are no integers from 0 to {limit - 1}"


def check_report(report: Any) -> None:
    """Raise InputError with the first problem where ``report`` is no report of this version."""
    schema = str(report.get("schema", "")) if isinstance(report, Mapping) else ""
    if schema.startswith("warpglass-report/") and schema != SCHEMA:
        raise InputError(f"the report has schema {schema[:40]!r}; this version reads {SCHEMA!r}")
    for problem in problems(report):
        raise InputError(f"not a report: {problem}")

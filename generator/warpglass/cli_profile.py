"""``metrics`` and ``profile``: read metrics out of a profiler report, or run the profiler and report."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpglass import ncu
from warpglass.cli_console import Shell, outputs, printable, write_json
from warpglass.errors import UsageError
from warpglass.files import refuse_inputs
from warpglass.ncu.derive import Derived, parse_derived
from warpglass.ncu.run import ProfileRequest, find_ncu, run_profiler
from warpglass.options import ReportOptions
from warpglass.patterns import compile_pattern

__all__ = ["profile_app", "show_metrics"]


def _chosen(report: ncu.Report, launches: Sequence[int], nvtx: str | None) -> list[ncu.Launch]:
    found = list(report.query(nvtx or ""))
    if nvtx and not found:
        ranges = list(dict.fromkeys(str(path) for launch in report for path in launch.nvtx))
        there = f"there is {', '.join(ranges[:5])}" if ranges else "the report holds no NVTX ranges"
        raise UsageError(f"no launch is in range {nvtx!r}", hint=there)
    if not launches:
        return found
    by_index = {launch.index: launch for launch in found}
    wrong = [index for index in launches if index not in by_index]
    if wrong:
        if 0 <= wrong[0] < len(report.launches):
            raise UsageError(f"launch {wrong[0]} is not in range {nvtx!r}")
        raise UsageError(f"there is no launch {wrong[0]}; they are 0 to {len(report.launches) - 1}")
    return [by_index[index] for index in launches]


def show_metrics(
    source: Path,
    launches: Sequence[int],
    patterns: Sequence[str],
    derived: Sequence[str],
    nvtx: str | None,
    as_csv: bool,
    tree: bool,
    json: str | None,
    shell: Shell,
) -> int:
    """Metrics of a report as a table, CSV or JSON: one row a launch and metric."""
    refuse_inputs(outputs(json), [source])
    report = ncu.with_launches(ncu.load(source))
    for problem in report.problems:
        shell.note(f"{report.name}: {problem}")
    if tree:
        shell.say(report.tree())
        return 0
    expressions = [compile_pattern(pattern, "--metric") for pattern in patterns]
    formulas = [parse_derived(text) for text in derived]
    rows = [
        row
        for launch in _chosen(report, launches, nvtx)
        for row in _rows(launch, expressions, formulas, every=not patterns and not derived)
    ]
    if json is not None:
        keys = ("launch", "kernel", "metric", "unit", "value")
        write_json([dict(zip(keys, row, strict=True)) for row in rows], json)
        if json == "-":
            return 0
    if as_csv:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"))
        # Control characters of names would be obeyed by a terminal, and a NUL ends the file for many readers.
        cells = ([*row[:4], "n/a" if row[4] is None else row[4]] for row in rows)
        writer.writerows([printable(c) if isinstance(c, str) else c for c in row] for row in cells)
        sys.stdout.write(out.getvalue())
        return 0
    if not rows:
        shell.note("no metric matches")
    shell.table(
        ("launch", "kernel", "metric", "unit", "value"),
        [[str(r[0]), printable(r[1][:40]), printable(r[2]), r[3], _shown(r[4])] for r in rows],
    )
    return 0


def _shown(value: object) -> str:
    if value is None:
        return "n/a"
    return f"{value:,}" if isinstance(value, (int, float)) else printable(str(value)[:200])


def _whole(value: object) -> object:
    """Whole numbers as integers: counts are stored as doubles as often as not. What JSON has no number
    for stays what it is, as a word: the profiler stores NaN for a metric that it could not collect."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _rows(
    launch: ncu.Launch, patterns: Sequence[re.Pattern[str]], formulas: Sequence[Derived], *, every: bool
) -> list[tuple[int, str, str, str, object]]:
    rows: list[tuple[int, str, str, str, object]] = [
        (launch.index, launch.name, metric.name, metric.unit, _whole(metric.value))
        for metric in launch.matching("")
        if every or any(pattern.search(metric.name) for pattern in patterns)
    ]
    rows += [(launch.index, launch.name, f.name, "", _whole(f.value(launch.number))) for f in formulas]
    return rows


def profile_app(
    request: ProfileRequest,
    options: ReportOptions,
    output: Path,
    keep: Path | None,
    dry_run: bool,
    shell: Shell,
) -> int:
    """Run ncu on an application, then report on what it measured."""
    from warpglass.api import make_report
    from warpglass.cli_report import check_output
    from warpglass.ncu.run import command

    request.check()
    check_output(output)
    refuse_inputs(outputs(output, keep), [Path(request.application[0])])
    if dry_run:
        shell.say(shlex.join(command(request, keep or Path(output.stem))))
        return 0
    program = find_ncu()
    name = f"{Path(request.application[0]).name}.ncu-rep"
    shell.say(shlex.join(command(request, keep or Path(name), program)))
    content, _, result = run_profiler(request, keep, ncu=program)
    shell.note(result.text.rstrip(), verbose=True)
    with tempfile.TemporaryDirectory(prefix="warpglass-ncu-") as folder, shell.working("report") as progress:
        place = Path(folder) / name
        place.write_bytes(content)
        report = make_report([place], options, progress=progress)
        report.render(output)
    shell.say(f"{output} ({output.stat().st_size / 1024:.0f} KiB)")
    return 0

"""Profiler reports among the inputs: read them, plan launches like theirs, put them into the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from warpglass import ncu
from warpglass.analyse import measurement_of
from warpglass.analysis.measured_loops import tight_stalls
from warpglass.analysis.stalls import Tightening
from warpglass.collect import PROFILE_KINDS, InputFile
from warpglass.files import is_file
from warpglass.gpu import find_arch
from warpglass.inputs.demangle import demangled, matches_name
from warpglass.launchspec import LAUNCH_FILE, LaunchSpec
from warpglass.launchvalues import Place
from warpglass.options import ReportOptions
from warpglass.page_sources import PageSources
from warpglass.report.diagnosis import measurement_json
from warpglass.report.measured import MeasuredFile, MeasuredTables, launch_arch, measured_launch
from warpglass.report.measured_code import CodeBook
from warpglass.report.measured_words import measured_sections

__all__ = [
    "add_predictions",
    "measured_sections",
    "profile_json",
    "read_profiles",
    "report_specs",
    "with_measured_archs",
]

Json = dict[str, Any]

#: A file of a profiler has at most a few hundred launches; a page of more would not open.
MOST_LAUNCHES = 2000


def read_profiles(
    files: Sequence[InputFile], say: Callable[[str], None] | None = None
) -> tuple[MeasuredFile, ...]:
    """Every profiler report or export among ``files``. Raises what the first bad one raises."""
    out = []
    for file in files:
        if file.kind in PROFILE_KINDS:
            if say is not None:
                say(f"reading {file.name}")
            report = ncu.with_launches(ncu.parse(file.content, file.name))
            out.append(MeasuredFile(file.index, file.name, file.kind, report))
    return tuple(out)


def report_specs(profiles: Sequence[MeasuredFile]) -> tuple[LaunchSpec, ...]:
    """What the profiler saw of each kernel, for the execution of the same kernel."""
    specs = []
    for profile in profiles:
        for launch in profile.report.launches:
            if min(launch.grid) < 1 or not launch.mangled:
                continue
            shared = launch.number("launch__shared_mem_per_block_dynamic")
            arch = launch_arch(launch, profile.report)
            specs.append(
                LaunchSpec(
                    arch=arch if arch and find_arch(arch) else None,
                    place=Place(f"profiler report {profile.name}", Path(".")),
                    kernel=launch.mangled,
                    grid=launch.grid,
                    block=launch.block,
                    shared_bytes=int(shared) if shared is not None else None,
                )
            )
    return tuple(specs)


def with_measured_archs(
    options: ReportOptions, profiles: Sequence[MeasuredFile], folders: Sequence[Path]
) -> ReportOptions:
    """Options that compile sources for the GPUs measured, where nobody named an architecture."""
    named = options.arch or options.launch_file or any(is_file(f / LAUNCH_FILE) for f in folders)
    archs = dict.fromkeys(spec.arch for spec in report_specs(profiles) if spec.arch)
    return options if named or not archs else replace(options, arch=tuple(archs)[:4])


def profile_json(
    profiles: Sequence[MeasuredFile],
    sources: PageSources,
    options: ReportOptions,
    first: int,
    assumptions: list[str],
) -> tuple[Json, list[Json]]:
    """(the report's ``profile`` member, its launches numbered from ``first``)."""
    tables = MeasuredTables(private=options.with_session)
    book = CodeBook(sources)
    tight: dict[int, tuple[Tightening, ...]] = {}
    entries: list[Json] = []
    for number, profile in enumerate(profiles):
        assumptions += [f"{profile.name}: {problem}" for problem in profile.report.problems]
        chosen = [
            launch for launch in profile.report.launches
            if options.kernel is None or _wanted(launch, options.kernel)
        ]  # fmt: skip
        if len(chosen) > MOST_LAUNCHES:
            assumptions.append(
                f"{profile.name}: the first {MOST_LAUNCHES} of {len(chosen)} launches are shown"
            )
            chosen = chosen[:MOST_LAUNCHES]
        for launch in chosen:
            entry = measured_launch(first + len(entries), launch, number, profile, tables)
            code = book.add(entry, launch, profile.report, profile.input)
            found = measurement_of(launch, launch_arch(launch, profile.report), options)
            if code is not None and id(code.listing) not in tight:  # launches of a kernel share its code
                tight[id(code.listing)] = tight_stalls(found, code)
            entry["diagnosis"] = (
                measurement_json(found, code, tight[id(code.listing)], *book.place(entry))
                if code is not None
                else measurement_json(found)
            )
            entries.append(entry)
    assumptions += book.notes
    return {**tables.to_json(profiles, options.with_session), "codes": book.codes}, entries


def _wanted(launch: ncu.Launch, kernel: str) -> bool:
    return matches_name(launch.mangled or launch.name, kernel) or kernel in launch.name


#: Predicted counter of an executed run and the metric that the profiler measures it with.
_PAIRS: tuple[tuple[str, str], ...] = (
    ("warp_executed", "smsp__inst_executed.sum"),
    ("thread_executed", "smsp__thread_inst_executed_pred_on.sum"),
)


def add_predictions(launches: Sequence[Json], profile: Mapping[str, Any]) -> None:
    """Where the same kernel was executed here with the same shape: predicted counts beside measured ones.

    Only machine code counts what a profiler counts: runs of PTX predict nothing.
    """
    names = {name: i for i, name in enumerate(profile["metrics"]["name"])}
    executed: dict[tuple[str, str], Json] = {}
    for launch in launches:
        for run in launch["runs"]:
            if run["isa"] == "sass" and run["complete"]:
                executed.setdefault(_key(launch), run)
    for launch in launches:
        run = executed.get(_key(launch)) if launch.get("measured") else None
        if run is None:
            continue
        measured = launch["measured"]
        places = {metric: i for i, metric in enumerate(profile["sets"][measured["set"]])}
        for metric, value, rule in _predicted(run):
            at = places.get(names.get(metric, -1))
            if at is None or not isinstance(measured["values"][at], (int, float)):
                continue
            measured["predicted"].append(
                {"metric": metric, "value": value, "measured": measured["values"][at], "evidence": rule}
            )


def _predicted(run: Json) -> list[tuple[str, float, str]]:
    """(metric, value, evidence) of an executed run: its counters by the profiler's names, then plain sums."""
    out: list[tuple[str, float, str]] = []
    for number in run.get("counters") or run.get("numbers") or []:
        value = number.get("value")
        name = str(number.get("metric") or number.get("name"))
        if "__" in name and isinstance(value, (int, float)):
            out.append((name, value, str(number.get("evidence", "executed"))))
    known = {name for name, _, _ in out}
    for column, metric in _PAIRS:
        values = run["profile"].get(column)
        if values and metric not in known:
            out.append((metric, sum(v or 0 for v in values), "executed"))
    return out


def _key(launch: Json) -> tuple[str, str]:
    """Kernel, shape and architecture: another one compiles to other instructions."""
    shape = launch["launch"]
    arch = str(launch.get("arch") or "").rstrip("af")
    return demangled(launch["kernel"]["name"]).full, f"{shape['grid']}/{shape['block']}/{arch}"

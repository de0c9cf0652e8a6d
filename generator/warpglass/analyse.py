"""From a code unit and its runs to a diagnosis: what the analyses need, gathered in their own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from warpglass import gpu, ncu, ptx
from warpglass.analysis.diagnosis import Diagnosis, diagnose
from warpglass.analysis.measured import Measurement, measured_time
from warpglass.analysis.problem import Problem, parse_problem
from warpglass.analysis.sass_listing import sass_listing
from warpglass.analysis.subject import Subject
from warpglass.collect import CodeUnit
from warpglass.errors import UsageError, WarpglassError
from warpglass.launchparams import describe_params
from warpglass.machine.launch import Launch
from warpglass.options import ReportOptions
from warpglass.report.payload import RunUnit

__all__ = [
    "PROFILED",
    "diagnosis_of",
    "expected_fraction",
    "measurement_of",
    "problem_names",
    "profiled_times",
]

#: What a profiler's duration is: it replays the launch with locked clocks and cold caches.
PROFILED = "profiler: clocks locked, replayed"


def profiled_times(launches: Iterable[ncu.Launch]) -> Mapping[str, float]:
    """Least duration in milliseconds by the kernel's mangled name, where a profiler's report has one."""
    times: dict[str, float] = {}
    for launch in launches:
        value = measured_time(launch)
        if value is not None and launch.mangled:
            times[launch.mangled] = min(value, times.get(launch.mangled, value))
    return times


def measurement_of(launch: ncu.Launch, arch: str | None, options: ReportOptions) -> Measurement:
    """A profiled launch with what the user said about it; ``--time-ms`` wins over the profiler's duration.

    Raises :class:`UsageError` for a ``--problem`` or ``--expect`` that cannot be read.
    """
    name = launch.get("device__attribute_display_name")
    model = None
    if options.gpu is not None or isinstance(name, str):
        try:
            model = gpu.model(options.gpu or str(name))
        except WarpglassError:
            if options.gpu is not None:
                raise
    names = {f"grid_{axis}": float(v) for axis, v in zip("xyz", launch.grid, strict=True)}
    names |= {f"block_{axis}": float(v) for axis, v in zip("xyz", launch.block, strict=True)}
    given = options.time_ms is not None
    return Measurement(
        launch=launch,
        arch=gpu.find_arch(arch) if arch else None,
        gpu=model,
        time_ms=options.time_ms if given else measured_time(launch),
        time_origin="--time-ms" if given else PROFILED,
        problem=parse_problem(options.problem, names) if options.problem is not None else None,
        expected=expected_fraction(options.expect),
    )


def expected_fraction(expect: Sequence[str]) -> float | None:
    """The fraction of ``--expect 70%`` among the expectations, or None. Raises :class:`UsageError`."""
    found = [text.strip() for text in expect if text.strip().endswith("%")]
    if not found:
        return None
    if len(found) > 1:
        raise UsageError("--expect takes one percentage")
    try:
        value = float(found[0][:-1])
    except ValueError:
        raise UsageError(f"--expect cannot be read: {found[0][:40]!r}", hint="--expect 70%") from None
    if not 0 < value <= 100:
        raise UsageError(
            f"--expect is {found[0][:40]!r}; a fraction of the roof is above 0 and at most 100 %"
        )
    return value / 100


def problem_names(launch: Launch) -> Mapping[str, float]:
    """What a problem's expression may name: scalar arguments and the extents of the launch."""
    names: dict[str, float] = {}
    for axis, value in zip("xyz", launch.grid, strict=True):
        names[f"grid_{axis}"] = float(value)
    for axis, value in zip("xyz", launch.block, strict=True):
        names[f"block_{axis}"] = float(value)
    for name, argument in launch.args.items():
        if argument.kind == "scalar" and isinstance(argument.value, int | float):
            names[argument.name or name] = float(argument.value)
    return names


def diagnosis_of(
    unit: CodeUnit,
    function: ptx.Function,
    launch: Launch,
    runs: Sequence[RunUnit],
    options: ReportOptions,
    model: gpu.GpuModel | None,
    own: frozenset[str],
    profiled: Mapping[str, float] | None = None,
) -> Diagnosis | None:
    """The diagnosis of an executed launch; None where nothing ran or the architecture is not known.

    SASS decides where it ran to the end, else PTX. ``profiled`` are a profiler's times by mangled name, in
    milliseconds; ``--time-ms`` wins over them. Raises :class:`UsageError` for a ``--problem`` that
    cannot be read.
    """
    arch = gpu.find_arch(unit.arch)
    if not runs or arch is None:
        return None
    complete = [run for run in runs if run.result.complete]
    run = next((r for r in complete if r.listing.isa == "sass"), complete[0] if complete else runs[0])
    machine_code = next((r.listing for r in runs if r.listing.isa == "sass"), None)
    code = None
    if unit.sass is not None:
        code = next((f for f in unit.sass.functions if f.name == function.name), None)
        if code is not None and machine_code is None and code.instructions:
            machine_code = sass_listing(unit.sass, code.name, [(code.name, 0, len(code.instructions))])
    facts: dict[str, Any] = {}
    if unit.compiled is not None and function.name in unit.compiled.facts:
        facts = {k: v for k, v in asdict(unit.compiled.facts[function.name]).items() if k != "advisories"}
    problem: Problem | None = None
    if options.problem is not None:
        problem = parse_problem(options.problem, problem_names(launch))
    time = (profiled or {}).get(function.name)
    types = [info.c_type or "" for info in describe_params(function, unit.source)]
    return diagnose(
        Subject(
            kernel=function.name,
            arch=arch,
            gpu=model,
            launch=launch,
            listing=run.listing,
            result=run.result,
            function=code,
            sass_listing=machine_code,
            facts=facts,
            own=own,
            time_ms=options.time_ms if options.time_ms is not None else time,
            time_origin="--time-ms" if options.time_ms is not None else PROFILED,
            problem=problem,
            expected=expected_fraction(options.expect),
            half_pointers=any("half" in t or "bfloat16" in t for t in types),
            double_data=not types or not all(types) or any("double" in t for t in types),
        )
    )

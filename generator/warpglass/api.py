"""Inputs to a report: collect code, plan launches, execute them, and put everything into one JSON value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import warpglass
from warpglass import gpu
from warpglass.analyse import diagnosis_of, profiled_times
from warpglass.collect import WARNING, CodeUnit, InputFile, collect, read_inputs
from warpglass.cuda import ToolUse
from warpglass.errors import InputError, LaunchError
from warpglass.execute import execute_unit
from warpglass.files import read_file
from warpglass.gpu import GpuModel
from warpglass.inputs.demangle import demangled
from warpglass.inputs.sniff import decode_text
from warpglass.launchbeside import plan_with_neighbour
from warpglass.launchfile import PlannedLaunch
from warpglass.launchparams import describe_params
from warpglass.launchspec import LaunchSpec
from warpglass.launchvalues import Place
from warpglass.options import ReportOptions
from warpglass.page_sources import PageSources
from warpglass.pipelines import named_section, pipeline_files, pipeline_section
from warpglass.profiles import (
    add_predictions,
    measured_sections,
    profile_json,
    read_profiles,
    report_specs,
    with_measured_archs,
)
from warpglass.report.diagnosis import diagnosis_json, merge_sections
from warpglass.report.model import Report
from warpglass.report.payload import LaunchUnit, launch_json
from warpglass.report.value_budget import fit_values
from warpglass.versions import Versions

__all__ = ["make_report", "plan_unit"]

Progress = Callable[[str], None]

_MAX_NOTES = 1 << 20


def make_report(
    inputs: Sequence[str | Path] | str | Path,
    options: ReportOptions | None = None,
    progress: Progress | None = None,
) -> Report:
    """A report of ``inputs`` (paths of CUDA sources, PTX, profiler reports; one or several).

    Every launch is executed.

    ``progress`` is told in words what is being done. Raises a subclass of
    :class:`~warpglass.errors.WarpglassError` for bad inputs.
    """
    chosen = (options or ReportOptions()).check()
    say = progress or (lambda _text: None)
    listed = [inputs] if isinstance(inputs, (str, Path)) else inputs
    files = read_inputs([Path(p) for p in listed])
    profiles = read_profiles(files, say)
    folders = [file.path.parent for file in files]
    headers = pipeline_files(files)
    coded = [file for file in files if file not in headers]
    units = collect(coded, with_measured_archs(chosen, profiles, folders), say)
    if not profiles and not headers and not any(unit.kernels for unit in units):
        raise _no_kernel(files, units)
    sources = PageSources(files, chosen.no_source)
    assumptions: list[str] = []
    launches: list[dict[str, Any]] = []
    times = profiled_times(launch for profile in profiles for launch in profile.report.launches)
    versions = Versions(units)
    for unit in units:
        assumptions += [problem.message for problem in unit.problems]
        for planned in plan_unit(unit, chosen, assumptions, report_specs(profiles)):
            bare = demangled(planned.function.name).bare
            say(f"executing {bare} on {unit.arch}")
            named = replace(planned.launch, label=versions.label(unit, bare, planned.launch.label))
            planned = replace(planned, launch=named)
            beyond = chosen.blocks_note(planned.launch.blocks, bare)
            assumptions += [f"{WARNING}{beyond}"] if beyond is not None else []
            launches.append(_launch(unit, planned, chosen, sources, assumptions, len(launches), times))
    launches = _in_order(launches, chosen)
    fit_values(launches, chosen.value_budget)
    profile: dict[str, Any] | None = None
    if profiles:
        profile, profiled = profile_json(profiles, sources, chosen, len(launches), assumptions)
        launches += profiled
        add_predictions(launches, profile)
    if not launches and not headers:
        raise LaunchError("no kernel was chosen to be launched")
    pipelines = _pipelines(headers, launches, chosen, sources, say)
    data: dict[str, Any] = {
        "schema": "warpglass-report/1",
        "tool": {"name": "warpglass", "version": warpglass.__version__},
        "title": chosen.title or (_title(launches) if launches else f"Pipeline of {headers[0].path.stem}"),
        "notes": _notes(chosen),
        "options": chosen.changed(),
        "assumptions": list(dict.fromkeys(assumptions)),
        "inputs": [
            {"id": f.index, "name": f.name, "kind": f.kind, "sha256": f.sha256, "bytes": len(f.content)}
            for f in files
        ],
        "sources": sources.to_json(),
        "launches": launches,
        "sections": [],
        "tools": _tools(units),
    }
    diagnoses = [launch.pop("diagnosis", None) for launch in launches]
    if profile is not None:
        data["profile"] = profile
        data["sections"] = measured_sections(data, launches)
    data["sections"] = merge_sections(data["sections"], diagnoses) + pipelines
    return Report(data)


def _pipelines(
    headers: Sequence[InputFile],
    launches: Sequence[Mapping[str, Any]],
    options: ReportOptions,
    sources: PageSources,
    say: Progress,
) -> list[dict[str, Any]]:
    """The section of the pipelines in ``headers``, else of a kernel whose name tells its pipeline."""
    if not headers:
        names = [launch["kernel"][key] for launch in launches for key in ("demangled", "name")]
        named = named_section(names, options)
        return [named] if named is not None else []
    say("simulating the pipeline")
    section, texts = pipeline_section(
        [(file.name, file.content) for file in headers], options, [file.path.parent for file in headers]
    )
    inputs = {file.name: file.index for file in headers}
    for name, content in texts.items():
        sources.add(name, name, "cuda", decode_text(content), inputs.get(name), False)
    return [section]


def _no_kernel(files: Sequence[InputFile], units: Sequence[CodeUnit]) -> InputError:
    names = ", ".join(file.name for file in files)
    templates = [k for u in units if u.source is not None for k in u.source.kernels if k.template]
    hint = "a kernel is a __global__ function or .entry"
    if templates:
        listed = ", ".join(dict.fromkeys(f"{k.qualified}<{', '.join(k.template)}>" for k in templates[:6]))
        hint = f"nothing instantiates {listed}: add a line `template __global__ void …<…>(…);`, or a launch"
    return InputError(f"there is no kernel in {names}", hint=hint)


def plan_unit(
    unit: CodeUnit, options: ReportOptions, assumptions: list[str], measured: Sequence[LaunchSpec]
) -> tuple[PlannedLaunch, ...]:
    """Launches of a unit on its architecture; one beside the input counts. Adds to ``assumptions``."""
    if not unit.kernels:
        return ()
    planned, said = plan_with_neighbour(
        unit.kernels,
        options,
        unit.source,
        unit.input.name,
        unit.input.path.parent,
        text=unit.source.text if unit.source is not None else unit.ptx_text or "",
        report_specs=[*measured, *_preset(unit)],
    )
    assumptions += said
    for one in planned:
        assumptions += one.notes
    return tuple(one for one in planned if one.arch is None or one.arch == unit.arch)


def _preset(unit: CodeUnit) -> list[LaunchSpec]:
    """The launch that a compiler's metadata records."""
    preset = unit.sass.preset if unit.sass is not None else None
    if preset is None:
        return []
    place = Place(preset.origin, unit.input.path.parent, confined=True)
    return [
        LaunchSpec(
            place, block=preset.block, cluster=preset.cluster, shared_bytes=preset.shared_bytes, strict=False
        )
    ]


def _launch(
    unit: CodeUnit,
    planned: PlannedLaunch,
    options: ReportOptions,
    sources: PageSources,
    assumptions: list[str],
    index: int,
    times: Mapping[str, float],
) -> dict[str, Any]:
    function = planned.function
    names = demangled(function.name)
    source_map = sources.of_unit(unit)
    runs = execute_unit(unit, planned.launch, function, options, sources.code_of(unit))
    c_types = {
        info.ptx_name: (info.shown, info.c_type or info.dtype)
        for info in describe_params(function, unit.source)
    }
    hardware = _gpu(unit.arch, planned.gpu or options.gpu, assumptions)
    found = diagnosis_of(
        unit,
        function,
        planned.launch,
        runs,
        options,
        GpuModel(**hardware) if hardware else None,
        source_map.own,
        times,
    )
    made = launch_json(
        index,
        LaunchUnit(
            label=planned.launch.label,
            mangled=names.mangled,
            demangled=names.full,
            bare=names.bare,
            arch=unit.arch,
            gpu=hardware,
            launch=planned.launch,
            compile=_facts(unit, function.name),
            runs=runs,
            sources=source_map,
            c_types=c_types,
        ),
    )
    if found is not None:
        made["diagnosis"] = diagnosis_json(found, source_map.ids)
    return made


def _gpu(arch: str, wanted: str | None, assumptions: list[str]) -> Mapping[str, Any] | None:
    if wanted is not None:
        model = gpu.model(wanted)
    else:
        known = gpu.find_arch(arch)
        found = gpu.default_model(known) if known is not None else None
        if found is None:
            return None
        model = found
        assumptions.append(f"{arch} stands for {model.name}; --gpu names another model")
    return asdict(model)


def _facts(unit: CodeUnit, mangled: str) -> dict[str, Any] | None:
    if unit.compiled is None:
        return None
    facts = unit.compiled.facts.get(mangled)
    general = (*unit.compiled.warnings, *unit.compiled.advisories, *unit.compiled.notes)
    if unit.compiled.assembler_error is not None:
        general = (*general, f"ptxas refused the PTX: {unit.compiled.assembler_error}")
    if facts is None:
        return {"advisories": list(general)} if general else None
    values = {key: value for key, value in asdict(facts).items() if key != "advisories"}
    return {**values, "advisories": list(dict.fromkeys((*facts.advisories, *general)))}


def _thread_instructions(launch: Mapping[str, Any]) -> int:
    runs = launch["runs"]
    return sum(runs[launch["primary"]]["profile"]["thread_executed"]) if runs else 0


def _in_order(launches: list[dict[str, Any]], options: ReportOptions) -> list[dict[str, Any]]:
    """The launch that the page opens with first: the chosen kernel's, else the one with most work."""
    if options.kernel is None and len(launches) > 1:
        foremost = max(range(len(launches)), key=lambda i: (_thread_instructions(launches[i]), -i))
        launches = [launches[foremost], *launches[:foremost], *launches[foremost + 1 :]]
    for index, launch in enumerate(launches):
        launch["id"] = index
    return launches


def _title(launches: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(launch["kernel"]["bare"] for launch in launches))
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown


def _notes(options: ReportOptions) -> str | None:
    if options.notes is None:
        return None
    content = read_file(options.notes, _MAX_NOTES)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{options.notes} is no UTF-8 text: {error}") from None


def _tools(units: Sequence[CodeUnit]) -> list[dict[str, Any]]:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for unit in units:
        used: list[ToolUse] = [*unit.compiled.tools] if unit.compiled is not None else []
        if unit.sass is not None:
            written = [unit.sass.tool] if unit.sass.tool is not None else []
            for one in (*written, *unit.sass.readers):
                # An image holds the whole line: "Cuda compilation tools, release 13.0, V13.0.88".
                used.append(ToolUse(one.name, one.version.rpartition(", V")[2] or None, one.flags))
        for tool in used:
            key = (tool.name, tool.version, tool.flags)
            found[key] = {"name": tool.name, "version": tool.version, "flags": list(tool.flags)}
    return list(found.values())

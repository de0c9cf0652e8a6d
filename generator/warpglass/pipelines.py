"""Pipeline headers among the inputs: read them, simulate their programs, make the section's data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warpglass import cutlass, pipeline
from warpglass.collect import InputFile
from warpglass.cutlass.derive import knob_presets
from warpglass.cutlass.driver import DriverChoice, choose_headers, is_driver
from warpglass.cutlass.names import KernelName, read_name
from warpglass.cutlass.programs.sm90 import MODES, sm90_program
from warpglass.cutlass.programs.sm100 import sm100_program
from warpglass.errors import UsageError
from warpglass.files import read_file
from warpglass.inputs.sniff import decode_text
from warpglass.options import ReportOptions
from warpglass.pipeline_includes import included_headers

__all__ = [
    "named_section",
    "pipeline_files",
    "pipeline_json",
    "pipeline_section",
    "read_model",
    "read_settings",
]

Json = dict[str, Any]

_HEADERS = {".hpp", ".h", ".cuh", ".hh", ".inl", ".cu"}
_KERNEL = re.compile(r"\b__global__\b")
_LARGEST = 8 << 20
_MOST_OPS = 400


def pipeline_files(files: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """The inputs that hold a pipeline and no kernel of their own: headers and drivers."""
    found = []
    for file in files:
        if file.kind != "cuda" or file.path.suffix.lower() not in _HEADERS or len(file.content) > _LARGEST:
            continue
        text = decode_text(file.content)
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        if not _KERNEL.search(code) and (cutlass.is_pipeline_text(code) or is_driver(code)):
            found.append(file)
    return tuple(found)


def read_settings(texts: Sequence[str], what: str = "--knob") -> dict[str, int]:
    """``S=4`` texts as numbers. Raises :class:`UsageError` for anything else."""
    found: dict[str, int] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"-?\d{1,9}", value.strip()):
            raise UsageError(f"{what} is NAME=NUMBER, not {text[:60]!r}", hint=f"{what} S=4")
        found[name.strip()] = int(value)
    return found


def _read(path: Path) -> tuple[str, bytes]:
    return path.name, read_file(path, _LARGEST)


def read_model(
    files: Sequence[tuple[str, bytes]], options: ReportOptions, folders: Sequence[Path] = ()
) -> tuple[cutlass.PipelineModel, DriverChoice | None, dict[str, bytes]]:
    """Parse headers, following a driver to the headers that it means. Also the content of every file read.

    ``folders`` are where the files lie, in their order: headers that they include from there are read too.
    """
    kernel_layer = _read(options.kernel_layer) if options.kernel_layer is not None else None
    choice = None
    given: list[tuple[str, bytes]] = []
    for name, content in files:
        text = decode_text(content)
        if name.endswith(".cu") and is_driver(text):
            arch = options.arch[0] if options.arch else None
            choice = choose_headers(text, options.include_dirs, arch, options.schedules)
            for path in choice.paths:
                if kernel_layer is None and path.parent.name == "kernel":
                    kernel_layer = _read(path)
                elif path.parent.name != "kernel":
                    given.append(_read(path))
        else:
            given.append((name, content))
    decide = dict.fromkeys(options.assume, True) | dict.fromkeys(options.refuse, False)
    beside = [(folder / name, content) for folder, (name, content) in zip(folders, files, strict=False)]
    if kernel_layer is not None and options.kernel_layer is not None:
        beside.append((options.kernel_layer, kernel_layer[1]))
    helpers = included_headers(beside, options.include_dirs)
    model = cutlass.parse(given, kernel_layer, decide=decide, helpers=helpers)
    texts = {**dict(helpers), **dict(given)}
    if kernel_layer is not None:
        texts[kernel_layer[0]] = kernel_layer[1]
    return model, choice, texts


def _stream_json(stream: Any) -> Json:
    counts = Counter(op.kind for op in stream.ops)
    return {
        "role": stream.role,
        "counts": dict(sorted(counts.items())),
        "ops": [
            {"kind": op.kind, "pipe": op.pipe, "stage": op.stage if op.stage >= 0 else None, "n": op.n,
             "header": op.header, "line": op.line}
            for op in stream.ops[:_MOST_OPS]
        ],
        "cut": len(stream.ops) > _MOST_OPS,
        "notes": list(stream.notes),
    }  # fmt: skip


def pipeline_json(model: cutlass.PipelineModel, choice: DriverChoice | None) -> Json:
    """What was parsed, what could not be decided and what was found, as JSON."""
    decisions: dict[tuple[str, int, str], Json] = {}
    for group in model.streams.values():
        for stream in group:
            for decision in stream.decisions:
                key = (decision.header, decision.line, decision.condition)
                decisions.setdefault(key, asdict(decision))
    for header in model.headers:
        for line, condition, taken in header.choices:
            decisions.setdefault(
                (header.name, line, condition),
                {"header": header.name, "line": line, "condition": condition, "taken": taken},
            )
    return {
        "headers": [
            {
                "name": header.name,
                "kind": model.kinds.get(header.name, "other"),
                "classes": list(header.classes)[:20],
                "functions": sorted(header.functions)[:80],
                "errors": list(header.errors),
            }
            for header in model.headers
        ],
        "driver": {"message": choice.message, "candidates": list(choice.candidates)}
        if choice is not None
        else None,
        "family": model.derived.family,
        "schedule": model.derived.schedule,
        "reasons": list(model.derived.reasons),
        "streams": {name: [_stream_json(s) for s in group] for name, group in model.streams.items()},
        "decisions": [decisions[key] for key in sorted(decisions)],
        "raw": [asdict(use) for use in model.raw[:1000]],
        "findings": [asdict(finding) for finding in model.findings],
        "notes": list(model.notes),
    }


def results_json(program: Json, knobs: Mapping[str, int]) -> Json:
    """Figures, sweep, what-if and critical path of one program."""
    run = pipeline.run_program(program, knobs)
    summary = pipeline.summarise(run, program)
    values = {knob["name"]: run.flat.knobs[knob["name"]] for knob in program["knobs"]}
    stages = range(1, 17)
    swept = pipeline.sweep(program, values, "S", stages) if "S" in values else []
    memory = program.get("memory")
    from warpglass.pipeline.expressions import evaluate

    return {
        "summary": asdict(summary),
        "knobs": values,
        "sweep": [list(pair) for pair in swept],
        "least_stages_swept": pipeline.least_stages(swept),
        "what_if": [asdict(delta) for delta in pipeline.what_if(program, values)],
        "critical": [asdict(segment) for segment in pipeline.critical_path(run)],
        "stage_bytes": evaluate(memory["stage"], run.flat.knobs) if memory else None,
        "most_stages": evaluate(memory["most"], run.flat.knobs) if memory else None,
        "evidence": "modelled",
    }


def _section(
    programs: Sequence[Json], presets: Mapping[str, int], settings: Mapping[str, int], rest: Json
) -> Json:
    data: Json = {"programs": list(programs), **rest}
    if programs:
        given = {**knob_presets(programs[0], presets), **settings}
        names = {knob["name"] for program in programs for knob in program["knobs"]}
        for name in settings:
            if name not in names:
                raise UsageError(f"--knob: no knob is called {name[:40]!r}", hint=", ".join(sorted(names)))
        mine = {
            name: value for name, value in given.items() if name in {k["name"] for k in programs[0]["knobs"]}
        }
        data["knobs"] = mine
        data["results"] = results_json(programs[0], mine)
        if {"sm90-pingpong", "sm90-cooperative"} <= {program["id"] for program in programs}:
            data["equal_work"] = equal_work(programs, mine)
    return data


def equal_work(programs: Sequence[Json], knobs: Mapping[str, int]) -> list[Json]:
    """Totals against stages of pingpong and cooperative at equal work: its tile is twice as large."""
    by_id = {program["id"]: program for program in programs}
    rows = []
    for stages in range(2, 13):
        row: Json = {"stages": stages}
        for mode in ("pingpong", "cooperative"):
            program = by_id[f"sm90-{mode}"]
            known = {knob["name"] for knob in program["knobs"]}
            mine = {name: value for name, value in knobs.items() if name in known}
            tiles = mine.get("O", 4)
            if mode == "cooperative":
                mine["O"] = max(1, -(-tiles // 2))
                mine["W"] = 2
            row[mode] = pipeline.sweep(program, mine, "S", (stages,))[0][1]
        rows.append(row)
    return rows


def pipeline_section(
    files: Sequence[tuple[str, bytes]], options: ReportOptions, folders: Sequence[Path] = ()
) -> tuple[Json, dict[str, bytes]]:
    """(the section ``pipeline`` of a report, contents of the headers read)."""
    model, choice, texts = read_model(files, options, folders)
    parsed = pipeline_json(model, choice)
    settings = read_settings(options.knobs)
    data = _section(model.derived.programs, {}, settings, {"parsed": parsed, "mode": options.mode})
    return {"id": "pipeline", "title": "Pipeline", "data": data}, texts


def named_section(names: Sequence[str], options: ReportOptions) -> Json | None:
    """The section of a compiled kernel whose name carries CUTLASS's template arguments, or None."""
    for name in names:
        found = read_name(name)
        if found is not None:
            return _from_name(found, options)
    return None


def _from_name(found: KernelName, options: ReportOptions) -> Json:
    if found.arch in ("sm_100", "sm_103"):
        programs = [sm100_program("BlockScaled" in found.mainloop)]
    else:
        first = found.schedule or "pingpong"
        programs = [sm90_program(mode) for mode in (first, *(m for m in MODES if m != first))]
    parts = [f"{found.stages} stages"]
    if found.tile:
        parts.append("tile " + " × ".join(map(str, found.tile)))
    if found.cluster:
        parts.append("cluster " + " × ".join(map(str, found.cluster)))
    if found.schedule:
        parts.append(found.schedule)
    policy = f"Mainloop{found.arch.replace('sm_', 'Sm')}{found.mainloop}"
    reason = f"the kernel's name says {policy}: {', '.join(parts)}"
    parsed: Json = {"headers": [], "reasons": [reason], "streams": {}, "decisions": [], "raw": [],
                    "findings": [], "notes": [], "driver": None,
                    "family": found.arch, "schedule": found.schedule}  # fmt: skip
    settings = read_settings(options.knobs)
    data = _section(programs, found.knobs, settings, {"parsed": parsed, "mode": options.mode})
    return {"id": "pipeline", "title": "Pipeline", "data": data}

"""``run``: execute a kernel and give memory back."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpglass.cli_console import Shell, outputs, write_json
from warpglass.cli_inspect import read_kind
from warpglass.errors import ExecutionError, InputError, LaunchError, UsageError
from warpglass.files import folder_of, is_folder, refuse_inputs, write_file
from warpglass.inputs.demangle import demangled
from warpglass.inputs.sniff import MACHINE_CODE
from warpglass.jsonable import to_jsonable
from warpglass.launchbeside import plan_with_neighbour
from warpglass.launchfile import PlannedLaunch
from warpglass.launchspec import compile_archs
from warpglass.launchvalues import split_argument
from warpglass.options import ReportOptions

if TYPE_CHECKING:
    from warpglass.cuda import CudaSource
    from warpglass.machine.result import Buffer, RunResult
    from warpglass.machine.runoptions import RunOptions
    from warpglass.ptx import Function, Module
    from warpglass.sass.model import Module as MachineModule

__all__ = ["run_file"]

#: Threads named for each assertion that fails, and where a line of one names them.
_MOST_ASSERTIONS = 3
_FAILED_AT = re.compile(r"block: \[[\d,]+\], thread: \[[\d,]+\]")


def run_file(path: Path, options: ReportOptions, dumps: Sequence[str], json: str | None, shell: Shell) -> int:
    """Execute one kernel of ``path``, write the buffers that ``dumps`` name, and tell what happened.

    Returns 1 where the run did not come to its end: the memory is then not what was asked for.
    """
    wanted = dict(_dump(text) for text in dumps)
    for target in wanted.values():
        if not is_folder(target.parent):
            raise UsageError(f"there is no folder {target.parent}")
    refuse_inputs(outputs(*wanted.values(), json), [path, *options.files()])
    with shell.working("run") as progress:
        ready = (
            _machine(path, options) if _wants_machine_code(path, options) else _ptx(path, options, progress)
        )
        planned, notes = plan_with_neighbour(
            ready.kernels, options, ready.source, path.name, folder_of(path), text=ready.text
        )
        plan = _only(planned, notes)
        for note in (*notes, *plan.notes):
            shell.note(note)
        progress(demangled(plan.function.name).bare)
        result = ready.execute(plan, _limits(options))
    named = {buffer.name: buffer for buffer in result.buffers if buffer is not None}
    for name, target in wanted.items():
        _write_array(_find(named, result, name), target)
    if json is not None:
        write_json(_as_json(result), json)
    if json != "-":
        _tell(result, named, ready.places, shell)
        for name, target in wanted.items():
            shell.say(f"{name} -> {target}")
    if not result.complete and result.stopped is not None:
        shell.tell(f"stopped: {_in_source_terms(result.stopped.message, ready.places)}")
    return 0 if result.complete else 1


def _only(planned: Sequence[PlannedLaunch], notes: list[str]) -> PlannedLaunch:
    """The launch to run: of one kernel the first, which ``notes`` tell where there are more."""
    kernels = dict.fromkeys(item.function.name for item in planned)
    if len(kernels) != 1:
        names = ", ".join(demangled(name).bare for name in [*kernels][:12])
        raise UsageError(f"there are {len(kernels)} kernels; choose one with --kernel: {names}")
    first = planned[0]
    if len(planned) > 1:
        label = f", {first.launch.label}" if first.launch.label else ""
        notes.append(f"the first of {len(planned)} launches is run{label}; report executes all")
    return first


def _dump(text: str) -> tuple[str, Path]:
    name, value = split_argument(text)
    target = Path(value)
    if target.suffix.lower() != ".npy":
        raise UsageError(f"--dump writes .npy files, not {target.name!r}", hint="--dump out=out.npy")
    return name, target


@dataclass(frozen=True, slots=True)
class _Ready:
    """Code to execute: its kernels, where their launches may be written, and how to run one.

    ``places`` leads from lines of the code to the CUDA source, as far as that is known.
    """

    kernels: Sequence[Function]
    source: CudaSource | None
    text: str | None
    places: Mapping[int, str]
    execute: Callable[[PlannedLaunch, RunOptions], RunResult]


def _wants_machine_code(path: Path, options: ReportOptions) -> bool:
    if options.isa != "auto":
        return options.isa == "sass"
    return is_folder(path) or read_kind(path) in MACHINE_CODE


def _machine(path: Path, options: ReportOptions) -> _Ready:
    from warpglass.machine import execute_sass
    from warpglass.machinecode import machine_code

    unit = machine_code(path, options)
    code = unit.sass
    assert code is not None
    return _Ready(
        unit.kernels, unit.source, unit.ptx_text if unit.source is None else None, _machine_places(code),
        lambda plan, limits: execute_sass(code, plan.function, plan.launch, limits),
    )  # fmt: skip


def _ptx(path: Path, options: ReportOptions, progress: Any) -> _Ready:
    from warpglass.machine import execute

    module, source = _module(path, options, progress)
    return _Ready(
        module.functions, source, None if source is not None else module.text,
        _places(module, path.name) if source is not None else {},
        lambda plan, limits: execute(module, plan.function, plan.launch, options=limits),
    )  # fmt: skip


def _module(path: Path, options: ReportOptions, progress: Any) -> tuple[Module, CudaSource | None]:
    from warpglass import cuda, ptx

    kind = read_kind(path)
    if kind == "ptx":
        return ptx.load(path), None
    if kind != "cuda":
        raise InputError(f"{path.name} is {kind}: run executes CUDA sources, PTX and machine code")
    source = cuda.load(path, options.defines)
    arch = compile_archs(source, options, path.parent)[0]
    progress(f"nvcc, {arch}")
    compiled = cuda.compile(
        path,
        arch,
        options.include_dirs,
        options.defines,
        options.std,
        options.nvcc_flags,
        options.compile_commands,
    )
    return ptx.parse(compiled.ptx), source


def _limits(options: ReportOptions) -> RunOptions:
    from warpglass.machine.runoptions import RunOptions

    return RunOptions(
        seed=options.seed,
        max_warp_instructions=options.max_warp_instructions,
        trace_blocks=(),
        value_budget=0,
        sample=False,
    )


def _find(named: Mapping[str, Buffer], result: RunResult, name: str) -> Buffer:
    if name in named:
        return named[name]
    position = int(name) if name.isascii() and name.isdigit() and len(name) < 6 else -1
    if 0 <= position < len(result.buffers) and (found := result.buffers[position]) is not None:
        return found
    raise LaunchError(f"no buffer is called {name[:60]!r}", hint=f"there are: {', '.join(named) or 'none'}")


def _write_array(buffer: Buffer, target: Path) -> None:
    if buffer.unknown is not None:
        raise ExecutionError(f"{buffer.name} cannot be written: {buffer.unknown}")
    stream = io.BytesIO()
    np.save(stream, buffer.array, allow_pickle=False)
    write_file(target, stream.getvalue())


def _as_json(result: RunResult) -> dict[str, Any]:
    buffers = [
        None
        if buffer is None
        else {
            "name": buffer.name,
            "dtype": buffer.dtype,
            "size": buffer.size,
            "given": buffer.given,
            "touched": buffer.touched,
            "values": None if buffer.unknown is not None else to_jsonable(buffer.array),
            "why_unknown": buffer.unknown,
        }
        for buffer in result.buffers
    ]
    return {
        "kernel": result.kernel,
        "complete": result.complete,
        "stopped": to_jsonable(result.stopped),
        "blocks_executed": result.blocks_executed,
        "counts": dict(result.counts),
        "buffers": buffers,
        "findings": to_jsonable(result.findings),
        "printed": list(result.printed),
        "assumptions": list(result.assumptions),
    }


def _places(module: Module, name: str) -> dict[int, str]:
    """Where in the CUDA source each line of the PTX comes from; a header keeps its own name."""
    found = {}
    for function in module.functions:
        for instruction in function.instructions:
            loc = instruction.loc
            while loc is not None and loc.inlined_at is not None and module.files.get(loc.file) != name:
                loc = loc.inlined_at  # the line of the user's own file that called it
            if loc is not None and loc.line:
                found[instruction.line] = f"{module.files.get(loc.file, name)}:{loc.line}"
    return found


def _machine_places(code: MachineModule) -> dict[int, str]:
    """Where in the source each line of the machine code comes from, as far as its line table tells."""
    from warpglass.sass.link import link

    found = {}
    for function in code.functions:
        for instruction, made in zip(function.instructions, link(function), strict=True):
            if made.own is not None and made.own.line:
                found[instruction.line] = f"{made.own.file.rsplit('/', 1)[-1]}:{made.own.line}"
    return found


def _in_source_terms(text: str, places: Mapping[int, str]) -> str:
    """``text`` with every ``line 310`` of the code that ran as ``kernel.cu:12``, where that is known."""
    return re.sub(r"\bline (\d+)\b", lambda match: places.get(int(match[1][:9]), match[0]), text)


def _brief(printed: Sequence[str]) -> list[str]:
    """What the kernel printed, but of an assertion that fails in many threads the first few lines only."""
    lines: list[str] = []
    failed: dict[str, int] = {}
    for line in printed:
        told = _FAILED_AT.sub("", line) if "Assertion" in line else None
        if told is not None:
            failed[told] = failed.get(told, 0) + 1
        if told is None or failed[told] <= _MOST_ASSERTIONS:
            lines.append(line)
    more = sum(count - _MOST_ASSERTIONS for count in failed.values() if count > _MOST_ASSERTIONS)
    return [*lines, f"... {more:,} more threads fail these assertions"] if more else lines


def _tell(result: RunResult, named: Mapping[str, Buffer], places: Mapping[int, str], shell: Shell) -> None:
    counts = result.counts
    shell.say(
        f"{demangled(result.kernel).full}: {counts['warp_executed']:,} warp instructions, "
        f"{counts['thread_executed']:,} thread instructions, {result.blocks_executed:,} "
        f"block{'' if result.blocks_executed == 1 else 's'}"
    )
    for line in _brief(result.printed):
        shell.say(f"| {line.rstrip()}")
    for finding in result.findings:
        where = places.get(finding.line, f"line {finding.line}") if finding.line else ""
        place = f" ({where})" if where else ""
        message = _in_source_terms(finding.message, places)
        shell.say(f"{finding.severity} {finding.kind}{place}: {message}")
    for name, buffer in named.items():
        if buffer.unknown is not None:
            shell.say(f"{name}: unknown, because {buffer.unknown}")
        elif buffer.touched is not None:
            head = np.array2string(buffer.array[:8], separator=" ", threshold=8)
            shell.say(
                f"{name}: {buffer.dtype}[{buffer.array.size}] {head}{' …' if buffer.array.size > 8 else ''}"
            )

"""``bench``: write a harness for a launch, and time it where a GPU is."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from warpglass.bench import harness, read_times, unfilled
from warpglass.cli_console import Shell, outputs, write_json
from warpglass.errors import InputError, ToolchainError
from warpglass.files import refuse_inputs, write_file
from warpglass.inputs.devices import find_devices
from warpglass.inputs.process import run_tool
from warpglass.inputs.toolchain import require_tool
from warpglass.options import ReportOptions

__all__ = ["bench_file"]

_COMPILE_SECONDS, _RUN_SECONDS = 300.0, 120.0


def bench_file(
    source: Path,
    options: ReportOptions,
    output: Path | None,
    write_only: bool,
    json: str | None,
    shell: Shell,
) -> int:
    """Write the harness of the first launch beside the source, and run it where there is a GPU."""
    from warpglass.api import make_report

    if source.suffix.lower() not in (".cu", ".cuh"):
        raise InputError(f"{source.name} is no CUDA source: a harness includes the source")
    target = output if output is not None else source.with_suffix(".bench.cu")
    refuse_inputs(outputs(target, json), [source, *options.files()])
    with shell.working("bench") as progress:
        data = make_report([source], options, progress=progress).data
        launch = data["launches"][0]
        write_file(target, harness(launch, _included(source, target)).encode("utf-8"))
        devices = () if write_only else find_devices()
        times = None
        if devices:
            progress(f"timing on {devices[0].name}")
            times = _timed(target, source, devices[0].arch, options)
    if json is not None:
        write_json({"harness": target.name, "times": dict(times) if times is not None else None}, json)
    if json == "-":
        return 0
    shell.say(str(target))
    for name in unfilled(launch):
        shell.say(f"{name} came from a file: the harness leaves it zeros")
    if times is None:
        shell.say("not run: " + ("--write-only" if write_only else "no GPU was found here"))
    else:
        shell.say(
            f"{times['median_ms']:.6g} ms median, {times['least_ms']:.6g} ms least, on {times.get('gpu')} "
            f"(measured)"
        )
        shell.say(f"warpglass analyze {source.name} --time-ms {times['median_ms']:.6g}")
    return 0


def _included(source: Path, target: Path) -> str:
    """The source as the harness includes it: by its name, from another folder by the way there."""
    if source.resolve().parent == target.resolve().parent:
        return source.name
    try:
        return Path(os.path.relpath(source.resolve(), target.resolve().parent)).as_posix()
    except ValueError:  # another drive
        return source.name


def _timed(target: Path, source: Path, arch: str | None, options: ReportOptions) -> dict[str, object]:
    compiler = require_tool("nvcc")
    with tempfile.TemporaryDirectory(prefix="warpglass-bench-") as folder:
        program = Path(folder) / "bench"
        arguments = [str(compiler.path), "-O3", "-o", str(program), f"-I{source.resolve().parent}"]
        arguments += [f"-arch={arch}"] if arch else []
        arguments += [f"-I{path}" for path in options.include_dirs] + [f"-D{d}" for d in options.defines]
        arguments += [f"-std={options.std}"] if options.std else []
        arguments += options.nvcc_flags
        built = run_tool([*arguments, str(target)], timeout=_COMPILE_SECONDS, output_limit=1 << 22)
        if built.returncode:
            raise ToolchainError(f"the harness does not compile: {built.error_text[-2000:]}")
        ran = run_tool([str(program)], timeout=_RUN_SECONDS, output_limit=1 << 20)
        if ran.returncode:
            raise ToolchainError(f"the harness failed: {ran.error_text[-500:]}")
        return dict(read_times(ran.text))

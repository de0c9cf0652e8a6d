"""The command line: thin, each command is a call into the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from warpglass import __version__
from warpglass import cli_options as o
from warpglass.cli_bottleneck import register
from warpglass.cli_console import Shell, show_error
from warpglass.cli_measured import register as register_profiles
from warpglass.cli_streams import (
    ReaderGoneError,
    RootCommand,
    drop_streams,
    flush_streams,
    interactive,
    open_streams,
)
from warpglass.errors import UsageError, WarpglassError
from warpglass.files import reason_of
from warpglass.options import ReportOptions

__all__ = ["app", "main"]

app = typer.Typer(
    name="warpglass",
    cls=RootCommand,
    help="Self-contained HTML reports that replay a CUDA kernel, without a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_DEFAULTS = ReportOptions()
_DEFECT = "this is a defect of warpglass; WARPGLASS_DEBUG=1 shows where it happened"

Input = Annotated[Path, typer.Argument(metavar="FILE", help="CUDA, PTX, cubin … known by content.")]


def _level(quiet: bool, verbose: bool) -> Shell:
    return Shell(-1 if quiet else 1 if verbose else 0)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"warpglass {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Self-contained HTML reports that replay a CUDA kernel, without a GPU."""


@app.command()
def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT", help="CUDA, PTX, SASS, cubin, profiler report, CUTLASS header: known by content."
        ),
    ],
    output: o.Output = None,
    json: o.Json = None,
    open_: o.Open = False,
    kernel: o.Kernel = None,
    grid: o.Grid = None,
    block: o.Block = None,
    cluster: o.Cluster = None,
    shared_bytes: o.SharedBytes = None,
    arg: o.Args = None,
    launch: o.LaunchFile = None,
    arch: o.Archs = None,
    gpu: o.Gpu = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    compile_commands: o.Commands = None,
    isa: o.Isa = "auto",
    seed: o.Seed = 0,
    max_warp_instructions: o.MaxWarps = _DEFAULTS.max_warp_instructions,
    blocks: o.Blocks = "0",
    value_budget: o.ValueBudget = _DEFAULTS.value_budget,
    expect: o.Expect = None,
    rtol: o.Rtol = _DEFAULTS.rtol,
    time_ms: o.TimeMs = None,
    problem: o.Problem = None,
    fail_on: o.FailOn = None,
    title: o.Title = None,
    notes: o.Notes = None,
    no_source: o.NoSource = False,
    charts: o.Charts = "interactive",
    with_session: o.WithSession = False,
    kernel_layer: o.KernelLayer = None,
    schedule: o.Schedules = None,
    knob: o.Knobs = None,
    assume: o.Assume = None,
    refuse: o.Refuse = None,
    mode: o.PipelineMode = "schedule",
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Make a page, JSON or Markdown about the kernels in the inputs."""
    from warpglass.cli_report import make_page

    options = o.make_options(
        kernel=kernel, grid=grid, block=block, cluster=cluster, shared_bytes=shared_bytes, arg=arg,
        launch=launch, arch=arch, gpu=gpu, include=include, define=define, std=std, nvcc_flag=nvcc_flag,
        compile_commands=compile_commands, isa=isa, seed=seed, max_warp_instructions=max_warp_instructions,
        blocks=blocks, value_budget=value_budget, expect=expect, rtol=rtol, time_ms=time_ms,
        problem=problem, fail_on=fail_on, title=title, notes=notes, no_source=no_source, charts=charts,
        kernel_layer=kernel_layer, schedule=schedule, knob=knob, assume=assume, refuse=refuse, mode=mode,
        with_session=with_session,
    )  # fmt: skip
    raise typer.Exit(make_page(inputs, options, output, json, open_, _level(quiet, verbose)))


@app.command()
def pipeline(
    headers: Annotated[
        list[Path], typer.Argument(metavar="HEADER", help="CUTLASS headers, or a driver .cu.")
    ],
    kernel_layer: o.KernelLayer = None,
    json: o.Json = None,
    lint: Annotated[bool, typer.Option("--lint", help="Show findings; exit 1 if there are any.")] = False,
    vcd: Annotated[
        Path | None, typer.Option("--vcd", metavar="FILE", help="The schedule for GTKWave.")
    ] = None,
    perfetto: Annotated[
        Path | None, typer.Option("--perfetto", metavar="FILE", help="The schedule as trace-event JSON.")
    ] = None,
    arch: o.Archs = None,
    include: o.Includes = None,
    schedule: o.Schedules = None,
    knob: o.Knobs = None,
    assume: o.Assume = None,
    refuse: o.Refuse = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Say what pipeline a CUTLASS header makes.

    Also what could not be decided, and what its schedule is.
    """
    from warpglass.cli_pipeline import show_pipeline

    options = o.make_options(
        arch=arch, include=include, kernel_layer=kernel_layer, schedule=schedule, knob=knob, assume=assume,
        refuse=refuse,
    )  # fmt: skip
    raise typer.Exit(show_pipeline(headers, options, json, lint, vcd, perfetto, _level(quiet, verbose)))


@app.command()
def render(
    source: Annotated[Path, typer.Argument(metavar="report.json", help="What report --json wrote.")],
    output: o.Output = None,
    open_: o.Open = False,
    charts: Annotated[
        str | None,
        typer.Option("--charts", metavar="interactive|static", help="As the report says by default."),
    ] = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Make the page from a report's JSON alone."""
    from warpglass.cli_report import render_page

    raise typer.Exit(render_page(source, output, charts, open_, _level(quiet, verbose)))


@app.command()
def run(
    source: Input,
    dump: Annotated[
        list[str] | None,
        typer.Option("--dump", metavar="NAME=FILE.npy", help="Write a buffer after the run."),
    ] = None,
    json: o.Json = None,
    kernel: o.Kernel = None,
    grid: o.Grid = None,
    block: o.Block = None,
    cluster: o.Cluster = None,
    shared_bytes: o.SharedBytes = None,
    arg: o.Args = None,
    launch: o.LaunchFile = None,
    arch: o.Archs = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    compile_commands: o.Commands = None,
    isa: o.Isa = "auto",
    seed: o.Seed = 0,
    max_warp_instructions: o.MaxWarps = _DEFAULTS.max_warp_instructions,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Execute one kernel and give its memory back."""
    from warpglass.cli_run import run_file

    options = o.make_options(
        kernel=kernel, grid=grid, block=block, cluster=cluster, shared_bytes=shared_bytes, arg=arg,
        launch=launch, arch=arch, include=include, define=define, std=std, nvcc_flag=nvcc_flag,
        compile_commands=compile_commands, isa=isa, seed=seed, max_warp_instructions=max_warp_instructions,
        value_budget=0,
    )  # fmt: skip
    raise typer.Exit(run_file(source, options, dump or (), json, _level(quiet, verbose)))


@app.command()
def counters(
    source: Input,
    json: o.Json = None,
    kernel: o.Kernel = None,
    grid: o.Grid = None,
    block: o.Block = None,
    cluster: o.Cluster = None,
    shared_bytes: o.SharedBytes = None,
    arg: o.Args = None,
    launch: o.LaunchFile = None,
    arch: o.Archs = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    compile_commands: o.Commands = None,
    seed: o.Seed = 0,
    max_warp_instructions: o.MaxWarps = _DEFAULTS.max_warp_instructions,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Predict a profiler's counters from executed SASS."""
    from warpglass.cli_counters import count_file

    options = o.make_options(
        kernel=kernel, grid=grid, block=block, cluster=cluster, shared_bytes=shared_bytes, arg=arg,
        launch=launch, arch=arch, include=include, define=define, std=std, nvcc_flag=nvcc_flag,
        compile_commands=compile_commands, seed=seed, max_warp_instructions=max_warp_instructions,
        isa="sass", value_budget=0,
    )  # fmt: skip
    raise typer.Exit(count_file(source, options, json, _level(quiet, verbose)))


@app.command("list")
def list_(
    source: Input,
    json: o.Json = None,
    kernel: o.Kernel = None,
    arch: o.Archs = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    compile_commands: o.Commands = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """List the kernels, architectures and registers of a file."""
    from warpglass.cli_inspect import list_file

    options = o.make_options(
        kernel=kernel,
        arch=arch,
        include=include,
        define=define,
        std=std,
        nvcc_flag=nvcc_flag,
        compile_commands=compile_commands,
    )
    raise typer.Exit(list_file(source, options, json, _level(quiet, verbose)))


@app.command()
def parse(
    source: Input,
    json: o.Json = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Print the parsed model of a file as JSON."""
    from warpglass.cli_inspect import parse_file

    raise typer.Exit(parse_file(source, json, _level(quiet, verbose)))


@app.command()
def gallery(
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="INPUT|REPORT|FOLDER", help="Inputs of report, its JSON, or folders of them."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where to.")] = Path(
        "site"
    ),
    title: Annotated[str, typer.Option("--title", help="Title of the index.")] = "Kernel reports",
    json: o.Json = None,
    arch: o.Archs = None,
    gpu: o.Gpu = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    no_source: o.NoSource = False,
    seed: o.Seed = 0,
    max_warp_instructions: o.MaxWarps = _DEFAULTS.max_warp_instructions,
    charts: o.Charts = "interactive",
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Write a page for each input, and an index over them.

    Ready for static hosting: links are relative, nothing is loaded from elsewhere.

    A warpglass.toml beside an input is its launch file.
    """
    from warpglass.cli_report import make_gallery

    options = o.make_options(
        arch=arch, gpu=gpu, include=include, define=define, std=std, nvcc_flag=nvcc_flag,
        no_source=no_source, seed=seed, max_warp_instructions=max_warp_instructions, charts=charts,
    )  # fmt: skip
    raise typer.Exit(make_gallery(inputs, options, output, title, json, _level(quiet, verbose)))


@app.command()
def examples(
    name: Annotated[str | None, typer.Argument(help="Which one to copy; all for every one.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Where to; here by default.")
    ] = None,
    json: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """List the examples that come with warpglass, or copy one."""
    from warpglass.cli_inspect import show_examples

    raise typer.Exit(show_examples(name, output, json, _level(quiet, False)))


@app.command()
def doctor(json: o.Json = None, quiet: o.Quiet = False) -> None:
    """Show which tools and GPUs are found, where, in which version."""
    from warpglass.cli_inspect import show_doctor

    raise typer.Exit(show_doctor(json, _level(quiet, False)))


register(app)
register_profiles(app)


def expand_json(arguments: list[str]) -> list[str]:
    """``--json`` without a value, at the end or before another option, means stdout."""
    expanded: list[str] = []
    for position, argument in enumerate(arguments):
        expanded.append(argument)
        following = arguments[position + 1 : position + 2]
        bare = not following or (following[0].startswith("-") and following[0] != "-")
        if argument == "--json" and bare:
            expanded.append("-")
    return expanded


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Exit codes: 0 fine, 1 a check failed, 2 bad usage or input, 3 toolchain missing."""
    open_streams()
    app.rich_markup_mode = "rich" if interactive() else None
    try:
        code = _ended(expand_json(sys.argv[1:] if arguments is None else arguments))
        flush_streams()
    except KeyboardInterrupt:
        code = 130
    except ReaderGoneError:
        drop_streams()
        code = 0
    except WarpglassError as error:
        show_error(error)
        code = error.exit_code
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "cannot write the output: "
        show_error(UsageError(f"{where}{reason_of(error)}"))
        drop_streams()
        code = 2
    except MemoryError:
        show_error(WarpglassError("out of memory", hint="a smaller grid, fewer --blocks or smaller inputs"))
        code = 2
    except Exception as error:
        if os.environ.get("WARPGLASS_DEBUG"):
            raise
        # A defect of warpglass, not of the input: the user gets one message, a developer the trace.
        show_error(WarpglassError(f"internal error: {type(error).__name__}: {error}"[:500], hint=_DEFECT))
        code = 2
    raise SystemExit(code)


def _ended(arguments: list[str]) -> int:
    """Run the command line; the exit code."""
    try:
        app(args=arguments, prog_name="warpglass")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


if __name__ == "__main__":
    main()

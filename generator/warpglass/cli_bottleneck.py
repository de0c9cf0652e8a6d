"""The commands ``analyze``, ``occupancy`` and ``bench``: thin, each is a call into the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpglass import cli_options as o
from warpglass.cli_console import Shell
from warpglass.options import ReportOptions

__all__ = ["register"]

_DEFAULTS = ReportOptions()


def _level(quiet: bool, verbose: bool) -> Shell:
    return Shell(-1 if quiet else 1 if verbose else 0)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command()(analyze)
    app.command()(occupancy)
    app.command()(bench)


def analyze(
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT", help="Kernels, by content.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the analysis as Markdown.")] = False,
    json: o.Json = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write line annotations as SARIF 2.1.0.")
    ] = None,
    problem: o.Problem = None,
    expect: o.Expect = None,
    time_ms: o.TimeMs = None,
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
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Say what bounds a kernel and what to do about it."""
    from warpglass.cli_analyze import analyze_files

    options = o.make_options(
        kernel=kernel,
        grid=grid,
        block=block,
        cluster=cluster,
        shared_bytes=shared_bytes,
        arg=arg,
        launch=launch,
        arch=arch,
        gpu=gpu,
        include=include,
        define=define,
        std=std,
        nvcc_flag=nvcc_flag,
        compile_commands=compile_commands,
        isa=isa,
        seed=seed,
        max_warp_instructions=max_warp_instructions,
        value_budget=0,
        expect=expect,
        time_ms=time_ms,
        problem=problem,
    )
    raise typer.Exit(analyze_files(inputs, options, markdown, json, sarif, _level(quiet, verbose)))


def occupancy(
    arch: Annotated[str, typer.Option("--arch", metavar="SM", help="sm_86 …")],
    block: Annotated[int, typer.Option("--block", metavar="N", help="Threads a block.")],
    regs: Annotated[int, typer.Option("--regs", metavar="N", help="Registers a thread.")] = 0,
    shared: Annotated[str, typer.Option("--shared", metavar="54K", help="Shared memory a block.")] = "0",
    barriers: Annotated[int, typer.Option("--barriers", metavar="N", help="Named barriers a block.")] = 1,
    json: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """Compute the occupancy of one configuration.

    As the toolkit's own header does.
    """
    from warpglass.cli_analyze import show_occupancy

    raise typer.Exit(show_occupancy(arch, block, regs, shared, barriers, json, _level(quiet, False)))


def bench(
    source: Annotated[Path, typer.Argument(metavar="KERNEL.cu")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The harness; beside the source by default."),
    ] = None,
    write_only: Annotated[bool, typer.Option("--write-only", help="Do not run it.")] = False,
    json: o.Json = None,
    kernel: o.Kernel = None,
    grid: o.Grid = None,
    block: o.Block = None,
    shared_bytes: o.SharedBytes = None,
    arg: o.Args = None,
    launch: o.LaunchFile = None,
    arch: o.Archs = None,
    include: o.Includes = None,
    define: o.Defines = None,
    std: o.Std = None,
    nvcc_flag: o.NvccFlags = None,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Write a benchmark harness; run it where a GPU is."""
    from warpglass.cli_bench import bench_file

    options = o.make_options(
        kernel=kernel,
        grid=grid,
        block=block,
        shared_bytes=shared_bytes,
        arg=arg,
        launch=launch,
        arch=arch,
        include=include,
        define=define,
        std=std,
        nvcc_flag=nvcc_flag,
        seed=seed,
        value_budget=0,
        isa="ptx",
    )
    raise typer.Exit(bench_file(source, options, output, write_only, json, _level(quiet, verbose)))

"""The commands about profiler reports: ``metrics`` and ``profile``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpglass import cli_options as o
from warpglass.cli_console import Shell

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command()(metrics)
    app.command()(profile)


def metrics(
    source: Annotated[Path, typer.Argument(metavar="PROFILE", help="A .ncu-rep, or a CSV or text export.")],
    launch: Annotated[
        list[int] | None, typer.Option("--launch", metavar="N", help="Number of a launch, from 0; repeat.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="REGEX", help="Metrics whose name it finds; repeat."),
    ] = None,
    derive: Annotated[
        list[str] | None,
        typer.Option("--derive", metavar="NAME=EXPR", help="A metric made of others; repeat."),
    ] = None,
    nvtx: Annotated[
        str | None, typer.Option("--nvtx", metavar="DOMAIN@RANGE", help="Launches within a range only.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="Show ranges and launches only.")] = False,
    json: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """Print metrics of a profiler report."""
    from warpglass.cli_profile import show_metrics

    shell = Shell(-1 if quiet else 0)
    raise typer.Exit(
        show_metrics(source, launch or (), metric or (), derive or (), nvtx, csv, tree, json, shell)
    )


def profile(
    application: Annotated[list[str], typer.Argument(metavar="-- APP [ARGS]", help="What to profile.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")] = Path(
        "profile.html"
    ),
    nvtx: Annotated[
        list[str] | None, typer.Option("--nvtx", metavar="DOMAIN@RANGE", help="Profile these ranges only.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Section set; full by default.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME", help="Collect these metrics; repeat.")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME|regex:…", help="Kernels to profile.")
    ] = None,
    launch_count: Annotated[
        int | None, typer.Option("--launch-count", help="At most so many launches.")
    ] = None,
    replay_mode: Annotated[
        str, typer.Option("--replay-mode", metavar="kernel|application|range|app-range")
    ] = "kernel",
    target_processes: Annotated[
        str, typer.Option("--target-processes", metavar="all|application-only")
    ] = "all",
    ncu_flag: Annotated[
        list[str] | None, typer.Option("--ncu-flag", metavar="FLAG", help="Passed to ncu as it is.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FILE.ncu-rep", help="Keep the report too.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the ncu command only.")] = False,
    title: o.Title = None,
    no_source: o.NoSource = False,
    charts: o.Charts = "interactive",
    with_session: o.WithSession = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Run ncu on an application and make a page of what it measured."""
    from warpglass.cli_profile import profile_app
    from warpglass.ncu.run import ProfileRequest

    request = ProfileRequest(
        application=tuple(application), sets=tuple(set_ or ()), metrics=tuple(metric or ()),
        nvtx=tuple(nvtx or ()), kernel=kernel, launch_count=launch_count, replay_mode=replay_mode,
        target_processes=target_processes, import_source=not no_source, extra=tuple(ncu_flag or ()),
    )  # fmt: skip
    options = o.make_options(title=title, no_source=no_source, charts=charts, with_session=with_session)
    raise typer.Exit(
        profile_app(request, options, output, keep, dry_run, Shell(-1 if quiet else 1 if verbose else 0))
    )

"""The options that commands share, declared once, and their way into :class:`ReportOptions`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from warpglass.errors import UsageError
from warpglass.inputs.devices import find_devices
from warpglass.options import Dim3, ReportOptions, parse_block_ranges, parse_dim3

__all__ = [
    "Archs", "Args", "Block", "Blocks", "Charts", "Cluster", "Commands", "Defines", "Expect", "FailOn", "Gpu",
    "Grid", "Includes", "Isa", "Json", "Kernel", "LaunchFile", "MaxWarps", "NoSource", "Notes", "NvccFlags",
    "Open", "Output", "Problem", "Quiet", "Rtol", "Seed", "SharedBytes", "Std", "TimeMs", "Title",
    "ValueBudget", "Verbose", "WithSession", "make_options", "resolve_archs",
]  # fmt: skip

_LAUNCH = "Launch"
_COMPILE = "Compiling"
_RUN = "Executing"
_PAGE = "Page"

Archs = Annotated[
    list[str] | None,
    typer.Option("--arch", metavar="SM", help="sm_80, sm_90a …, or native; repeat for several.",
                 rich_help_panel=_COMPILE),
]  # fmt: skip
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", metavar="NAME|FILE.toml", help="GPU model: sets SMs, clocks, bandwidth, roofs.",
                 rich_help_panel=_COMPILE),
]  # fmt: skip
Kernel = Annotated[
    str | None,
    typer.Option("--kernel", metavar="NAME|REGEX", help="Mangled, demangled or bare name, or a pattern.",
                 rich_help_panel=_LAUNCH),
]  # fmt: skip
Grid = Annotated[
    str | None,
    typer.Option("--grid", metavar="X[,Y[,Z]]", help="Blocks of the grid.", rich_help_panel=_LAUNCH),
]
Block = Annotated[
    str | None,
    typer.Option("--block", metavar="X[,Y[,Z]]", help="Threads of a block.", rich_help_panel=_LAUNCH),
]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="X[,Y[,Z]]", help="Blocks of a cluster.", rich_help_panel=_LAUNCH),
]
SharedBytes = Annotated[
    int | None,
    typer.Option(
        "--shared-bytes", metavar="N", help="Dynamic shared memory of a block.", rich_help_panel=_LAUNCH
    ),
]
Args = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE",
                 help="n=1024, x=float[64]:iota (zeros, ones, random, file.npy); or a position for NAME.",
                 rich_help_panel=_LAUNCH),
]  # fmt: skip
LaunchFile = Annotated[
    Path | None,
    typer.Option(
        "--launch", metavar="warpglass.toml", help="File with launch tables.", rich_help_panel=_LAUNCH
    ),
]
Includes = Annotated[
    list[Path] | None, typer.Option("-I", metavar="DIR", help="Include folder.", rich_help_panel=_COMPILE)
]
Defines = Annotated[
    list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Macro.", rich_help_panel=_COMPILE)
]
Std = Annotated[
    str | None, typer.Option("-std", "--std", metavar="c++17", help="C++ standard.", rich_help_panel=_COMPILE)
]
NvccFlags = Annotated[
    list[str] | None,
    typer.Option("--nvcc-flag", metavar="FLAG", help="Passed to nvcc as it is.", rich_help_panel=_COMPILE),
]
Commands = Annotated[
    Path | None,
    typer.Option("--compile-commands", metavar="FILE", help="Take flags from a compile_commands.json.",
                 rich_help_panel=_COMPILE),
]  # fmt: skip
Title = Annotated[str | None, typer.Option("--title", help="Title of the page.", rich_help_panel=_PAGE)]
Notes = Annotated[
    Path | None,
    typer.Option("--notes", metavar="notes.md", help="Markdown shown on the page.", rich_help_panel=_PAGE),
]
NoSource = Annotated[
    bool, typer.Option("--no-source", help="Leave source text out, of the JSON too.", rich_help_panel=_PAGE)
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Also write JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="For default buffers and :random.", rich_help_panel=_RUN)]
MaxWarps = Annotated[
    int,
    typer.Option("--max-warp-instructions", metavar="N", help="Instruction budget of a launch.",
                 rich_help_panel=_RUN),
]  # fmt: skip
Blocks = Annotated[
    str,
    typer.Option("--blocks", metavar="0-3,7|all", help="Blocks whose steps are kept; never changes counts.",
                 rich_help_panel=_RUN),
]  # fmt: skip
ValueBudget = Annotated[
    int,
    typer.Option(
        "--value-budget",
        metavar="BYTES",
        help="Of the page, for register values and memory data.",
        rich_help_panel=_RUN,
    ),
]
Expect = Annotated[
    list[str] | None,
    typer.Option(
        "--expect",
        metavar="NAME=FILE.npy|70%",
        help="Compare a buffer after the run; or the share hoped for.",
        rich_help_panel=_RUN,
    ),
]
Rtol = Annotated[float, typer.Option("--rtol", help="Relative tolerance of --expect.", rich_help_panel=_RUN)]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", metavar="KIND",
                 help="Exit 1 on findings of a kind, category or severity; 'incomplete', 'any'.",
                 rich_help_panel=_RUN),
]  # fmt: skip
WithSession = Annotated[
    bool,
    typer.Option(
        "--with-session",
        help="Show host, user, command line and folders of a profiler report; left out by default.",
        rich_help_panel=_PAGE,
    ),
]
Charts = Annotated[
    str,
    typer.Option(
        "--charts", metavar="interactive|static", help="static leaves Plotly out.", rich_help_panel=_PAGE
    ),
]
Isa = Annotated[
    str,
    typer.Option(
        "--isa", metavar="auto|ptx|sass", help="Which instructions are executed.", rich_help_panel=_RUN
    ),
]
TimeMs = Annotated[
    float | None,
    typer.Option("--time-ms", metavar="MS", help="A time that you measured.", rich_help_panel=_RUN),
]
Problem = Annotated[
    str | None,
    typer.Option("--problem", metavar="gemm:M,N,K", rich_help_panel=_RUN,
                 help="Least work: gemm, conv, attention, reduction, elementwise, bytes:N,flops:M."),
]  # fmt: skip
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help=".html, .json or .md.", rich_help_panel=_PAGE),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.", rich_help_panel=_PAGE)]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Errors only.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Tell what is done.")]

_PIPELINE = "Pipelines (CUTLASS headers)"
KernelLayer = Annotated[
    Path | None,
    typer.Option("--kernel-layer", metavar="HEADER", help="The kernel layer around a mainloop header.",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip
Schedules = Annotated[
    list[str] | None,
    typer.Option("--schedule", metavar="TAG", help="Schedule tag that decides a driver's headers.",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip
Knobs = Annotated[
    list[str] | None,
    typer.Option("--knob", metavar="NAME=N", help="Set a knob: S stages, K k-tiles, O output tiles …",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip
Assume = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="TEXT", help="Take conditions that hold this text as true.",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip
Refuse = Annotated[
    list[str] | None,
    typer.Option("--refuse", metavar="TEXT", help="Take conditions that hold this text as false.",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip
PipelineMode = Annotated[
    str,
    typer.Option("--mode", metavar="schedule|graph", help="What the pipeline section shows first.",
                 rich_help_panel=_PIPELINE),
]  # fmt: skip


def make_options(
    *,
    arch: Sequence[str] | None = None,
    gpu: str | None = None,
    kernel: str | None = None,
    grid: str | None = None,
    block: str | None = None,
    cluster: str | None = None,
    shared_bytes: int | None = None,
    arg: Sequence[str] | None = None,
    launch: Path | None = None,
    include: Sequence[Path] | None = None,
    define: Sequence[str] | None = None,
    std: str | None = None,
    nvcc_flag: Sequence[str] | None = None,
    compile_commands: Path | None = None,
    title: str | None = None,
    notes: Path | None = None,
    no_source: bool = False,
    seed: int = 0,
    max_warp_instructions: int = ReportOptions().max_warp_instructions,
    blocks: str = "0",
    value_budget: int = ReportOptions().value_budget,
    expect: Sequence[str] | None = None,
    rtol: float = ReportOptions().rtol,
    fail_on: Sequence[str] | None = None,
    charts: str = "interactive",
    isa: str = "auto",
    time_ms: float | None = None,
    problem: str | None = None,
    with_session: bool = False,
    kernel_layer: Path | None = None,
    schedule: Sequence[str] | None = None,
    knob: Sequence[str] | None = None,
    assume: Sequence[str] | None = None,
    refuse: Sequence[str] | None = None,
    mode: str = "schedule",
) -> ReportOptions:
    """Typed and checked options out of the command line's; raises :class:`UsageError`."""
    return ReportOptions(
        arch=resolve_archs(arch or ()),
        gpu=gpu,
        kernel=kernel,
        grid=_extents(grid, "--grid"),
        block=_extents(block, "--block"),
        cluster=_extents(cluster, "--cluster"),
        shared_bytes=shared_bytes,
        args=tuple(arg or ()),
        launch_file=launch,
        include_dirs=tuple(include or ()),
        defines=tuple(define or ()),
        std=std,
        nvcc_flags=tuple(nvcc_flag or ()),
        compile_commands=compile_commands,
        title=title,
        notes=notes,
        no_source=no_source,
        seed=seed,
        max_warp_instructions=max_warp_instructions,
        blocks=parse_block_ranges(blocks),
        value_budget=value_budget,
        expect=tuple(expect or ()),
        rtol=rtol,
        fail_on=tuple(fail_on or ()),
        charts=charts,
        isa=isa,
        time_ms=time_ms,
        problem=problem,
        with_session=with_session,
        kernel_layer=kernel_layer,
        schedules=tuple(schedule or ()),
        knobs=tuple(knob or ()),
        assume=tuple(assume or ()),
        refuse=tuple(refuse or ()),
        mode=mode,
    ).check()


def _extents(text: str | None, what: str) -> Dim3 | None:
    return None if text is None else parse_dim3(text, what)


def resolve_archs(names: Sequence[str]) -> tuple[str, ...]:
    """Architectures in the compiler's spelling, each once; ``native`` is that of the first GPU found.

    Raises :class:`UsageError` for a name that is no architecture, or that of one which does not exist.
    """
    from warpglass.cuda.compile import check_arch
    from warpglass.gpu import require_arch

    found: dict[str, None] = {}
    for name in names:
        if name.strip().lower() == "native":
            devices = [device.arch for device in find_devices() if device.arch is not None]
            if not devices:
                raise UsageError("--arch native: no GPU was found here", hint="name one, --arch sm_80")
            found[devices[0]] = None
        else:
            found[require_arch(check_arch(name))] = None
    return tuple(found)

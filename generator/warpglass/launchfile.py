"""Which launches a report executes, and who decided each of their fields.

Field by field the first of these wins: command line, launch file, profiler report, ``// warpglass:``
comment, literal ``<<<…>>>``; else the block is ``.reqntid`` or min(128, ``.maxntid``), the grid 4, the
cluster ``.reqnctapercluster`` or 1, dynamic shared memory 0.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpglass.collect import WARNING
from warpglass.cuda.model import CudaSource
from warpglass.errors import LaunchError
from warpglass.inputs.comments import LaunchComment
from warpglass.inputs.demangle import demangled, matches_name
from warpglass.launchliteral import EMPTY_CLASS, allocation_specs, find_literal, literal_spec
from warpglass.launchparams import ParamInfo, describe_params, source_kernel
from warpglass.launchspec import (
    MOST_LAUNCHES,
    LaunchSpec,
    comment_specs,
    launch_settings,
    load_launch_file,
    options_spec,
    parse_launch_file,
)
from warpglass.launchvalues import Place, read_argument
from warpglass.machine.launch import Argument, Dim3, Launch, check_parameters
from warpglass.options import ReportOptions, check_extents
from warpglass.patterns import compile_pattern
from warpglass.ptx.model import Function

__all__ = [
    "LaunchSpec", "PlannedLaunch", "comment_specs", "launch_settings", "load_launch_file", "names_none",
    "options_spec", "parse_launch_file", "plan_launches", "resolve_launch", "select_kernels",
]  # fmt: skip

DEFAULT_GRID: Dim3 = (4, 1, 1)
DEFAULT_BLOCK = 128


@dataclass(frozen=True, slots=True)
class PlannedLaunch:
    """One launch of one kernel. ``arch`` and ``gpu`` are those that the launch file asks for, or None."""

    function: Function
    launch: Launch
    arch: str | None = None
    gpu: str | None = None
    notes: tuple[str, ...] = field(default=())


# --- which kernels ----------------------------------------------------------------------------------


def select_kernels(
    functions: Sequence[Function], wanted: str | None, *, expressions: bool = True
) -> tuple[Function, ...]:
    """Kernels called ``wanted``: by a whole name, else by a pattern with ``*`` and ``?``, else by a regex.

    Whole names are mangled, demangled (with or without parameters) or bare. ``expressions`` says whether
    a regular expression is allowed: only where the user typed it, as one can run forever. None selects all.
    Raises :class:`LaunchError` where nothing fits.
    """
    kernels = [function for function in functions if function.is_entry]
    if wanted is None:
        return tuple(kernels)
    exact = [function for function in kernels if matches_name(function.name, wanted)]
    if exact:
        return tuple(exact)
    tests = [re.compile(fnmatch.translate(wanted), re.S)]
    if expressions:
        try:
            tests.append(compile_pattern(wanted, "--kernel", LaunchError))
        except LaunchError:
            if not any(sign in wanted for sign in "*?["):
                raise
    for number, test in enumerate(tests):
        search = test.fullmatch if number == 0 else test.search
        found = [function for function in kernels if any(search(name) for name in _names(function))]
        if found:
            return tuple(found)
    known = ", ".join(dict.fromkeys(demangled(function.name).qualified for function in kernels[:20]))
    raise LaunchError(
        f"no kernel is called {wanted[:80]!r}", hint=f"there are: {known or 'no kernels at all'}"
    )


def _names(function: Function) -> tuple[str, ...]:
    forms = demangled(function.name)
    return (forms.mangled, forms.full, forms.qualified, forms.bare)


# --- what a launch is -------------------------------------------------------------------------------


def plan_launches(
    functions: Sequence[Function],
    options: ReportOptions,
    source: CudaSource | None = None,
    *,
    text: str | None = None,
    name: str = "",
    folder: Path = Path("."),
    report_specs: Sequence[LaunchSpec] = (),
) -> tuple[PlannedLaunch, ...]:
    """Every launch of the kernels among ``functions``, in their order.

    ``source`` is the CUDA source that they were compiled from, ``text`` the text that holds comments (the
    source's by default, the PTX's else), called ``name`` and lying in ``folder``. ``report_specs`` are what
    a profiler saw. With a launch file its tables are executed, each for every kernel it names; a kernel
    that it does not name is executed only where ``--kernel`` names it. Raises :class:`LaunchError`.
    """
    kernels = select_kernels(functions, options.kernel)
    command = options_spec(options)
    if options.kernel is None and len(kernels) > 1 and _says_something(command):
        listed = ", ".join(demangled(function.name).bare for function in kernels[:12])
        raise LaunchError(
            f"--grid, --block and --arg need --kernel: there are {len(kernels)} kernels: {listed}"
        )
    body = text if text is not None else (source.text if source is not None else "")
    comments = comment_specs(body, name or (source.name if source is not None else "input"), folder)
    tables = load_launch_file(options.launch_file) if options.launch_file is not None else ()
    planned: list[PlannedLaunch] = []
    for function, table in _pairs(kernels, tables, options):
        check_parameters(function)
        mine = _own_comments(function, kernels, comments, source)
        reported = [
            spec for spec in report_specs if spec.kernel is None or matches_name(function.name, spec.kernel)
        ]
        specs = [command, *([table] if table is not None else []), *reported, *mine]
        launch, notes = resolve_launch(function, source, specs, options.seed)
        first = next((spec for spec in specs if spec.arch), None)
        gpu = next((spec.gpu for spec in specs if spec.gpu), None)
        planned.append(PlannedLaunch(function, launch, first.arch if first else None, gpu, notes))
    if not planned and kernels:
        raise LaunchError("the launch file names none of the kernels: " + ", ".join(
            demangled(function.name).bare for function in kernels[:12]
        ))  # fmt: skip
    return tuple(planned)


def names_none(functions: Sequence[Function], path: Path) -> bool:
    """Whether the tables of a launch file name none of the kernels. Raises :class:`LaunchError`."""
    kernels = select_kernels(functions, None)
    return not _pairs(kernels, load_launch_file(path), ReportOptions())


def _says_something(spec: LaunchSpec) -> bool:
    return bool(spec.grid or spec.block or spec.cluster or spec.args) or spec.shared_bytes is not None


def _pairs(
    kernels: Sequence[Function], tables: Sequence[LaunchSpec], options: ReportOptions
) -> list[tuple[Function, LaunchSpec | None]]:
    if not tables:
        return [(function, None) for function in kernels]
    pairs: list[tuple[Function, LaunchSpec | None]] = []
    for table in tables:
        try:
            named = select_kernels(kernels, table.kernel, expressions=False)
        except LaunchError:
            continue  # a launch file may serve several files
        pairs += [(function, table) for function in named]
    if len(pairs) > MOST_LAUNCHES:
        raise LaunchError(f"the launch file asks for more than {MOST_LAUNCHES} launches")
    covered = {function.name for function, _ in pairs}
    if options.kernel is not None:
        pairs += [(function, None) for function in kernels if function.name not in covered]
    return pairs


def _own_comments(
    function: Function,
    kernels: Sequence[Function],
    comments: Iterable[tuple[LaunchComment, LaunchSpec]],
    source: CudaSource | None,
) -> list[LaunchSpec]:
    """Comments that name this kernel, or stand in it or before it with no other kernel between.

    In a file with one kernel every comment is its own.
    """
    definition = source_kernel(function, source)
    ends = sorted({kernel.end_line for kernel in source.kernels}) if source is not None else []
    end = definition.end_line if definition is not None else None
    if source is None:
        ends, end = sorted({other.end_line for other in kernels}), function.end_line
    mine = []
    for comment, spec in comments:
        if spec.kernel is not None:
            if matches_name(function.name, spec.kernel):
                mine.append(spec)
        elif len(ends) == 1 or (end is not None and _next_end(ends, comment.line) == end):
            mine.append(spec)
    return mine


def _next_end(ends: Sequence[int], line: int) -> int | None:
    return next((end for end in ends if end >= line), None)


def resolve_launch(
    function: Function, source: CudaSource | None, specs: Sequence[LaunchSpec], seed: int = 0
) -> tuple[Launch, tuple[str, ...]]:
    """The launch that ``specs``, foremost first, give to ``function``, and notes on what was not understood.

    Raises :class:`LaunchError` for arguments that do not fit, :class:`UsageError` for extents.
    """
    origin: dict[str, str] = {}
    infos = describe_params(function, source)
    written = find_literal(function, source)
    literal = literal_spec(written, source, infos) if written is not None and source is not None else None
    chain = [*specs, *([literal] if literal is not None else []), _directive_spec(function)]
    grid = _first(chain, "grid", origin, DEFAULT_GRID)
    block = _first(chain, "block", origin, (DEFAULT_BLOCK, 1, 1))
    cluster = _first(chain, "cluster", origin, (1, 1, 1))
    shared = _first(chain, "shared_bytes", origin, 0)
    check_extents(grid, "grid")
    check_extents(block, "block")
    if any(extent % size for extent, size in zip(grid, cluster, strict=True)):
        if origin["grid"] != "default":
            raise LaunchError(f"a grid of {_shown(grid)} cannot be cut into clusters of {_shown(cluster)}")
        # The default grid follows the cluster, which somebody gave.
        grid = (4 * cluster[0], cluster[1], cluster[2])
    sources = [*specs, *([literal] if literal is not None else [])]
    if written is not None and source is not None:
        sources += allocation_specs(written, source, infos, specs, origin)
    given, notes = _given_arguments(function, infos, sources, seed)
    total = grid[0] * block[0]
    args = {info.ptx_name: given.get(info.index) or _default_argument(info, total) for info in infos}
    launch = Launch(
        grid=grid,
        block=block,
        cluster=cluster,
        shared_bytes=shared,
        args=args,
        label=next((spec.label for spec in specs if spec.label), ""),
        origin=origin,
        cooperative=any(spec.cooperative for spec in specs),
    )
    return launch, (*notes, *_nothing_in(function, infos, given))


def _nothing_in(
    function: Function, infos: Sequence[ParamInfo], given: Mapping[int, Argument]
) -> tuple[str, ...]:
    """A warning for each struct that nobody gave: its numbers are 0 and its pointers lead nowhere."""
    return tuple(
        f"{WARNING}nobody gave {info.shown} of {demangled(function.name).bare}: "
        f"its {info.size} bytes are zero, "
        f"and so are pointers in it; --arg {info.shown}=hex:… gives them"
        for info in infos
        if info.kind == "struct" and info.size > EMPTY_CLASS and info.index not in given
    )


def _first(chain: Sequence[LaunchSpec], name: str, origin: dict[str, str], default: Any) -> Any:
    for spec in chain:
        value = getattr(spec, name)
        if value is not None:
            origin[name] = spec.place.origin
            return value
    origin[name] = "default"
    return default


def _directive_spec(function: Function) -> LaunchSpec:
    """What the PTX itself asks for: .reqntid, .maxntid, .reqnctapercluster."""
    required = function.directives.get("reqntid")
    most = function.directives.get("maxntid")
    cluster = function.directives.get("reqnctapercluster")
    name = ".reqntid"
    block = _padded(required) if required else None
    if block is None and most:
        name = ".maxntid"
        threads = 1
        for extent in most:
            threads *= extent
        block = (max(1, min(DEFAULT_BLOCK, threads)), 1, 1)
    shown = name if block is not None else ".reqnctapercluster"
    return LaunchSpec(Place(shown, Path(".")), block=block, cluster=_padded(cluster) if cluster else None)


def _padded(values: Sequence[int]) -> Dim3:
    padded = [max(1, value) for value in values[:3]] + [1, 1, 1]
    return (padded[0], padded[1], padded[2])


def _shown(extents: Dim3) -> str:
    return "×".join(map(str, extents))


def _given_arguments(
    function: Function, infos: Sequence[ParamInfo], specs: Sequence[LaunchSpec], seed: int
) -> tuple[dict[int, Argument], tuple[str, ...]]:
    given: dict[int, Argument] = {}
    aliases: list[tuple[ParamInfo, str, LaunchSpec]] = []
    notes: list[str] = []
    for spec in specs:
        own: set[int] = set()
        for key, value in spec.args:
            info = _parameter(infos, key)
            if info is None:
                message = (
                    f"{demangled(function.name).bare} has no parameter {key[:60]!r} ({spec.place.origin})"
                )
                if spec.strict:
                    listed = ", ".join(item.shown for item in infos) or "none"
                    raise LaunchError(message, hint=f"parameters: {listed}; a position counts from 0")
                notes.append(message)
                continue
            if info.index in own:
                raise LaunchError(f"argument {info.shown} is given twice ({spec.place.origin})")
            own.add(info.index)
            if info.index in given or any(info is other for other, _, _ in aliases):
                continue
            if isinstance(value, str) and value.strip().startswith("@"):
                aliases.append((info, value.strip()[1:], spec))
            else:
                given[info.index] = read_argument(info, value, spec.place, seed)
    for info, name, spec in aliases:
        given[info.index] = _alias(info, name, infos, given, spec)
    return given, tuple(notes)


def _alias(
    info: ParamInfo, name: str, infos: Sequence[ParamInfo], given: Mapping[int, Argument], spec: LaunchSpec
) -> Argument:
    """``y=@x``: both parameters get one buffer."""
    other = _parameter(infos, name)
    source = given.get(other.index) if other is not None else None
    if source is None or source.value is None or info.kind != "buffer" or source.kind != "buffer":
        raise LaunchError(
            f"argument {info.shown}: @{name[:60]} must name another pointer that is given as file.npy or list"
        )
    return replace(source, name=info.shown, origin=spec.place.origin)


def _parameter(infos: Sequence[ParamInfo], key: str) -> ParamInfo | None:
    for info in infos:
        if key in (info.name, info.ptx_name):
            return info
    if key.isascii() and key.isdigit() and len(key) < 6 and int(key) < len(infos):
        return infos[int(key)]
    return None


def _default_argument(info: ParamInfo, threads: int) -> Argument:
    """Integers gridDim.x·blockDim.x as far as they fit, floats 1, bytes 0, a pointer its own buffer."""
    if info.kind == "buffer":
        dtype = "uint16" if info.dtype == "bfloat16" else info.dtype
        return Argument(info.shown, "buffer", dtype)
    if info.kind == "struct":
        return Argument(info.shown, "scalar", "bytes", bytes(info.size))
    if info.dtype.startswith(("f", "bf")):
        return Argument(info.shown, "scalar", info.dtype, 1.0)
    if info.c_type == "bool":
        return Argument(info.shown, "scalar", info.dtype, 1)
    bits = 8 * info.size - (1 if info.dtype.startswith("s") else 0)
    return Argument(info.shown, "scalar", info.dtype, min(threads, (1 << bits) - 1))

"""Read what is written of launches: launch files, ``// warpglass:`` comments, the command line."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpglass.cuda.compile import DEFAULT_ARCH, check_arch
from warpglass.cuda.model import CudaSource
from warpglass.errors import LaunchError, UsageError
from warpglass.files import is_file, read_file
from warpglass.gpu import require_arch
from warpglass.inputs.comments import LaunchComment, find_comments
from warpglass.launchvalues import Place, split_argument
from warpglass.machine.launch import Dim3
from warpglass.options import ReportOptions, check_extents, parse_dim3

__all__ = [
    "LAUNCH_FILE", "LaunchSpec", "comment_specs", "compile_archs", "launch_settings", "load_launch_file",
    "options_spec", "parse_launch_file",
]  # fmt: skip

MOST_LAUNCHES = 1000
#: Name of the launch file that counts without being named, beside an input.
LAUNCH_FILE = "warpglass.toml"

_LARGEST_FILE = 4 << 20
_KEYS = {"kernel", "label", "grid", "block", "cluster", "shared_bytes", "args", "arch", "gpu", "cooperative"}
_COMMENT_KEYS = {"shared": "shared_bytes", "smem": "shared_bytes"}


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """What one source says of a launch; None where it is silent.

    ``args`` holds (key, value) pairs as written; ``strict`` says that a key which names no parameter is an
    error. ``place`` says who wrote it and where its files lie.
    """

    place: Place
    kernel: str | None = None
    label: str = ""
    grid: Dim3 | None = None
    block: Dim3 | None = None
    cluster: Dim3 | None = None
    shared_bytes: int | None = None
    args: tuple[tuple[str, object], ...] = ()
    arch: str | None = None
    gpu: str | None = None
    cooperative: bool = False
    strict: bool = True


def load_launch_file(path: Path) -> tuple[LaunchSpec, ...]:
    """The ``[[launch]]`` tables of a warpglass.toml; its files may lie in its own folder only.

    Raises :class:`LaunchError` for a file that is none.
    """
    try:
        text = read_file(path, _LARGEST_FILE, LaunchError).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LaunchError(f"the launch file {path.name} is no UTF-8 text: {error}") from error
    return parse_launch_file(text, path.name, path.parent)


def parse_launch_file(
    text: str, name: str = "warpglass.toml", folder: Path = Path(".")
) -> tuple[LaunchSpec, ...]:
    """As :func:`load_launch_file`, of a text."""
    try:
        loaded: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise LaunchError(f"{name} is no TOML: {error}") from error
    tables = loaded.get("launch")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise LaunchError(f"{name} has no [[launch]] table")
    if len(tables) > MOST_LAUNCHES:
        raise LaunchError(f"{name} has more than {MOST_LAUNCHES} launches")
    unknown = sorted(set(loaded) - {"launch"})
    if unknown:
        raise LaunchError(f"{name}: unknown key {unknown[0][:60]!r} outside [[launch]]")
    place = Place(name, folder, confined=True)
    return tuple(_table(table, f"{name}, launch {number}", place) for number, table in enumerate(tables, 1))


def _table(table: Mapping[str, Any], where: str, place: Place) -> LaunchSpec:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise LaunchError(
            f"{where}: unknown key {unknown[0][:60]!r}", hint=f"known are {', '.join(sorted(_KEYS))}"
        )
    for key in ("kernel", "label", "arch", "gpu"):
        if key in table and not isinstance(table[key], str):
            raise LaunchError(f"{where}: {key} must be a text")
    args = table.get("args", {})
    if not isinstance(args, dict):
        raise LaunchError(f'{where}: args must be a table, args = {{ n = 1024, x = "float[1024]:iota" }}')
    if not isinstance(table.get("cooperative", False), bool):
        raise LaunchError(f"{where}: cooperative must be true or false")
    return LaunchSpec(
        place=place,
        kernel=table.get("kernel"),
        label=table.get("label", "")[:200],
        grid=_extents(table.get("grid"), "grid", where),
        block=_extents(table.get("block"), "block", where),
        cluster=_extents(table.get("cluster"), "cluster", where),
        shared_bytes=_shared(table.get("shared_bytes"), where),
        args=tuple(args.items()),
        arch=table.get("arch"),
        gpu=table.get("gpu"),
        cooperative=table.get("cooperative", False),
    )


def _extents(value: object, what: str, where: str) -> Dim3 | None:
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    try:
        if isinstance(value, str):
            return check_extents(parse_dim3(value, what), what)
        if not 1 <= len(items) <= 3 or not all(
            isinstance(item, int) and not isinstance(item, bool) for item in items
        ):
            raise LaunchError(f"{what} must be one to three integers, not {str(value)[:60]}")
        padded = [*items, 1, 1]
        return check_extents((padded[0], padded[1], padded[2]), what)
    except UsageError as error:
        raise LaunchError(f"{where}: {error.message}") from error


def _shared(value: object, where: str) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31):
        return value
    raise LaunchError(f"{where}: shared_bytes must be a number of bytes, not {str(value)[:60]}")


def comment_specs(text: str, name: str, folder: Path) -> tuple[tuple[LaunchComment, LaunchSpec], ...]:
    """The ``// warpglass:`` comments of an input called ``name`` that lies in ``folder``.

    Raises :class:`LaunchError` for a comment whose grid, block, cluster or shared size cannot be meant.
    """
    return tuple((comment, _comment_spec(comment, name, folder)) for comment in find_comments(text))


def _comment_spec(comment: LaunchComment, name: str, folder: Path) -> LaunchSpec:
    where = f"{name}:{comment.line}"
    place = Place(f"comment at {where}", folder, confined=True)
    said: dict[str, str] = {}
    args: list[tuple[str, object]] = []
    for raw, value in comment.pairs:
        key = _COMMENT_KEYS.get(raw, raw)
        if key in _KEYS - {"args"}:
            said[key] = value[:200]
        else:
            args.append((raw, value))
    return LaunchSpec(
        place=place,
        kernel=said.get("kernel"),
        label=said.get("label", ""),
        grid=_extents(said.get("grid"), "grid", where),
        block=_extents(said.get("block"), "block", where),
        cluster=_extents(said.get("cluster"), "cluster", where),
        shared_bytes=_shared(said.get("shared_bytes"), where),
        args=tuple(args),
        arch=said.get("arch"),
        gpu=said.get("gpu"),
        cooperative=said.get("cooperative", "").lower() in ("true", "1", "yes"),
        strict=False,
    )


def compile_archs(source: CudaSource, options: ReportOptions, folder: Path) -> tuple[str, ...]:
    """Architectures to compile ``source`` for, in the compiler's spelling.

    ``--arch`` decides; else what the launches of the launch file (given, or beside the source in
    ``folder``) ask for; a launch without a wish takes that of a ``// warpglass: arch=`` comment, else
    :data:`~warpglass.cuda.DEFAULT_ARCH`. Raises :class:`UsageError` for a name that is no architecture.
    """
    if options.arch:
        return tuple(dict.fromkeys(check_arch(arch) for arch in options.arch))
    base = launch_settings(source.text)[0] or DEFAULT_ARCH
    path = options.launch_file or folder / LAUNCH_FILE
    try:
        tables = load_launch_file(path) if options.launch_file or is_file(path) else ()
    except LaunchError:
        tables = ()  # told where the launches are planned
    names = [name for kernel in source.kernels for name in (kernel.name, kernel.qualified)]
    mine = [table for table in tables if _may_name(table.kernel, names)]
    wanted = [table.arch or base for table in mine] or [base]
    return tuple(dict.fromkeys(require_arch(check_arch(arch)) for arch in wanted))


def _may_name(kernel: str | None, names: list[str]) -> bool:
    """Whether a table could be for one of ``names``; mangled and demangled names could be for any."""
    if kernel is None or kernel.startswith("_Z") or "(" in kernel or "<" in kernel:
        return True
    return any(fnmatch.fnmatchcase(name, kernel) for name in names)


def options_spec(options: ReportOptions) -> LaunchSpec:
    """What the command line says; its files are relative to the current folder."""
    return LaunchSpec(
        place=Place("command line", Path(".")),
        kernel=options.kernel,
        grid=options.grid,
        block=options.block,
        cluster=options.cluster,
        shared_bytes=options.shared_bytes,
        args=tuple(split_argument(text) for text in options.args),
    )


def launch_settings(text: str) -> tuple[str | None, str | None]:
    """Architecture and GPU that the comments of an input ask for (``// warpglass: arch=sm_90``), or None."""
    pairs = [pair for comment in find_comments(text) for pair in comment.pairs]
    found = {key: value for key, value in reversed(pairs) if key in ("arch", "gpu")}
    return found.get("arch"), found.get("gpu")

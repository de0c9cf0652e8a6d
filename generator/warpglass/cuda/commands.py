"""Take from a compile_commands.json the flags that decide what a kernel means."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpglass.errors import InputError
from warpglass.files import read_file

__all__ = ["CommandFlags", "flags_from_commands"]

_LIMIT = 64 * 1024 * 1024

#: Flags kept as they are. Others (outputs, host compilers, plug-ins) could start programs or write files,
#: and a build database is an input like any other.
_KEPT = {
    "--expt-relaxed-constexpr", "-expt-relaxed-constexpr", "--expt-extended-lambda", "-expt-extended-lambda",
    "--extended-lambda", "-extended-lambda", "--use_fast_math", "-use_fast_math", "-ftz=true", "--ftz=true",
    "-ftz=false", "--ftz=false", "-fmad=true", "-fmad=false", "--fmad=true", "--fmad=false",
    "-prec-div=true", "-prec-div=false", "-prec-sqrt=true", "-prec-sqrt=false", "-rdc=true", "-rdc=false",
    "--relocatable-device-code=true", "--relocatable-device-code=false", "-O0", "-O1", "-O2", "-O3",
    "--default-stream=per-thread", "-default-stream=per-thread", "--restrict", "-restrict",
}  # fmt: skip
_WITH_VALUE = {"-I", "-isystem", "-D", "-U", "-std", "--std", "-include", "-maxrregcount", "--maxrregcount"}


@dataclass(frozen=True, slots=True)
class CommandFlags:
    """What a build says of one file: ``include_dirs`` and ``forced`` (-include) are absolute.

    ``archs`` are as written (``sm_80``).
    """

    include_dirs: tuple[Path, ...]
    defines: tuple[str, ...]
    std: str | None
    flags: tuple[str, ...]
    forced: tuple[Path, ...]
    archs: tuple[str, ...]


def flags_from_commands(database: Path, source: Path) -> CommandFlags:
    """The flags of the entry for ``source``, by its whole path, else by its name where that is unique.

    Raises :class:`InputError` for a file that is no build database, or has no such entry.
    """
    entries = _entries(database)
    target = source.resolve()
    whole = [entry for entry in entries if _path_of(entry) == target]
    named = [entry for entry in entries if _path_of(entry).name == source.name]
    if not whole and len(named) != 1:
        found = "several entries" if named else "no entry"
        raise InputError(f"{database.name} has {found} for {source.name}")
    entry = (whole or named)[0]
    return _read_flags(_arguments(entry, database), Path(str(entry.get("directory", "."))))


def _entries(database: Path) -> list[dict[str, object]]:
    try:
        loaded = json.loads(read_file(database, _LIMIT).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{database.name} is no compile_commands.json: {error}") from error
    if not isinstance(loaded, list) or not all(isinstance(entry, dict) for entry in loaded):
        raise InputError(f"{database.name} is no compile_commands.json: it must be a list of objects")
    return [entry for entry in loaded if isinstance(entry.get("file"), str)]


def _path_of(entry: dict[str, object]) -> Path:
    try:
        return (Path(str(entry.get("directory", "."))) / str(entry["file"])).resolve()
    except (OSError, ValueError, RuntimeError):
        return Path(str(entry["file"]).replace("\0", "?"))


def _arguments(entry: dict[str, object], database: Path) -> list[str]:
    arguments, command = entry.get("arguments"), entry.get("command")
    if isinstance(arguments, list) and all(isinstance(item, str) for item in arguments):
        return [str(item) for item in arguments]
    if isinstance(command, str):
        try:
            return shlex.split(command)
        except ValueError as error:
            raise InputError(f"{database.name}: a command cannot be split: {error}") from error
    raise InputError(f"{database.name}: the entry has neither command nor arguments")


def _read_flags(arguments: list[str], directory: Path) -> CommandFlags:
    includes: list[Path] = []
    defines: list[str] = []
    flags: list[str] = []
    forced: list[Path] = []
    archs: list[str] = []
    std: str | None = None
    for name, value in _pairs(arguments[1:]):
        if name in ("-I", "-isystem"):
            includes.append(directory / value)
        elif name == "-D":
            defines.append(value)
        elif name in ("-std", "--std"):
            std = value
        elif name == "-include":
            forced.append(directory / value)
        elif name == "-U" or name.endswith("maxrregcount"):
            flags += [f"{name}{value}"] if name == "-U" else [f"-maxrregcount={value}"]
        elif name in _KEPT:
            flags.append(name)
        elif name in ("-arch", "--gpu-architecture", "-code") and value.startswith("sm_"):
            archs.append(value)
        elif name in ("-gencode", "--generate-code"):
            archs += [part for part in value.replace("[", ",").replace("]", ",").replace("=", ",").split(",")
                      if part.startswith("sm_")]  # fmt: skip
    return CommandFlags(
        tuple(includes), tuple(defines), std, tuple(flags), tuple(forced), tuple(dict.fromkeys(archs))
    )


def _pairs(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values, whether joined (``-Ifoo``, ``-std=c++17``) or apart (``-I foo``)."""
    rest = iter(arguments)
    for flag in rest:
        if flag in _KEPT:
            yield flag, ""
        elif flag in _WITH_VALUE or flag in ("-gencode", "--generate-code", "-arch"):
            yield flag, next(rest, "")
        elif flag.startswith(("-I", "-D", "-U")) and len(flag) > 2:
            yield flag[:2], flag[2:]
        elif flag.startswith("-isystem") and len(flag) > 8:
            yield "-isystem", flag[8:].removeprefix("=")
        elif "=" in flag:
            name, _, value = flag.partition("=")
            yield name, value

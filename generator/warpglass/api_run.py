"""``warpglass.run``: execute one kernel from Python and get memory, counts, findings and traces back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from warpglass import ptx, sass
from warpglass.collect import MAX_INPUT, CodeUnit
from warpglass.errors import InputError, LaunchError
from warpglass.files import read_file
from warpglass.inputs.sniff import sniff
from warpglass.launchfile import resolve_launch, select_kernels
from warpglass.launchparams import ParamInfo, describe_params, element_type
from warpglass.launchspec import LaunchSpec
from warpglass.launchvalues import Place, read_argument
from warpglass.machine import Argument, RunOptions, RunResult, execute, execute_sass
from warpglass.machinecode import machine_code
from warpglass.options import ReportOptions

if TYPE_CHECKING:
    from warpglass.cuda import CudaSource

__all__ = ["run"]

_PLACE = Place("Python", Path("."))
Extents = int | Sequence[int]


def run(
    source: str | Path | ptx.Module,
    kernel: str | None = None,
    grid: Extents | None = None,
    block: Extents | None = None,
    shared_bytes: int | None = None,
    args: Sequence[Any] | Mapping[str | int, Any] | None = None,
    seed: int = 0,
    *,
    cluster: Extents | None = None,
    cooperative: bool = False,
    arch: str | None = None,
    isa: str = "ptx",
    options: RunOptions | None = None,
    include_dirs: Sequence[str | Path] = (),
    defines: Sequence[str] = (),
    nvcc_flags: Sequence[str] = (),
) -> RunResult:
    """Execute one launch of ``kernel`` and return what it left.

    ``source``: PTX or CUDA text (a str with a line break), a path of a file of either, or a parsed module.
    ``isa="sass"`` executes machine code: of CUDA text, of a file of it, or of a cubin or listing.
    ``args``: values by position, or by name in the CUDA source, PTX name or position. A value is an array
    (a buffer, copied; the same array twice is one buffer), a number, bytes for a struct, a text as on the
    command line (``float[64]:iota``), or None for the default. ``result.buffers[i].array`` is argument
    ``i`` afterwards. ``include_dirs``, ``defines`` (``NAME`` or ``NAME=value``) and ``nvcc_flags`` are for
    CUDA that is compiled. Raises :class:`~warpglass.errors.WarpglassError` for input that does not fit; a
    kernel's own faults are findings.
    """
    if isa not in ("ptx", "sass"):
        raise LaunchError(f"isa is {isa!r}; choose ptx or sass")
    code: sass.Module | None = None
    compile_options = ReportOptions(
        arch=(arch,) if arch else (),
        include_dirs=tuple(Path(folder) for folder in include_dirs),
        defines=tuple(defines),
        nvcc_flags=tuple(nvcc_flags),
    )
    if isa == "sass":
        unit = _unit(source, compile_options)
        code, cuda_source = unit.sass, unit.source
        chosen = select_kernels(unit.kernels, kernel)
    else:
        module, cuda_source = _module(source, compile_options)
        chosen = select_kernels(module.functions, kernel)
    if len(chosen) != 1:
        names = ", ".join(f.name for f in chosen[:8])
        raise LaunchError(
            f"there are {len(chosen)} kernels; name one", hint=names or "the text has no kernel"
        )
    function = chosen[0]
    spec = LaunchSpec(
        _PLACE,
        grid=_extents(grid, "grid"),
        block=_extents(block, "block"),
        cluster=_extents(cluster, "cluster"),
        shared_bytes=shared_bytes,
    )
    launch, _ = resolve_launch(function, cuda_source, [spec])
    infos = describe_params(function, cuda_source)
    given = _given(infos, args)
    launch = replace(launch, args={**launch.args, **given}, cooperative=cooperative or launch.cooperative)
    chosen_options = options if options is not None else RunOptions(seed=seed, sample=False)
    if code is not None:
        return execute_sass(code, function, launch, chosen_options)
    return execute(module, function, launch, options=chosen_options)


def _unit(source: str | Path | ptx.Module, options: ReportOptions) -> CodeUnit:
    if isinstance(source, ptx.Module):
        raise InputError("a PTX module has no machine code", hint="give CUDA source, a cubin or a listing")
    with _as_file(source) as path:
        return machine_code(path, options)


def _is_text(source: str | Path) -> TypeGuard[str]:
    """Whether it is the source itself: a path has no line break."""
    return isinstance(source, str) and "\n" in source


@contextmanager
def _as_file(source: str | Path) -> Iterator[Path]:
    """The path of ``source``: itself, or of a scratch file where it is text (it has a line break)."""
    if not _is_text(source):
        yield Path(source)
        return
    content = source.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory(prefix="warpglass-") as scratch:
        path = Path(scratch) / ("source.cu" if sniff(content, "source") == "cuda" else "source.txt")
        path.write_bytes(content)
        yield path


def _module(source: str | Path | ptx.Module, options: ReportOptions) -> tuple[ptx.Module, CudaSource | None]:
    if isinstance(source, ptx.Module):
        return source, None
    if _is_text(source) and sniff(source.encode("utf-8", "surrogatepass"), "source") != "cuda":
        return ptx.parse(source), None
    with _as_file(source) as path:
        kind = sniff(read_file(path, MAX_INPUT), path.name)
        return _compiled(path, options) if kind == "cuda" else (ptx.load(path), None)


def _compiled(path: Path, options: ReportOptions) -> tuple[ptx.Module, CudaSource]:
    from warpglass import cuda

    read = cuda.load(path, options.defines)
    arch = options.arch[0] if options.arch else cuda.DEFAULT_ARCH
    made = cuda.compile(path, arch, options.include_dirs, options.defines, extra_flags=options.nvcc_flags)
    return ptx.parse(made.ptx), read


def _extents(value: Extents | None, what: str) -> tuple[int, int, int] | None:
    if value is None:
        return None
    numbers = [value] if isinstance(value, int | np.integer) else list(value)
    if not 1 <= len(numbers) <= 3 or not all(isinstance(n, int | np.integer) for n in numbers):
        raise LaunchError(f"{what} is one to three integers, not {str(value)[:60]}")
    padded = [int(n) for n in numbers] + [1, 1]
    return padded[0], padded[1], padded[2]


def _given(
    infos: Sequence[ParamInfo], args: Sequence[Any] | Mapping[str | int, Any] | None
) -> dict[str, Argument]:
    if args is None:
        return {}
    pairs: list[tuple[ParamInfo, Any]] = []
    if isinstance(args, Mapping):
        for key, value in args.items():
            info = _named(infos, key)
            if any(info is other for other, _ in pairs):
                raise LaunchError(f"argument {info.shown} is given twice")
            pairs.append((info, value))
    else:
        values = list(args)
        if len(values) > len(infos):
            raise LaunchError(f"{len(values)} arguments are given; the kernel has {len(infos)} parameters")
        pairs = list(zip(infos, values, strict=False))
    return {info.ptx_name: _argument(info, value) for info, value in pairs if value is not None}


def _named(infos: Sequence[ParamInfo], key: str | int) -> ParamInfo:
    for info in infos:
        if key in (info.name, info.ptx_name):
            return info
    position = int(key) if isinstance(key, int) or (key.isascii() and key.isdigit()) else -1
    if 0 <= position < len(infos):
        return infos[position]
    shown = ", ".join(info.shown for info in infos) or "none"
    raise LaunchError(f"the kernel has no parameter {str(key)[:60]!r}", hint=f"parameters: {shown}")


def _argument(info: ParamInfo, value: Any) -> Argument:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array(info, value)
    if isinstance(value, bytes | bytearray):
        if len(value) != info.size:
            raise LaunchError(f"argument {info.shown} has {info.size} bytes; {len(value)} were given")
        return Argument(info.shown, "scalar", info.dtype, bytes(value), origin=_PLACE.origin)
    if isinstance(value, np.void):
        return _argument(info, value.tobytes())
    if isinstance(value, np.generic):
        value = value.item()
    return read_argument(info, value, _PLACE)


def _array(info: ParamInfo, value: np.ndarray[Any, Any]) -> Argument:
    if info.kind != "buffer":
        raise LaunchError(f"argument {info.shown} is no pointer, but an array was given")
    if value.dtype.kind not in "biufcV" or value.dtype.hasobject:
        raise LaunchError(f"argument {info.shown}: an array of {value.dtype} is no memory")
    element = element_type(info.c_type) if info.c_type is not None else None
    if element is not None and value.dtype.kind in "iuf" and "void" not in str(info.c_type):
        wanted = 2 if element[0] == "bfloat16" else np.dtype(element[0]).itemsize
        # Bytes are raw memory whatever they hold; anything else of another width is a slip.
        if value.dtype.itemsize not in (wanted, 1):
            raise LaunchError(
                f"argument {info.shown} points to {element[0]}, but an array of {value.dtype.name} was given",
                hint=f"convert it: array.astype({element[0]!r})",
            )
    return Argument(info.shown, "buffer", value.dtype.name, value, value.size, "given", _PLACE.origin)

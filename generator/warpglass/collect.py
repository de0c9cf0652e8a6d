"""Inputs to code: read every file, recognise it by content, compile what has to be compiled.

The I/O edge of a report; everything behind it works on models.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpglass import cuda, ptx, sass
from warpglass.errors import InputError, ParseError, UsageError, WarpglassError
from warpglass.files import is_folder, read_file
from warpglass.inputs.sniff import MACHINE_CODE, Kind, decode_text, sniff, wide_encoding
from warpglass.launchsass import signature
from warpglass.launchspec import compile_archs
from warpglass.options import ReportOptions

__all__ = ["PROFILE_KINDS", "WARNING", "CodeUnit", "InputFile", "Problem", "collect", "read_inputs"]

#: Inputs that hold measurements instead of code; :mod:`warpglass.profiles` reads them.
PROFILE_KINDS = ("ncu-rep", "ncu-csv", "ncu-text")

#: Begins a problem that the user should see at once, on the terminal too.
WARNING = "warning: "
#: Larger inputs are refused: a kernel's text has kilobytes, a profiler report some hundred megabytes.
MAX_INPUT = 1 << 30
_MAX_TEXT = 64 << 20
#: Folders in ``.file`` directives say where somebody's home is; the last part says which file is meant.
_FILE_FOLDER = re.compile(r'(^\s*\.file\s+\d+\s+")[^"\n]*[/\\](?=[^"\n/\\]+")', re.M)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file as given. ``content`` is what was read; ``sha256`` its hash in hexadecimal."""

    index: int
    path: Path
    kind: Kind
    content: bytes
    sha256: str

    @property
    def name(self) -> str:
        """The last part of the path: folders are the user's business."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be done, told on the page as an assumption or a note."""

    message: str
    input: int | None = None


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """One module for one architecture, as PTX, as machine code, or both, one made from the other.

    ``module`` and ``ptx_text`` are None where there is only machine code; ``sass`` is None where there is
    none or it could not be read (``problems`` says why). ``preset`` is a launch that a compiler recorded.
    """

    input: InputFile
    arch: str
    ptx_text: str | None
    module: ptx.Module | None
    sass: sass.Module | None = None
    source: cuda.CudaSource | None = None
    compiled: cuda.Compiled | None = None
    problems: tuple[Problem, ...] = field(default=())

    @property
    def kernels(self) -> tuple[ptx.Function, ...]:
        """Every kernel with its parameters; without a body where only machine code is known."""
        if self.module is not None:
            return tuple(kernel for kernel in self.module.kernels if kernel.has_body)
        if self.sass is not None:
            return tuple(signature(f) for f in self.sass.functions if f.is_kernel)
        return ()


def read_inputs(paths: Sequence[Path]) -> tuple[InputFile, ...]:
    """Read and recognise ``paths``. Raises :class:`InputError` for a file that is unreadable or too large."""
    if not paths:
        raise UsageError("no input file", hint="warpglass report kernel.cu -o report.html")
    files = []
    for index, path in enumerate(paths):
        if is_folder(path):
            files.append(_folder(index, path))
            continue
        content = read_file(path, MAX_INPUT)
        kind = sniff(content, path.name)
        files.append(InputFile(index, path, kind, content, hashlib.sha256(content).hexdigest()))
    return tuple(files)


def _folder(index: int, path: Path) -> InputFile:
    """A compiler's cache folder: one kernel's .cubin with its .ptx and .json beside it."""
    cubins = sorted(path.glob("*.cubin"))
    if not cubins:
        raise InputError(f"{path} is a folder without a .cubin", hint="name the files in it")
    content = read_file(cubins[0], MAX_INPUT)
    return InputFile(index, path, "cubin", content, hashlib.sha256(content).hexdigest())


def collect(
    files: Sequence[InputFile], options: ReportOptions, progress: Progress | None = None
) -> tuple[CodeUnit, ...]:
    """Parse PTX inputs and compile CUDA ones, once an architecture.

    Headers (.cuh) that hold no kernel only lend their text. Raises what the first bad input raises.
    """
    say = progress or (lambda _text: None)
    units: list[CodeUnit] = []
    # Beside a profile a source is there to be shown: that it cannot be compiled here costs its execution.
    profiled = any(file.kind in PROFILE_KINDS for file in files)
    for file in files:
        if file.kind in PROFILE_KINDS:
            continue
        reader = _READERS.get(file.kind)
        if reader is None:
            raise _unreadable(file)
        try:
            units.extend(reader(file, options, say))
        except WarpglassError as error:
            if not profiled:
                raise
            told = Problem(f"{file.name} is shown but was not executed: {error.message}", file.index)
            units.append(CodeUnit(file, "unknown", None, None, problems=(told,)))
    return tuple(units)


def _is_header(file: InputFile) -> bool:
    return file.path.suffix.lower() in {".cuh", ".h", ".hpp", ".hh", ".inl"}


def _unreadable(file: InputFile) -> InputError:
    if file.kind == "unknown":
        wide = wide_encoding(file.content)
        if wide is not None:
            return InputError(f"{file.name} is {wide} text", hint="save it as UTF-8")
        return InputError(
            f"{file.name} is nothing that can be reported on",
            hint="inputs are recognised by content: CUDA source, PTX, SASS, cubin, CUTLASS header, and "
            "Nsight Compute report (a .ncu-rep starts with NVR) or export",
        )
    if file.kind == "csv":
        return InputError(
            f"{file.name} is a CSV without the profiler's header: no line starts with the column ID",
            hint="export with `ncu --csv --page details` or `--page raw`",
        )
    return InputError(f"{file.name} is recognised as {file.kind}, which a report cannot be made from yet")


def _text(file: InputFile) -> str:
    if len(file.content) > _MAX_TEXT:
        raise InputError(f"{file.name} holds more than {_MAX_TEXT >> 20} MiB of text")
    return decode_text(file.content)


def _from_ptx(file: InputFile, options: ReportOptions, say: Progress) -> list[CodeUnit]:
    say(f"parsing {file.name}")
    text = _FILE_FOLDER.sub(r"\1", _text(file))
    units = []
    for module in ptx.parse_all(text, file.name):
        arch = module.target[0] if module.target else cuda.DEFAULT_ARCH
        wanted = [cuda.check_arch(a) for a in options.arch]
        problems = _diagnosed(module, file, options.no_source)
        if wanted and arch not in wanted:
            told = f"{file.name} is PTX for {arch}; --arch {', '.join(wanted)} does not change it"
            problems = (*problems, Problem(told, file.index))
        units.append(CodeUnit(file, arch, module.text or text, module, problems=problems))
    return units


def _diagnosed(module: ptx.Module, file: InputFile, no_source: bool) -> tuple[Problem, ...]:
    """What the parser kept as text, and the functions it gave up on: their neighbours are executed."""
    errors = [
        ParseError(
            d.message,
            file=d.file,
            line=d.line,
            column=d.column,
            source_line=None if no_source else d.source_line,
        )
        for d in module.diagnostics
        if d.severity == "error"
    ]
    if errors and not any(k.has_body for k in module.kernels):
        raise errors[0]
    told = [f"{WARNING}{error}" for error in errors]
    told += [f"{d.file}:{d.line}: {d.message}" for d in module.diagnostics if d.severity != "error"]
    return tuple(Problem(text, file.index) for text in told)


def _from_cuda(file: InputFile, options: ReportOptions, say: Progress) -> list[CodeUnit]:
    source = cuda.parse(_text(file), file.name, options.defines)
    if not source.kernels and _is_header(file):
        return []
    units = []
    for arch in compile_archs(source, options, file.path.parent):
        say(f"compiling {file.name} for {arch}")
        compiled = cuda.compile(
            file.path,
            arch=arch,
            include_dirs=options.include_dirs,
            defines=options.defines,
            std=options.std,
            extra_flags=options.nvcc_flags,
            compile_commands=options.compile_commands,
        )
        module = ptx.parse(compiled.ptx, f"{file.path.stem}.ptx")
        machine_code, problems = _disassembled(compiled, file)
        units.append(
            CodeUnit(file, compiled.arch, compiled.ptx, module, machine_code, source, compiled, problems)
        )
    return units


def _disassembled(compiled: cuda.Compiled, file: InputFile) -> tuple[sass.Module | None, tuple[Problem, ...]]:
    """The machine code of a compilation; a missing disassembler costs its pane, not the report."""
    if compiled.cubin is None:
        return None, ()
    try:
        loaded = sass.load(compiled.cubin, name=f"{file.path.stem}.{compiled.arch}.cubin")
        return sass.compact(loaded), ()
    except WarpglassError as error:
        return None, (Problem(f"no SASS for {compiled.arch}: {error.message}", file.index),)


def _from_sass(file: InputFile, options: ReportOptions, say: Progress) -> list[CodeUnit]:
    say(f"reading machine code of {file.name}")
    units = []
    for arch in options.arch or (None,):
        if is_folder(file.path):
            module = sass.load(file.path, arch=arch)
        else:
            module = sass.load(file.content, arch=arch, name=file.name)
        if file.kind != "sass":
            module = sass.compact(module)  # a listing that the user gave is shown as it is
        embedded: ptx.Module | None = None
        problems = [Problem(f"{file.name}: {text}", file.index) for text in module.missing]
        if module.ptx is not None:
            try:
                embedded = ptx.parse(module.ptx, f"{file.path.stem}.ptx")
            except WarpglassError as error:
                problems.append(
                    Problem(f"the PTX in {file.name} cannot be read: {error.message}", file.index)
                )
        name = module.arch or arch or "unknown"
        units.append(CodeUnit(file, name, module.ptx, embedded, module, problems=tuple(problems)))
    return units


def _companion(file: InputFile, options: ReportOptions, say: Progress) -> list[CodeUnit]:
    """A source that holds no kernel by itself: line tables of the other inputs lead to it."""
    return []


_READERS: dict[str, Callable[[InputFile, ReportOptions, Progress], list[CodeUnit]]] = {
    "ptx": _from_ptx,
    "cuda": _from_cuda,
    "python": _companion,
    **dict.fromkeys(MACHINE_CODE, _from_sass),
}

"""Compile CUDA to PTX and cubin, once, so that -lineinfo links source, PTX and SASS to each other.

nvcc makes PTX from a copy of the source in a scratch folder; folder prefixes and path hashes are taken
out of it; the cubin is assembled from exactly that text. Two folders hence give the same bytes.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpglass.cuda.advisories import parse_ptxas, parse_warnings
from warpglass.cuda.blank import blank_for_retry
from warpglass.cuda.commands import flags_from_commands
from warpglass.cuda.model import Compiled, ToolUse
from warpglass.cuda.normalise import SOURCE_LINK, normalise_output, normalise_ptx, stamp_files
from warpglass.cuda.parse import read_source
from warpglass.errors import CompileError, UsageError
from warpglass.inputs.process import ToolResult, run_tool
from warpglass.inputs.toolchain import Tool, require_tool, tool_version

__all__ = ["DEFAULT_ARCH", "assemble", "check_arch", "compile"]

#: What a source without a target of its own is compiled for.
DEFAULT_ARCH = "sm_80"

_ARCH = re.compile(r"(?:sm|compute)_(\d{2,3}[af]?)")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,120}")
_MISSING_HEADER = re.compile(r"fatal error: (\S+): No such file or directory")
#: Flags of nvcc that only allow more of the language; its messages name the one that a source needs.
_ALLOWING = {
    "extended-lambda": re.compile(r"\bextended-lambda\b"),
    "expt-relaxed-constexpr": re.compile(r"\bexpt-relaxed-constexpr\b"),
}
_TIMEOUT = 300.0
#: Compilations of one source: each takes a header or some host code away, where that may help.
_MOST_TRIES = 16


def check_arch(arch: str) -> str:
    """``sm_90a`` from ``sm_90a`` or ``compute_90a``; raises :class:`UsageError` for other texts."""
    match = _ARCH.fullmatch(arch.strip().lower())
    if match is None:
        raise UsageError(f"no architecture: {arch[:40]!r}", hint="--arch sm_80, sm_90a, sm_120 or native")
    return f"sm_{match.group(1)}"


def compile(
    source: Path | str,
    arch: str = DEFAULT_ARCH,
    include_dirs: Sequence[Path | str] = (),
    defines: Sequence[str] = (),
    std: str | None = None,
    extra_flags: Sequence[str] = (),
    compile_commands: Path | None = None,
    timeout: float = _TIMEOUT,
) -> Compiled:
    """Compile the file ``source`` for one ``arch`` with -lineinfo.

    ``include_dirs`` are relative to the current folder; ``extra_flags`` go to nvcc as they are;
    ``compile_commands`` names a compile_commands.json whose entry for this file adds its includes,
    defines, standard and code-generation flags; ``timeout`` (seconds) holds for each program. Where only
    host code or its headers fail, these are blanked with lines kept and the result says so.

    Raises :class:`CompileError` with nvcc's own lines, :class:`ToolchainError` where nvcc is missing or
    stopped, :class:`InputError` where the source cannot be read.
    """
    path = Path(source)
    arch = check_arch(arch)
    content = read_source(path)
    nvcc = require_tool("nvcc")
    found = flags_from_commands(compile_commands, path) if compile_commands else None
    includes = [Path(entry) for entry in include_dirs]
    flags: list[str] = []
    if found is not None:
        includes += found.include_dirs
        # A forced header is named within a linked folder of its own, so that no absolute path shows.
        includes += [header.parent for header in found.forced]
        flags += [part for header in found.forced for part in ("-include", header.name)]
        flags += [*found.flags, *(f"-D{item}" for item in found.defines)]
        std = std or found.std
    flags += [f"-D{item}" for item in defines]
    if std:
        flags.append(f"-std={std.removeprefix('-std=')}")
    flags += list(extra_flags)
    with tempfile.TemporaryDirectory(prefix="warpglass-") as scratch:
        job = _prepare(Path(scratch).resolve(), path, includes, nvcc, arch, tuple(flags), timeout)
        return _compile_in(job, content)


@dataclass(frozen=True, slots=True)
class _Job:
    """One compilation in its scratch ``folder``; ``roots`` maps links in it to what they stand for."""

    folder: Path
    source: str
    roots: dict[str, Path]
    nvcc: Tool
    arch: str
    flags: tuple[str, ...]
    timeout: float

    def run(self, *args: str) -> ToolResult:
        common = (f"-arch={self.arch}", "-lineinfo", *self.flags)
        return run_tool([self.nvcc.path, *common, *args], cwd=self.folder, timeout=self.timeout)

    def messages(self, result: ToolResult) -> str:
        return normalise_output(result.error_text + result.text, self.folder, self.source)


def _prepare(
    folder: Path,
    path: Path,
    includes: list[Path],
    nvcc: Tool,
    arch: str,
    flags: tuple[str, ...],
    timeout: float,
) -> _Job:
    """Links under fixed names make every path that nvcc sees relative, whatever folder the source is in."""
    name = path.name if _SAFE_NAME.fullmatch(path.name) else "source.cu"
    roots = {SOURCE_LINK: path.resolve().parent}
    (folder / SOURCE_LINK).symlink_to(roots[SOURCE_LINK])
    include_flags: list[str] = []
    for directory in includes:
        base = directory.name if _SAFE_NAME.fullmatch(directory.name) else "include"
        link = base
        while link in roots or link == name:
            link = f"{base}-{len(roots)}"
        roots[link] = directory.resolve()
        (folder / link).symlink_to(roots[link])
        include_flags.append(f"-I{link}")
    # -iquote, as the compiler would look beside the source for "header.h" but not for <header.h>.
    quoted = ("-Xcompiler", f"-iquote,{SOURCE_LINK}")
    return _Job(folder, name, roots, nvcc, arch, (*include_flags, *quoted, *flags), timeout)


def _compile_in(job: _Job, content: bytes) -> Compiled:
    result = _to_ptx(job, content)
    notes: tuple[str, ...] = ()
    blanked = False
    for _ in _ALLOWING:  # one flag may bring the error that names the other
        asked = _asked_flags(job, result)
        if not asked:
            break
        job = replace(job, flags=(*job.flags, *asked))
        notes = (*notes, f"compiled with {' '.join(asked)}, as nvcc asks for")
        result = _to_ptx(job, content)
    if result.returncode != 0:
        retry = _retry(job, content, result)
        if retry is None:
            raise _refused(job, result)
        result, more = retry
        notes = (*notes, *more)
        blanked = True
    ptx_path = job.folder / "kernel.ptx"
    raw = ptx_path.read_bytes().decode("utf-8", "replace")
    ptx, files = normalise_ptx(raw, job.folder, job.source, job.roots)
    ptx_path.write_text(stamp_files(ptx), encoding="utf-8")
    assembled = job.run("-Xptxas", "-v", "-cubin", "-o", "kernel.cubin", "kernel.ptx")
    output = job.messages(assembled)
    facts, advisories = parse_ptxas(output)
    good = assembled.returncode == 0
    # The scratch folder's own links are no choice of the user; they are shown as the plain flags meant.
    shown = tuple(flag for flag in job.flags if flag not in ("-Xcompiler", f"-iquote,{SOURCE_LINK}"))
    return Compiled(
        arch=job.arch,
        ptx=ptx,
        cubin=(job.folder / "kernel.cubin").read_bytes() if good else None,
        facts=facts,
        warnings=parse_warnings(job.messages(result)),
        advisories=advisories,
        tools=(ToolUse("nvcc", tool_version(job.nvcc), (f"-arch={job.arch}", "-lineinfo", *shown)),),
        retried_host_blanked=blanked,
        assembler_error=None if good else _clipped(output),
        notes=notes,
        files=files,
    )


def _to_ptx(job: _Job, content: bytes) -> ToolResult:
    (job.folder / job.source).write_bytes(content)
    return job.run("-x", "cu", "-ptx", "-o", "kernel.ptx", job.source)


def _asked_flags(job: _Job, failed: ToolResult) -> tuple[str, ...]:
    """Flags that the errors of a failed compilation name and that it did not have."""
    if failed.returncode == 0:
        return ()
    output = job.messages(failed)
    return tuple(
        f"--{name}"
        for name, named in _ALLOWING.items()
        if named.search(output) and not any(name in flag for flag in job.flags)
    )


def _retry(job: _Job, content: bytes, failed: ToolResult) -> tuple[ToolResult, tuple[str, ...]] | None:
    """Blank host bodies, and headers that are not there, until it compiles; None where that cannot help."""
    current, notes = content, dict[str, None]()
    result = failed
    tries = 0
    for _ in range(_MOST_TRIES):
        output = job.messages(result)
        tries += not _MISSING_HEADER.search(output)
        changed = blank_for_retry(current, job.source, output, everything=tries > 6)
        if changed is None:
            return None
        current = changed.content
        notes.update(dict.fromkeys(changed.notes))
        result = _to_ptx(job, current)
        if result.returncode == 0:
            return result, tuple(notes)
    return None


def _refused(job: _Job, result: ToolResult) -> CompileError:
    output = job.messages(result)
    missing = _MISSING_HEADER.search(output)
    hint = None
    if missing:
        hint = f"name the folder of {missing.group(1)} with -I, or the build's --compile-commands"
    elif "separate compilation mode" in output:
        hint = "a kernel that launches kernels needs --nvcc-flag=-rdc=true"
    elif "Unsupported gpu architecture" in output:
        version = tool_version(job.nvcc) or "unknown version"
        hint = f"this nvcc ({version}) lists what it knows with `nvcc --list-gpu-arch`"
    elif "gcc: not found" in output or "Failed to preprocess host compiler" in output:
        hint = "nvcc needs a host compiler: install g++ or name one with --nvcc-flag=-ccbin=…"
    return CompileError(f"{job.source} does not compile for {job.arch}", output=_clipped(output), hint=hint)


def _clipped(output: str, lines: int = 60) -> str:
    kept = output.splitlines()
    if len(kept) <= lines:
        return output
    return "\n".join([*kept[:lines], f"… {len(kept) - lines} more lines"])


def assemble(ptx: str, arch: str, extra_flags: Sequence[str] = (), timeout: float = _TIMEOUT) -> Compiled:
    """Assemble a PTX text as it stands with ptxas for ``arch``; ``extra_flags`` go to ptxas.

    Raises :class:`CompileError` with ptxas' own lines, :class:`ToolchainError` where it is missing.
    """
    arch = check_arch(arch)
    ptxas = require_tool("ptxas")
    flags = (f"-arch={arch}", "-v", "--generate-line-info", *extra_flags)
    with tempfile.TemporaryDirectory(prefix="warpglass-") as scratch:
        folder = Path(scratch).resolve()
        (folder / "kernel.ptx").write_text(stamp_files(ptx), encoding="utf-8")
        result = run_tool(
            [ptxas.path, *flags, "-o", "kernel.cubin", "kernel.ptx"], cwd=folder, timeout=timeout
        )
        output = normalise_output(result.error_text + result.text, folder, "kernel.ptx")
        if result.returncode != 0:
            raise CompileError(f"ptxas does not assemble this PTX for {arch}", output=_clipped(output))
        cubin = (folder / "kernel.cubin").read_bytes()
    facts, advisories = parse_ptxas(output)
    use = ToolUse("ptxas", tool_version(ptxas), flags)
    return Compiled(arch, ptx, cubin, facts, parse_warnings(output), advisories, (use,))

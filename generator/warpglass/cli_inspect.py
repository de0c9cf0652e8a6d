"""``list``, ``parse``, ``examples`` and ``doctor``: look at a file, the examples, the tools."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpglass import __version__
from warpglass.cli_console import Shell, outputs, write_json
from warpglass.errors import InputError, ToolchainError, UsageError, WarpglassError
from warpglass.files import is_folder, read_file, read_head, refuse_inputs
from warpglass.inputs.demangle import demangled
from warpglass.inputs.devices import find_devices
from warpglass.inputs.sniff import MACHINE_CODE, Kind, decode_text, sniff
from warpglass.inputs.toolchain import find_tools, tool_version
from warpglass.jsonable import to_jsonable
from warpglass.options import ReportOptions
from warpglass.resources import resource_dir

if TYPE_CHECKING:
    from warpglass.ncu import Report

__all__ = ["list_file", "parse_file", "show_doctor", "show_examples"]

_PROFILES = ("ncu-rep", "ncu-csv", "ncu-text")
_LARGEST_TEXT = 256 << 20


@dataclass(frozen=True, slots=True)
class ListedKernel:
    """One row of ``list``. Numbers are None where nothing here tells them."""

    kernel: str
    name: str
    arch: str | None
    registers: int | None
    shared_bytes: int | None
    line: int | None


def read_kind(path: Path) -> Kind:
    """The kind of a file; raises :class:`InputError` where it cannot be read."""
    if is_folder(path):
        # Triton's cache keeps the parts of a kernel in a folder.
        if any(path.glob("*.cubin")) or any(path.glob("*.ptx")):
            return "cubin"
        raise InputError(f"{path} is a folder without a kernel")
    return sniff(read_head(path, 1 << 20), path.name)


def list_file(path: Path, options: ReportOptions, json: str | None, shell: Shell) -> int:
    """Kernels, architectures and registers of a file."""
    kind = read_kind(path)
    reader = _LISTERS.get(kind)
    if reader is None:
        raise InputError(f"{path.name} is {kind}: it lists no kernels")
    refuse_inputs(outputs(json), [path, *options.files()])
    with shell.working("list"):
        rows, notes = reader(path, options)
    if json is not None:
        write_json({"file": path.name, "kind": kind, "kernels": to_jsonable(rows), "notes": notes}, json)
    if json != "-":
        cells = [
            [row.kernel, *(_known(item) for item in (row.arch, row.registers, row.shared_bytes, row.line))]
            for row in rows
        ]
        shell.table(("kernel", "arch", "registers", "shared", "line"), cells)
    for note in notes:
        shell.note(note)
    return 0


def _known(value: object) -> str:
    return "unknown" if value is None else str(value)


def _list_cuda(path: Path, options: ReportOptions) -> tuple[list[ListedKernel], list[str]]:
    from warpglass import cuda, ptx
    from warpglass.launchparams import source_kernel
    from warpglass.launchspec import compile_archs

    source = cuda.load(path, options.defines)
    archs = compile_archs(source, options, path.parent)
    rows: list[ListedKernel] = []
    notes = list(source.notes)
    for arch in archs:
        try:
            compiled = cuda.compile(
                path, arch, options.include_dirs, options.defines, options.std, options.nvcc_flags,
                options.compile_commands,
            )  # fmt: skip
        except ToolchainError as error:
            notes.append(f"not compiled: {error.message}")
            rows = [ListedKernel(k.qualified, k.name, None, None, None, k.line) for k in source.kernels]
            return rows, notes
        notes += [*compiled.notes, *compiled.advisories]
        for function in ptx.parse(compiled.ptx).kernels:
            facts = compiled.facts.get(function.name)
            written = source_kernel(function, source)
            rows.append(
                ListedKernel(
                    demangled(function.name).full,
                    function.name,
                    arch,
                    facts.registers if facts else None,
                    facts.static_shared if facts else None,
                    written.line if written else None,
                )
            )
    return rows, notes


def _list_ptx(path: Path, options: ReportOptions) -> tuple[list[ListedKernel], list[str]]:
    from warpglass import cuda, ptx

    module = ptx.load(path)
    archs = options.arch or tuple(target for target in module.target if target.startswith("sm_"))[:1]
    notes = [f"{d.file}:{d.line}: {d.message}" for d in module.diagnostics]
    rows: list[ListedKernel] = []
    for arch in archs or ("",):
        facts: Mapping[str, cuda.KernelFacts] = {}
        if arch and module.kernels:
            try:
                facts = cuda.assemble(module.text, arch).facts
            except WarpglassError as error:
                notes.append(f"registers unknown: {error.message}")
        for function in module.kernels:
            known = facts.get(function.name)
            rows.append(
                ListedKernel(
                    demangled(function.name).full,
                    function.name,
                    arch or None,
                    known.registers if known else None,
                    known.static_shared if known else None,
                    function.line,
                )
            )
    return rows, notes


def _list_binary(path: Path, options: ReportOptions) -> tuple[list[ListedKernel], list[str]]:
    from warpglass import sass

    rows: list[ListedKernel] = []
    notes: list[str] = []
    for arch in options.arch or (None,):
        module = sass.load(path, arch=arch, kernel=options.kernel)
        rows += [
            ListedKernel(
                demangled(function.name).full,
                function.name,
                function.arch,
                function.registers,
                function.shared,
                function.line or None,
            )
            for function in module.functions
            if function.is_kernel
        ]
        notes += [item.message for item in module.diagnostics]
    return rows, notes


def _load_profile(kind: Kind, path: Path) -> Report:
    """A profiler report in whichever of its three forms."""
    from warpglass import ncu
    from warpglass.ncu.details_text import parse_details_text
    from warpglass.ncu.exports import parse_csv

    if kind == "ncu-rep":
        return ncu.load(path)
    text = decode_text(read_file(path, _LARGEST_TEXT))
    return parse_csv(text, path.name) if kind == "ncu-csv" else parse_details_text(text, path.name)


def _list_ncu(path: Path, options: ReportOptions) -> tuple[list[ListedKernel], list[str]]:
    rows = []
    for launch in _load_profile(read_kind(path), path).launches:
        major = launch.number("device__attribute_compute_capability_major")
        minor = launch.number("device__attribute_compute_capability_minor")
        arch = None if major is None or minor is None else f"sm_{major:.0f}{minor:.0f}"
        registers = launch.number("launch__registers_per_thread")
        shared = launch.number("launch__shared_mem_per_block_static")
        rows.append(
            ListedKernel(
                launch.name,
                launch.mangled,
                arch,
                None if registers is None else int(registers),
                None if shared is None else int(shared),
                None,
            )
        )
    return rows, []


_Lister = Callable[[Path, ReportOptions], tuple[list[ListedKernel], list[str]]]
_LISTERS: Mapping[str, _Lister] = {
    "cuda": _list_cuda,
    "ptx": _list_ptx,
    **dict.fromkeys(_PROFILES, _list_ncu),
    **dict.fromkeys(MACHINE_CODE, _list_binary),
}


def parse_file(path: Path, json: str | None, shell: Shell) -> int:
    """The parsed model of a file, as JSON."""
    kind = read_kind(path)
    refuse_inputs(outputs(json), [path])
    with shell.working("parse"):
        model = _load_model(kind, path)
        value = {"file": path.name, "kind": kind, "model": to_jsonable(model)}
    write_json(value, json or "-")
    return 0


def _load_model(kind: Kind, path: Path) -> Any:
    if kind == "cuda":
        from warpglass import cuda

        return cuda.load(path)
    if kind == "ptx":
        from warpglass import ptx

        return ptx.load(path)
    if kind in MACHINE_CODE:
        from warpglass import sass

        return sass.load(path)
    if kind in _PROFILES:
        return _load_profile(kind, path)
    if kind == "report-json":
        from warpglass.report.model import Report

        return Report.load(path).data
    raise InputError(f"{path.name} is {kind}: there is no parser for it")


def show_examples(name: str | None, output: Path | None, json: str | None, shell: Shell) -> int:
    """List the examples, or copy the one called ``name`` (or ``all``)."""
    folder = resource_dir("examples")
    known = sorted(child.name for child in folder.iterdir() if child.is_dir() and any(child.glob("*.cu")))
    if name is None:
        rows = [{"name": item, "shows": _first_sentence(folder / item)} for item in known]
        if json is not None:
            write_json({"examples": rows}, json)
        if json != "-":
            shell.table(("", ""), [[row["name"], row["shows"]] for row in rows])
        return 0
    if name != "all" and name not in known:
        raise UsageError(f"no example is called {name[:60]!r}", hint=f"there are {', '.join(known)}, and all")
    for item in known if name == "all" else [name]:
        target = (output or Path(".")) / item
        if target.exists():
            raise UsageError(f"{target} is there already", hint="choose another folder with -o")
        try:
            shutil.copytree(folder / item, target)
        except OSError as error:
            raise UsageError(f"cannot write {target}: {error.strerror or error}") from error
        shell.say(f"{target}")
    return 0


def _first_sentence(folder: Path) -> str:
    """What the comment at the top of an example's kernel says first."""
    for path in sorted(folder.glob("*.cu")):
        lines = path.read_text("utf-8", "replace").splitlines()
        words: list[str] = []
        for line in lines:
            comment = re.match(r"//\s?(?!\s*warpglass:)(.*)", line)
            if comment:
                words.append(comment.group(1).strip())
            elif words:
                break
        text = " ".join(words)
        return re.split(r"(?<=\.)\s|:\s", text, maxsplit=1)[0].rstrip(".:")
    return ""


def show_doctor(json: str | None, shell: Shell) -> int:
    """Tools with their places and versions, the host compiler, and the GPUs."""
    tools: list[tuple[str, dict[str, str | None] | None]] = []
    for name, tool in find_tools().items():
        version = tool_version(tool) if tool is not None else None
        found = None if tool is None else {"path": str(tool.path), "from": tool.origin, "version": version}
        tools.append((name, found))
    compiler = shutil.which("g++") or shutil.which("c++")
    devices = [{**_device(device)} for device in find_devices()]
    value = {
        "warpglass": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "tools": [{"name": name, "found": found} for name, found in tools],
        "host_compiler": compiler,
        "gpus": devices,
    }
    if json is not None:
        write_json(value, json)
    if json == "-":
        return 0
    shell.out.print(f"warpglass {__version__}, Python {value['python']}, {value['system']}", markup=False)
    rows: list[list[str]] = []
    for name, found in tools:
        if found is not None:
            rows.append([name, found["version"] or "does not run", found["from"] or "", found["path"] or ""])
        else:
            rows.append([name, "missing", "", "pip install 'warpglass[cuda]'"])
    rows.append(["g++", "found" if compiler else "missing", "PATH" if compiler else "", compiler or ""])
    shell.table(("tool", "version", "found by", "path"), rows)
    if not devices:
        shell.out.print("no GPU found (none is needed)", markup=False)
    for device in devices:
        shell.out.print(
            f"GPU {device['index']}: {device['name']}, compute capability "
            f"{device['compute_capability'] or 'unknown'}, {device['uuid']}",
            markup=False,
        )
    return 0


def _device(device: Any) -> dict[str, Any]:
    return {
        "index": device.index,
        "uuid": device.uuid,
        "name": device.name,
        "compute_capability": device.compute_capability,
    }

"""The one door that reads files with machine code: listings, cubins, containers, Triton's cache."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from warpglass.errors import InputError
from warpglass.files import is_folder, read_file
from warpglass.inputs.demangle import matches_name
from warpglass.inputs.sniff import decode_text, sniff
from warpglass.sass.disassemble import disassemble, extract
from warpglass.sass.elf import Image, describe, read_image
from warpglass.sass.listing import parse
from warpglass.sass.model import Diagnostic, Function, LaunchPreset, Member, Module, ToolInfo

__all__ = ["load"]

_MAX_FILE = 1 << 30
_MAX_METADATA = 4 << 20
_CONTAINERS = {"fatbin": "fatbin", "elf-object": "object", "elf-shared": "executable",
               "elf-executable": "executable", "archive": "object"}  # fmt: skip


def load(
    source: str | Path | bytes, *, arch: str | None = None, kernel: str | None = None, name: str | None = None
) -> Module:
    """Machine code from a file, a Triton cache folder, or the content itself.

    ``arch`` (``sm_90a``) picks an image of a container or a part of a listing; without it the highest
    architecture is taken. ``kernel`` keeps the kernels of that name (mangled, C++ or bare, or a
    glob over mangled names), and all device functions.
    ``name`` is shown for content that is not a file. Raises :class:`~warpglass.errors.InputError` or its
    kin where there is no code or no such kernel, :class:`~warpglass.errors.ToolchainError` where a program
    is missing or too old or new for the image.
    """
    if isinstance(source, bytes):
        return _pick(_content(source, name or "<bytes>", arch), kernel)
    path = Path(source)
    if is_folder(path):
        return _pick(_triton(path, arch, kernel), kernel)
    return _pick(_content(read_file(path, _MAX_FILE), name or path.name, arch), kernel)


def _content(data: bytes, name: str, arch: str | None) -> Module:
    kind = sniff(data, name)
    if kind == "cubin" or (data[:4] == b"\x7fELF" and kind not in _CONTAINERS):
        return _cubins([(name, data)], name, arch, "cubin", ())
    if kind in _CONTAINERS:
        contained = extract(data, name)
        wanted = _members(contained.members, arch, name)
        images = [(item, content) for item, content in contained.cubins.items() if item in wanted]
        return _cubins(images, name, None, _CONTAINERS[kind], contained.members)
    if kind in ("sass", "unknown"):
        return parse(decode_text(data), name, arch=arch)
    raise InputError(f"{name}: this is {kind}, not machine code")


def _members(members: Sequence[Member], arch: str | None, name: str) -> set[str]:
    cubins = [member for member in members if member.kind == "cubin"]
    archs = sorted({member.arch or "?" for member in cubins}, key=_order)
    wanted = arch or archs[-1]
    chosen = {member.name for member in cubins if (member.arch or "?") == wanted}
    if not chosen:
        raise InputError(f"{name}: no code for {wanted}; it holds {', '.join(archs)}")
    return chosen


def _order(arch: str) -> tuple[int, str]:
    return int("".join(c for c in arch if c.isdigit()) or 0), arch


def _cubins(
    images: Sequence[tuple[str, bytes]], name: str, arch: str | None, kind: str, members: tuple[Member, ...]
) -> Module:
    """One module of one or several cubins of one architecture; their listings stand one after another."""
    read: list[Image] = []
    texts: list[str] = []
    readers: dict[ToolInfo, None] = {}
    for item, data in images:
        image = read_image(data, item)
        if arch is not None and image.arch != arch:
            raise InputError(f"{item}: the code is for {image.arch}, not for {arch}")
        if not image.functions:
            continue
        read.append(image)
        text, reader = disassemble(data, image.arch)
        texts.append(text)
        readers[reader] = None
    if not read:
        raise InputError(f"{name}: the image holds no functions")
    merged = read[0] if len(read) == 1 else _merge(read)
    module = describe(parse("\n".join(texts), name), merged)
    diagnostics = module.diagnostics
    if len(read) > 1:
        message = f"{len(read)} images for {merged.arch} read as one; variables are those of the first"
        diagnostics = (*diagnostics, Diagnostic("info", message, name, 0))
    return replace(module, kind=kind, members=members, diagnostics=diagnostics, readers=tuple(readers))


def _merge(images: Sequence[Image]) -> Image:
    functions: dict[str, Function] = {}
    for image in images:
        for key, function in image.functions.items():
            functions.setdefault(key, function)
    missing = dict.fromkeys(text for image in images for text in image.missing)
    return replace(images[0], functions=functions, missing=tuple(missing))


def _matches(name: str, wanted: str) -> bool:
    """The mangled name, the C++ name in full or bare, or a glob over the mangled name."""
    return matches_name(name, wanted) or fnmatch.fnmatchcase(name, wanted)


def _pick(module: Module, kernel: str | None) -> Module:
    if kernel is None:
        return module
    functions = tuple(
        function for function in module.functions
        if not function.is_kernel or _matches(function.name, kernel)
    )  # fmt: skip
    if not any(function.is_kernel for function in functions):
        names = ", ".join(function.name for function in module.kernels[:20])
        raise InputError(f"{module.name}: no kernel {kernel!r}; it holds {names or 'none'}")
    return replace(module, functions=functions)


def _triton(folder: Path, arch: str | None, kernel: str | None) -> Module:
    """A folder of Triton's cache: the cubin beside the metadata that says how it is launched."""
    cubins = sorted(folder.glob("*.cubin")) or sorted(folder.glob("*/*.cubin"))
    if kernel is not None and len(cubins) > 1:
        cubins = [path for path in cubins if _matches(path.stem, kernel)]
    if not cubins:
        raise InputError(f"{folder.name}: no cubin in this folder", hint="give a folder of Triton's cache")
    if len(cubins) > 1:
        names = ", ".join(sorted({path.stem for path in cubins})[:20])
        raise InputError(f"{folder.name}: several kernels: {names}", hint="choose one with --kernel")
    path = cubins[0]
    module = _content(read_file(path, _MAX_FILE), path.name, arch)
    metadata = path.with_suffix(".json")
    if not metadata.is_file():
        missing = (*module.missing, f"launch preset: no {metadata.name} beside the cubin")
        return replace(module, kind="triton", missing=missing)
    preset, problem = _preset(metadata)
    diagnostics = module.diagnostics
    if problem is not None:
        diagnostics = (*diagnostics, Diagnostic("warning", problem, metadata.name, 0))
    return replace(module, kind="triton", preset=preset, diagnostics=diagnostics)


def _preset(path: Path) -> tuple[LaunchPreset | None, str | None]:
    """Block and shared bytes: ``num_warps`` times the warp size, ``shared``; ``cluster_dims`` if larger."""
    try:
        content = json.loads(decode_text(read_file(path, _MAX_METADATA)))
    except (ValueError, RecursionError):
        return None, "the metadata is not JSON; block and shared bytes are not known"
    if not isinstance(content, dict):
        return None, "the metadata is not an object; block and shared bytes are not known"
    target = content.get("target")
    size = target.get("warp_size", 32) if isinstance(target, dict) else 32
    warps, shared, cluster = content.get("num_warps"), content.get("shared"), content.get("cluster_dims")
    block = None
    if isinstance(warps, int) and isinstance(size, int) and 0 < warps * size <= 1024:
        block = (warps * size, 1, 1)
    dims = None
    if isinstance(cluster, list) and len(cluster) == 3 and all(isinstance(n, int) and n > 0 for n in cluster):
        dims = (cluster[0], cluster[1], cluster[2])
    bytes_ = shared if isinstance(shared, int) and not isinstance(shared, bool) and shared >= 0 else None
    problem = None if block is not None and bytes_ is not None else "the metadata lacks num_warps or shared"
    return LaunchPreset(block, bytes_, dims, path.name), problem

"""From images to listings: the calls of nvdisasm and cuobjdump, and what to say where they refuse."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpglass.errors import InputError, ToolchainError
from warpglass.inputs.process import ToolResult, run_tool
from warpglass.inputs.toolchain import Tool, find_tool, require_tool, tool_version
from warpglass.sass.model import Member, ToolInfo

__all__ = ["Contained", "disassemble", "extract"]

_MIB = 1 << 20
#: The first toolkit whose nvdisasm reads an architecture, by the release notes of the toolkits.
_FIRST_TOOLKIT: Mapping[int, str] = {
    80: "11.0", 86: "11.1", 87: "11.4", 88: "13.0", 89: "11.8", 90: "11.8",
    100: "12.8", 101: "12.8", 103: "12.9", 110: "13.0", 120: "12.8", 121: "12.9",
}  # fmt: skip
_LISTED = re.compile(r"^(ELF|PTX) file\s+\d+:\s*(\S+)\s*$", re.MULTILINE)
_MEMBER_ARCH = re.compile(r"\.(sm_\d{2,3}[af]?)\.(?:cubin|ptx)$")


@dataclass(frozen=True, slots=True)
class Contained:
    """The images of a container: all members, and the content of the extracted cubins by name."""

    members: tuple[Member, ...]
    cubins: Mapping[str, bytes]


def _number(arch: str) -> int:
    return int("".join(c for c in arch if c.isdigit()) or 0)


def _refusal(tool: Tool, result: ToolResult, arch: str) -> ToolchainError:
    """Why the tool does not read the image, in its own words, and which version would."""
    words = " ".join(line.strip() for line in result.error_text.splitlines() if line.strip())[:300]
    version = tool_version(tool) or "of unknown version"
    number = _number(arch)
    hint = None
    first = _FIRST_TOOLKIT.get(number)
    if "deprecated" in words or "no longer" in words or number < 75:
        hint = "install nvdisasm of the release that the message names, or CUDA 12.9, and put it on PATH"
    elif first is not None and _older(version, first):
        hint = f"{arch} needs nvdisasm {first} or newer"
    elif number > max(_FIRST_TOOLKIT):
        hint = f"{arch} is newer than {tool.name} {version} knows; install a newer toolkit"
    message = f"{tool.name} {version} does not read this {arch} image: {words or 'no reason given'}"
    return ToolchainError(message, hint=hint)


def _older(version: str, wanted: str) -> bool:
    def numbers(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())

    return bool(numbers(version)) and numbers(version) < numbers(wanted)


def disassemble(data: bytes, arch: str, *, timeout: float = 120.0) -> tuple[str, ToolInfo]:
    """The listing of one cubin, with encodings, and what printed it: nvdisasm where it is installed, else
    cuobjdump.

    Raises :class:`~warpglass.errors.ToolchainError` where neither is there, or where the tool refuses the
    image: the message then says which version reads it.
    """
    tools = [tool for tool in (find_tool("nvdisasm"), find_tool("cuobjdump")) if tool is not None]
    refusal: ToolchainError | None = None
    with tempfile.TemporaryDirectory(prefix="warpglass-") as folder:
        path = Path(folder) / "image.cubin"
        path.write_bytes(data)
        for tool in tools or [require_tool("nvdisasm")]:
            options = ["-c", "-hex"] if tool.name == "nvdisasm" else ["-sass"]
            result = run_tool([tool.path, *options, path.name], timeout=timeout, cwd=Path(folder))
            if result.returncode == 0:
                return result.text, ToolInfo(tool.name, tool_version(tool) or "", "", tuple(options))
            # Images of some older compilers are refused by nvdisasm and read by cuobjdump.
            refusal = refusal or _refusal(tool, result, arch)
    if refusal is None:  # require_tool has raised where there is no tool
        refusal = ToolchainError(f"nothing reads this {arch} image")
    raise refusal


def extract(data: bytes, name: str, *, timeout: float = 120.0) -> Contained:
    """List the images in a fat binary, object, archive, library or executable, and unpack its cubins.

    Raises :class:`~warpglass.errors.InputError` where it holds none.
    """
    tool = require_tool("cuobjdump")
    # The suffix only names the copy; cuobjdump looks at the content.
    suffix = Path(name).suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", Path(name).suffix) else ".bin"
    with tempfile.TemporaryDirectory(prefix="warpglass-") as folder:
        root = Path(folder)
        (root / f"input{suffix}").write_bytes(data)
        unpacked = root / "unpacked"
        unpacked.mkdir()
        target = f"../input{suffix}"
        listed = run_tool([tool.path, "-lelf", target], timeout=timeout, cwd=unpacked)
        ptx = run_tool([tool.path, "-lptx", target], timeout=timeout, cwd=unpacked)
        members = tuple(
            Member(item[1], "cubin" if item[0] == "ELF" else "ptx", _member_arch(item[1]))
            for item in (*_LISTED.findall(listed.text), *_LISTED.findall(ptx.text))
        )
        if not any(member.kind == "cubin" for member in members):
            have = ", ".join(sorted({member.arch or "?" for member in members}))
            reason = f"it holds PTX only ({have})" if members else "it holds no code for a GPU"
            raise InputError(f"{name}: no SASS: {reason}", hint=_words(listed))
        run_tool([tool.path, "-xelf", "all", target], timeout=timeout, cwd=unpacked)
        cubins: dict[str, bytes] = {}
        total = 0
        for path in sorted(unpacked.iterdir()):
            if path.is_symlink() or not path.is_file() or path.suffix != ".cubin":
                continue
            total += path.stat().st_size
            if total > 512 * _MIB:
                raise InputError(f"{name}: more than 512 MiB of code inside")
            cubins[path.name] = path.read_bytes()
    if not cubins:
        raise InputError(f"{name}: cuobjdump lists code but unpacks none", hint=_words(listed))
    return Contained(members, cubins)


def _words(result: ToolResult) -> str | None:
    # The copy's place is an accident of this run.
    words = re.sub(r"'[^']*/(input[^'/]*)'", "the file", result.error_text)
    return " ".join(words.split())[:200] or None


def _member_arch(name: str) -> str | None:
    match = _MEMBER_ARCH.search(name)
    return match[1] if match else None

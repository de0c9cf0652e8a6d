"""Find nvcc, ptxas, cuobjdump and nvdisasm: on PATH, under CUDA_HOME, in the wheels, in /usr/local/cuda."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from warpglass.errors import ToolchainError
from warpglass.inputs.process import run_tool

__all__ = ["TOOLS", "Tool", "find_tool", "find_tools", "require_tool", "tool_version"]

#: The programs that the project knows how to use, with the wheel that brings each.
TOOLS: Mapping[str, str] = {
    "nvcc": "nvidia-cuda-nvcc",
    "ptxas": "nvidia-cuda-nvcc",
    "cuobjdump": "nvidia-cuda-cuobjdump",
    "nvdisasm": "nvidia-cuda-nvdisasm",
}

_VERSIONS = (re.compile(r"\bV(\d+\.\d+(?:\.\d+)*)"), re.compile(r"\brelease (\d+\.\d+)"))


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that was found. ``origin`` is ``PATH``, ``CUDA_HOME``, ``wheel`` or ``/usr/local/cuda``."""

    name: str
    path: Path
    origin: str


def find_tool(name: str, environment: Mapping[str, str] | None = None) -> Tool | None:
    """The first executable ``name`` in the order of :func:`find_tools`, or None.

    ``environment`` replaces ``os.environ`` (PATH, CUDA_HOME, CUDA_PATH).
    """
    env = os.environ if environment is None else environment
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is not None:
        return Tool(name, Path(found), "PATH")
    for folder, origin in _folders(env):
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return Tool(name, candidate, origin)
    return None


def find_tools(environment: Mapping[str, str] | None = None) -> dict[str, Tool | None]:
    """Every program of :data:`TOOLS`: PATH first, then CUDA_HOME, the wheels and /usr/local/cuda."""
    return {name: find_tool(name, environment) for name in TOOLS}


def require_tool(name: str) -> Tool:
    """As :func:`find_tool`; raises :class:`ToolchainError` that says how to get the program."""
    tool = find_tool(name)
    if tool is None:
        raise ToolchainError(
            f"{name} was not found on PATH, under CUDA_HOME or in the installed wheels",
            hint="pip install 'warpglass[cuda]', or set CUDA_HOME; `warpglass doctor` shows what is there",
        )
    return tool


def tool_version(tool: Tool) -> str | None:
    """The version that the program prints (``13.0.88``), or None where it does not run or say."""
    try:
        result = run_tool([tool.path, "--version"], timeout=20, output_limit=1 << 20)
    except ToolchainError:
        return None
    matches = [pattern.search(result.text + result.error_text) for pattern in _VERSIONS]
    return next((match.group(1) for match in matches if match is not None), None)


def _folders(env: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Folders with programs beside PATH, best first."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if env.get(variable):
            yield Path(env[variable]) / "bin", "CUDA_HOME"
    for entry in dict.fromkeys(sys.path):
        root = Path(entry) / "nvidia"
        if not entry or not root.is_dir():
            continue
        # cu13 and later unpack into one folder; the wheels of CUDA 12 into one folder each.
        merged = sorted(root.glob("cu[0-9]*"), key=lambda path: _trailing_number(path.name), reverse=True)
        for folder in [*merged, *sorted(root.glob("cuda_*"))]:
            yield folder / "bin", "wheel"
    yield Path("/usr/local/cuda/bin"), "/usr/local/cuda"


def _trailing_number(name: str) -> int:
    digits = re.search(r"(\d+)$", name)
    return int(digits.group(1)) if digits else 0

"""Print, one a line, the wheels that bring the CUDA programs this machine lacks.

A program counts as there when it is on PATH, under CUDA_HOME, or already unpacked from a wheel. Versions
come from the extra ``cuda`` in pyproject.toml, so that they stand in one place.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
import tomllib
from pathlib import Path

#: program -> the distributions that together make it work
WHEELS = {
    "nvcc": ("nvidia-cuda-nvcc", "nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-nvtx"),
    "ptxas": ("nvidia-cuda-nvcc",),
    "cuobjdump": ("nvidia-cuda-cuobjdump",),
    "nvdisasm": ("nvidia-cuda-nvdisasm",),
}


def present(program: str) -> bool:
    """Whether ``program`` can be found the way Warpglass itself looks for it."""
    if shutil.which(program):
        return True
    homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders = [Path(home) / "bin" for home in homes]
    folders.append(Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin")
    return any(os.access(folder / program, os.X_OK) for folder in folders)


def main() -> None:
    """Print the requirement strings."""
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = {
        re.split(r"[<>=!~ ;\[]", text, maxsplit=1)[0]: text
        for text in pyproject["project"]["optional-dependencies"]["cuda"]
    }
    wanted = {name: None for program in WHEELS if not present(program) for name in WHEELS[program]}
    for name in wanted:
        print(pinned[name])


if __name__ == "__main__":
    main()

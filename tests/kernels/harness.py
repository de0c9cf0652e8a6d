"""Compile a file of test kernels once and run one of its kernels."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpglass
from warpglass.inputs.toolchain import find_tool, tool_version

HERE = Path(__file__).parent
Array = np.ndarray[Any, np.dtype[Any]]


@functools.cache
def compiled(name: str, arch: str = "sm_80") -> str:
    """PTX of ``name`` in this folder, without contraction of products and sums.

    Test workers of one run share the result through a file named after the content.
    """
    tool = find_tool("nvcc")
    if tool is None:
        pytest.skip("nvcc is missing")
    source = HERE / name
    content = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.h"))) + source.read_bytes()
    digest = hashlib.sha256(content + f"{name} {arch} {tool.path} {tool_version(tool)}".encode()).hexdigest()[
        :24
    ]
    cached = Path(tempfile.gettempdir()) / f"warpglass-kernels-{os.getuid()}" / f"{digest}.ptx"
    if not cached.exists():
        cached.parent.mkdir(exist_ok=True)
        partial = cached.with_suffix(f".{os.getpid()}")
        command = [
            str(tool.path),
            f"-arch={arch}",
            "-fmad=false",
            "-lineinfo",
            "-ptx",
            "-o",
            str(partial),
            source,
        ]
        subprocess.run(command, check=True, timeout=300)
        partial.replace(cached)
    return cached.read_text(encoding="utf-8")


def launch(
    name: str,
    kernel: str,
    args: Sequence[object],
    *,
    grid: Any = 1,
    block: Any = 32,
    shared_bytes: int = 0,
    arch: str = "sm_80",
) -> Any:
    """Run ``kernel`` of the file ``name`` and return the whole result, which may be partial."""
    return warpglass.run(
        compiled(name, arch),
        kernel=kernel,
        grid=grid,
        block=block,
        shared_bytes=shared_bytes,
        args=list(args),
    )


def run(name: str, kernel: str, args: Sequence[object], **options: Any) -> list[Array]:
    """Run to the end without complaints; return the arrays of all buffers in argument order."""
    allowed = options.pop("allow", ())
    result = launch(name, kernel, args, **options)
    assert result.stopped is None, result.stopped
    serious = [f for f in result.findings if f.severity == "critical" and f.kind not in allowed]
    assert not serious, serious
    return [buffer.array for buffer in result.buffers if buffer is not None]


def random(seed: int) -> np.random.Generator:
    """The tests' own numbers, the same in every run."""
    return np.random.default_rng(seed)


def ulps(got: Array, want: Array) -> float:
    """Largest distance in units of the last place of the wanted float value (``want`` has more precision).

    Infinities and NaN must agree exactly; a zero wanted counts from the smallest normal number.
    """
    dtype = got.dtype
    want = np.asarray(want)
    with np.errstate(all="ignore"):
        target = want.astype(dtype)
    special = ~np.isfinite(target)
    assert np.array_equal(got[special], target[special], equal_nan=True), (got[special], target[special])
    info = np.finfo(dtype)
    spacing = np.spacing(np.maximum(np.abs(target[~special]), info.smallest_normal)).astype(want.dtype)
    distance = np.abs(got[~special].astype(want.dtype) - want[~special]) / spacing
    return float(distance.max()) if distance.size else 0.0

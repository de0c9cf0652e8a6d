"""What is fuzzed: a name, a function of bytes, and the seeds to start from.

A target may raise what the project raises on purpose (:class:`warpglass.errors.WarpglassError`); anything
else is a defect. Hangs and memory are watched by the runner.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpglass.errors import WarpglassError

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


def fuzz_ptx(data: bytes) -> None:
    """The PTX parser."""
    from warpglass import ptx

    ptx.parse(ptx.decode(data), "fuzz.ptx")


def fuzz_cuda(data: bytes) -> None:
    """Reading a CUDA source without compiling it."""
    from warpglass import cuda

    cuda.parse(data, "fuzz.cu")


def fuzz_sass(data: bytes) -> None:
    """Listings of machine code."""
    from warpglass import sass

    sass.parse(data.decode("utf-8", "replace"), "fuzz.sass")


def fuzz_ncu(data: bytes) -> None:
    """The profiler's container."""
    from warpglass import ncu

    ncu.parse(data, "fuzz.ncu-rep")


def fuzz_launch_file(data: bytes) -> None:
    """warpglass.toml."""
    from warpglass.launchfile import parse_launch_file

    parse_launch_file(data.decode("utf-8", "replace"))


def fuzz_report(data: bytes) -> None:
    """A report's JSON, read and written as a page."""
    from warpglass.report.model import Report

    Report.from_json(data.decode("utf-8", "replace")).to_html(charts="static")


def fuzz_inputs(data: bytes) -> None:
    """Recognising a file, and names of kernels."""
    from warpglass.inputs.demangle import demangle
    from warpglass.inputs.sniff import sniff

    sniff(data, "fuzz")
    demangle(data[:400].decode("latin-1"))


def fuzz_machine(data: bytes) -> None:
    """Executing whatever parses, within a small budget."""
    from warpglass import ptx
    from warpglass.api_run import run
    from warpglass.machine.runoptions import RunOptions

    text = ptx.decode(data)
    for kernel in ptx.parse(text).kernels[:2]:
        with contextlib.suppress(WarpglassError):
            run(
                text + "\n", kernel=kernel.name, grid=2, block=40,
                options=RunOptions(max_warp_instructions=3000, max_rounds=3000, memory_limit=64 << 20),
            )  # fmt: skip


@dataclass(frozen=True)
class Target:
    """``seeds`` are glob patterns below the repository or the folder beside it."""

    run: Callable[[bytes], None]
    seeds: tuple[str, ...]
    largest: int = 20_000

    def corpus(self) -> Iterator[bytes]:
        """The seeds' contents, cut to size."""
        for pattern in self.seeds:
            for base in (ROOT, SHARED):
                for path in sorted(base.glob(pattern))[:40]:
                    yield path.read_bytes()[: self.largest]


TARGETS = {
    "ptx": Target(fuzz_ptx, ("tests/**/*.ptx",)),
    "cuda": Target(fuzz_cuda, ("examples/*/kernel.cu", "tests/**/*.cu")),
    "sass": Target(fuzz_sass, ("tests/sass/**/*.sass", "tests/sass/**/*.txt")),
    "ncu": Target(fuzz_ncu, ("inputs/ncu/*.ncu-rep",), 400_000),
    "launch_file": Target(fuzz_launch_file, ("examples/*/warpglass.toml",)),
    "report": Target(fuzz_report, ("tests/golden/**/*.json",), 200_000),
    "inputs": Target(fuzz_inputs, ("examples/*/kernel.cu", "tests/**/*.ptx")),
    "machine": Target(fuzz_machine, ("tests/**/*.ptx",)),
}


def attempt(target: Target, data: bytes) -> None:
    """Run once; only the project's own errors pass."""
    with contextlib.suppress(WarpglassError):
        target.run(data)

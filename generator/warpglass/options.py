"""Every option of a report in one frozen object, so that the command line, Python and the JSON agree.

The command line fills it; :func:`warpglass.api.make_report` reads it; the report shows it. Values are
already typed and checked by :meth:`ReportOptions.check`; what depends on a kernel (argument texts, the
launch file) stays text here and is resolved by :mod:`warpglass.launchfile`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from warpglass.errors import UsageError

__all__ = ["CHARTS", "ISAS", "ReportOptions", "parse_block_ranges", "parse_dim3"]

Dim3 = tuple[int, int, int]

CHARTS = ("interactive", "static")
ISAS = ("auto", "ptx", "sass")
MODES = ("schedule", "graph")

#: Extents no launch may exceed, by the CUDA programming guide's table of technical specifications.
_GRID_MAX = (2**31 - 1, 65535, 65535)
_BLOCK_MAX = (1024, 1024, 64)


def parse_dim3(text: str, what: str) -> Dim3:
    """Read ``8``, ``8,4`` or ``8x4x2`` as three extents, missing ones 1.

    Raises :class:`UsageError` where a part is no positive integer or there are more than three.
    """
    parts = [part.strip() for part in text.strip().strip("()").lower().replace("x", ",").split(",")]
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{what} is not one to three positive integers: {text[:60]!r}", hint=f"{what} 16,16")
    if any(len(part) > 10 for part in parts) or any(int(part) < 1 for part in parts):
        raise UsageError(f"{what} must have extents from 1 to 2147483647, not {text[:60]!r}")
    numbers = [int(part) for part in parts] + [1, 1]
    return (numbers[0], numbers[1], numbers[2])


def check_extents(extents: Dim3, what: str) -> Dim3:
    """Return ``extents`` if CUDA can launch them as ``grid``, ``block`` or ``cluster``."""
    limits = {"grid": _GRID_MAX, "block": _BLOCK_MAX}.get(what, (16, 16, 16))
    for axis, value, limit in zip("xyz", extents, limits, strict=True):
        if not 1 <= value <= limit:
            raise UsageError(f"{what}.{axis} is {value}; CUDA allows 1 to {limit}")
    if what == "block" and extents[0] * extents[1] * extents[2] > 1024:
        raise UsageError(f"a block of {'x'.join(map(str, extents))} has more than 1024 threads")
    if what == "cluster" and extents[0] * extents[1] * extents[2] > 16:
        raise UsageError(f"a cluster of {'x'.join(map(str, extents))} has more than 16 blocks")
    return extents


def parse_block_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Read ``0``, ``0-3,7`` or ``all`` as inclusive ranges of linear block indexes.

    Raises :class:`UsageError` where a part is no index or range.
    """
    if text.strip().lower() == "all":
        return ((0, 2**63 - 1),)
    ranges = []
    for part in text.split(","):
        low, dash, high = (piece.strip() for piece in part.partition("-"))
        if not (low.isascii() and low.isdigit()) or (dash and not (high.isascii() and high.isdigit())):
            raise UsageError(f"--blocks is not a list of block indexes: {text[:60]!r}", hint="--blocks 0-3,7")
        first, last = int(low[:19]), int(high[:19]) if dash else int(low[:19])
        if last < first:
            raise UsageError(f"--blocks has an empty range: {part.strip()[:60]!r}")
        ranges.append((first, last))
    return tuple(ranges)


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is asked for. Empty tuples and None mean "the default", which the report names.

    ``grid``, ``block``, ``cluster`` and ``shared_bytes`` are the command line's; ``args`` are ``name=value``
    texts; ``blocks`` are inclusive ranges of linear indexes whose traces are kept; ``value_budget`` is in
    bytes of the page; ``max_warp_instructions`` counts warp instructions over the whole grid; ``expect``
    holds ``name=file.npy`` texts and at most one percentage of the roof (``70%``); ``time_ms`` is a time the
    user measured; ``problem`` a size as ``--problem`` takes it.
    """

    arch: tuple[str, ...] = ()
    gpu: str | None = None
    kernel: str | None = None
    grid: Dim3 | None = None
    block: Dim3 | None = None
    cluster: Dim3 | None = None
    shared_bytes: int | None = None
    args: tuple[str, ...] = ()
    launch_file: Path | None = None
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    std: str | None = None
    nvcc_flags: tuple[str, ...] = ()
    compile_commands: Path | None = None
    title: str | None = None
    notes: Path | None = None
    no_source: bool = False
    seed: int = 0
    max_warp_instructions: int = 50_000_000
    blocks: tuple[tuple[int, int], ...] = ((0, 0),)
    value_budget: int = 250_000
    expect: tuple[str, ...] = ()
    rtol: float = 1e-5
    fail_on: tuple[str, ...] = ()
    charts: str = "interactive"
    isa: str = "auto"
    time_ms: float | None = None
    problem: str | None = None
    with_session: bool = False
    kernel_layer: Path | None = None
    schedules: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    mode: str = "schedule"

    def check(self) -> ReportOptions:
        """Return self, or raise :class:`UsageError` for a value that no kernel could make meaningful."""
        for what, extents in (("grid", self.grid), ("block", self.block), ("cluster", self.cluster)):
            if extents is not None:
                check_extents(extents, what)
        if self.shared_bytes is not None and not 0 <= self.shared_bytes <= 2**31:
            raise UsageError(f"--shared-bytes is {self.shared_bytes}; it counts bytes from 0 to 2^31")
        if self.charts not in CHARTS:
            raise UsageError(f"--charts is {self.charts!r}; choose one of {', '.join(CHARTS)}")
        if self.isa not in ISAS:
            raise UsageError(f"--isa is {self.isa!r}; choose one of {', '.join(ISAS)}")
        if self.max_warp_instructions < 1:
            raise UsageError("--max-warp-instructions must be at least 1")
        if self.value_budget < 0:
            raise UsageError("--value-budget counts bytes and cannot be negative")
        if not 0 <= self.seed < 2**64:
            raise UsageError("--seed must be from 0 to 2^64-1")
        if not 0 <= self.rtol < float("inf"):
            raise UsageError("--rtol must be a number from 0")
        if self.time_ms is not None and not 0 < self.time_ms < float("inf"):
            raise UsageError("--time-ms must be a positive number of milliseconds")
        if self.mode not in MODES:
            raise UsageError(f"--mode is {self.mode!r}; choose one of {', '.join(MODES)}")
        return self

    def files(self) -> tuple[Path, ...]:
        """Every file that the options name for reading; some of them may not be files after all."""
        named = [self.launch_file, self.compile_commands, self.notes, self.kernel_layer]
        texts = [text.partition("=")[2] for text in (*self.args, *self.expect)]
        texts += [text.partition(":")[2] for text in texts] + ([self.gpu] if self.gpu else [])
        return tuple(path for path in named if path is not None) + tuple(Path(text) for text in texts if text)

    def traced_blocks(self, total: int, limit: int = 64) -> tuple[int, ...]:
        """Linear indexes to trace among ``total`` blocks, ascending, at most ``limit`` of them."""
        chosen: set[int] = set()
        for first, last in self.blocks:
            room = limit - len(chosen)
            chosen.update(range(first, min(last + 1, total, first + room)))
        return tuple(sorted(chosen))

    def blocks_note(self, total: int, kernel: str, limit: int = 64) -> str | None:
        """What to say where ``--blocks`` asks for blocks that a grid of ``total`` blocks of ``kernel`` does
        not have, or for more than ``limit`` of them; None where every block asked for is kept."""
        asked = ",".join(
            str(a) if a == b else f"{a}-{b}" for a, b in self.blocks if b >= total and b < 2**63 - 1
        )
        chosen = self.traced_blocks(total, limit)
        if asked:
            left = "" if chosen else ": no block's steps are kept"
            return f"--blocks {asked[:60]} goes beyond the {total} blocks of {kernel}, 0 to {total - 1}{left}"
        wanted = sum(min(b, total - 1) - a + 1 for a, b in self.blocks)
        if len(chosen) == limit < wanted:
            kept = f"{chosen[0]} to {chosen[-1]}"
            return f"--blocks: the steps of {limit} blocks of {kernel} are kept at most, of blocks {kept}"
        return None

    def changed(self) -> dict[str, object]:
        """Options that differ from their default, as JSON values; paths keep their last part only."""
        default = ReportOptions()
        return {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)
            if getattr(self, f.name) != getattr(default, f.name)
        }


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, tuple):
        items: Iterable[object] = value
        return [_plain(item) for item in items]
    return value

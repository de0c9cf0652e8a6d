"""Frozen models of a profiler report: launches, typed metrics, rules, sections, source."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpglass.errors import UsageError
from warpglass.ncu.nvtx import path_text

__all__ = [
    "CallFrame", "Counter", "FunctionAddress", "ImportedFile", "Instance", "Launch", "Metric", "NvtxPath",
    "Ratio", "Report", "Rule", "RuleMarker", "RuleMessage", "Session", "Source", "Throughput", "Value",
]  # fmt: skip

#: A metric's value: a number, text, or None for n/a. NaN and infinities stay floats.
Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Instance:
    """One entry of a metric's instances: ``key`` is a PC, an opcode, a timestamp or a plain index."""

    key: int | str | float | None
    value: Value


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Metric:
    """One metric of one launch, in base units (ns, byte, hz, %). ``value`` is None for n/a, never 0.

    It compares with numbers (``launch["dram__bytes_read.sum"] < 1e6``); n/a is neither more nor less than
    anything and equal to None alone. Its repr names metric, value and unit, as a failed assertion shows them.
    """

    name: str
    value: Value
    unit: str
    instances: Sequence[Instance] = ()

    def __repr__(self) -> str:
        number = self.value
        if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
            number = int(number)  # counts are stored as doubles as often as not
        shown = f"{number:,}" if isinstance(number, (int, float)) else number
        text = "n/a" if shown is None else f"{shown}{f' {self.unit}' if self.unit else ''}"
        return f"{self.name} = {text}"

    def __float__(self) -> float:
        if self.number is None:
            raise ValueError(f"{self!r} is no finite number")
        return self.number

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Metric):
            return (self.name, self.value, self.unit, tuple(self.instances)) == (
                other.name, other.value, other.unit, tuple(other.instances)
            )  # fmt: skip
        return self.value == other

    def __hash__(self) -> int:
        return hash((self.name, self.unit))

    def _ordered(self, other: object) -> tuple[float, float] | None:
        theirs = other.number if isinstance(other, Metric) else other
        if self.number is None or not isinstance(theirs, (int, float)):
            return None
        return self.number, float(theirs)

    def __lt__(self, other: object) -> bool:
        pair = self._ordered(other)
        return pair is not None and pair[0] < pair[1]

    def __le__(self, other: object) -> bool:
        pair = self._ordered(other)
        return pair is not None and pair[0] <= pair[1]

    def __gt__(self, other: object) -> bool:
        pair = self._ordered(other)
        return pair is not None and pair[0] > pair[1]

    def __ge__(self, other: object) -> bool:
        pair = self._ordered(other)
        return pair is not None and pair[0] >= pair[1]

    @property
    def base(self) -> str:
        """The name without its roll-up and sub-metric (``dram__bytes`` of ``dram__bytes.sum.per_second``)."""
        return self.name.split(".", 1)[0]

    @property
    def number(self) -> float | None:
        """The value as a finite number, else None."""
        if isinstance(self.value, (int, float)) and math.isfinite(self.value):
            return float(self.value)
        return None


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter with its four roll-ups, each a map from sub-metric (``""``, ``per_second`` …) to metric."""

    name: str
    sum: Mapping[str, Metric]
    avg: Mapping[str, Metric]
    min: Mapping[str, Metric]
    max: Mapping[str, Metric]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio: ``pct``, ``ratio`` and ``max_rate`` as far as collected."""

    name: str
    pct: Metric | None
    ratio: Metric | None
    max_rate: Metric | None


@dataclass(frozen=True, slots=True)
class Throughput:
    """A throughput (``…__throughput``): metrics by roll-up and sub-metric, and what it breaks down to."""

    name: str
    metrics: Mapping[str, Metric]
    breakdown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleMarker:
    """A place a rule points at: a PC (SASS) or a file and line."""

    kind: str
    pc: int | None
    file: str | None
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class RuleMessage:
    """One message of a rule. ``speedup`` is the estimated gain in percent, ``scope`` local or global."""

    severity: str  # "none", "ok", "info", "warning", "error", "optimization"
    title: str
    text: str
    speedup: float | None
    scope: str | None
    focus: tuple[tuple[str, float | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's result for a launch."""

    identifier: str
    name: str
    section: str
    messages: tuple[RuleMessage, ...]
    markers: tuple[RuleMarker, ...] = ()

    @property
    def speedup(self) -> float | None:
        """The largest estimated gain of its messages, in percent."""
        gains = [m.speedup for m in self.messages if m.speedup is not None]
        return max(gains, default=None)


@dataclass(frozen=True, slots=True)
class CallFrame:
    """One frame of the host's call stack, innermost first."""

    function: str
    module: str
    line: int | None


@dataclass(frozen=True, slots=True)
class NvtxPath:
    """The NVTX ranges a launch lies in: ``domain@outer/inner``, push/pop ranges outermost first.

    As text, a backslash stands before a slash, ``@`` or ``*`` that belongs to a name.
    """

    domain: str
    ranges: tuple[str, ...]

    def __str__(self) -> str:
        return path_text(self.domain, self.ranges)


@dataclass(frozen=True, slots=True)
class FunctionAddress:
    """Load address of a function of a cubin."""

    name: str
    address: int


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A source file stored in the report."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A module's code: cubin bytes (empty where none), architecture, load addresses, imported files."""

    reference: int
    cubin: bytes
    arch: str | None
    functions: tuple[FunctionAddress, ...]
    files: tuple[ImportedFile, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """Session details. Everything here is private by default: the page shows it only when asked."""

    created: int | None
    host: str | None
    os: str | None
    executable: str | None
    arguments: str | None
    working_directory: str | None
    environment: str | None
    command_line: str | None
    versions: Mapping[str, str]
    devices: Mapping[int, Mapping[str, Value]]


@dataclass(frozen=True, slots=True, repr=False)
class Launch:
    """One profiled launch. ``metrics`` maps full metric names to metrics; the last of equal names wins."""

    index: int
    mangled: str
    function: str
    demangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    context: int
    stream: int
    thread: int
    process: int | None
    metrics: Mapping[str, Metric]
    rules: tuple[Rule, ...]
    nvtx: tuple[NvtxPath, ...]
    call_stack: tuple[CallFrame, ...]
    source_reference: int | None
    sections: tuple[object, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The demangled name, else the function name."""
        return self.demangled or self.function or self.mangled

    def __repr__(self) -> str:
        shape = f"({'x'.join(map(str, self.grid))})x({'x'.join(map(str, self.block))})"
        return f"<launch #{self.index} {self.name[:120]} {shape}, {len(self.metrics)} metrics>"

    def __getitem__(self, name: str) -> Metric:
        """A metric by its full name. Raises :class:`UsageError` that names similar ones."""
        if name not in self.metrics:
            near = difflib.get_close_matches(name, self.metrics, 3, 0.6)
            hint = f"there is {', '.join(near)}" if near else "`.matching(pattern)` lists what was collected"
            raise UsageError(f"launch #{self.index} has no metric {name!r}", hint=hint)
        return self.metrics[name]

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def typed(self, base: str) -> Counter | Ratio | Throughput | None:
        """The counter, ratio or throughput called ``base``, None where nothing of it was collected."""
        from warpglass.ncu.names import counter, ratio, throughput

        if base.endswith("throughput"):
            return throughput(self.metrics, base)
        return counter(self.metrics, base) or ratio(self.metrics, base)

    def derive(self, text: str) -> float | None:
        """The value of ``name=expression`` or an expression over metrics; None where one is n/a."""
        from warpglass.ncu.derive import derive

        return derive(text if "=" in text else f"value={text}", self.number)

    def get(self, name: str) -> Value:
        """A metric's value, None where it was not collected or is n/a."""
        metric = self.metrics.get(name)
        return metric.value if metric is not None else None

    def number(self, name: str) -> float | None:
        """A metric's finite number, else None."""
        metric = self.metrics.get(name)
        return metric.number if metric is not None else None

    def matching(self, pattern: str) -> Iterator[Metric]:
        """Metrics whose name the regular expression finds, in name order."""
        expression = re.compile(pattern)
        return (self.metrics[name] for name in sorted(self.metrics) if expression.search(name))


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """A whole report. ``problems`` lists what could not be read; empty means complete.

    Printing it shows the tree of its NVTX ranges and launches.
    """

    name: str
    version: int
    launches: tuple[Launch, ...]
    sources: Mapping[int, Source]
    session: Session
    problems: tuple[str, ...]

    def __repr__(self) -> str:
        cut = f", {len(self.problems)} problems" if self.problems else ""
        return f"<profiler report {self.name}: {len(self.launches)} launches{cut}>"

    def __str__(self) -> str:
        return self.tree()

    def __iter__(self) -> Iterator[Launch]:
        return iter(self.launches)

    def __len__(self) -> int:
        return len(self.launches)

    def query(self, range_path: str = "") -> tuple[Launch, ...]:
        """Launches within an NVTX range (``domain@outer/inner``); all for the empty path.

        ``*`` is any text within a name, ``**`` any number of ranges; the domain may be left out.
        """
        from warpglass.ncu.query import query

        return query(self, range_path)

    def single(self, range_path: str = "") -> Launch:
        """The one launch of a range. Raises :class:`UsageError` where there is none or more than one."""
        from warpglass.ncu.query import single

        return single(self, range_path)

    def frame(self, derive: Sequence[str] = ()) -> Any:
        """One row a launch, one column a metric and ``name=expression``, as a pandas or polars data frame."""
        from warpglass.ncu.query import frame

        return frame(self, derive=derive)

    def tree(self) -> str:
        """Ranges and launches as text, with demangled and mangled names."""
        from warpglass.ncu.query import render_tree

        return render_tree(self)

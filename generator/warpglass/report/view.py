"""Readers of the report JSON that several sections share: names, numbers, places, fragments.

Everything here takes missing keys as unknown; nothing computes more than sums and ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

__all__ = [
    "EVIDENCE_HELP", "arch_text", "column_sum", "dim", "fragment", "kernel_name", "labelled_text",
    "launch_text", "num", "place", "primary_run", "ratio", "section_data", "sentence", "severity_rank",
    "source_name", "weakest",
]  # fmt: skip

Json = Mapping[str, Any]

#: Weakest first, as docs and page order them.
EVIDENCE = ("modelled", "static", "executed", "measured")
EVIDENCE_HELP = {
    "measured": "taken by a profiler or timer on hardware",
    "executed": "counted while the kernel was executed here, without a GPU",
    "modelled": "worked out by a model from what was executed",
    "static": "read from the code or from hardware tables",
}
_SEVERITY = {"critical": 0, "warning": 1, "info": 2}


def num(value: Any) -> str:
    """A number for people: thousands separated, four significant digits for fractions."""
    if value is None:
        return "unknown"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and abs(value) >= 1e18:
        return f"{value:.4g}"  # three hundred digits are no number for people
    if isinstance(value, int) or (value == int(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.2e}"


def dim(extents: Any) -> str:
    """``[16, 16, 1]`` as ``16 × 16``; trailing ones left out. Zeros stand for what an export does not say."""
    if isinstance(extents, Sequence) and extents and not any(extents):
        return "unknown"
    if not isinstance(extents, Sequence) or isinstance(extents, str):
        return "unknown" if extents is None else str(extents)
    parts = [str(part) for part in extents]
    while len(parts) > 1 and parts[-1] == "1":
        parts.pop()
    return " × ".join(parts)


def place(index: Any) -> str:
    """A block's or thread's own index, ``(0, 0, 0)``: a place, where :func:`dim` names an extent."""
    if not isinstance(index, Sequence) or isinstance(index, str):
        return "unknown" if index is None else str(index)
    return f"({', '.join(str(part) for part in index)})"


def sentence(text: str) -> str:
    """The text with a capital first; a name of code (``cp.async``, ``n_tiles``) stays as it is."""
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text


def primary_run(launch: Json) -> Json | None:
    """The run that verdict, tiles and counters use, or None where nothing was executed."""
    runs = launch.get("runs") or []
    index = launch.get("primary")
    if isinstance(index, int) and 0 <= index < len(runs):
        run: Json = runs[index]
        return run
    return runs[0] if runs else None


def kernel_name(launch: Json) -> str:
    """The demangled name, else whatever name there is."""
    kernel = launch.get("kernel") or {}
    return str(kernel.get("demangled") or kernel.get("bare") or kernel.get("name") or "unnamed kernel")


def short_name(launch: Json) -> str:
    """The bare name, for places with little room."""
    kernel = launch.get("kernel") or {}
    return str(kernel.get("bare") or kernel_name(launch))


def arch_text(launch: Json) -> str:
    """``sm_80 (A100)``."""
    gpu = (launch.get("gpu") or {}).get("name")
    arch = str(launch.get("arch") or "unknown architecture")
    return f"{arch} · {gpu}" if gpu else arch


def launch_text(launch: Json) -> str:
    """``grid 4 × 4, block 16 × 16, 2,048 bytes dynamic shared``; extents that nobody gave are called so."""
    shape = launch.get("launch") or {}
    origin = shape.get("origin") or {}
    parts = [
        f"{name} {dim(shape.get(name))}{' by default' if origin.get(name) == 'default' else ''}"
        for name in ("grid", "block")
    ]
    if list(shape.get("cluster") or [1, 1, 1]) != [1, 1, 1]:
        parts.append(f"cluster {dim(shape.get('cluster'))}")
    if shape.get("shared_bytes"):
        parts.append(f"{num(shape['shared_bytes'])} bytes dynamic shared memory")
    return ", ".join(parts)


def labelled_text(launch: Json) -> str:
    """The launch with its label, where it stands without a title that holds it."""
    label = launch.get("label")
    return f"{launch_text(launch)}, {label}" if label else launch_text(launch)


def section_data(report: Json, section: str) -> Json | None:
    """The ``data`` of a listed section, or None."""
    for entry in report.get("sections") or []:
        if entry.get("id") == section and entry.get("data"):
            data: Json = entry["data"]
            return data
    return None


def column_sum(run: Json, counter: str) -> int | None:
    """Whole-run sum of a profile column, or None where it is absent."""
    column = (run.get("profile") or {}).get(counter)
    if not isinstance(column, list):
        return None
    return sum(int(value) for value in column if value is not None)


def number_named(run: Json, name: str) -> Json | None:
    """The report number of that name, or None."""
    for number in run.get("numbers") or []:
        if number.get("name") == name:
            found: Json = number
            return found
    return None


def weakest(*evidence: str) -> str:
    """The badge of a number that is derived from numbers with these badges."""
    return min(evidence, key=lambda kind: EVIDENCE.index(kind) if kind in EVIDENCE else 0)


def ratio(top: int | None, bottom: int | None) -> float | None:
    """``top / bottom``, or None where either is unknown or the bottom is zero."""
    return None if top is None or not bottom else top / bottom


def severity_rank(severity: Any) -> int:
    """0 critical, 1 warning, 2 info, 3 anything else."""
    return _SEVERITY.get(str(severity), 3)


def source_name(report: Json, source: Any) -> str:
    """The file name of a source id."""
    for entry in report.get("sources") or []:
        if entry.get("id") == source:
            return str(entry.get("name") or source)
    return "" if source is None else str(source)


def line_place(report: Json, source: Any, line: Any) -> str:
    """``file.cu:12``; a listing of a profiler's report, whose name is the report's, is ``SASS:12``."""
    for entry in report.get("sources") or []:
        if entry.get("id") == source and entry.get("language") == "sass" and not entry.get("own"):
            return f"SASS:{line}"
    return f"{source_name(report, source)}:{line}"


def fragment(
    launch: int,
    *,
    isa: Any = None,
    block: Any = None,
    warp: Any = None,
    step: Any = None,
    line: tuple[Any, Any] | None = None,
) -> str:
    """A deep link ``#v=1&n=…`` (docs: page fragment); unknown parts are left out."""
    parts = [f"#v=1&n={launch}"]
    for key, value in (("i", isa), ("b", block), ("w", warp), ("s", step)):
        if value is not None:
            parts.append(f"{key}={quote(str(value), safe='', errors='replace')}")
    if line is not None and line[0] is not None and line[1] is not None:
        parts.append(f"l={quote(f'{line[0]}:{line[1]}', safe=':', errors='replace')}")
    return "&".join(parts)

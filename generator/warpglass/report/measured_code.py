"""Code of profiled launches: the report's cubin as listing, per-instruction metrics as columns beside it.

Without a disassembler the listing holds offsets alone, so that heat still has lines to stand at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from warpglass import sass
from warpglass.analysis.listing import Frame, Listing, ListingRow, own_frame
from warpglass.analysis.measured_loops import ProfiledCode
from warpglass.analysis.sass_listing import control_columns, sass_listing
from warpglass.errors import WarpglassError
from warpglass.ncu.by_pc import PcTable, by_pc
from warpglass.ncu.model import Launch, Report, Source
from warpglass.report.measured import short_path
from warpglass.report.payload import SourceMap, opcode_json

__all__ = ["CodeBook", "HEAT"]

Json = dict[str, Any]

#: (column of the pane, metrics whose sum it is, the first group collected wins).
_COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("warp_executed", ("inst_executed",)),
    ("thread_executed", ("thread_inst_executed_true", "thread_inst_executed")),
    ("samples", ("smsp__pcsamp_sample_count",)),
    ("sectors", ("memory_l2_theoretical_sectors_global", "memory_l2_sectors_global")),
    ("sectors_ideal", ("memory_l2_theoretical_sectors_global_ideal", "memory_l2_sectors_global_ideal")),
    ("wavefronts", ("memory_l1_wavefronts_shared",)),
    ("wavefronts_ideal", ("memory_l1_wavefronts_shared_ideal",)),
)
#: Further ones that the analyses alone look at.
_ANALYSED = (
    ("thread_active", ("thread_inst_executed",)),
    ("branch_divergent", ("smsp__branch_targets_threads_divergent",)),
)
_STALL = "smsp__pcsamp_warps_issue_stalled_"
#: Samples of cycles in which the warp's scheduler issued nothing.
_NOT_ISSUED = "_not_issued"
#: What the pane's heat can show for a profiled launch.
HEAT = (
    "executions",
    "samples",
    "samples_not_issued",
    "sectors",
    "sectors_excess",
    "wavefronts",
    "wavefronts_excess",
    "divergence",
)
_INSTRUCTION_BYTES = 16


class Sources(Protocol):
    """Where texts of the page are collected (:class:`warpglass.page_sources.PageSources`)."""

    def add(
        self, key: str, name: str, language: str, text: str | None, input_id: int | None, own: bool
    ) -> int: ...

    def given(self, name: str) -> tuple[str, int] | None:
        """Text and input id of an input of that name."""


@dataclass(frozen=True, slots=True)
class _Code:
    """One kernel's code: its listing, the offsets of its rows, the page source of its text."""

    listing: Listing
    offsets: tuple[int, ...]
    source: int
    control: Sequence[Mapping[str, object] | None] | None
    sources: SourceMap
    note: str | None
    function: sass.Function | None = None


class CodeBook:
    """Code of every profiled kernel, disassembled once for each module."""

    def __init__(self, sources: Sources, with_imported: bool = True) -> None:
        self._sources = sources
        self._imported = with_imported
        self._modules: dict[tuple[str, int], sass.Module | str] = {}
        self._codes: dict[tuple[str, int, str], _Code | None] = {}
        self._numbers: dict[tuple[str, int, str], int] = {}
        self._placed: list[_Code] = []
        self.codes: list[Json] = []
        self.notes: list[str] = []

    def add(self, entry: Json, launch: Launch, report: Report, input_id: int) -> ProfiledCode | None:
        """Put code and per-instruction columns into ``entry["measured"]``, where there are any.

        Returns the machine code with its columns for the analyses, None where the report has none to read.
        """
        source = report.sources.get(launch.source_reference or -1)
        table = by_pc(launch, source)
        key = (report.name, source.reference if source else 0, launch.mangled or launch.function)
        if key not in self._codes or self._codes[key] is None:
            self._codes[key] = self._code(launch, report, source, table, input_id)
        code = self._codes[key]
        if code is None:
            return None
        measured = entry["measured"]
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self.codes):
            self._placed.append(code)
            self.codes.append({**_code_json(code), **opcode_json(code.listing, str(entry.get("arch") or ""))})
        columns = _columns(code, table)
        measured["code"] = {
            "isa": "sass",
            "code": number,
            "profile": columns,
            "lines": _lines(code, columns),
            "note": code.note,
        }
        if table is not None and not table.exact:
            self._note(f"{report.name} stores no load address: its lowest program counter stands for it")
        self._rules(measured, code, table)
        if code.function is None:
            return None
        own = {**columns, **_named(code, table, _ANALYSED)}
        return ProfiledCode(code.listing, code.function, code.sources.own, own)

    def place(self, entry: Json) -> tuple[Mapping[str, int], int]:
        """Page sources of a launch's own files by path, and that of its machine code."""
        code = self._placed[int(entry["measured"]["code"]["code"])]
        return code.sources.ids, code.source

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _module(self, report: Report, source: Source) -> sass.Module | str:
        key = (report.name, source.reference)
        if key not in self._modules:
            try:
                self._modules[key] = sass.load(source.cubin, name=f"{report.name}.cubin")
            except WarpglassError as error:
                self._modules[key] = error.message
        return self._modules[key]

    def _code(
        self, launch: Launch, report: Report, source: Source | None, table: PcTable | None, input_id: int
    ) -> _Code | None:
        name = launch.mangled or launch.function
        note: str | None = None
        if source is not None and source.cubin:
            module = self._module(report, source)
            if isinstance(module, str):
                note = f"no disassembly of {report.name}: {module}; offsets stand for instructions"
                self._note(note)
            else:
                function = next((f for f in module.functions if f.name == name), None)
                if function is not None and function.instructions:
                    return self._listed(launch, report, source, module, function, input_id)
        if table is None:
            return None
        return self._offsets(launch, report, table, input_id, note)

    def _listed(
        self,
        launch: Launch,
        report: Report,
        source: Source,
        module: sass.Module,
        function: sass.Function,
        input_id: int,
    ) -> _Code:
        ranges = ((function.name, 0, len(function.instructions)),)
        # A library's cubin holds many kernels: the page carries the text of the profiled one alone.
        first = max(1, min(function.line, function.instructions[0].line))
        last = max(i.line for i in function.instructions) + 1
        listing = _moved(sass_listing(module, function.name, ranges), first - 1)
        text = self._sources.add(
            f"{report.name}:{source.reference}:{function.name}",
            f"{report.name}.sass",
            "sass",
            "\n".join(module.text.split("\n")[first - 1 : last]),
            input_id,
            False,
        )
        return _Code(
            listing,
            tuple(i.offset for i in function.instructions),
            text,
            control_columns(module, ranges),
            self._map(listing, source, input_id),
            None,
            function,
        )

    def _offsets(
        self, launch: Launch, report: Report, table: PcTable, input_id: int, note: str | None
    ) -> _Code:
        offsets = table.offsets
        lines = [f"        /*{offset:04x}*/" for offset in offsets]
        name = launch.mangled or launch.function
        text = self._sources.add(
            f"{report.name}:{name}:offsets",
            f"{report.name}.offsets",
            "sass",
            "\n".join(lines),
            input_id,
            False,
        )
        rows = tuple(
            ListingRow(
                line=i + 1, opcode="?", text=f"offset 0x{offset:04x}", kind="control", function=name,
                frames=(), reads=(), writes=(), space=None, width=None, operation=None, guarded=False,
            )
            for i, offset in enumerate(offsets)
        )  # fmt: skip
        listing = Listing("sass", name, rows, (), (), (), ())
        return _Code(listing, offsets, text, None, SourceMap({}, frozenset()), note)

    def _map(self, listing: Listing, source: Source, input_id: int) -> SourceMap:
        """Page sources of the line table: imported texts and the user's own files; the rest by name."""
        imported = {file.path: file.text for file in source.files} if self._imported else {}
        ids: dict[str, int] = {}
        own: set[str] = set()
        for path in dict.fromkeys(frame.path for row in listing.rows for frame in row.frames):
            name = short_path(path)
            given = self._sources.given(name)
            system = path.startswith(("/usr/", "/opt/")) or "/cuda/include" in path or "/targets/" in path
            if given is not None:
                ids[path] = self._sources.add(name, name, "cuda", given[0], given[1], True)
                own.add(path)
            elif imported.get(path) and not system:
                language = "python" if name.endswith(".py") else "cuda"
                ids[path] = self._sources.add(f"ncu:{path}", name, language, imported[path], input_id, True)
                own.add(path)
            else:
                ids[path] = self._sources.add(f"ncu:{path}", name, "cuda", None, None, False)
                if not system:
                    own.add(path)
        return SourceMap(ids, frozenset(own))

    def _rules(self, measured: Json, code: _Code, table: PcTable | None) -> None:
        """Give markers of rules the place in the page that they point at."""
        base = table.base if table is not None else None
        index = {offset: i for i, offset in enumerate(code.offsets)}
        by_name: dict[str, int] = {}
        for path, number in code.sources.ids.items():
            by_name.setdefault(short_path(path), number)
        for rule in measured["rules"]:
            for marker in rule["markers"]:
                if marker["pc"] is not None:
                    offset = marker["pc"] - base if base is not None else marker["pc"]
                    at = index.get(offset)
                    marker["pc"] = offset
                    if at is not None:
                        marker["source"], marker["line"] = code.source, code.listing.rows[at].line
                elif marker["file"] in by_name:
                    marker["source"] = by_name[marker["file"]]


def _moved(listing: Listing, by: int) -> Listing:
    """The listing with its lines counted from a later first one."""
    return replace(listing, rows=tuple(replace(row, line=row.line - by) for row in listing.rows))


def _number(value: object) -> float | int | None:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return int(value) if value == int(value) else float(value)
    return None


Columns = dict[str, list[float | int | None]]


def _spreader(code: _Code, table: PcTable) -> Callable[[Sequence[object]], list[float | int | None]]:
    """From values by offset to values by instruction of the listing."""
    at = {offset: i for i, offset in enumerate(table.offsets)}
    rows = [at.get(offset) for offset in code.offsets]
    return lambda values: [_number(values[i]) if i is not None else None for i in rows]


def _named(code: _Code, table: PcTable | None, names: Sequence[tuple[str, tuple[str, ...]]]) -> Columns:
    """Columns by their names, each from the first of its metrics that was collected."""
    if table is None:
        return {}
    spread = _spreader(code, table)
    found = (
        (n, next((table.columns[m] for m in metrics if m in table.columns), None)) for n, metrics in names
    )
    return {name: spread(values) for name, values in found if values is not None}


def _columns(code: _Code, table: PcTable | None) -> Columns:
    """Every column of the pane, one entry an instruction of the listing."""
    if table is None:
        return {}
    spread = _spreader(code, table)
    out = _named(code, table, _COLUMNS)
    stalls = {
        name.removeprefix(_STALL): values
        for name, values in table.columns.items()
        if name.startswith(_STALL) and not name.endswith(_NOT_ISSUED)
    }
    for reason, values in sorted(stalls.items()):
        column = spread(values)
        if any(column):
            out[f"stall_{reason}"] = column
    if "samples" not in out and stalls:
        out["samples"] = _sum([spread(values) for values in stalls.values()])
    idle = [
        spread(values)
        for name, values in table.columns.items()
        if name.startswith(_STALL) and name.endswith(_NOT_ISSUED)
    ]
    if idle:
        out["samples_not_issued"] = _sum(idle)
    for kind in ("sectors", "wavefronts"):
        if kind in out and f"{kind}_ideal" in out:
            out[f"{kind}_excess"] = [
                None if a is None or b is None else a - b
                for a, b in zip(out[kind], out[f"{kind}_ideal"], strict=True)
            ]
    return out


def _sum(columns: Sequence[Sequence[float | int | None]]) -> list[float | int | None]:
    """Rows added up; None where no column has the row."""
    rows = zip(*columns, strict=True)
    return [None if all(v is None for v in row) else sum(v or 0 for v in row) for row in rows]


def _code_json(code: _Code) -> Json:
    """The listing, as ``code`` of a run has it, with the byte offset of each instruction."""
    listing, sources = code.listing, code.sources
    rows = listing.rows
    index = {name: i for i, (name, _) in enumerate(listing.register_types)}
    places = [sources.place(row.frames) for row in rows]
    return {
        "source": code.source,
        "instructions": {
            "line": [row.line for row in rows],
            "opcode": [row.opcode for row in rows],
            "text": [row.text for row in rows],
            "kind": [row.kind for row in rows],
            "source": [place[0] for place in places],
            "source_line": [place[1] for place in places],
            "inlined": [sources.chain(row.frames) for row in rows],
            "block": listing.block_of() if listing.blocks else [None] * len(rows),
            "live": list(listing.live) if listing.live else [None] * len(rows),
            "reads": [[index[r] for r in row.reads if r in index] for row in rows],
            "writes": [[index[r] for r in row.writes if r in index] for row in rows],
            "control": list(code.control) if code.control is not None else [None] * len(rows),
            "offset": list(code.offsets),
        },
        "blocks": [],
        "loops": [],
        "registers": {
            "names": [name for name, _ in listing.register_types],
            "types": [kind for _, kind in listing.register_types],
        },
    }


def _lines(code: _Code, columns: Mapping[str, Sequence[float | int | None]]) -> list[Json]:
    """Columns summed by the user's own source line."""
    sums: dict[tuple[int, int], Json] = {}
    for pc, row in enumerate(code.listing.rows):
        frame: Frame | None = own_frame(row.frames, code.sources.own)
        if frame is None or frame.path not in code.sources.ids:
            continue
        key = (code.sources.ids[frame.path], frame.line)
        line = sums.setdefault(key, {"source": key[0], "line": key[1]})
        for name, column in columns.items():
            value = column[pc]
            if value is not None:
                line[name] = line.get(name, 0) + value
    return [sums[key] for key in sorted(sums)]

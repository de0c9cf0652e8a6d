"""Models to the report's JSON (docs/json-schema.md): plain dicts, lists, numbers and text.

Nothing is analysed here; every figure comes from ``analysis`` or straight from a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from warpglass.analysis.access import AccessRow, access_table
from warpglass.analysis.counters import counters, opcode_counts
from warpglass.analysis.findings import all_findings, in_source_terms
from warpglass.analysis.listing import Frame, Listing, own_frame
from warpglass.analysis.mix import branch_table, line_table, loop_trips, mix_table
from warpglass.analysis.summary import run_numbers
from warpglass.machine.launch import Argument, Launch
from warpglass.machine.result import COUNTERS, AccessSample, BlockTrace, Finding, RunResult
from warpglass.sass.opcodes import explain, pipe

__all__ = ["LaunchUnit", "RunUnit", "SourceMap", "launch_json", "opcode_json"]


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Which page source a path of a line table means: ``ids`` by path; ``own`` are the user's files."""

    ids: Mapping[str, int]
    own: frozenset[str]

    def place(self, frames: Sequence[Frame]) -> tuple[int | None, int | None]:
        """(source id, line) of the user's own frame, or (None, None)."""
        frame = own_frame(frames, self.own)
        if frame is None or frame.path not in self.ids:
            return None, None
        return self.ids[frame.path], frame.line

    def chain(self, frames: Sequence[Frame]) -> list[list[int]] | None:
        """All frames innermost first, None where there is no inlining."""
        if len(frames) < 2:
            return None
        return [[self.ids[f.path], f.line] for f in frames if f.path in self.ids]


@dataclass(frozen=True, slots=True)
class RunUnit:
    """One run with its code. ``source`` is the id of the PTX or SASS text.

    For SASS: ``control`` fields, and ``ptx_lines`` of the page's source ``ptx_source`` that each instruction
    was assembled from, None where that is not known.
    """

    listing: Listing
    result: RunResult
    source: int
    control: Sequence[Mapping[str, object] | None] | None = None
    ptx_source: int | None = None
    ptx_lines: Sequence[tuple[int, ...] | None] | None = None


@dataclass(frozen=True, slots=True)
class LaunchUnit:
    """One launch of one kernel on one architecture."""

    label: str
    mangled: str
    demangled: str
    bare: str
    arch: str
    gpu: Mapping[str, object] | None
    launch: Launch
    compile: Mapping[str, object] | None
    runs: tuple[RunUnit, ...]
    sources: SourceMap
    c_types: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # PTX name -> (C name, C type)


def _argument(unit: LaunchUnit, name: str, argument: Argument) -> dict[str, object]:
    c_name, c_type = unit.c_types.get(name, (argument.name, argument.dtype))
    value: object = None
    if argument.kind == "scalar":
        raw = argument.value
        if isinstance(raw, bytes):
            value = raw.hex()
        elif isinstance(raw, float) and not np.isfinite(raw):
            value = str(raw)
        elif isinstance(raw, (int, float)):
            # Beyond 2^53 a JSON number would not survive JavaScript.
            value = raw if abs(raw) < 2**53 else str(raw)
        elif raw is not None:
            value = str(raw)
    return {
        "name": c_name,
        "parameter": name,
        "type": c_type,
        "kind": argument.kind,
        "value": value,
        "fill": argument.fill if argument.kind == "buffer" else None,
        "count": argument.count,
        "origin": argument.origin,
    }


def launch_json(index: int, unit: LaunchUnit) -> dict[str, object]:
    """The ``launches[]`` entry of a unit."""
    runs = [_run(unit, run) for run in unit.runs]
    sass = next((i for i, r in enumerate(unit.runs) if r.listing.isa == "sass" and r.result.complete), None)
    launch = unit.launch
    return {
        "id": index,
        "label": unit.label or launch.label,
        "kernel": {"name": unit.mangled, "demangled": unit.demangled, "bare": unit.bare},
        "arch": unit.arch,
        "gpu": dict(unit.gpu) if unit.gpu is not None else None,
        "launch": {
            "grid": list(launch.grid),
            "block": list(launch.block),
            "cluster": list(launch.cluster),
            "shared_bytes": launch.shared_bytes,
            "args": [_argument(unit, name, arg) for name, arg in launch.args.items()],
            "origin": dict(launch.origin),
        },
        "compile": dict(unit.compile) if unit.compile is not None else None,
        "runs": runs,
        "primary": sass if sass is not None else 0,
    }


def _run(unit: LaunchUnit, run: RunUnit) -> dict[str, object]:
    listing, result = run.listing, run.result
    executed = result.counters["warp_executed"]
    stopped = result.stopped
    if stopped is not None and stopped.kind == "deadlock":
        stopped = replace(stopped, message=in_source_terms(listing, stopped.message, unit.sources.own))
    return {
        "isa": result.isa,
        "complete": result.complete,
        "stopped": None
        if stopped is None
        else {
            "kind": stopped.kind,
            "message": stopped.message,
            "pc": stopped.pc,
            "line": stopped.line,
        },
        "blocks": {
            "executed": result.blocks_executed,
            # Beyond 2^53 a number of JSON is exact no more: a float says that it is one.
            "total": result.launch.blocks if result.launch.blocks <= 2**53 else float(result.launch.blocks),
            "traced": [trace.index for trace in result.traces],
        },
        "scaled": dict(result.scaled) if result.scaled is not None else None,
        "numbers": [number.to_json() for number in run_numbers(listing, result)],
        "findings": [_finding(unit, run, f) for f in all_findings(listing, result, unit.sources.own)],
        "printed": list(result.printed),
        "assumptions": list(result.assumptions),
        "code": _code(unit, run),
        "profile": {name: result.counters[name].tolist() for name in COUNTERS},
        "active_histogram": [
            result.active_histogram[pc].tolist() if executed[pc] else None for pc in range(len(listing.rows))
        ],
        "lines": [
            {"source": unit.sources.ids[row.path], "line": row.line, **row.counters}
            for row in line_table(listing, result, unit.sources.own)
            if row.path in unit.sources.ids
        ],
        "memory": [_access(unit, run, row) for row in access_table(listing, result)],
        "branches": [
            {
                "pc": row.pc,
                **_place(unit, listing, row.pc),
                "executions": row.executions,
                "uniform": row.uniform,
                "divergent": row.divergent,
                "taken_lanes": row.taken_lanes,
                "active_lanes": row.active_lanes,
            }
            for row in branch_table(listing, result)
        ],
        "mix": [
            {"opcode": row.opcode, "kind": row.kind, "warp": row.warp, "thread": row.thread}
            for row in mix_table(listing, result)
        ],
        **_profiler(unit, run),
        "buffers": [
            {
                "name": buffer.name,
                "base": buffer.base,
                "size": buffer.size,
                "dtype": buffer.dtype,
                "given": buffer.given,
                "touched": list(buffer.touched) if buffer.touched else None,
            }
            for buffer in result.buffers
            if buffer is not None
        ],
        "traces": [_trace(trace, result.launch) for trace in result.traces],
    }


def _profiler(unit: LaunchUnit, run: RunUnit) -> dict[str, object]:
    """Counters under the profiler's names: machine code alone has them."""
    if run.listing.isa != "sass":
        return {}
    return {
        "counters": [
            {"group": group, **number.to_json()}
            for group, number in counters(run.listing, run.result, unit.arch)
        ],
        "opcode_counts": [
            {"opcode": opcode, "warp": warp, "thread": thread}
            for opcode, (warp, thread) in opcode_counts(run.listing, run.result).items()
        ],
    }


def _place(unit: LaunchUnit, listing: Listing, pc: int) -> dict[str, object]:
    source, line = unit.sources.place(listing.rows[pc].frames)
    return {"source": source, "line": line}


def _finding(unit: LaunchUnit, run: RunUnit, finding: Finding) -> dict[str, object]:
    source: int | None = None
    line: int | None = None
    if finding.pc is not None:
        source, line = unit.sources.place(run.listing.rows[finding.pc].frames)
    if line is None and finding.line is not None:
        source, line = run.source, finding.line
    trace = next((i for i, t in enumerate(run.result.traces) if t.block == finding.block), None)
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "category": finding.category,
        "message": finding.message,
        "evidence": finding.evidence,
        "count": finding.count,
        "pc": finding.pc,
        "source": source,
        "line": line,
        "block": list(finding.block) if finding.block is not None else None,
        "thread": list(finding.thread) if finding.thread is not None else None,
        "address": finding.address,
        "step": finding.step,
        "worst_step": finding.worst_step,
        "trace": trace if finding.step is not None else None,
        "detail": dict(finding.detail),
    }


def _code(unit: LaunchUnit, run: RunUnit) -> dict[str, object]:
    listing = run.listing
    index = {name: i for i, (name, _) in enumerate(listing.register_types)}
    places = [unit.sources.place(row.frames) for row in listing.rows]
    blocks = listing.block_of() if listing.blocks else [None] * len(listing.rows)
    rows = listing.rows
    return {
        "source": run.source,
        "instructions": {
            "line": [row.line for row in rows],
            "opcode": [row.opcode for row in rows],
            "text": [row.text for row in rows],
            "kind": [row.kind for row in rows],
            "function": [row.function for row in rows],
            "source": [place[0] for place in places],
            "source_line": [place[1] for place in places],
            "inlined": [unit.sources.chain(row.frames) for row in rows],
            "block": blocks,
            "live": list(listing.live) if listing.live else [None] * len(rows),
            "reads": [[index[r] for r in row.reads if r in index] for row in rows],
            "writes": [[index[r] for r in row.writes if r in index] for row in rows],
            "control": list(run.control) if run.control is not None else [None] * len(rows),
            **(
                {}
                if run.ptx_lines is None
                else {"ptx_lines": [lines and list(lines) for lines in run.ptx_lines]}
            ),
        },
        **({} if run.ptx_lines is None else {"ptx_source": run.ptx_source}),
        **opcode_json(listing, unit.arch),
        "blocks": [
            {
                "start": block.start,
                "end": block.end,
                "successors": list(block.successors),
                "ipdom": block.ipdom,
                "loop": block.loop,
            }
            for block in listing.blocks
        ],
        "loops": [
            {"header": loop.header, "blocks": list(loop.blocks), "depth": loop.depth, "trips": trips}
            for loop, trips in zip(listing.loops, loop_trips(listing, run.result), strict=True)
        ],
        "registers": {
            "names": [name for name, _ in listing.register_types],
            "types": [kind for _, kind in listing.register_types],
        },
    }


def opcode_json(listing: Listing, arch: str) -> dict[str, object]:
    """``{"opcodes"}`` of machine code: a sentence on each, and its pipe where a source names it."""
    if listing.isa != "sass":
        return {}
    digits = "".join(c for c in arch if c.isdigit())
    sm = int(digits) if digits else None
    names = sorted({row.opcode for row in listing.rows})
    return {"opcodes": {name: {"help": explain(name), "pipe": pipe(name, sm)} for name in names}}


def _access(unit: LaunchUnit, run: RunUnit, row: AccessRow) -> dict[str, object]:
    return {
        "pc": row.pc,
        **_place(unit, run.listing, row.pc),
        "operation": row.operation,
        "space": row.space,
        "width": row.width,
        "requests": row.requests,
        "sectors": row.sectors,
        "sectors_ideal": row.sectors_ideal,
        "wavefronts": row.wavefronts,
        "wavefronts_ideal": row.wavefronts_ideal,
        "conflicts": row.conflicts,
        "lanes": row.lanes,
        "broadcasts": row.broadcasts,
        "bytes": row.bytes,
        "atomic_addresses": row.atomic_addresses,
        "samples": [_sample(run.result, sample) for sample in row.samples],
    }


def _sample(result: RunResult, sample: AccessSample) -> dict[str, object]:
    name: str | None = None
    base = 0
    live = [int(a) for lane, a in enumerate(sample.addresses) if sample.mask >> lane & 1]
    if sample.space == "global" and live:
        for buffer in result.buffers:
            if buffer is not None and buffer.base <= min(live) < buffer.base + max(buffer.size, 1):
                name, base = buffer.name, buffer.base
    return {
        "label": sample.label,
        "block": list(sample.block),
        "warp": sample.warp,
        "space": sample.space,
        "size": sample.size,
        "mask": sample.mask,
        "addresses": [int(a) for a in sample.addresses],
        "buffer": name,
        "base": base,
        "sectors": sample.sectors,
        "sectors_ideal": sample.sectors_ideal,
        "wavefronts": sample.wavefronts,
        "wavefronts_ideal": sample.wavefronts_ideal,
    }


def _columns(source: object, names: Sequence[str]) -> dict[str, list[int]]:
    return {name: getattr(source, name).tolist() for name in names}


def _trace(trace: BlockTrace, launch: Launch) -> dict[str, object]:
    values: dict[str, object] | None = None
    if trace.writes is not None:
        w = trace.writes
        values = {
            "names": list(w.names),
            "types": list(w.types),
            **_columns(w, ("step", "register", "offset", "words")),
            "warps": list(w.warps),
            "complete": w.complete,
        }
    accesses: dict[str, object] | None = None
    if trace.accesses is not None:
        a = trace.accesses
        names = ("step", "kind", "space", "size", "mask", "offset", "addresses", "data_offset", "data")
        accesses = {**_columns(a, names), "complete": a.complete}
    barriers: dict[str, object] | None = None
    if trace.barriers is not None:
        barriers = dict(_columns(trace.barriers, ("step", "round", "warp", "barrier", "kind")))
    return {
        "block": list(trace.block),
        "index": trace.index,
        "warps": trace.warps,
        "threads": launch.threads_per_block,
        "steps": trace.steps,
        "rounds": int(trace.round.max()) + 1 if trace.steps else 0,
        "truncated": trace.truncated,
        "columns": _columns(trace, ("round", "warp", "pc", "mask", "group")),
        "values": values,
        "accesses": accesses,
        "barriers": barriers,
    }

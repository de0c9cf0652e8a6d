"""Findings that follow from a run's counters: bank conflicts, scattered sectors, divergence, idle lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from warpglass.analysis.access import AccessRow, access_table
from warpglass.analysis.listing import Listing, own_frame
from warpglass.analysis.mix import branch_table
from warpglass.machine.result import Finding, RunResult

__all__ = ["all_findings", "counter_findings", "in_source_terms"]

#: Below this excess over the ideal nothing is said: alignment at array ends makes a few sectors.
_EXCESS_RATIO = 1.05
#: An excess of 2x doubles the traffic of that instruction: worth a warning rather than a remark.
_WARN_RATIO = 2.0
#: Fewer lanes on than this, on average, means a quarter of the issue slots is lost.
_FEW_LANES = 24
_CODE_LINE = re.compile(r"\bline (\d+)\b")
_SEVERITY_ORDER = {"critical": 0, "warning": 1, "info": 2}


def _worst_step(result: RunResult, pc: int) -> tuple[int | None, int | None, tuple[int, int, int] | None]:
    """First and worst traced step of ``pc`` with the traced block: (first, worst, block)."""
    for trace in result.traces:
        steps = np.flatnonzero(trace.pc == pc)
        if steps.size == 0:
            continue
        first = int(steps[0])
        worst = first
        sample = next((s for s in result.samples if s.pc == pc and s.label == "worst"), None)
        if sample is not None and sample.block == trace.block:
            same = steps[(trace.warp[steps] == sample.warp) & (trace.mask[steps] == np.uint32(sample.mask))]
            if same.size:
                worst = int(same[0])
        return first, worst, trace.block
    return None, None, None


def _located(result: RunResult, listing: Listing, finding: Finding) -> Finding:
    pc = finding.pc
    if pc is None:
        return finding
    if finding.line is None:
        finding = replace(finding, line=listing.rows[pc].line)
    if finding.step is not None:
        return finding
    first, worst, block = _worst_step(result, pc)
    return replace(finding, step=first, worst_step=worst, block=finding.block or block)


def _times(value: float) -> str:
    return f"{value:.3g}×"


def _access_findings(row: AccessRow, listing: Listing) -> Iterator[Finding]:
    opcode = listing.rows[row.pc].opcode
    if row.sectors is not None and row.sectors_ideal:
        over = row.sectors / row.sectors_ideal
        if over > _EXCESS_RATIO:
            per, ideal = row.sectors / row.requests, row.sectors_ideal / row.requests
            yield Finding(
                kind="uncoalesced",
                severity="warning" if over >= _WARN_RATIO else "info",
                category="memory",
                message=(
                    f"{opcode} touches {per:.3g} sectors a request where {ideal:.3g} would do "
                    f"({_times(over)} the ideal, {row.sector_excess:,} sectors too many)"
                ),
                evidence="executed",
                count=row.sector_excess,
                pc=row.pc,
                detail={"sectors": row.sectors, "sectors_ideal": row.sectors_ideal, "requests": row.requests},
            )
    if row.conflicts and row.wavefronts and row.wavefronts_ideal:
        over = row.wavefronts / row.wavefronts_ideal
        if over > _EXCESS_RATIO:
            yield Finding(
                kind="bank-conflict",
                severity="warning" if over >= _WARN_RATIO else "info",
                category="memory",
                message=(
                    f"{opcode} needs {row.wavefronts / row.requests:.3g} wavefronts a request where "
                    f"{row.wavefronts_ideal / row.requests:.3g} would do "
                    f"({row.conflicts:,} bank conflicts)"
                ),
                evidence="modelled",
                count=row.conflicts,
                pc=row.pc,
                detail={"wavefronts": row.wavefronts, "wavefronts_ideal": row.wavefronts_ideal},
            )
    if row.operation == "atomic" and row.atomic_addresses and row.requests:
        lanes = row.lanes * row.requests
        per_address = lanes / row.atomic_addresses
        if per_address >= 4:
            yield Finding(
                kind="atomic-contention",
                severity="warning" if per_address >= 16 else "info",
                category="memory",
                message=(
                    f"{opcode}: on average {per_address:.3g} lanes of a warp hit the same address; "
                    "they are served one after the other or merged before the atomic unit"
                ),
                evidence="executed",
                count=row.requests,
                pc=row.pc,
                detail={"addresses": row.atomic_addresses, "lanes": round(lanes)},
            )


def _merged(listing: Listing, findings: list[Finding]) -> list[Finding]:
    """One finding a kind and source line: an unrolled loop says the same thing once, with its sum.

    The worst instruction stands for all of them; how many there are is part of the message.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        frames = listing.rows[finding.pc].frames if finding.pc is not None else ()
        key = (finding.kind, frames[0].path, frames[0].line) if frames else (finding.kind, finding.pc)
        groups.setdefault(key, []).append(finding)
    out = []
    for group in groups.values():
        worst = min(group, key=lambda f: (_SEVERITY_ORDER.get(f.severity, 3), -f.count))
        if len(group) > 1:
            total = sum(f.count for f in group)
            places = len({f.pc for f in group})
            worst = replace(
                worst,
                count=total,
                message=f"{worst.message}; {places} instructions of this line do, {total:,} in all",
                detail={**worst.detail, "instructions": sorted({f.pc for f in group if f.pc is not None})},
            )
        out.append(worst)
    return out


def counter_findings(listing: Listing, result: RunResult) -> tuple[Finding, ...]:
    """Findings from counters alone, each with the numbers that made it."""
    found: list[Finding] = []
    for row in access_table(listing, result):
        found.extend(_access_findings(row, listing))
    totals = result.counts
    lanes = totals["thread_executed"] / totals["warp_executed"] if totals["warp_executed"] else 0.0
    for branch in branch_table(listing, result):
        share = branch.divergent / branch.executions
        if branch.divergent and share >= 0.05:
            found.append(
                Finding(
                    kind="divergence",
                    # A bounds check may split a warp now and then; it costs something where lanes idle.
                    severity="warning" if share >= 0.5 and lanes < _FEW_LANES else "info",
                    category="divergence",
                    message=(
                        f"branch splits its warp in {branch.divergent:,} of {branch.executions:,} executions "
                        f"({share:.0%})"
                    ),
                    evidence="executed",
                    count=branch.divergent,
                    pc=branch.pc,
                )
            )
    if totals["warp_executed"] and lanes < _FEW_LANES:
        found.append(
            Finding(
                kind="idle-lanes",
                severity="warning" if lanes < 16 else "info",
                category="divergence",
                message=f"on average {lanes:.1f} of 32 lanes are on",
                evidence="executed",
                count=32 * totals["warp_executed"] - totals["thread_executed"],
            )
        )
    return tuple(_merged(listing, found))


def in_source_terms(listing: Listing, text: str, own: frozenset[str]) -> str:
    """``text`` with every ``line 310`` of the code that ran said as ``kernel.cu:12``, where that is known."""
    places = {row.line: own_frame(row.frames, own) for row in listing.rows}

    def place(match: re.Match[str]) -> str:
        frame = places.get(int(match.group(1)))
        return f"{frame.path.rsplit('/', 1)[-1]}:{frame.line}" if frame is not None else match.group()

    return _CODE_LINE.sub(place, text)


def _in_source_terms(listing: Listing, finding: Finding, own: frozenset[str]) -> Finding:
    """A hazard's other side by source line: the machine knows only lines of the code it ran."""
    if finding.kind == "deadlock":
        return replace(finding, message=in_source_terms(listing, finding.message, own))
    other = finding.detail.get("other_pc")
    if not isinstance(other, int):
        return finding
    frame = own_frame(listing.rows[other].frames, own)
    if frame is None:
        return finding
    place = f"{frame.path.rsplit('/', 1)[-1]}:{frame.line}"
    text = finding.message.replace(f"at line {finding.detail.get('other_line')}", f"at {place}")
    return replace(finding, message=text, detail={**finding.detail, "other_place": place})


def _once(listing: Listing, findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """Findings that say the same of the same source line, once with their sum."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        frames = listing.rows[finding.pc].frames if finding.pc is not None else ()
        place: object = (frames[0].path, frames[0].line) if frames else finding.pc
        groups.setdefault((finding.kind, place, finding.message), []).append(finding)
    for group in groups.values():
        yield group[0] if len(group) == 1 else replace(group[0], count=sum(f.count for f in group))


def all_findings(
    listing: Listing, result: RunResult, own: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """The machine's findings and the counters', located in the trace, foremost first.

    ``own`` names the user's source files, whose lines messages speak of.
    """
    told = tuple(_in_source_terms(listing, f, own) for f in result.findings)
    found = [
        _located(result, listing, f) for f in (*_once(listing, told), *counter_findings(listing, result))
    ]
    # Correctness before speed within a severity: a sanitizer finding makes every number suspect.
    correctness = {"expect", "memcheck", "racecheck", "initcheck", "synccheck", "deadlock", "budget", "trap"}
    found.sort(
        key=lambda f: (_SEVERITY_ORDER.get(f.severity, 3), f.kind not in correctness, -f.count, f.pc or 0)
    )
    return tuple(found)

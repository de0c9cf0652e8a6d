"""Findings that an operation stream gives away: releases, acquires, arrivals that cannot be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from warpglass.cutlass.streams import KNOBS, RoleStream
from warpglass.cutlass.structure import Header
from warpglass.cutlass.values import Op

__all__ = ["KINDS", "Finding", "lint"]

#: kind: what it means
KINDS: Mapping[str, str] = {
    "release-before-retire": "a stage is released while MMAs that read it are in flight",
    "unbalanced": "acquires, waits and releases of a pipeline do not match",
    "arrival-count": "a stage is filled or released more or less often than its barrier counts",
    "deadlock": "roles wait for each other",
    "late-release": "a stage is released later than its MMAs need",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding with its place."""

    kind: str
    message: str
    header: str
    line: int


def _retire(stream: RoleStream) -> list[Finding]:
    """Releases of stages whose MMAs may still run (only a wait retires wgmma), and late ones."""
    ops = stream.ops
    if not any(op.kind == "wgwait" for op in ops) or not any(op.kind == "mma" for op in ops):
        return []
    if any(op.kind == "acquire" for op in ops) or len({op.pipe for op in ops if op.kind == "wait"}) > 1:
        # Which wait an MMA belongs to is not known where one function takes from several pipelines.
        return []
    found: list[Finding] = []
    open_groups: list[int] = []  # per group of MMAs in flight: number of the wait whose stage it reads
    wait = -1
    released = -1
    late: list[Op] = []
    in_group = False
    for op in ops:
        if op.kind == "wait":
            wait += 1
            in_group = False
        elif op.kind == "mma":
            if not in_group:
                open_groups.append(wait)
            in_group = True
        elif op.kind == "wgwait":
            open_groups = open_groups[len(open_groups) - op.n :] if op.n else []
            in_group = False
        elif op.kind == "release":
            released += 1
            if released in open_groups:
                text = (
                    f"{stream.role} releases {op.pipe} stage {op.stage} before the MMAs that read it retire"
                )
                found.append(Finding("release-before-retire", text, op.header, op.line))
            elif not open_groups and wait - released >= 1:
                late.append(op)
    if late and not found:
        text = f"{stream.role} waits for every MMA, yet releases {late[0].pipe} one k-tile or more behind"
        found.append(Finding("late-release", text, late[0].header, late[0].line))
    return found


def _number(ops: Sequence[Op], together: bool) -> int:
    """How often stages were taken or given; roles that share a stage count once."""
    return len({op.count for op in ops}) if together else len(ops)


def _balance(
    streams: Sequence[RoleStream], knobs: Mapping[str, int], together: bool = False
) -> list[Finding]:
    """Waits without releases, acquires without fills, stages out of order.

    ``together``: the streams are roles of one kernel, of which one may wait for another's sake.
    """
    found: list[Finding] = []
    waits: dict[str, list[Op]] = {}
    releases: dict[str, list[Op]] = {}
    for stream in streams:
        acquired: list[Op] = []
        copied = {op.pipe for op in stream.ops if op.kind == "copy"}
        for op in stream.ops:
            if op.kind == "wait":
                waits.setdefault(op.pipe, []).append(op)
            elif op.kind == "release":
                releases.setdefault(op.pipe, []).append(op)
            elif op.kind == "acquire" and op.pipe in copied:
                # Only where copies fill does an acquire expect something; elsewhere it is a wait that may
                # be repeated.
                acquired.append(op)
        for one, other in pairwise(acquired):
            if one.pipe == other.pipe and one.stage == other.stage and knobs["S"] > 1 and one.stage >= 0:
                text = f"{stream.role} acquires stage {one.stage} of {one.pipe} twice, its state not advanced"
                found.append(Finding("unbalanced", text, other.header, other.line))
                break
    # Where one function both fills and takes, it may leave its last stages as they are.
    alone = {op.pipe for s in streams for op in s.ops if op.kind == "acquire"} & {
        op.pipe
        for s in streams
        if any(o.kind == "acquire" for o in s.ops)
        for op in s.ops
        if op.kind == "wait"
    }
    # A pipeline that nobody here fills is taken for others, who give it back. Where a call could not be
    # followed into another header, that may take or give back as well.
    filled = {op.pipe for s in streams for op in s.ops if op.kind in ("acquire", "commit", "copy")}
    if any(op.kind == "call" for s in streams for op in s.ops):
        return found
    for pipe, waited in waits.items():
        given = releases.get(pipe, [])
        if pipe in alone or pipe not in filled or (not given and len(waited) <= 1):
            continue
        if not given:
            text = f"{pipe} is waited for {len(waited)} times and never released: its producer will stop"
            found.append(Finding("deadlock", text, waited[0].header, waited[0].line))
        elif (taken := _number(waited, together)) != (back := _number(given, together)):
            text = f"{pipe}: {taken} waits, but {back} releases"
            found.append(Finding("unbalanced", text, given[-1].header, given[-1].line))
    return found


def _arrivals(streams: Sequence[RoleStream]) -> list[Finding]:
    """Fills of a stage by commits: more than one a stage, or none."""
    found: list[Finding] = []
    for stream in streams:
        commits = copies = 0
        acquire: Op | None = None
        for op in (*stream.ops, Op("acquire", "", line=0)):
            if op.kind == "acquire":
                if acquire is not None and op.pipe in (acquire.pipe, "") and commits > 1:
                    name = f"stage {acquire.stage} of {acquire.pipe}"
                    text = f"{stream.role} commits {name} {commits} times a fill"
                    found.append(Finding("arrival-count", text, acquire.header, acquire.line))
                    break
                commits = copies = 0
                acquire = op
            elif op.kind == "commit" and acquire is not None and op.pipe == acquire.pipe:
                commits += 1
            elif op.kind == "copy":
                copies += 1
    for stream in streams:
        previous: Op | None = None
        for op in stream.ops:
            if op.kind != "release":
                continue
            if (
                previous is not None
                and previous.pipe == op.pipe
                and previous.stage == op.stage
                and previous.line != op.line
            ):
                text = f"{stream.role} releases stage {op.stage} of {op.pipe} twice"
                found.append(Finding("arrival-count", text, op.header, op.line))
                break
            previous = op
    return found


def lint(
    streams: Mapping[str, Sequence[RoleStream]], mainloop: Header | None, knobs: Mapping[str, int] = KNOBS
) -> tuple[Finding, ...]:
    """Findings over the streams of a mainloop (and of an epilogue's loads)."""
    main = tuple(streams.get("mainloop", ()))
    found: list[Finding] = []
    for stream in main:
        merged = stream
        if stream.role == "mma":
            tail = next((s for s in main if s.role == "mma_tail"), None)
            if tail is not None:
                merged = RoleStream("mma", (*stream.ops, *tail.ops), (), ())
        if stream.role != "mma_tail":
            found += _retire(merged)
    for group in ("mainloop", "epilogue", "kernel"):
        listed = tuple(streams.get(group, ()))
        found += _balance(listed, knobs, group == "kernel")
        found += _arrivals(listed)
    unique = {(f.kind, f.message, f.line): f for f in found}
    return tuple(unique.values())

"""Operation streams of a header's roles, and what they say: conservation of stages, release lag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from warpglass.cutlass.interpret import Decision, Interpreter
from warpglass.cutlass.structure import Function, Header
from warpglass.cutlass.values import Op, State

__all__ = [
    "KNOBS",
    "PipeUse",
    "RoleStream",
    "collective_streams",
    "conservation",
    "pipe_uses",
    "role_functions",
]

#: Concrete values of a run: stages, k-tiles, output tiles, k-blocks of a tile, accumulator stages …
KNOBS: Mapping[str, int] = {"S": 4, "K": 6, "O": 2, "KB": 4, "A": 2, "SS": 2, "SD": 2, "SC": 2, "NE": 4,
                              "SF_BUFFERS_PER_TILE_K": 4, "AccPromotionInterval": 2,
                              "StagesPerTile": 2}  # fmt: skip

#: Warpgroup, thread and its number among the consumers.
FIRST_CONSUMER: Mapping[str, int] = {"wg": 1, "thread": 128, "thread_idx": 0, "work_idx": 0}

_OWN = re.compile(
    r"producer_acquire|producer_commit|consumer_wait|consumer_release|producer_tail|consumer_test_wait"
)
_ORDER = ("load", "mma")


@dataclass(frozen=True, slots=True)
class RoleStream:
    """The operations of one function or role, with the conditions that had to be assumed.

    ``kinds`` has the declared types of pipelines, where they were seen.
    """

    role: str
    ops: tuple[Op, ...]
    decisions: tuple[Decision, ...]
    notes: tuple[str, ...]
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class PipeUse:
    """How a set of streams uses one pipeline; stages in order of the operations."""

    pipe: str
    acquired: list[int] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    copies: int = 0
    tail: bool = False


def role_functions(header: Header) -> list[Function]:
    """Functions with pipeline calls that no other function of the header calls: the roles."""
    own = [f for group in header.functions.values() for f in group if _OWN.search(f.source)]
    called = set()
    for group in header.functions.values():
        for function in group:
            for other in own:
                if other is not function and re.search(
                    rb"(?<![:.>\w])" + other.name.encode() + rb"\s*(?:<[^;()]{0,80}>)?\(",
                    function.source.encode(),
                ):
                    called.add(id(other))
    return [f for f in own if id(f) not in called or f.name in ("mma_tail", "load_tail")]


def run_function(
    headers: Sequence[Header],
    function: Function,
    knobs: Mapping[str, int],
    decide: Mapping[str, bool] | None = None,
    states: Mapping[str, State] | None = None,
    role: str | None = None,
) -> RoleStream:
    """Run one function on its own."""
    run = Interpreter(headers, knobs, decide=decide)
    run.run(function, dict(states or {}))
    stream = run.stream
    return RoleStream(role or function.name, tuple(stream.ops), stream.decided(), tuple(stream.notes))


def collective_streams(
    header: Header,
    knobs: Mapping[str, int] = KNOBS,
    decide: Mapping[str, bool] | None = None,
    helpers: Sequence[Header] = (),
) -> tuple[RoleStream, ...]:
    """A stream for each role function of a collective: load, load_tail, mma, mma_tail, store, transform …"""
    found = []
    if re.search(r"softmax|attention_updater", header.text, re.I):
        # The first warpgroup of an attention kernel's consumers: it takes the first turn at the tensor core.
        knobs = {**FIRST_CONSUMER, **knobs}
    for function in role_functions(header):
        found.append(run_function((header, *helpers), function, knobs, decide))
    return tuple(found)


def pipe_uses(streams: Sequence[RoleStream]) -> dict[str, PipeUse]:
    """The uses of every pipeline, in the order in which the streams name them."""
    uses: dict[str, PipeUse] = {}
    for stream in streams:
        for op in stream.ops:
            if not op.pipe or op.kind not in ("acquire", "commit", "wait", "release", "copy", "tail"):
                continue
            use = uses.setdefault(op.pipe, PipeUse(op.pipe))
            if op.kind == "copy":
                use.copies += 1
            elif op.kind == "tail":
                use.tail = True
            else:
                {
                    "acquire": use.acquired,
                    "commit": use.committed,
                    "wait": use.waited,
                    "release": use.released,
                }[op.kind].append(op.stage)
    return uses


def consecutive(stages: Sequence[int], count: int) -> bool:
    """Whether ``stages`` run round the ring without a gap, from wherever they start."""
    return all((one + 1) % count == other for one, other in pairwise(stages)) and all(s >= 0 for s in stages)


def conservation(streams: Sequence[RoleStream], knobs: Mapping[str, int] = KNOBS) -> list[str]:
    """What keeps a collective from conserving its stages; empty where it does.

    Every stage is acquired, waited for and released in order, each once; whoever waits releases as often;
    as many stages are taken as are filled; there are at least as many waits and MMAs as k-tiles.
    """
    found: list[str] = []
    consumed: dict[str, tuple[list[int], list[int]]] = {}
    produced: dict[tuple[str, str], list[int]] = {}
    mma = 0
    for stream in streams:
        mma += sum(op.kind == "mma" for op in stream.ops)
        for op in stream.ops:
            if op.kind == "acquire":
                produced.setdefault((stream.role, op.pipe), []).append(op.stage)
            elif op.kind in ("wait", "release"):
                consumed.setdefault(op.pipe, ([], []))[op.kind == "release"].append(op.stage)
    stages = {"acc": knobs["A"]}
    for (role, pipe), acquired in produced.items():
        count = stages["acc"] if "acc" in pipe else knobs["S"]
        if not consecutive(acquired, count):
            found.append(f"{role} acquires stages of {pipe} out of order: {acquired[:12]}")
    for pipe, (waited, released) in consumed.items():
        count = stages["acc"] if "acc" in pipe else knobs["S"]
        if not waited:
            found.append(f"{pipe} is released without a wait")
        if not consecutive(waited, count) or not consecutive(released, count):
            found.append(
                f"stages of {pipe} are not taken in order: wait {waited[:12]}, release {released[:12]}"
            )
        if len(waited) != len(released):
            found.append(f"{pipe}: {len(waited)} waits, but {len(released)} releases")
        if len(waited) not in {len(acquired) for acquired in produced.values()}:
            found.append(f"{pipe}: {len(waited)} waits, and nobody fills as many stages")
    if max((len(waited) for waited, _ in consumed.values()), default=0) < knobs["K"]:
        found.append(f"fewer waits than the {knobs['K']} k-tiles")
    if mma < knobs["K"]:
        found.append(f"{mma} MMAs for {knobs['K']} k-tiles")
    return found

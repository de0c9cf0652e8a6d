"""From operation streams to a pipeline program: what tells mainloops and kernel layers apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpglass.cutlass.attention import attention_anchors, attention_modes
from warpglass.cutlass.build import Node, with_lines
from warpglass.cutlass.programs.attention import attention_program
from warpglass.cutlass.programs.sm90 import MODES, Traits, sm90_program
from warpglass.cutlass.programs.sm100 import sm100_program
from warpglass.cutlass.streams import RoleStream
from warpglass.cutlass.structure import Header
from warpglass.cutlass.values import Op

__all__ = ["Derived", "derive", "mainloop_traits", "schedule_of", "with_traced"]


@dataclass(frozen=True, slots=True)
class Derived:
    """Programs to simulate, the one that the headers mean first; ``family`` is None where none fits."""

    family: str | None
    schedule: str | None
    programs: tuple[Node, ...]
    reasons: tuple[str, ...]


def _stream(streams: Sequence[RoleStream], *names: str) -> tuple[Op, ...]:
    for name in names:
        for stream in streams:
            if stream.role == name or stream.role.startswith(name):
                return stream.ops
    return ()


def mainloop_traits(header: Header, streams: Sequence[RoleStream]) -> tuple[Traits, list[str]]:
    """What the streams of a Hopper mainloop say about loads, release and promotion, with reasons."""
    load = next(
        (s.ops for s in streams if s.role.startswith("load") and any(o.kind == "acquire" for o in s.ops)), ()
    )
    mma = _stream(streams, "mma")
    acquires = sum(op.kind == "acquire" for op in load)
    copies = sum(op.kind == "copy" for op in load)
    cp_async = copies == 0 and any(op.kind == "commit" for op in load)
    loads = max(1, round(copies / acquires)) if acquires and copies else 1
    first = next((i for i, op in enumerate(mma) if op.kind == "release"), None)
    reasons = []
    lag = 1
    if first is not None:
        lag = max(0, sum(op.kind == "wait" for op in mma[:first]) - 1)
        reasons.append(
            f"the first release comes after {lag + 1} waits: stages are released {lag} k-tiles late"
        )
    release = "after"
    last = max((i for i, op in enumerate(mma) if op.kind == "release"), default=None)
    if last is not None:
        behind = mma[last + 1 :]
        left = [op for op in mma[:last] if op.kind == "wgwait"]
        until = next((i for i, op in enumerate(behind) if op.kind == "wait"), len(behind))
        if lag >= 1 and any(op.kind == "mma" for op in behind[:until]):
            release = "half"
            reasons.append("the stage is released between the MMAs of the next k-tile")
        elif lag >= 1 and left and left[-1].n == 0 and "promote_if_needed" not in header.text:
            release = "drained"
            reasons.append("all MMAs are waited for, yet the stage before is released")
    promotion = "promote_if_needed" in header.text
    if promotion:
        reasons.append("accumulators are promoted (promote_if_needed)")
    reasons.append("stages are filled by cp.async" if cp_async else f"{loads} copies by TMA fill a stage")
    return Traits(loads, min(lag, 4), release, cp_async, promotion), reasons


def schedule_of(
    kernel: Header | None, streams: Sequence[RoleStream], mainloop: Header | None
) -> tuple[str, str]:
    """(pingpong, cooperative or basic, why)."""
    kinds = {op.kind for stream in streams for op in stream.ops if stream.role.startswith("Consumer")}
    consumers = sum(stream.role.startswith("Consumer") for stream in streams)
    if "order_wait" in kinds:
        return "pingpong", "consumers wait for an order barrier"
    if kernel is not None and consumers >= 2:
        return "cooperative", "two consumer roles without an order barrier"
    if kernel is not None and "Cooperative" in kernel.text and "cooperative" in kernel.name:
        return "cooperative", f"{kernel.name} is a cooperative kernel layer"
    if kernel is not None:
        return "basic", "one consumer role"
    if mainloop is not None and "Pingpong" in mainloop.text and "Cooperative" not in mainloop.text:
        return "pingpong", "the mainloop names the pingpong schedule alone"
    return (
        "pingpong",
        "no kernel layer was given: pingpong is assumed, the page's schedule knob has the others",
    )


def family_of(header: Header, streams: Sequence[RoleStream], text: str) -> tuple[str | None, str]:
    """(sm90, sm100, sm100-blockscaled, attention or None, why)."""
    pipes = {op.pipe for stream in streams for op in stream.ops if op.pipe}
    if re.search(r"softmax|attention_updater", text, re.I) and (
        {"pipeline_k", "pipeline_v"} <= pipes or re.search(r"pipeline_k\b", text) is not None
    ):
        return "attention", "pipelines for K and V and a softmax"
    if re.search(r"softmax|fmha|flash_attn|FlashAttention", header.name + text, re.I):
        names = ", ".join(sorted(pipe for pipe in pipes if "arrier" not in pipe)[:8])
        return (
            None,
            f"attention with pipelines of its own ({names}): roles are listed, no known program is like it",
        )
    blackwell = re.search(r"[Ss]m1(?:00|03)|UMMA::", text) is not None
    if blackwell and not re.search(r"[Ss]m120", text):
        scaled = re.search(r"\bSFA\b|tma_load_sfa|smem_SFA", text) is not None
        return ("sm100-blockscaled" if scaled else "sm100"), "tcgen05 MMAs" + (
            " with scale factors" if scaled else ""
        )
    if re.search(r"[Ss]m120", text):
        return "sm120", "warp-level MMAs behind TMA"
    if re.search(r"warpgroup_wait|GMMA::", text):
        return "sm90", "wgmma MMAs"
    return None, "neither wgmma nor tcgen05 MMAs were found"


_LOAD = {"acquire": "load.acquire", "copy": "load.copy", "commit": "load.commit", "tail": "load.tail"}
_MMA = {
    "wait": "mma.wait", "mma": "mma.issue", "wgwait": "mma.retire", "release": "mma.release",
    "acquire": "mma.acquire",     "commit": "mma.commit",
}  # fmt: skip
_TAIL = {"wgwait": "tail.retire", "release": "tail.release"}
_KERNEL_SM100 = {
    "Sched": {
        "wait": "sched.throttle",
        "query": "sched.query",
        "fetch": "kernel.fetch",
        "tail": "sched.tail",
    },
    "MainloopLoad": {"acquire": "load.throttle", "fetch": "kernel.fetch"},
    "MMA": {"commit": "mma.commit", "tail": "mma.tail", "acquire": "mma.acquire"},
}
_STORE = {"store": "store.issue", "acquire": "store.acquire", "store_wait": "store.acquire",
          "wait": "store.wait_c", "release": "store.release_c", "sync": "store.sync"}  # fmt: skip


def anchors(
    mainloop: Sequence[RoleStream], kernel: Sequence[RoleStream], epilogue: Sequence[RoleStream]
) -> dict[str, tuple[str, int]]:
    """(header, line) of every anchor of the programs that the streams know."""
    found: dict[str, tuple[str, int]] = {}

    def note(name: str, op: Op, last: bool = False) -> None:
        if last or name not in found:
            found[name] = (op.header, op.line)

    for stream in mainloop:
        table = _LOAD if stream.role.startswith("load") else _TAIL if stream.role == "mma_tail" else _MMA
        if stream.role.startswith(("load", "mma")):
            for op in stream.ops:
                if op.kind in table:
                    note(table[op.kind], op, last=table is _MMA and op.kind in ("mma", "wait"))
    for stream in epilogue:
        if stream.role.startswith("store"):
            for op in stream.ops:
                if op.kind in _STORE:
                    note(_STORE[op.kind], op)
                if op.kind in ("sync", "store"):  # what is computed for a subtile ends here
                    note("store.compute", op)
        elif stream.role.startswith("load"):
            for op in stream.ops:
                note(
                    {"acquire": "cload.acquire", "copy": "cload.copy", "tail": "cload.tail"}.get(
                        op.kind, "?"
                    ),
                    op,
                )
    for stream in kernel:
        orders = 0
        for op in stream.ops:
            if op.kind == "order_wait" and stream.role.startswith("Consumer"):
                note("kernel.order_mma" if orders % 2 == 0 else "kernel.order_store", op)
            elif op.kind == "order_arrive" and stream.role.startswith("Consumer"):
                note("kernel.hand_on_mma" if orders % 2 == 0 else "kernel.hand_on_store", op)
                orders += 1
            elif op.kind == "order_arrive":
                note("kernel.load_order", op)
            elif op.kind == "order_wait":
                note("kernel.wait_load_order", op)
            elif op.kind in ("call", "store_wait") and op.pipe.endswith("store_tail"):
                note("kernel.store_tail", op)
            for role, kinds in _KERNEL_SM100.items():
                if stream.role.startswith(role) and op.kind in kinds:
                    note(kinds[op.kind], op)
    found.pop("?", None)
    return found


def derive(
    mainloop: Header | None,
    kernel: Header | None,
    streams: Mapping[str, Sequence[RoleStream]],
    text: str = "",
) -> Derived:
    """The programs of a mainloop and a kernel layer. ``streams`` has them by mainloop, kernel, epilogue.

    ``text`` is what all mainloop headers say, where there are several.
    """
    main = tuple(streams.get("mainloop", ()))
    roles = tuple(streams.get("kernel", ()))
    lines = anchors(main, roles, tuple(streams.get("epilogue", ())))
    subject = mainloop or kernel
    if subject is None:
        return Derived(None, None, (), ("no header with a pipeline was given",))
    family, why = family_of(subject, (*main, *roles), text or subject.text)
    reasons = [f"{subject.name}: {why}"]
    programs: list[Node] = []
    schedule: str | None = None
    if family == "sm90":
        traits, more = mainloop_traits(subject, main) if mainloop is not None else (Traits(), [])
        schedule, because = schedule_of(kernel, roles, mainloop)
        reasons += [*more, f"schedule {schedule}: {because}"]
        order = [schedule, *(mode for mode in MODES if mode != schedule)]
        programs = [sm90_program(mode, traits) for mode in order]
    elif family in ("sm100", "sm100-blockscaled"):
        schedule = "one or two CTAs an MMA"
        programs = [sm100_program(family.endswith("scaled"))]
    elif family == "attention":
        schedule = "attention"
        modes, more = attention_modes(main)
        reasons += more
        lines = attention_anchors(main, tuple(streams.get("epilogue", ())))
        programs = [attention_program(modes=modes)]
    elif family == "sm120":
        traits, more = mainloop_traits(subject, main) if mainloop is not None else (Traits(lag=0), [])
        reasons += [*more, "MMAs of a warp retire before its registers are read: simulated without a lag"]
        schedule, because = schedule_of(kernel, roles, mainloop)
        order = ["cooperative", "pingpong", "basic"] if kernel is None else [schedule]
        programs = [sm90_program(mode, Traits(traits.loads, 0)) for mode in order]
        schedule = order[0]
    return Derived(family, schedule, tuple(with_lines(tree, lines) for tree in programs), tuple(reasons))


def with_traced(derived: Derived, program: Node | None, why: str, first: bool = False) -> Derived:
    """``derived`` with the program made of the roles themselves, behind one that is known.

    ``first``: before it, where no mainloop gives the known one its lines.
    """
    reasons = [*derived.reasons, *([f"the roles as read: {why}"] if why else [])]
    if program is None:
        return Derived(derived.family, derived.schedule, derived.programs, tuple(reasons))
    if derived.family is None:
        reasons.append("the schedule is made of the roles' own operations, their loops folded")
        return Derived("traced", "traced", (program,), tuple(reasons))
    programs = (program, *derived.programs) if first else (*derived.programs, program)
    return Derived(derived.family, derived.schedule, programs, tuple(reasons))


def knob_presets(program: Node, presets: Mapping[str, int]) -> dict[str, Any]:
    """The presets that the program has knobs for."""
    return {knob["name"]: presets[knob["name"]] for knob in program["knobs"] if knob["name"] in presets}

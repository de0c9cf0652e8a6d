"""What the streams of an attention mainloop say: its modes, and where its operations stand."""

from __future__ import annotations

from collections.abc import Sequence

from warpglass.cutlass.streams import RoleStream
from warpglass.cutlass.values import Op

__all__ = ["attention_anchors", "attention_modes", "letter"]


def letter(pipe: str) -> str:
    """K, V, Vt or Q: what a pipeline or a barrier of an attention kernel guards; empty for others."""
    low = pipe.lower().rstrip("_").removesuffix("_new")
    for end, name in (("vt", "Vt"), ("_k", "K"), ("_v", "V"), ("_q", "Q")):
        if low.endswith(end):
            return name
    return ""


def _mma(streams: Sequence[RoleStream]) -> tuple[Op, ...]:
    found = [s.ops for s in streams if s.role.startswith("mma") and not s.role.endswith(("tail", "pv"))]
    return max(found, key=len, default=())


def attention_modes(streams: Sequence[RoleStream]) -> tuple[dict[str, int], list[str]]:
    """Knobs of the attention program that the streams decide, with reasons."""
    ops = _mma(streams)
    waits = [letter(op.pipe) for op in ops if op.kind == "wait"]
    if not waits:
        return {}, []
    modes = {"ov": int(waits[:2] == ["K", "K"])}
    reasons = [
        "the second Q·K is waited for before the first P·V: overlap inside a warpgroup"
        if modes["ov"]
        else "P·V of a block is waited for before the next Q·K: no overlap inside a warpgroup"
    ]
    turns = any(op.kind == "sync" and "sched" in op.pipe.lower() for op in ops)
    modes["sb"] = int(turns)
    reasons.append(f"warpgroups {'take' if turns else 'do not take'} turns at the tensor core")
    fills = {
        letter(op.pipe) for s in streams if s.role.startswith("load") for op in s.ops if op.kind == "acquire"
    }
    modes["vt"] = int("Vt" in fills)
    if modes["vt"]:
        reasons.append("the producer transposes V")
    return modes, reasons


def _load_anchor(op: Op, tail: bool) -> str:
    name = letter(op.pipe)
    if op.kind in ("acquire", "copy") and name:
        return f"load.{name}"
    if op.kind == "barrier_arrive" and name == "Q":
        return "load.Q"
    if op.kind == "wait" and name == "Vt":
        return "load.transpose"
    table = {"sync": "load.query_empty", "tail": "load.tail"}
    if op.kind == "barrier_wait":
        return "load.tail_o" if tail else "load.barrier_o"
    return table.get(op.kind, "")


def _mma_anchor(op: Op, behind: Sequence[Op], phase: str) -> str:
    name = letter(op.pipe)
    if op.kind == "barrier_wait":
        return "mma.wait_q"
    if op.kind in ("wait", "release") and name in ("K", "V"):
        return f"mma.{op.kind}_{name.lower()}"
    if op.kind == "mma":
        return "mma.qk" if phase == "K" else "mma.pv"
    if op.kind == "wgwait":
        released = next((letter(o.pipe) for o in behind if o.kind == "release"), "V")
        return "mma.retire_qk" if released == "K" else "mma.retire_pv"
    if op.kind in ("softmax", "rescale"):
        return f"mma.{op.kind}"
    if "sched" in op.pipe.lower():
        return {"sync": "mma.turn", "barrive": "mma.hand_on"}.get(op.kind, "")
    return "mma.query_empty" if op.kind == "barrive" else ""


_STORE = {"store": "store.issue", "store_wait": "store.wait", "barrier_arrive": "store.done",
          "sync": "store.sync"}  # fmt: skip


def attention_anchors(
    mainloop: Sequence[RoleStream], epilogue: Sequence[RoleStream]
) -> dict[str, tuple[str, int]]:
    """(header, line) of every anchor of the attention program; of operations of a loop, those of its body."""
    found: dict[str, tuple[str, int]] = {}
    for stream in mainloop:
        if stream.role.startswith("load") and "new" not in stream.role:
            for op in stream.ops:
                name = _load_anchor(op, stream.role.endswith("tail"))
                if name:
                    found.setdefault(name, (op.header, op.line))
    ops = _mma(mainloop)
    phase = ""
    for number, op in enumerate(ops):
        if op.kind == "wait":
            phase = letter(op.pipe)
        name = _mma_anchor(op, ops[number + 1 : number + 20], phase)
        if name and (number < len(ops) // 2 or name not in found):
            found[name] = (op.header, op.line)
    for stream in epilogue:
        for op in stream.ops:
            if op.kind in _STORE:
                found.setdefault(_STORE[op.kind], (op.header, op.line))
    return found

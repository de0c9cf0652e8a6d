"""Building blocks of pipeline programs as plain JSON (docs/pipeline.md): nodes, knobs, whole programs.

Every operation may carry an ``anchor``: a name such as ``load.acquire`` under which a parsed header gives
its own file and line (:func:`with_lines`). Without a header the anchors stay and the lines are absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "Node", "advance", "arrive", "async_", "barrive", "busy", "knob", "loop", "mma", "program", "state",
    "stwait", "store", "sync", "tcarrive", "wait", "when", "wgwait", "with_lines",
]  # fmt: skip

Node = dict[str, Any]
Expr = Any


def _node(op: str, anchor: str, **fields: Any) -> Node:
    made: Node = {"op": op, **{key: value for key, value in fields.items() if value is not None}}
    if anchor:
        made["anchor"] = anchor
    return made


def busy(d: Expr, label: str, kind: str = "issue", anchor: str = "", **more: Any) -> Node:
    """The lane works for ``d``: ``kind`` is issue, epilogue, softmax, promote, copy or scheduler."""
    return _node("busy", anchor, d=d, label=label, kind=kind, **more)


def wait(bar: str, at: str | None, cause: str, anchor: str = "", **more: Any) -> Node:
    """Wait at a barrier for the phase of the state ``at`` (or ``index`` and ``parity``)."""
    return _node("wait", anchor, bar=bar, at=at, cause=cause, **more)


def arrive(bar: str, at: str | None = None, anchor: str = "", **more: Any) -> Node:
    """Arrive; ``n`` times, expecting ``tx`` transactions."""
    return _node("arrive", anchor, bar=bar, at=at, **more)


def async_(engine: str, d: Expr, bar: str, at: str | None, label: str, anchor: str = "", **more: Any) -> Node:
    """A copy that completes one transaction of the barrier when it has landed."""
    return _node("async", anchor, engine=engine, d=d, bar=bar, at=at, label=label, **more)


def mma(d: Expr, label: str, reads: str | None, at: str | None, anchor: str = "", **more: Any) -> Node:
    """Tensor-core work, issued and not waited for; ``reads`` is the full barrier of the stage it reads."""
    return _node("mma", anchor, d=d, label=label, reads=reads, at=at, kind=more.pop("kind", "mma"), **more)


def wgwait(n: Expr, cause: str, anchor: str = "", **more: Any) -> Node:
    """Wait until at most ``n`` of the lane's groups are outstanding."""
    return _node("wgwait", anchor, n=n, cause=cause, **more)


def tcarrive(bar: str, at: str, anchor: str = "", **more: Any) -> Node:
    """Arrive when all the lane's tensor-core work so far has retired."""
    return _node("tcarrive", anchor, bar=bar, at=at, **more)


def sync(named: str, count: Expr, cause: str, anchor: str = "", **more: Any) -> Node:
    """Arrive at a named barrier and wait for it."""
    return _node("sync", anchor, named=named, count=count, cause=cause, **more)


def barrive(named: str, count: Expr, anchor: str = "", **more: Any) -> Node:
    """Arrive at a named barrier without waiting."""
    return _node("barrive", anchor, named=named, count=count, **more)


def store(d: Expr, label: str, anchor: str = "", **more: Any) -> Node:
    """A store by TMA, committed as a group of its own."""
    return _node("store", anchor, d=d, label=label, **more)


def stwait(n: Expr, anchor: str = "", cause: str = "store wait", **more: Any) -> Node:
    """Wait until at most ``n`` of the lane's stores are outstanding."""
    return _node("stwait", anchor, n=n, cause=cause, **more)


def state(name: str, stages: Expr, phase: Expr = 0, index: Expr = 0) -> Node:
    """A pipeline state: consumers start at phase 0, producers at phase 1."""
    return _node("state", "", name=name, stages=stages, phase=phase, index=index)


def copy_state(name: str, of: str) -> Node:
    """A state equal to another one as it is now."""
    return _node("state", "", name=name, copy=of)


def advance(name: str, n: Expr = 1) -> Node:
    """Move a state on."""
    return _node("advance", "", state=name, n=n)


def loop(var: str, n: Expr, body: Sequence[Node], start: Expr = 0, step: int = 1) -> Node:
    """``var`` = start, start+step, … for ``n`` turns."""
    return {"op": "loop", "var": var, "n": n, "from": start, "step": step, "body": list(body)}


def when(cond: Expr, then: Sequence[Node], otherwise: Sequence[Node] = ()) -> Node:
    """One branch or the other, by knobs and loop variables."""
    return {"op": "if", "cond": cond, "then": list(then), "else": list(otherwise)}


def put(var: str, value: Expr) -> Node:
    """Set a variable of the lane."""
    return {"op": "set", "var": var, "value": value}


#: name: (default, least, most, label, unit, group, about)
_KNOBS: Mapping[str, tuple[int, int, int, str, str, str, str]] = {
    "S": (4, 1, 16, "stages", "", "shape", "stages of the mainloop's pipeline"),
    "K": (8, 1, 256, "k-tiles", "", "shape", "k-tiles of one output tile"),
    "O": (4, 1, 64, "output tiles", "", "shape", "output tiles that one CTA works on"),
    "SQ": (2, 1, 8, "stages of Q", "", "shape", "stages of the pipeline of the operand that stays"),
    "cm": (1, 1, 4, "cluster M", "CTAs", "cluster", "CTAs along M: they share operand B by multicast"),
    "cn": (1, 1, 4, "cluster N", "CTAs", "cluster", "CTAs along N: they share operand A by multicast"),
    "W": (2, 1, 3, "consumers", "", "shape", "consumer warpgroups"),
    "L": (12, 0, 400, "TMA latency", "time", "time", "from the end of a transfer to its data being there"),
    "X": (2, 1, 100, "transfer time", "time", "time", "bandwidth: time of the transfers of one stage"),
    "M": (4, 1, 200, "MMA time", "time", "time", "tensor-core time of one k-tile of one consumer"),
    "i": (1, 0, 20, "issue cost", "time", "time", "time to issue one copy"),
    "cpi": (4, 0, 60, "cp.async issue", "time", "time", "time the producer's threads issue one stage"),
    "lag": (1, 0, 4, "release lag", "k-tiles", "shape", "k-tiles whose MMAs stay in flight"),
    "NE": (4, 0, 32, "epilogue subtiles", "", "epilogue", "subtiles of one output tile"),
    "EC": (3, 0, 100, "epilogue compute", "time", "epilogue", "compute time of one subtile"),
    "ES": (3, 0, 100, "epilogue store", "time", "epilogue", "store time of one subtile"),
    "SD": (2, 1, 8, "store stages", "", "epilogue", "stages of the store pipeline"),
    "SC": (0, 0, 8, "C stages", "", "epilogue", "stages of the C-load pipeline; 0 loads no C"),
    "P": (1, 1, 16, "promotion interval", "k-tiles", "mainloop", "k-tiles between two fp8 promotions"),
    "PD": (2, 0, 60, "promotion cost", "time", "mainloop", "time of one fp8 promotion"),
    "A": (2, 1, 4, "accumulator stages", "", "tensor memory", "accumulators in tensor memory"),
    "overlap": (0, 0, 1, "overlapping accumulators", "", "tensor memory",
                "one accumulator whose first columns are free early"),
    "CTA": (1, 1, 2, "CTAs of an MMA", "", "cluster", "1SM or 2SM instructions"),
    "Q": (20, 0, 200, "CLC latency", "time", "scheduler", "time of one query of the tile scheduler"),
    "SS": (2, 1, 4, "CLC stages", "", "scheduler", "stages of the tile scheduler's pipeline"),
    "U": (1, 0, 40, "scale copy", "time", "time", "tensor-core time of a k-tile's scale factors"),
    "um": (1, 0, 20, "UMMA issue", "time", "time", "time to issue the MMAs of one k-tile"),
    "T2R": (1, 0, 40, "tensor memory load", "time", "epilogue", "time to load one subtile of an accumulator"),
    "N": (8, 1, 128, "key blocks", "", "shape", "blocks of keys and values of one query tile"),
    "MQ": (6, 1, 200, "Q·K time", "time", "time", "tensor-core time of one block of Q·K"),
    "MP": (6, 1, 200, "P·V time", "time", "time", "tensor-core time of one block of P·V"),
    "SM": (8, 0, 200, "softmax", "time", "time", "softmax of one block"),
    "RS": (1, 0, 60, "rescale", "time", "time", "rescaling the output"),
    "TR": (3, 0, 60, "transpose", "time", "time", "transposing one block of V"),
    "ov": (1, 0, 1, "overlap in a warpgroup", "", "attention", "Q·K of a block before P·V of the last one"),
    "sb": (1, 0, 1, "scheduler barrier", "", "attention", "warpgroups take turns at the tensor core"),
    "vt": (0, 0, 1, "V transposed", "", "attention", "the producer transposes V (fp8)"),
    "bm": (128, 1, 1024, "tile M", "", "memory", "rows of A in a stage"),
    "bn": (128, 1, 1024, "tile N", "", "memory", "columns of B in a stage"),
    "bk": (64, 1, 1024, "tile K", "", "memory", "depth of a stage"),
    "ba": (16, 1, 64, "bits of A", "", "memory", "bits of one element of A"),
    "bb": (16, 1, 64, "bits of B", "", "memory", "bits of one element of B"),
    "bs": (0, 0, 65536, "scales", "B", "memory", "bytes of scale factors in a stage"),
    "cap": (232448, 1, 1048576, "shared memory", "B", "memory", "shared memory a block can have"),
    "co": (0, 0, 1048576, "carve-out", "B", "memory", "shared memory of the epilogue and the scheduler"),
}  # fmt: skip

_BITS = ["*", "bk", ["+", ["*", "ba", "bm"], ["*", "bb", "bn"]]]
_STAGE = ["+", 16, ["*", 128, ["cdiv", ["+", ["cdiv", _BITS, 8], "bs"], 128]]]

#: Bytes of a stage and the most stages that fit (CUTLASS, builders/sm90_gmma_builder.inl:69-85).
MEMORY: Node = {"stage": _STAGE, "most": ["//", ["max", 0, ["-", "cap", "co"]], _STAGE]}


def memory_knobs(bits: int = 16) -> list[Node]:
    """The knobs that :data:`MEMORY` depends on, for elements of ``bits`` bits."""
    given = {"ba": bits, "bb": bits}
    return [knob(name, given.get(name)) for name in ("bm", "bn", "bk", "ba", "bb", "bs", "cap", "co")]


def knob(name: str, value: int | None = None, **more: int) -> Node:
    """The knob of that name, with another default where ``value`` is given."""
    default, least, most, label, unit, group, about = _KNOBS[name]
    made: Node = {
        "name": name, "value": default if value is None else value, "min": least, "max": most, "label": label,
        "unit": unit, "group": group, "about": about, **more,
    }  # fmt: skip
    made["min"] = min(made["min"], made["value"])
    made["max"] = max(made["max"], made["value"])
    return made


def lane(name: str, role: str, body: Sequence[Node], cta: int = 0, on: Expr = 1) -> Node:
    """One role of one CTA; ``on`` says for which knobs it is there."""
    return {"name": name, "role": role, "cta": cta, "when": on, "body": list(body)}


def pipe(name: str, kind: str, stages: Expr, full: Expr, empty: Expr, title: str, **more: Any) -> Node:
    """A pipeline: ``stages`` pairs of barriers that count ``full`` and ``empty`` arrivals."""
    return {
        "name": name,
        "class": kind,
        "stages": stages,
        "full": full,
        "empty": empty,
        "title": title,
        **more,
    }


def engine(name: str, kind: str, latency: Expr = 0) -> Node:
    """An engine that takes operations in order: tma, cpasync, tc, store or clc."""
    return {"name": name, "kind": kind, "latency": latency}


def program(id_: str, title: str, **parts: Any) -> Node:
    """A whole program as a tree of its own: no node stands in it twice."""
    made: Node = {
        "schema": "warpglass-pipeline/1",
        "id": id_,
        "title": title,
        "let": [],
        "bars": [],
        "named": [],
        **parts,
    }
    tree: Node = json.loads(json.dumps(made))
    return tree


def with_lines(tree: Node, lines: Mapping[str, tuple[str, int]]) -> Node:
    """The program with (source, line) of each anchor that ``lines`` names."""
    copy: Node = json.loads(json.dumps(tree))
    stack = [node for entry in copy["lanes"] for node in entry["body"]]
    while stack:
        node = stack.pop()
        for key in ("body", "then", "else"):
            stack += node.get(key, ())
        place = lines.get(node.get("anchor", ""))
        if place is not None:
            node["src"], node["line"] = place
    return copy

"""What calls mean: pipelines, states, barriers, copies, tensor-core work. A table of small functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from warpglass.cutlass.flags import CALLS
from warpglass.cutlass.values import BarrierRef, Op, Pipe, State, Struct, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

    from warpglass.cutlass.interpret import Interpreter

__all__ = ["free_call", "method_call"]

#: Methods of every pipeline class that are one operation of the stream.
_PIPE_METHODS = {
    "producer_acquire": "acquire",
    "producer_acquire_bytes": "acquire",
    "producer_commit": "commit",
    "producer_tail": "tail",
    "producer_expect_transaction": "expect",
    "consumer_wait": "wait",
    "consumer_release": "release",
}
_TOKENS = {"producer_try_acquire", "consumer_try_wait", "consumer_test_wait", "producer_test_acquire"}
_GEMM = re.compile(r"(?:^|::|\b)(?:gemm\w*|mma_unrolled|warpgroup_gemm|gemm_zero_acc|gemm_reset_zero_acc)$")
_OWN_BARRIER = re.compile(r"\.with\(.*?\b(barrier_\w+)\b")
_COPY = re.compile(r"(?:^|::)(?:copy|copy_if|copy_aligned|copy_predicated)$")


def _state(args: Sequence[Any]) -> State | None:
    return next((a for a in args if isinstance(a, State)), None)


def method_call(
    run: Interpreter, target: Any, path: str, name: str, args: Sequence[Any], node: Node
) -> tuple[bool, Any]:
    """(whether the call means something here, its value)."""
    line = node.start_point.row + 1
    if isinstance(target, State):
        if name in ("index", "phase", "count"):
            return True, getattr(target, name)
        if name == "advance":
            target.advance(args[0] if args and isinstance(args[0], int) else 1)
            return True, target
    if isinstance(target, Pipe):
        return _pipe_call(run, target, name, args, line)
    if isinstance(target, Struct) and name in target.members:
        return True, target.members[name]
    low = path.lower()
    if "order" in low and name in ("wait", "arrive"):
        run.emit(Op(f"order_{name}", path.rsplit(".", 1)[-1], line=line))
        return True, Unknown(name)
    if name in ("wait", "arrive", "arrive_and_expect_tx", "sync", "try_wait", "arrive_and_wait") and (
        "bar" in low or "mbar" in low or "::" in path
    ):
        kind = "barrier_wait" if name.endswith("wait") and name != "arrive_and_wait" else "barrier_arrive"
        if "NamedBarrier" in path or name == "sync":
            kind = "sync" if name in ("sync", "arrive_and_wait") else "barrive"
        parity = args[0] & 1 if kind == "barrier_wait" and args and isinstance(args[0], int) else -1
        if name == "try_wait":
            return True, Unknown(name)
        text = run.text(node)[:120]
        run.emit(Op(kind, path.rsplit(".", 1)[-1][:60], phase=parity, line=line, text=text))
        return True, Unknown(name)
    if name in CALLS:
        return True, run.knobs["K"] if CALLS[name] == "K" else 0
    if name == "is_valid":
        return True, True
    if name in ("fetch_next_work", "advance_to_next_work"):
        run.emit(
            Op("fetch" if name.startswith("fetch") else "query", path.rsplit(".", 1)[-1][:40], line=line)
        )
        return True, Struct(items=[Unknown("work_tile_info"), True], path="work")
    return False, None


def _pipe_call(run: Interpreter, pipe: Pipe, name: str, args: Sequence[Any], line: int) -> tuple[bool, Any]:
    state = _state(args)
    if name in _TOKENS:
        return True, Unknown("token")
    if name == "producer_get_barrier":
        stage = state.index if state is not None else -1
        run.stage = (pipe.name, stage)
        return True, BarrierRef(pipe.name, stage)
    kind = _PIPE_METHODS.get(name)
    if kind is None:
        return name in ("init_masks", "get_barrier"), Unknown(name)
    stage = state.index if state is not None else next((a for a in args if isinstance(a, int)), -1)
    phase = state.phase if state is not None else -1
    if kind == "acquire":
        run.stage = (pipe.name, stage)
    run.emit(Op(kind, pipe.name, stage, phase, line=line, count=state.count if state is not None else -1))
    if pipe.kind:
        run.stream.kinds.setdefault(pipe.name, pipe.kind)
    return True, Unknown(name)


def free_call(
    run: Interpreter, name: str, template: Sequence[Any], args: Sequence[Any], node: Node
) -> tuple[bool, Any]:
    """A call of a free function; (whether it means something here, its value)."""
    line = node.start_point.row + 1
    bare = name.rsplit("::", 1)[-1]
    if _COPY.search(name):
        text = run.text(node)
        if ".with(" in text or re.search(r"(?<![a-z])tma", text, re.I):
            bar = run.last_barrier
            pipe, stage = (bar.pipe, bar.stage) if bar is not None else run.stage
            own = _OWN_BARRIER.search(text) if bar is None else None
            if own is not None:
                pipe, stage = own.group(1), -1
            store = re.search(r"\(\s*params\.tma_store|tma_store", text) is not None
            run.emit(Op("store" if store else "copy", "" if store else pipe, stage, line=line))
            run.last_barrier = None
        return True, Unknown(name)
    if _GEMM.search(name):
        run.emit(Op("mma", line=line, text=run.text(node)[:80]))
        if len(template) == 2 and type(template[1]) is int and template[1] >= 0:
            run.emit(Op("wgwait", n=template[1], line=line))
        return True, Unknown(name)
    if bare in ("warpgroup_wait", "warpgroup_wait_all"):
        count = template[0] if template and isinstance(template[0], int) else 0
        run.emit(Op("wgwait", n=count, line=line))
        return True, Unknown(name)
    if bare in ("tma_store_wait", "tma_store_arrive"):
        count = template[0] if template and isinstance(template[0], int) else 0
        run.emit(Op("store_wait" if bare.endswith("wait") else "store_commit", n=count, line=line))
        return True, Unknown(name)
    if bare in ("cp_async_wait",):
        return True, Unknown(name)
    if bare in CALLS:
        return True, run.knobs["K"] if CALLS[bare] == "K" else 0
    if bare == "size" and "TMEM" in run.text(node):
        return True, 16  # registers of a thread that holds a row of tensor memory: several steps of a loop
    handler = _PURE.get(bare)
    if handler is not None:
        return True, handler(args, template, run)
    if "NamedBarrier" in name or "named_barrier" in name.lower():
        run.emit(Op("sync" if "sync" in bare else "barrive", run.text(node)[:60], line=line))
        return True, Unknown(name)
    if bare == "make_producer_start_state":
        return True, State(run.stages_for(run.text(node)), 0, 1)
    return False, None


def _numbers(function: Callable[..., int]) -> Callable[[Sequence[Any], Sequence[Any], Interpreter], Any]:
    def apply(args: Sequence[Any], _template: Sequence[Any], _run: Interpreter) -> Any:
        if args and all(isinstance(a, int) for a in args):
            try:
                return function(*args)
            except (ZeroDivisionError, TypeError):
                return Unknown("arithmetic")
        return Unknown("arithmetic")

    return apply


def _get(args: Sequence[Any], template: Sequence[Any], run: Interpreter) -> Any:
    if args and isinstance(args[0], Struct) and template and isinstance(template[0], int):
        items = args[0].items
        return items[template[0]] if template[0] < len(items) else Unknown("get")
    if args and isinstance(args[0], Unknown) and template and isinstance(template[0], int):
        shape = run.shape_of(args[0].path)
        if template[0] < len(shape):
            return shape[template[0]]
    return Unknown("get")


def _pack(args: Sequence[Any], _template: Sequence[Any], _run: Interpreter) -> Any:
    return Struct(items=list(args), path="tuple")


_PURE: dict[str, Callable[[Sequence[Any], Sequence[Any], Any], Any]] = {
    "min": _numbers(min),
    "max": _numbers(max),
    "ceil_div": _numbers(lambda a, b: -(-a // b)),
    "get": _get,
    "make_tuple": _pack,
    "tie": _pack,
    "forward_as_tuple": _pack,
    "size": lambda args, template, run: args[0] if args and isinstance(args[0], int) else run.size_of(),
    "static_cast": lambda args, template, run: args[0] if args else Unknown("cast"),
    "__shfl_sync": lambda args, template, run: args[1] if len(args) > 1 else Unknown("shuffle"),
    "canonical_warp_group_idx": lambda args, template, run: run.knobs.get("wg", Unknown("warp group")),
    "canonical_warp_group_idx_nosync": lambda args, template, run: run.knobs.get("wg", Unknown("warp group")),
    "canonical_warp_idx_sync": lambda args, template, run: run.knobs.get("warp", Unknown("warp")),
    "elect_one_sync": lambda args, template, run: True,
    "elect_one_leader_sync": lambda args, template, run: True,
    "is_valid": lambda args, template, run: True,
    "forward": lambda args, template, run: args[0] if args else Unknown("forward"),
    "move": lambda args, template, run: args[0] if args else Unknown("move"),
    "conditional_return": lambda args, template, run: args[0] if template and template[0] is True else (
        args[1] if len(args) > 1 else Unknown("conditional_return")
    ),
}  # fmt: skip

"""Calls of the interpreter: lambdas, functions of the headers, methods, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from warpglass.cuda.grammar import text_of
from warpglass.cutlass.calls import free_call, method_call
from warpglass.cutlass.flags import TURNS, WORK
from warpglass.cutlass.values import BarrierRef, Closure, Op, Pipe, State, Struct, Unknown, guess

if TYPE_CHECKING:
    from warpglass.cutlass.interpret import Stream
    from warpglass.cutlass.structure import Function, Header

__all__ = ["Calls"]

_SYNC = re.compile(
    r"producer_acquire|consumer_wait|producer_commit|consumer_release|producer_tail|warpgroup_wait|\bgemm\b|"
    r"NamedBarrier|\.arrive\(|\.wait\(|tma_store|\.with\("
)
_COLLECTIVE = {
    "load", "load_tail", "mma", "mma_tail", "store", "store_tail", "load_ab", "load_sf", "load_tail_tma",
    "transform", "accum", "load_auxiliary", "load_MK", "load_NK", "load_A", "load_B", "load_tma",
    "load_cpasync", "epilogue",
    "load_ab_tail", "load_sf_tail", "load_tail_cpasync", "softmax", "correction", "run", "operator()",
}  # fmt: skip


class Calls:
    """Mixed into the interpreter, which holds the state."""

    headers: tuple[Header, ...]
    knobs: dict[str, int]
    roles: dict[str, str]
    decide: dict[str, bool]
    scopes: list[dict[str, Any]]
    header: str
    computing: set[str]
    last_barrier: BarrierRef | None
    naming: int
    named: list[str]
    stream: Stream

    if TYPE_CHECKING:

        def emit(self, op: Op) -> None: ...
        def flag(self, name: str) -> bool | None: ...
        def assign(self, name: str, value: Any) -> None: ...
        def text(self, node: Node | None) -> str: ...
        def execute(self, node: Node | None) -> None: ...
        def functions(self, name: str) -> list[Function]: ...
        def enter(self, function: Function, scope: dict[str, Any]) -> Any: ...
        def call_closure(self, closure: Closure, args: Sequence[Any]) -> Any: ...
        def stages_for(self, text: str) -> int: ...
        def evaluate(self, node: Node | None) -> Any: ...
        def lookup(self, name: str) -> Any: ...
        def known(self, name: str) -> Any: ...

    # ---------------------------------------------------------------- calls
    def eval_call_expression(self, node: Node) -> Any:
        callee = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        if callee is None:
            return Unknown("")
        argument_nodes = [
            c for c in (listed.named_children if listed is not None else ()) if c.type != "comment"
        ]
        args = [self.evaluate(child) for child in argument_nodes]
        barrier = next((a for a in args if isinstance(a, BarrierRef)), None)
        if barrier is not None:
            self.last_barrier = barrier
        if callee.type == "field_expression":
            return self.method(callee, argument_nodes, args, node)
        name, template = self.callee(callee)
        value = self.known(name)
        if isinstance(value, Closure):
            return self.call_named(name, value, args, node.start_point.row + 1)
        if callee.type == "lambda_expression":
            return self.call_closure(self.evaluate(callee), args)
        if name.rsplit("::", 1)[-1] in ("for_each", "transform_apply"):
            return self.for_each(argument_nodes, args)
        if re.fullmatch(r"(?:cute::)?(?:Int|C)", name) and template:
            return template[0]
        if name in ("int", "uint32_t", "int32_t", "uint64_t", "bool", "uint16_t", "static_cast") and args:
            return args[0]
        bare = name.rsplit("::", 1)[-1]
        if ("NamedBarrier" in name and "::" in name) or bare.startswith("named_barrier_"):
            kind = "sync" if name.endswith(("sync", "arrive_and_wait")) else "barrive"
            self.named_barrier(kind, argument_nodes, node)
            return Unknown(name)
        functions = self.candidates(name, len(args))
        if functions:
            return self.call_function(functions, args, argument_nodes)
        if bare in TURNS and bare != name:
            self.emit(Op(TURNS[bare], name.rsplit("::", 2)[-2][:60], line=node.start_point.row + 1))
            return Unknown(name)
        known, value = free_call(self, name, template, args, node)  # type: ignore[arg-type]
        return value if known else Unknown(name[:60])

    def call_named(self, name: str, closure: Closure, args: Sequence[Any], line: int) -> Any:
        """Call a local lambda; one that only wraps a method of a pipeline says the line of its caller."""
        start = len(self.stream.ops)
        value = self.call_closure(closure, args)
        if name in ("consumer_wait", "consumer_release", "producer_acquire"):
            self.stream.ops[start:] = [replace(op, line=line) for op in self.stream.ops[start:]]
        return value

    def named_barrier(self, kind: str, nodes: Sequence[Node], node: Node) -> None:
        """Record a call on a named barrier: ``pipe`` is the name of its id, with what is added to it."""
        text = re.sub(r"\s+", "", ",".join(text_of(a) for a in nodes))
        self.named = []
        offset = self.barrier_offset(nodes[-1]) if nodes else 0
        name = (self.named[-1] + (f"{offset:+d}" if offset else "")) if self.named else text
        count = self.evaluate(nodes[0]) if nodes else 0
        threads = count if type(count) is int else 0
        self.emit(Op(kind, name[:60], n=threads, line=node.start_point.row + 1, text=text[:120]))

    def barrier_offset(self, node: Node) -> int:
        """What an id adds to the enumerator that it names; 0 where that is not known."""
        self.naming += 1
        try:
            value = self.evaluate(node)
        finally:
            self.naming -= 1
        return value if isinstance(value, int) else 0

    def callee(self, node: Node) -> tuple[str, list[Any]]:
        """(name, template arguments) of what is called."""
        template: list[Any] = []
        inner = node
        while inner.type == "qualified_identifier":
            name = inner.child_by_field_name("name")
            if name is None:
                break
            inner = name
        if inner.type == "template_function":
            listed = inner.child_by_field_name("arguments")
            # ``f<N>()`` parses N as a type: a plain word is looked up as a value.
            template = [
                self.lookup(text_of(c)) if re.fullmatch(r"[A-Za-z_]\w*", text_of(c)) else self.evaluate(c)
                for c in (listed.named_children if listed is not None else ())
            ]
        return re.sub(r"<.*", "", self.text(node), flags=re.DOTALL).strip(), template

    def candidates(self, name: str, count: int) -> list[Function]:
        """Functions of the headers that a call may mean and that do something to a pipeline."""
        bare = name.rsplit("::", 1)[-1]
        if bare in ("copy", "gemm") or name.startswith("cute::"):
            return []
        found = [
            f
            for f in self.functions(bare)
            if len(f.params) - f.optional <= count <= len(f.params)
            and (self.naming or _SYNC.search(f.source))
        ]
        return sorted(found, key=lambda f: (f.header != self.header, len(f.params) - count))

    def call_function(
        self,
        functions: Sequence[Function],
        args: Sequence[Any],
        nodes: Sequence[Node] = (),
        members: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the first of ``functions``; integers that are passed by reference come back changed."""
        function = functions[0]
        scope: dict[str, Any] = dict(members or {})
        for position, (type_, name, reference) in enumerate(function.params):
            value = (
                args[position] if position < len(args) else dict(function.defaults).get(name, Unknown(name))
            )
            if isinstance(value, Unknown):
                made = guess(name, self.knobs, type_)
                value = made if isinstance(made, State | Pipe | int) else value
            scope[name] = value.copy() if isinstance(value, State) and not reference else value
        given = dict(scope)
        result = self.enter(function, scope)
        for (_, name, reference), node in zip(function.params, nodes, strict=False):
            changed = isinstance(scope.get(name), int) and scope[name] != given.get(name)
            if reference and changed and node.type == "identifier":
                self.assign(text_of(node), scope[name])
        return result

    def method(self, callee: Node, argument_nodes: Sequence[Node], args: Sequence[Any], node: Node) -> Any:
        target_node = callee.child_by_field_name("argument")
        field = callee.child_by_field_name("field")
        name = re.sub(r"<.*", "", text_of(field), flags=re.DOTALL).strip()
        target = self.evaluate(target_node)
        path = self.text(target_node)
        known, value = method_call(self, target, path, name, args, node)  # type: ignore[arg-type]
        if known:
            return value
        if name in WORK and re.search(r"softmax|updater", path, re.I):
            self.emit(Op(WORK[name], line=node.start_point.row + 1))
            return Unknown(f"{path}.{name}"[:80])
        functions = self.candidates(name, len(args))
        if isinstance(target, Struct) and target.members:
            mine = [f for f in functions if f.owner.split("<")[0] == target.path]
            if mine:
                return self.call_function(mine, args, argument_nodes, target.members)
        if functions and not isinstance(target, State | Pipe):
            return self.call_function(functions, args, argument_nodes)
        if isinstance(target, Closure):
            return self.call_closure(target, args)
        if path.startswith("collective_") and name in _COLLECTIVE:
            # The header of that collective was not given: the call itself is what is known.
            self.emit(Op("call", f"{path}.{name}", line=node.start_point.row + 1))
        return Unknown(f"{path}.{name}"[:80])

    def for_each(self, nodes: Sequence[Node], args: Sequence[Any]) -> Any:
        """``for_each(make_int_sequence<N>{}, [&](auto k) { … })``."""
        closure = next((a for a in args if isinstance(a, Closure)), None)
        if closure is None:
            return Unknown("for_each")
        match = re.search(r"<\s*([\w:]+)\s*>", self.text(nodes[0])) if nodes else None
        count = self.knobs.get("KB", 4)
        if match:
            value = int(match.group(1)) if match.group(1).isdigit() else self.lookup(match.group(1))
            count = value if isinstance(value, int) else count
        for turn in range(min(count, 64)):
            self.call_closure(closure, [turn])
        return Unknown("for_each")

"""Runs a header's functions with concrete knobs and records the stream of pipeline operations.

No C++ is compiled and no template instantiated: integers, pipeline states, pipelines, lambdas and tuples are
values, everything else is unknown. A condition on something unknown is decided by a rule and recorded, so
that the reader sees what was assumed and can decide otherwise by ``--decide``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tree_sitter import Node

from warpglass.cuda.grammar import text_of
from warpglass.cutlass.expressions import Expressions
from warpglass.cutlass.flags import FLAGS
from warpglass.cutlass.structure import Function, Header
from warpglass.cutlass.values import BarrierRef, Closure, Op, State, Struct, Unknown, guess, stages_of

__all__ = ["Decision", "Interpreter", "Stream"]

_MAX_OPS = 20_000
_MAX_STEPS = 400_000
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Decision:
    """A condition that the source does not decide: where, its text, what was assumed."""

    header: str
    line: int
    condition: str
    taken: bool


@dataclass(slots=True)
class Stream:
    """What one run recorded."""

    ops: list[Op] = field(default_factory=list)
    decisions: dict[tuple[str, int], Decision] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    flags: dict[str, Decision] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def decided(self) -> tuple[Decision, ...]:
        """Every condition and switch that was assumed."""
        return (*self.decisions.values(), *self.flags.values())


#: A branch that does nothing but leave.
_LEAVES = re.compile(r"\{?\s*(?:continue|return)\s*;\s*\}?")


class Stop(Exception):
    """The run is cut: too many steps or operations."""


class Leave(Exception):
    """break, continue or return."""

    def __init__(self, how: str, value: Any = None) -> None:
        super().__init__(how)
        self.how = how
        self.value = value


class Interpreter(Expressions):
    """One run over one set of headers. ``roles`` decide comparisons with enumerators (enum: enumerator)."""

    def __init__(
        self,
        headers: Sequence[Header],
        knobs: Mapping[str, int],
        roles: Mapping[str, str] | None = None,
        decide: Mapping[str, bool] | None = None,
    ) -> None:
        self.headers = tuple(headers)
        self.knobs = dict(knobs)
        self.roles = dict(roles or {})
        self.decide = dict(decide or {})
        self.stream = Stream()
        self.steps = 0
        self.depth = 0
        self.stage: tuple[str, int] = ("", -1)
        self.last_barrier: BarrierRef | None = None
        self.header = headers[0].name if headers else ""
        self.scopes: list[dict[str, Any]] = [{}]
        self.computing: set[str] = set()
        self.fetched = 0
        self.line = 0
        self.naming = 0
        self.named: list[str] = []

    # ---------------------------------------------------------------- the record
    def emit(self, op: Op) -> None:
        """Add an operation of the present header."""
        if len(self.stream.ops) >= _MAX_OPS:
            raise Stop("too many operations")
        self.stream.ops.append(replace(op, header=self.header))

    def text(self, node: Node | None) -> str:
        """The source text of a node on one line."""
        return " ".join(text_of(node).split())

    def stages_for(self, text: str) -> int:
        """Stages of the pipeline that ``text`` names."""
        return stages_of(text.lower(), self.knobs)

    def flag(self, name: str) -> bool | None:
        """The value of a switch by its name: as decided, else as it usually is, which is recorded."""
        if name in self.decide:
            return self.decide[name]
        if name not in FLAGS:
            return None
        self.stream.flags.setdefault(name, Decision(self.header, self.line, name, FLAGS[name]))
        return FLAGS[name]

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The numbers of a shape that a header spells out (``ThreadShape = Shape<_2, _1, _1>``)."""
        if not re.fullmatch(r"[A-Z]\w{2,60}", name):
            return ()
        pattern = re.compile(rf"\b{name}\s*=\s*(?:cute::)?Shape<\s*((?:_\d+\s*,?\s*)+)>")
        match = next((m for h in self.headers if (m := pattern.search(h.text))), None)
        return tuple(int(n) for n in re.findall(r"_(\d+)", match.group(1))) if match else ()

    def size_of(self) -> int:
        """A size that only an instantiation would tell: k-blocks of a tile."""
        return self.knobs.get("KB", 4)

    # ---------------------------------------------------------------- functions
    def functions(self, name: str) -> list[Function]:
        """Functions of that name over all headers, the first header's first."""
        return [f for header in self.headers for f in header.functions.get(name, ())]

    def run(self, function: Function, arguments: Mapping[str, Any] | None = None) -> Any:
        """Run ``function`` with values for parameters by name; the others are guessed. Never raises."""
        given = dict(arguments or {})
        scope = {}
        for type_, name, _ in function.params:
            scope[name] = given.get(name, dict(function.defaults).get(name, guess(name, self.knobs, type_)))
        try:
            return self.enter(function, scope)
        except Stop as stop:
            self.stream.notes.append(f"{function.name} was cut: {stop}")
        except RecursionError:
            self.stream.notes.append(f"{function.name} is nested too deeply")
        return None

    def enter(self, function: Function, scope: dict[str, Any]) -> Any:
        """Run a body in a scope of its own."""
        if self.depth >= _MAX_DEPTH:
            return Unknown(function.name)
        saved = self.scopes, self.header
        self.scopes, self.header = [{}, scope], function.header
        self.depth += 1
        try:
            self.execute(function.body)
            return Unknown(function.name)
        except Leave as leave:
            return leave.value if leave.how == "return" else Unknown(function.name)
        finally:
            self.depth -= 1
            self.scopes, self.header = saved

    def call_closure(self, closure: Closure, args: Sequence[Any]) -> Any:
        """Call a lambda in the scopes it was made in."""
        if self.depth >= _MAX_DEPTH:
            return Unknown("lambda")
        from warpglass.cutlass.structure import parameter

        declarator = closure.node.child_by_field_name("declarator")
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        scope: dict[str, Any] = {}
        places = [parameter(item) for item in (listed.named_children if listed is not None else ())]
        for place, value in zip([p for p in places if p is not None], args, strict=False):
            scope[place[1]] = value if place[2] or not isinstance(value, State) else value.copy()
        saved = self.scopes, self.header
        self.scopes, self.header = [*closure.scopes, scope], closure.header
        self.depth += 1
        try:
            self.execute(closure.node.child_by_field_name("body"))
            return Unknown("lambda")
        except Leave as leave:
            return leave.value if leave.how == "return" else Unknown("lambda")
        finally:
            self.depth -= 1
            self.scopes, self.header = saved

    # ---------------------------------------------------------------- statements
    def execute(self, node: Node | None) -> None:
        """Run one statement."""
        if node is None:
            return
        self.steps += 1
        self.line = node.start_point.row + 1
        if self.steps > _MAX_STEPS:
            raise Stop("too many steps")
        handler = getattr(self, f"do_{node.type}", None)
        if handler is not None:
            handler(node)
        elif node.type.endswith("_statement") or node.type in ("ERROR", "declaration_list"):
            for child in node.named_children:
                self.execute(child)
        elif node.type not in ("comment", "type_definition", "using_declaration", "alias_declaration"):
            self.evaluate(node)

    def do_compound_statement(self, node: Node) -> None:
        self.scopes.append({})
        try:
            for child in node.named_children:
                self.execute(child)
        finally:
            self.scopes.pop()

    def do_if_statement(self, node: Node) -> None:
        condition = node.child_by_field_name("condition")
        self.scopes.append({})
        try:
            if condition is not None:
                initializer = condition.child_by_field_name("initializer")
                if initializer is not None:
                    self.execute(initializer)
            taken = node.child_by_field_name("consequence")
            if self.holds(condition, leaves=_LEAVES.fullmatch(text_of(taken)) is not None):
                self.execute(taken)
            else:
                other = node.child_by_field_name("alternative")
                for child in other.named_children if other is not None else ():
                    self.execute(child)
        finally:
            self.scopes.pop()

    def holds(self, condition: Node | None, loop: bool = False, leaves: bool = False) -> bool:
        """Whether a condition holds; one that cannot be known is decided and recorded.

        ``leaves``: what it guards only leaves the loop's turn or the function: not the ordinary path.
        """
        value_node = condition
        if condition is not None and condition.type == "condition_clause":
            value_node = condition.child_by_field_name("value")
        text = self.text(value_node)
        if loop and "is_valid" in text:
            self.fetched += 1
            if self.fetched <= self.knobs["O"]:
                self.emit(Op("tile", line=self.line))
            return self.fetched <= self.knobs["O"]
        value = self.evaluate(value_node) if value_node is not None else True
        if isinstance(value, bool | int):
            return bool(value)
        line = condition.start_point.row + 1 if condition is not None else 0
        forced = next((taken for part, taken in self.decide.items() if part in text), None)
        taken = forced if forced is not None else (not loop and not leaves and self.assume(text))
        if not isinstance(value, Unknown) or value.path != "flag":
            self.stream.decisions.setdefault(
                (self.header, line), Decision(self.header, line, text[:160], taken)
            )
        return taken

    def assume(self, text: str) -> bool:
        """The rule for conditions that nothing decides: the ordinary path of a dense kernel."""
        low = text.lower().replace(" ", "")
        if text.startswith("not "):
            return not self.assume(text[4:])
        if low.startswith("!") and "&&" not in low and "||" not in low:
            return not self.assume(text.lstrip()[1:])
        refused = ("isasymmetric", "debug", "==nullptr", "is_same_v<void", "is_void", "tensormap",
                   "did_batch_change", "problem_shape)==0",
                   "empty", "issparse", "isgrouped", "fast_path", "reuse", "streamk", "separate_reduction",
                   "is_final_split", "requires_separate", "tile_skip", "should_skip", "overlap", "is_last",
                   "skip_wait")  # fmt: skip
        return not any(word in low for word in refused)

    def do_for_statement(self, node: Node) -> None:
        self.scopes.append({})
        try:
            start = node.child_by_field_name("initializer")
            if start is not None:
                self.execute(start)
            self.loop(node.child_by_field_name("condition"), node.child_by_field_name("body"),
                      node.child_by_field_name("update"))  # fmt: skip
        finally:
            self.scopes.pop()

    def do_while_statement(self, node: Node) -> None:
        self.loop(node.child_by_field_name("condition"), node.child_by_field_name("body"), None)

    def do_do_statement(self, node: Node) -> None:
        self.loop(node.child_by_field_name("condition"), node.child_by_field_name("body"), None, first=True)

    def do_for_range_loop(self, node: Node) -> None:
        self.execute(node.child_by_field_name("body"))

    def loop(
        self, condition: Node | None, body: Node | None, update: Node | None, first: bool = False
    ) -> None:
        unknown = 0
        if first and condition is not None and "is_valid" in self.text(condition):
            self.fetched += 1
            self.emit(Op("tile", line=self.line))
        while True:
            if not first:
                value = None
                if condition is not None and "is_valid" not in self.text(condition):
                    inner = (
                        condition.child_by_field_name("value")
                        if condition.type == "condition_clause"
                        else condition
                    )
                    value = self.evaluate(inner) if inner is not None else True
                if isinstance(value, Unknown | Struct | State):
                    # A loop over something unknown is run once, so that its operations are seen.
                    unknown += 1
                    if unknown == 1:
                        line = condition.start_point.row + 1 if condition is not None else 0
                        text = self.text(condition)[:140]
                        self.stream.decisions.setdefault(
                            (self.header, line), Decision(self.header, line, f"loop once: {text}", True)
                        )
                    if unknown > 1:
                        return
                elif not (value if value is not None else self.holds(condition, loop=True)):
                    return
            try:
                self.execute(body)
            except Leave as leave:
                if leave.how == "break":
                    return
                if leave.how == "return":
                    raise
            if update is not None:
                self.evaluate(update)
            first = False
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise Stop("too many steps")

    def do_break_statement(self, node: Node) -> None:
        raise Leave("break")

    def do_continue_statement(self, node: Node) -> None:
        raise Leave("continue")

    def do_return_statement(self, node: Node) -> None:
        raise Leave("return", self.evaluate(node.named_children[0]) if node.named_children else None)

    def do_switch_statement(self, node: Node) -> None:
        self.execute(node.child_by_field_name("body"))

    def do_declaration(self, node: Node) -> None:
        self.declare(node)

    def do_function_definition(self, node: Node) -> None:
        """A local class or function: nothing runs by declaring it."""

"""What the host code of a file says about its launches: constant parameters and the sizes of allocations.

A launch often stands in a function of its own, ``void run(int n, float *x) { k<<<n / 256, 256>>>(x); }``. Its
parameters are known where every call in the file passes the same constant, and its pointers have the bytes
that ``cudaMalloc`` gave them, in it or in what calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from warpglass.cuda.constants import Scope, Value, function_scope
from warpglass.cuda.grammar import child_kinds, text_of, walk
from warpglass.cuda.model import Allocation

__all__ = ["HostCode", "bare_name"]

#: Calls of one function that are compared, and functions that call each other.
_MOST_CALLS = 64
_DEEPEST = 12
#: Arguments of calls that are evaluated for one file.
_MOST_VALUES = 20_000

_ALLOCATES = frozenset(
    {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync", "cudaMallocHost", "cudaHostAlloc"}
)
_CASTS = re.compile(r"(?:reinterpret|static|const)_cast\s*<.*>", re.S)


@dataclass(slots=True)
class _Function:
    """A function defined in the file: names of its parameters and template parameters, and who calls it."""

    node: Node
    params: tuple[str, ...]
    template: tuple[str, ...]
    calls: list[tuple[Node, _Function | None]] = field(default_factory=list)


class HostCode:
    """The functions of one file. ``outer`` is the scope of the file."""

    def __init__(self, root: Node, outer: Scope) -> None:
        self._outer = outer
        self._by_node: dict[int, _Function] = {}
        self._scopes: dict[int, Scope] = {}
        self._allocations: dict[int, dict[str, Allocation | None]] = {}
        self._open: set[int] = set()
        self._values = 0
        named: dict[str, list[_Function]] = {}
        mentions: dict[str, int] = {}
        calls: list[tuple[Node, _Function | None]] = []
        for node, inside, template in _with_functions(root):
            if node.type == "function_definition":
                function = _function(node, template)
                self._by_node[node.id] = function
                named.setdefault(_defined_name(node), []).append(function)
            elif node.type == "call_expression":
                calls.append((node, self._by_node.get(inside.id) if inside is not None else None))
            elif node.type == "identifier":
                mentions[text_of(node)] = mentions.get(text_of(node), 0) + 1
            elif node.type == "function_declarator":
                name = bare_name(text_of(node.child_by_field_name("declarator")))
                mentions[name] = mentions.get(name, 0) - 1
        for call, inside_of in calls:
            name = bare_name(text_of(call.child_by_field_name("function")))
            mentions[name] = mentions.get(name, 0) - 1
            if len(named.get(name, ())) == 1:
                named[name][0].calls.append((call, inside_of))
        for name, functions in named.items():
            # An overload, or a function that is handed on by its name, may be called with anything.
            if len(functions) > 1 or mentions.get(name, 0) > 0:
                for function in functions:
                    function.calls.clear()

    # -- constants ---------------------------------------------------------------------------------------

    def scope(self, node: Node | None) -> Scope:
        """What is constant in the function ``node`` (None: at file level)."""
        return self._scope(self._by_node.get(node.id) if node is not None else None)

    def _scope(self, function: _Function | None) -> Scope:
        if function is None:
            return self._outer
        key = function.node.id
        if key not in self._scopes:
            bound: dict[str, Value] = {}
            if key not in self._open and len(self._open) < _DEEPEST:
                self._open.add(key)
                bound = self._bound(function)
                self._open.discard(key)
            else:
                return function_scope(function.node, self._outer)
            self._scopes[key] = function_scope(function.node, self._outer, bound)
        return self._scopes[key]

    def _bound(self, function: _Function) -> dict[str, Value]:
        """Parameters for which every call gives the same value."""
        if not 0 < len(function.calls) <= _MOST_CALLS:
            return {}
        found: dict[str, Value] = {}
        lists: tuple[tuple[Sequence[str], Callable[[Node], list[Node]]], ...] = (
            (function.params, _arguments), (function.template, _template_arguments),
        )  # fmt: skip
        for names, listed in lists:
            for place, name in enumerate(names):
                value = self._agreed(function, place, listed) if name else None
                if value is not None:
                    found[name] = value
        return found

    def _agreed(self, function: _Function, place: int, listed: Callable[[Node], list[Node]]) -> Value | None:
        agreed: Value | None = None
        for call, caller in function.calls:
            given = listed(call)
            self._values += 1
            if place >= len(given) or self._values > _MOST_VALUES:
                return None
            value = self._scope(caller).evaluate(given[place])
            if value is None or (agreed is not None and value != agreed):
                return None
            agreed = value
        return agreed

    # -- allocations -------------------------------------------------------------------------------------

    def allocation(self, node: Node | None, argument: Node) -> Allocation | None:
        """What was allocated for ``argument`` in the function ``node``, if the file decides it."""
        function = self._by_node.get(node.id) if node is not None else None
        return self._allocation(function, _pointer(argument), _DEEPEST)

    def _allocation(self, function: _Function | None, name: str, depth: int) -> Allocation | None:
        if function is None or not name or depth == 0:
            return None
        own = self._own_allocations(function)
        if name in own:
            return own[name]
        if name not in function.params or not 0 < len(function.calls) <= _MOST_CALLS:
            return None
        place = function.params.index(name)
        found: Allocation | None = None
        for call, caller in function.calls:
            given = _arguments(call)
            self._values += 1
            if place >= len(given) or self._values > _MOST_VALUES:
                return None
            one = self._allocation(caller, _pointer(given[place]), depth - 1)
            if one is None or (found is not None and one.bytes != found.bytes):
                return None
            found = found or one
        return found

    def _own_allocations(self, function: _Function) -> dict[str, Allocation | None]:
        """Pointers that this function allocates or changes: None where their bytes are not decided."""
        key = function.node.id
        if key in self._allocations:
            return self._allocations[key]
        found: dict[str, Allocation | None] = {}
        scope = self._scope(function)
        body = function.node.child_by_field_name("body")
        for node in walk(body) if body is not None else ():
            if node.type == "call_expression":
                name = bare_name(text_of(node.child_by_field_name("function")))
                given = _arguments(node)
                if name in _ALLOCATES and len(given) >= 2:
                    target = _pointer(given[0], taken=True)
                    one = _allocated(scope.evaluate(given[1]), node)
                    found[target] = one if target not in found else None
            elif node.type in ("assignment_expression", "update_expression"):
                changed = node.child_by_field_name("left") or node.child_by_field_name("argument")
                if changed is not None and changed.type == "identifier":
                    found[text_of(changed)] = None
        self._allocations[key] = found
        return found


def _allocated(size: Value | None, call: Node) -> Allocation | None:
    if not isinstance(size, (int, float)) or size != int(size) or size <= 0:
        return None
    return Allocation(int(size), call.start_point.row + 1)


def bare_name(callee: str) -> str:
    """``ns::run<4>`` as ``run``."""
    return callee.split("<", 1)[0].rsplit("::", 1)[-1].strip()


def _with_functions(root: Node) -> Iterator[tuple[Node, Node | None, Node | None]]:
    """Every named node with the function definition and the template declaration around it."""
    stack: list[tuple[Node, Node | None, Node | None]] = [(root, None, None)]
    while stack:
        node, inside, template = stack.pop()
        yield node, inside, template
        if node.type == "function_definition":
            inside, template = node, None
        elif node.type == "template_declaration":
            template = node
        stack.extend((child, inside, template) for child in reversed(node.named_children))


def _function(node: Node, template: Node | None) -> _Function:
    params: tuple[str, ...] = ()
    declarator = _declarator(node)
    # A kernel's parameters come from its launches, which say how it is called once and not always.
    if declarator is not None and "__global__" not in child_kinds(node):
        listed = declarator.child_by_field_name("parameters")
        params = tuple(
            _parameter_name(item)
            for item in (listed.named_children if listed is not None else ())
            if item.type.endswith("parameter_declaration")
        )
    given = template.child_by_field_name("parameters") if template is not None else None
    names = tuple(_parameter_name(item) for item in (given.named_children if given is not None else ()))
    return _Function(node, params, names)


def _declarator(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    return declarator


def _defined_name(node: Node) -> str:
    declarator = _declarator(node)
    return bare_name(text_of(declarator.child_by_field_name("declarator"))) if declarator is not None else ""


def _parameter_name(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return ""
    return next((text_of(item) for item in walk(declarator) if item.type == "identifier"), "")


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [item for item in (listed.named_children if listed is not None else ()) if item.type != "comment"]


def _template_arguments(call: Node) -> list[Node]:
    callee = call.child_by_field_name("function")
    while callee is not None and callee.type == "qualified_identifier":
        callee = callee.child_by_field_name("name")
    listed = callee.child_by_field_name("arguments") if callee is not None else None
    return [item for item in (listed.named_children if listed is not None else ()) if item.type != "comment"]


def _pointer(node: Node, taken: bool = False) -> str:
    """The variable that an argument is, through casts and brackets; ``taken``: whose address it is."""
    inner: Node | None = node
    for _ in range(_DEEPEST):
        if inner is None:
            return ""
        if inner.type == "identifier":
            return "" if taken else text_of(inner)
        if inner.type == "parenthesized_expression" and inner.named_children:
            inner = inner.named_children[0]
        elif inner.type == "cast_expression":
            inner = inner.child_by_field_name("value")
        elif inner.type == "pointer_expression" and taken:
            if text_of(inner.child_by_field_name("operator")) != "&":
                return ""
            inner, taken = inner.child_by_field_name("argument"), False
        elif inner.type == "call_expression" and _CASTS.fullmatch(
            text_of(inner.child_by_field_name("function"))
        ):
            inner = next(iter(_arguments(inner)), None)
        else:
            return ""
    return ""

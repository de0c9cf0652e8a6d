"""Decide the value of an expression in a launch, where the file's own constants allow it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from warpglass.cuda.grammar import parse_tree, text_of, walk

__all__ = ["Scope", "Value", "file_scope", "function_scope"]

_SIZES = {
    "char": 1, "signed char": 1, "unsigned char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "short": 2,
    "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "int": 4,
    "unsigned": 4, "unsigned int": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "half2": 4, "__half2": 4,
    "double": 8, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "int64_t": 8,
    "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "float3": 12, "int3": 12, "float4": 16, "int4": 16,
    "uint4": 16, "double2": 16,
}  # fmt: skip

Number = int | float
Value = int | float | tuple[int, int, int]


class _Undecided(Exception):
    """The value depends on something that the file does not say."""


def _divide(left: Number, right: Number) -> Number:
    if right == 0:
        raise _Undecided
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)  # C rounds towards zero
    return quotient if (left < 0) == (right < 0) else -quotient


def _shift(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float) or not 0 <= right < 63 or abs(left) >= 2**63:
        raise _Undecided
    return left << right


def _whole(operation: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    def apply(left: Number, right: Number) -> Number:
        if isinstance(left, float) or isinstance(right, float):
            raise _Undecided
        return operation(left, right)

    return apply


def _remainder(left: Number, right: Number) -> Number:
    return left - right * int(_divide(left, right))


_BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _whole(lambda a, b: int(_remainder(a, b))),
    "<<": _shift,
    ">>": _whole(lambda a, b: a >> b if 0 <= b < 64 else 0),
    "&": _whole(lambda a, b: a & b),
    "|": _whole(lambda a, b: a | b),
    "^": _whole(lambda a, b: a ^ b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}
_UNARY: Mapping[str, Callable[[Number], Number]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "!": lambda a: int(not a),
}
_CALLS: Mapping[str, Callable[..., Number]] = {
    "min": min, "max": max, "std::min": min, "std::max": max, "ceil": math.ceil, "ceilf": math.ceil,
    "std::ceil": math.ceil, "floor": math.floor, "floorf": math.floor, "std::floor": math.floor,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Function:
    """A macro or function that is one expression of its parameters."""

    params: tuple[str, ...]
    body: Node | str


@dataclass(frozen=True, slots=True)
class Scope:
    """Names with the expressions that define them. ``opaque`` names are known to have no fixed value.

    An expression is a tree, a number, or the text of a macro.
    """

    values: Mapping[str, Node | Value | str] = field(default_factory=dict)
    functions: Mapping[str, _Function] = field(default_factory=dict)
    opaque: frozenset[str] = frozenset()
    outer: Scope | None = None

    def evaluate(self, node: Node) -> Value | None:
        """The value of an expression: a number, a ``dim3`` as three ints, or None where undecided."""
        try:
            return _Evaluation().value(node, self)
        except (_Undecided, RecursionError, OverflowError, TypeError, ValueError):
            return None

    def find(self, name: str) -> tuple[Node | Value | str, Scope] | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.opaque:
                return None
            if name in scope.values:
                return scope.values[name], scope
            scope = scope.outer
        return None


class _Evaluation:
    """One evaluation, in bounded steps: definitions may refer to each other without end."""

    def __init__(self) -> None:
        self._steps = 0

    def value(self, node: Node | Value | str | None, scope: Scope) -> Value:
        self._steps += 1
        if self._steps > 500 or node is None:
            raise _Undecided
        if isinstance(node, str):
            return self.value(_expression(node), scope)
        if not isinstance(node, Node):
            return node
        rule = _RULES.get(node.type)
        if rule is None:
            raise _Undecided
        return rule(self, node, scope)

    def number(self, node: Node | Value | None, scope: Scope) -> Number:
        result = self.value(_needed(node), scope)
        if isinstance(result, tuple) or abs(result) > 2**64:
            raise _Undecided
        return result

    def dim3(self, nodes: list[Node], scope: Scope) -> Value:
        if not 1 <= len(nodes) <= 3:
            raise _Undecided
        parts = [int(self.number(node, scope)) for node in nodes] + [1, 1]
        return (parts[0], parts[1], parts[2])


def _needed(node: Node | Value | None) -> Node | Value:
    if node is None:
        raise _Undecided
    return node


def _literal(run: _Evaluation, node: Node, scope: Scope) -> Value:
    text = text_of(node).replace("'", "").lower()
    if re.fullmatch(r"0x[0-9a-f]+[ul]*", text):
        return int(text.rstrip("ul"), 16)
    if re.fullmatch(r"0b[01]+[ul]*", text):
        return int(text.rstrip("ul"), 2)
    if re.fullmatch(r"\d+[ul]*", text):
        digits = text.rstrip("ul")[:30]
        return (
            int(digits, 8) if digits.startswith("0") and digits.isdigit() and len(digits) > 1 else int(digits)
        )
    return float(text.rstrip("fl"))


def _identifier(run: _Evaluation, node: Node, scope: Scope) -> Value:
    found = scope.find(text_of(node))
    if found is None:
        raise _Undecided
    return run.value(*found)


def _binary(run: _Evaluation, node: Node, scope: Scope) -> Value:
    operation = _BINARY.get(text_of(node.child_by_field_name("operator")))
    if operation is None:
        raise _Undecided
    left = run.number(node.child_by_field_name("left"), scope)
    return operation(left, run.number(node.child_by_field_name("right"), scope))


def _unary(run: _Evaluation, node: Node, scope: Scope) -> Value:
    operation = _UNARY.get(text_of(node.child_by_field_name("operator")))
    if operation is None:
        raise _Undecided
    return operation(run.number(node.child_by_field_name("argument"), scope))


def _parenthesised(run: _Evaluation, node: Node, scope: Scope) -> Value:
    if len(node.named_children) != 1:
        raise _Undecided
    return run.value(node.named_children[0], scope)


def _conditional(run: _Evaluation, node: Node, scope: Scope) -> Value:
    chosen = "consequence" if run.number(node.child_by_field_name("condition"), scope) else "alternative"
    return run.value(_needed(node.child_by_field_name(chosen)), scope)


def _cast(run: _Evaluation, node: Node, scope: Scope) -> Value:
    inner = run.number(node.child_by_field_name("value"), scope)
    return _converted(inner, text_of(node.child_by_field_name("type")))


def _converted(number: Number, type_name: str) -> Number:
    if type_name in ("float", "double"):
        return float(number)
    if type_name not in _SIZES:
        raise _Undecided
    return int(number)


def _sizeof(run: _Evaluation, node: Node, scope: Scope) -> Value:
    name = " ".join(
        text_of(node.child_by_field_name("type") or node.child_by_field_name("value")).strip("() ").split()
    )
    if name.endswith("*"):
        return 8
    if name not in _SIZES:
        raise _Undecided
    return _SIZES[name]


def _field(run: _Evaluation, node: Node, scope: Scope) -> Value:
    base = run.value(_needed(node.child_by_field_name("argument")), scope)
    name = text_of(node.child_by_field_name("field"))
    if not isinstance(base, tuple) or name not in ("x", "y", "z"):
        raise _Undecided
    return base["xyz".index(name)]


def _call(run: _Evaluation, node: Node, scope: Scope) -> Value:
    name = text_of(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments")
    nodes = arguments.named_children if arguments is not None else []
    if name == "dim3":
        return run.dim3(nodes, scope)
    if name in _CALLS and nodes:
        return _CALLS[name](*(run.number(item, scope) for item in nodes))
    cast = re.fullmatch(r"static_cast<([\w ]+)>", name)
    if (cast or name in _SIZES or name in ("float", "double")) and len(nodes) == 1:
        return _converted(run.number(nodes[0], scope), cast.group(1).strip() if cast else name)
    return _defined_call(run, name, nodes, scope)


def _defined_call(run: _Evaluation, name: str, nodes: list[Node], scope: Scope) -> Value:
    """A macro or one-line function of the file."""
    root = scope
    while root.outer is not None:
        root = root.outer
    function = root.functions.get(name)
    if function is None or len(function.params) != len(nodes):
        raise _Undecided
    bound = {param: run.value(item, scope) for param, item in zip(function.params, nodes, strict=True)}
    return run.value(function.body, Scope(values=bound, outer=root))


def _braces(run: _Evaluation, node: Node, scope: Scope) -> Value:
    return run.dim3(node.named_children, scope)


def _compound_literal(run: _Evaluation, node: Node, scope: Scope) -> Value:
    values = node.child_by_field_name("value")
    if text_of(node.child_by_field_name("type")) not in ("dim3", "") or values is None:
        raise _Undecided
    return run.dim3(values.named_children, scope)


_RULES: Mapping[str, Callable[[_Evaluation, Node, Scope], Value]] = {
    "number_literal": _literal,
    "identifier": _identifier,
    "type_identifier": _identifier,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "parenthesized_expression": _parenthesised,
    "conditional_expression": _conditional,
    "cast_expression": _cast,
    "sizeof_expression": _sizeof,
    "field_expression": _field,
    "call_expression": _call,
    "initializer_list": _braces,
    "argument_list": _braces,
    "compound_literal_expression": _compound_literal,
}


def file_scope(root: Node, defines: Mapping[str, str] | None = None) -> Scope:
    """Constants, macros and one-line functions at file level; ``defines`` (of -D) win over #define."""
    values: dict[str, Node | Value | str] = {}
    functions: dict[str, _Function] = {}
    opaque: set[str] = set()

    def define(name: str, new: Node | str | None) -> None:
        if new is None or (name in values and _as_text(values[name]) != _as_text(new)):
            opaque.add(name)
        else:
            values[name] = new

    for node in walk(root, lambda item: item.type not in ("compound_statement", "function_definition")):
        if node.type == "preproc_def":
            define(text_of(_kid(node, "name")), text_of(_kid(node, "value")))
        elif node.type == "preproc_function_def":
            params = [text_of(item) for item in (_kid(node, "parameters") or node).named_children]
            functions[text_of(_kid(node, "name"))] = _Function(tuple(params), text_of(_kid(node, "value")))
        elif node.type == "declaration" and re.search(r"\b(?:const|constexpr)\b", text_of(node)[:200]):
            for name, value in _declared(node):
                define(name, value)
        elif node.type == "function_definition":
            found = _one_line_function(node)
            if found is not None:
                functions[found[0]] = found[1]
    for name, text in (defines or {}).items():
        opaque.discard(name)
        values[name] = text or "1"
    return Scope(values, functions, frozenset(opaque))


def function_scope(function: Node, outer: Scope, bound: Mapping[str, Value] | None = None) -> Scope:
    """Local variables of a function that are set once, over the scope of the file.

    ``bound`` are parameters that every call gives the same value; a second declaration hides it.
    """
    values: dict[str, Node | Value | str] = dict(bound or {})
    opaque: set[str] = set()
    parameters = dict.fromkeys(values, 0)
    for node in walk(function):
        if node.type == "declaration":
            for name, value in _declared(node):
                if name in values or name in opaque or value is None:
                    opaque.add(name)
                else:
                    values[name] = value
        elif node.type in ("parameter_declaration", "optional_parameter_declaration"):
            for name in {text_of(item) for item in walk(node) if item.type == "identifier"}:
                parameters[name] = parameters.get(name, 1) + 1
                if parameters[name] > 1:
                    opaque.add(name)
        elif node.type in ("assignment_expression", "update_expression", "pointer_expression"):
            target = node.child_by_field_name("left") or node.child_by_field_name("argument")
            opaque.update(text_of(item) for item in _bases(target))
    return Scope(values, {}, frozenset(opaque), outer)


def _bases(target: Node | None) -> list[Node]:
    """The variable that ``x``, ``x.y`` or ``x[i]`` changes."""
    while target is not None and target.type in ("field_expression", "subscript_expression"):
        target = target.child_by_field_name("argument")
    return [target] if target is not None and target.type == "identifier" else []


def _declared(node: Node) -> list[tuple[str, Node | None]]:
    """Names of a declaration with their initialisers; arrays and pointers are left out."""
    found: list[tuple[str, Node | None]] = []
    for item in node.children_by_field_name("declarator"):
        if item.type == "init_declarator":
            name = item.child_by_field_name("declarator")
            if name is not None and name.type == "identifier":
                found.append((text_of(name), item.child_by_field_name("value")))
        elif item.type == "identifier":
            found.append((text_of(item), None))
    return found


def _expression(text: str) -> Node | None:
    """The tree of a macro's text, or None where it is no expression."""
    text = re.sub(r"//.*|/\*.*?\*/", " ", text).strip()
    if not text or len(text) > 2000:
        return None
    tree = parse_tree(f"int x = ({text});".encode())
    if tree is None or tree.root_node.has_error:
        return None
    return next((node.child_by_field_name("value") for node in walk(tree.root_node)
                 if node.type == "init_declarator"), None)  # fmt: skip


def _one_line_function(node: Node) -> tuple[str, _Function] | None:
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    if body is None or declarator is None or declarator.type != "function_declarator":
        return None
    statements = [item for item in body.named_children if item.type != "comment"]
    if len(statements) != 1 or statements[0].type != "return_statement" or not statements[0].named_children:
        return None
    params = []
    for item in (_kid(declarator, "parameters") or declarator).named_children:
        name = item.child_by_field_name("declarator")
        if item.type != "parameter_declaration" or name is None or name.type != "identifier":
            return None
        params.append(text_of(name))
    called = text_of(declarator.child_by_field_name("declarator"))
    return called, _Function(tuple(params), statements[0].named_children[0])


def _kid(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


def _as_text(value: Node | Value | str) -> str:
    return text_of(value) if isinstance(value, Node) else str(value)

"""Expressions and declarations of the interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tree_sitter import Node

from warpglass.cuda.grammar import text_of
from warpglass.cutlass.flags import NUMBERS
from warpglass.cutlass.invoke import Calls
from warpglass.cutlass.values import Closure, Pipe, State, Struct, Unknown, guess, plain_pipe

if TYPE_CHECKING:
    pass

__all__ = ["Expressions"]

_BINARY: dict[str, Callable[[int, int], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if b else Unknown("division"),
    "%": lambda a, b: a % b if b else Unknown("division"),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b if 0 <= b < 64 else Unknown("shift"),
    ">>": lambda a, b: a >> b if 0 <= b < 64 else Unknown("shift"),
}


class Expressions(Calls):
    """Mixed into the interpreter, which holds the state."""

    # ---------------------------------------------------------------- names
    def lookup(self, name: str) -> Any:
        """The value of a name: local, constant of a class, or guessed."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in ("true", "false"):
            return name == "true"
        last = name.rsplit("::", 1)[-1]
        if self.naming and re.search(r"Barriers?::\w+$", name):
            self.named.append(last)
            return 0
        if last in self.decide:
            return self.decide[last]
        if last in self.knobs:
            return self.knobs[last]
        if last in NUMBERS:
            return NUMBERS[last]
        if name.startswith("decltype("):
            # ``decltype(x)::value``: the value that x was made with.
            value = self.known(name[9 : name.find(")")].strip()) if name.endswith("::value") else None
            if isinstance(value, int):
                return value
        if name not in self.computing and len(self.computing) < 20 and "::" not in name:
            for header in self.headers:
                node = header.constants.get(name)
                if node is not None:
                    self.computing.add(name)
                    try:
                        value = self.evaluate(node)
                    finally:
                        self.computing.discard(name)
                    if isinstance(value, int):
                        return value
        if re.match(r"size_\d__", name):
            # Mode 3 of a tensor in global memory counts k-tiles; the others are blocks of one tile.
            return self.knobs["K"] if name.startswith("size_3__g") else self.knobs.get("KB", 4)
        usual = self.flag(last)
        if usual is not None:
            return usual
        value = guess(name, self.knobs)
        if not isinstance(value, int | Unknown):
            self.scopes[0][name] = value
        return value

    def assign(self, name: str, value: Any) -> None:
        """Give a name a value where it lives."""
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = value
                return
        self.scopes[-1][name] = value

    # ---------------------------------------------------------------- declarations
    def declare(self, node: Node) -> None:
        type_ = self.text(node.child_by_field_name("type"))
        for child in node.children_by_field_name("declarator"):
            self.declarator(child, type_)

    def declarator(self, node: Node, type_: str) -> None:
        if node.type == "init_declarator":
            target = node.child_by_field_name("declarator")
            value_node = node.child_by_field_name("value")
            if target is not None and target.type == "structured_binding_declarator":
                self.bind(target, self.evaluate(value_node))
                return
            reference = target is not None and target.type == "reference_declarator"
            if reference and target is not None and target.named_children:
                inner = target.named_children[0]
                if inner.type == "structured_binding_declarator":
                    self.bind(inner, self.evaluate(value_node), True)
                    return
            name = self.declared_name(target)
            self.scopes[-1][name] = self.initial(name, type_, value_node, reference)
        elif node.type in ("identifier", "pointer_declarator", "array_declarator"):
            name = self.declared_name(node)
            made = guess(name, self.knobs, type_)
            if isinstance(made, State):
                made.phase = 0
            self.scopes[-1][name] = made if isinstance(made, State | Pipe) else Unknown(name)

    def declared_name(self, node: Node | None) -> str:
        while node is not None and node.type not in ("identifier", "field_identifier"):
            inner = node.child_by_field_name("declarator")
            if inner is None:
                inner = next(
                    (c for c in node.named_children if "identifier" in c.type or "declarator" in c.type), None
                )
            node = inner
        return text_of(node)

    def initial(self, name: str, type_: str, node: Node | None, reference: bool) -> Any:
        """The value of a declared variable."""
        if node is None:
            return Unknown(name)
        low = type_.lower()
        if "pipelinestate" in low and node.type in ("argument_list", "initializer_list"):
            values = [self.evaluate(child) for child in node.named_children]
            numbers = [v for v in values if isinstance(v, int)]
            if len(values) == 1 and isinstance(values[0], State):
                return values[0].copy()
            count = numbers[2] if len(numbers) > 2 else 0
            made = guess(name, self.knobs, type_)
            stages = made.stages if isinstance(made, State) else self.knobs["S"]
            phase = numbers[1] & 1 if len(numbers) > 1 else 0
            return State(stages, numbers[0] % stages if numbers else 0, phase, count)
        if "pipeline" in low and "state" not in low and "params" not in low and node.type in (
            "argument_list", "initializer_list",
        ):  # fmt: skip
            return Pipe(plain_pipe(name), type_)
        if node.type == "argument_list":
            values = [self.evaluate(child) for child in node.named_children]
            return values[0] if len(values) == 1 and isinstance(values[0], int) else Unknown(name)
        value = self.evaluate(node)
        if isinstance(value, State) and not reference:
            return value.copy()
        if isinstance(value, Struct) and node.type == "initializer_list":
            name_ = self.struct_name(type_)
            fields = next((h.structs[name_] for h in self.headers if name_ in h.structs), ())
            value.members = dict(zip(fields, value.items, strict=False))
            value.path = name_
        if isinstance(value, Unknown):
            made = guess(name, self.knobs, type_)
            if isinstance(made, int) and "token" not in name and not isinstance(made, bool):
                return made
            if isinstance(made, State | Pipe) and "token" not in name and "barrier" not in low:
                return made
            return value if value.path else Unknown(name)
        return value

    def struct_name(self, type_: str) -> str:
        """The structure that a type or an alias of the headers names, without its arguments."""
        name = type_
        for _ in range(4):
            bare = re.sub(r"<.*", "", name, flags=re.DOTALL).strip().rsplit("::", 1)[-1].split(" ")[-1]
            if any(bare in h.structs for h in self.headers):
                return bare
            found = next((h.types[bare] for h in self.headers if bare in h.types), None)
            if found is None:
                break
            name = found
        return type_

    def bind(self, node: Node, value: Any, reference: bool = False) -> None:
        """``auto [a, b] = value``."""
        names = [text_of(child) for child in node.named_children]
        items = value.items if isinstance(value, Struct) else []
        for position, name in enumerate(names):
            item = items[position] if position < len(items) else guess(name, self.knobs)
            if isinstance(item, Unknown):
                item = guess(name, self.knobs)
            if isinstance(item, State) and not reference:
                item = item.copy()
            self.scopes[-1][name] = item

    # ---------------------------------------------------------------- expressions
    def evaluate(self, node: Node | None) -> Any:
        """The value of an expression."""
        if node is None:
            return Unknown("")
        handler = getattr(self, f"eval_{node.type}", None)
        if handler is not None:
            return handler(node)
        if node.type in (
            "identifier",
            "qualified_identifier",
            "field_identifier",
            "dependent_name",
            "type_identifier",
        ):
            return self.lookup(text_of(node))
        for child in node.named_children:
            if child.type not in ("comment",):
                self.evaluate(child)
        return Unknown(text_of(node)[:60])

    def eval_number_literal(self, node: Node) -> Any:
        text = text_of(node).lower().rstrip("ul").replace("'", "")
        try:
            return int(text, 0)
        except ValueError:
            return Unknown(text)

    def eval_true(self, node: Node) -> Any:
        return True

    def eval_false(self, node: Node) -> Any:
        return False

    def eval_string_literal(self, node: Node) -> Any:
        return Unknown("text")

    def eval_condition_clause(self, node: Node) -> Any:
        return self.evaluate(node.child_by_field_name("value"))

    def eval_parenthesized_expression(self, node: Node) -> Any:
        return self.evaluate(node.named_children[0]) if node.named_children else Unknown("")

    def eval_comma_expression(self, node: Node) -> Any:
        self.evaluate(node.child_by_field_name("left"))
        return self.evaluate(node.child_by_field_name("right"))

    def eval_cast_expression(self, node: Node) -> Any:
        return self.evaluate(node.child_by_field_name("value"))

    def eval_lambda_expression(self, node: Node) -> Any:
        return Closure(node, list(self.scopes), self.header)

    def eval_initializer_list(self, node: Node) -> Any:
        return Struct(items=[self.evaluate(child) for child in node.named_children])

    def eval_compound_literal_expression(self, node: Node) -> Any:
        type_ = self.text(node.child_by_field_name("type"))
        match = re.fullmatch(r"(?:cute::)?(?:Int|C)<(.+)>", type_)
        if match:
            return int(match.group(1)) if match.group(1).isdigit() else self.lookup(match.group(1))
        value = node.child_by_field_name("value")
        items = [self.evaluate(child) for child in (value.named_children if value is not None else ())]
        if type_.endswith("PipelineState") or "PipelineState" in type_:
            return State(self.stages_for(type_), 0, 0)
        if type_.rsplit("::", 1)[-1] in ("true_type", "false_type"):
            return type_.endswith("true_type")
        match = re.fullmatch(r"(?:\w+::)*bool_constant<(\w+)>", type_)
        if match:
            return self.lookup(match.group(1))
        if not items:
            # A default-constructed constant: ``K_BLOCK_MAX{}``.
            return self.lookup(type_) if re.fullmatch(r"\w+", type_) else Unknown(type_)
        fields = next((h.structs[type_] for h in self.headers if type_ in h.structs), ())
        return Struct(dict(zip(fields, items, strict=False)), items, type_)

    def eval_conditional_expression(self, node: Node) -> Any:
        condition = self.evaluate(node.child_by_field_name("condition"))
        first, second = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if isinstance(condition, bool | int):
            return self.evaluate(first if condition else second)
        a, b = self.evaluate(first), self.evaluate(second)
        return a if a == b else Unknown(self.text(node)[:60])

    def eval_unary_expression(self, node: Node) -> Any:
        value = self.evaluate(node.child_by_field_name("argument"))
        operator = text_of(node.child_by_field_name("operator"))
        if operator in ("!", "not") and isinstance(value, bool | int):
            return not value
        if operator == "-" and isinstance(value, int):
            return -value
        return value if operator == "+" else Unknown(self.text(node)[:60])

    def eval_pointer_expression(self, node: Node) -> Any:
        return self.evaluate(node.child_by_field_name("argument"))

    def eval_update_expression(self, node: Node) -> Any:
        target = node.child_by_field_name("argument")
        value = self.evaluate(target)
        step = (
            1
            if "++" in text_of(node.child_by_field_name("operator")) or text_of(node).find("++") >= 0
            else -1
        )
        if isinstance(value, State):
            value.advance(step)
            return value
        if isinstance(value, int) and target is not None:
            self.assign(text_of(target), value + step)
            prefix = text_of(node).lstrip().startswith(("++", "--"))
            return value + step if prefix else value
        return value

    def eval_assignment_expression(self, node: Node) -> Any:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        value = self.evaluate(right)
        operator = text_of(node.child_by_field_name("operator"))
        name = text_of(left)
        if operator != "=" and left is not None:
            old = self.evaluate(left)
            function = _BINARY.get(operator[:-1])
            known = isinstance(old, int) and isinstance(value, int) and function is not None
            value = function(old, value) if known and function is not None else Unknown(name)
        if left is not None and left.type == "call_expression":
            # ``tie(a, b) = …``
            arguments = left.child_by_field_name("arguments")
            items = value.items if isinstance(value, Struct) else []
            for child, item in zip(
                arguments.named_children if arguments is not None else (), items, strict=False
            ):
                self.assign(text_of(child), item.copy() if isinstance(item, State) else item)
            return value
        if isinstance(value, Unknown) and isinstance(self.known(name), State | Pipe):
            return self.known(name)
        if left is not None and left.type == "identifier":
            self.assign(name, value.copy() if isinstance(value, State) else value)
        elif left is not None and left.type == "field_expression":
            target = self.evaluate(left.child_by_field_name("argument"))
            if isinstance(target, Struct):
                target.members[text_of(left.child_by_field_name("field"))] = value
        return value

    def known(self, name: str) -> Any:
        """The value a name already has, or None."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def eval_binary_expression(self, node: Node) -> Any:
        operator = text_of(node.child_by_field_name("operator"))
        left_node, right_node = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator in ("&&", "and", "||", "or"):
            return self.logical(operator in ("&&", "and"), left_node, right_node)
        if operator in ("==", "!="):
            role = self.role(self.text(left_node), self.text(right_node))
            if role is not None:
                return role == (operator == "==")
        left, right = self.evaluate(left_node), self.evaluate(right_node)
        function = _BINARY.get(operator)
        if function is not None and isinstance(left, int) and isinstance(right, int):
            return function(left, right)
        return Unknown(self.text(node)[:80])

    def logical(self, both: bool, left_node: Node | None, right_node: Node | None) -> Any:
        left = self.evaluate(left_node)
        if isinstance(left, bool | int) and bool(left) != both:
            return not both
        right = self.evaluate(right_node)
        if isinstance(right, bool | int) and bool(right) != both:
            return not both
        if isinstance(left, bool | int) and isinstance(right, bool | int):
            return both
        return Unknown(self.text(left_node)[:60])

    def role(self, left: str, right: str) -> bool | None:
        """Whether a comparison with an enumerator of a role holds for the role that is being run."""
        for text in (right, left):
            scope, mark, name = text.strip("() ").rpartition("::")
            enum = scope.rsplit("::", 1)[-1]
            if mark and enum in self.roles:
                return self.roles[enum] in (name, "*")
        return None

    def eval_field_expression(self, node: Node) -> Any:
        if "thread" in self.knobs and self.text(node) == "threadIdx.x":
            return self.knobs["thread"]
        target = self.evaluate(node.child_by_field_name("argument"))
        name = text_of(node.child_by_field_name("field"))
        if isinstance(target, Struct):
            if name in target.members:
                return target.members[name]
            return Unknown(f"{target.path}.{name}")
        if isinstance(target, State) and name in ("index_", "phase_"):
            return getattr(target, name[:-1])
        return guess(self.text(node), self.knobs) if isinstance(target, Unknown) else Unknown(name)

    def eval_template_function(self, node: Node) -> Any:
        return Unknown(text_of(node)[:60])

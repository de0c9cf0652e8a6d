"""Metrics made of metrics: ``name=expression`` with the four operations, powers, brackets, min and max.

A small recursive-descent reader; nothing of Python is evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warpglass.errors import UsageError

__all__ = ["Derived", "derive", "parse_derived"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:[.:][A-Za-z_][A-Za-z0-9_]*)*)"
    r"|(?P<op>\*\*|[-+*/%(),]))"
)
_MAX_LENGTH = 2000
_MAX_DEPTH = 60
#: A chain of terms is evaluated by nested calls, so its length is bounded too.
_MAX_TOKENS = 400

Lookup = Callable[[str], float | None]
Node = Callable[[Lookup], float | None]
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "min": (2, min), "max": (2, max), "abs": (1, abs),
    "sqrt": (1, lambda x: math.sqrt(x) if x >= 0 else math.nan),
    "log2": (1, lambda x: math.log2(x) if x > 0 else math.nan),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Derived:
    """A named expression. ``value`` is None where a metric it needs is n/a or the result is no number."""

    name: str
    text: str
    names: tuple[str, ...]
    node: Node

    def value(self, lookup: Lookup) -> float | None:
        """The value with metrics from ``lookup``."""
        try:
            found = self.node(lookup)
        except (ArithmeticError, ValueError):
            return None
        return found if found is not None and math.isfinite(found) else None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.depth = 0
        self.names: dict[str, None] = {}
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error(position, "cannot be read")
            if len(self.tokens) >= _MAX_TOKENS:
                raise self.error(position, f"has more than {_MAX_TOKENS} parts")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match[kind], match.start(kind)))
            position = match.end()

    def error(self, position: int, why: str) -> UsageError:
        return UsageError(
            f"the expression {self.text[:120]!r} {why} at character {position + 1}",
            hint="for instance --derive 'bytes=dram__bytes_read.sum + dram__bytes_write.sum'",
        )

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, *ops: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "op" and self.peek() in ops:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def need(self, op: str) -> None:
        if self.take(op) is None:
            raise self.error(self.position(), f"lacks {op!r}")

    def position(self) -> int:
        return self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(self.position(), "is nested too deeply")
        left = self.product()
        while (op := self.take("+", "-")) is not None:
            left = _binary(op, left, self.product())
        self.depth -= 1
        return left

    def product(self) -> Node:
        left = self.signed()
        while (op := self.take("*", "/", "%")) is not None:
            left = _binary(op, left, self.signed())
        return left

    def signed(self) -> Node:
        sign = 1
        while (op := self.take("-", "+")) is not None:
            sign = -sign if op == "-" else sign
        node = self.power()
        return node if sign > 0 else (lambda lookup: None if (v := node(lookup)) is None else -v)

    def power(self) -> Node:
        left = self.atom()
        if self.take("**") is None:
            return left
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(self.position(), "is nested too deeply")
        node = _binary("**", left, self.signed())
        self.depth -= 1
        return node

    def atom(self) -> Node:
        if self.take("(") is not None:
            node = self.sum()
            self.need(")")
            return node
        if self.at >= len(self.tokens):
            raise self.error(len(self.text), "ends too early")
        kind, token, position = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            value = float(token)
            return lambda _lookup: value
        if kind != "name":
            raise self.error(position, f"has an unexpected {token!r}")
        if self.peek() == "(":
            return self.call(token, position)
        self.names[token] = None
        return lambda lookup: lookup(token)

    def call(self, name: str, position: int) -> Node:
        if name not in _FUNCTIONS:
            raise self.error(position, f"calls {name!r}; there are {', '.join(sorted(_FUNCTIONS))}")
        count, function = _FUNCTIONS[name]
        self.need("(")
        arguments = [self.sum()]
        while self.take(",") is not None:
            arguments.append(self.sum())
        self.need(")")
        if len(arguments) != count:
            raise self.error(position, f"gives {name} {len(arguments)} values instead of {count}")

        def node(lookup: Lookup) -> float | None:
            values = [argument(lookup) for argument in arguments]
            known = [value for value in values if value is not None]
            return float(function(*known)) if len(known) == len(values) else None

        return node


def _power(a: float, b: float) -> float:
    if abs(b) > 1024:
        return math.nan
    found = a**b
    return found if isinstance(found, float) else math.nan  # a root of a negative number is complex


_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else math.nan, "%": lambda a, b: a % b if b else math.nan, "**": _power,
}  # fmt: skip


def _binary(op: str, left: Node, right: Node) -> Node:
    apply = _OPERATIONS[op]

    def node(lookup: Lookup) -> float | None:
        a, b = left(lookup), right(lookup)
        return None if a is None or b is None else apply(a, b)

    return node


def parse_derived(text: str) -> Derived:
    """Read ``name=expression``. Raises :class:`UsageError` that says where it cannot be read."""
    name, equals, expression = text.partition("=")
    name = name.strip()
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:]*", name):
        raise UsageError(f"--derive is no name=expression: {text[:80]!r}")
    if len(expression) > _MAX_LENGTH:
        raise UsageError(f"the expression of {name} is longer than {_MAX_LENGTH} characters")
    reader = _Reader(expression)
    node = reader.sum()
    if reader.at < len(reader.tokens):
        raise reader.error(reader.position(), f"has an unexpected {reader.peek()!r}")
    return Derived(name, expression.strip(), tuple(reader.names), node)


def derive(text: str, lookup: Lookup) -> float | None:
    """The value of one ``name=expression``."""
    return parse_derived(text).value(lookup)

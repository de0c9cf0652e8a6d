"""Operands and constant expressions.

Names are classified by their look: ``%x`` is a register, everything else a symbol. Declarations that
say otherwise (``.reg .u32 counter``) are applied afterwards by :mod:`warpglass.ptx.scopes`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from warpglass.ptx.lexer import Cursor, integer_value, is_integer
from warpglass.ptx.model import (
    Address,
    Component,
    Immediate,
    Negated,
    Operand,
    OperandList,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)
from warpglass.ptx.opcodes import COMPONENTS, SPECIAL_REGISTERS, SWIZZLES, is_special

__all__ = ["MAX_NESTING", "constant", "number", "operand", "operands"]

#: Nesting of vectors, lists and parentheses beyond which a text is refused; real code needs three.
MAX_NESTING = 64

_MASK = 0xFFFFFFFFFFFFFFFF
_SINK = Sink()


def number(text: str) -> Immediate:
    """The immediate that a number token means."""
    head = text[:2].lower()
    if head == "0f":
        return Immediate("f32", int(text[2:], 16))
    if head == "0d":
        return Immediate("f64", int(text[2:], 16))
    if is_integer(text):
        return Immediate("int", integer_value(text))
    return Immediate("f64", struct.unpack("<Q", struct.pack("<d", float(text)))[0])


def _negated(value: Immediate) -> Immediate:
    if value.kind == "f32":
        return Immediate("f32", value.bits ^ 0x80000000)
    if value.kind == "f64":
        return Immediate("f64", value.bits ^ (1 << 63))
    return Immediate("int", -value.bits & _MASK)


def operands(cursor: Cursor) -> tuple[Operand, ...]:
    """Operands up to the ``;``, which is left standing."""
    if cursor.value == ";":
        return ()
    if cursor.value in ("}", ""):
        cursor.fail("expected ';' at the end of an instruction")
    found = [operand(cursor)]
    while cursor.accept(","):
        found.append(operand(cursor))
    if cursor.value != ";":
        cursor.fail(f"expected ',' or ';' after an operand, found {cursor.value[:40]!r}" if cursor.value else
                    "expected ';', found the end of the text")  # fmt: skip
    return tuple(found)


def operand(cursor: Cursor, depth: int = 0) -> Operand:
    """One operand with everything that hangs on it (``d|p``, ``!p``, ``a.x``, ``name+4``, ``a[1]``)."""
    first = _primary(cursor, depth)
    if cursor.value == "|" and isinstance(first, Register | Sink | Symbol):
        cursor.advance()
        return Pair(first, _primary(cursor, depth))
    return first


def _primary(cursor: Cursor, depth: int) -> Operand:
    if depth > MAX_NESTING:
        cursor.fail("operand nested too deeply")
    kind, value = cursor.kind, cursor.value
    if kind == "ident":
        return _named(cursor, depth)
    if value == "{":
        return Vector(_sequence(cursor, "}", depth))
    if value == "[":
        return _address(cursor, depth)
    if value == "(":
        return _parenthesised(cursor, depth)
    if value == "!":
        return _complement(cursor, depth)
    if value == "-":
        start = cursor.end
        cursor.advance()
        if cursor.kind == "ident" and cursor.value.startswith("%"):
            inner = _named(cursor, depth)
            if isinstance(inner, Register | Component):
                return Negated(inner, arithmetic=True)
            cursor.fail("only a register can be negated")
        cursor.seek(start - 1)
        return constant(cursor)
    if kind == "number" or value in ("~", "+"):
        return constant(cursor)
    return cursor.fail(f"expected an operand, found {value[:40]!r}" if value else
                       "expected an operand, found the end of the text")  # fmt: skip


def _complement(cursor: Cursor, depth: int) -> Operand:
    start = cursor.start
    cursor.advance()
    if cursor.kind == "ident":
        inner = _named(cursor, depth)
        if isinstance(inner, Symbol) and not inner.offset:
            inner = Register(inner.name)
        if isinstance(inner, Register | Component):
            return Negated(inner)
        cursor.fail("only a register can be complemented", start)
    cursor.seek(start)
    return constant(cursor)


def _named(cursor: Cursor, depth: int) -> Operand:
    name = cursor.advance()
    if name == "_":
        return _SINK
    if cursor.kind == "dot":
        return _component(cursor, name)
    if name[0] == "%":
        return SpecialRegister(name) if is_special(name) else Register(name)
    if name == "WARP_SZ":
        return _binary(cursor, Immediate("int", 32), 0, depth)
    if cursor.value in ("+", "-"):
        return Symbol(name, _offset(cursor))
    if cursor.value == "[":
        return _indexed(cursor, name)
    return Symbol(name)


def _component(cursor: Cursor, name: str) -> Operand:
    suffix = cursor.value[1:]
    if f"{name}.{suffix}" in SPECIAL_REGISTERS:
        cursor.advance()
        return SpecialRegister(f"{name}.{suffix}")
    index = COMPONENTS.get(suffix)
    if index is not None:
        cursor.advance()
        return Component(Register(name), index)
    if SWIZZLES.match(suffix):
        cursor.advance()
        return Component(Register(name), 0, suffix)
    return cursor.fail(f"'.{suffix[:20]}' is no vector component")


def _indexed(cursor: Cursor, name: str) -> Operand:
    """``array[index]``; the offset of a constant index is in elements until the scopes are applied."""
    cursor.expect("[")
    if cursor.kind == "ident" and cursor.value != "WARP_SZ":
        index = operand(cursor)
        plus = _offset(cursor) if cursor.value in ("+", "-") else 0
        if isinstance(index, Symbol):
            index, plus = Symbol(index.name), plus + index.offset
        cursor.expect("]")
        return Address(Symbol(name), plus, OperandList((index,)))
    index = constant(cursor)
    cursor.expect("]")
    return Address(Symbol(name), 0, OperandList((index,)))


def _offset(cursor: Cursor) -> int:
    """A chain of ``+ 4 - 2``, also ``+-4``; signed bytes."""
    total = 0
    while cursor.value in ("+", "-"):
        sign = 1 if cursor.advance() == "+" else -1
        while cursor.value in ("-", "+"):
            if cursor.advance() == "-":
                sign = -sign
        value = _unary(cursor, 0)
        while cursor.value in ("*", "/", "<<", ">>"):
            value = _apply(cursor, cursor.advance(), value, _unary(cursor, 0))
        if value.kind != "int":
            cursor.fail("an offset must be an integer")
        total += sign * int(value.value)
    return total


def _sequence(cursor: Cursor, close: str, depth: int) -> tuple[Operand, ...]:
    cursor.advance()
    if cursor.accept(close):
        return ()
    found = [operand(cursor, depth + 1)]
    while cursor.accept(","):
        found.append(operand(cursor, depth + 1))
    cursor.expect(close, "at the end of a list")
    return tuple(found)


def _parenthesised(cursor: Cursor, depth: int) -> Operand:
    """A call's list, or a constant expression that starts with a parenthesis or a cast."""
    start = cursor.start
    cursor.advance()
    is_cast = cursor.kind == "dot"
    cursor.seek(start)
    if is_cast:
        return constant(cursor)
    elements = _sequence(cursor, ")", depth)
    if cursor.value in _PRECEDENCE or cursor.value == "?":
        cursor.seek(start)
        return constant(cursor)
    return OperandList(elements)


def _address(cursor: Cursor, depth: int) -> Operand:
    cursor.expect("[")
    base: Operand | None = None
    offset = 0
    if cursor.value != "{":
        base = _base(cursor, depth)
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        elif cursor.value in ("+", "-"):
            offset = _offset(cursor)
    rest: list[Operand] = []
    while cursor.value == "," or (base is None and not rest):
        cursor.accept(",")
        rest.append(operand(cursor, depth + 1))
    cursor.expect("]", "at the end of an address")
    if not isinstance(base, Register | SpecialRegister | Symbol | Immediate | Component | None):
        cursor.fail("an address starts with a register, a name or a number")
    coordinates = None if not rest else rest[0] if len(rest) == 1 else OperandList(tuple(rest))
    return Address(base, offset, coordinates)


def _base(cursor: Cursor, depth: int) -> Operand:
    found = _primary(cursor, depth + 1)
    # [array[4]] does not exist, but [%r1+4] after a constant expression such as [(4*2)] does.
    if isinstance(found, OperandList) and len(found.elements) == 1:
        return found.elements[0]
    return found


# ---------------------------------------------------------------- constant expressions

_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


def constant(cursor: Cursor, depth: int = 0) -> Immediate:
    """A constant expression, by precedence as in C; 64-bit integers, or f64."""
    return _binary(cursor, _unary(cursor, depth), 0, depth)


def _binary(cursor: Cursor, left: Immediate, minimum: int, depth: int) -> Immediate:
    if depth > MAX_NESTING:
        cursor.fail("expression nested too deeply")
    while True:
        operator = cursor.value if cursor.kind == "op" else ""
        level = _PRECEDENCE.get(operator, 0)
        if level > minimum:
            cursor.advance()
            right = _unary(cursor, depth + 1)
            while cursor.kind == "op" and _PRECEDENCE.get(cursor.value, 0) > level:
                right = _binary(cursor, right, level, depth + 1)
            left = _apply(cursor, operator, left, right)
        elif operator == "?" and minimum == 0:
            cursor.advance()
            yes = constant(cursor, depth + 1)
            cursor.expect(":")
            no = constant(cursor, depth + 1)
            left = yes if left.value else no
        else:
            return left


def _unary(cursor: Cursor, depth: int) -> Immediate:
    if depth > MAX_NESTING:
        cursor.fail("expression nested too deeply")
    if cursor.kind == "number":
        return number(cursor.advance())
    if cursor.value in ("-", "+", "~", "!"):
        operator = cursor.advance()
        inner = _unary(cursor, depth + 1)
        if operator == "-":
            return _negated(inner)
        if operator == "!":
            return Immediate("int", int(not inner.value))
        if operator == "~":
            if inner.kind != "int":
                cursor.fail("'~' needs an integer")
            return Immediate("int", inner.bits ^ _MASK)
        return inner
    if cursor.value == "WARP_SZ":
        cursor.advance()
        return Immediate("int", 32)
    if cursor.value == "(":
        cursor.advance()
        if cursor.kind == "dot" and cursor.value in (".s64", ".u64"):  # a cast keeps all 64 bits
            cursor.advance()
            cursor.expect(")")
            return _unary(cursor, depth + 1)
        inner = constant(cursor, depth + 1)
        cursor.expect(")")
        return inner
    return cursor.fail(f"expected a constant, found {cursor.value[:40]!r}")


def _divided(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_INTEGER: Mapping[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a) or bool(b)),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << b if 0 <= b < 64 else 0,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else (-1 if a < 0 else 0),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": lambda a, b: a - b * _divided(a, b),
}
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||"})


def _apply(cursor: Cursor, operator: str, left: Immediate, right: Immediate) -> Immediate:
    if left.kind == "int" and right.kind == "int":
        if operator in ("/", "%") and right.bits == 0:
            cursor.fail("division by zero in a constant expression")
        return Immediate("int", _INTEGER[operator](int(left.value), int(right.value)) & _MASK)
    if operator in _COMPARISONS:
        # Comparisons mean the same for floats; only their truth is an integer.
        a, b = float(left.value), float(right.value)
        truth = {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}
        found = truth.get(operator, (bool(a) and bool(b)) if operator == "&&" else (bool(a) or bool(b)))
        return Immediate("int", int(found))
    if operator not in ("+", "-", "*", "/"):
        cursor.fail(f"'{operator}' needs integers")
    a, b = float(left.value), float(right.value)
    if operator == "/" and b == 0.0:
        cursor.fail("division by zero in a constant expression")
    value = a + b if operator == "+" else a - b if operator == "-" else a * b if operator == "*" else a / b
    return Immediate("f64", struct.unpack("<Q", struct.pack("<d", value))[0])

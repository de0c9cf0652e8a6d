"""Expressions over knobs and loop variables, as JSON: a number, a name, or ``[operator, operand, …]``.

Two evaluators exist, this one and ``static_js/pipeline-core.js``; a test holds them to equal results.
All values are integers; division rounds down; a truth is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warpglass.errors import InputError

__all__ = ["OPERATORS", "evaluate", "names_in"]

Expression = Any

#: Values beyond this are refused, so that both evaluators stay exact.
LARGEST = 2**40


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise InputError("a pipeline divides by zero")
    return a // b


def _modulo(a: int, b: int) -> int:
    if b == 0:
        raise InputError("a pipeline divides by zero")
    return a % b


OPERATORS: Mapping[str, Callable[..., int]] = {
    "+": lambda *v: sum(v),
    "-": lambda a, b=None: -a if b is None else a - b,
    "*": lambda a, b: a * b,
    "//": _divide,
    "cdiv": lambda a, b: -_divide(-a, b),
    "%": _modulo,
    "min": lambda *v: min(v),
    "max": lambda *v: max(v),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "and": lambda *v: int(all(v)),
    "or": lambda *v: int(any(v)),
    "not": lambda a: int(not a),
    "^": lambda a, b: a ^ b,
}


def evaluate(
    expression: Expression,
    names: Mapping[str, int],
    states: Mapping[str, Sequence[int]] | None = None,
    depth: int = 0,
) -> int:
    """The value of ``expression``; ``states`` maps a pipeline state to [start, phase, stages, count].

    ``["idx", state]`` is the state's stage and ``["ph", state]`` its phase; ``["if", c, a, b]`` evaluates
    one branch only. Raises :class:`InputError` for anything else.
    """
    if isinstance(expression, int):
        return int(expression)
    if isinstance(expression, str):
        if expression not in names:
            raise InputError(f"a pipeline names {expression[:40]!r}, which is no knob of it")
        return names[expression]
    if not isinstance(expression, list | tuple) or not expression or depth > 40:
        raise InputError("an expression of a pipeline is malformed")
    operator, *operands = expression
    if operator in ("idx", "ph") and states is not None and len(operands) == 1 and operands[0] in states:
        start, phase, stages, count = states[operands[0]]
        passed = start + count
        return passed % stages if operator == "idx" else (phase + passed // stages) & 1
    if operator == "if" and len(operands) == 3:
        chosen = operands[1] if evaluate(operands[0], names, states, depth + 1) else operands[2]
        return evaluate(chosen, names, states, depth + 1)
    function = OPERATORS.get(operator) if isinstance(operator, str) else None
    if function is None:
        raise InputError(f"a pipeline uses the unknown operator {str(operator)[:20]!r}")
    try:
        value = function(*(evaluate(operand, names, states, depth + 1) for operand in operands))
    except (TypeError, ValueError):
        raise InputError(f"operator {operator} of a pipeline has the wrong number of operands") from None
    if not -LARGEST <= value <= LARGEST:
        raise InputError("a value in a pipeline is out of range")
    return value


def names_in(expression: Expression) -> set[str]:
    """Every knob and loop variable that ``expression`` depends on."""
    if isinstance(expression, str):
        return {expression}
    if isinstance(expression, list | tuple) and expression and expression[0] not in ("idx", "ph"):
        return set().union(*(names_in(operand) for operand in expression[1:]))
    return set()

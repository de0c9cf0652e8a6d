"""Comparison operators of setp, set and vset."""

# numpy types operators on generic arrays as Any.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warpglass.machine.numeric.bits import Array

__all__ = ["BOOLEAN", "FLOAT", "INTEGER", "Compare"]

Compare = Callable[[Array, Array], Array]

#: On integers seen with their own signedness; lo, ls, hi, hs are the unsigned spellings.
INTEGER: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def _ordered(a: Array, b: Array) -> Array:
    return (a == a) & (b == b)


def _unordered(a: Array, b: Array) -> Array:
    return (a != a) | (b != b)


#: On floats: the ordered ones are false with a NaN, those with a trailing u are true with one.
FLOAT: dict[str, Compare] = {
    "eq": np.equal,
    "ne": lambda a, b: (a != b) & _ordered(a, b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": _ordered,
    "nan": _unordered,
}

#: Boolean operators that join the comparison with a third predicate.
BOOLEAN: dict[str, Compare] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}

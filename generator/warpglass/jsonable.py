"""Any model of the project as plain JSON: dataclasses become objects that name their class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpglass.errors import InputError

__all__ = ["to_jsonable"]

_DEEPEST = 400
_SAFE = 2**53


def to_jsonable(value: object) -> Any:
    """``value`` in JSON's own types.

    A dataclass becomes an object with its class under ``node``; mappings with keys that are no text, and
    sets, become lists; bytes become hexadecimal text; numbers that JSON cannot hold (NaN, infinities,
    integers beyond 2^53) become text. Raises :class:`InputError` for models nested without bound.
    """
    return _convert(value, 0)


def _convert(value: object, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InputError(f"this model is nested more than {_DEEPEST} levels deep")
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, Path):
        return value.name
    if isinstance(value, np.ndarray):
        return [_convert(item, depth + 1) for item in value.tolist()]
    if is_dataclass(value) and not isinstance(value, type):
        shown = {item.name: _convert(getattr(value, item.name), depth + 1) for item in fields(value)}
        return {"node": type(value).__name__, **shown}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {str(key): _convert(item, depth + 1) for key, item in value.items()}
        return [[_convert(key, depth + 1), _convert(item, depth + 1)] for key, item in value.items()]
    if isinstance(value, Set):
        return sorted((_convert(item, depth + 1) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [_convert(item, depth + 1) for item in value]
    return str(value)

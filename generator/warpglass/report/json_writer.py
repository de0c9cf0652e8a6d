"""The report as JSON: sorted keys, one representation for every value, the same bytes every time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["compact", "plain", "pretty"]

_SCALARS = frozenset({int, bool, str, type(None)})
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Integers beyond this do not survive a JavaScript reader; they are written as strings.
_SAFE = 2**53


def plain(value: Any) -> Any:
    """``value`` as JSON holds it: dicts with text keys, lists, text, numbers, booleans and None.

    Tuples and arrays become lists, integers beyond 2**53 text. NaN and infinities become null with a mark
    beside them: under ``<key>?`` for a member, ``{index: mark}`` under ``<key>?`` for entries of a list,
    and as ``why_unknown`` where the value is a report number. Idempotent. Raises TypeError for other types.
    """
    result, _ = _plain(value)
    return result


def _plain(value: Any) -> tuple[Any, Any]:
    """The JSON value, and its mark: None, text for a scalar, or a dict of marks for a list."""
    if isinstance(value, Mapping):
        return _plain_dict(value), None
    if isinstance(value, np.ndarray):
        value = value.tolist()
        if not isinstance(value, list):
            return _plain(value)
    if isinstance(value, list | tuple):
        return _plain_list(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value, None
    if isinstance(value, int):
        return (int(value) if -_SAFE <= value <= _SAFE else str(int(value))), None
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value), None
        return None, "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return value.hex(), None
    raise TypeError(f"a report cannot hold a {type(value).__name__}")


def _plain_dict(value: Mapping[Any, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key)
        out[name], mark = _plain(item)
        if mark is None:
            continue
        if name == "value" and "evidence" in value and isinstance(mark, str):
            out["why_unknown"] = value.get("why_unknown") or f"the value is {mark}"
        else:
            out[f"{name}?"] = mark
    return out


def _plain_list(value: list[Any] | tuple[Any, ...]) -> tuple[list[Any], dict[str, Any] | None]:
    kinds = set(map(type, value))
    # Columns of a trace hold millions of small integers: look at types and extremes only.
    if kinds <= _SCALARS and not (int in kinds and _beyond(value)):
        return list(value), None
    items: list[Any] = []
    marks: dict[str, Any] = {}
    for index, item in enumerate(value):
        one, mark = _plain(item)
        items.append(one)
        if mark is not None:
            marks[str(index)] = mark
    return items, marks or None


def _beyond(value: list[Any] | tuple[Any, ...]) -> bool:
    return any(isinstance(item, int) and not -_SAFE <= item <= _SAFE for item in value)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    # A lone surrogate is legal in a Python str but cannot be encoded as UTF-8.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def compact(value: Any) -> str:
    """JSON on one line, keys sorted. ``value`` must be :func:`plain` already."""
    return _text(value)


def pretty(value: Any) -> str:
    """Readable JSON that ends with a line break: a line for each member, columns on one line each."""
    out: list[str] = []
    _pretty(value, "", out)
    out.append("\n")
    return "".join(out)


def _flat(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) <= 6 and not any(isinstance(item, dict | list) for item in value.values())
    if isinstance(value, list):
        return not any(isinstance(item, dict | list) for item in value)
    return True


def _pretty(value: Any, indent: str, out: list[str]) -> None:
    if not value or _flat(value):
        out.append(_text(value))
        return
    deeper = indent + " "
    is_dict = isinstance(value, dict)
    out.append("{\n" if is_dict else "[\n")
    items: list[Any] = sorted(value) if is_dict else value
    for index, item in enumerate(items):
        out.append(",\n" if index else "")
        out.append(deeper)
        if is_dict:
            out.append(_text(item) + ": ")
            item = value[item]
        _pretty(item, deeper, out)
    out.append(f"\n{indent}" + ("}" if is_dict else "]"))

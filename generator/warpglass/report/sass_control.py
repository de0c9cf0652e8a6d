"""Control fields of SASS instructions as narrow text with a plain-language title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["control_cells"]

_BARRIERS = 6


def control_cells(control: Sequence[Any]) -> list[dict[str, str] | None]:
    """One cell an instruction; an empty list where no instruction has a control field (PTX)."""
    cells = [_cell(field) if isinstance(field, Mapping) else None for field in control]
    return cells if any(cells) else []


def _barrier(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < _BARRIERS else None


def _waits(value: Any) -> list[int]:
    if isinstance(value, int):
        return [b for b in range(_BARRIERS) if value >> b & 1]
    return [b for b in value if isinstance(b, int)] if isinstance(value, Sequence) else []


def _cell(field: Mapping[str, Any]) -> dict[str, str]:
    write, read = _barrier(field.get("write")), _barrier(field.get("read"))
    waits = _waits(field.get("wait") or 0)
    stall, yielded = field.get("stall"), field.get("yield", field.get("yield_bit"))
    text = (
        f"{'?' if stall is None else stall:>2} {'·' if not yielded else 'Y'} "
        f"{'-' if write is None else write} {'-' if read is None else read} "
        + "".join(str(b) if b in waits else "-" for b in range(_BARRIERS))
    )
    parts = [] if stall is None else [f"the next instruction issues {stall} cycles later at the earliest"]
    if yielded is not None:
        parts.append(f"yield bit {int(bool(yielded))} (raw)")
    if write is not None:
        parts.append(f"sets barrier {write} until its result is written")
    if read is not None:
        parts.append(f"sets barrier {read} until its operands are read")
    if waits:
        parts.append("waits for barrier " + ", ".join(map(str, waits)))
    if field.get("reuse"):
        parts.append(f"operand reuse {field['reuse']}")
    return {"text": text, "title": "; ".join(parts)}

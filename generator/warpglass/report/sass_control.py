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


def _cell(field: Mapping[str, Any]) -> dict[str, str]:
    write, read = _barrier(field.get("write_barrier")), _barrier(field.get("read_barrier"))
    mask = field.get("wait_mask")
    waits = [b for b in range(_BARRIERS) if isinstance(mask, int) and mask >> b & 1]
    stall, raw = field.get("stall"), field.get("yield_bit")
    reuse = field.get("reuse") if isinstance(field.get("reuse"), int) else 0
    text = (
        f"{'?' if stall is None else stall:>2} {'?' if raw is None else int(raw)} "
        f"{'-' if write is None else write} {'-' if read is None else read} "
        + "".join(str(b) if b in waits else "-" for b in range(_BARRIERS))
        + (f" r{reuse:x}" if reuse else "")
    )
    parts = [] if stall is None else [f"the warp's next instruction issues at least {stall} cycles later"]
    if raw is not None:
        parts.append(f"yield bit {int(raw)} (raw: tools disagree about its sense)")
    if write is not None:
        parts.append(f"barrier {write} is set until the result is written")
    if read is not None:
        parts.append(f"barrier {read} is set until the operands are read")
    if waits:
        parts.append(f"waits for barrier {', '.join(map(str, waits))}")
    slots = [str(slot) for slot in range(4) if reuse and reuse >> slot & 1]
    if slots:
        parts.append(f"operand slot {', '.join(slots)} stays in the operand cache")
    return {"text": text, "title": "; ".join(parts)}

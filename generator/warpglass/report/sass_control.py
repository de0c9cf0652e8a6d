"""Control fields of SASS instructions as narrow text; what they mean in words is the script's business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COLUMNS", "control_texts"]

_BARRIERS = 6

#: Head of each column, and what it says, in the order of the text.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("st", "stall: cycles until the warp may issue its next instruction"),
    ("y", "the yield bit as it is encoded: tools disagree about its sense"),
    ("W", "the barrier, 0 to 5, that is set until the result is written"),
    ("R", "the barrier, 0 to 5, that is set until the operands are read"),
    ("wait  ", "barriers that have to be clear before the instruction issues"),
    ("r", "reuse: operand slots that stay in the operand cache, as bits"),
)


def control_texts(control: Sequence[Any]) -> list[str | None]:
    """One text an instruction; an empty list where no instruction has a control field (PTX)."""
    texts = [_text(field) if isinstance(field, Mapping) else None for field in control]
    return texts if any(texts) else []


def _barrier(value: Any) -> str:
    return str(value) if isinstance(value, int) and 0 <= value < _BARRIERS else "-"


def _text(field: Mapping[str, Any]) -> str:
    """Columns 2, 1, 1, 1, 6 and 1 wide, one space between them; trailing blanks left out."""
    mask, stall, raw, reuse = (field.get(name) for name in ("wait_mask", "stall", "yield_bit", "reuse"))
    waits = "".join(str(b) if isinstance(mask, int) and mask >> b & 1 else "-" for b in range(_BARRIERS))
    text = (
        f"{'?' if stall is None else stall:>2} {'?' if raw is None else int(raw)} "
        f"{_barrier(field.get('write_barrier'))} {_barrier(field.get('read_barrier'))} {waits}"
    )
    return f"{text} {reuse:x}" if isinstance(reuse, int) and reuse else text

"""Uniform registers behind the addresses and descriptors of bulk copies and tensor-core products."""

from __future__ import annotations

from warpglass.sass.model import Instruction

__all__ = ["bulk_width", "descriptor_width"]


def _dimensions(instruction: Instruction) -> int:
    return next(
        (
            int(part[0])
            for part in instruction.modifiers
            if len(part) == 2 and part[1] == "D" and part[0].isdigit()
        ),
        1,
    )


def bulk_width(instruction: Instruction, first: bool) -> int | None:
    """Uniform registers that ``[UR4]`` stands for, or None where the general rule holds.

    A tensor load names shared address, barrier and coordinates in one group, a tensor store shared address
    and coordinates; the tensor's own descriptor is a 64-bit address. A shared address alone is one register.
    """
    base, modifiers = instruction.base, instruction.modifiers
    if base in ("UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF"):
        if not first:
            return 2
        return _dimensions(instruction) + (2 if base == "UTMALDG" else 1)
    if base in ("UBLKCP", "UBLKRED") and modifiers[:2] == ("G", "S") and not first:
        return 1
    if base == "UTCBAR":
        return 1
    return None


def descriptor_width(instruction: Instruction, kind: str) -> int:
    """Uniform registers of ``gdesc[UR4]`` (both matrices of a warp-group product) and ``idesc[UR4]``."""
    if kind == "gdesc":
        return 2 if instruction.base.startswith("UTC") else 4
    return 1 if kind == "idesc" else 2

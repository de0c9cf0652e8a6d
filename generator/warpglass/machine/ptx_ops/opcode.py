"""An opcode taken apart, and the internal form of a meaning before operands are attached."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warpglass.machine.ptx_ops.model import LaneFunction

__all__ = ["Builder", "Meaning", "Opcode", "Shape", "Table", "container", "kind_of", "parse_opcode", "width"]

#: What stands at each operand position: "r" one value, "v2", "v4" … a vector, "p" a pair ``d|p``,
#: "r:b0" a part of a register (video instructions), with "-" in front where it is negated.
Shape = tuple[str, ...]

_TYPE = re.compile(
    r"(?:[usb](?:8|16|32|64|128)|f16|f32|f64|bf16|tf32|pred|b1|b4x16|b6x16_p32|b6p2x16|[us]4"
    r"|[us]2|[us](?:8|16)x[24]|(?:f16|bf16|f32)x2|(?:e4m3|e5m2|e3m2|e2m3|e2m1|ue8m0|s2f6)(?:x[24])?|ue4m3)\Z"
)

#: Bits of the container of each type that is not named by its width.
_WIDTHS: dict[str, int] = {
    "f16x2": 32, "bf16x2": 32, "f32x2": 64, "tf32": 32, "u16x2": 32, "s16x2": 32, "u8x4": 32, "s8x4": 32,
    "e4m3x2": 16, "e5m2x2": 16, "e3m2x2": 16, "e2m3x2": 16, "e2m1x2": 8, "ue8m0x2": 16, "s2f6x2": 16,
    "e4m3x4": 32, "e5m2x4": 32, "e3m2x4": 32, "e2m3x4": 32, "e2m1x4": 16, "bf16": 16, "f16": 16,
    "e4m3": 8, "e5m2": 8, "e3m2": 8, "e2m3": 8, "e2m1": 8, "ue8m0": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Opcode:
    """``base``, the modifiers in order, and the types in order (``mad.lo.cc.u32``: mad; lo, cc; u32)."""

    text: str
    base: str
    mods: tuple[str, ...]
    types: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(name in self.mods for name in names)

    def pick(self, names: Mapping[str, object] | tuple[str, ...] | frozenset[str], default: str = "") -> str:
        """The first modifier that is one of ``names``."""
        return next((m for m in self.mods if m in names), default)

    def need(self, names: Mapping[str, object] | tuple[str, ...]) -> str:
        """The one modifier of these that has to be there; ValueError without it."""
        found = [m for m in self.mods if m in names]
        if len(found) != 1:
            raise ValueError(self.text)
        return found[0]

    @property
    def type(self) -> str:
        """The last type, ``""`` without one."""
        return self.types[-1] if self.types else ""

    @property
    def rounding(self) -> str:
        """rn, rz, rm, rp, rna or rs; rn where none is written."""
        return self.pick(("rn", "rz", "rm", "rp", "rna", "rs"), "rn")


@dataclass(frozen=True, slots=True)
class Meaning:
    """Formats of destinations and sources in operand order, and the function.

    Vectors and pairs count one format an element. ``carry_in``/``carry_out`` add the carry flag as last
    source or destination. ``membermask`` is a source index. ``no_dest``: all operands are sources.
    """

    dests: tuple[str, ...]
    sources: tuple[str, ...]
    fn: LaneFunction
    warp: bool = False
    carry_in: bool = False
    carry_out: bool = False
    membermask: int | None = None


Builder = Callable[[Opcode, Shape], Meaning | None]

#: Keyed by (base, kind of the last type); kind "*" serves every type.
Table = Mapping[tuple[str, str], Builder]


def parse_opcode(text: str) -> Opcode:
    """Take the dotted text apart; types are told from modifiers by their names."""
    base, *rest = text.split(".")
    types = tuple(p for p in rest if _TYPE.match(p))
    mods = tuple(p for p in rest if not _TYPE.match(p))
    return Opcode(text, base, mods, types)


def width(type_name: str) -> int:
    """Bits of a type (8 for the smaller ones, which occupy a byte)."""
    if type_name in _WIDTHS:
        return _WIDTHS[type_name]
    return int(type_name.lstrip("usbf"))


def container(type_name: str) -> str:
    """Container of a type."""
    return "pred" if type_name == "pred" else f"b{max(16, width(type_name))}"


def kind_of(type_name: str) -> str:
    """int, packed (u16x2, s8x4 …), f32, f64, half (f16, bf16 and their pairs), f32x2, pred, other."""
    if type_name in ("f32", "f64", "f32x2", "pred"):
        return type_name
    if type_name in ("f16", "bf16", "f16x2", "bf16x2"):
        return "half"
    if re.match(r"[usb]\d+\Z", type_name):
        return "int"
    if re.match(r"[us](?:8|16)x[24]\Z", type_name):
        return "packed"
    return "other" if type_name else "none"

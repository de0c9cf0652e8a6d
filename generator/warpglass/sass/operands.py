"""Operands of machine instructions, fully parsed, and the parser of one operand's text.

The forms were collected from what ptxas 13.0 emits for sm_75 to sm_120 and from listings of older
architectures; a form nobody has met stays an :class:`Opaque` with its text.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, replace

__all__ = [
    "Address", "Barrier", "Constant", "Descriptor", "Immediate", "Label", "Opaque", "Operand",
    "Predicate", "Register", "Scoreboards", "SpecialRegister", "UniformPredicate", "UniformRegister",
    "Word", "parse_operand", "split_operands",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Register:
    """``R12``, ``-R3.reuse``, ``|R7|``, ``~R2``, ``R4.H0_H0``. ``index`` is None for RZ, which reads as zero.

    ``suffixes`` holds what follows the name except ``reuse`` (``64``, ``H0_H0``, ``X4``, ``ROW``, …).
    """

    index: int | None
    suffixes: tuple[str, ...] = ()
    reuse: bool = False
    negated: bool = False
    absolute: bool = False
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class UniformRegister:
    """``UR4``, one value for the whole warp; ``index`` is None for URZ. Fields as in :class:`Register`."""

    index: int | None
    suffixes: tuple[str, ...] = ()
    reuse: bool = False
    negated: bool = False
    absolute: bool = False
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Predicate:
    """``P0``, ``!P3``; ``index`` is None for PT, which is always true."""

    index: int | None
    negated: bool = False
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UniformPredicate:
    """``UP0``; ``index`` is None for UPT."""

    index: int | None
    negated: bool = False
    suffixes: tuple[str, ...] = ()
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. ``kind`` is ``int`` or ``float``; ``-QNAN`` and ``+INF`` are floats.

    ``value`` is the number meant, ``text`` what stands in the listing. ``negated`` and the like stay False
    for a plain minus sign, which is part of the number.
    """

    kind: str
    value: int | float
    text: str
    suffixes: tuple[str, ...] = ()
    inverted: bool = False

    @property
    def bits32(self) -> int:
        """The 32-bit pattern: two's complement, or IEEE single (the sign of a NaN is kept)."""
        if self.kind == "int":
            return int(self.value) & 0xFFFFFFFF
        if math.isnan(self.value):
            return 0xFFC00000 if self.text.startswith("-") else 0x7FC00000
        try:
            return int(struct.unpack("<I", struct.pack("<f", self.value))[0])
        except OverflowError:
            return 0xFF800000 if self.value < 0 else 0x7F800000

    @property
    def bits64(self) -> int:
        """The 64-bit pattern: two's complement, or IEEE double."""
        if self.kind == "int":
            return int(self.value) & 0xFFFFFFFFFFFFFFFF
        if math.isnan(self.value):
            return 0xFFF8000000000000 if self.text.startswith("-") else 0x7FF8000000000000
        return int(struct.unpack("<Q", struct.pack("<d", self.value))[0])


@dataclass(frozen=True, slots=True)
class Constant:
    """``c[0x0][0x160]``, ``c[0x0][R2+0x4]``, ``cx[UR4][0x10]`` (then ``bank`` is a uniform register)."""

    bank: int | UniformRegister
    offset: int
    base: Register | UniformRegister | None = None
    suffixes: tuple[str, ...] = ()
    reuse: bool = False
    negated: bool = False
    absolute: bool = False
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """``[R2.64+UR4+0x10]``, with its descriptor where one is named: ``desc[UR4][R2.64]``.

    ``space`` is empty, ``tmem`` for tensor memory, ``a`` for attributes; the widths of the parts are in
    their suffixes (``R2.64``: the pair R2, R3).
    """

    register: Register | None
    uniform: UniformRegister | None
    offset: int
    descriptor: UniformRegister | None = None
    space: str = ""
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Descriptor:
    """``gdesc[UR4]``, ``idesc[UR8]``: a matrix or instruction descriptor in uniform registers."""

    kind: str
    register: UniformRegister
    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A code address. ``target`` is a byte offset in the function, or None where it lies elsewhere.

    ``part`` is ``lo`` or ``hi`` where only half of the address is meant (``32@lo(…)``).
    """

    name: str
    target: int | None
    part: str = ""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """``SR_TID.X``; ``name`` is the whole text without ``SR_``."""

    name: str


@dataclass(frozen=True, slots=True)
class Barrier:
    """A convergence barrier register ``B0`` to ``B15``."""

    index: int


@dataclass(frozen=True, slots=True)
class Scoreboards:
    """``SB0``, or the set ``{1,0}`` of DEPBAR."""

    indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word that chooses a variant: ``2D``, ``PR``, ``gsb0``."""

    text: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text in a form that is not known; the reader gets a diagnostic."""

    text: str


Operand = (
    Register | UniformRegister | Predicate | UniformPredicate | Immediate | Constant | Address | Descriptor
    | Label | SpecialRegister | Barrier | Scoreboards | Word | Opaque
)  # fmt: skip

_SUFFIX = r"((?:\.[A-Za-z0-9_]+)*)"
_REGISTER = re.compile(rf"(U?R)(\d{{1,3}}|Z){_SUFFIX}\Z")
_PREDICATE = re.compile(rf"(U?P)(\d{{1,2}}|T){_SUFFIX}\Z")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]{1,32}|\d{1,40})\Z")
_FLOAT = re.compile(r"[-+]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][-+]?\d{1,6})?\Z")
_NAN_INF = re.compile(r"([-+]?)(QNAN|SNAN|NAN|INF)\Z", re.IGNORECASE)
_BRACKETS = re.compile(r"([A-Za-z]*)\[([^\[\]]*)\](?: ?\[([^\[\]]*)\])?((?:\.[A-Za-z0-9_]+)*)\Z")
_LABEL = re.compile(r"`\((.*)\)\Z", re.DOTALL)
_HALF_LABEL = re.compile(r"(?:\d+@)?(lo|hi)\((.*)\)\Z", re.DOTALL)
_BARRIER = re.compile(r"B(\d{1,2})\Z")
_SCOREBOARD = re.compile(r"SB(\d)\Z")
_SET = re.compile(r"\{\s*(\d(?:\s*,\s*\d)*)\s*\}\Z")
_WORD = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*\Z")


def split_operands(text: str) -> list[str]:
    """Split at the commas and blanks that stand outside brackets, in linear time.

    ``RET.REL.NODEC R4 0x0`` has two operands without a comma between them; a comma inside ``{1,0}``,
    ``[…]`` or ``(…)`` belongs to its operand.
    """
    parts: list[str] = []
    depth = start = 0
    for index, char in enumerate(text):
        if char in "[({":
            depth += 1
        elif char in "])}":
            depth = max(0, depth - 1)
        elif depth == 0 and (char == "," or char.isspace()):
            if start < index:
                parts.append(text[start:index])
            start = index + 1
    if start < len(text):
        parts.append(text[start:])
    return [part for part in _rejoin(parts) if part]


def _rejoin(parts: list[str]) -> list[str]:
    """Older tools print ``c[0x0] [0x8]``: the second bracket belongs to the bank before it."""
    for index in range(1, len(parts)):
        if parts[index].startswith("[") and parts[index - 1].lstrip("-~|").startswith(("c[", "cx[")):
            parts[index - 1], parts[index] = parts[index - 1] + parts[index], ""
    return parts


def _suffixes(text: str) -> tuple[tuple[str, ...], bool]:
    parts = tuple(part for part in text.split(".") if part)
    return tuple(part for part in parts if part != "reuse"), "reuse" in parts


def _number(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("-")
    return sign * int(digits, 16 if digits[:2].lower() == "0x" else 10)


def _register(text: str) -> Register | UniformRegister | None:
    match = _REGISTER.match(text)
    if match is None:
        return None
    index = None if match[2] == "Z" else int(match[2])
    suffixes, reuse = _suffixes(match[3])
    make = Register if match[1] == "R" else UniformRegister
    return make(index, suffixes, reuse)


def _inside(text: str) -> tuple[Register | None, UniformRegister | None, int] | None:
    """``R2.64+UR4+-0x10`` as its parts; None where something else stands there."""
    register: Register | None = None
    uniform: UniformRegister | None = None
    offset = 0
    for part in text.replace(" ", "").replace("-0x", "+-0x").split("+"):
        if not part:
            continue
        parsed = _register(part)
        if isinstance(parsed, Register) and register is None:
            register = parsed
        elif isinstance(parsed, UniformRegister) and uniform is None:
            uniform = parsed
        elif _NUMBER.match(part):
            offset += _number(part)
        else:
            return None
    return register, uniform, offset


def _bracketed(text: str) -> Operand | None:
    match = _BRACKETS.match(text)
    if match is None:
        return None
    prefix, first, second, tail = match[1], match[2], match[3], match[4]
    suffixes, reuse = _suffixes(tail)
    inner = _inside(first)
    if inner is None:
        return None
    if prefix in ("c", "cx"):
        place = _inside(second) if second is not None else None
        if place is None:
            return None
        bank: int | UniformRegister = inner[2] if inner[1] is None else inner[1]
        return Constant(bank, place[2], place[0] or place[1], suffixes, reuse)
    if prefix == "desc" and second is not None:
        place = _inside(second)
        if place is None or inner[1] is None:
            return None
        return Address(place[0], place[1], place[2], descriptor=inner[1], suffixes=suffixes)
    if second is not None:
        return None
    if prefix in ("gdesc", "idesc", "desc") and inner[1] is not None:
        return Descriptor(prefix, inner[1], suffixes)
    if prefix in ("", "tmem", "a"):
        return Address(inner[0], inner[1], inner[2], space=prefix, suffixes=suffixes)
    return None


def _literal(text: str) -> Immediate | None:
    if _NUMBER.match(text):
        return Immediate("int", _number(text), text)
    if _FLOAT.match(text):
        return Immediate("float", float(text), text)
    match = _NAN_INF.match(text)
    if match is not None:
        value = math.inf if match[2].upper() == "INF" else math.nan
        return Immediate("float", -value if match[1] == "-" else value, text)
    if "." in text:
        head, _, tail = text.partition(".")
        if _NUMBER.match(head) and tail and not tail[0].isdigit():
            return Immediate("int", _number(head), text, tuple(tail.split(".")))
    return None


def _plain(text: str) -> Operand | None:
    """An operand without a sign, bars or a tilde around it."""
    register = _register(text)
    if register is not None:
        return register
    match = _PREDICATE.match(text)
    if match is not None:
        index = None if match[2] == "T" else int(match[2])
        suffixes, _ = _suffixes(match[3])
        if match[1] == "P":
            return Predicate(index, suffixes=suffixes)
        return UniformPredicate(index, suffixes=suffixes)
    literal = _literal(text)
    if literal is not None:
        return literal
    if "[" in text:
        return _bracketed(text)
    return _named(text)


def _named(text: str) -> Operand | None:
    if text.startswith("SR_") or text in ("SRZ", "VIRTID"):
        return SpecialRegister(text.removeprefix("SR_"))
    for pattern, part in ((_LABEL, None), (_HALF_LABEL, 1)):
        match = pattern.match(text)
        if match is not None:
            return Label(match[match.lastindex or 1].strip("() "), None, "" if part is None else match[part])
    match = _BARRIER.match(text)
    if match is not None:
        return Barrier(int(match[1]))
    match = _SCOREBOARD.match(text)
    if match is not None:
        return Scoreboards((int(match[1]),))
    match = _SET.match(text)
    if match is not None:
        return Scoreboards(tuple(int(part) for part in match[1].split(",")))
    return Word(text) if _WORD.match(text) else None


def parse_operand(text: str) -> Operand:
    """One operand; an unknown form is an :class:`Opaque`, never an error."""
    plain = _plain(text)
    if plain is not None:
        return plain
    body, negated, inverted, absolute, suffix = text, False, False, False, ""
    if body[:1] == "!":
        target = _plain(body[1:])
        if isinstance(target, Predicate | UniformPredicate):
            return replace(target, negated=True)
        return Opaque(text)
    if body[:1] in ("-", "+"):
        negated, body = body[0] == "-", body[1:]
    if body[:1] == "~":
        inverted, body = True, body[1:]
    if body[:1] == "|":
        end = body.rfind("|")
        if end > 0:
            absolute, suffix, body = True, body[end + 1 :], body[1:end]
    target = _plain(body + suffix)
    if isinstance(target, Register | UniformRegister | Constant):
        return replace(target, negated=negated, inverted=inverted, absolute=absolute)
    if isinstance(target, UniformPredicate) and inverted:
        return replace(target, inverted=True)
    if isinstance(target, Immediate) and inverted and isinstance(target.value, int):
        return replace(target, value=~target.value, text=text, inverted=True)
    return Opaque(text)

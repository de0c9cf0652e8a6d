"""Frozen models of a PTX module.

Names follow the PTX ISA document. Every node that stands in the text knows its
line (from 1). A module is plain data: nothing here reads files or analyses.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = [
    "Address", "Component", "Diagnostic", "Function", "Guard", "Immediate", "Instruction",
    "Loc", "Module", "Negated", "Operand", "OperandList", "Pair", "Param", "Register",
    "Sink", "SpecialRegister", "Symbol", "Variable", "Vector",
]  # fmt: skip

_EMPTY: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Loc:
    """A ``.loc``: place in the high-level source. ``inlined_at`` is the caller, one frame further out."""

    file: int
    line: int
    column: int
    function: str | None = None
    inlined_at: Loc | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register of the function, ``%r1`` or ``counter``; names of nested scopes are made unique."""

    name: str


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A predefined read-only register with its component, ``%tid.x``, ``%laneid``."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. ``kind`` is ``int``, ``f32`` (``0f…``) or ``f64`` (``0d…`` and decimal floats).

    ``bits`` is the two's-complement or IEEE pattern (64, 32, 64 bits), never negative.
    """

    kind: str
    bits: int

    @property
    def value(self) -> int | float:
        """The number meant; an ``int`` is read as signed 64 bits."""
        if self.kind == "f32":
            return float(struct.unpack("<f", struct.pack("<I", self.bits))[0])
        if self.kind == "f64":
            return float(struct.unpack("<d", struct.pack("<Q", self.bits))[0])
        return self.bits - (1 << 64) if self.bits >> 63 else self.bits


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name used as operand: variable, parameter, function or label, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Sink:
    """The ``_`` operand: the result is discarded."""


@dataclass(frozen=True, slots=True)
class Component:
    """One element of a vector register, ``%v.x`` (index 0 to 3).

    ``selector`` holds the written suffix of the video instructions instead (``b0``, ``h1``): bytes or
    halves of a plain 32-bit register; it is empty for vector elements.
    """

    register: Register
    index: int
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Negated:
    """``!p`` as a source operand; ``arithmetic`` for the ``-c`` of ``vmad``."""

    operand: Register | Component
    arithmetic: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations written ``d|p``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, c, d}``; elements may be :class:`Sink`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class OperandList:
    """``(a, b)``: return values and arguments of a call."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``, with the coordinates of tensor and texture forms ``[base, {x, y}]``.

    ``[base, sampler, {x, y}]`` has an :class:`OperandList` of the two as coordinates; ``array[register]``
    has the array as base and a one-element :class:`OperandList` of the index register as coordinates.
    """

    base: Register | SpecialRegister | Symbol | Immediate | Component | None
    offset: int = 0
    coordinates: Operand | None = None


Operand = (
    Register | SpecialRegister | Immediate | Symbol | Sink | Component | Negated | Pair | Vector
    | OperandList | Address
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``opcode`` is the dotted text (``ld.global.v4.f32``); ``text`` ends before ``;``."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    column: int
    loc: Loc | None
    text: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode split at its dots; ``::`` stays inside a part."""
        return tuple(self.opcode.split("."))

    @property
    def base(self) -> str:
        """The first part of the opcode."""
        return self.opcode.split(".", 1)[0]


@dataclass(frozen=True, slots=True)
class Param:
    """A formal parameter. ``size`` is in bytes over all ``count`` elements (1 for scalars).

    ``pointer`` is None, or the state space that ``.ptr`` names (``generic`` where it names none);
    ``type`` is a PTX type with its dot off (``u64``, ``b8``, ``f32``).
    """

    name: str
    type: str
    align: int
    count: int
    size: int
    space: str = "param"
    is_array: bool = False
    pointer: str | None = None
    pointer_align: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space. ``initializer`` is a flat byte string or None; symbol addresses in it
    are listed in ``relocations`` as (byte offset, symbol, addend, is_generic)."""

    name: str
    space: str
    type: str
    align: int
    shape: tuple[int, ...]
    size: int
    line: int
    linkage: str = ""
    initializer: bytes | None = None
    relocations: tuple[tuple[int, str, int, bool], ...] = ()
    vector: int = 1

    @property
    def is_extern_array(self) -> bool:
        """True for ``.extern .shared x[]``: sized by the launch."""
        return self.size == 0


@dataclass(frozen=True, slots=True)
class Function:
    """A ``.entry`` or ``.func``.

    ``instructions`` is the flat body with nested scopes dissolved; ``labels`` maps a (unique) label to the
    index of the instruction it precedes, ``len(instructions)`` at the end. ``registers`` maps names to types
    (``b32``, ``pred``, ``f64``; vector registers as ``v4.f32``). ``directives`` holds the performance
    directives without dot, e.g. ``{"maxntid": (128, 1, 1), "minnctapersm": (2,)}``.
    """

    name: str
    is_entry: bool
    linkage: str
    params: tuple[Param, ...]
    returns: tuple[Param, ...]
    registers: Mapping[str, str]
    variables: tuple[Variable, ...]
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    line: int
    end_line: int
    has_body: bool = True
    directives: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    branch_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    call_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: Mapping[str, tuple[tuple[Param, ...], tuple[Param, ...]]] = field(default_factory=dict)
    pragmas: tuple[str, ...] = ()
    noreturn: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something kept as text, or a function given up on. ``severity`` is info, warning or error."""

    severity: str
    message: str
    file: str
    line: int
    column: int
    source_line: str = ""


@dataclass(frozen=True, slots=True)
class Module:
    """One PTX translation unit. ``files`` maps ``.file`` indexes to paths as written."""

    name: str
    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]
    files: Mapping[int, str]
    diagnostics: tuple[Diagnostic, ...]
    sections: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The entries, in the order of the text."""
        return tuple(f for f in self.functions if f.is_entry)

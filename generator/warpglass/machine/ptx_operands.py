"""Operands of PTX as numbered registers: registers, specials, constants and symbol addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.program import DTYPES, Array
from warpglass.machine.special import DYNAMIC, container_of_special
from warpglass.ptx.model import (
    Component,
    Function,
    Immediate,
    Negated,
    Operand,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
)  # fmt: skip
from warpglass.ptx.opcodes import OPAQUE_TYPES, TYPE_SIZES

__all__ = ["Fix", "RegisterFile", "Scope", "Unsupported", "container_of_type", "immediate_bits"]

Fix = Callable[[Array], Array]

_WIDTH = {"b16": 16, "b32": 32, "b64": 64}
_SIGNED = {"b16": np.int16, "b32": np.int32, "b64": np.int64}


class Unsupported(Exception):
    """An instruction that cannot be lowered; execution stops when it gets there."""


def container_of_type(kind: str) -> str:
    """Register container of a PTX type."""
    if kind == "pred":
        return "pred"
    size = TYPE_SIZES.get(kind, 8 if kind in OPAQUE_TYPES else 4)
    return "b16" if size <= 2 else "b32" if size <= 4 else "b64" if size <= 8 else "b128"


def immediate_bits(value: Immediate, container: str, form: str = "") -> int:
    """Bit pattern of a constant in a container; decimal floats become what ``form`` (``f32`` …) says."""
    if container == "pred":
        return int(value.bits != 0)
    width = _WIDTH[container]
    if value.kind == "f64" and (width == 32 or form == "f32"):
        return int(np.float32(value.value).view(np.uint32))
    if value.kind == "f64" and width == 16:
        return int(np.float16(value.value).view(np.uint16))
    if value.kind == "f32" and width == 64 and form == "f64":
        return int(np.float64(value.value).view(np.uint64))
    return value.bits & ((1 << width) - 1)


class RegisterFile:
    """All registers of a program, numbered as they are asked for; constants and specials come behind."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.types: list[str] = []
        self.containers: list[str] = []
        self._extra: dict[Any, int] = {}
        self._extra_list: list[tuple[str, Any]] = []
        self.sealed = -1

    def add(self, name: str, kind: str) -> int:
        """A new register."""
        self.names.append(name)
        self.types.append(kind)
        self.containers.append(container_of_type(kind))
        return len(self.names) - 1

    def constant(self, bits: int, container: str) -> int:
        """Placeholder (negative, resolved by :meth:`place`) of a constant."""
        return self._more(("constant", bits, container))

    def special(self, name: str) -> int:
        """Placeholder of a special register."""
        return self._more(("special", name, container_of_special(name)))

    def _more(self, key: tuple[str, Any, str]) -> int:
        if key not in self._extra:
            self._extra[key] = -1 - len(self._extra_list)
            self._extra_list.append(("", key))
        return self._extra[key]

    def place(self, index: int) -> int:
        """Final number of a register or placeholder; no register may be added afterwards."""
        if self.sealed < 0:
            self.sealed = len(self.names)
        return index if index >= 0 else self.sealed + (-1 - index)

    def extras(self) -> tuple[list[str], dict[int, str], dict[int, Array]]:
        """Containers of the placeholders in order, specials and constants by final number."""
        containers: list[str] = []
        specials: dict[int, str] = {}
        constants: dict[int, Array] = {}
        for position, (_, (what, value, container)) in enumerate(self._extra_list):
            index = len(self.names) + position
            containers.append(container)
            if what == "special":
                specials[index] = value
            else:
                constants[index] = np.array([value], dtype=np.uint64).astype(DTYPES[container])
        return containers, specials, constants


class Scope:
    """Registers and symbols that one function's instructions see."""

    def __init__(self, file: RegisterFile, function: Function, symbols: Mapping[str, int]) -> None:
        self.file = file
        self.function = function
        self.symbols = symbols
        self.registers: dict[str, int] = {}
        # Registers of other functions than the kernel carry its name: traces show all of them together.
        prefix = "" if function.is_entry else f"{function.name}:"
        for name, kind in function.registers.items():
            if kind[:1] == "v" and "." in kind:
                parts, part_kind = "xyzw"[: int(kind[1])], kind.split(".", 1)[1]
                for part in parts:
                    self.registers[f"{name}.{part}"] = file.add(f"{prefix}{name}.{part}", part_kind)
            elif container_of_type(kind) == "b128":
                for part in ("lo", "hi"):
                    self.registers[f"{name}.{part}"] = file.add(f"{prefix}{name}.{part}", "b64")
            else:
                self.registers[name] = file.add(prefix + name, kind)
        for param in (*function.params, *function.returns):
            if param.space == "reg" and param.name not in self.registers:
                self.registers[param.name] = file.add(prefix + param.name, param.type)

    def name_of(self, operand: Operand) -> str:
        """Register name of a register or a component of one."""
        if isinstance(operand, Component):
            return f"{operand.register.name}.{'xyzw'[operand.index]}"
        assert isinstance(operand, Register)
        return operand.name

    def register(self, operand: Operand) -> int:
        """Number of a register operand. Raises :class:`Unsupported` for anything else or undeclared."""
        if isinstance(operand, Register | Component):
            name = self.name_of(operand)
            if name in self.registers:
                return self.registers[name]
            if name == "%cc":
                self.registers[name] = self.file.add("%cc", "pred")
                return self.registers[name]
            raise Unsupported(f"register {name} is not declared")
        raise Unsupported("an operand is no register")

    def predicate(self, operand: Operand) -> int:
        """Number of a predicate register."""
        index = self.register(operand)
        if self.file.containers[index] != "pred":
            raise Unsupported(f"{self.name_of(operand)} is no predicate")
        return index

    def source(self, operand: Operand, container: str, form: str = "") -> tuple[int, Fix | None, str | None]:
        """Register of a source, how to bring it into ``container``, and the name of a dynamic special."""
        if isinstance(operand, Immediate):
            return self.file.constant(immediate_bits(operand, container, form), container), None, None
        if isinstance(operand, SpecialRegister):
            index = self.file.special(operand.name)
            fix = _fix(container_of_special(operand.name), container)
            return index, fix, operand.name if operand.name in DYNAMIC else None
        if isinstance(operand, Negated):
            return self.register(operand.operand), np.logical_not, None
        if isinstance(operand, Symbol):
            if operand.name not in self.symbols:
                raise Unsupported(f"the address of {operand.name} is not known")
            bits = (self.symbols[operand.name] + operand.offset) & ((1 << _WIDTH[container]) - 1)
            return self.file.constant(bits, container), None, None
        index = self.register(operand)
        return index, _fix(self.file.containers[index], container), None

    def dest(self, operand: Operand, container: str, form: str = "") -> tuple[int, Fix | None] | None:
        """Register of a destination and how to bring a result of ``container`` into it; None for a sink."""
        if isinstance(operand, Sink):
            return None
        index = self.register(operand)
        return index, _fix(container, self.file.containers[index], signed=form.startswith("s"))


def _fix(have: str, want: str, signed: bool = False) -> Fix | None:
    if have == want or "b128" in (have, want):
        return None
    if want == "pred":
        return lambda a: a != 0
    target = DTYPES[want]
    if signed and have in _SIGNED and _WIDTH[want] > _WIDTH[have]:
        narrow, wide = _SIGNED[have], _SIGNED[want]

        def extend(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return a.view(narrow).astype(wide).view(target)

        return extend
    return lambda a: a.astype(target)

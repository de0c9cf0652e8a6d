"""Names of a function: nested scopes dissolved, collisions renamed, operands resolved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from warpglass.ptx.model import (
    Address,
    Component,
    Guard,
    Immediate,
    Negated,
    Operand,
    OperandList,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from warpglass.ptx.opcodes import TYPE_SIZES, is_special

__all__ = ["Names", "Scope"]


@dataclass(slots=True)
class Scope:
    """One ``{}``: ``names`` maps what is written to the unique name."""

    parent: Scope | None
    number: int
    names: dict[str, str] = field(default_factory=dict)
    cache: dict[str, str | None] = field(default_factory=dict)


class Names:
    """All names of one function.

    ``registers`` maps unique register names to types, ``labels`` unique labels to instruction indexes,
    ``variables`` unique names to variables. ``odd`` holds written names whose meaning their look does not
    tell: instructions that use none of them need no second look.
    """

    def __init__(self, taken: Callable[[], Set[str]] = frozenset) -> None:
        """``taken`` gives names that the text uses for other things, asked for at the first collision."""
        self._taken = taken
        self.root = Scope(None, 0)
        self.scopes = 1
        self.registers: dict[str, str] = {}
        self.labels: dict[str, int] = {}
        self.variables: dict[str, Variable] = {}
        self.odd: set[str] = set()
        self.declared: set[str] = set()
        self.families: list[tuple[str, int, str]] = []
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def open(self, parent: Scope) -> Scope:
        """A scope inside ``parent``."""
        self.scopes += 1
        return Scope(parent, self.scopes)

    def declare(self, scope: Scope, name: str, register: bool) -> str | None:
        """The unique name for ``name`` declared in ``scope``; None where it is declared there already."""
        if name in scope.names:
            return None
        unique = name
        if name in self._used:
            count = self._counts.get(name, 0) + 1
            taken = self._taken()
            while f"{name}${count}" in self._used or f"{name}${count}" in taken:
                count += 1
            self._counts[name] = count
            unique = f"{name}${count}"
            self.odd.add(name)
        if register != (name[0] == "%") or (register and is_special(name)):
            self.odd.add(name)
        self._used.add(unique)
        self.declared.add(name)
        scope.names[name] = unique
        return unique

    def declare_family(self, scope: Scope, names: list[str], kind: str) -> str | None:
        """Declare the registers of a family at once; returns the first that exists already, else None."""
        if self._used.isdisjoint(names) and not is_special(names[-1]) and names[0][0] == "%":
            self._used.update(names)
            self.declared.update(names)
            scope.names.update(zip(names, names, strict=True))
            self.registers.update(dict.fromkeys(names, kind))
            return None
        for name in names:
            unique = self.declare(scope, name, register=True)
            if unique is None:
                return name
            self.registers[unique] = kind
        return None

    def lookup(self, scope: Scope, name: str) -> str | None:
        """The unique name that ``name`` means in ``scope``, or None."""
        cached = scope.cache.get(name, "")
        if cached != "":
            return cached
        found: str | None = None
        step: Scope | None = scope
        while step is not None:
            found = step.names.get(name)
            if found is not None:
                break
            step = step.parent
        scope.cache[name] = found
        return found

    def family_type(self, name: str) -> str | None:
        """The type of a member of a family too large to be written out, or None."""
        for prefix, count, kind in self.families:
            digits = name[len(prefix) :]
            if name.startswith(prefix) and digits.isdecimal() and len(digits) < 12 and int(digits) < count:
                return kind
        return None

    # ------------------------------------------------------------ operands

    def guard(self, guard: Guard, scope: Scope) -> Guard:
        """The guard with its unique register."""
        name = self.lookup(scope, guard.register.name)
        return guard if name is None else Guard(Register(name), guard.negated)

    def operand(
        self, operand: Operand, scope: Scope, address: bool, globals_: Mapping[str, Variable]
    ) -> Operand:
        """``operand`` with unique names and kinds as declared.

        ``address`` says that ``array[i]`` is accessed (``ld``, ``st``, …) rather than its address taken.
        Depth is bounded by the operand parser.
        """
        if isinstance(operand, Register | Symbol | SpecialRegister):
            return self._name(operand, scope)
        if isinstance(operand, Vector):
            return Vector(tuple(self.operand(e, scope, address, globals_) for e in operand.elements))
        if isinstance(operand, OperandList):
            return OperandList(tuple(self.operand(e, scope, address, globals_) for e in operand.elements))
        if isinstance(operand, Pair):
            return Pair(
                self.operand(operand.first, scope, address, globals_),
                self.operand(operand.second, scope, address, globals_),
            )
        if isinstance(operand, Component):
            return Component(self._register(operand.register, scope), operand.index, operand.selector)
        if isinstance(operand, Negated):
            inner = operand.operand
            if isinstance(inner, Component):
                inner = Component(self._register(inner.register, scope), inner.index, inner.selector)
                return Negated(inner, operand.arithmetic)
            return Negated(self._register(inner, scope), operand.arithmetic)
        if isinstance(operand, Address):
            return self._address(operand, scope, address, globals_)
        return operand

    def _register(self, register: Register, scope: Scope) -> Register:
        name = self.lookup(scope, register.name)
        return register if name is None else Register(name)

    def _name(
        self, operand: Register | Symbol | SpecialRegister, scope: Scope
    ) -> Register | Symbol | SpecialRegister:
        name = self.lookup(scope, operand.name)
        if name is None:
            return operand
        if name in self.registers:
            return Register(name)
        return Symbol(name, operand.offset if isinstance(operand, Symbol) else 0)

    def _address(
        self, operand: Address, scope: Scope, address: bool, globals_: Mapping[str, Variable]
    ) -> Operand:
        base, coordinates = operand.base, operand.coordinates
        if isinstance(base, Register | Symbol | SpecialRegister):
            base = self._name(base, scope)
        elif isinstance(base, Component):
            base = Component(self._register(base.register, scope), base.index, base.selector)
        if isinstance(coordinates, OperandList) and len(coordinates.elements) == 1:
            return self._indexed(operand, base, coordinates, scope, address, globals_)
        if coordinates is not None:
            coordinates = self.operand(coordinates, scope, address, globals_)
        return Address(base, operand.offset, coordinates)

    def _indexed(
        self,
        operand: Address,
        base: Register | SpecialRegister | Symbol | Immediate | Component | None,
        coordinates: OperandList,
        scope: Scope,
        address: bool,
        globals_: Mapping[str, Variable],
    ) -> Operand:
        """``array[index]``: a constant index times the element's size is a plain offset."""
        index = self.operand(coordinates.elements[0], scope, address, globals_)
        if isinstance(base, Symbol) and isinstance(index, Immediate):
            variable = self.variables.get(base.name) or globals_.get(base.name)
            if variable is not None:
                row = math.prod(variable.shape[1:])
                width = TYPE_SIZES.get(variable.type, 8) * variable.vector
                offset = int(index.value) * width * row
                return Address(base, offset) if address else Symbol(base.name, offset)
        return Address(base, operand.offset, OperandList((index,)))

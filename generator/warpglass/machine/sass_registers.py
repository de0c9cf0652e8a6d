"""SASS operands as numbered registers, and the 64-bit and summed values that addresses are made of.

A machine register is 32 bits wide; a pair becomes one hidden 64-bit register when an address or a 64-bit
datum needs it, computed again only after one of its halves changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpglass.machine.ptx_operands import RegisterFile, Unsupported
from warpglass.machine.sass_constants import ConstantBanks
from warpglass.sass.operands import (
    Address,
    Constant,
    Immediate,
    Label,
    Operand,
    Predicate,
    Register,
    UniformPredicate,
    UniformRegister,
)  # fmt: skip

if TYPE_CHECKING:
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["Derived", "SassRegisters"]

#: Resolves a label operand to the 32-bit value it stands for.
LabelValue = Callable[[Label], int]


class Derived:
    """A hidden register computed from others: ``fn(*sources)`` elementwise, kept until a source changes."""

    __slots__ = ("fn", "sources", "target")

    def __init__(self, target: int, sources: tuple[int, ...], fn: Callable[..., Any]) -> None:
        self.target = target
        self.sources = sources
        self.fn = fn

    def prepare(self, m: Machine, on: Selection) -> None:
        """Bring the hidden register up to date for the lanes ``on``."""
        stamp = tuple(m.ver[i] for i in self.sources)
        key = f"derived {self.target}"
        if m.local.get(key) == stamp:
            return
        if on.count * 4 >= m.live:
            m.put_whole(self.target, self.fn(*(m.R[i] for i in self.sources)))
            m.local[key] = stamp
            return
        # Few lanes: compute theirs only, and say that the rest is not up to date.
        m.put_flat(self.target, self.fn(*(m.get(i, on) for i in self.sources)), on)
        m.local.pop(key, None)


def _wide(low: Any, high: Any) -> Any:
    return low.astype(np.uint64) | (high.astype(np.uint64) << np.uint64(32))


def _wide_plus(low: Any, high: Any, other_low: Any, other_high: Any) -> Any:
    return _wide(low, high) + _wide(other_low, other_high)


def _narrow_plus_wide(low: Any, other_low: Any, other_high: Any) -> Any:
    return low.astype(np.uint64) + _wide(other_low, other_high)


class SassRegisters:
    """Numbers registers as they are asked for; ``banks`` gives constants, ``label`` addresses of code."""

    def __init__(self, file: RegisterFile, banks: ConstantBanks, label: LabelValue) -> None:
        self.file = file
        self.banks = banks
        self.label = label
        self._numbers: dict[str, int] = {}
        self._derived: dict[tuple[Any, ...], Derived] = {}
        self._once: dict[object, Callable[..., Any]] = {}

    def once(self, key: object, make: Callable[..., Callable[..., Any]], *args: Any) -> Callable[..., Any]:
        """``make(*args)``, the same function object for the same ``key``: equal values share a register."""
        if key not in self._once:
            self._once[key] = make(*args)
        return self._once[key]

    def named(self, name: str, kind: str = "b32") -> int:
        """Number of the register called ``name``."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = self.file.add(name, kind)
        return found

    def constant(self, value: int, container: str = "b32") -> int:
        """Placeholder of a constant."""
        return self.file.constant(value, container)

    def register(self, operand: Operand, step: int = 0) -> int:
        """Number of a general or uniform register, ``step`` registers further; RZ is the constant 0."""
        if isinstance(operand, Register):
            if operand.index is None or operand.index + step >= 255:
                return self.constant(0)
            return self.named(f"R{operand.index + step}")
        if isinstance(operand, UniformRegister):
            return self.constant(0) if operand.index is None else self.named(f"UR{operand.index + step}")
        raise Unsupported("an operand is no register")

    def targets(self, operand: Operand, count: int) -> tuple[int | None, ...]:
        """Numbers of ``count`` destination registers; None each for RZ."""
        if isinstance(operand, Register | UniformRegister) and operand.index is None:
            return (None,) * count
        return tuple(self.register(operand, i) for i in range(count))

    def predicate(self, operand: Operand) -> int:
        """Number of a predicate; PT is the constant true."""
        if isinstance(operand, Predicate):
            return (
                self.constant(1, "pred") if operand.index is None else self.named(f"P{operand.index}", "pred")
            )
        if isinstance(operand, UniformPredicate):
            return (
                self.constant(1, "pred")
                if operand.index is None
                else self.named(f"UP{operand.index}", "pred")
            )
        raise Unsupported("an operand is no predicate")

    def source(self, operand: Operand, step: int = 0, container: str = "b32") -> int:
        """Number of a bare 32-bit (or predicate) source as sass_ops names it."""
        if isinstance(operand, Predicate | UniformPredicate):
            return self.predicate(operand)
        if isinstance(operand, Register | UniformRegister):
            return self.register(operand, step)
        if isinstance(operand, Immediate):
            return self.constant(operand.bits32 & 0xFFFFFFFF, container)
        if isinstance(operand, Constant):
            return self.constant(self.banks.word(operand, step))
        if isinstance(operand, Label):
            return self.constant(self.label(operand) & 0xFFFFFFFF)
        raise Unsupported(f"operand {type(operand).__name__}")

    def derived(self, kind: str, sources: tuple[int, ...], fn: Callable[..., Any]) -> Derived:
        """The hidden register of ``kind`` that ``fn`` makes of ``sources``."""
        key = (fn, *sources)
        found = self._derived.get(key)
        if found is None:
            target = self.file.add(f"%{kind}{len(self._derived)}", kind)
            found = self._derived[key] = Derived(target, sources, fn)
        return found

    def pair(self, operand: Operand) -> Derived:
        """The 64-bit value of a register pair, a constant pair or an immediate."""
        if isinstance(operand, Immediate):
            return self.derived("b64", (self.constant(operand.bits32 & 0xFFFFFFFF), self.constant(0)), _wide)
        return self.derived("b64", (self.source(operand), self.source(operand, 1)), _wide)

    def wide_address(self, address: Address, always_wide: bool) -> tuple[Derived, int]:
        """64-bit base of a global or generic address, and its byte offset."""
        register, uniform = address.register, address.uniform
        parts: tuple[int, ...] = ()
        narrow = register is not None and "U32" in register.suffixes
        if register is not None and not narrow and ("64" in register.suffixes or always_wide):
            parts = (self.register(register), self.register(register, 1))
        elif register is not None:
            parts = (self.register(register),)
        if uniform is not None and uniform.index is not None:
            other = (self.register(uniform), self.register(uniform, 1))
            if len(parts) == 2:
                return self.derived("b64", (*parts, *other), _wide_plus), address.offset
            if len(parts) == 1:
                return self.derived("b64", (*parts, *other), _narrow_plus_wide), address.offset
            return self.derived("b64", other, _wide), address.offset
        if len(parts) == 1:
            parts = (*parts, self.constant(0))
        if not parts:
            parts = (self.constant(0), self.constant(0))
        return self.derived("b64", parts, _wide), address.offset

    def narrow_address(self, address: Address) -> tuple[int, Derived | None, int]:
        """32-bit base of a shared or local address: its register, what makes it (or None), byte offset."""
        register, uniform = address.register, address.uniform
        scale = 0
        if register is not None:
            scale = next((_SCALES[s] for s in register.suffixes if s in _SCALES), 0)
        has_uniform = uniform is not None and uniform.index is not None
        if register is None and not has_uniform:
            return self.constant(0), None, address.offset
        if register is None:
            assert uniform is not None
            return self.register(uniform), None, address.offset
        base = self.register(register)
        if not scale and not has_uniform:
            return base, None, address.offset
        sources = (base,) if not has_uniform or uniform is None else (base, self.register(uniform))
        made = self.derived("b32", sources, _SUMS[scale])
        return made.target, made, address.offset


def _summing(shift: int) -> Callable[..., Any]:
    amount = np.uint32(shift)

    def total(base: Any, uniform: Any = None) -> Any:
        scaled = base << amount if shift else base
        return scaled if uniform is None else scaled + uniform

    return total


_SCALES = {"X4": 2, "X8": 3, "X16": 4}
#: One function object a scale, so that equal addresses share their hidden register.
_SUMS = {shift: _summing(shift) for shift in (0, 2, 3, 4)}

"""From PTX instructions to executable ones: what is not arithmetic, by opcode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.arguments import BoundArguments
from warpglass.machine.memory import Arena
from warpglass.machine.program import DTYPES, Array, Op
from warpglass.machine.ptx_alu import AluOp, CrossOp, DivideOp
from warpglass.machine.ptx_calls import RetOp
from warpglass.machine.ptx_control import ExitOp, NopOp
from warpglass.machine.ptx_layout import ModuleLayout
from warpglass.machine.ptx_operands import Fix, Scope, Unsupported, container_of_type
from warpglass.machine.ptx_ops import LaneOp, WarpOp
from warpglass.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)  # fmt: skip
from warpglass.ptx.opcodes import TYPE_SIZES

__all__ = ["SPACES", "UNSIGNED", "Builder", "Lowering", "load_fix", "space_of", "then", "type_of"]

Builder = Callable[["Lowering", Instruction, int], Op]

SPACES = {
    "global": lsu.GLOBAL, "shared": lsu.SHARED, "local": lsu.LOCAL, "const": lsu.CONST, "param": lsu.PARAM,
}  # fmt: skip


UNSIGNED: Mapping[int, type[np.unsignedinteger[Any]]] = {
    1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64,
}  # fmt: skip


class Lowering:
    """Everything an instruction of one function needs to become executable."""

    def __init__(
        self,
        scope: Scope,
        module: Module,
        kernel: Function,
        function: Function,
        layout: ModuleLayout,
        arena: Arena,
        arguments: BoundArguments,
        starts: Mapping[str, int],
        frame_base: int,
        all_functions: Mapping[str, Lowering],
        is_kernel: bool,
    ) -> None:
        self.scope = scope
        self.module = module
        self.kernel = kernel
        self.function = function
        self.layout = layout
        self.arena = arena
        self.arguments = arguments
        self.starts = starts
        self.frame_base = frame_base
        self.all_functions = all_functions
        self.is_kernel = is_kernel
        self.frame = layout.frames[function.name]
        self.first = starts[function.name]
        #: Bytes that alloca took on top of the frame, where the function uses it.
        uses_stack = any(i.base in ("alloca", "stacksave", "stackrestore") for i in function.instructions)
        self.stack = scope.file.add(f"%alloca:{function.name}", "b32") if uses_stack else None
        self.join = -1
        self.noreturn: frozenset[str] = frozenset()
        self.bodies = {f.name: f for f in layout.order}
        self.declared = {f.name: f for f in module.functions}

    # -- small helpers -----------------------------------------------------------------------------------

    def label(self, name: str) -> int:
        """Program counter of a label."""
        if name not in self.function.labels:
            raise Unsupported(f"label {name} is not known")
        return self.first + self.function.labels[name]

    def constant(self, value: int, container: str) -> int:
        """Placeholder of a constant."""
        return self.scope.file.constant(value, container)

    def address(self, operand: Operand, space: int) -> tuple[int, int, int]:
        """(space, base register or placeholder, offset) of an address operand.

        Parameters and local variables become offsets from the frame of the activation.
        """
        if not isinstance(operand, Address):
            raise Unsupported("an address is expected")
        base, offset = operand.base, operand.offset
        if operand.coordinates is not None:
            raise Unsupported("an address with coordinates")
        if isinstance(base, Symbol):
            offset += base.offset
            if base.name in self.frame.offsets and space in (lsu.PARAM, lsu.LOCAL):
                return lsu.LOCAL, self.frame_base, self.frame.offsets[base.name] + offset
            if base.name in self.arguments.offsets and space == lsu.PARAM:
                at = self.arguments.base + self.arguments.offsets[base.name] + offset
                return lsu.CONST, self.constant(at + self.arena.layout.global_base, "b64"), 0
            if base.name not in self.scope.symbols:
                raise Unsupported(f"{base.name} has no address here")
            return space, self.constant(self.scope.symbols[base.name], "b64"), offset
        if base is None or isinstance(base, Immediate):
            value = 0 if base is None else base.bits
            return _plain(space), self.constant((value + offset) & (2**64 - 1), "b64"), 0
        if isinstance(base, SpecialRegister):
            raise Unsupported("an address in a special register")
        return _plain(space), self.scope.register(base), offset

    def targets(self, operand: Operand) -> tuple[Operand, ...]:
        """Elements of a vector operand, or the operand itself."""
        return operand.elements if isinstance(operand, Vector) else (operand,)

    def loaded(
        self, operand: Operand, kind: str
    ) -> tuple[tuple[int | None, ...], tuple[Fix | None, ...], int]:
        """Registers, conversions and element size for data of type ``kind`` into ``operand``."""
        size = TYPE_SIZES.get(kind, 0)
        registers: list[int | None] = []
        fixes: list[Fix | None] = []
        for element in self.targets(operand):
            if isinstance(element, Sink):
                registers.extend([None] * max(size // 8, 1))
                fixes.extend([None] * max(size // 8, 1))
                continue
            if size == 16:
                name = self.scope.name_of(element)
                for half in ("lo", "hi"):
                    registers.append(self.scope.register(Register(f"{name}.{half}")))
                    fixes.append(None)
                continue
            register = self.scope.register(element)
            registers.append(register)
            fixes.append(load_fix(size, kind.startswith("s"), self.scope.file.containers[register]))
        return tuple(registers), tuple(fixes), min(size, 8)

    def stored(
        self, operand: Operand, kind: str
    ) -> tuple[tuple[int | None, ...], tuple[Fix | None, ...], int]:
        """Registers, conversions and element size for data of type ``kind`` from ``operand``."""
        size = TYPE_SIZES.get(kind, 0)
        dtype = UNSIGNED.get(size)
        if dtype is None:
            raise Unsupported(f"type {kind}")
        container = container_of_type(kind)
        registers: list[int | None] = []
        fixes: list[Fix | None] = []
        for element in self.targets(operand):
            if isinstance(element, Sink):
                registers.extend([None] * max(size // 8, 1))
                fixes.extend([None] * max(size // 8, 1))
                continue
            if size == 16:
                name = self.scope.name_of(element)
                for half in ("lo", "hi"):
                    registers.append(self.scope.register(Register(f"{name}.{half}")))
                    fixes.append(None)
                continue
            index, fix, _ = self.scope.source(element, container, kind)
            registers.append(index)
            fixes.append(then(fix, dtype) if size < 2 or fix is not None else None)
        return tuple(registers), tuple(fixes), min(size, 8)

    # -- lowering ----------------------------------------------------------------------------------------

    def arithmetic(self, meaning: LaneOp | WarpOp, instruction: Instruction, pc: int) -> Op:
        """Executable form of an instruction that the arithmetic tables know."""
        sources: list[int] = []
        source_fixes: list[tuple[int, Fix]] = []
        clocks: list[tuple[int, str]] = []
        forms = meaning.source_formats or ("",) * len(meaning.sources)
        for position, (operand, container, form) in enumerate(
            zip(meaning.sources, meaning.source_types, forms, strict=True)
        ):
            if container == "b128":
                raise Unsupported("128-bit operands")
            index, fix, clock = self.scope.source(operand, container, form)
            sources.append(index)
            if fix is not None:
                source_fixes.append((position, fix))
            if clock is not None:
                clocks.append((index, clock))
        targets: list[tuple[int, int]] = []
        dest_fixes: list[tuple[int, Fix]] = []
        forms = meaning.dest_formats or ("",) * len(meaning.dests)
        for position, (operand, container, form) in enumerate(
            zip(meaning.dests, meaning.dest_types, forms, strict=True)
        ):
            if container == "b128":
                raise Unsupported("128-bit operands")
            target = self.scope.dest(operand, container, form)
            if target is not None:
                targets.append((position, target[0]))
                if target[1] is not None:
                    dest_fixes.append((position, target[1]))
        if isinstance(meaning, WarpOp):
            return CrossOp(
                pc, instruction.opcode, meaning.fn, tuple(sources), tuple(source_fixes), tuple(targets),
                tuple(dest_fixes), meaning.membermask,
            )  # fmt: skip
        divides = instruction.base in ("div", "rem") and instruction.parts[-1][:1] in "su"
        return (DivideOp if divides else AluOp)(
            pc,
            meaning.fn,
            tuple(sources),
            tuple(source_fixes),
            tuple(targets),
            tuple(dest_fixes),
            tuple(clocks),
        )

    def unary(self, pc: int, dest: Operand, source: int, fn: Callable[[Array], Array], container: str) -> Op:
        """``dest = fn(source)`` with both in ``container``."""
        target = self.scope.dest(dest, container)
        if target is None:
            return NopOp(pc)
        index, fix = target
        return AluOp(pc, lambda a: (fn(a),), (source,), (), ((0, index),), () if fix is None else ((0, fix),))

    def constant_op(self, pc: int, values: tuple[tuple[int, npt.NDArray[Any]], ...]) -> Op:
        """Registers set to constants."""
        arrays = tuple(value for _, value in values)
        return AluOp(pc, lambda: arrays, (), (), tuple((i, r) for i, (r, _) in enumerate(values)), ())

    def mov_address(self, instruction: Instruction, pc: int) -> Op | None:
        """``mov`` of the address of a local variable or parameter; None for any other."""
        if len(instruction.operands) != 2:
            return None
        dest, source = instruction.operands
        if isinstance(source, Address) and isinstance(source.base, Symbol):
            source = Symbol(source.base.name, source.base.offset + source.offset)
        if not isinstance(source, Symbol):
            return None
        container = container_of_type(instruction.parts[-1])
        if source.name in self.frame.offsets:
            offset = self.frame.offsets[source.name] + source.offset
            dtype = DTYPES[container].type
            return self.unary(pc, dest, self.frame_base, lambda a: a.astype(dtype) + dtype(offset), container)
        if source.name in self.arguments.offsets and self.is_kernel:
            at = self.arguments.base + self.arguments.offsets[source.name] + source.offset
            value = self.constant(at + self.arena.layout.global_base, container)
            return self.unary(pc, dest, value, lambda a: a, container)
        index, _, _ = self.scope.source(source, container)
        return self.unary(pc, dest, index, lambda a: a, container)

    def saved_registers(self) -> tuple[int, ...]:
        """Registers a call of this function must keep: all of them if it may be active already."""
        if self.function.name not in self.layout.recursive:
            return ()
        extra = () if self.stack is None else (self.stack,)
        return (*sorted(self.scope.registers.values()), self.frame_base, *extra)

    def mov_vector(self, instruction: Instruction, pc: int) -> Op | None:
        """``mov.v2``/``mov.v4`` of early versions of the language, by element; None for any other."""
        if instruction.parts[1:2] not in (("v2",), ("v4",)) or len(instruction.operands) != 2:
            return None
        dests, sources = (self.targets(o) for o in instruction.operands)
        if len(dests) != len(sources):
            return None
        kind = instruction.parts[-1]
        container = container_of_type(kind)
        return self.arithmetic(
            LaneOp(
                dests, (container,) * len(dests), sources, (container,) * len(sources),
                lambda *values: values, (kind,) * len(dests), (kind,) * len(sources),
            ),
            instruction, pc,
        )  # fmt: skip

    def mov_b128(self, instruction: Instruction, pc: int) -> Op | None:
        """``mov.b128``: a 128-bit register is a pair of 64-bit ones; None for any other instruction."""
        if instruction.parts[-1] != "b128" or len(instruction.operands) != 2:
            return None

        def halves(operand: Operand) -> tuple[Operand, ...]:
            if isinstance(operand, Vector):
                return operand.elements
            name = self.scope.name_of(operand) if isinstance(operand, Register) else ""
            if f"{name}.lo" not in self.scope.registers:
                raise Unsupported("a 128-bit operand that is no register")
            return Register(f"{name}.lo"), Register(f"{name}.hi")

        dests, sources = (halves(o) for o in instruction.operands)
        if len(dests) != 2 or len(sources) != 2:
            raise Unsupported("128 bits in other parts than halves")
        kinds = ("b64", "b64")
        return self.arithmetic(
            LaneOp(dests, kinds, sources, kinds, lambda *values: values, kinds, kinds), instruction, pc
        )

    def leave(self, pc: int) -> Op:
        """The end of the kernel for its lanes, or the return of a function."""
        return ExitOp(pc) if self.is_kernel else RetOp(pc, self)


def _plain(space: int) -> int:
    # A register in parameter space holds the address of a kernel parameter, which lies in constant memory.
    return lsu.CONST if space == lsu.PARAM else space


def then(fix: Fix | None, dtype: type[np.unsignedinteger[Any]]) -> Fix:
    """``fix``, then a conversion to ``dtype``."""
    if fix is None:
        return lambda a: a.astype(dtype)
    inner = fix
    return lambda a: inner(a).astype(dtype)


def load_fix(size: int, signed: bool, container: str) -> Fix | None:
    """How loaded elements of ``size`` bytes become a register of ``container``."""
    if container == "pred":
        raise Unsupported("a load into a predicate")
    target = DTYPES.get(container)
    if target is None:
        raise Unsupported("128-bit registers")
    if target.itemsize == size:
        return None
    if target.itemsize < size:
        return lambda a: a.astype(target)
    if not signed:
        return lambda a: a.astype(target)
    narrow = {1: np.int8, 2: np.int16, 4: np.int32}[size]
    wide = {2: np.int16, 4: np.int32, 8: np.int64}[target.itemsize]
    return lambda a: a.view(narrow).astype(wide).view(target)


def space_of(instruction: Instruction) -> int:
    """State space an opcode names, generic where it names none."""
    for part in instruction.parts[1:]:
        name = part.split("::")[0]
        if name in SPACES:
            return SPACES[name]
    return lsu.GENERIC


def type_of(instruction: Instruction) -> str:
    for part in reversed(instruction.parts):
        if part in TYPE_SIZES:
            return part
    raise Unsupported("no type")

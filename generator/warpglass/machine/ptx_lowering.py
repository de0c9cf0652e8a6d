"""From PTX instructions to executable ones: what is not arithmetic, by opcode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.arguments import BoundArguments
from warpglass.machine.library import library_call
from warpglass.machine.memory import Arena
from warpglass.machine.program import DTYPES, Array, Op
from warpglass.machine.ptx_alu import AluOp, CrossOp, DivideOp
from warpglass.machine.ptx_calls import BranchTableOp, Callee, CallOp, RetOp, Transfer
from warpglass.machine.ptx_control import BranchOp, ExitOp, FenceOp, LastOp, NopOp
from warpglass.machine.ptx_layout import ModuleLayout
from warpglass.machine.ptx_memory import LoadOp, StoreOp
from warpglass.machine.ptx_operands import Fix, Scope, Unsupported, container_of_type
from warpglass.machine.ptx_ops import LaneOp, WarpOp
from warpglass.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    OperandList,
    Param,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Vector,
)  # fmt: skip
from warpglass.ptx.opcodes import TYPE_SIZES

__all__ = ["TABLE", "Builder", "Lowering", "load_fix", "space_of", "type_of"]

Builder = Callable[["Lowering", Instruction, int], Op]

_SPACES = {
    "global": lsu.GLOBAL, "shared": lsu.SHARED, "local": lsu.LOCAL, "const": lsu.CONST, "param": lsu.PARAM,
}  # fmt: skip


_UNSIGNED: Mapping[int, type[np.unsignedinteger[Any]]] = {
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
        dtype = _UNSIGNED.get(size)
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
            fixes.append(_then(fix, dtype) if size < 2 or fix is not None else None)
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
        return (*sorted(self.scope.registers.values()), self.frame_base)

    def leave(self, pc: int) -> Op:
        """The end of the kernel for its lanes, or the return of a function."""
        return ExitOp(pc) if self.is_kernel else RetOp(pc, self)

    def last(self, op: Op, instruction: Instruction) -> Op:
        """``op``, the last of its function, made to return where control would run off the end."""
        if instruction.base in ("ret", "exit"):
            # Lanes that the guard holds back return all the same: nothing else is behind.
            op.guard = -1
            return op
        if instruction.guard is None and instruction.base in ("bra", "brx", "trap"):
            return op
        return LastOp(op, self.leave(op.pc))


def _plain(space: int) -> int:
    # A register in parameter space holds the address of a kernel parameter, which lies in constant memory.
    return lsu.CONST if space == lsu.PARAM else space


def _then(fix: Fix | None, dtype: type[np.unsignedinteger[Any]]) -> Fix:
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


# -- by opcode -------------------------------------------------------------------------------------------


def space_of(instruction: Instruction) -> int:
    """State space an opcode names, generic where it names none."""
    for part in instruction.parts[1:]:
        name = part.split("::")[0]
        if name in _SPACES:
            return _SPACES[name]
    return lsu.GENERIC


def type_of(instruction: Instruction) -> str:
    for part in reversed(instruction.parts):
        if part in TYPE_SIZES:
            return part
    raise Unsupported("no type")


def _ld(low: Lowering, i: Instruction, pc: int) -> Op:
    kind = type_of(i)
    dest, where = i.operands[0], i.operands[1]
    space, base, offset = low.address(where, space_of(i))
    registers, fixes, size = low.loaded(dest, kind)
    folded = _fold_argument(low, where, space, registers, fixes, size, pc)
    if folded is not None:
        return folded
    op = LoadOp(pc, space, base, offset, size, registers, fixes)
    op.counted = not (space == lsu.LOCAL and space_of(i) == lsu.PARAM)
    return op


def _fold_argument(
    low: Lowering, where: Operand, space: int, registers: tuple[int | None, ...], fixes: tuple[Fix | None, ...],
    size: int, pc: int,
) -> Op | None:  # fmt: skip
    """A load of a kernel argument is a constant of the launch."""
    if space != lsu.CONST or not isinstance(where, Address) or not isinstance(where.base, Symbol):
        return None
    name = where.base.name
    if name not in low.arguments.offsets:
        return None
    start = low.arguments.offsets[name] + where.base.offset + where.offset
    values: list[tuple[int, npt.NDArray[Any]]] = []
    for position, (register, fix) in enumerate(zip(registers, fixes, strict=True)):
        at = start + position * size
        data = low.arguments.data[at : at + size]
        if at < 0 or len(data) < size:
            return None
        if register is None:
            continue
        value: npt.NDArray[Any] = np.frombuffer(data, dtype=f"u{size}")
        values.append((register, value if fix is None else fix(value)))
    return low.constant_op(pc, tuple(values))


def _st(low: Lowering, i: Instruction, pc: int) -> Op:
    kind = type_of(i)
    where, data = i.operands[0], i.operands[1]
    space, base, offset = low.address(where, space_of(i))
    registers, fixes, size = low.stored(data, kind)
    op = StoreOp(pc, space, base, offset, size, registers, fixes)
    op.counted = not (space == lsu.LOCAL and space_of(i) == lsu.PARAM)
    return op


def _cvta(low: Lowering, i: Instruction, pc: int) -> Op:
    container = container_of_type(type_of(i))
    space = space_of(i)
    window = {lsu.SHARED: low.arena.layout.shared_window, lsu.LOCAL: low.arena.layout.local_window}.get(
        space, 0
    )
    dest, source = i.operands
    dtype = DTYPES[container].type
    shift = dtype(window & ((1 << 8 * DTYPES[container].itemsize) - 1))
    if isinstance(source, Symbol) and (
        source.name in low.frame.offsets or source.name in low.arguments.offsets
    ):
        value, fix = low.frame_base, None
        if source.name in low.frame.offsets:
            shift = dtype(shift + dtype(low.frame.offsets[source.name] + source.offset))
        else:
            at = low.arguments.base + low.arguments.offsets[source.name] + source.offset
            value = low.constant(at + low.arena.layout.global_base, container)
        return low.unary(pc, dest, value, lambda a: a.astype(dtype) + shift, container)
    value, fix, _ = low.scope.source(source, container)
    if "to" in i.parts:
        plain: Fix = (lambda a: a - shift) if window else (lambda a: a)
    else:
        plain = (lambda a: a + shift) if window else (lambda a: a)
    if fix is not None:
        inner, outer = fix, plain
        return low.unary(pc, dest, value, lambda a: outer(inner(a)), container)
    return low.unary(pc, dest, value, plain, container)


def _bra(low: Lowering, i: Instruction, pc: int) -> Op:
    target = i.operands[0] if i.operands else None
    if not isinstance(target, Symbol):
        raise Unsupported("a branch without a label")
    if low.function.labels.get(target.name) == len(low.function.instructions):
        return low.leave(pc)
    return BranchOp(pc, low.label(target.name), low.join)


def _exit(low: Lowering, i: Instruction, pc: int) -> Op:
    return ExitOp(pc)


def _ret(low: Lowering, i: Instruction, pc: int) -> Op:
    return low.leave(pc)


def _nop(low: Lowering, i: Instruction, pc: int) -> Op:
    return NopOp(pc)


def _fence(low: Lowering, i: Instruction, pc: int) -> Op:
    return FenceOp(pc)


def _call(low: Lowering, i: Instruction, pc: int) -> Op:
    operands = list(i.operands)
    returns: tuple[Operand, ...] = ()
    params: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], OperandList):
        returns = operands.pop(0).elements  # type: ignore[union-attr]
    if not operands:
        raise Unsupported("a call without a function")
    target = operands.pop(0)
    if operands and isinstance(operands[0], OperandList):
        params = operands.pop(0).elements  # type: ignore[union-attr]
    if isinstance(target, Symbol):
        function = low.bodies.get(target.name)
        if function is None:
            return library_call(low, i, pc, target.name, returns, params)
        callee = _callee(low, function, returns, params)
        return CallOp(pc, callee, None, {}, low.frame_base, low.frame.size)
    register = low.scope.register(target)
    callees = {}
    for function in low.layout.order:
        if (
            function is low.kernel
            or len(function.params) != len(params)
            or len(function.returns) != len(returns)
        ):
            continue
        callees[low.layout.functions[function.name]] = _callee(low, function, returns, params)
    return CallOp(pc, None, register, callees, low.frame_base, low.frame.size)


def _callee(
    low: Lowering, function: Function, returns: tuple[Operand, ...], params: tuple[Operand, ...]
) -> Callee:
    inner = low.all_functions[function.name]
    if len(function.params) != len(params) or len(function.returns) != len(returns):
        raise Unsupported(f"call of {function.name} with other parameters than it has")
    return Callee(
        function.name, inner.first, inner.frame_base, inner.frame.size, inner.saved_registers(),
        tuple(_transfer(low, inner, f, a, False) for f, a in zip(function.params, params, strict=True)),
        tuple(_transfer(low, inner, f, a, True) for f, a in zip(function.returns, returns, strict=True)),
    )  # fmt: skip


def _transfer(low: Lowering, inner: Lowering, formal: Param, actual: Operand, back: bool) -> Transfer:
    if formal.space == "reg":
        return _register_transfer(low, inner, formal, actual, back)
    at = inner.frame.offsets[formal.name]
    if isinstance(actual, Symbol) and actual.name in low.frame.offsets:
        return Transfer(at, formal.size, caller=low.frame.offsets[actual.name] + actual.offset)
    if formal.size not in (1, 2, 4, 8):
        raise Unsupported("a struct in a register")
    dtype = _UNSIGNED[formal.size]
    if back:
        register = low.scope.register(actual)
        fix = load_fix(formal.size, formal.type.startswith("s"), low.scope.file.containers[register])
        return Transfer(at, formal.size, register=register, fix=fix)
    if isinstance(actual, Immediate | SpecialRegister | Symbol):
        raise Unsupported("a constant as call argument")
    register, fix, _ = low.scope.source(actual, container_of_type(formal.type), formal.type)
    return Transfer(at, formal.size, register=register, fix=_then(fix, dtype))


def _register_transfer(
    low: Lowering, inner: Lowering, formal: Param, actual: Operand, back: bool
) -> Transfer:
    if inner.function.name in low.layout.recursive:
        raise Unsupported("a recursive function with register parameters")
    mine = inner.scope.registers[formal.name]
    have, want = inner.scope.file.containers[mine], container_of_type(formal.type)
    if have != want:
        raise Unsupported("a register parameter of another width")
    if back:
        target = low.scope.dest(actual, want, formal.type)
        if target is None:
            raise Unsupported("a result that is dropped")
        return Transfer(0, 0, register=target[0], fix=target[1], inner=mine)
    register, fix, clock = low.scope.source(actual, want, formal.type)
    if register < 0 or clock is not None:
        raise Unsupported("a constant as call argument")
    return Transfer(0, 0, register=register, fix=fix, inner=mine)


def _brx(low: Lowering, i: Instruction, pc: int) -> Op:
    table = i.operands[-1]
    names = low.function.branch_targets.get(table.name, ()) if isinstance(table, Symbol) else ()
    if not names or len(i.operands) != 2:
        raise Unsupported("a branch table that is not declared")
    index, _, _ = low.scope.source(i.operands[0], "b32", "u32")
    return BranchTableOp(pc, index, tuple(low.label(name) for name in names), low.join)


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    "ld": _ld, "ldu": _ld, "st": _st, "cvta": _cvta, "bra": _bra, "exit": _exit, "ret": _ret, "call": _call,
    "brx": _brx, "membar": _fence, "fence": _fence, "prefetch": _nop, "prefetchu": _nop, "nanosleep": _nop,
    "pmevent": _nop, "griddepcontrol": _nop, "setmaxnreg": _nop, "discard": _nop, "applypriority": _nop,
    "brkpt": _nop,
}  # fmt: skip

"""From PTX to executable: loads and stores, addresses, branches, calls and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.library import library_call
from warpglass.machine.program import DTYPES, Op
from warpglass.machine.ptx_alu import AluOp
from warpglass.machine.ptx_calls import BranchTableOp, Callee, CallOp, Transfer
from warpglass.machine.ptx_control import BranchOp, ExitOp, FenceOp, NopOp
from warpglass.machine.ptx_lowering import UNSIGNED, Builder, Lowering, load_fix, space_of, then, type_of
from warpglass.machine.ptx_memory import LoadOp, StoreOp
from warpglass.machine.ptx_operands import Fix, Unsupported, container_of_type
from warpglass.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Operand,
    OperandList,
    Param,
    SpecialRegister,
    Symbol,
)  # fmt: skip

__all__ = ["TABLE"]


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
    low: Lowering, where: Operand, space: int, registers: tuple[int | None, ...],
    fixes: tuple[Fix | None, ...], size: int, pc: int,
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
        return CallOp(pc, callee, None, {}, low.frame_base, low.frame.size, low.stack)
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
    return CallOp(pc, None, register, callees, low.frame_base, low.frame.size, low.stack)


def _callee(
    low: Lowering, function: Function, returns: tuple[Operand, ...], params: tuple[Operand, ...]
) -> Callee:
    inner = low.all_functions[function.name]
    if len(function.params) != len(params) or len(function.returns) != len(returns):
        raise Unsupported(f"call of {function.name} with other parameters than it has")
    return Callee(
        function.name, inner.first, inner.frame_base, inner.frame.size, inner.stack,
        inner.saved_registers(),
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
    dtype = UNSIGNED[formal.size]
    if back:
        register = low.scope.register(actual)
        fix = load_fix(formal.size, formal.type.startswith("s"), low.scope.file.containers[register])
        return Transfer(at, formal.size, register=register, fix=fix)
    if isinstance(actual, Immediate | SpecialRegister | Symbol):
        raise Unsupported("a constant as call argument")
    register, fix, _ = low.scope.source(actual, container_of_type(formal.type), formal.type)
    return Transfer(at, formal.size, register=register, fix=then(fix, dtype))


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


def _alloca(low: Lowering, i: Instruction, pc: int) -> Op:
    dest, size, *rest = i.operands
    align = rest[0].bits if rest and isinstance(rest[0], Immediate) else 8
    assert low.stack is not None
    container = container_of_type(type_of(i))
    target = low.scope.register(dest)
    have = low.scope.file.containers[target]
    amount, fix, _ = low.scope.source(size, container, type_of(i))
    dtype, top = DTYPES[have].type, low.frame.size

    def take(frame: Any, used: Any, count: Any) -> tuple[Any, Any]:
        start = (frame.astype(np.int64) + top + used + align - 1) // align * align
        count = np.minimum(count.astype(np.uint64), np.uint64(1 << 24)).astype(np.int64)
        end = start + count - top - frame
        return start.astype(dtype), np.minimum(end, 1 << 30).astype(np.uint32)

    if not 1 <= align <= 1 << 16:
        raise Unsupported(f"an alignment of {align}")
    fixes = () if fix is None else ((2, fix),)
    return AluOp(pc, take, (low.frame_base, low.stack, amount), fixes, ((0, target), (1, low.stack)), ())


def _stacksave(low: Lowering, i: Instruction, pc: int) -> Op:
    assert low.stack is not None
    dtype = DTYPES[low.scope.file.containers[low.scope.register(i.operands[0])]].type
    return low.unary(pc, i.operands[0], low.stack, lambda a: a.astype(dtype), container_of_type(type_of(i)))


def _stackrestore(low: Lowering, i: Instruction, pc: int) -> Op:
    assert low.stack is not None
    source, _, _ = low.scope.source(i.operands[0], container_of_type(type_of(i)))
    return AluOp(pc, lambda a: (a.astype(np.uint32),), (source,), (), ((0, low.stack),), ())


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    "ld": _ld, "ldu": _ld, "st": _st, "cvta": _cvta, "bra": _bra, "exit": _exit, "ret": _ret, "call": _call,
    "brx": _brx, "alloca": _alloca, "stacksave": _stacksave, "stackrestore": _stackrestore,
    "membar": _fence, "fence": _fence, "prefetch": _nop, "prefetchu": _nop, "nanosleep": _nop,
    "pmevent": _nop, "griddepcontrol": _nop, "setmaxnreg": _nop, "discard": _nop, "applypriority": _nop,
    "brkpt": _nop,
}  # fmt: skip

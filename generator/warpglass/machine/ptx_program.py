"""Lowers a PTX kernel, and all it calls, to a :class:`~warpglass.machine.program.Program`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warpglass.flow import Cfg, ptx_cfg
from warpglass.machine import lsu
from warpglass.machine.arguments import BoundArguments
from warpglass.machine.async_copy import CopyOp
from warpglass.machine.convergence import NO_JOIN, RETURN
from warpglass.machine.memory import Arena
from warpglass.machine.program import FunctionRange, Op, Program
from warpglass.machine.ptx_alu import AluOp
from warpglass.machine.ptx_calls import RetOp
from warpglass.machine.ptx_control import StopOp
from warpglass.machine.ptx_layout import ModuleLayout, symbol_address
from warpglass.machine.ptx_lowering import Lowering
from warpglass.machine.ptx_memory import MemoryOp
from warpglass.machine.ptx_operands import RegisterFile, Scope, Unsupported
from warpglass.machine.ptx_ops import lower
from warpglass.machine.ptx_tables import builder_of
from warpglass.machine.wmma import FragmentOp
from warpglass.ptx.model import Component, Function, Instruction, Module, Operand, Register, Vector

__all__ = ["falls_off", "lower_program", "shared_unit", "stack_need"]


def lower_program(
    module: Module, kernel: Function, layout: ModuleLayout, arena: Arena, arguments: BoundArguments
) -> Program:
    """Lower ``kernel``: its instructions come first, then those of the functions it calls, in call order.

    Instructions that are not known become stops, so that the run shows everything before them.
    """
    file = RegisterFile()
    ops: list[Op] = []
    lines: list[int] = []
    texts: list[str] = []
    opcodes: list[str] = []
    places: list[bool] = []
    ranges: list[FunctionRange] = []
    starts: dict[str, int] = {}
    at = 0
    for function in layout.order:
        starts[function.name] = at
        at += len(function.instructions) + falls_off(function)
    scopes: dict[str, Lowering] = {}
    for function in layout.order:
        symbols = _symbols(module, function, layout, arena)
        scope = Scope(file, function, symbols)
        frame_base = file.add(f"%frame:{function.name}", "b32")
        scopes[function.name] = Lowering(
            scope, module, kernel, function, layout, arena, arguments, starts, frame_base, scopes,
            function is kernel,
        )  # fmt: skip
    for function in layout.order:
        first = starts[function.name]
        lowering = scopes[function.name]
        lowering.noreturn = frozenset({"__assertfail"})
        cfg = ptx_cfg(function, lowering.noreturn)
        joins = _joins(function, cfg, first)
        for index, instruction in enumerate(function.instructions):
            lowering.join = joins.get(index, NO_JOIN)
            op = _lower_one(lowering, instruction, first + index)
            ops.append(op)
            lines.append(instruction.line)
            texts.append(instruction.text)
            opcodes.append(instruction.opcode)
        if function.instructions and function.instructions[-1].base in ("ret", "exit"):
            # Lanes that its guard holds back return all the same: nothing else is behind.
            ops[-1].guard = -1
        end = len(ops)
        if falls_off(function):
            ops.append(lowering.leave(end))
            lines.append(function.end_line)
            texts.append("")
            opcodes.append("ret")
        here = [False] * (len(ops) - first)
        for target in joins.values():
            if 0 <= target - first < len(here):
                here[target - first] = True
        places.extend(here)
        registers = sorted(scopes[function.name].scope.registers.values())
        ranges.append(
            FunctionRange(
                function.name, first, end, registers[0] if registers else 0,
                registers[-1] + 1 if registers else 0, function.name in layout.recursive,
                layout.frames[function.name].size,
            )
        )  # fmt: skip
    containers, specials, constants = file.extras()
    saved = {f.name: scopes[f.name].saved_registers() for f in layout.order}
    for span in ranges:
        for op in ops[span.start : span.end + 1]:
            _saves(op, saved, scopes[span.name])
    for op in ops:
        _place(op, file)
    return Program(
        isa="ptx",
        name=kernel.name,
        ops=ops,
        lines=tuple(lines),
        texts=tuple(texts),
        opcodes=tuple(opcodes),
        register_names=tuple(file.names),
        register_types=tuple(file.types),
        containers=(*file.containers, *containers),
        specials=specials,
        constants=constants,
        join_places=tuple(places),
        functions=tuple(ranges),
        static_shared=layout.static_shared,
        dynamic_base=layout.dynamic_base,
        local_bytes=stack_need(layout),
        shared_symbols=dict(layout.shared),
    )


def falls_off(function: Function) -> bool:
    """Whether control may run off the end of a function: an implicit return then stands behind it."""
    if not function.instructions:
        return True
    last = function.instructions[-1]
    return last.base not in ("ret", "exit") and (
        last.guard is not None or last.base not in ("bra", "brx", "trap")
    )


def _symbols(module: Module, function: Function, layout: ModuleLayout, arena: Arena) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in (*layout.globals, *layout.shared, *layout.functions):
        address = symbol_address(layout, arena, name, False)
        if address is not None:
            found[name] = address
    return found


def _joins(function: Function, cfg: Cfg, first: int) -> dict[int, int]:
    """Where lanes that part at an instruction meet: a pc, or RETURN, by index of the instruction."""
    out: dict[int, int] = {}
    for index, where in cfg.reconvergence().items():
        out[index] = (
            RETURN if where is None and not function.is_entry else NO_JOIN if where is None else first + where
        )
    return out


def _place(op: Op, file: RegisterFile) -> None:
    """Turn placeholders of specials and constants into final register numbers."""
    if isinstance(op, AluOp):
        op.clocks = tuple((file.place(i), name) for i, name in op.clocks)
    for name in op.placed:
        value = getattr(op, name)
        if isinstance(value, tuple):
            setattr(op, name, tuple(None if v is None else file.place(v) for v in value))
        elif value is not None:
            setattr(op, name, file.place(value))


def _saves(op: Op, saved: dict[str, tuple[int, ...]], low: Lowering) -> None:
    """Tell returns of a recursive function which registers its calls saved."""
    if isinstance(op, RetOp) and op.low is low:
        op.saved = saved.get(low.function.name, ())
        op.low = None


def stack_need(layout: ModuleLayout) -> int:
    """Bytes of local memory a thread needs: exact without recursion, else room for some hundred calls."""
    total = sum(frame.size for frame in layout.frames.values())
    if any(i.base == "alloca" for f in layout.order for i in f.instructions):
        total += 1 << 15
    if layout.recursive:
        deepest = max(layout.frames[name].size for name in layout.recursive)
        total += min(max(deepest, 16) * 512, 1 << 17)
    # A call checks its frame against this even where no function keeps anything in it.
    return (total + 16 + 15) // 16 * 16 if total > 16 or len(layout.order) > 1 else 0


def shared_unit(ops: list[Op]) -> int:
    """The finest access to shared memory that a program may make, in bytes."""
    sizes = [16]
    for op in ops:
        if isinstance(op, MemoryOp) and op.space in (lsu.SHARED, lsu.GENERIC):
            sizes.append(op.size * op.count)
        elif isinstance(op, CopyOp | FragmentOp):
            sizes.append(op.size)
    return min(sizes)


def _lower_one(lowering: Lowering, instruction: Instruction, pc: int) -> Op:
    guard = instruction.guard
    try:
        op = _build(lowering, instruction, pc)
        if guard is not None:
            op.guard = lowering.scope.predicate(guard.register)
            op.negated = guard.negated
    except (Unsupported, IndexError) as error:
        # Builders take operands by position: an index too large is a form that lacks some.
        text = str(error) if isinstance(error, Unsupported) else "operands are missing"
        what = f"{instruction.opcode} is not executed yet" + (f" ({text})" if text else "")
        op = StopOp(pc, f"stopped at line {instruction.line}: {what}")
        if guard is not None and guard.register.name in lowering.scope.registers:
            op.guard = lowering.scope.registers[guard.register.name]
            op.negated = guard.negated
    return op


def _spread(lowering: Lowering, instruction: Instruction) -> Instruction:
    """The instruction with whole vector registers written out as their components."""
    kinds = lowering.function.registers
    if not any(isinstance(o, Register) and "." in kinds.get(o.name, "") for o in instruction.operands):
        return instruction
    operands: list[Operand] = []
    for operand in instruction.operands:
        kind = kinds.get(operand.name, "") if isinstance(operand, Register) else ""
        if isinstance(operand, Register) and "." in kind:
            operands.append(Vector(tuple(Component(operand, n) for n in range(int(kind[1])))))
        else:
            operands.append(operand)
    return replace(instruction, operands=tuple(operands))


def _build(lowering: Lowering, instruction: Instruction, pc: int) -> Op:
    instruction = _spread(lowering, instruction)
    builder: Callable[[Lowering, Instruction, int], Op] | None = builder_of(instruction)
    if builder is not None:
        return builder(lowering, instruction, pc)
    if instruction.base == "mov":
        special = lowering.mov_address(instruction, pc)
        if special is not None:
            return special
        moved = lowering.mov_b128(instruction, pc) or lowering.mov_vector(instruction, pc)
        if moved is not None:
            return moved
    meaning = lower(instruction)
    if meaning is None:
        raise Unsupported("")
    return lowering.arithmetic(meaning, instruction, pc)

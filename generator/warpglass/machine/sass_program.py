"""Lowers SASS functions to a :class:`~warpglass.machine.program.Program`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpglass.machine import lsu
from warpglass.machine.async_copy import CopyOp
from warpglass.machine.program import FunctionRange, Op, Program
from warpglass.machine.ptx_alu import AluOp
from warpglass.machine.ptx_control import StopOp
from warpglass.machine.ptx_memory import LoadOp, MemoryOp
from warpglass.machine.ptx_operands import RegisterFile, Unsupported
from warpglass.machine.sass_constants import ConstantBanks
from warpglass.machine.sass_control import TABLE as CONTROL
from warpglass.machine.sass_control import CodeMap, GatedOp
from warpglass.machine.sass_counted import COUNTED, use_of
from warpglass.machine.sass_counted import TABLE as UNEXECUTED
from warpglass.machine.sass_library import LIBRARY
from warpglass.machine.sass_memory import TABLE as MEMORY
from warpglass.machine.sass_memory import AroundOp, CastOp
from warpglass.machine.sass_ops import LaneOp, WarpOp, lower
from warpglass.machine.sass_registers import SassRegisters
from warpglass.machine.sass_sync import TABLE as SYNC
from warpglass.machine.sass_sync import SyncOp
from warpglass.machine.sass_uniform import UniformOp
from warpglass.machine.unknown import Use
from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import Register, UniformPredicate, UniformRegister

__all__ = ["code_bases", "lower_sass", "shared_unit"]

#: Addresses of functions in sections of their own are this far apart; a kernel's own code starts at 0.
FUNCTION_STRIDE = 1 << 24


def code_bases(kernel: Function, others: Sequence[Function]) -> dict[str, int]:
    """Address of every function, of the device functions inside its section, and of the library's."""
    bases: dict[str, int] = dict(LIBRARY)
    for number, function in enumerate((kernel, *others)):
        base = number * FUNCTION_STRIDE
        bases[function.name] = base
        for offset, name in function.subroutines.items():
            bases.setdefault(name, base + offset)
    return bases


def lower_sass(
    kernel: Function, others: Sequence[Function], banks: ConstantBanks, symbols: Mapping[str, int],
    sm: int, static_shared: int, dynamic_base: int, local_bytes: int,
) -> Program:  # fmt: skip
    """Lower ``kernel`` and the device functions ``others``; ``symbols`` are addresses of variables.

    Instructions that are not known become stops, so that the run shows everything before them.
    """
    file = RegisterFile()
    bases = code_bases(kernel, others)
    pcs: dict[int, int] = {}
    ranges: list[FunctionRange] = []
    at = 0
    for function in (kernel, *others):
        for index, instruction in enumerate(function.instructions):
            pcs[bases[function.name] + instruction.offset] = at + index
        end = at + len(function.instructions)
        ranges.append(FunctionRange(function.name, at, end, 0, 0))
        at = end
    code = CodeMap(bases, pcs, sm)

    def label(operand: Any) -> int:
        value = symbols.get(operand.name)
        if value is None:
            value = code.label(operand)
        return value >> 32 if operand.part == "hi" else value

    registers = SassRegisters(file, banks, label)
    ops: list[Op] = []
    lines: list[int] = []
    texts: list[str] = []
    opcodes: list[str] = []
    for function in (kernel, *others):
        code.base = bases[function.name]
        offsets = [i.offset for i in function.instructions]
        for index, instruction in enumerate(function.instructions):
            follows = offsets[index + 1] if index + 1 < len(offsets) else instruction.offset + 16
            code.next = code.base + follows
            ops.append(_lower_one(registers, code, instruction, len(ops), sm))
            lines.append(instruction.line)
            texts.append(instruction.text)
            opcodes.append(instruction.opcode)
        _excuse_spins(function.instructions, ops[len(ops) - len(function.instructions) :])
    containers, specials, constants = file.extras()
    for op in ops:
        _place(op, file)
    return Program(
        isa="sass",
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
        join_places=(False,) * (len(ops) + 1),
        functions=tuple(ranges),
        static_shared=static_shared,
        dynamic_base=dynamic_base,
        local_bytes=local_bytes,
        uses=_uses([i for function in (kernel, *others) for i in function.instructions], sm),
    )


def _uses(instructions: Sequence[Instruction], sm: int) -> tuple[Use, ...]:
    """Registers of every instruction, where results of some will be unknown; else nothing."""
    if not any(i.base in COUNTED for i in instructions):
        return ()
    return tuple(use_of(i, sm) for i in instructions)


#: How far before a compare-and-swap the load of its comparand stands in the loops that ptxas makes.
_SPIN_REACH = 24


def _excuse_spins(instructions: Sequence[Instruction], ops: Sequence[Op]) -> None:
    """Loads that feed ``ATOMS.CAST.SPIN`` do not race: the swap fails where the value has changed."""
    for index, instruction in enumerate(instructions):
        if "CAST" not in instruction.modifiers:
            continue
        comparand = instruction.operands[-2]
        for before in range(index - 1, max(-1, index - _SPIN_REACH), -1):
            load, op = instructions[before], ops[before]
            if load.base == "LDS" and _same_register(load.operands[0], comparand):
                while isinstance(op, AroundOp):
                    op = op.inner
                if isinstance(op, LoadOp):
                    op.racing = False
                break


def _same_register(a: Any, b: Any) -> bool:
    return isinstance(a, Register) and isinstance(b, Register) and a.index == b.index


def _place(op: Op, file: RegisterFile) -> None:
    """Turn placeholders of specials and constants into final register numbers."""
    if isinstance(op, AroundOp | CastOp | GatedOp | SyncOp):
        _place(op.inner, file)
    if isinstance(op, AroundOp):
        for made in op.before:
            made.sources = tuple(file.place(s) for s in made.sources)
    if isinstance(op, AluOp):
        op.clocks = tuple((file.place(i), name) for i, name in op.clocks)
    for name in getattr(op, "placed", ()):
        value = getattr(op, name)
        if isinstance(value, tuple):
            setattr(op, name, tuple(None if v is None else file.place(v) for v in value))
        elif value is not None:
            setattr(op, name, file.place(value))


def _lower_one(r: SassRegisters, code: CodeMap, i: Instruction, pc: int, sm: int) -> Op:
    try:
        op = _build(r, code, i, pc, sm)
    except (Unsupported, KeyError, IndexError, ValueError, StopIteration) as error:
        text = str(error) if isinstance(error, Unsupported) else ""
        reason = f"{i.opcode} is not executed yet" + (f" ({text})" if text else "")
        op = StopOp(pc, f"stopped at line {i.line}: {reason}")
    guard = i.guard
    if guard is not None and (guard.index is not None or guard.negated):
        if guard.index is None:
            op.guard = r.named("%never", "pred")  # @!PT: a register that stays false
        else:
            op.guard = r.predicate(guard)
        op.negated = guard.negated and guard.index is not None
    return op


def _build(r: SassRegisters, code: CodeMap, i: Instruction, pc: int, sm: int) -> Op:
    base = i.base
    first_two = ".".join(i.parts[:2])
    for key in (first_two, base):
        if key in SYNC:
            return SYNC[key](r, code, i, pc)
    if base in MEMORY:
        return MEMORY[base](r, i, pc)
    for table in (CONTROL, UNEXECUTED):
        if base in table:
            return table[base](r, code, i, pc)
    meaning = lower(i, sm)
    if meaning is None:
        raise Unsupported("")
    return _arithmetic(r, meaning, pc)


def _arithmetic(r: SassRegisters, meaning: LaneOp | WarpOp, pc: int) -> Op:
    typed = zip(meaning.sources, meaning.source_types, strict=True)
    sources = tuple(r.source(o, container=kind) for o, kind in typed)
    targets = tuple(
        r.register(o) if isinstance(o, Register | UniformRegister) else r.predicate(o) for o in meaning.dests
    )
    uniform = bool(meaning.dests) and all(
        isinstance(o, UniformRegister | UniformPredicate) for o in meaning.dests
    )
    cross = isinstance(meaning, WarpOp)
    # A result of uniform sources alone is the same in every lane that computes it.
    if uniform and (cross or any(_varies(o) for o in meaning.sources)):
        return UniformOp(pc, meaning.fn, sources, targets, cross)
    if cross:
        return CrossLaneOp(pc, meaning.fn, sources, targets)
    return AluOp(pc, meaning.fn, sources, (), tuple(enumerate(targets)), ())


def _varies(operand: Any) -> bool:
    """Whether a source may differ from lane to lane."""
    return not isinstance(operand, UniformRegister | UniformPredicate) and hasattr(operand, "index")


class CrossLaneOp(Op):
    """A computation across the lanes that execute it together; it waits for nobody."""

    __slots__ = ("fn", "sources", "targets")

    placed = ("sources",)

    def __init__(self, pc: int, fn: Any, sources: tuple[int, ...], targets: tuple[int, ...]) -> None:
        super().__init__(pc)
        self.fn = fn
        self.sources = sources
        self.targets = targets
        self.dests = targets

    def run(self, m: Any, g: Any, on: Any) -> bool:
        """Compute for the warps of ``on``."""
        if on.nrows == m.W:
            args = [m.R[i] for i in self.sources]
            mask = on.mask
        else:
            args = [m.rows(i, on) if m.is_lane[i] else m.R[i] for i in self.sources]
            mask = on.mask if on.nrows == on.high - on.low else _row_mask(on)
        for register, value in zip(self.targets, self.fn(mask, *args), strict=True):
            m.put_rows(register, _full(value, on.nrows), on)
        return False


def _row_mask(on: Any) -> Any:
    from warpglass.machine.sass_uniform import live_mask

    return live_mask(on)


def _full(value: Any, rows: int) -> Any:
    import numpy as np

    return value if value.shape == (rows, 32) else np.ascontiguousarray(np.broadcast_to(value, (rows, 32)))


def shared_unit(ops: Sequence[Op]) -> int:
    """The finest access to shared memory that a program may make, in bytes."""
    sizes = [16]
    for op in ops:
        inner = op
        while isinstance(inner, AroundOp | CastOp):
            inner = inner.inner
        if isinstance(inner, MemoryOp) and inner.space in (lsu.SHARED, lsu.GENERIC):
            sizes.append(inner.size * inner.count)
        elif isinstance(inner, CopyOp):
            sizes.append(inner.size)
    return min(sizes)

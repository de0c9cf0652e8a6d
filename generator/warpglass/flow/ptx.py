"""PTX under the generic flow analyses: graph, reads and writes, liveness."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from warpglass.flow.graph import Cfg, Flow, build_cfg
from warpglass.flow.liveness import Access, liveness
from warpglass.ptx.model import (
    Address,
    Component,
    Function,
    Instruction,
    Negated,
    Operand,
    OperandList,
    Pair,
    Register,
    Symbol,
    Vector,
)
from warpglass.ptx.opcodes import TYPE_SIZES

__all__ = ["PtxLiveness", "ptx_cfg", "ptx_liveness", "reads_writes", "register_units"]


def ptx_cfg(function: Function, noreturn: Set[str] = frozenset()) -> Cfg:
    """The graph of a function.

    Calls fall through, except to a function named in ``noreturn`` (``__assertfail``), which only kills.
    ``ret`` and ``exit`` leave, ``trap`` kills; under a guard all of them also fall through.
    """
    flows: dict[int, Flow] = {}
    for pc, instruction in enumerate(function.instructions):
        flow = _flow(function, instruction, noreturn)
        if flow is not None:
            flows[pc] = flow
    return build_cfg(len(function.instructions), flows)


def _flow(function: Function, instruction: Instruction, noreturn: Set[str]) -> Flow | None:
    base, guarded = instruction.base, instruction.guard is not None
    if base == "bra":
        target = instruction.operands[0] if instruction.operands else None
        pc = function.labels.get(target.name, -1) if isinstance(target, Symbol) else -1
        return Flow((pc,), falls=guarded)
    if base == "brx":
        table = instruction.operands[-1] if instruction.operands else None
        names = function.branch_targets.get(table.name, ()) if isinstance(table, Symbol) else ()
        return Flow(tuple(function.labels.get(n, -1) for n in names), falls=guarded, leaves=not names)
    if base in ("ret", "exit"):
        return Flow(falls=guarded, leaves=True)
    if base == "trap":
        return Flow(falls=guarded, dies=True)
    if base == "call" and noreturn:
        callee = next((o for o in instruction.operands if isinstance(o, Symbol)), None)
        if callee is not None and callee.name in noreturn:
            return Flow(falls=guarded, dies=True)
    return None


# ---------------------------------------------------------------- reads and writes

#: Opcodes whose register operands are all read although the first is no address.
_NO_RESULT = frozenset({
    "nanosleep", "stackrestore", "brx", "bra", "setmaxnreg", "pmevent", "ret", "exit", "trap", "brkpt",
    "membar", "fence", "griddepcontrol", "st", "red", "prefetch", "prefetchu", "discard", "applypriority",
    "sust", "sured", "stmatrix", "cp",
})  # fmt: skip

#: ``base.second`` forms without a result, of opcodes that have results in other forms.
_NO_RESULT_FORMS = frozenset({
    "bar.sync", "bar.arrive", "bar.cta.sync", "bar.cta.arrive", "bar.warp", "barrier.sync", "barrier.arrive",
    "barrier.cta.sync", "barrier.cta.arrive", "barrier.cluster", "tcgen05.dealloc", "tcgen05.alloc",
    "tcgen05.st", "tcgen05.cp", "tcgen05.mma", "tcgen05.commit", "tcgen05.wait", "tcgen05.fence",
    "tcgen05.shift", "tcgen05.relinquish_alloc_permit", "wgmma.fence", "wgmma.commit_group",
    "wgmma.wait_group", "multimem.st", "multimem.red", "wmma.store", "mbarrier.init", "mbarrier.inval",
})  # fmt: skip

#: Forms whose result is also an input: the accumulator of ``wgmma``.
_ACCUMULATES = "wgmma.mma_async"


def _names(operand: Operand) -> Iterable[str]:
    """Registers in an operand, addresses and lists included. Depth is bounded by the parser."""
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Component):
        yield operand.register.name
    elif isinstance(operand, Negated):
        yield from _names(operand.operand)
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register | Component):
            yield from _names(operand.base)
        if operand.coordinates is not None:
            yield from _names(operand.coordinates)
    elif isinstance(operand, Vector | OperandList):
        for element in operand.elements:
            yield from _names(element)
    elif isinstance(operand, Pair):
        yield from _names(operand.first)
        yield from _names(operand.second)


def _results(instruction: Instruction) -> int:
    """How many leading operands are written."""
    operands, opcode = instruction.operands, instruction.opcode
    if not operands or isinstance(operands[0], Address):
        return 0
    base = instruction.base
    if base in _NO_RESULT:
        return 0
    if base in ("bar", "barrier", "tcgen05", "wgmma", "multimem", "wmma", "mbarrier"):
        parts = opcode.split(".")
        if ".".join(parts[:2]) in _NO_RESULT_FORMS or ".".join(parts[:3]) in _NO_RESULT_FORMS:
            return 0
        if parts[:3] == ["tcgen05", "ld", "red"]:
            return 2
    if base == "call":
        return 1 if isinstance(operands[0], OperandList) else 0
    return 1


def reads_writes(instruction: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Register names read and written, each once, in operand order.

    Guards and registers inside addresses are reads. A vector register counts by its own name; writing one
    of its components (``%v.x``) is a write that leaves the others.
    """
    results = _results(instruction)
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    if instruction.guard is not None:
        reads[instruction.guard.register.name] = None
    for position, operand in enumerate(instruction.operands):
        into = writes if position < results and not isinstance(operand, Address) else reads
        into.update(dict.fromkeys(_names(operand)))
    if instruction.opcode.startswith(_ACCUMULATES):
        reads.update(writes)
    return tuple(reads), tuple(writes)


def _partial(operand: Operand) -> bool:
    """True where a result is one component of a vector register or a byte of a plain one."""
    if isinstance(operand, Component):
        return True
    if isinstance(operand, Vector | OperandList):
        return any(_partial(e) for e in operand.elements)
    return False


# ---------------------------------------------------------------- liveness


@dataclass(frozen=True, slots=True)
class PtxLiveness:
    """Virtual registers that hold a value around each instruction.

    ``live`` counts 32-bit units (a 16-bit or 8-bit register counts as one, a 64-bit one as two),
    ``predicates`` counts predicates. ``peak`` is the largest ``live`` and ``peak_pc`` the first instruction
    that has it (None for an empty body). PTX registers are virtual: the assembler decides what they cost.
    """

    live: tuple[int, ...]
    predicates: tuple[int, ...]
    peak: int
    peak_pc: int | None
    peak_predicates: int


def register_units(kind: str) -> int:
    """32-bit units of a register type as in ``Function.registers`` (``b64`` 2, ``v4.f32`` 4, ``pred`` 0)."""
    vector, _, element = kind.rpartition(".")
    count = int(vector[1:]) if vector[1:].isdecimal() else 1
    size = TYPE_SIZES.get(element, 4)
    return -(-size // 4) * count


def ptx_liveness(function: Function, cfg: Cfg | None = None) -> PtxLiveness | None:
    """Live counts of a function; None where its size makes the answer too dear (the report says unknown)."""
    graph = ptx_cfg(function) if cfg is None else cfg
    index: dict[str, int] = {}
    accesses = []
    for instruction in function.instructions:
        reads, writes = reads_writes(instruction)
        kills = instruction.guard is None and not any(
            _partial(o) for o in instruction.operands[: _results(instruction)]
        )
        accesses.append(
            Access(
                tuple(index.setdefault(n, len(index)) for n in reads),
                tuple(index.setdefault(n, len(index)) for n in writes),
                kills,
            )
        )
    found = liveness(graph, accesses, len(index))
    if found is None:
        return None
    kinds = [function.registers.get(name, "b32") for name in index]
    live = found.pressure([register_units(k) for k in kinds])
    predicates = found.pressure([int(k == "pred") for k in kinds])
    peak = max(live, default=0)
    return PtxLiveness(
        live=tuple(live),
        predicates=tuple(predicates),
        peak=peak,
        peak_pc=live.index(peak) if live else None,
        peak_predicates=max(predicates, default=0),
    )

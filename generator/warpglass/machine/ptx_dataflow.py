"""What the code alone tells about a run: branches and addresses that depend on made-up data, registers that
may be read before they are written."""

from __future__ import annotations

from collections.abc import Iterable

from warpglass.flow import Access, liveness, ptx_cfg, reads_writes
from warpglass.machine.program import Program
from warpglass.machine.ptx_layout import ModuleLayout
from warpglass.machine.run_state import RunState
from warpglass.ptx.model import Address, Function, Instruction, OperandList, Register, Symbol

__all__ = ["report_static"]

_BRANCHES = frozenset({"bra", "brx", "exit", "ret", "call", "bar", "barrier"})
_MEMORY = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "wmma"})
#: Rounds of the propagation; a chain through memory and calls that needs more is cut.
ROUNDS = 32


def report_static(run: RunState, program: Program, layout: ModuleLayout) -> None:
    """Add the findings that need no more than the code and what was executed."""
    starts = {f.name: f.start for f in program.functions}
    if run.default_reads:
        _report_default_data(run, program, layout, starts)
    for function in layout.order:
        _report_unwritten(run, program, function, starts[function.name])


# -- made-up data ----------------------------------------------------------------------------------------


class _Taint:
    """Registers (by function), parameter symbols and memories that may hold made-up data."""

    def __init__(self, sources: Iterable[int]) -> None:
        self.sources = frozenset(sources)
        self.names: set[tuple[str, str]] = set()
        self.spaces: set[str] = set()

    def of(self, function: str, names: Iterable[str]) -> bool:
        return any((function, name) in self.names for name in names)

    def add(self, function: str, names: Iterable[str]) -> None:
        self.names.update((function, name) for name in names)

    def size(self) -> int:
        return len(self.names) + len(self.spaces)


def _space(instruction: Instruction) -> str:
    for part in instruction.parts[1:]:
        name = part.split("::")[0]
        if name in ("shared", "local", "param", "global", "const"):
            return name
    return "generic"


def _symbol(instruction: Instruction) -> str | None:
    for operand in instruction.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            return operand.base.name
    return None


def _step(taint: _Taint, function: Function, pc: int, i: Instruction, bodies: dict[str, Function]) -> None:
    name = function.name
    reads, writes = reads_writes(i)
    space = _space(i)
    if i.base == "call":
        _through_call(taint, name, i, bodies)
        return
    symbol = _symbol(i)
    if i.base in ("ld", "ldu", "atom", "ldmatrix"):
        dirty = pc in taint.sources
        if space == "param":
            dirty = dirty or (symbol is not None and taint.of(name, [symbol]))
        elif space in ("shared", "local"):
            dirty = dirty or space in taint.spaces
        elif space == "generic":
            dirty = dirty or bool(taint.spaces)
        if dirty:
            taint.add(name, writes)
        return
    if i.base == "st":
        if not taint.of(name, reads):
            return
        if space == "param" and symbol is not None:
            taint.add(name, [symbol])
        elif space in ("shared", "local"):
            taint.spaces.add(space)
        elif space == "generic":
            taint.spaces.update(("shared", "local"))
        return
    if i.base == "cp" and pc in taint.sources:
        taint.spaces.add("shared")
    if taint.of(name, reads):
        taint.add(name, writes)


def _through_call(taint: _Taint, caller: str, i: Instruction, bodies: dict[str, Function]) -> None:
    lists = [o for o in i.operands if isinstance(o, OperandList)]
    target = next((o.name for o in i.operands if isinstance(o, Symbol) and o.name in bodies), None)
    if target is None:
        return
    callee = bodies[target]
    has_returns = bool(i.operands) and isinstance(i.operands[0], OperandList)
    returns = lists[0].elements if has_returns else ()
    params = lists[-1].elements if len(lists) > has_returns else ()
    for formal, actual in zip(callee.params, params, strict=False):
        if isinstance(actual, Register | Symbol) and taint.of(caller, [actual.name]):
            taint.add(target, [formal.name])
    for formal, actual in zip(callee.returns, returns, strict=False):
        if isinstance(actual, Register | Symbol) and taint.of(target, [formal.name]):
            taint.add(caller, [actual.name])


def _report_default_data(
    run: RunState, program: Program, layout: ModuleLayout, starts: dict[str, int]
) -> None:
    taint = _Taint(run.default_reads)
    bodies = {f.name: f for f in layout.order}
    for _ in range(ROUNDS):
        before = taint.size()
        for function in layout.order:
            for index, instruction in enumerate(function.instructions):
                _step(taint, function, starts[function.name] + index, instruction, bodies)
        if taint.size() == before:
            break
    buffers = ", ".join(sorted(set(run.default_reads.values()))[:4])
    for function in layout.order:
        for index, i in enumerate(function.instructions):
            pc = starts[function.name] + index
            count = run.counters.warp_executed[pc]
            what = _sink(taint, function.name, i) if count else None
            if what is not None:
                run.findings.static(
                    "default-data", pc, program.lines[pc], count, kind="default-data", severity="info",
                    category="memory",
                    message=f"this {what} depends on default data: nobody gave the content of {buffers}",
                )  # fmt: skip


def _sink(taint: _Taint, function: str, i: Instruction) -> str | None:
    if i.base in _BRANCHES:
        names = [i.guard.register.name] if i.guard is not None else []
        if i.base == "brx":
            names += [o.name for o in i.operands if isinstance(o, Register)]
        return "branch" if taint.of(function, names) else None
    if i.base in _MEMORY:
        names = [o.base.name for o in i.operands if isinstance(o, Address) and isinstance(o.base, Register)]
        return "address" if taint.of(function, names) else None
    return None


# -- registers -------------------------------------------------------------------------------------------


def _report_unwritten(run: RunState, program: Program, function: Function, start: int) -> None:
    """Registers that a way from the entry reaches before anything wrote them."""
    if not function.instructions:
        return
    index: dict[str, int] = {}
    accesses = []
    for instruction in function.instructions:
        reads, writes = reads_writes(instruction)
        if instruction.base == "shfl":
            # Lanes hand over what they may never have written; what counts is the lane that is read from.
            others = {o.name for o in instruction.operands[2:] if isinstance(o, Register)}
            guard = instruction.guard.register.name if instruction.guard is not None else None
            reads = tuple(n for n in reads if n in others or n == guard)
        # A guarded write counts as a write: whoever reads under the same guard is fine, and the other case
        # is rare enough to stay silent about.
        accesses.append(
            Access(
                tuple(index.setdefault(n, len(index)) for n in reads),
                tuple(index.setdefault(n, len(index)) for n in writes),
                True,
            )
        )
    for param in (*function.params, *function.returns):
        index.pop(param.name, None)
    found = liveness(ptx_cfg(function), accesses, len(index) + len(function.params) + len(function.returns))
    if found is None:
        return
    entry = found.live_in[0]
    for name, number in index.items():
        if not entry >> number & 1 or name.startswith("%cc"):
            continue
        for at, access in enumerate(accesses):
            if number in access.reads and run.counters.warp_executed[start + at]:
                run.findings.static(
                    f"register-{name}", start + at, program.lines[start + at],
                    run.counters.warp_executed[start + at], kind="initcheck", severity="warning",
                    category="registers",
                    message=f"register {name} may be read before it is written; it reads as zero",
                )  # fmt: skip
                break

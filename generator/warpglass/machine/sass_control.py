"""Branches, calls, barriers, special registers and hints of SASS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from warpglass.machine.convergence import NO_JOIN
from warpglass.machine.program import Op
from warpglass.machine.ptx_alu import AluOp
from warpglass.machine.ptx_barrier import ClusterArriveOp, ClusterWaitOp, GeneralBarrierOp
from warpglass.machine.ptx_calls import fan_out
from warpglass.machine.ptx_control import BarrierOp, BranchOp, FenceOp, NopOp, TrapOp
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.sass_convergence import BreakOp, BssyOp, BsyncOp, DivBranchOp, SassExitOp, WarpsyncOp
from warpglass.machine.sass_library import RETURN_REGISTER, SassLibraryOp, library_ops
from warpglass.machine.sass_registers import SassRegisters
from warpglass.machine.sass_uniform import UniformOp
from warpglass.machine.special import DYNAMIC
from warpglass.sass.model import Instruction
from warpglass.sass.operands import (
    Barrier,
    Immediate,
    Label,
    Predicate,
    Register,
    SpecialRegister,
    UniformPredicate,
    UniformRegister,
    Word,
)  # fmt: skip

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["TABLE", "CodeMap"]

Builder = Callable[[SassRegisters, "CodeMap", Instruction, int], Op]


class CodeMap:
    """Addresses of code: ``base`` of the function at hand, and pcs by address over the whole program."""

    def __init__(self, bases: Mapping[str, int], pcs: Mapping[int, int], sm: int) -> None:
        self.bases = bases
        self.pcs = pcs
        self.sm = sm
        self.base = 0
        self.next = 0

    def label(self, label: Label) -> int:
        """Address that a label means."""
        if label.target is not None:
            return self.base + label.target
        if label.name in self.bases:
            return self.bases[label.name]
        raise Unsupported(f"{label.name} is not in the image")

    def pc_of(self, label: Label) -> int:
        """Instruction that a label means."""
        address = self.label(label)
        if address not in self.pcs:
            raise Unsupported(f"{label.name} is no instruction")
        return self.pcs[address]


class GatedOp(Op):
    """A control instruction whose condition is an operand: it acts for the lanes whose predicate holds."""

    __slots__ = ("condition", "inner", "inverted")

    placed: ClassVar[tuple[str, ...]] = ("condition",)
    skippable: ClassVar[bool] = False

    def __init__(self, inner: Op, condition: int, inverted: bool) -> None:
        super().__init__(inner.pc)
        self.inner = inner
        self.condition = condition
        self.inverted = inverted

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Act for fewer lanes."""
        fewer = on.narrow(np.broadcast_to(m.R[self.condition], m.shape), self.inverted)
        if fewer.count == 0 and self.inner.skippable:
            return False
        return self.inner.run(m, g, fewer)


class JumpOp(Op):
    """An indirect branch: lanes go to the code at an address in registers, or call the runtime library.

    ``back`` is the register with the address to come back to from the library's functions ``library``.
    """

    __slots__ = ("back", "library", "low", "offset", "pcs")

    placed: ClassVar[tuple[str, ...]] = ("low",)

    def __init__(
        self,
        pc: int,
        low: int,
        offset: int,
        pcs: Mapping[int, int],
        library: Mapping[int, SassLibraryOp],
        back: int,
    ) -> None:
        super().__init__(pc)
        self.low = low
        self.offset = offset
        self.pcs = pcs
        self.library = library
        self.back = back

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Go."""
        values = np.broadcast_to(m.get(self.low, on), (on.count,)).astype(np.int64)
        # Offsets are signed 32-bit numbers: a table may point backwards.
        values = np.where(values >= 1 << 31, values - (1 << 32), values) + self.offset
        targets = np.empty(on.count, dtype=np.int64)
        for address in np.unique(values).tolist():
            if address in self.library:
                values = self._call(m, on, values, address)
        for address in np.unique(values).tolist():
            targets[values == address] = self._pc(m, int(address))
        fan_out(m, g, on, targets, self.pc + 1, NO_JOIN)
        return True

    def _call(self, m: Machine, on: Selection, values: Any, address: int) -> Any:
        """Run a library function for the lanes that go there; their addresses become the return's."""
        here = values == address
        part = type(on)(on.rows, flat=on.flat[here])
        back = m.get(self.back, on).astype(np.int64)
        self.library[address].run(m, None, part)  # type: ignore[arg-type]
        return np.where(here, back, values)

    def _pc(self, m: Machine, address: int) -> int:
        found = self.pcs.get(address)
        if found is None:
            line = m.program.lines[self.pc]
            reason = f"stopped at line {line}: a branch to {address:#x}, where no code is"
            m.stop("fault", reason, self.pc)
            return 0
        return found


# -- branches and calls ----------------------------------------------------------------------------------


def _label(i: Instruction) -> Label | None:
    return next((o for o in i.operands if isinstance(o, Label)), None)


def _gated(r: SassRegisters, i: Instruction, op: Op) -> Op:
    """The op under the predicate operand that stands before its target, if there is one."""
    for operand in i.operands:
        if isinstance(operand, Predicate | UniformPredicate):
            negated = operand.negated or getattr(operand, "inverted", False)
            if operand.index is None and not negated:
                continue
            return GatedOp(op, r.predicate(operand), negated)
    return op


def _bra(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    label = _label(i)
    if label is None:
        raise Unsupported("a branch without a target")
    target = code.pc_of(label)
    if "DIV" in i.modifiers or "CONV" in i.modifiers:
        member = next((o for o in i.operands if isinstance(o, Register | UniformRegister)), None)
        together = "CONV" in i.modifiers
        if member is None:  # Turing names no mask: all lanes are meant
            return DivBranchOp(pc, r.constant(0xFFFFFFFF), False, target, together)
        return DivBranchOp(pc, r.register(member), member.inverted, target, together)
    return _gated(r, i, BranchOp(pc, target, NO_JOIN))


def _call(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    label = _label(i)
    if label is None or any(isinstance(o, Register | UniformRegister) for o in i.operands):
        return _jump(r, code, i, pc)  # a label beside a register is where its offset counts from
    return _gated(r, i, BranchOp(pc, code.pc_of(label), NO_JOIN))


def _jump(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    register = next((o for o in i.operands if isinstance(o, Register | UniformRegister)), None)
    if register is None:
        raise Unsupported("an indirect branch without a register")
    offset = sum(int(o.value) for o in i.operands if isinstance(o, Immediate))
    label = _label(i)
    if i.base in ("BRX", "BRXU") or "REL" in i.modifiers:
        if i.base in ("BRX", "BRXU"):
            offset += code.next
        elif label is not None and label.name in code.bases:
            offset += code.bases[label.name]
        else:
            offset += code.base
    library = library_ops(pc, r) if i.base == "CALL" else {}
    back = r.register(Register(RETURN_REGISTER))
    return JumpOp(pc, r.register(register), offset, code.pcs, library, back)


def _exit(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return _gated(r, i, SassExitOp(pc))


def _barrier_of(r: SassRegisters, i: Instruction) -> int:
    found = next((o for o in i.operands if isinstance(o, Barrier)), None)
    if found is None:
        raise Unsupported("a convergence barrier is expected")
    return r.named(f"B{found.index}")


def _bssy(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return BssyOp(pc, _barrier_of(r, i))


def _bsync(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    soft = code.sm >= 100 and "RECONVERGENT" not in i.modifiers
    return _gated(r, i, BsyncOp(pc, _barrier_of(r, i), soft))


def _break(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return _gated(r, i, BreakOp(pc, _barrier_of(r, i)))


def _bmov(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``BMOV.32 B6, R4``, ``BMOV.32.CLEAR R4, B6``: moves of a convergence barrier's lanes."""
    target, source = i.operands[0], i.operands[-1]
    to = r.named(f"B{target.index}") if isinstance(target, Barrier) else None
    if to is None:
        to = r.targets(target, 1)[0]
    where = r.named(f"B{source.index}") if isinstance(source, Barrier) else r.source(source)
    if to is None:
        return NopOp(pc)
    return AluOp(pc, lambda a: (a,), (where,), (), ((0, to),), ())


def _warpsync(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    # .COLLECTIVE: the lanes named act together up to ENDCOLLECTIVE, behind which its label stands.
    member = next((o for o in i.operands if isinstance(o, Register | UniformRegister | Immediate)), None)
    mask = r.constant(0xFFFFFFFF) if member is None or "ALL" in i.modifiers else r.source(member)
    return WarpsyncOp(pc, mask)


# -- block barriers --------------------------------------------------------------------------------------


def _bar(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    kind = i.modifiers[0] if i.modifiers else "SYNC"
    numbers = [o for o in i.operands if isinstance(o, Immediate | Register | UniformRegister)]
    if kind == "RED":
        predicate = next(o for o in i.operands if isinstance(o, Predicate | UniformPredicate))
        reduction = next(p.lower() for p in i.modifiers if p in ("POPC", "AND", "OR"))
        target = r.named("%bar.popc") if reduction == "popc" else r.named("%bar.pred", "pred")
        threads = r.source(numbers[1]) if len(numbers) > 1 else None
        return GeneralBarrierOp(
            pc, r.source(numbers[0]), threads, True, reduction, target, r.predicate(predicate),
            predicate.negated,
        )  # fmt: skip
    if kind not in ("SYNC", "ARV"):
        raise Unsupported("")
    if all(isinstance(o, Immediate) for o in numbers):
        values = [int(o.value) for o in numbers if isinstance(o, Immediate)]
        if 0 <= values[0] < 16 and (len(values) < 2 or values[1] % 32 == 0):
            return BarrierOp(pc, values[0], values[1] if len(values) > 1 else None, kind == "SYNC")
    registers = [r.source(o) for o in numbers]
    return GeneralBarrierOp(pc, registers[0], registers[1] if len(registers) > 1 else None, kind == "SYNC")


def _b2r(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``B2R.RESULT``: what the last BAR.RED found, as a number and as a predicate."""
    if "RESULT" not in i.modifiers:
        raise Unsupported("")
    sources, targets = [], []
    for operand in i.operands:
        if isinstance(operand, Predicate) and operand.index is not None:
            sources.append(r.named("%bar.pred", "pred"))
            targets.append(r.predicate(operand))
        elif isinstance(operand, Register) and operand.index is not None:
            sources.append(r.named("%bar.popc"))
            targets.append(r.register(operand))
    pairs = tuple(enumerate(targets))
    return AluOp(pc, lambda *a: a, tuple(sources), (), pairs, ())


def _cluster_barrier(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return ClusterWaitOp(pc) if "WAIT" in i.opcode else ClusterArriveOp(pc)


# -- special registers -----------------------------------------------------------------------------------

_SPECIAL = {
    "TID.X": "%tid.x", "TID.Y": "%tid.y", "TID.Z": "%tid.z", "CTAID.X": "%ctaid.x", "CTAID.Y": "%ctaid.y",
    "CTAID.Z": "%ctaid.z", "NTID.X": "%ntid.x", "NTID.Y": "%ntid.y", "NTID.Z": "%ntid.z",
    "NCTAID.X": "%nctaid.x", "NCTAID.Y": "%nctaid.y", "NCTAID.Z": "%nctaid.z", "LANEID": "%laneid",
    "VIRTUALSMID": "%smid", "SMID": "%smid", "NSMID": "%nsmid", "VIRTID": "%warpid", "EQMASK": "%lanemask_eq",
    "LTMASK": "%lanemask_lt", "LEMASK": "%lanemask_le", "GTMASK": "%lanemask_gt", "GEMASK": "%lanemask_ge",
    "CLOCKLO": "%clock", "CLOCKHI": "%clock_hi", "GLOBALTIMERLO": "%globaltimer_lo",
    "GLOBALTIMERHI": "%globaltimer_hi",
    "CLUSTERID.X": "%clusterid.x", "CLUSTERID.Y": "%clusterid.y", "CLUSTERID.Z": "%clusterid.z",
    "NCLUSTERID.X": "%nclusterid.x", "NCLUSTERID.Y": "%nclusterid.y", "NCLUSTERID.Z": "%nclusterid.z",
    "CLUSTER_CTAID.X": "%cluster_ctaid.x", "CLUSTER_CTAID.Y": "%cluster_ctaid.y",
    "CLUSTER_CTAID.Z": "%cluster_ctaid.z", "CLUSTER_NCTAID.X": "%cluster_nctaid.x",
    "CLUSTER_NCTAID.Y": "%cluster_nctaid.y", "CLUSTER_NCTAID.Z": "%cluster_nctaid.z",
    "CgaCtaId": "%cluster_ctarank", "SMEMSZ": "%total_smem_size",
}  # fmt: skip
#: A 64-bit CS2R reads the upper half from here.
_UPPER = {"CLOCKLO": "CLOCKHI", "GLOBALTIMERLO": "GLOBALTIMERHI"}


def _special_source(r: SassRegisters, name: str) -> tuple[int, str | None]:
    """Register of a special value, and its PTX name where it changes from read to read."""
    layout = r.banks.arena.layout
    fixed = {
        "Z": 0, "SWINHI": layout.shared_window >> 32, "SWINLO": layout.shared_window & 0xFFFFFFFF,
        "LWINHI": layout.local_window >> 32, "LWINLO": layout.local_window & 0xFFFFFFFF,
        # CgaSize only chooses among copies of the cluster's constants, which lie at its value 0 here.
        "SRZ": 0, "TMCNT": 0, "NWARPID": 64, "CgaSize": 0, "VIRTCFG": 64 << 8,
    }.get(name)  # fmt: skip
    if fixed is not None:
        return r.constant(fixed), None
    ptx = _SPECIAL.get(name)
    if ptx is None:
        raise Unsupported(f"SR_{name}")
    return r.file.special(ptx), ptx if ptx in DYNAMIC else None


def _as_is(*values: Any) -> tuple[Any, ...]:
    return values


def _warp_number(warp: Any) -> tuple[Any, ...]:
    """SR_VIRTID holds the warp's number in bits 14:8."""
    return (warp << np.uint32(8),)


def _s2r(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    target, source = i.operands[0], i.operands[1]
    if not isinstance(source, SpecialRegister):
        raise Unsupported("a special register is expected")
    wide = i.base == "CS2R" and "32" not in i.modifiers
    names = [source.name, _UPPER.get(source.name, "Z")] if wide else [source.name]
    sources, clocks, targets = [], [], []
    for position, (name, register) in enumerate(zip(names, r.targets(target, len(names)), strict=True)):
        index, clock = _special_source(r, name)
        sources.append(index)
        if clock is not None:
            clocks.append((index, clock))
        if register is not None:
            targets.append((position, register))
    fn: Callable[..., Any] = _warp_number if source.name == "VIRTID" else _as_is
    if isinstance(target, UniformRegister):
        registers = tuple(register for _, register in targets)
        return UniformOp(pc, fn, tuple(sources), registers, False)
    return AluOp(pc, fn, tuple(sources), (), tuple(targets), (), tuple(clocks))


# -- the rest --------------------------------------------------------------------------------------------


def _lepc(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``LEPC R20, `(label)``: the address of a label, or its own."""
    label = _label(i)
    # Without a label it is the place of LEPC itself: compiled code adds the distance from there.
    address = code.base + i.offset if label is None else code.label(label)
    low, high = r.targets(i.operands[0], 2)
    sources = (r.constant(address & 0xFFFFFFFF), r.constant(address >> 32))
    targets = tuple((n, t) for n, t in enumerate((low, high)) if t is not None)
    return AluOp(pc, lambda a, b: (a, b), sources, (), targets, ())


def _rpcmov(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``RPCMOV.32 Rpc.LO, R5`` and back: the compiler parks a register in the return address's."""
    target, source = (r.named(o.text) if isinstance(o, Word) else r.register(o) for o in i.operands[:2])
    return AluOp(pc, _as_is, (source,), (), ((0, target),), ())


def _nop(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return NopOp(pc)


def _fence(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return FenceOp(pc)


def _bpt(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return TrapOp(pc) if "TRAP" in i.modifiers else NopOp(pc)


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    **dict.fromkeys(("BRA", "JMP"), _bra), "CALL": _call,
    **dict.fromkeys(("BRX", "BRXU", "JMX", "JMXU", "RET"), _jump),
    "LEPC": _lepc, "RPCMOV": _rpcmov, "EXIT": _exit,
    "BSSY": _bssy, "BSYNC": _bsync, "BREAK": _break, "BMOV": _bmov, "WARPSYNC": _warpsync,
    "BAR": _bar, "B2R": _b2r, **dict.fromkeys(("UCGABAR_ARV", "UCGABAR_WAIT"), _cluster_barrier),
    **dict.fromkeys(("S2R", "S2UR", "CS2R", "CS2UR"), _s2r),
    **dict.fromkeys(("MEMBAR", "FENCE"), _fence), "BPT": _bpt,
    **dict.fromkeys(
        ("NOP", "YIELD", "NANOSLEEP", "ERRBAR", "CCTL", "CCTLL", "CCTLT", "CGAERRBAR", "PREEXIT", "PMTRIG",
         "WARPGROUP", "USETMAXREG", "ACQBULK", "ENDCOLLECTIVE", "DEPBAR", "UTMACCTL", "UTMACMDFLUSH"),
        _nop,
    ),
}  # fmt: skip

"""Instructions that are counted but not executed, and what makes kernels around them go on.

Warp-group products (HGMMA and its kin), copies by tensor maps (UTMALDG …), and the tensor memory of sm_100:
each execution counts, its result is unknown (:mod:`warpglass.machine.unknown`). What other warps wait for
does happen: a tensor copy brings the bytes its barrier expects, UTCBAR arrives. The size of a tensor copy
lies in the tensor map, whose format is not public; the bytes its barrier expects bound it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.program import Op
from warpglass.machine.ptx_control import NopOp
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.sass_control import CodeMap
from warpglass.machine.sass_ops import knows
from warpglass.machine.sass_registers import SassRegisters
from warpglass.machine.sass_sync import HardwareMbarriers
from warpglass.machine.selection import Selection
from warpglass.machine.unknown import CARRIES, MAKES, NEEDS, Use
from warpglass.sass.defuse import PREDICATE, UNIFORM, UNIFORM_PREDICATE, defuse
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Address, UniformPredicate, UniformRegister

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine

__all__ = ["COUNTED", "TABLE", "use_of"]

Builder = Callable[[SassRegisters, CodeMap, Instruction, int], Op]

#: Opcodes whose results are unknown.
COUNTED = frozenset((
    "HGMMA", "IGMMA", "QGMMA", "BGMMA", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF",
    "UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA", "UTCCP", "UTCSHIFT", "LDTM", "STTM",
))  # fmt: skip
#: Memory instructions whose data may be unknown: the memory becomes so.
_DATA = frozenset((
    "LDG", "LD", "LDL", "LDS", "LDC", "STG", "ST", "STL", "STS", "ATOM", "ATOMG", "ATOMS", "RED", "REDG",
    "LDSM", "STSM", "LDGSTS",
))  # fmt: skip
#: Computations that take values from other lanes; uniform registers do too.
_ACROSS = frozenset((
    "SHFL", "VOTE", "MATCH", "REDUX", "CREDUX", "R2UR", "MOVM", "LDSM", "STSM", "HMMA", "IMMA", "BMMA",
    "DMMA", "QMMA", "OMMA",
))  # fmt: skip
_ATOMIC = frozenset(("ATOM", "ATOMG", "ATOMS", "RED", "REDG"))
#: 32-column pieces of a block's tensor memory.
_PIECES = 16


def use_of(i: Instruction, sm: int) -> Use:
    """The registers of an instruction, and what it does with unknown ones."""
    whole = defuse(i, sm)
    bare = replace(i, guard=None)
    guard = defuse(replace(i, operands=()), sm).reads if i.guard is not None else ()
    places = replace(bare, operands=tuple(o for o in i.operands if isinstance(o, Address)))
    kind = MAKES if i.base in COUNTED else CARRIES if i.base in _DATA or knows(i.base) else NEEDS
    if kind == MAKES and i.base[:2] in ("UT", "LD", "ST"):
        # Their uniform operands say where: addresses, coordinates, descriptors, masks.
        where = tuple(code for code in defuse(bare, sm).reads if _uniform(code))
        return Use((), guard, where, whole.writes, kind)
    return Use(
        whole.reads, guard, defuse(places, sm).reads if places.operands else (), whole.writes, kind,
        i.base in _ATOMIC, i.base in _ACROSS or any(_uniform(code) for code in whole.writes),
    )  # fmt: skip


def _uniform(code: int) -> bool:
    return UNIFORM <= code < PREDICATE or code >= UNIFORM_PREDICATE


class CountedOp(Op):
    """Counted when it issues; nothing else is known of it."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Say once what the counts of this run do not stand for."""
        program = m.program
        m.run_state.assume(
            f"{program.opcodes[self.pc].split('.')[0]} is counted, not executed: what it makes is unknown, "
            "and so is all that is computed from it"
        )
        return False


class TensorLoadOp(CountedOp):
    """``UTMALDG [UR8], [UR16]``: UR8 holds the shared address, UR9 its barrier, then come coordinates."""

    __slots__ = ("barrier", "dest", "mask")

    placed: ClassVar[tuple[str, ...]] = ("dest", "barrier", "mask")

    def __init__(self, pc: int, dest: int, barrier: int, mask: int | None) -> None:
        super().__init__(pc)
        self.dest = dest
        self.barrier = barrier
        self.mask = mask

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Once a warp: the expected bytes arrive, their content is unknown."""
        super().run(m, g, on)
        unit = hardware_barriers(m)
        for one in _first_lanes(on):
            to = lsu.resolve(m, self.dest, one, lsu.SHARED)
            bar = lsu.resolve(m, self.barrier, one, lsu.SHARED)
            for start, at in _peers(m, one, (to, bar), self.mask):
                if not _inside(m, start) or not _inside(m, at) or at % 8:
                    m.findings.lanes(
                        m, "tensor-copy", one.flat, None, self.pc, kind="memcheck", severity="critical",
                        category="memory", message="a tensor copy to a place outside of shared memory",
                    )  # fmt: skip
                    continue
                size = unit.land(m, at)
                block = (start - m.shared_at) // m.shared_stride
                end = m.shared_at + block * m.shared_stride + m.shared_bytes
                last = min(start + size, end) if size else end
                if m.unknown is not None:
                    m.unknown.landed(start, last, self.pc)
                m.races.fill(m, start, last - start)
        m.run_state.mutations += 1
        unit.wake(m)
        return False


class CommitArriveOp(Op):
    """``UTCBAR [UR8], URZ``: the products before it are done, which arrives once at the barrier."""

    __slots__ = ("barrier", "mask", "offset")

    placed: ClassVar[tuple[str, ...]] = ("barrier", "mask")

    def __init__(self, pc: int, barrier: int, offset: int, mask: int | None) -> None:
        super().__init__(pc)
        self.barrier = barrier
        self.offset = offset
        self.mask = mask

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Arrive once a warp."""
        unit = hardware_barriers(m)
        for one in _first_lanes(on):
            bar = lsu.resolve(m, self.barrier, one, lsu.SHARED)
            for (at,) in _peers(m, one, (bar,), self.mask):
                place = at + self.offset
                if not _inside(m, place) or place % 8 or unit.update(m, place, arrive=1) is None:
                    m.findings.lanes(
                        m, "mbarrier", one.flat, None, self.pc, kind="synccheck", severity="critical",
                        category="synchronisation", message="UTCBAR on a barrier that is not initialised",
                    )  # fmt: skip
        m.run_state.mutations += 1
        unit.wake(m)
        return False


class ColumnsOp(Op):
    """``UTCATOMSWS``: which 32-column pieces of the block's tensor memory are taken.

    ``FIND_AND_SET.ALIGN UP0, UR4, UR4`` takes UR4 pieces and gives the number of the first, ``AND URZ, UR4``
    keeps those of the mask. The block counts as alone on its multiprocessor.
    """

    __slots__ = ("flag", "result", "source", "take")

    placed: ClassVar[tuple[str, ...]] = ("source",)

    def __init__(self, pc: int, source: int, result: int | None, flag: int | None, take: bool) -> None:
        super().__init__(pc)
        self.source = source
        self.result = result
        self.flag = flag
        self.take = take
        self.dests = tuple(r for r in (flag, result) if r is not None)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Once a warp."""
        taken: npt.NDArray[Any] = m.local.setdefault("tensor columns", np.zeros(m.B, dtype=np.int64))
        live = on.live_rows()
        for one in _first_lanes(on):
            row = int(one.rows[0])
            block = int(m.block_of[row])
            value = int(m.get(self.source, one)[0])
            mine = Selection(one.rows, live.bits[np.searchsorted(live.rows, one.rows)])
            if not self.take:
                taken[block] &= value
                continue
            run = (1 << value) - 1
            step = max(1 << max(value - 1, 0).bit_length(), 1)
            free = (n for n in range(0, _PIECES - value + 1, step) if not taken[block] & run << n)
            first = next(free, None) if 0 < value <= _PIECES else None
            if first is not None:
                taken[block] |= run << first
            if self.flag is not None:
                m.put_rows(self.flag, np.full((1, 32), first is not None), mine)
            if self.result is not None and first is not None:
                m.put_rows(self.result, np.full((1, 32), first, dtype=np.uint32), mine)
        m.run_state.mutations += 1
        return False


def hardware_barriers(m: Machine) -> HardwareMbarriers:
    """The batch's memory barriers, in the layout of sm_90 on."""
    if not isinstance(m.mbarriers, HardwareMbarriers):
        m.mbarriers = HardwareMbarriers(True)
    return m.mbarriers


def _first_lanes(on: Selection) -> list[Selection]:
    """The lowest lane on of each warp."""
    live = on.live_rows()
    lowest = live.bits & (~live.bits + np.uint32(1))
    return [Selection(live.rows[n : n + 1], lowest[n : n + 1]) for n in range(live.nrows)]


def _inside(m: Machine, place: int) -> bool:
    own = place - m.shared_at
    return 0 <= own < m.B * m.shared_stride and own % m.shared_stride < m.shared_bytes


def _peers(m: Machine, one: Selection, places: tuple[lsu.Access, ...], mask: int | None) -> list[list[int]]:
    """Arena bytes of ``places`` in each block that the mask names, or in the one they lie in."""
    if mask is None:
        return [[int(p.index.reshape(-1)[0]) for p in places]]
    chosen = int(m.get(mask, one)[0])
    peers = m.cluster_peers()[int(m.block_of[int(one.rows[0])])]
    own = [int(p.own.reshape(-1)[0]) & 0xFFFFFF for p in places]
    return [
        [m.shared_at + int(peer) * m.shared_stride + o for o in own]
        for rank, peer in enumerate(peers.tolist())
        if chosen >> rank & 1
    ]


def _counted(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return CountedOp(pc)


def _mask(r: SassRegisters, i: Instruction) -> int | None:
    """The register with the blocks of a multicast."""
    if "MULTICAST" not in i.modifiers:
        return None
    found = [o for o in i.operands if isinstance(o, UniformRegister)]
    if not found:
        raise Unsupported("a multicast without its mask")
    return r.register(found[-1])


def _tensor_load(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    to = next(o for o in i.operands if isinstance(o, Address))
    if to.uniform is None or to.offset:
        raise Unsupported("")
    return TensorLoadOp(pc, r.register(to.uniform), r.register(to.uniform, 1), _mask(r, i))


def _commit_arrive(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    at = next(o for o in i.operands if isinstance(o, Address))
    if at.uniform is None:
        raise Unsupported("")
    return CommitArriveOp(pc, r.register(at.uniform), at.offset, _mask(r, i))


def _columns(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    take = "FIND_AND_SET" in i.modifiers
    if not take and "AND" not in i.modifiers:
        raise Unsupported("")
    registers = [o for o in i.operands if isinstance(o, UniformRegister)]
    flag = next((o for o in i.operands if isinstance(o, UniformPredicate) and o.index is not None), None)
    result = r.targets(registers[0], 1)[0] if len(registers) > 1 else None
    return ColumnsOp(pc, r.register(registers[-1]), result, None if flag is None else r.predicate(flag), take)


def _nothing(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    return NopOp(pc)


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    **dict.fromkeys(COUNTED, _counted), "UTMALDG": _tensor_load, "UTCBAR": _commit_arrive,
    "UTCATOMSWS": _columns, **dict.fromkeys(("UVIRTCOUNT", "UBLKPF"), _nothing),
}  # fmt: skip

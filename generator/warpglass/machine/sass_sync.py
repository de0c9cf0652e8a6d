"""Memory barriers and bulk copies in SASS: SYNCS, ATOMS.ARRIVE, ARRIVES and UBLKCP.

The barrier's 64-bit word has the hardware's own layout here, because compiled code writes it with plain
stores. Read from what ptxas emits for ``mbarrier.init``:

- sm_80 to sm_89: bit 63 the phase, bits 62:32 and 29:0 minus the expected and the pending arrivals.
- sm_90 on: bit 63 the phase, bits 62:43 minus the pending arrivals, bits 42:21 the transaction bytes,
  bits 20:1 minus the expected arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.mbarrier import Mbarriers
from warpglass.machine.program import Op
from warpglass.machine.ptx_mbarrier import BulkCopyOp, MbarrierOp, MbarrierWaitOp
from warpglass.machine.ptx_memory import StoreOp
from warpglass.machine.ptx_operands import Unsupported
from warpglass.machine.sass_control import CodeMap
from warpglass.machine.sass_memory import AroundOp
from warpglass.machine.sass_registers import Derived, SassRegisters
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Address, Predicate, Register, UniformPredicate, UniformRegister

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["TABLE", "HardwareMbarriers"]

Builder = Callable[[SassRegisters, CodeMap, Instruction, int], Op]
Fields = tuple[int, int, int, int]

_20 = (1 << 20) - 1
_22 = (1 << 22) - 1
_30 = (1 << 30) - 1
_31 = (1 << 31) - 1
#: A bulk copy counts its size in these units.
_BULK_UNIT = 16


def _split_ampere(word: int) -> Fields:
    return -(word | ~_30) & _30, -(word >> 32 | ~_31) & _31, 0, word >> 63


def _make_ampere(pending: int, expected: int, tx: int, parity: int) -> int:
    return (-pending & _30) | (-expected & _31) << 32 | parity << 63


def _split_hopper(word: int) -> Fields:
    tx = word >> 21 & _22
    return -(word >> 43) & _20, -(word >> 1) & _20, tx - (1 << 22) if tx >> 21 else tx, word >> 63


def _make_hopper(pending: int, expected: int, tx: int, parity: int) -> int:
    return (-expected & _20) << 1 | (tx & _22) << 21 | (-pending & _20) << 43 | parity << 63


class HardwareMbarriers(Mbarriers):
    """Barriers whose words are the hardware's."""

    def __init__(self, hopper: bool) -> None:
        super().__init__()
        #: Barriers at which bytes of unknown number came before they were expected, and the most expected.
        self.early: set[int] = set()
        self.most: dict[int, int] = {}
        self.split = _split_hopper if hopper else _split_ampere
        self.make = _make_hopper if hopper else _make_ampere

    def update(
        self, m: Machine, place: int, *, arrive: int = 0, tx: int = 0, drop: int = 0, more: int = 0
    ) -> int | None:
        """As :meth:`Mbarriers.update`; a word of zeros is no barrier."""
        view = m.arena.views[8]
        word = int(view[place >> 3])
        if word & ((1 << 63) - 1) == 0:
            return None
        pending, expected, bytes_left, parity = self.split(word)
        if tx > 0 and place in self.early:
            self.early.discard(place)
            self.most[place] = max(tx, self.most.get(place, 0))
            tx = 0
        expected -= drop
        pending += more - arrive
        bytes_left += tx
        if pending <= 0 and bytes_left == 0:
            pending, parity = expected, parity ^ 1
            self.changed = True
            self.timeouts = 0
        view[place >> 3] = self.make(max(pending, 0), max(expected, 0), bytes_left, parity)
        return word

    def land(self, m: Machine, place: int) -> int:
        """A copy of unknown size ends at the barrier: all it still expects has come.

        Gives the most bytes that one phase of it expected, 0 where that is not known yet. Of several copies
        in a phase the first one brings all; what comes too early counts for what is expected next.
        """
        _, _, bytes_left, _ = self.split(int(m.arena.views[8][place >> 3]))
        if bytes_left > 0:
            self.most[place] = max(bytes_left, self.most.get(place, 0))
            self.update(m, place, tx=-bytes_left)
        else:
            self.early.add(place)
        return self.most.get(place, 0)


class SyncOp(Op):
    """An operation on barriers: the batch keeps them in the hardware's layout from here on."""

    __slots__ = ("hopper", "inner", "once")

    def __init__(self, inner: Op, hopper: bool, once: bool) -> None:
        super().__init__(inner.pc)
        self.inner = inner
        self.hopper = hopper
        #: Whether it is done once a warp, by its lowest lane on.
        self.once = once
        self.dests = inner.dests

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Do it."""
        if not isinstance(m.mbarriers, HardwareMbarriers):
            m.mbarriers = HardwareMbarriers(self.hopper)
        if self.once:
            live = on.live_rows()
            on = type(on)(live.rows, live.bits & (~live.bits + np.uint32(1)))
        return self.inner.run(m, g, on)


def _shared(r: SassRegisters, address: Address) -> tuple[int, int, tuple[Derived, ...]]:
    base, made, offset = r.narrow_address(address)
    return base, offset, () if made is None else (made,)


def _addresses(i: Instruction) -> list[Address]:
    return [o for o in i.operands if isinstance(o, Address)]


def _parity(word: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return word >> np.uint32(31)


def _syncs(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    base, offset, before = _shared(r, _addresses(i)[0])
    data = i.operands[-1]
    if "EXCH" in i.modifiers:
        if not isinstance(data, Register | UniformRegister):
            raise Unsupported("")
        sources = (r.register(data), r.register(data, 1))
        store = StoreOp(pc, lsu.SHARED, base, offset, 4, sources, (None, None))
        store.counted = False
        return SyncOp(AroundOp(store, before), True, True)
    if "PHASECHK" in i.modifiers:
        target = i.operands[0]
        if not isinstance(target, Predicate | UniformPredicate):
            raise Unsupported("")
        made = r.derived("b32", (r.source(data),), _parity)
        wait = MbarrierWaitOp(
            pc, lsu.SHARED, base, offset, made.target, True, "TRYWAIT" in i.modifiers, r.predicate(target)
        )
        return SyncOp(AroundOp(wait, (*before, made)), True, False)
    if "ARRIVE" in i.modifiers:
        return SyncOp(AroundOp(_arrival(r, i, pc, base, offset, data), before), True, False)
    raise Unsupported("")


def _arrival(r: SassRegisters, i: Instruction, pc: int, base: int, offset: int, data: Any) -> Op:
    """``A1T0`` arrives once and expects nothing; ``A0T…`` and a register say how many bytes to expect."""
    arrives = not any(p.startswith("A0") for p in i.modifiers)
    if any(p.endswith("T0") for p in i.modifiers):
        return MbarrierOp(pc, "arrive", lsu.SHARED, base, offset, None, False, None)
    count = r.source(data)
    if arrives:
        return MbarrierOp(pc, "arrive", lsu.SHARED, base, offset, count, True, None)
    return MbarrierOp(pc, "expect_tx", lsu.SHARED, base, offset, count, False, None)


def _arrive_ampere(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``ATOMS.ARRIVE.64``, and ``ARRIVES.LDGSTSBAR`` once the lane's copies have landed."""
    base, offset, before = _shared(r, _addresses(i)[0])
    action = "arrive"
    if i.base == "ARRIVES":
        action = "copies" if "TRANSCNT" in i.opcode else "copies_noinc"
    inner = MbarrierOp(pc, action, lsu.SHARED, base, offset, None, False, None)
    return SyncOp(AroundOp(inner, before), False, False)


def _scaled(size: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return size * np.uint32(_BULK_UNIT)


def _bulk(r: SassRegisters, code: CodeMap, i: Instruction, pc: int) -> Op:
    """``UBLKCP.S.G [dest, barrier], [source], size`` and ``UBLKCP.G.S [dest], [source], size``."""
    to, origin = _addresses(i)[:2]
    size = i.operands[2]
    if not isinstance(size, UniformRegister) or to.uniform is None or origin.uniform is None:
        raise Unsupported("")
    count = r.derived("b32", (r.register(size),), _scaled)
    before = [count]

    def wide(register: UniformRegister, step: int = 0) -> int:
        from_pair = r.derived("b64", (r.register(register, step), r.register(register, step + 1)), _joined)
        before.append(from_pair)
        return from_pair.target

    if i.modifiers[:2] == ("S", "G"):
        dest = (lsu.SHARED, r.register(to.uniform), to.offset)
        source = (lsu.GLOBAL, wide(origin.uniform), origin.offset)
        barrier = (lsu.SHARED, r.register(to.uniform, 1), 0)
    elif i.modifiers[:2] == ("G", "S"):
        dest = (lsu.GLOBAL, wide(to.uniform), to.offset)
        source = (lsu.SHARED, r.register(origin.uniform), origin.offset)
        barrier = None
    else:
        raise Unsupported("")
    if "MULTICAST" in i.modifiers or "RED" in i.opcode:
        raise Unsupported("")
    return SyncOp(
        AroundOp(BulkCopyOp(pc, dest, source, count.target, barrier, None), tuple(before)), True, True
    )


def _joined(low: npt.NDArray[Any], high: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


#: Builders by the base of the opcode, or by its first two parts.
TABLE: Mapping[str, Builder] = {
    "SYNCS": _syncs, "UBLKCP": _bulk, "ARRIVES": _arrive_ampere, "ATOMS.ARRIVE": _arrive_ampere,
}  # fmt: skip

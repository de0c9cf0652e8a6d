"""Executable forms of lane operations and of operations across the lanes of a warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import FULL, Bits, Ints
from warpglass.machine.program import Op
from warpglass.machine.ptx_operands import Fix
from warpglass.machine.ptx_ops.model import LaneFunction, WarpFunction
from warpglass.machine.selection import Selection

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.warp_sync import SyncOp

__all__ = ["AluOp", "CrossOp", "DivideOp", "refresh"]


#: Cycles (and nanoseconds) that clocks show for a round, so that loops that wait for a time end.
CYCLES = 16


def refresh(m: Machine, index: int, name: str) -> None:
    """Read a clock: it counts the scheduler's rounds, which are all the time there is here."""
    now = m.run_state.rounds * CYCLES
    if name.startswith("%globaltimer"):
        now = 1_700_000_000_000_000_000 + now
    if name.endswith("_hi"):
        now >>= 32
    held = m.R[index]
    m.R[index] = np.full(m.shape, now & ((1 << held.dtype.itemsize * 8) - 1), dtype=held.dtype)


class AluOp(Op):
    """A lane operation: ``fn`` over whole arrays, a slice, or single lanes, whichever is cheapest."""

    __slots__ = ("clocks", "dest_fixes", "fn", "source_fixes", "sources", "targets")

    placed: ClassVar[tuple[str, ...]] = ("sources",)

    def __init__(
        self,
        pc: int,
        fn: LaneFunction,
        sources: tuple[int, ...],
        source_fixes: tuple[tuple[int, Fix], ...],
        targets: tuple[tuple[int, int], ...],
        dest_fixes: tuple[tuple[int, Fix], ...],
        clocks: tuple[tuple[int, str], ...] = (),
    ) -> None:
        super().__init__(pc)
        self.fn = fn
        self.sources = sources
        self.source_fixes = source_fixes
        #: (position in the results, register)
        self.targets = targets
        self.dest_fixes = dest_fixes
        self.clocks = clocks
        self.dests = tuple(register for _, register in targets)

    def _results(self, args: list[Any]) -> Any:
        for position, fix in self.source_fixes:
            args[position] = fix(args[position])
        out: Any = self.fn(*args)
        if self.dest_fixes:
            out = list(out)
            for position, fix in self.dest_fixes:
                out[position] = fix(out[position])
        return out

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Compute and write back."""
        for index, name in self.clocks:
            refresh(m, index, name)
        R = m.R
        if on.count == m.live:
            out = self._results([R[i] for i in self.sources])
            for position, register in self.targets:
                m.put_whole(register, out[position])
        elif on.dense:
            lanes, span = m.is_lane, on.slice
            out = self._results([R[i][span] if lanes[i] else R[i] for i in self.sources])
            for position, register in self.targets:
                m.put_slice(register, out[position], on)
        else:
            flat = on.flat
            lanes = m.is_lane
            out = self._results([R[i].reshape(-1)[flat] if lanes[i] else R[i] for i in self.sources])
            for position, register in self.targets:
                m.put_flat(register, out[position], on)
        return False


class DivideOp(AluOp):
    """An integer division or remainder: a divisor of zero is a finding."""

    __slots__ = ()

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Look at the divisors of the lanes on, then divide."""
        divisor = self.sources[1]
        if not m.R[divisor].all():
            zero = np.broadcast_to(m.get(divisor, on), (on.count,)) == 0
            if zero.any():
                m.findings.lanes(
                    m, "division", on.flat[zero], None, self.pc, kind="division-by-zero", severity="warning",
                    category="arithmetic", message="integer division by zero; its result is not defined",
                )  # fmt: skip
        return AluOp.run(self, m, g, on)


class CrossOp(Op):
    """An operation across the lanes of each warp; a ``.sync`` form waits for the lanes it names."""

    __slots__ = ("dest_fixes", "fn", "key", "member", "source_fixes", "sources", "targets")

    placed: ClassVar[tuple[str, ...]] = ("sources",)

    def __init__(
        self,
        pc: int,
        key: str,
        fn: WarpFunction,
        sources: tuple[int, ...],
        source_fixes: tuple[tuple[int, Fix], ...],
        targets: tuple[tuple[int, int], ...],
        dest_fixes: tuple[tuple[int, Fix], ...],
        member: int | None,
    ) -> None:
        super().__init__(pc)
        self.key = key
        self.fn = fn
        self.sources = sources
        self.source_fixes = source_fixes
        self.targets = targets
        self.dest_fixes = dest_fixes
        self.member = member
        self.dests = tuple(register for _, register in targets)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Act, or wait for the rest of the named lanes."""
        if self.member is not None and not (on.full and on.nrows == on.high - on.low):
            need = named_lanes(m, self.sources[self.member], on)
            if ((need & ~on.bits) != 0).any():
                return m.warp_sync.wait(m, self, g, on, need)
        self.apply(m, on)
        return False

    def _args(self, m: Machine, on: Selection) -> list[npt.NDArray[Any]]:
        args = [m.rows(i, on) if m.is_lane[i] else m.R[i] for i in self.sources]
        for position, fix in self.source_fixes:
            args[position] = fix(args[position])
        return args

    def apply(self, m: Machine, on: Selection) -> None:
        """Act for the lanes ``on``."""
        self._act(m, on, self._args(m, on))

    def _act(self, m: Machine, on: Selection, args: list[npt.NDArray[Any]]) -> None:
        mask = on.mask if on.nrows == on.high - on.low else on.mask[on.rows - on.low]
        out = list(self.fn(mask, *args))
        for position, fix in self.dest_fixes:
            out[position] = fix(out[position])
        for position, register in self.targets:
            m.put_rows(register, np.broadcast_to(out[position], mask.shape), on)

    def apply_parts(self, m: Machine, parts: list[tuple[SyncOp, Selection]]) -> None:
        """Act for lanes of one warp that stand at several places with this same instruction."""
        bits = np.uint32(0)
        args: list[npt.NDArray[Any]] = []
        for op, sel in parts:
            assert isinstance(op, CrossOp)
            mine = [np.array(np.broadcast_to(a, (1, 32))) for a in op._args(m, sel)]
            if not args:
                args = mine
            else:
                mask = sel.mask
                args = [np.where(mask, new, old) for new, old in zip(mine, args, strict=True)]
            bits |= sel.bits[0]
        union = Selection(parts[0][1].rows, np.array([bits], dtype=np.uint32))
        out = list(self.fn(union.mask, *args))
        for op, sel in parts:
            assert isinstance(op, CrossOp)
            results = list(out)
            for position, fix in op.dest_fixes:
                results[position] = fix(results[position])
            for position, register in op.targets:
                m.put_rows(register, np.broadcast_to(results[position], (1, 32)), sel)


def named_lanes(m: Machine, register: int, on: Selection) -> Bits:
    """Live lanes that the mask in ``register`` names, for each row of ``on`` (its first lane on decides)."""
    alive = m.exists[on.rows] & ~m.dead[on.rows]
    values = m.R[register]
    if not m.is_lane[register]:
        return np.asarray(np.uint32(values[0]) & alive, dtype=np.uint32)
    first = _first_lane(on.bits)
    out: Bits = (values[on.rows, first].astype(np.uint32) & alive) & FULL
    return out


def _first_lane(bits: Bits) -> Ints:
    low = bits & (~bits + np.uint32(1))
    lane: Ints = np.log2(np.maximum(low, 1).astype(np.float64)).astype(np.int64)
    return lane

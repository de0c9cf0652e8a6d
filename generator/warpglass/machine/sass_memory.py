"""Loads, stores, atomics and copies of SASS, built on the machine's load/store operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from warpglass.machine import lsu
from warpglass.machine.async_copy import CommitOp, CopyOp, WaitGroupOp
from warpglass.machine.matrix import MatrixOp
from warpglass.machine.program import Op
from warpglass.machine.ptx_atomic import AtomicOp
from warpglass.machine.ptx_cluster import SpaceQueryOp
from warpglass.machine.ptx_control import NopOp
from warpglass.machine.ptx_memory import LoadOp, StoreOp
from warpglass.machine.ptx_operands import Fix, Unsupported
from warpglass.machine.sass_registers import Derived, SassRegisters
from warpglass.sass.model import Instruction
from warpglass.sass.operands import Address, Constant, Operand, Predicate, Register, UniformRegister

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = ["TABLE", "AroundOp", "CastOp"]

Builder = Callable[[SassRegisters, Instruction, int], Op]

#: Bytes a lane by width modifier; the default is 4.
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_SPACES = {
    "LDG": lsu.GLOBAL, "STG": lsu.GLOBAL, "LD": lsu.GENERIC, "ST": lsu.GENERIC, "LDL": lsu.LOCAL,
    "STL": lsu.LOCAL, "LDS": lsu.SHARED, "STS": lsu.SHARED, "ATOM": lsu.GENERIC, "ATOMG": lsu.GLOBAL,
    "ATOMS": lsu.SHARED, "RED": lsu.GLOBAL, "REDG": lsu.GLOBAL,
}  # fmt: skip
_NARROW = frozenset({"LDL", "STL", "LDS", "STS", "ATOMS", "LDSM", "STSM"})


class AroundOp(Op):
    """An operation with hidden 64-bit registers made before it and split after it."""

    __slots__ = ("after", "before", "inner")

    def __init__(
        self,
        inner: Op,
        before: tuple[Derived, ...],
        after: tuple[tuple[int, int | None, int | None], ...] = (),
    ) -> None:
        super().__init__(inner.pc)
        self.inner = inner
        self.before = before
        #: (hidden register, low half's target, high half's target)
        self.after = after
        self.dests = (
            tuple(t for _, low, high in after for t in (low, high) if t is not None) if after else inner.dests
        )

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Make, do, split."""
        for made in self.before:
            made.prepare(m, on)
        moved = self.inner.run(m, g, on)
        for hidden, low, high in self.after:
            value = m.get(hidden, on)
            if low is not None:
                m.put_flat(low, (value & np.uint64(0xFFFFFFFF)).astype(np.uint32), on)
            if high is not None:
                m.put_flat(high, (value >> np.uint64(32)).astype(np.uint32), on)
        return moved


class CastOp(Op):
    """A compare-and-swap whose result is whether it swapped."""

    __slots__ = ("comparand", "flag", "inner", "old", "targets")

    placed: ClassVar[tuple[str, ...]] = ("comparand",)

    def __init__(
        self, inner: Op, old: int, comparand: int, targets: tuple[int | None, ...], flag: bool
    ) -> None:
        super().__init__(inner.pc)
        self.inner = inner
        self.old = old
        self.comparand = comparand
        self.targets = targets
        self.flag = flag
        self.dests = tuple(t for t in targets if t is not None)

    def run(self, m: Machine, g: Group, on: Selection) -> bool:
        """Swap, then compare what was there."""
        moved = self.inner.run(m, g, on)
        swapped = np.broadcast_to(m.get(self.old, on) == m.get(self.comparand, on), (on.count,))
        values = [swapped] if self.flag else [swapped.astype(np.uint32), np.zeros(1, dtype=np.uint32)]
        for target, value in zip(self.targets, values, strict=False):
            if target is not None:
                m.put_flat(target, value, on)
        return moved


def _width(i: Instruction) -> int:
    return next((_WIDTHS[p] for p in i.modifiers if p in _WIDTHS), 4)


def _extend(i: Instruction) -> Fix | None:
    """How a narrow element becomes a register."""
    if "S8" in i.modifiers:
        return lambda a: a.view(np.int8).astype(np.int32).view(np.uint32)
    if "S16" in i.modifiers:
        return lambda a: a.view(np.int16).astype(np.int32).view(np.uint32)
    return (lambda a: a.astype(np.uint32)) if _width(i) < 4 else None


def _cut(size: int) -> Fix | None:
    dtype: Any = {1: np.uint8, 2: np.uint16}.get(size)
    return None if dtype is None else (lambda a: a.astype(dtype))


def _address(i: Instruction, which: int = 0) -> Address:
    found = [o for o in i.operands if isinstance(o, Address)]
    if len(found) <= which:
        raise Unsupported("an address is expected")
    return found[which]


def _place(
    r: SassRegisters, i: Instruction, address: Address, narrow: bool
) -> tuple[int, int, tuple[Derived, ...]]:
    """Base register, byte offset, and what has to be made before."""
    if narrow:
        base, made, offset = r.narrow_address(address)
        return base, offset, () if made is None else (made,)
    # .E says that addresses have 64 bits; a register without .64 is a pair too then.
    made, offset = r.wide_address(address, "U32" not in i.modifiers)
    return made.target, offset, (made,)


def _around(inner: Op, before: tuple[Derived, ...]) -> Op:
    return AroundOp(inner, before) if before else inner


def _load(r: SassRegisters, i: Instruction, pc: int) -> Op:
    size = _width(i)
    base, offset, before = _place(r, i, _address(i), i.base in _NARROW)
    data = next(o for o in i.operands if isinstance(o, Register | UniformRegister))
    count = max(size // 4, 1)
    fix = _extend(i)
    inner = LoadOp(pc, _SPACES[i.base], base, offset, min(size, 4), r.targets(data, count), (fix,) * count)
    return _around(inner, before)


def _store(r: SassRegisters, i: Instruction, pc: int) -> Op:
    size = _width(i)
    base, offset, before = _place(r, i, _address(i), i.base in _NARROW)
    data = next(o for o in i.operands if isinstance(o, Register | UniformRegister))
    count = max(size // 4, 1)
    inner = StoreOp(
        pc, _SPACES[i.base], base, offset, min(size, 4),
        tuple(r.register(data, n) for n in range(count)), (_cut(size),) * count,
    )  # fmt: skip
    return _around(inner, before)


# -- constants -------------------------------------------------------------------------------------------


def _indexed(bank_address: int) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    start = np.uint64(bank_address)

    def place(index: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return index.astype(np.uint64) + start

    return place


def _load_constant(r: SassRegisters, i: Instruction, pc: int) -> Op:
    target, where = i.operands[0], i.operands[1]
    if not isinstance(where, Constant) or not isinstance(where.bank, int):
        raise Unsupported("a constant bank in a register")
    size = _width(i)
    count = max(size // 4, 1)
    if where.base is None or where.base.index is None:
        r.banks.check_known(where.bank, where.offset)
    address = r.banks.address(where.bank)
    before: tuple[Derived, ...] = ()
    if where.base is None or where.base.index is None:
        base = r.constant(address, "b64")
    else:
        made = r.derived("b64", (r.register(where.base),), r.once(("bank", where.bank), _indexed, address))
        base, before = made.target, (made,)
    fix = _extend(i)
    load = LoadOp(pc, lsu.CONST, base, where.offset, min(size, 4), r.targets(target, count), (fix,) * count)
    load.counted = False  # the constant cache serves it: no request reaches the load/store unit
    return _around(load, before)


# -- atomics ---------------------------------------------------------------------------------------------

_OPERATIONS = {
    "ADD": "add", "MIN": "min", "MAX": "max", "INC": "inc", "DEC": "dec", "AND": "and", "OR": "or",
    "XOR": "xor", "EXCH": "exch", "CAS": "cas", "CAST": "cas",
}  # fmt: skip
_TYPES = ("F32", "F64", "F16x2", "BF16_V2", "S32", "S64", "U64")


def _atomic_kind(i: Instruction) -> tuple[str, int]:
    """PTX type and size of an atomic."""
    parts = set(i.modifiers)
    if "F64" in parts:
        return "f64", 8
    if "F32" in parts:
        return "f32", 4
    if "F16x2" in parts:
        return "f16x2", 4
    if "BF16x2" in parts or "BF16_V2" in parts:
        return "bf16x2", 4
    if "S64" in parts:
        return "s64", 8
    if parts & {"64", "U64"}:
        return "u64", 8
    return ("s32" if "S32" in parts else "u32"), 4


def _one(r: SassRegisters) -> tuple[int, ...]:
    return (r.constant(1),)


def _atomic(r: SassRegisters, i: Instruction, pc: int) -> Op:
    name = next((_OPERATIONS[p] for p in i.modifiers if p in _OPERATIONS), None)
    if name is None or "128" in i.modifiers:
        raise Unsupported("")
    kind, size = _atomic_kind(i)
    base, offset, before = _place(r, i, _address(i), i.base in _NARROW)
    reduction = i.base in ("RED", "REDG")
    plain = [o for o in i.operands if not isinstance(o, Address | Predicate)]
    if "CAST" in i.modifiers:
        return _cast(r, i, pc)
    data = plain if reduction else plain[1:]
    if "POPC" in i.modifiers and name == "inc":
        # ATOMS.POPC.INC: the lanes on are counted and added at once, which is one more for each of them.
        name, sources = "add", _one(r)
        made: list[Derived] = []
    else:
        sources, made = _values(r, data, size, 2 if name == "cas" else 1)
    after: tuple[tuple[int, int | None, int | None], ...] = ()
    targets: tuple[int | None, ...] = ()
    if not reduction:
        if size == 8:
            low, high = r.targets(plain[0], 2)
            hidden = r.file.add(f"%old{pc}", "b64")
            targets, after = (hidden,), ((hidden, low, high),)
        else:
            targets = r.targets(plain[0], 1)
        if targets == (None,):
            targets = ()
    first, second = sources[:1], sources[1:2]
    inner = AtomicOp(
        pc, _SPACES[i.base], base, offset, size, name, kind, targets, (None,) * len(targets),
        first, (None,), second, (None,) * len(second),
    )  # fmt: skip
    return AroundOp(inner, (*before, *made), after)


def _cast(r: SassRegisters, i: Instruction, pc: int) -> Op:
    """``ATOMS.CAST.SPIN``: a compare-and-swap that says whether it swapped, in a predicate or as 1 and 0."""
    kind, size = _atomic_kind(i)
    base, offset, before = _place(r, i, _address(i), True)
    target = i.operands[0]
    flag = isinstance(target, Predicate)
    plain = [o for o in i.operands if not isinstance(o, Address | Predicate)]
    sources, made = _values(r, plain if flag else plain[1:], size, 2)
    old = r.file.add(f"%old{pc}", "b64" if size == 8 else "b32")
    inner = AtomicOp(
        pc, _SPACES[i.base], base, offset, size, "cas", kind, (old,), (None,), sources[:1], (None,),
        sources[1:2], (None,),
    )  # fmt: skip
    if isinstance(target, Predicate):
        targets: tuple[int | None, ...] = (None if target.index is None else r.predicate(target),)
    else:
        targets = r.targets(target, size // 4)
    return CastOp(AroundOp(inner, (*before, *made)), old, sources[0], targets, flag)


def _values(
    r: SassRegisters, data: Sequence[Operand], size: int, count: int
) -> tuple[tuple[int, ...], list[Derived]]:
    if len(data) < count:
        # ATOMS.CAST.SPIN and the like keep comparand and value in one register group.
        raise Unsupported("an atomic with fewer operands than it needs")
    if size < 8:
        return tuple(r.source(o) for o in data[:count]), []
    made = [r.pair(o) for o in data[:count]]
    return tuple(one.target for one in made), made


def _space_query(r: SassRegisters, i: Instruction, pc: int) -> Op:
    """``QSPC.E.S P, R, [address]``: whether a generic address lies in that space."""
    space = next(_QUERIED[part] for part in i.modifiers if part in _QUERIED)
    base, offset, before = _place(r, i, _address(i), False)
    target = i.operands[0]
    if offset or not isinstance(target, Predicate) or target.index is None:
        raise Unsupported("")
    return _around(SpaceQueryOp(pc, r.predicate(target), base, space, False), before)


_QUERIED = {"S": "shared", "G": "global", "L": "local"}

# -- tiles and copies ------------------------------------------------------------------------------------


def _matrix(r: SassRegisters, i: Instruction, pc: int) -> Op:
    tiles = next((int(p) for p in i.modifiers if p in ("1", "2", "4")), 1)
    if not {"M88", "MT88"} & set(i.modifiers):
        raise Unsupported("")
    base, offset, before = _place(r, i, _address(i), True)
    load = i.base == "LDSM"
    data = next(o for o in i.operands if isinstance(o, Register))
    registers = tuple(r.register(data, n) for n in range(tiles))
    member = r.constant(0xFFFFFFFF)
    inner = MatrixOp(pc, lsu.SHARED, base, offset, registers, "MT88" in i.modifiers, load, member, i.opcode)
    return _around(inner, before)


def _copy(r: SassRegisters, i: Instruction, pc: int) -> Op:
    size = _width(i)
    to, to_offset, made = _place(r, i, _address(i, 0), True)
    origin, origin_offset, more = _place(r, i, _address(i, 1), False)
    condition = next((o for o in i.operands if isinstance(o, Predicate)), None)
    source_size = None
    before = (*made, *more)
    if condition is not None and (condition.index is not None or condition.negated):
        # .ZFILL: lanes whose predicate is false read nothing and store zeros.
        fn = r.once(("zfill", size, condition.negated), _fill_size, size, condition.negated)
        chosen = r.derived("b32", (r.predicate(condition),), fn)
        source_size, before = chosen.target, (*before, chosen)
    inner = CopyOp(pc, to, to_offset, origin, origin_offset, size, source_size)
    return AroundOp(inner, before)


def _fill_size(size: int, negated: bool) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    def chosen(predicate: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(predicate != negated, np.uint32(size), np.uint32(0))

    return chosen


def _commit(r: SassRegisters, i: Instruction, pc: int) -> Op:
    return CommitOp(pc)


def _depbar(r: SassRegisters, i: Instruction, pc: int) -> Op:
    """``DEPBAR.LE SB0, n`` after LDGDEPBAR: at most n copy groups of the thread are still under way."""
    count = next((o for o in i.operands if hasattr(o, "value")), None)
    if "LE" not in i.modifiers or count is None:
        return NopOp(pc)
    return WaitGroupOp(pc, int(getattr(count, "value", 0)))


#: Builders by the base of the opcode.
TABLE: Mapping[str, Builder] = {
    **dict.fromkeys(("LDG", "LD", "LDL", "LDS"), _load),
    **dict.fromkeys(("STG", "ST", "STL", "STS"), _store),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), _load_constant),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS", "RED", "REDG"), _atomic),
    **dict.fromkeys(("LDSM", "STSM"), _matrix),
    "LDGSTS": _copy, "LDGDEPBAR": _commit, "DEPBAR": _depbar, "QSPC": _space_query,
}  # fmt: skip

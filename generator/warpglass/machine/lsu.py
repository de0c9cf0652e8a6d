"""The load/store unit: addresses to arena indexes, checks, gathers, scatters and counting.

Knows state spaces, not instruction sets. Addresses of a register are resolved once and kept until the
register or the lanes change, so that a loop over shared memory costs a gather and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bools, Ints
from warpglass.machine.counting import Pattern, count_global, count_local, count_shared
from warpglass.machine.faults import report_faults

if TYPE_CHECKING:
    from warpglass.machine.convergence import Group
    from warpglass.machine.scheduler import Machine
    from warpglass.machine.selection import Selection

__all__ = [
    "CONST", "GENERIC", "GLOBAL", "LOCAL", "PARAM", "SHARED", "Access", "check",
    "count_access", "gather", "locate", "register_values", "resolve", "scatter", "trace_access",
]  # fmt: skip

#: Space codes of traces; PARAM and GENERIC never reach one.
GLOBAL, SHARED, LOCAL, CONST, PARAM, GENERIC = 0, 1, 2, 3, 4, 5

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


class Access:
    """Resolved addresses of some lanes, without the instruction's offset.

    ``index`` are arena bytes, ``[nrows, 32]`` where all lanes of all rows are on, else ``[count]``; ``own``
    are the same as offsets in the owner's shared or local memory (``index`` itself for global memory).
    ``low``/``high`` bound ``own``, ``low_bits`` is the OR of their lowest bits. ``wild`` marks lanes whose
    shared address names a block that is not in the cluster.
    """

    __slots__ = (
        "_lanes", "_shadow", "counts", "detail", "high", "index", "low", "low_bits", "on", "own", "remote",
        "scaled",
        "space", "version", "wild",
    )  # fmt: skip

    def __init__(
        self, space: int, on: Selection, index: Ints, own: Ints, version: int, wild: Bools | None,
        remote: bool = False,
    ) -> None:  # fmt: skip
        self.space = space
        self.on = on
        self.index = index
        self.own = own
        self.version = version
        self.wild = wild
        self.remote = remote
        self.low = int(own.min())
        self.high = int(own.max())
        self.low_bits = int(np.bitwise_or.reduce(own.reshape(-1) & 31))
        self.scaled: dict[int, Ints] = {0: index}
        self.counts: dict[tuple[int, int], tuple[int, ...]] = {}
        #: Sums, and rows worth showing as (row, wavefronts, ideal), by (size, offset within the alignment).
        self.detail: dict[tuple[int, int], tuple[tuple[int, ...], dict[str, tuple[int, int, int]]]] = {}
        self._lanes: Ints | None = None
        self._shadow: Ints | None = None

    def lanes(self) -> Ints:
        """Flat lane indexes in the order of ``index`` made flat."""
        if self._lanes is None:
            on = self.on
            self._lanes = on.flat if self.index.ndim == 1 else np.arange(on.low * 32, on.high * 32)
        return self._lanes

    def shadow_units(self, start: int, unit: int) -> Ints:
        """Places of ``unit`` bytes from arena byte ``start``, flat."""
        if self._shadow is None:
            self._shadow = (self.index.reshape(-1) - start) // unit
        return self._shadow

    def units(self, shift: int) -> Ints:
        """Indexes in elements of ``1 << shift`` bytes."""
        found = self.scaled.get(shift)
        if found is None:
            found = self.scaled[shift] = self.index >> shift
        return found

    def aligned(self, offset: int, size: int) -> bool:
        """Whether every lane's address plus ``offset`` is a multiple of ``size``."""
        low = size - 1
        if not (self.low_bits | offset) & low:
            return True
        return not bool(((self.index + offset) & low).any())


def register_values(m: Machine, base: int, on: Selection, dense: bool) -> npt.NDArray[Any]:
    """Register values of the lanes ``on``: ``[nrows, 32]`` if ``dense`` (all lanes of a slice), else flat."""
    array = m.R[base]
    if not m.is_lane[base]:
        shape: tuple[int, ...] = (on.nrows, 32) if dense else (on.count,)
        return np.array(np.broadcast_to(array, shape))
    return array[on.slice] if dense else array.reshape(-1)[on.flat]


def resolve(m: Machine, base: int, on: Selection, space: int) -> Access:
    """Addresses in register ``base`` of the lanes ``on``; for shared, local, global and const space."""
    key = (base, space)
    version = m.ver[base]
    held: Access | None = m.address_cache.get(key)
    if held is not None and held.version == version and held.on is on:
        return held
    dense = on.full and on.nrows == on.high - on.low
    values = register_values(m, base, on, dense)
    access = m.address_cache[key] = locate(m, values, on, space, dense, version)
    return access


def locate(
    m: Machine, values: npt.NDArray[Any], on: Selection, space: int, dense: bool, version: int = -1
) -> Access:
    """Resolve addresses ``values`` of ``space``; wild ones give wild indexes, which :func:`check` catches."""
    if space in (GLOBAL, CONST):
        wide = values.astype(np.uint64, copy=False)
        index: Ints = (wide - np.uint64(m.arena.layout.global_base)).view(np.int64)
        return Access(space, on, index, index, version, None)
    own: Ints = values.astype(np.int64)
    if space == LOCAL:
        lane = np.arange(on.low * 32, on.high * 32, dtype=np.int64).reshape(-1, 32) if dense else on.flat
        return Access(space, on, own + m.local_at + lane * m.local_stride, own, version, None)
    block = (m.block_of[on.slice] if dense else m.block_of[on.flat >> 5]).reshape((-1, 1) if dense else (-1,))
    wild = None
    remote = False
    if int(own.max()) >= 1 << 24 or m.plain_ranks:
        # A block of the cluster stands above bit 24: as its rank in SASS, as its rank + 1 in PTX, whose plain
        # addresses mean one's own block. What wraps around 32 bits is negative.
        own = np.where(own >= 0xF000_0000, own - (1 << 32), own)
        peers: Ints = m.cluster_peers()
        rank = (own >> 24) - (0 if m.plain_ranks else 1)
        wild = rank >= peers.shape[1]
        named = rank >= 0
        away = peers[block, np.clip(rank, 0, peers.shape[1] - 1)]
        remote = bool((named & (away != block)).any()) if m.plain_ranks else bool(named.any())
        block = np.where(named, away, block)
        own = np.where(named, own & 0xFFFFFF, own)
        if not wild.any():
            wild = None
    return Access(space, on, own + (m.shared_at + block * m.shared_stride), own, version, wild, remote)


# -- checks ----------------------------------------------------------------------------------------------


def check(
    m: Machine, group: Group, access: Access, offset: int, size: int, pc: int, store: bool
) -> Bools | None:
    """None where every lane's access is fine, else which are; the others become findings.

    Default buffers are materialised on the way.
    """
    okay = _checked(m, access, offset, size, pc, store)
    if m.unknown is not None:
        m.unknown.memory(m, access, offset, size, pc, store, okay)
    return okay


def _checked(m: Machine, access: Access, offset: int, size: int, pc: int, store: bool) -> Bools | None:
    good = access.aligned(offset, size) and _inside(m, access, offset, size, pc, store)
    footprint = m.arena.footprint if access.space in (GLOBAL, CONST) else None
    if good:
        if footprint is not None:
            footprint.mark(access.index, offset, size, store, None)
            if store and m.run_state.watch is not None:
                m.run_state.watch.see(m, access, offset, size, None, pc)
        return None
    index = access.index + offset
    inside = _inside_lanes(m, access, index, offset, size)
    straight = (index & (size - 1)) == 0
    okay = inside & straight
    if not okay.all():
        report_faults(m, access, offset, inside, straight, size, pc, store)
    if access.space in (GLOBAL, CONST) and okay.any():
        m.arena.touch(index[okay], size)
        if footprint is not None:
            footprint.mark(access.index, offset, size, store, okay)
        if store and m.run_state.watch is not None:
            m.run_state.watch.see(m, access, offset, size, okay, pc)
    return None if okay.all() else okay


def _inside(m: Machine, access: Access, offset: int, size: int, pc: int, store: bool) -> bool:
    low, high = access.low + offset, access.high + offset + size
    if access.space == SHARED:
        return low >= 0 and high <= m.shared_bytes and access.wild is None
    if access.space == LOCAL:
        return low >= 0 and high <= m.local_stride
    region = m.arena.find(low)
    if region is None or high > region.end:
        return False
    if region.default:
        region.note(m.run_state.default_reads, low, high, pc, store)
    if region.default and (high - low) > 64 * 4096 and (high - low) > 4 * size * access.index.size:
        region.touch(m.arena, (access.index + offset).reshape(-1), size)
    else:
        region.span(m.arena, low, high)
    return True


def _inside_lanes(m: Machine, access: Access, index: Ints, offset: int, size: int) -> Bools:
    if access.space in (GLOBAL, CONST):
        return m.arena.valid(index, size)
    extent = m.shared_bytes if access.space == SHARED else m.local_stride
    own = access.own + offset
    inside: Bools = (own >= 0) & (own + size <= extent)
    return inside if access.wild is None else inside & ~access.wild


# -- moving data -----------------------------------------------------------------------------------------


def gather(
    m: Machine, access: Access, offset: int, size: int, count: int, okay: Bools | None
) -> list[npt.NDArray[Any]]:
    """``count`` consecutive elements of ``size`` bytes a lane, shaped as ``access.index``; faults give 0."""
    shift = _SHIFT[size]
    view = m.arena.views[size]
    if okay is None:
        units = access.units(shift)
        start = offset >> shift
        if access.low_bits & (size - 1) or offset & (size - 1):
            units, start = (access.index + offset) >> shift, 0
        if start >= 0:
            return [view[start + i :].take(units) for i in range(count)]
        units = units + start
        return [view[i:].take(units) for i in range(count)]
    units = (access.index + offset)[okay] >> shift
    out = []
    for i in range(count):
        values = np.zeros(access.index.shape, dtype=view.dtype)
        values[okay] = view[i:].take(units)
        out.append(values)
    return out


def scatter(
    m: Machine,
    access: Access,
    offset: int,
    size: int,
    values: list[npt.NDArray[Any] | None],
    okay: Bools | None,
) -> None:
    """Store elements of ``size`` bytes; None skips one (the sink). Of lanes at one address the last wins."""
    shift = _SHIFT[size]
    view = m.arena.views[size]
    units = (access.index + offset) >> shift
    if okay is not None:
        units = units[okay]
    for i, value in enumerate(values):
        if value is not None:
            if okay is not None:
                value = np.broadcast_to(value, okay.shape)[okay]
            view[i:][units] = value


def count_access(
    m: Machine, pc: int, access: Access, offset: int, size: int, pattern: Pattern, okay: Bools | None
) -> None:
    """Add a request to the counters of ``pc``."""
    if access.space == SHARED:
        count_shared(m, pc, access, offset, size, okay)
    elif access.space == LOCAL:
        count_local(m, pc, access, offset, size)
    else:
        count_global(m, pc, access, offset, size, pattern, okay)


def trace_access(
    m: Machine, group: Group, access: Access, offset: int, size: int, kind: int, values: list[Any] | None
) -> None:
    """Hand a request to the recorders of its traced blocks."""
    if not group.traced:
        return
    if m.unknown is not None and values is not None and m.unknown.stores(m.current_pc):
        values = None

    shift = offset + (m.arena.layout.global_base if access.space in (GLOBAL, CONST) else 0)

    def addresses(first: int, last: int) -> Ints:
        # Virtual addresses of global memory, offsets in shared and local memory.
        return access.own.reshape(-1)[first:last] + shift

    dense = access.index.ndim == 2
    if values is None:
        m.tracer.access(m, group, access.on, kind, min(access.space, CONST), size, dense, addresses, None)
        return

    def words(first: int, last: int) -> npt.NDArray[np.uint32] | None:
        columns = []
        for value in values or ():
            if value is None:
                return None
            flat = np.broadcast_to(value, access.index.shape).reshape(-1)[first:last]
            if flat.dtype.itemsize == 8:
                columns.extend(
                    [
                        (flat & np.uint64(0xFFFFFFFF)).astype(np.uint32),
                        (flat >> np.uint64(32)).astype(np.uint32),
                    ]
                )
            else:
                columns.append(flat.astype(np.uint32))
        return _packed_words(columns, values)

    m.tracer.access(m, group, access.on, kind, min(access.space, CONST), size, dense, addresses, words)


def _packed_words(columns: list[Any], values: list[Any]) -> npt.NDArray[np.uint32]:
    """Words of the bytes in memory: elements below four bytes share a word."""
    width = values[0].dtype.itemsize
    if width >= 4 or len(values) == 1:
        return np.stack(columns, axis=1)
    each = 4 // width
    packed = []
    for start in range(0, len(columns), each):
        word = np.zeros(columns[0].shape, dtype=np.uint32)
        for i, column in enumerate(columns[start : start + each]):
            word |= column << np.uint32(8 * width * i)
        packed.append(word)
    return np.stack(packed, axis=1)

"""Convergence groups: which lanes of a warp stand together, and where split ones wait for each other.

A :class:`Group` is a set of warps at one instruction, each with the lanes that stand there together. A
divergent branch splits it; each split warp gets a *join*, an entry in :class:`Joins` that says where its
lanes meet again and which. Joins of a warp form a stack through ``parent``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Bits, Bools, Ints
from warpglass.machine.selection import Selection

__all__ = ["NO_JOIN", "RETURN", "Group", "Joins"]

NO_JOIN = -1
#: Join place of branches that meet only when their function returns.
RETURN = -2

Nodes = npt.NDArray[np.int32]


class Group:
    """Lanes that issue together: a place, a selection, and for each row its join and its call depth.

    ``node`` and ``depth`` are None where every row has no join, or stands in the kernel itself.
    """

    __slots__ = ("depth", "node", "pc", "sel", "traced", "waited")

    def __init__(
        self, pc: int, sel: Selection, node: Nodes | None = None, depth: Nodes | None = None
    ) -> None:
        self.pc = pc
        self.sel = sel
        self.node = node if node is not None and (node >= 0).any() else None
        self.depth = depth if depth is not None and depth.any() else None
        self.traced: tuple[object, ...] | None = None
        self.waited = 0

    def nodes(self) -> Nodes:
        """Join of every row."""
        return self.node if self.node is not None else np.full(self.sel.nrows, NO_JOIN, dtype=np.int32)

    def depths(self) -> Nodes:
        """Call depth of every row."""
        return self.depth if self.depth is not None else np.zeros(self.sel.nrows, dtype=np.int32)

    def part(self, pc: int, keep: Bools, bits: Bits, node: Nodes | None = None) -> Group:
        """The rows in ``keep`` with lanes ``bits`` (both by row of this group), at ``pc``."""
        if node is None:
            node = self.node
        if keep.all():
            return Group(pc, Selection(self.sel.rows, bits), node, self.depth)
        return Group(
            pc,
            Selection(self.sel.rows[keep], bits[keep]),
            None if node is None else node[keep],
            None if self.depth is None else self.depth[keep],
        )

    @staticmethod
    def merged(groups: list[Group]) -> Group:
        """One group of several at the same place that share no warp."""
        rows = np.concatenate([g.sel.rows for g in groups])
        order = np.argsort(rows)
        bits = np.concatenate([g.sel.bits for g in groups])[order]
        node = depth = None
        if any(g.node is not None for g in groups):
            node = np.concatenate([g.nodes() for g in groups])[order]
        if any(g.depth is not None for g in groups):
            depth = np.concatenate([g.depths() for g in groups])[order]
        return Group(groups[0].pc, Selection(rows[order], bits), node, depth)


class Joins:
    """The joins of a batch as columns; slots are reused."""

    def __init__(self) -> None:
        self._room(64)
        self.free = list(range(63, -1, -1))
        self.open = 0

    def _room(self, size: int) -> None:
        self.pc = np.full(size, NO_JOIN, dtype=np.int32)
        self.parent = np.full(size, NO_JOIN, dtype=np.int32)
        self.depth = np.zeros(size, dtype=np.int32)
        self.warp = np.zeros(size, dtype=np.int64)
        self.at = np.zeros(size, dtype=np.int32)
        self.expected = np.zeros(size, dtype=np.uint32)
        self.arrived = np.zeros(size, dtype=np.uint32)
        self.since = np.zeros(size, dtype=np.int64)

    def _grow(self, need: int) -> None:
        old = self.pc.shape[0]
        extra = max(old, need)
        for name in ("pc", "parent", "depth", "warp", "at", "expected", "arrived", "since"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(extra, dtype=column.dtype)]))
        self.free.extend(range(old + extra - 1, old - 1, -1))

    def push(self, pc: int, rows: Ints, expected: Bits, parent: Nodes, depth: Nodes) -> Nodes:
        """New joins at ``pc`` for warps ``rows`` whose lanes ``expected`` will meet there; their slots."""
        count = rows.shape[0]
        if len(self.free) < count:
            self._grow(count)
        slots = np.array(self.free[-count:], dtype=np.int32)
        del self.free[-count:]
        self.open += count
        self.pc[slots] = pc
        self.parent[slots] = parent
        self.depth[slots] = depth
        self.warp[slots] = rows
        self.expected[slots] = expected
        self.arrived[slots] = 0
        return slots

    def release(self, slots: Nodes) -> None:
        """Give slots back."""
        self.arrived[slots] = 0
        self.expected[slots] = 0
        self.pc[slots] = NO_JOIN
        self.free.extend(slots.tolist())
        self.open -= slots.shape[0]

    def arrive(self, group: Group, place: int, now: int) -> Group | None:
        """Park the rows whose join is ``place``; gives what goes on: rows without, and completed ones merged.

        ``place`` is the group's instruction, or :data:`RETURN` at the end of a function.
        """
        while group.node is not None:
            node, depth = group.node, group.depths()
            here = (node >= 0) & (self.pc[node] == place) & (self.depth[node] == depth)
            if not here.any():
                break
            slots = node[here]
            self.since[slots] = np.where(self.arrived[slots] == 0, now, self.since[slots])
            self.arrived[slots] |= group.sel.bits[here]
            self.at[slots] = group.pc
            done = np.zeros(here.shape, dtype=np.bool_)
            done[here] = self.arrived[slots] == self.expected[slots]
            bits = group.sel.bits.copy()
            node = node.copy()
            finished = node[done]
            bits[done] = self.expected[finished]
            node[done] = self.parent[finished]
            keep = ~here | done
            self.release(finished)
            if not keep.any():
                return None
            group = group.part(group.pc, keep, bits, node)
        return group

    def leave(self, node: Nodes, bits: Bits) -> list[tuple[int, int, int, int, int]]:
        """Lanes ``bits`` exit from stacks ``node``.

        Gives the joins completed by that as (pc, warp, bits, parent, depth).
        """
        completed: list[tuple[int, int, int, int, int]] = []
        node, bits = node.copy(), bits.copy()
        while True:
            inside = node >= 0
            if not inside.any():
                return completed
            node, bits = node[inside], bits[inside]
            self.expected[node] &= ~bits
            parents = self.parent[node]
            over = self.arrived[node] == self.expected[node]
            for slot in node[over].tolist():
                if self.arrived[slot]:
                    completed.append(self._open(slot))
            self.release(node[over])
            node = parents

    def _open(self, slot: int) -> tuple[int, int, int, int, int]:
        return (
            int(self.at[slot]), int(self.warp[slot]), int(self.arrived[slot]), int(self.parent[slot]),
            int(self.depth[slot]),
        )  # fmt: skip

    def waiting(self) -> Nodes:
        """Slots with parked lanes."""
        return np.flatnonzero(self.arrived != 0).astype(np.int32)

    def force(self, slots: Nodes) -> list[tuple[int, int, int, int, int]]:
        """Let parked lanes go on without the others; gives (pc, warp, bits, parent, depth)."""
        out = []
        for slot in slots.tolist():
            out.append(self._open(slot))
            self.expected[slot] &= ~self.arrived[slot]
            self.arrived[slot] = 0
        return out

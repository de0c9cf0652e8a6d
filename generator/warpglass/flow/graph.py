"""Control-flow graphs over any instruction set.

The caller says for each instruction that is not plain where it may go (:class:`Flow`); the rest falls
through. Everything is indexed by instruction (``pc``) and by block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warpglass.flow.dominators import UNREACHED, immediate_dominators
from warpglass.flow.loops import Loop, find_loops

__all__ = ["Block", "Cfg", "Flow", "build_cfg"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Where an instruction may go.

    ``targets`` are the instructions it may jump to, ``falls`` says that the next one may follow, ``leaves``
    that lanes may end or return here, ``dies`` that lanes may only be killed here (a trap, a call that does
    not return). A guarded exit is ``Flow(falls=True, leaves=True)``.
    """

    targets: tuple[int, ...] = ()
    falls: bool = False
    leaves: bool = False
    dies: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``start`` to ``end - 1``. ``leaves`` says that its last may leave or kill lanes."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]
    leaves: bool


@dataclass(frozen=True, slots=True)
class Cfg:
    """A control-flow graph; block 0 is the entry.

    ``idom`` and ``ipdom`` give for every block its immediate dominator and post-dominator: a block, or None
    for the entry (``idom``), for the virtual exit (``ipdom``) and for unreachable blocks. ``merge`` is the
    post-dominator among the lanes that go on: exits under a guard and paths that can only be killed do not
    count, since lanes that left never arrive anywhere. ``loop_of`` gives the innermost loop of a block.
    """

    instructions: int
    blocks: tuple[Block, ...]
    idom: tuple[int | None, ...]
    ipdom: tuple[int | None, ...]
    merge: tuple[int | None, ...]
    loops: tuple[Loop, ...]
    loop_of: tuple[int | None, ...]
    _starts: tuple[int, ...]

    def block_at(self, pc: int) -> Block:
        """The block that holds instruction ``pc``."""
        return self.blocks[bisect_right(self._starts, pc) - 1]

    def reconvergence_pc(self, pc: int) -> int | None:
        """Where lanes that part at ``pc`` meet again: the first instruction of the merge block, or None."""
        merge = self.merge[self.block_at(pc).index]
        return None if merge is None else self.blocks[merge].start

    def reconvergence(self) -> dict[int, int | None]:
        """:meth:`reconvergence_pc` for the last instruction of every block with two ways or more."""
        return {
            b.end - 1: self.reconvergence_pc(b.end - 1)
            for b in self.blocks
            if len(b.successors) + b.leaves > 1
        }

    def dominates(self, a: int, b: int) -> bool:
        """True where every path from the entry to block ``b`` goes through block ``a``."""
        step: int | None = b
        while step is not None and step != a:
            step = self.idom[step]
        return step == a

    def loop_blocks(self, loop: Loop) -> tuple[int, ...]:
        """All blocks of a loop with those of the loops inside it, in order."""
        inside = {loop.index}
        for candidate in self.loops:  # outer before inner
            if candidate.parent in inside:
                inside.add(candidate.index)
        return tuple(sorted(b for i in inside for b in self.loops[i].blocks))

    def loop_depth(self, pc: int) -> int:
        """How many loops instruction ``pc`` stands in."""
        loop = self.loop_of[self.block_at(pc).index]
        return 0 if loop is None else self.loops[loop].depth


def build_cfg(count: int, flows: Mapping[int, Flow], leaders: Iterable[int] = ()) -> Cfg:
    """The graph of ``count`` instructions.

    ``flows`` has an entry for each instruction that does not simply fall through; ``leaders`` forces blocks
    to start at further instructions. Targets outside ``0 … count-1`` and falling off the end are exits.
    """
    starts = {0} if count else set()
    for pc, flow in flows.items():
        if pc + 1 < count:
            starts.add(pc + 1)
        starts.update(t for t in flow.targets if 0 <= t < count)
    starts.update(pc for pc in leaders if 0 <= pc < count)
    order = sorted(starts)
    index = {pc: i for i, pc in enumerate(order)}
    ends = [*order[1:], count][: len(order)]
    successors: list[tuple[int, ...]] = []
    leaves: list[bool] = []
    killed: list[bool] = []
    for end in ends:
        flow = flows.get(end - 1, _PLAIN)
        ways = [end] if flow.falls else []
        ways += [t for t in flow.targets if t not in ways]
        inside = tuple(dict.fromkeys(index[t] for t in ways if 0 <= t < count))
        outside = flow.leaves or any(not 0 <= t < count for t in ways)
        successors.append(inside)
        leaves.append(outside or flow.dies or not inside)
        killed.append(flow.dies and not outside)
    predecessors: list[list[int]] = [[] for _ in order]
    for i, ways_out in enumerate(successors):
        for j in ways_out:
            predecessors[j].append(i)
    blocks = tuple(
        Block(i, start, ends[i], successors[i], tuple(predecessors[i]), leaves[i])
        for i, start in enumerate(order)
    )
    if not blocks:
        return Cfg(count, (), (), (), (), (), (), ())
    loops, loop_of = find_loops(successors, 0)
    return Cfg(
        instructions=count,
        blocks=blocks,
        idom=_or_none(immediate_dominators(successors, 0), len(order)),
        ipdom=_postdominators(successors, leaves),
        merge=_merges(successors, leaves, killed),
        loops=loops,
        loop_of=tuple(loop_of),
        _starts=tuple(order),
    )


_PLAIN = Flow(falls=True)


def _or_none(nodes: Sequence[int], exit_: int) -> tuple[int | None, ...]:
    return tuple(None if n in (UNREACHED, exit_) else n for n in nodes[:exit_])


def _postdominators(successors: Sequence[Sequence[int]], leaves: Sequence[bool]) -> tuple[int | None, ...]:
    """Dominators of the reversed graph from a virtual exit; endless loops get an edge to it."""
    count = len(successors)
    reverse: list[list[int]] = [[] for _ in range(count + 1)]
    for node, ways in enumerate(successors):
        for way in ways:
            reverse[way].append(node)
    reverse[count] = [node for node in range(count) if leaves[node]]
    seen = [False] * (count + 1)
    _mark(reverse, count, seen)
    # What no exit follows is an endless loop. Going through the blocks from the innermost finds one block
    # of each such loop; any will do, since no lane ever leaves it.
    for node in _postorder(successors):
        if not seen[node]:
            reverse[count].append(node)
            _mark(reverse, node, seen)
    return _or_none(immediate_dominators(reverse, count), count)


def _mark(edges: Sequence[Sequence[int]], root: int, seen: list[bool]) -> None:
    stack = [root]
    seen[root] = True
    while stack:
        for node in edges[stack.pop()]:
            if not seen[node]:
                seen[node] = True
                stack.append(node)


def _postorder(successors: Sequence[Sequence[int]]) -> list[int]:
    """All blocks in depth-first postorder, unreachable ones as further roots."""
    order: list[int] = []
    seen = [False] * len(successors)
    for root in range(len(successors)):
        if seen[root]:
            continue
        seen[root] = True
        stack = [(root, iter(successors[root]))]
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if not seen[child]:
                    seen[child] = True
                    stack.append((child, iter(successors[child])))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def _merges(
    successors: Sequence[Sequence[int]], leaves: Sequence[bool], killed: Sequence[bool]
) -> tuple[int | None, ...]:
    """Post-dominators among the lanes that go on."""
    count = len(successors)
    reverse: list[list[int]] = [[] for _ in range(count)]
    for node, ways in enumerate(successors):
        for way in ways:
            reverse[way].append(node)
    # A block is doomed where every way out of it ends in being killed: lanes inside it come back nowhere.
    open_ways = [len(ways) + (leaves[i] and not killed[i]) for i, ways in enumerate(successors)]
    doomed = [False] * count
    work = [i for i in range(count) if open_ways[i] == 0]
    while work:
        node = work.pop()
        doomed[node] = True
        for before in reverse[node]:
            open_ways[before] -= 1
            if open_ways[before] == 0:
                work.append(before)
    if doomed[0]:  # nothing survives: then the deaths are the exits
        doomed = [False] * count
    kept = [tuple(w for w in ways if doomed[i] or not doomed[w]) for i, ways in enumerate(successors)]
    ends = [leaves[i] and not kept[i] for i in range(count)]
    return _postdominators(kept, ends)

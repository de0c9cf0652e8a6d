"""Loops and their nesting, reducible or not.

Method: Havlak, "Nesting of reducible and irreducible loops" (1997): depth-first numbers and union-find,
inner loops first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpglass.flow.dominators import UNREACHED, depth_first

__all__ = ["Loop", "find_loops"]


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop.

    ``header`` is the block through which it is entered (one of several where ``irreducible``); ``blocks``
    are the blocks whose innermost loop this is, the header first (those of inner loops are theirs);
    ``latches`` the blocks that jump back to the header; ``parent`` the index of the loop around it, or
    None; ``depth`` is 1 for an outermost loop.
    """

    index: int
    header: int
    blocks: tuple[int, ...]
    latches: tuple[int, ...]
    parent: int | None
    depth: int
    irreducible: bool


def find_loops(successors: Sequence[Sequence[int]], root: int) -> tuple[tuple[Loop, ...], list[int | None]]:
    """All loops (outer before inner) and for every block the index of its innermost loop, or None."""
    order, number, _ = depth_first(successors, root)
    count = len(order)
    last = _last_descendants(order, number, successors)
    back: list[list[int]] = [[] for _ in range(count)]
    other: list[set[int]] = [set() for _ in range(count)]
    for v in range(count):
        for child in successors[order[v]]:
            w = number[child]
            if w <= v <= last[w]:
                back[w].append(v)
            else:
                other[w].add(v)
    union = list(range(count))
    header: list[int] = [UNREACHED] * count
    irreducible = [False] * count
    is_loop = [False] * count
    for w in range(count - 1, -1, -1):
        if not back[w]:
            continue
        is_loop[w] = True
        body = {_find(union, v) for v in back[w]} - {w}
        work = list(body)
        while work:
            x = work.pop()
            for y in other[x]:
                top = _find(union, y)
                if not w <= top <= last[w]:
                    irreducible[w] = True
                    other[w].add(top)
                elif top not in body and top != w:
                    body.add(top)
                    work.append(top)
        for x in body:
            header[x] = w
            union[x] = w
    return _collect(order, header, is_loop, irreducible, back, len(successors))


def _find(union: list[int], node: int) -> int:
    root = node
    while union[root] != root:
        root = union[root]
    while union[node] != root:
        union[node], node = root, union[node]
    return root


def _last_descendants(order: list[int], number: list[int], successors: Sequence[Sequence[int]]) -> list[int]:
    """The highest preorder number below each node of the same depth-first tree."""
    _, _, parent = depth_first(successors, order[0])
    last = list(range(len(order)))
    for v in range(len(order) - 1, 0, -1):
        above = number[parent[order[v]]]
        last[above] = max(last[above], last[v])
    return last


def _collect(
    order: list[int],
    header: list[int],
    is_loop: list[bool],
    irreducible: list[bool],
    back: list[list[int]],
    blocks: int,
) -> tuple[tuple[Loop, ...], list[int | None]]:
    index_of: dict[int, int] = {}
    depth: list[int] = []
    members: list[list[int]] = []
    innermost: list[int | None] = [None] * blocks
    parents: list[int | None] = []
    for v in range(len(order)):  # preorder: a header comes before all that it contains
        outer = index_of.get(header[v]) if header[v] != UNREACHED else None
        if is_loop[v]:
            index_of[v] = len(depth)
            depth.append(1 if outer is None else depth[outer] + 1)
            parents.append(outer)
            members.append([])
            outer = index_of[v]
        if outer is not None:
            members[outer].append(order[v])
        innermost[order[v]] = outer
    loops = tuple(
        Loop(
            index=i,
            header=order[v],
            blocks=tuple(members[i]),
            latches=tuple(order[t] for t in back[v]),
            parent=parents[i],
            depth=depth[i],
            irreducible=irreducible[v],
        )
        for v, i in index_of.items()
    )
    return loops, innermost

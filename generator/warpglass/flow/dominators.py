"""Immediate dominators in near-linear time, without recursion.

Method: Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph" (1979), the simple
version with path compression. An iterative scheme is shorter but quadratic on chains of early exits.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["UNREACHED", "depth_first", "immediate_dominators"]

#: Marks nodes that the root does not reach, and the root's own dominator.
UNREACHED = -1


def depth_first(successors: Sequence[Sequence[int]], root: int) -> tuple[list[int], list[int], list[int]]:
    """Preorder and parents of a depth-first search: (nodes in preorder, number per node, parent per node).

    Unreached nodes have number and parent :data:`UNREACHED`; so has the root's parent.
    """
    number = [UNREACHED] * len(successors)
    parent = [UNREACHED] * len(successors)
    order = [root]
    number[root] = 0
    stack = [(root, iter(successors[root]))]
    while stack:
        node, rest = stack[-1]
        for child in rest:
            if number[child] == UNREACHED:
                number[child] = len(order)
                parent[child] = node
                order.append(child)
                stack.append((child, iter(successors[child])))
                break
        else:
            stack.pop()
    return order, number, parent


def immediate_dominators(successors: Sequence[Sequence[int]], root: int) -> list[int]:
    """The immediate dominator of every node; :data:`UNREACHED` for the root and for unreached nodes."""
    order, number, parent = depth_first(successors, root)
    count = len(order)
    # From here on nodes are their preorder numbers.
    predecessors: list[list[int]] = [[] for _ in range(count)]
    for v in range(count):
        for child in successors[order[v]]:
            predecessors[number[child]].append(v)
    up = [UNREACHED] + [number[parent[order[v]]] for v in range(1, count)]
    ancestor = [UNREACHED] * count
    best = list(range(count))
    semi = list(range(count))
    found = [0] * count
    bucket: list[list[int]] = [[] for _ in range(count)]
    for w in range(count - 1, 0, -1):
        for v in predecessors[w]:
            candidate = semi[_evaluate(v, ancestor, best, semi)]
            semi[w] = min(semi[w], candidate)
        bucket[semi[w]].append(w)
        ancestor[w] = up[w]
        for v in bucket[up[w]]:
            u = _evaluate(v, ancestor, best, semi)
            found[v] = u if semi[u] < semi[v] else up[w]
        bucket[up[w]].clear()
    for w in range(1, count):
        if found[w] != semi[w]:
            found[w] = found[found[w]]
    result = [UNREACHED] * len(successors)
    for w in range(1, count):
        result[order[w]] = order[found[w]]
    return result


def _evaluate(v: int, ancestor: list[int], best: list[int], semi: list[int]) -> int:
    """The node of least semidominator on the linked path above ``v``; compresses that path."""
    if ancestor[v] == UNREACHED:
        return best[v]
    path = []
    node = v
    while ancestor[ancestor[node]] != UNREACHED:
        path.append(node)
        node = ancestor[node]
    for node in reversed(path):
        above = ancestor[node]
        if semi[best[above]] < semi[best[node]]:
            best[node] = best[above]
        ancestor[node] = ancestor[above]
    return best[v]

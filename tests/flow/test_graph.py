"""Graphs against the definitions: dominators, post-dominators, merges and loops by brute force."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpglass.flow import Cfg, Flow, build_cfg
from warpglass.flow.dominators import UNREACHED, immediate_dominators
from warpglass.flow.loops import find_loops

Edges = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Edges:
    count = draw(st.integers(1, 9))
    node = st.integers(0, count - 1)
    return [draw(st.lists(node, max_size=3, unique=True)) for _ in range(count)]


def reach(edges: Sequence[Sequence[int]], root: int, without: int | None = None) -> set[int]:
    """Nodes reached from ``root`` on paths that avoid ``without``."""
    if root == without:
        return set()
    seen, work = {root}, [root]
    while work:
        for node in edges[work.pop()]:
            if node not in seen and node != without:
                seen.add(node)
                work.append(node)
    return seen


def dominator_sets(edges: Sequence[Sequence[int]], root: int) -> dict[int, set[int]]:
    """Strict dominators of every reached node, from the definition."""
    everything = reach(edges, root)
    return {n: {d for d in everything if d != n and n not in reach(edges, root, d)} for n in everything}


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_dominators_by_definition(edges: Edges) -> None:
    found = immediate_dominators(edges, 0)
    strict = dominator_sets(edges, 0)
    for node in range(len(edges)):
        if node not in strict or node == 0:
            assert found[node] == UNREACHED
        else:
            assert found[node] in strict[node]
            assert all(d == found[node] or d in strict[found[node]] for d in strict[node])


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_loops_by_definition(edges: Edges) -> None:
    """Every block of a cycle is in a loop and no other; reducible headers dominate their loops."""
    loops, innermost = find_loops(edges, 0)
    reached = reach(edges, 0)
    strict = dominator_sets(edges, 0)
    for node in range(len(edges)):
        cyclic = node in reached and any(node in reach(edges, s) for s in edges[node])
        assert (innermost[node] is not None) == cyclic
    for loop in loops:
        assert loop.blocks[0] == loop.header
        assert all(loop.header in edges[t] for t in loop.latches)
        members = {b for b in range(len(edges)) if _inside(loops, innermost[b], loop.index)}
        # From the header, every member is reached within the loop and reaches the header again.
        within = [[s for s in edges[n] if s in members] if n in members else [] for n in range(len(edges))]
        assert reach(within, loop.header) == members
        assert all(loop.header in reach(within, m) for m in members)
        entries = {n for n in members if n == 0 or any(n in edges[p] for p in reached if p not in members)}
        if not loop.irreducible:
            assert entries <= {loop.header}
            assert all(loop.header in strict[m] for m in members - {loop.header})
        if loop.parent is None:
            assert loop.depth == 1
        else:
            assert loop.depth == loops[loop.parent].depth + 1
            assert loop.parent < loop.index


def _inside(loops: Sequence[object], loop: int | None, wanted: int) -> bool:
    while loop is not None and loop != wanted:
        loop = loops[loop].parent  # type: ignore[attr-defined]
    return loop == wanted


def chain(edges: Edges, leaves: Sequence[int] = (), dies: Sequence[int] = ()) -> Cfg:
    """A graph whose blocks are the nodes: two instructions each, the second one branches."""
    flows = {}
    for node, ways in enumerate(edges):
        targets = tuple(2 * w for w in ways)
        flows[2 * node + 1] = Flow(targets, leaves=node in leaves, dies=node in dies)
    return build_cfg(2 * len(edges), flows, leaders=range(0, 2 * len(edges), 2))


@settings(max_examples=300, deadline=None)
@given(graphs(), st.lists(st.integers(0, 8), max_size=3))
def test_postdominators_by_definition(edges: Edges, exits: list[int]) -> None:
    cfg = chain(edges, leaves=exits)
    count = len(edges)
    assert [list(b.successors) for b in cfg.blocks] == edges
    out = [n for n in range(count) if n in exits or not edges[n]]
    reverse: Edges = [[] for _ in range(count + 1)]
    for node, ways in enumerate(edges):
        for way in ways:
            reverse[way].append(node)
    reverse[count] = out
    strict = dominator_sets(reverse, count)
    if len(strict) < count + 1:
        return  # endless loops: their edge to the exit is a choice, see below
    for node in range(count):
        found = cfg.ipdom[node]
        others = strict[node] - {count}
        if found is None:
            assert not others
        else:
            assert found in others
            assert all(d == found or d in strict[found] for d in others)


@settings(max_examples=300, deadline=None)
@given(graphs(), st.lists(st.integers(0, 8), max_size=3), st.lists(st.integers(0, 8), max_size=3))
def test_merges_are_reached_by_all_that_go_on(edges: Edges, exits: list[int], deaths: list[int]) -> None:
    cfg = chain(edges, leaves=exits, dies=deaths)
    for node in range(len(edges)):
        merge = cfg.merge[node]
        if merge is None:
            continue
        assert merge in reach(edges, node)
        # No way round it leads to a plain end: only guarded exits, deaths and endless loops avoid it.
        for other in reach(edges, node, merge):
            assert edges[other] or other in deaths


def test_diamond() -> None:
    cfg = chain([[1, 2], [3], [3], []])
    assert cfg.idom == (None, 0, 0, 0)
    assert cfg.ipdom == (3, 3, 3, None)
    assert cfg.reconvergence_pc(1) == 6
    assert cfg.reconvergence() == {1: 6}
    assert cfg.dominates(0, 3)
    assert not cfg.dominates(1, 3)


def test_guarded_exit_does_not_push_merges_to_the_end() -> None:
    # if (p) { @q exit; } join
    cfg = chain([[1, 2], [2], []], leaves=[1])
    assert cfg.ipdom[0] is None
    assert cfg.merge[0] == 2
    assert cfg.reconvergence_pc(1) == 4


def test_a_path_that_only_dies_does_not_push_merges_to_the_end() -> None:
    # if (p) { if (bad) trap; } join
    cfg = chain([[1, 3], [2, 3], [], []], dies=[2])
    assert cfg.ipdom[0] is None
    assert cfg.merge[0] == 3
    assert cfg.merge[1] == 3


def test_everything_dies() -> None:
    cfg = chain([[1, 2], [3], [3], []], dies=[3])
    assert cfg.merge[0] == 3


def test_endless_loop_has_a_merge_inside() -> None:
    cfg = chain([[1], [2, 3], [4], [4], [1]])
    assert cfg.merge[1] == 4
    assert cfg.ipdom[1] == 4
    assert cfg.loops[0].header == 1
    assert cfg.loop_blocks(cfg.loops[0]) == (1, 2, 3, 4)


def test_nested_loops() -> None:
    cfg = chain([[1], [2], [2, 3], [1, 4], []])
    outer, inner = cfg.loops
    assert (outer.header, outer.depth, outer.parent, outer.latches) == (1, 1, None, (3,))
    assert (inner.header, inner.depth, inner.parent, inner.blocks) == (2, 2, 0, (2,))
    assert cfg.loop_depth(4) == 2
    assert cfg.loop_depth(8) == 0
    assert cfg.loop_blocks(outer) == (1, 2, 3)


def test_irreducible_loop_is_marked() -> None:
    cfg = chain([[1, 2], [2, 3], [1], []])
    assert [loop.irreducible for loop in cfg.loops] == [True]
    assert {b for b in range(4) if cfg.loop_of[b] is not None} == {1, 2}


def test_blocks_end_where_control_moves() -> None:
    cfg = build_cfg(6, {1: Flow((4,), falls=True), 3: Flow((0,)), 5: Flow(leaves=True)})
    assert [(b.start, b.end) for b in cfg.blocks] == [(0, 2), (2, 4), (4, 6)]
    assert cfg.blocks[0].successors == (1, 2)
    assert cfg.block_at(3).index == 1
    assert cfg.blocks[2].leaves
    assert not cfg.blocks[0].leaves


def test_targets_outside_and_falling_off_are_exits() -> None:
    cfg = build_cfg(3, {0: Flow((99,), falls=True), 1: Flow((-1,), falls=True)})
    assert [b.leaves for b in cfg.blocks] == [True, True, True]
    assert cfg.ipdom == (None, None, None)
    assert cfg.merge == (1, 2, None)


def test_no_instructions() -> None:
    cfg = build_cfg(0, {})
    assert cfg.blocks == ()
    assert cfg.reconvergence() == {}


@pytest.mark.slow
def test_long_chains_of_early_exits_and_deep_nests_end() -> None:
    size = 20000
    early: Edges = [[i + 1, size] for i in range(size)] + [[]]
    found = immediate_dominators(early, 0)
    assert found[size] == 0
    assert chain(early).ipdom[5] == size
    nest: Edges = [[i + 1] for i in range(2000)] + [[i, i + 1] for i in range(1999, -1, -1)] + [[]]
    nest[2000:4000] = [[1999 - i, 2001 + i] for i in range(2000)]
    loops, _ = find_loops(nest, 0)
    assert len(loops) == 2000
    assert max(loop.depth for loop in loops) == 2000

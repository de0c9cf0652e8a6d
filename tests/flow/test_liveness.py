"""Liveness against its definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from warpglass.flow import Access, Flow, build_cfg, liveness
from warpglass.flow.graph import Cfg

REGISTERS = 5


@st.composite
def programs(draw: st.DrawFn) -> tuple[Cfg, list[Access], list[list[int]]]:
    count = draw(st.integers(1, 12))
    flows: dict[int, Flow] = {}
    ways: list[list[int]] = []
    accesses = []
    register = st.lists(st.integers(0, REGISTERS - 1), max_size=2)
    for pc in range(count):
        kind = draw(st.sampled_from(["plain", "plain", "plain", "jump", "branch", "exit", "maybe"]))
        target = draw(st.integers(0, count - 1))
        next_ = [pc + 1] if pc + 1 < count else []
        if kind == "jump":
            flows[pc] = Flow((target,))
            ways.append([target])
        elif kind == "branch":
            flows[pc] = Flow((target,), falls=True)
            ways.append([target, *next_])
        elif kind == "exit":
            flows[pc] = Flow(leaves=True)
            ways.append([])
        elif kind == "maybe":
            flows[pc] = Flow(falls=True, leaves=True)
            ways.append(next_)
        else:
            ways.append(next_)
        accesses.append(Access(tuple(draw(register)), tuple(draw(register)), draw(st.booleans())))
    return build_cfg(count, flows), accesses, ways


def live_after(accesses: list[Access], ways: list[list[int]], pc: int, register: int) -> bool:
    """True where some path after ``pc`` reads the register before a killing write."""
    seen: set[int] = set()
    work = list(ways[pc])
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if register in accesses[at].reads:
            return True
        if not (accesses[at].kills and register in accesses[at].writes):
            work.extend(ways[at])
    return False


@settings(max_examples=300, deadline=None)
@given(programs())
def test_by_definition(program: tuple[Cfg, list[Access], list[list[int]]]) -> None:
    cfg, accesses, ways = program
    found = liveness(cfg, accesses, REGISTERS)
    assert found is not None
    expected = [{r for r in range(REGISTERS) if live_after(accesses, ways, pc, r)} for pc in range(len(ways))]
    for pc, after in enumerate(expected):
        mask = found.after(pc)
        assert {r for r in range(REGISTERS) if mask >> r & 1} == after
    weights = [1, 2, 4, 8, 16]
    for pc, total in enumerate(found.pressure(weights)):
        access = accesses[pc]
        after = expected[pc]
        before = (after - set(access.writes) if access.kills else after) | set(access.reads)
        sums = [sum(weights[r] for r in regs) for regs in (before, after | set(access.writes))]
        assert total == max(sums)


def test_guarded_writes_keep_the_old_value_alive() -> None:
    cfg = build_cfg(3, {2: Flow(leaves=True)})
    plain = liveness(cfg, [Access((), (0,)), Access((), (0,)), Access((0,), ())], 1)
    guarded = liveness(cfg, [Access((), (0,)), Access((), (0,), kills=False), Access((0,), ())], 1)
    assert plain is not None
    assert guarded is not None
    assert (plain.after(0), plain.after(1)) == (0, 1)
    assert (guarded.after(0), guarded.after(1)) == (1, 1)


def test_too_large_is_said() -> None:
    cfg = build_cfg(2, {0: Flow((1,))})
    assert liveness(cfg, [Access(), Access()], 1 << 40) is None

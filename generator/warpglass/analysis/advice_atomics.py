"""Advice about atomics: many lanes on few addresses, or more of them than the L2 serves."""

from __future__ import annotations

from collections.abc import Iterator

from warpglass.analysis.access import AccessRow
from warpglass.analysis.advice_model import Advice, Case, make
from warpglass.analysis.resources import distinct_atomics

__all__ = ["ATOMIC_RULES"]

#: Shared memory that a block's own copy of the counters may take without an opt-in.
_PRIVATE_BYTES = 48 * 1024


def atomics(case: Case) -> Iterator[Advice]:
    """Many lanes on few addresses."""
    if case.counted == "measured":
        yield from _busy_atomics(case)
    rows = [r for r in case.rows if r.operation == "atomic" and r.atomic_addresses]
    hot = [r for r in rows if r.lanes * r.requests / (r.atomic_addresses or 1) >= 4]
    if not hot and case.model.cycles.get("atomics", 0.0) < 0.5 * case.model.overlapped:
        return
    rows = hot or rows
    if not rows:
        return
    worst = max(rows, key=lambda r: r.lanes * r.requests)
    lanes = worst.lanes * worst.requests
    apart_from = distinct_atomics(case.subject, worst)
    if not hot and apart_from >= max(32.0, lanes / max(1, case.subject.result.blocks_counted) / 2):
        return  # each lane of a block has an address of its own: there is nothing to combine
    per = lanes / (worst.atomic_addresses or 1)
    now = case.model.cycles.get("atomics", 0.0)
    gain = case.model.gain(atomics=now / max(2.0, 32.0 if per >= 16 else per))
    said, private = "", _private(case, worst)
    if private is not None:
        addresses, share = private
        said = f", those of a block on {addresses:,} address{'es' if addresses != 1 else ''}"
        apart = case.model.gain(atomics=now * share)
        gain = (min(gain[0], apart[0]), max(gain[1], apart[1]))
    yield make(
        case,
        "atomics",
        "Combine before the atomic",
        f"{lanes:,.0f} lanes send atomics, {per:.3g} of a warp to one address on average: they are served "
        f"one "
        f"after the other{said}. Reduce within the warp (shuffles, __reduce_add_sync) or the block first, or "
        "privatise.",
        "memory",
        gain,
        pcs=(worst.pc,),
        evidence="modelled",
        conflicts=("private copies take shared memory",),
        confirm="atomic requests fall by the number of lanes combined",
        derivation="one atomic a warp (or private copy) instead of one a lane",
    )


def _busy_atomics(case: Case) -> Iterator[Advice]:
    """Atomics of a profiled launch, whose addresses nobody kept: the L2's atomic units are busiest."""
    rows = [r for r in case.rows if r.operation == "atomic" and r.space != "shared"]
    now = case.model.cycles.get("atomics", 0.0)
    others = [value for name, value in case.model.cycles.items() if name not in ("atomics", "latency")]
    if not rows or now <= max(others, default=0.0):
        return
    rows.sort(key=lambda r: (-r.lanes * r.requests, r.pc))
    lanes = sum(r.lanes * r.requests for r in rows)
    after = {"atomics": now / 32}
    if "latency" in case.model.cycles:
        after["latency"] = max(0.0, case.model.cycles["latency"] - now)
    yield make(
        case,
        "atomics",
        "Combine before the atomic",
        f"{lanes:,.0f} lanes send atomics, and the L2's atomic units are the busiest part of the memory: "
        f"{now:,.0f} cycles of the launch. Reduce within the warp (shuffles, __reduce_add_sync) or the block "
        "first, or privatise.",
        "memory",
        case.model.gain(**after),
        pcs=tuple(r.pc for r in rows[:4]),
        conflicts=("private copies take shared memory",),
        confirm="lts__d_atomic_input_cycles_active falls",
        derivation="one atomic a warp instead of one a lane",
    )


def _private(case: Case, row: AccessRow) -> tuple[int, float] | None:
    """(addresses of a block's atomics, share of the atomics left if each block adds its own sums once)."""
    if row.space == "shared":
        return None
    addresses = round(distinct_atomics(case.subject, row))
    block = row.lanes * row.requests / max(1, case.subject.result.blocks_counted)
    if not addresses or 4 * addresses > _PRIVATE_BYTES or 2 * addresses > block:
        return None
    # The copies' own atomics go to shared memory, which is some ten times as fast on one address.
    return addresses, max(0.1, addresses / block)


ATOMIC_RULES = (atomics,)

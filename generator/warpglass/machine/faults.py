"""Memory faults as findings: out of bounds, unmapped, misaligned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpglass.machine.bits import Bools, Ints

if TYPE_CHECKING:
    from warpglass.machine.lsu import Access
    from warpglass.machine.scheduler import Machine

__all__ = ["report_faults"]

_SPACES = {0: "global", 1: "shared", 2: "local", 3: "constant"}


def report_faults(
    m: Machine, access: Access, offset: int, inside: Bools, straight: Bools, size: int, pc: int, store: bool
) -> None:
    """Add findings for the lanes of a request that are outside their memory or not aligned to ``size``."""
    index = access.index + offset
    dense = index.ndim == 2
    on = access.on
    lanes = np.arange(on.low * 32, on.high * 32) if dense else on.flat
    index, inside, straight = index.reshape(-1), inside.reshape(-1), straight.reshape(-1)
    space = _SPACES.get(access.space, "generic")
    what = "write" if store else "read"
    own: Ints = access.own.reshape(-1) + offset
    shown = own + m.arena.layout.global_base if access.space in (0, 3) else own
    bad = ~inside
    if bad.any():
        first = int(index[bad][0])
        m.findings.lanes(
            m, f"outside-{store}", lanes[bad], shown[bad], pc,
            kind="memcheck", severity="critical", category="memory",
            message=f"{space} {what} of {size} bytes {_where(m, access.space, first, size)}",
        )  # fmt: skip
    bent = inside & ~straight
    if bent.any():
        m.findings.lanes(
            m, f"misaligned-{store}", lanes[bent], shown[bent], pc,
            kind="memcheck", severity="critical", category="memory",
            message=f"misaligned {space} {what}: the address is no multiple of {size}",
        )  # fmt: skip


def _where(m: Machine, space: int, index: int, size: int) -> str:
    if space == 1:
        return f"outside the block's {m.shared_bytes} bytes of shared memory"
    if space == 2:
        return "outside the thread's local memory"
    below = [r for r in m.arena.regions if r.start <= index]
    near = below[-1] if below else None
    if near is not None and near.given and index - near.end < m.arena.GUARD:
        return f"is out of bounds, {max(index - near.end, 0)} bytes after {near.name} of {near.size} bytes"
    above = next((r for r in m.arena.regions if r.start > index), None)
    if above is not None and above.given and above.start - index <= m.arena.GUARD // 2:
        return f"is out of bounds, {above.start - index} bytes before {above.name}"
    return "at an unmapped address"

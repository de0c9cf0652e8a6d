"""The padding or swizzle that removes bank conflicts, found by trying it on the addresses that were used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from warpglass.analysis.access import AccessRow
from warpglass.machine.access import shared_counts
from warpglass.machine.bits import Bools, Ints
from warpglass.machine.result import RunResult

__all__ = ["Layout", "Remedy", "find_remedy", "requests_of"]

_MOST_REQUESTS = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """Requests of one width: byte offsets ``[n, 32]``, live lanes ``[n, 32]``, bytes a lane."""

    addresses: Ints
    mask: Bools
    size: int

    def waves(self, addresses: Ints) -> int:
        """Wavefronts of the requests at other addresses."""
        return int(shared_counts(addresses, self.size, self.mask).wavefronts.sum())

    @property
    def ideal(self) -> int:
        """The fewest wavefronts."""
        return int(shared_counts(self.addresses, self.size, self.mask).ideal.sum())


@dataclass(frozen=True, slots=True)
class Remedy:
    """After every ``pitch`` bytes ``pad`` more, or with ``pad`` 0 an XOR of the row into units of ``unit``
    bytes. ``before``, ``after`` and ``ideal`` are wavefronts of the requests that were looked at."""

    pitch: int
    pad: int
    unit: int
    before: int
    after: int
    ideal: int
    rows: bool

    def sentence(self) -> str:
        """In words."""
        works = (
            f"{self.before} wavefronts become {self.after} (ideal {self.ideal}) for the accesses looked at"
        )
        if self.pad == 0:
            return (
                f"XOR the row (offset / {self.pitch}) into the column in units of {self.unit} bytes: {works}"
            )
        if self.rows:
            whole = self.pitch + self.pad
            return f"pad rows of {self.pitch} bytes by {self.pad} bytes, to a pitch of {whole}: {works}"
        return f"leave {self.pad} bytes free after every {self.pitch} bytes: {works}"


def requests_of(result: RunResult, rows: Sequence[AccessRow]) -> tuple[Layout, ...]:
    """Requests of shared-memory instructions: traced ones where there are any, and the kept samples."""
    by_size: dict[int, list[tuple[Ints, Bools]]] = {}
    pcs = {row.pc for row in rows}
    for trace in result.traces[:1]:
        a = trace.accesses
        if a is None:
            continue
        seen: Counter[int] = Counter()
        wanted = np.flatnonzero((a.space == 1) & np.isin(trace.pc[a.step.astype(np.int64)], list(pcs)))
        for i in wanted[:20_000].tolist():
            pc = int(trace.pc[int(a.step[i])])
            if seen[pc] >= _MOST_REQUESTS:
                continue
            seen[pc] += 1
            mask = _lanes(int(a.mask[i]))
            spread = np.zeros(32, dtype=np.int64)
            start = int(a.offset[i])
            spread[mask] = a.addresses[start : start + int(mask.sum())].astype(np.int64)
            by_size.setdefault(int(a.size[i]), []).append((spread, mask))
    for row in rows:
        for sample in row.samples:
            if sample.space == "shared":
                by_size.setdefault(sample.size, []).append(
                    (sample.addresses.astype(np.int64), _lanes(sample.mask))
                )
    return tuple(
        Layout(np.stack([a for a, _ in found]), np.stack([m for _, m in found]), size)
        for size, found in sorted(by_size.items())
    )


def _lanes(mask: int) -> Bools:
    return np.array([bool(mask >> lane & 1) for lane in range(32)])


def find_remedy(layouts: Iterable[Layout]) -> Remedy | None:
    """The least padding (else the swizzle) with which the requests need the fewest wavefronts.

    None where nothing halves the excess. Worked example: a float tile[32][32] read by columns has rows of
    128 bytes; 4 bytes of padding take 32 wavefronts to 1.
    """
    found = [layout for layout in layouts if layout.size in (1, 2, 4, 8, 16)]
    if not found:
        return None
    before = sum(layout.waves(layout.addresses) for layout in found)
    ideal = sum(layout.ideal for layout in found)
    unit = max(4, *(layout.size for layout in found))
    base = min(int(layout.addresses[layout.mask].min()) for layout in found)
    base -= base % max(unit, 128)
    pitches = _pitches(found, unit)
    rows = _row_pitches(found, unit)
    best: tuple[int, float, bool, int, int] | None = None
    for pitch in pitches:
        for pad in range(unit, 64 + 1, unit):
            after = sum(
                layout.waves(layout.addresses + (layout.addresses - base) // pitch * pad) for layout in found
            )
            # Among equals: the fewest bytes, then a row of the tile itself, then the shortest.
            key = (after, pad / pitch, pitch not in rows, pitch, pad)
            if best is None or key < best:
                best = key
    swizzle: tuple[int, int] | None = None
    for pitch in pitches:
        if pitch & (pitch - 1) or pitch <= unit:
            continue
        after = sum(layout.waves(_swizzled(layout.addresses, base, pitch, unit)) for layout in found)
        if swizzle is None or after < swizzle[0]:
            swizzle = (after, pitch)
    if (
        best is not None
        and best[0] - ideal <= (before - ideal) / 2
        and (swizzle is None or best[0] <= swizzle[0])
    ):
        return Remedy(best[3], best[4], unit, before, best[0], ideal, not best[2])
    if swizzle is not None and swizzle[0] - ideal <= (before - ideal) / 2:
        return Remedy(swizzle[1], 0, unit, before, swizzle[0], ideal, True)
    return None


def _swizzled(addresses: Ints, base: int, pitch: int, unit: int) -> Ints:
    offset = addresses - base
    row = offset // pitch % min(pitch // unit, 32)
    moved: Ints = (offset ^ (row * unit)) + base
    return moved


def _row_pitches(layouts: Sequence[Layout], unit: int) -> list[int]:
    """Distances between a request's lanes and between requests of one lane, the commonest first: rows."""
    steps: Counter[int] = Counter()
    for layout in layouts:
        for row, mask in zip(layout.addresses, layout.mask, strict=True):
            steps.update(np.diff(np.unique(row[mask])).tolist())
        if len(layout.addresses) > 1:
            lane = layout.addresses[:, 0][layout.mask[:, 0]]
            steps.update(np.abs(np.diff(lane)).tolist())
    return [step for step, _ in steps.most_common() if step >= 64 and step % unit == 0][:4]


def _pitches(layouts: Sequence[Layout], unit: int) -> list[int]:
    powers = [size for size in (128, 256, 512, 1024, 2048, 4096) if size % unit == 0]
    return list(dict.fromkeys([*_row_pitches(layouts, unit), *powers]))

"""Pictures of one request: which lane touches which sector, or which word of which bank in which wavefront."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

__all__ = ["banks", "draw", "sectors"]

_LANE = 20
_LEFT = 58
#: More sectors than this are not drawn one by one.
MAX_SECTORS = 32
MAX_WAVEFRONTS = 32


def _live(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def sectors(mask: int, addresses: Sequence[int], size: int) -> list[tuple[int, list[int]]]:
    """Distinct 32-byte sectors in address order, each with the lanes that touch it."""
    found: dict[int, list[int]] = {}
    for lane in _live(mask):
        for sector in range(addresses[lane] // 32, (addresses[lane] + size - 1) // 32 + 1):
            found.setdefault(sector, []).append(lane)
    return sorted(found.items())


def banks(
    mask: int, addresses: Sequence[int], size: int
) -> tuple[list[tuple[int, int, int, list[int]]], int]:
    """Cells (wavefront, bank, word, lanes) and the number of wavefronts.

    Lanes on one word share it, several words of one bank follow one another; 64-bit accesses go in halves of
    the warp, 128-bit ones in quarters (docs: counter rules).
    """
    step = 32 if size <= 4 else 16 if size == 8 else 8
    cells: list[tuple[int, int, int, list[int]]] = []
    wavefronts = 0
    for start in range(0, 32, step):
        words: dict[int, list[int]] = {}
        for lane in range(start, start + step):
            if mask >> lane & 1:
                for word in range(addresses[lane] // 4, (addresses[lane] + size - 1) // 4 + 1):
                    words.setdefault(word, []).append(lane)
        depth = [0] * 32
        for word, lanes in sorted(words.items()):
            cells.append((wavefronts + depth[word % 32], word % 32, word, lanes))
            depth[word % 32] += 1
        wavefronts += max(depth)
    return cells, wavefronts


def draw(sample: Mapping[str, Any]) -> Markup | None:
    """The picture that fits the sample's space; None for spaces without one."""
    addresses = [int(a) for a in sample["addresses"]]
    mask, size = int(sample["mask"]), int(sample["size"])
    if not mask:
        return None
    if sample.get("space") == "shared":
        return _bank_picture(mask, addresses, size)
    if sample.get("space") in ("global", "generic"):
        return _sector_picture(mask, addresses, size, int(sample.get("base") or 0))
    return None


def _open(width: float, height: float, label: str) -> str:
    return f'<svg class="fig fig-access" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">'


def _sector_picture(mask: int, addresses: list[int], size: int, base: int) -> Markup:
    found = sectors(mask, addresses, size)
    shown = found[:MAX_SECTORS]
    width = _LEFT + 32 * _LANE + 4
    room = 32 * _LANE / max(1, len(shown))
    parts = [_open(width, 150, f"{mask.bit_count()} lanes touch {len(found)} sectors of 32 bytes")]
    parts.append('<text class="t" x="0" y="15">lane</text><text class="t" x="0" y="125">sector</text>')
    for n, (sector, lanes) in enumerate(shown):
        x = _LEFT + n * room + room / 2
        parts += [
            f'<line class="link" x1="{_LEFT + lane * _LANE + _LANE / 2:g}" y1="20" x2="{x:g}" y2="110"/>'
            for lane in lanes
        ]
        parts.append(
            f'<rect class="sector" x="{_LEFT + n * room + 1:g}" y="110" width="{max(room - 2, 1):g}" height="20" rx="2"/>'
        )
        if room >= 36 or n == 0:
            parts.append(
                f'<text class="t" x="{x:g}" y="145" text-anchor="middle">+{sector * 32 - base:#x}</text>'
            )
    for lane in range(32):
        on = mask >> lane & 1
        x = _LEFT + lane * _LANE
        parts.append(
            f'<rect class="lane{"" if on else " off"}" x="{x + 1}" y="2" width="{_LANE - 2}" height="18" rx="2"/>'
            f'<text class="lane-t{"" if on else " off"}" x="{x + _LANE / 2:g}" y="15" text-anchor="middle">{lane}</text>'
        )
    if len(found) > len(shown):
        parts.append(
            f'<text class="t" x="{width - 4}" y="145" text-anchor="end">and {len(found) - len(shown)} more</text>'
        )
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers and fixed words only


def _bank_picture(mask: int, addresses: list[int], size: int) -> Markup:
    cells, wavefronts = banks(mask, addresses, size)
    rows = min(wavefronts, MAX_WAVEFRONTS)
    width, height = _LEFT + 32 * _LANE + 4, 22 + rows * 18 + 16
    parts = [_open(width, height, f"{mask.bit_count()} lanes, {wavefronts} wavefronts by bank")]
    parts.append('<text class="t" x="0" y="14">bank</text>')
    parts += [
        f'<text class="t" x="{_LEFT + bank * _LANE + _LANE / 2:g}" y="14" text-anchor="middle">{bank}</text>'
        for bank in range(32)
    ]
    for wavefront in range(rows):
        y = 20 + wavefront * 18
        parts.append(f'<text class="t" x="0" y="{y + 13}">wave {wavefront + 1}</text>')
        parts.append(f'<rect class="bank-row" x="{_LEFT}" y="{y + 1}" width="{32 * _LANE}" height="16"/>')
    for wavefront, bank, _, lanes in cells:
        if wavefront >= rows:
            continue
        x, y = _LEFT + bank * _LANE, 20 + wavefront * 18
        name = str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}×"
        parts.append(
            f'<rect class="bank{" shared-word" if len(lanes) > 1 else ""}" x="{x + 1}" y="{y + 1}" '
            f'width="{_LANE - 2}" height="16" rx="2"/>'
            f'<text class="lane-t" x="{x + _LANE / 2:g}" y="{y + 13}" text-anchor="middle">{name}</text>'
        )
    note = "a number is the lane served; n× is one word read by n lanes"
    if wavefronts > rows:
        note = f"and {wavefronts - rows} more wavefronts; {note}"
    parts.append(f'<text class="t" x="{_LEFT}" y="{height - 3}">{note}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers and fixed words only

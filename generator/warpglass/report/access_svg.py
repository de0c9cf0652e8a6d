"""Pictures of one request: which lane touches which sector, or which bank serves whom in which wavefront."""

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


def _names(items: Sequence[tuple[float, str]], y: float, css: str) -> str:
    """Centred labels as one element: a picture of 32 lanes must stay small."""
    spans = "".join(f'<tspan x="{x:g}">{text}</tspan>' for x, text in items)
    return f'<text class="{css}" y="{y:g}" text-anchor="middle">{spans}</text>' if items else ""


def _boxes(places: Sequence[tuple[float, float]], width: float, height: float, css: str) -> str:
    """Boxes of one size as one path."""
    path = "".join(f"M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z" for x, y in places)
    return f'<path class="{css}" d="{path}"/>' if places else ""


def _lane_x(lane: int) -> float:
    return _LEFT + lane * _LANE + _LANE / 2


def _lanes(mask: int) -> str:
    parts = []
    for on, css in ((1, "lane"), (0, "lane off")):
        lanes = [lane for lane in range(32) if mask >> lane & 1 == on]
        parts.append(_boxes([(_LEFT + lane * _LANE + 1, 2) for lane in lanes], _LANE - 2, 18, css))
        parts.append(
            _names([(_lane_x(lane), str(lane)) for lane in lanes], 15, css.replace("lane", "lane-t"))
        )
    return "".join(parts)


def _sector_picture(mask: int, addresses: list[int], size: int, base: int) -> Markup:
    found = sectors(mask, addresses, size)
    shown = found[:MAX_SECTORS]
    width = _LEFT + 32 * _LANE + 4
    room = 32 * _LANE / max(1, len(shown))
    centres = [_LEFT + n * room + room / 2 for n in range(len(shown))]
    links = "".join(
        f"M{_lane_x(lane):g} 20L{x:.4g} 110"
        for x, (_, lanes) in zip(centres, shown, strict=True)
        for lane in lanes
    )
    offsets = [
        (round(x, 1), f"+{sector * 32 - base:#x}")
        for n, (x, (sector, _)) in enumerate(zip(centres, shown, strict=True))
        if room >= 36 or n == 0
    ]
    parts = [
        _open(width, 150, f"{mask.bit_count()} lanes touch {len(found)} sectors of 32 bytes"),
        '<text class="t" x="0" y="15">lane</text><text class="t" x="0" y="125">sector</text>',
        f'<path class="link" d="{links}"/>',
        _boxes(
            [(round(_LEFT + n * room + 1, 1), 110) for n in range(len(shown))],
            round(max(room - 2, 1), 1),
            20,
            "sector",
        ),
        _names(offsets, 145, "t"),
        _lanes(mask),
    ]
    if len(found) > len(shown):
        more = f"and {len(found) - len(shown)} more"
        parts.append(f'<text class="t" x="{width - 4}" y="145" text-anchor="end">{more}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers and fixed words only


def _bank_picture(mask: int, addresses: list[int], size: int) -> Markup:
    cells, wavefronts = banks(mask, addresses, size)
    rows = min(wavefronts, MAX_WAVEFRONTS)
    width, height = _LEFT + 32 * _LANE + 4, 22 + rows * 18 + 16
    parts = [
        _open(width, height, f"{mask.bit_count()} lanes, {wavefronts} wavefronts by bank"),
        '<text class="t" x="0" y="14">bank</text>',
        _names([(_lane_x(bank), str(bank)) for bank in range(32)], 14, "t"),
        _boxes([(_LEFT, 21 + wave * 18) for wave in range(rows)], 32 * _LANE, 16, "bank-row"),
    ]
    shown = [cell for cell in cells if cell[0] < rows]
    for several, css in ((False, "bank"), (True, "bank shared-word")):
        places = [
            (_LEFT + bank * _LANE + 1, 21 + wave * 18)
            for wave, bank, _, lanes in shown
            if (len(lanes) > 1) is several
        ]
        parts.append(_boxes(places, _LANE - 2, 16, css))
    for wave in range(rows):
        y = 33 + wave * 18
        mine = [(bank, lanes) for at, bank, _, lanes in shown if at == wave]
        names = [
            (_lane_x(bank), str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}×") for bank, lanes in mine
        ]
        parts.append(f'<text class="t" x="0" y="{y}">wave {wave + 1}</text>{_names(names, y, "lane-t")}')
    note = "a number is the lane served; n× is one word read by n lanes"
    if wavefronts > rows:
        note = f"and {wavefronts - rows} more wavefronts; {note}"
    parts.append(f'<text class="t" x="{_LEFT}" y="{height - 3}">{note}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers and fixed words only

"""Places for the words of a figure so that none lies on another: first come, first served."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Labels", "Spot"]

#: Width of a letter and height of a line of the figures' text, in their units; a little more than drawn.
_LETTER, _LINE = 6.6, 14.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a text starts, ends or is centred: its baseline, and its ``text-anchor``."""

    x: float
    y: float
    anchor: str


@dataclass(slots=True)
class Labels:
    """What is taken of the area ``left, top, right, bottom``."""

    left: float
    top: float
    right: float
    bottom: float
    taken: list[Box] = field(default_factory=list)

    def block(self, x: float, y: float, width: float, height: float) -> None:
        """Keep words off a mark."""
        self.taken.append((x, y, x + width, y + height))

    def _free(self, boxes: list[Box]) -> bool:
        inside = all(
            self.left <= a and b >= self.top and c <= self.right and d <= self.bottom for a, b, c, d in boxes
        )
        return inside and not any(
            a < z and c > x and b < w and d > y for a, b, c, d in boxes for x, y, z, w in self.taken
        )

    def _take(self, spot: Spot, boxes: list[Box]) -> Spot | None:
        if not self._free(boxes):
            return None
        self.taken += boxes
        return Spot(round(spot.x, 1), round(spot.y, 1), spot.anchor)

    def at(self, text: str, x: float, y: float, anchor: str) -> Spot | None:
        """A level text with this baseline, None where it would lie on another."""
        size = _LETTER * len(text)
        start = {"start": x, "middle": x - size / 2, "end": x - size}[anchor]
        return self._take(Spot(x, y, anchor), [(start, y - _LINE + 3, start + size, y + 3)])

    def beside(self, text: str, x: float, y: float) -> Spot | None:
        """A level text above, below or beside a mark, whichever is free first."""
        for dx, dy, anchor in (
            (0, -9, "middle"), (0, 19, "middle"), (9, 4, "start"), (-9, 4, "end"), (0, -24, "middle"),
            (0, 34, "middle"),
        ):  # fmt: skip
            spot = self.at(text, x + dx, y + dy, anchor)
            if spot is not None:
                return spot
        return None

    def along(
        self, text: str, start: tuple[float, float], end: tuple[float, float], degrees: float
    ) -> Spot | None:
        """A text along a line, just above it; None where the line is too short or everything is taken."""
        size, angle = _LETTER * len(text), math.radians(degrees)
        length = math.hypot(end[0] - start[0], end[1] - start[1])
        if length < size:
            return None
        ux, uy = math.cos(angle), math.sin(angle)
        # Off the line by the depth of a letter, to the left of its direction.
        nx, ny = uy * 5, -ux * 5
        for share in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8):
            middle = share * length
            if middle < size / 2 or length - middle < size / 2:
                continue
            x, y = start[0] + ux * middle + nx, start[1] + uy * middle + ny
            pieces = max(1, math.ceil(size / 10))
            boxes = [
                (x + ux * t - 6, y + uy * t - 10, x + ux * t + 6, y + uy * t + 3)
                for t in (size * (i / pieces - 0.5) for i in range(pieces + 1))
            ]
            spot = self._take(Spot(x, y, "middle"), boxes)
            if spot is not None:
                return spot
        return None

"""Global-memory regions: given arrays, module variables, and default buffers made up on first touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpglass.machine.bits import Ints

if TYPE_CHECKING:
    from warpglass.machine.memory import Arena

__all__ = ["MemoryLimitError", "Region", "seeded_floats"]

PAGE = 4096
#: Pages that are filled in one go: bounds the numbers in flight to tens of megabytes.
_AT_ONCE = 1024


class MemoryLimitError(Exception):
    """Materialising would exceed the memory limit; the machine turns it into a stop of the run."""


def seeded_floats(seed: int, elements: Ints, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Floats in [0, 1) for the numbers ``elements`` of a region's elements, any shape.

    A value depends on the seed and the element alone, never on the order of touching. The mixing is the
    finaliser of SplitMix64 (Steele, Lea, Flood 2014).
    """
    with np.errstate(over="ignore"):
        mixed = elements.astype(np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    if dtype == np.float64:
        return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if dtype == np.float16:
        return ((mixed >> np.uint64(54)).astype(np.float32) * np.float32(2.0**-10)).astype(np.float16)
    return ((mixed >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)).astype(dtype)


class Region:
    """A range ``[start, end)`` of the arena with its own content rule.

    ``given`` says that the extent was given, so that accesses beyond it are the kernel's fault.
    ``default`` says that the content was made up. ``fill`` is the float dtype that default content has, or
    None for zeros. ``low``/``high`` bound the bytes that were accessed.
    """

    __slots__ = (
        "default", "dtype", "end", "fill", "given", "high", "kind", "low", "name", "pages", "ready", "seed",
        "start", "stored",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        start: int,
        size: int,
        *,
        kind: str = "buffer",
        given: bool = False,
        default: bool = False,
        dtype: str = "uint8",
        fill: np.dtype[Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.name = name
        self.start = start
        self.end = start + size
        self.kind = kind
        self.given = given
        self.default = default
        self.dtype = dtype
        self.fill = fill
        self.seed = seed
        #: Interval the kernel has stored to.
        self.stored = (self.end, start)
        self.low = self.end
        self.high = start
        #: Interval known to be materialised, the fast path of every access.
        self.ready = (start, self.end) if not default else (start, start)
        self.pages = np.zeros((size + PAGE - 1) // PAGE, dtype=np.bool_) if default else None

    @property
    def size(self) -> int:
        """Bytes of the region."""
        return self.end - self.start

    def note(self, reads: dict[int, str], low: int, high: int, pc: int, store: bool) -> None:
        """Remember that instruction ``pc`` read made-up content, or that the kernel made its own there."""
        if store:
            self.stored = (min(low, self.stored[0]), max(high, self.stored[1]))
        elif pc not in reads and not (low >= self.stored[0] and high <= self.stored[1]):
            reads[pc] = self.name

    def span(self, arena: Arena, low: int, high: int) -> None:
        """Note an access to ``[low, high)`` that is dense enough to be materialised as a whole."""
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        if low >= self.ready[0] and high <= self.ready[1]:
            return
        # A little ahead, so that a kernel that walks its buffer does not come back for every page.
        first = (low - self.start) // PAGE
        last = min((high - self.start + PAGE - 1) // PAGE + 16, (self.size + PAGE - 1) // PAGE)
        self._make(arena, np.arange(first, last))
        bottom, top = self.start + first * PAGE, min(self.start + last * PAGE, self.end)
        if bottom <= self.ready[1] and top >= self.ready[0]:
            self.ready = (min(bottom, self.ready[0]), max(top, self.ready[1]))
        elif top - bottom > self.ready[1] - self.ready[0]:
            self.ready = (bottom, top)

    def touch(self, arena: Arena, offsets: Ints, size: int) -> None:
        """Materialise the pages of accesses at arena ``offsets``."""
        low, high = int(offsets.min()), int(offsets.max()) + size
        if not self.default or high - low <= 64 * PAGE or high - low <= 4 * size * offsets.size:
            self.span(arena, low, high)
            return
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        if low >= self.ready[0] and high <= self.ready[1]:
            return
        if self.pages is not None:
            # Nearly always all are there already: looking that up is far cheaper than sorting pages out.
            pages = (offsets - self.start) // PAGE
            self._make(arena, np.unique(pages[~self.pages[pages]]))

    def _make(self, arena: Arena, pages: Ints) -> None:
        if self.pages is None:
            return
        fresh = pages[~self.pages[pages]]
        if fresh.size == 0:
            return
        self.pages[fresh] = True
        arena.materialised += fresh.size * PAGE
        if arena.materialised > arena.limit:
            raise MemoryLimitError(
                f"more than {arena.limit >> 20} MiB of default content would be needed ({self.name})"
            )
        if self.fill is None:
            return
        each = PAGE // self.fill.itemsize
        whole = fresh[fresh < self.size // PAGE]
        by_page = arena.views[1][self.start : self.start + self.size // PAGE * PAGE].reshape(-1, PAGE)
        for begin in range(0, whole.size, _AT_ONCE):
            some = whole[begin : begin + _AT_ONCE]
            elements = some[:, None] * each + np.arange(each)
            by_page[some] = seeded_floats(self.seed, elements, self.fill).view(np.uint8)
        if whole.size < fresh.size:  # the last page of a region that ends within it
            first = self.size // PAGE * each
            values = seeded_floats(self.seed, np.arange(first, first + each), self.fill).view(np.uint8)
            base = self.start + self.size // PAGE * PAGE
            arena.views[1][base : self.end] = values[: self.end - base]

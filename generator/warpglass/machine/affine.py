"""Values as functions of the block index: the classes and the data-flow that any instruction set shares.

A register is *uniform* (the same for every block), *affine* (a block-independent part plus block-independent
multiples of the block index), or *free* (loaded, a clock, a product of two affine values …). See
:mod:`warpglass.machine.sampling` for what follows from a kernel without free branches and addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from warpglass.flow.graph import Block, Cfg

__all__ = ["AFFINE", "FREE", "UNIFORM_VALUE", "entry_classes"]

#: From the strongest to the weakest claim; the worst of several is their maximum.
UNIFORM_VALUE, AFFINE, FREE = 0, 1, 2

Name = TypeVar("Name", bound=Hashable)


def entry_classes(
    cfg: Cfg, through: Callable[[Block, Mapping[Name, int]], Mapping[Name, int]]
) -> dict[int, Mapping[Name, int]]:
    """Classes of the registers at the start of every block that can be reached.

    ``through`` gives the classes after a block from those before it; a register not named is uniform.
    """
    entry: dict[int, Mapping[Name, int]] = {0: {}} if cfg.blocks else {}
    work = list(entry)
    while work:
        block = cfg.blocks[work.pop()]
        after = through(block, entry[block.index])
        for successor in block.successors:
            known = entry.get(successor)
            joined = after if known is None else _joined(known, after)
            if known is None or joined != known:
                entry[successor] = joined
                work.append(successor)
    return entry


def _joined(a: Mapping[Name, int], b: Mapping[Name, int]) -> dict[Name, int]:
    return {r: max(a.get(r, UNIFORM_VALUE), b.get(r, UNIFORM_VALUE)) for r in (*a, *b)}

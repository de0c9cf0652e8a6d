"""Values as functions of the block index: the classes and the data-flow that any instruction set shares.

A register is *uniform* (the same for every block), *affine* (a block-independent part plus block-independent
multiples of the block index), or *free* (loaded, a clock, a product of two affine values …). See
:mod:`warpglass.machine.sampling` for what follows from a kernel without free branches and addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from warpglass.flow.graph import Block, Cfg

__all__ = ["AFFINE", "FREE", "UNIFORM_VALUE", "entry_classes", "first_problem", "special_class"]

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


def special_class(name: str, block: tuple[str, ...], changing: tuple[str, ...]) -> int:
    """Class of a special register: ``block`` and ``changing`` are how the names begin of those that hold the
    block index and of those that differ from run to run."""
    if name.startswith(block):
        return AFFINE
    return FREE if name.startswith(changing) else UNIFORM_VALUE


def first_problem(
    cfg: Cfg,
    step: Callable[[int, dict[Name, int]], None],
    problem: Callable[[int, dict[Name, int]], str | None],
) -> str | None:
    """What the first instruction is not affine in, in words, None where all are.

    ``step`` goes past an instruction, named by its index, and changes the classes; ``problem`` judges it by
    the classes before it.
    """

    def through(block: Block, classes: Mapping[Name, int]) -> Mapping[Name, int]:
        after = dict(classes)
        for index in range(block.start, block.end):
            step(index, after)
        return after

    for number, classes in sorted(entry_classes(cfg, through).items()):
        state = dict(classes)
        for index in range(cfg.blocks[number].start, cfg.blocks[number].end):
            found = problem(index, state)
            if found is not None:
                return found
            step(index, state)
    return None


def _joined(a: Mapping[Name, int], b: Mapping[Name, int]) -> dict[Name, int]:
    return {r: max(a.get(r, UNIFORM_VALUE), b.get(r, UNIFORM_VALUE)) for r in (*a, *b)}

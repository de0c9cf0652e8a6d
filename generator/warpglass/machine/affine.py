"""Values as functions of the block index: the classes and the data-flow that any instruction set shares.

A register is *uniform* (the same for every block), *affine* (a block-independent part plus block-independent
multiples of the block index), or *free* (loaded, a clock, a product of two affine values …). See
:mod:`warpglass.machine.sampling` for what follows from a kernel without free branches and addresses.

Compilers write a sum as an OR where no bit is set in both terms. To know such an OR for the sum that it is,
a value also tells which of its bits may be set in any block and lane.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from warpglass.flow.graph import Block, Cfg

__all__ = [
    "AFFINE", "FREE", "UNIFORM_VALUE", "Value", "constant", "disjoint", "either", "entry_values",
    "first_problem", "masked", "merged", "negated", "scaled", "shifted_down", "special_value", "summed",
    "worst_of",
]  # fmt: skip

#: From the strongest to the weakest claim; the worst of several is their maximum.
UNIFORM_VALUE, AFFINE, FREE = 0, 1, 2
_ALL = (1 << 64) - 1


class Value(NamedTuple):
    """What is known of a register: its class, ``may``, the bits of it that are not 0 for certain, and
    ``must``, those that are 1."""

    cls: int = UNIFORM_VALUE
    may: int = _ALL
    must: int = 0

    def cut(self, bits: int) -> Value:
        """The low bits of a value: those of an affine one are affine, as they wrap around."""
        kept = (1 << bits) - 1
        return Value(self.cls, self.may & kept, self.must & kept)


#: What a register holds of which nothing was said.
_PLAIN = Value()

Name = TypeVar("Name", bound=Hashable)


def constant(number: int) -> Value:
    """A constant, in two's complement."""
    return Value(UNIFORM_VALUE, number & _ALL, number & _ALL)


def worst_of(values: Iterable[Value]) -> int:
    """The weakest class of some values."""
    return max((value.cls for value in values), default=UNIFORM_VALUE)


def _low(may: int) -> int:
    """The lowest bit that may be set, 64 where none may."""
    return (may & -may).bit_length() - 1 if may else 64


def _from(low: int, end: int = 64) -> int:
    """Bits ``low`` to ``end``, that one excluded."""
    return ((1 << min(end, 64)) - 1) & ~((1 << min(low, 64)) - 1)


def negated(value: Value) -> Value:
    """A value with the other sign: a multiple of the same power of two."""
    return Value(value.cls, _from(_low(value.may)))


def summed(*terms: Value) -> Value:
    """The sum of some terms: a carry goes one bit further than the highest of two terms."""
    may = 0
    for term in terms:
        both = may | term.may
        may = both if not may & term.may else _from(_low(both), both.bit_length() + 1)
    return Value(worst_of(terms), may)


def scaled(value: Value, factor: Value) -> Value:
    """A product, affine where one factor at least is the same for all blocks."""
    classes = (value.cls, factor.cls)
    cls = max(classes) if UNIFORM_VALUE in classes else FREE
    if not value.may or not factor.may:
        return Value(cls, 0)
    for one, other in ((value, factor), (factor, value)):
        if other.may.bit_count() == 1:  # a power of two, or 0
            return Value(cls, one.may << _low(other.may) & _ALL)
    end = value.may.bit_length() + factor.may.bit_length()
    return Value(cls, _from(_low(value.may) + _low(factor.may), end))


def shifted_down(value: Value, places: int) -> Value:
    """The quotient by a power of two: of a value that differs from block to block it is affine no more."""
    return Value(value.cls if value.cls == UNIFORM_VALUE else FREE, value.may >> places)


def masked(value: Value, mask: Value) -> Value:
    """A bitwise AND: one term where the other has all of its bits, else affine no more where one differs."""
    for one, other in ((value, mask), (mask, value)):
        if not one.may & ~other.must:
            return one
    cls = worst_of((value, mask))
    return Value(cls if cls == UNIFORM_VALUE else FREE, value.may & mask.may)


def merged(above: Value, below: Value, mask: int) -> Value:
    """Bits of ``above`` where ``mask`` has one, of ``below`` elsewhere."""
    return disjoint(masked(above, constant(mask)), masked(below, constant(~mask)))


def disjoint(*terms: Value) -> Value:
    """A bitwise OR (or XOR): the sum where no bit may be set in two terms, else free where a term differs."""
    cls, may, apart = worst_of(terms), 0, True
    for term in terms:
        apart = apart and not may & term.may
        may |= term.may
    return Value(FREE if cls == AFFINE and not apart else cls, may)


def either(a: Value, b: Value) -> Value:
    """What is known of a register that holds one of two values."""
    return Value(max(a.cls, b.cls), a.may | b.may, a.must & b.must)


def entry_values(
    cfg: Cfg, through: Callable[[Block, Mapping[Name, Value]], Mapping[Name, Value]]
) -> dict[int, Mapping[Name, Value]]:
    """Values of the registers at the start of every block that can be reached.

    ``through`` gives the values after a block from those before it; a register not named is uniform. Names
    that are tuples, ``(register, …)``, hold within a block only: what is written and read under one guard.
    """
    entry: dict[int, Mapping[Name, Value]] = {0: {}} if cfg.blocks else {}
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


def special_value(name: str, block: tuple[str, ...], changing: tuple[str, ...]) -> Value:
    """A special register: ``block`` and ``changing`` are how the names begin of those that hold the block
    index and of those that differ from run to run."""
    if name.startswith(block):
        return Value(AFFINE, (1 << 31) - 1)
    if name.startswith(changing):
        return Value(FREE)
    # A block has at most 1024 threads along an axis, a warp 32 (CUDA C++ Programming Guide, "Compute
    # Capabilities").
    plain = name.lstrip("%").upper().removeprefix("SR_")
    return Value(UNIFORM_VALUE, 1023 if plain.startswith("TID") else 31 if plain == "LANEID" else _ALL)


def first_problem(
    cfg: Cfg,
    step: Callable[[int, dict[Name, Value]], None],
    problem: Callable[[int, dict[Name, Value]], str | None],
) -> str | None:
    """What the first instruction is not affine in, in words, None where all are.

    ``step`` goes past an instruction, named by its index, and changes the values; ``problem`` judges it by
    the values before it.
    """

    def through(block: Block, values: Mapping[Name, Value]) -> Mapping[Name, Value]:
        after = dict(values)
        for index in range(block.start, block.end):
            step(index, after)
        return {name: value for name, value in after.items() if not isinstance(name, tuple)}

    for number, values in sorted(entry_values(cfg, through).items()):
        state = dict(values)
        for index in range(cfg.blocks[number].start, cfg.blocks[number].end):
            found = problem(index, state)
            if found is not None:
                return found
            step(index, state)
    return None


def _joined(a: Mapping[Name, Value], b: Mapping[Name, Value]) -> dict[Name, Value]:
    return {r: either(a.get(r, _PLAIN), b.get(r, _PLAIN)) for r in (*a, *b)}

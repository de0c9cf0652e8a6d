"""Which instructions of a kernel execute equally often whatever its arguments and the memory hold.

A register is *tainted* that comes of a load, of a kernel parameter, of a clock, or of code that runs under a
tainted condition. A block of code is *conditional* between a tainted branch and the place where its ways meet
again (its immediate post-dominator).
"""

from __future__ import annotations

from warpglass.flow.sass import sass_cfg
from warpglass.machine.sass_constants import bank0_layout
from warpglass.sass.defuse import defuse
from warpglass.sass.model import Function, Instruction
from warpglass.sass.operands import Constant, SpecialRegister

LOADS = frozenset({
    "LDG", "LD", "LDL", "LDS", "LDSM", "ATOM", "ATOMG", "ATOMS", "TEX", "TLD", "SULD", "B2R", "SYNCS",
})  # fmt: skip
BANK_LOADS = frozenset({"LDC", "ULDC", "LDCU"})
CHANGING = ("CLOCK", "GLOBALTIMER", "SMID", "VIRTUALSMID", "VIRTID")


def conditional(function: Function, sm: int, *, block_index: bool) -> list[bool]:
    """One bool an instruction: its count depends on arguments or memory.

    With ``block_index`` also whether it depends on which block this is.
    """
    code = [(i, defuse(i, sm)) for i in function.instructions]
    cfg = sass_cfg(function)
    blocks = cfg.blocks
    params = bank0_layout(sm, function.param_base).params
    after = postdominators([tuple(b.successors) for b in blocks], [b.leaves for b in blocks])
    maybe = [False] * len(blocks)
    tainted: set[int] = set()
    while True:
        before = len(tainted), sum(maybe)
        for index, block in enumerate(blocks):
            for instruction, use in code[block.start : block.end]:
                source = seeded(instruction, params, block_index) or maybe[index]
                if source or tainted & set(use.reads):
                    tainted |= set(use.writes)
            last, use = code[block.end - 1]
            decided = bool(tainted & set(use.reads)) or seeded(last, params, block_index)
            if decided and (len(block.successors) != 1 or last.base in ("EXIT", "CALL", "RET", "BRX")):
                mark(index, blocks, after[index], maybe)
        if before == (len(tainted), sum(maybe)):
            break
    found = [True] * len(code)
    for index, block in enumerate(blocks):
        for at in range(block.start, block.end):
            found[at] = maybe[index]
    return found


def seeded(instruction: Instruction, params: int, block_index: bool) -> bool:
    """Whether an instruction's result comes from outside by itself."""
    if instruction.base in LOADS:
        return True
    for operand in instruction.operands:
        if isinstance(operand, SpecialRegister):
            if operand.name.startswith(CHANGING) or (block_index and operand.name.startswith("CTAID")):
                return True
        elif isinstance(operand, Constant):
            if operand.bank != 0:
                continue  # the image's own constants
            if operand.base is not None or operand.offset + 8 > params:
                return True
    return False


def mark(index: int, blocks: object, meeting: set[int], maybe: list[bool]) -> None:
    """Mark what lies between a branch and where its ways meet again."""
    work = list(blocks[index].successors)  # type: ignore[index]
    seen: set[int] = set()
    while work:
        at = work.pop()
        if at in seen or at in meeting:
            continue
        seen.add(at)
        maybe[at] = True
        work += blocks[at].successors  # type: ignore[index]


def postdominators(successors: list[tuple[int, ...]], leaves: list[bool]) -> list[set[int]]:
    """Strict post-dominators of every block; a guarded EXIT leaves and goes on."""
    count = len(successors)
    whole = set(range(count))
    sets = [set(whole) for _ in range(count)]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(count)):
            onwards = [sets[s] for s in successors[at]]
            if leaves[at]:
                onwards.append(set())
            new = (set.intersection(*onwards) if onwards else set()) | {at}
            if new != sets[at]:
                sets[at], changed = new, True
    return [s - {at} for at, s in enumerate(sets)]

"""Fixed-latency stalls of the machine code beyond what dependences need, and where they could be tightened.

Of each basic block: an instruction may give up stall cycles as long as every fixed-latency result is still
read no earlier than the architecture's table says, and its own pipe can take the next instruction. What no
table knows is left as it is. Figures come from this kernel's control fields and ``gpu/latencies.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpglass import sass
from warpglass.analysis.listing import Listing
from warpglass.gpu import Arch, fixed_latencies
from warpglass.sass.defuse import DefUse, defuse, register_name

__all__ = ["Tightening", "need_of", "stall_histogram", "tightenings"]

#: Opcodes whose stall is about something else than the readers of a result.
_KEPT_KINDS = frozenset(
    {
        "branch",
        "barrier",
        "exit",
        "call",
        "control",
        "tensor",
        "double",
        "async",
        "half",
        "load",
        "store",
        "atomic",
    }
)
#: The table holds the least distance that was seen; some readers need a cycle more than others.
_MARGIN = 1
#: A guard or a branch reads a predicate 12 to 13 cycles after its comparison, an operand may read it after 4;
#: the table holds the least of both. What the assembler leaves to guards (rows ISETP.GT.U32.OR and
#: FSETP.GEU.FTZ.AND of ``gpu/latencies.toml``) is never shortened.
_PREDICATE = 13
_RATES = {
    "fpu": "fp32",
    "alu": "int_add",
    "predicate": "int_add",
    "move": "int_add",
    "sfu": "sfu",
    "convert": "conv_other",
}
_FARTHEST = 24
_FMA_PIPE = frozenset({"FFMA", "FMUL", "FADD", "IMAD", "IDP"})
_WIDE_PRODUCT = 4


@dataclass(frozen=True, slots=True)
class Tightening:
    """``pc`` stalls ``stall`` cycles where ``needed`` would do; ``reader`` is the first instruction that
    reads the result, ``distance`` cycles away. ``before``/``after`` are lines in CuAssembler's notation."""

    pc: int
    stall: int
    needed: int
    reader: int | None
    distance: int | None
    before: str
    after: str

    @property
    def saved(self) -> int:
        """Cycles saved each time."""
        return self.stall - self.needed

    def sentence(self) -> str:
        """In words: ``FFMA stalls 4, nothing depends on it before 7``."""
        opcode = self.before.split("] ", 1)[-1].split()[
            0 if not self.before.split("] ", 1)[-1].startswith("@") else 1
        ]
        if self.reader is None:
            return f"{opcode} stalls {self.stall}, nothing in its block depends on it"
        if self.distance is not None and self.distance <= self.stall:
            return f"{opcode} stalls {self.stall}, its reader finds the result after {self.needed}"
        return f"{opcode} stalls {self.stall}, nothing depends on it before {self.distance}"


def stall_histogram(function: sass.Function, pcs: tuple[int, ...]) -> Mapping[str, tuple[int, int]]:
    """Opcode base to (instructions, stall cycles) of some instructions."""
    out: dict[str, tuple[int, int]] = {}
    for pc in pcs:
        item = function.instructions[pc]
        if item.control is not None:
            count, cycles = out.get(item.base, (0, 0))
            out[item.base] = (count + 1, cycles + item.control.stall)
    return dict(sorted(out.items(), key=lambda entry: -entry[1][1]))


def need_of(table: Mapping[tuple[str, str], int], opcode: str, register: str) -> int | None:
    """Cycles that a result needs, by the longest prefix of the opcode that the table knows."""
    kind = "UP" if register.startswith("UP") else "UR" if register.startswith("UR") else register[0]
    parts = opcode.split(".")
    for length in range(len(parts), 0, -1):
        found = table.get((".".join(parts[:length]), kind))
        if found is not None:
            return max(found, _PREDICATE) if kind in ("P", "UP") else found
    return None


def _interval(machine: Arch, kind: str) -> int:
    """Cycles until a scheduler's share of a pipe takes the next warp instruction (arXiv:1903.07486, 4.2)."""
    rate = getattr(machine, _RATES.get(kind, ""), None)
    return max(1, -(-32 * 4 // rate)) if rate else 2


def _apart(machine: Arch, item: sass.Instruction, kind: str, after: sass.Instruction, next_kind: str) -> int:
    """Least cycles between two neighbours because of the pipe that both need, 1 where they need none.

    Float arithmetic and integer products share the FMA pipe, where a product takes two cycles and a wide
    product, which writes two registers, four: ptxas 13.0 puts these distances there for sm_75 to sm_120
    wherever nothing else asks for more.
    """
    if item.base in _FMA_PIPE and after.base in _FMA_PIPE:
        if item.opcode.startswith("IMAD.WIDE"):
            return _WIDE_PRODUCT
        return 2 if item.base == "IMAD" else _interval(machine, "fpu")
    shared = kind == next_kind and item.base not in _FMA_PIPE and after.base not in _FMA_PIPE
    return _interval(machine, kind) if shared else 1


def tightenings(
    function: sass.Function, listing: Listing, machine: Arch, limit: int = 200
) -> tuple[Tightening, ...]:
    """Instructions that stall longer than their readers and pipes need, in code order; at most ``limit``."""
    table = fixed_latencies(machine.name)
    if not table:
        return ()
    sm = machine.base[0] * 10 + machine.base[1]
    found: list[Tightening] = []
    for block in listing.blocks:
        if block.end > len(function.instructions):
            break
        found.extend(_in_block(function, listing, machine, table, sm, block.start, block.end))
        if len(found) >= limit:
            break
    return tuple(found[:limit])


def _in_block(
    function: sass.Function,
    listing: Listing,
    machine: Arch,
    table: Mapping[tuple[str, str], int],
    sm: int,
    start: int,
    end: int,
) -> list[Tightening]:
    items = function.instructions[start:end]
    if any(item.control is None for item in items):
        return []
    stalls = [item.control.stall for item in items if item.control is not None]
    uses = [defuse(item, sm) for item in items]
    out: list[Tightening] = []
    pairs = _pairs(items, uses, table)
    for i, item in enumerate(items[:-1]):
        control = item.control
        kind = listing.rows[start + i].kind
        if (
            control is None
            or kind in _KEPT_KINDS
            or stalls[i] <= 1
            or not uses[i].complete
            or item.base[0] == "U"
        ):
            continue
        if control.write_barrier is not None or control.read_barrier is not None:
            continue  # a scoreboard needs its cycles to be seen by the next instruction
        floor = _apart(machine, item, kind, items[i + 1], listing.rows[start + i + 1].kind)
        covering = [(p, j, need) for p, j, need in pairs if p <= i < j]
        if any(need is None for _, _, need in covering):
            continue
        # Results that nobody reads here may be read right behind the block, where nothing is known of it.
        read = {p for p, j, _ in pairs}
        tail = sum(stalls[i:])
        longest = max(
            (need_of(table, item.opcode, register_name(w)) or _FARTHEST for w in uses[i].writes), default=0
        )
        slack = min([sum(stalls[p:j]) - (need or 0) - _MARGIN for p, j, need in covering], default=_FARTHEST)
        if i not in read and uses[i].writes:
            slack = min(slack, tail - longest - _MARGIN)
        needed = max(floor, stalls[i] - max(0, slack))
        if needed < stalls[i]:
            mine = [(j, sum(stalls[i:j])) for p, j, _ in pairs if p == i]
            first = min(mine, default=(None, None))
            out.append(
                Tightening(
                    start + i,
                    stalls[i],
                    needed,
                    None if first[0] is None else start + first[0],
                    first[1],
                    f"{control} {item.text}",
                    f"{replace(control, stall=needed)} {item.text}",
                )
            )
            stalls[i] = needed
    return out


def _pairs(
    items: Sequence[sass.Instruction],
    uses: Sequence[DefUse],
    table: Mapping[tuple[str, str], int],
) -> list[tuple[int, int, int | None]]:
    """(writer, reader, cycles or None) of fixed-latency results read or overwritten in one block."""
    found: list[tuple[int, int, int | None]] = []
    last: dict[int, int] = {}
    for j, use in enumerate(uses):
        for register in use.reads:
            p = last.get(register)
            if p is None:
                continue
            if _by_scoreboard(items[p]):
                continue  # the wait mask takes care of it
            found.append((p, j, need_of(table, items[p].opcode, register_name(register))))
        for register in use.writes:
            p = last.get(register)
            if p is not None and not _by_scoreboard(items[p]):
                found.append((p, j, need_of(table, items[p].opcode, register_name(register))))
            last[register] = j
    return found


def _by_scoreboard(item: sass.Instruction) -> bool:
    return item.control is not None and item.control.write_barrier is not None

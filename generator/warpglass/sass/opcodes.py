"""What each opcode is: kind, pipe and a sentence, from ``opcodes.tsv``; modifiers in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["OpcodeInfo", "explain", "kind", "opcode_info", "opcode_table", "pipe"]


@dataclass(frozen=True, slots=True)
class OpcodeInfo:
    """One base opcode. ``pipe`` is None where no source says; ``half`` depends on the architecture."""

    opcode: str
    kind: str
    pipe: str | None
    explanation: str


@cache
def opcode_table() -> Mapping[str, OpcodeInfo]:
    """Every opcode of the table by its base name."""
    text = resources.files(__package__).joinpath("opcodes.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return {row[0]: OpcodeInfo(row[0], row[1], row[2] or None, row[3]) for row in rows[1:]}


def opcode_info(opcode: str) -> OpcodeInfo | None:
    """The row of a whole or base opcode, or None where it is not known."""
    return opcode_table().get(opcode.split(".", 1)[0])


def kind(opcode: str) -> str:
    """The kind in the words of the report; ``control`` for an unknown opcode.

    A few modifiers change the kind of the base: ``IMAD.MOV`` and an ``HFMA2`` that only loads a constant
    keep the base's kind (they use its pipe), ``BAR.ARV`` is a barrier like ``BAR.SYNC``.
    """
    info = opcode_info(opcode)
    return info.kind if info is not None else "control"


def pipe(opcode: str, sm: int | None = None) -> str | None:
    """The pipe that executes an opcode: alu, fma, fp16, fp64, xu, lsu, tex, tma, tensor, cbu, uniform.

    ``sm`` is the architecture's number (86). None where no source says, or where it depends on ``sm`` and
    that is not given.
    """
    info = opcode_info(opcode)
    if info is None or info.pipe is None:
        return None
    if info.pipe != "half":
        return info.pipe
    if sm is None:
        return None
    return "fma" if sm >= 86 else "fp16"


_MODIFIERS: Mapping[str, str] = {
    "WIDE": "the result takes a register pair", "HI": "the upper half of the result",
    "MOV": "used as a move", "SHL": "used as a shift", "IADD": "used as an addition",
    "X": "takes a carry in", "EX": "goes on from the comparison of the lower half",
    "U32": "unsigned 32-bit", "S32": "signed 32-bit", "U64": "unsigned 64-bit", "S64": "signed 64-bit",
    "U16": "unsigned 16-bit", "S16": "signed 16-bit", "U8": "unsigned byte", "S8": "signed byte",
    "F16": "half precision", "F32": "single precision", "F64": "double precision", "BF16": "bfloat16",
    "TF32": "tf32", "64": "64 bits a lane", "128": "128 bits a lane", "E": "64-bit addresses",
    "CONSTANT": "through the read-only cache", "STRONG": "ordered, not cached in L1",
    "GPU": "seen by the whole GPU", "SYS": "seen by the whole system", "CTA": "seen by the block",
    "SM": "seen by the SM", "LU": "last use: the line may be dropped", "EF": "evict first",
    "EL": "evict last", "NA": "allocates no line", "BYPASS": "bypasses L1", "FTZ": "flushes subnormals",
    "SAT": "clamps to 0..1", "RN": "rounds to nearest even", "RZ": "rounds towards zero",
    "RM": "rounds down", "RP": "rounds up", "TRUNC": "truncates", "FLOOR": "rounds down",
    "CEIL": "rounds up", "NTZ": "keeps zeros of out-of-range inputs apart",
    "LUT": "by a truth table", "AND": "combined by and", "OR": "combined by or", "XOR": "combined by xor",
    "EQ": "equal", "NE": "not equal", "LT": "less", "LE": "less or equal", "GT": "greater",
    "GE": "greater or equal", "EQU": "equal or unordered", "NEU": "not equal or unordered",
    "LTU": "less or unordered", "LEU": "less or equal or unordered", "GTU": "greater or unordered",
    "GEU": "greater or equal or unordered", "NUM": "neither is NaN", "NAN": "one is NaN",
    "BFLY": "lane index xor", "UP": "from a lower lane", "DOWN": "from a higher lane",
    "IDX": "from a given lane", "SYNC": "waits for all", "ARV": "only arrives", "RED": "with a reduction",
    "DEFER_BLOCKING": "the wait may be deferred", "RELIABLE": "kept exactly",
    "RECONVERGENT": "all lanes of the region meet", "NOINC": "the call depth is not counted",
    "REL": "relative to here", "ABS": "absolute", "NODEC": "the call depth is not counted",
    "ANY": "any lane", "ALL": "all lanes", "COLLECTIVE": "the lanes go on as one", "RCP": "reciprocal",
    "RSQ": "reciprocal square root", "SQRT": "square root", "SIN": "sine", "COS": "cosine",
    "EX2": "power of two", "LG2": "binary logarithm", "TANH": "hyperbolic tangent", "ADD": "add",
    "MIN": "minimum", "MAX": "maximum", "EXCH": "exchange", "CAS": "compare and swap",
    "INC": "increment with wrap", "DEC": "decrement with wrap", "POPC": "count",
}  # fmt: skip


def explain(opcode: str) -> str:
    """A sentence for a whole opcode: what the base does, then what the known modifiers add."""
    info = opcode_info(opcode)
    if info is None:
        return "not in the table of known opcodes"
    added = [_MODIFIERS[part] for part in opcode.split(".")[1:] if part in _MODIFIERS]
    return info.explanation + (f" ({'; '.join(dict.fromkeys(added))})" if added else "")

"""What sort of work a PTX opcode is, in the vocabulary of docs/json-schema.md (``instructions.kind``)."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["KINDS", "MEMORY_KINDS", "access_width", "kind_of", "operation_of", "space_of"]

KINDS = (
    "alu", "fpu", "half", "double", "convert", "sfu", "tensor", "load", "store", "atomic", "async",
    "branch", "barrier", "call", "exit", "move", "predicate", "control",
)  # fmt: skip
MEMORY_KINDS = frozenset({"load", "store", "atomic", "async"})

_BY_BASE: dict[str, str] = {
    **dict.fromkeys(("ld", "ldu", "tex", "tld4", "suld", "txq", "suq", "ldmatrix"), "load"),
    **dict.fromkeys(("st", "sust", "stmatrix"), "store"),
    **dict.fromkeys(("atom", "red", "sured", "multimem"), "atomic"),
    **dict.fromkeys(("cp", "prefetch", "prefetchu", "tensormap"), "async"),
    **dict.fromkeys(("bra", "brx"), "branch"),
    **dict.fromkeys(("bar", "barrier", "mbarrier", "membar", "fence"), "barrier"),
    **dict.fromkeys(("call",), "call"),
    **dict.fromkeys(("ret", "exit", "trap", "brkpt"), "exit"),
    **dict.fromkeys(("mov", "cvta", "mapa", "shfl", "prmt", "movmatrix"), "move"),
    **dict.fromkeys(("setp", "set", "selp", "slct", "testp", "vote", "match", "activemask", "elect",
                     "isspacep"), "predicate"),
    **dict.fromkeys(("cvt", "szext"), "convert"),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), "sfu"),
    **dict.fromkeys(("mma", "wmma", "wgmma", "tcgen05"), "tensor"),
    **dict.fromkeys(("nanosleep", "griddepcontrol", "setmaxnreg", "pmevent", "alloca", "stacksave",
                     "stackrestore", "createpolicy", "discard", "applypriority", "getctarank",
                     "istypep", "clusterlaunchcontrol"), "control"),
}  # fmt: skip
_SPACES = ("global", "shared", "local", "const", "param")
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


@lru_cache(maxsize=4096)
def kind_of(opcode: str) -> str:
    """The kind of a whole dotted opcode; ``alu`` for integer and unknown arithmetic."""
    parts = opcode.split(".")
    base = parts[0]
    if base == "wmma":
        return {"load": "load", "store": "store"}.get(parts[1] if len(parts) > 1 else "", "tensor")
    known = _BY_BASE.get(base)
    if known == "sfu" and parts[-1] == "f64":
        return "double"
    if known is not None:
        return known
    for part in reversed(parts[1:]):
        if part == "f64":
            return "double"
        if part in {"f16", "f16x2", "bf16", "bf16x2"}:
            return "half"
        if part in {"f32", "f32x2"}:
            return "fpu"
    return "alu"


@lru_cache(maxsize=4096)
def space_of(opcode: str) -> str | None:
    """State space that a memory opcode names, ``generic`` where it names none, None for other opcodes."""
    parts = opcode.split(".")
    if kind_of(opcode) not in MEMORY_KINDS:
        return None
    if parts[0] in {"ldmatrix", "stmatrix"}:
        return "shared"
    for part in parts[1:]:
        name = part.split("::", 1)[0]
        if name in _SPACES:
            return name
    return "generic"


@lru_cache(maxsize=4096)
def access_width(opcode: str) -> int | None:
    """Bytes a lane, all vector elements together; None where the opcode does not say."""
    parts = opcode.split(".")
    if kind_of(opcode) not in MEMORY_KINDS:
        return None
    if parts[0] in {"ldmatrix", "stmatrix"}:
        return 16  # each addressing lane names one 16-byte row of an 8x8 b16 matrix
    vector = 1
    for part in parts[1:]:
        if part in {"v2", "v4", "v8"}:
            vector = int(part[1:])
    for part in reversed(parts[1:]):
        if part[:1] in "bsuf" and part[1:] in _WIDTHS:
            return vector * _WIDTHS[part[1:]]
        if part in {"f16x2", "bf16x2"}:
            return vector * 4
        if part in {"f16", "bf16"}:
            return vector * 2
    return None


def operation_of(opcode: str) -> str | None:
    """``load``, ``store``, ``atomic`` or ``async``; None for opcodes that do not touch memory."""
    kind = kind_of(opcode)
    return kind if kind in MEMORY_KINDS else None

"""What a kernel does with its parameters: which are pointers, and to what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpglass.flow import reads_writes
from warpglass.ptx.model import Address, Function, Instruction, Register, Symbol, Vector

__all__ = ["ParameterUse", "parameter_uses"]

#: Opcodes through which a pointer stays a pointer.
_KEEPS = frozenset({"mov", "cvta", "add", "sub", "mad", "selp", "min", "max", "or", "and", "shfl", "sad"})
_MEMORY = frozenset(
    {"ld", "ldu", "st", "atom", "red", "prefetch", "cp", "wmma", "ldmatrix", "mbarrier", "discard"}
)
_NUMPY = {
    "f32": "float32", "f64": "float64", "f16": "float16", "f16x2": "float16", "s8": "int8", "s16": "int16",
    "s32": "int32", "s64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "b8": "uint8", "b16": "uint16", "b32": "uint32", "b64": "uint64", "bf16": "uint16", "b128": "uint32",
    "tf32": "float32",
}  # fmt: skip
_FLOAT_OPS = frozenset({"f32", "f64", "f16", "f16x2", "tf32"})


@dataclass(frozen=True, slots=True)
class ParameterUse:
    """``pointer``: used as an address. ``dtype``: numpy name of what it points to, or of a scalar itself."""

    pointer: bool
    dtype: str


def _roots(function: Function) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Parameters each register may come from: as a pointer, and as a plain value that was loaded."""
    origin: dict[str, set[str]] = {}
    loaded: dict[str, set[str]] = {}
    names = {p.name: p for p in function.params}
    for i in function.instructions:
        if i.base == "ld" and len(i.operands) == 2 and isinstance(i.operands[1], Address):
            base = i.operands[1].base
            if isinstance(base, Symbol) and base.name in names and isinstance(i.operands[0], Register):
                loaded.setdefault(i.operands[0].name, set()).add(base.name)
                if (names[base.name].size == 8 and not names[base.name].is_array) or names[base.name].pointer:
                    origin.setdefault(i.operands[0].name, set()).add(base.name)
    changed = True
    turns = 0
    while changed and turns < 64:
        changed = False
        turns += 1
        for i in function.instructions:
            if i.base not in _KEEPS:
                continue
            reads, writes = reads_writes(i)
            if i.base == "mad":
                reads = tuple(o.name for o in i.operands[3:4] if isinstance(o, Register))
            came = set().union(*(origin.get(r, ()) for r in reads)) if reads else set()
            for name in writes:
                if came - origin.get(name, set()):
                    origin.setdefault(name, set()).update(came)
                    changed = True
    return origin, loaded


def _data_registers(i: Instruction) -> list[str]:
    names: list[str] = []
    for operand in i.operands:
        elements = operand.elements if isinstance(operand, Vector) else (operand,)
        names.extend(e.name for e in elements if isinstance(e, Register))
    return names


def _float_registers(function: Function) -> dict[str, str]:
    """Registers that hold floats: by declaration, or by an instruction of a float type that touches them."""
    kinds = {n: k for n, k in function.registers.items() if k in _FLOAT_OPS}
    for i in function.instructions:
        kind = next((p for p in reversed(i.parts) if p in _FLOAT_OPS), None)
        if kind is None or i.base in ("cvt", "ld", "st", "setp", "selp"):
            if i.base == "setp" and kind is not None:
                for name in _data_registers(i)[1:]:
                    kinds.setdefault(name, kind)
            if i.base == "cvt" and len(i.parts) >= 3 and len(i.operands) >= 2:
                for part, operand in ((i.parts[-2], i.operands[0]), (i.parts[-1], i.operands[1])):
                    if part in _FLOAT_OPS and isinstance(operand, Register):
                        kinds.setdefault(operand.name, part)
            continue
        for name in _data_registers(i):
            kinds.setdefault(name, kind)
    return {n: k for n, k in kinds.items() if function.registers.get(n) != "pred"}


def parameter_uses(function: Function) -> Mapping[str, ParameterUse]:
    """How ``function`` uses each parameter. A ``.u64`` is a pointer if marked ``.ptr`` or used as an address."""
    origin, loaded = _roots(function)
    floats = _float_registers(function)
    strong: set[str] = {p.name for p in function.params if p.pointer is not None}
    weak: set[str] = set()
    kinds: dict[str, list[str]] = {}
    direct = {r: p for r, p in loaded.items()}
    for i in function.instructions:
        if i.base == "cvta" and len(i.operands) == 2 and isinstance(i.operands[1], Register):
            strong |= origin.get(i.operands[1].name, set()) if i.operands[1].name in direct else set()
    for i in function.instructions:
        if i.base not in _MEMORY:
            continue
        for operand in i.operands:
            if not isinstance(operand, Address) or not isinstance(operand.base, Register):
                continue
            came = origin.get(operand.base.name, set())
            sure = came & strong
            used = sure or came
            weak |= used
            kind = next((p for p in reversed(i.parts) if p in _NUMPY), None)
            if kind is None:
                continue
            if kind[:1] == "b":
                for name in _data_registers(i):
                    kind = floats.get(name, kind) if kind in ("b16", "b32", "b64", "b128") else kind
            for name in used:
                kinds.setdefault(name, []).append(kind)
    uses = {}
    for param in function.params:
        pointer = param.name in strong or param.name in weak
        if pointer:
            seen = kinds.get(param.name, [])
            best = next((k for k in seen if k in _FLOAT_OPS), seen[0] if seen else "b32")
            uses[param.name] = ParameterUse(True, _NUMPY[best])
            continue
        kind = param.type
        for register, names in loaded.items():
            if param.name in names and register in floats and kind[:1] == "b":
                kind = floats[register]
        uses[param.name] = ParameterUse(False, _NUMPY.get(kind, "uint8"))
    return uses

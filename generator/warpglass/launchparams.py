"""What a kernel's parameters are: pointer, number or bytes, and of which type.

The C++ types come from the mangled name or the source; without either, from how the PTX uses a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from warpglass.cuda.model import CudaKernel, CudaSource
from warpglass.inputs.demangle import demangled
from warpglass.ptx.model import Address, Function, Instruction, Operand, Register, Symbol, Vector

__all__ = ["NUMPY_TYPES", "ParamInfo", "describe_params", "element_type", "source_kernel"]

#: Types of C and PTX by the numpy name of their elements, with the elements each holds.
NUMPY_TYPES: Mapping[str, tuple[str, int]] = {
    "bool": ("uint8", 1), "char": ("int8", 1), "signed char": ("int8", 1), "unsigned char": ("uint8", 1),
    "uchar": ("uint8", 1), "short": ("int16", 1), "unsigned short": ("uint16", 1), "ushort": ("uint16", 1),
    "int": ("int32", 1), "signed": ("int32", 1), "unsigned": ("uint32", 1), "unsigned int": ("uint32", 1),
    "uint": ("uint32", 1), "long": ("int64", 1), "unsigned long": ("uint64", 1), "long long": ("int64", 1),
    "unsigned long long": ("uint64", 1), "size_t": ("uint64", 1), "ulonglong": ("uint64", 1),
    "float": ("float32", 1), "double": ("float64", 1), "half": ("float16", 1), "__half": ("float16", 1),
    "half2": ("float16", 2), "__half2": ("float16", 2), "void": ("uint8", 1),
    "bfloat16": ("bfloat16", 1), "__nv_bfloat16": ("bfloat16", 1), "__nv_bfloat162": ("bfloat16", 2),
    **{f"{kind}{bits}{tail}": (f"{kind}{bits}", 1)
       for kind in ("int", "uint") for bits in (8, 16, 32, 64) for tail in ("", "_t")},
    **{f"float{bits}": (f"float{bits}", 1) for bits in (16, 32, 64)},
    **{f"{letter}{bits}": (f"{kind}{bits}", 1)
       for letter, kind in (("s", "int"), ("u", "uint"), ("b", "uint")) for bits in (8, 16, 32, 64)},
    "f16": ("float16", 1), "f32": ("float32", 1), "f64": ("float64", 1), "bf16": ("bfloat16", 1),
    "f16x2": ("float16", 2), "bf16x2": ("bfloat16", 2),
    **{f"{name}{lanes}": (kind, lanes)
       for name, kind in (("char", "int8"), ("uchar", "uint8"), ("short", "int16"), ("ushort", "uint16"),
                          ("int", "int32"), ("uint", "uint32"), ("float", "float32"), ("double", "float64"),
                          ("longlong", "int64"), ("ulonglong", "uint64"))
       for lanes in (2, 3, 4)},
}  # fmt: skip

_ACCESS = {"ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu", "cp", "multimem", "ldmatrix",
           "stmatrix", "wmma", "mbarrier", "tensormap", "discard", "applypriority"}  # fmt: skip
_ADDS = {"add", "sub", "selp"}
_WIDE = re.compile(r"[sub]64$")


@dataclass(frozen=True, slots=True)
class ParamInfo:
    """One parameter: ``index`` from 0, PTX name, name in the source (or None), C type as far as known.

    ``kind`` is ``buffer``, ``scalar`` or ``struct``; ``dtype`` the numpy name of a buffer's elements (or
    ``bfloat16``), the PTX type of a scalar, ``bytes`` for a struct of ``size`` bytes.
    """

    index: int
    ptx_name: str
    name: str | None
    c_type: str | None
    kind: str
    dtype: str
    size: int

    @property
    def shown(self) -> str:
        """The name to show: of the source, else of the PTX."""
        return self.name or self.ptx_name

    @property
    def may_point(self) -> bool:
        """Whether a buffer may be given: machine code says of eight bytes not whether they are a pointer."""
        return self.kind == "buffer" or (self.size == 8 and self.c_type is None and self.dtype == "u64")


def element_type(text: str) -> tuple[str, int] | None:
    """Numpy name and elements each of a C or PTX type (``float4`` is float32, 4), None for others.

    A pointer means what it points to; a pointer to pointers means addresses.
    """
    if text.count("*") > 1:
        return "uint64", 1
    words = re.sub(r"\b(?:const|volatile|__restrict__|std::)|[*&]|\bstruct\b", " ", text).split()
    return NUMPY_TYPES.get(" ".join(words).removeprefix(".").removeprefix("std::"))


def source_kernel(function: Function, source: CudaSource | None) -> CudaKernel | None:
    """The definition of ``function`` in its source, by its bare name and number of parameters, or None."""
    if source is None:
        return None
    forms = demangled(function.name)
    same = [k for k in source.kernels if k.name == forms.bare and len(k.params) == len(function.params)]
    if len(same) > 1:
        qualified = re.sub(r"<.*", "", forms.qualified, flags=re.S)
        same = [k for k in same if k.qualified == qualified] or same
    return same[0] if same else None


def describe_params(function: Function, source: CudaSource | None = None) -> tuple[ParamInfo, ...]:
    """All parameters of a kernel, in order. ``source`` adds names and, for ``extern "C"``, types."""
    types = demangled(function.name).params
    kernel = source_kernel(function, source)
    used = _usage(function)
    infos = []
    for index, param in enumerate(function.params):
        written = kernel.params[index] if kernel is not None else None
        c_type: str | None = None
        if types is not None and len(types) == len(function.params):
            c_type = types[index]
        elif written is not None:
            c_type = written.type
        touched = used.get(param.name)
        kind, dtype = "scalar", param.type
        if param.is_array or param.count > 1:
            kind, dtype = "struct", "bytes"
        elif _is_pointer(param.type, param.pointer, c_type, touched):
            kind = "buffer"
            element = element_type(c_type) if c_type is not None else None
            dtype = element[0] if element is not None else (touched or "uint8")
        elif c_type is not None and param.type.startswith("b"):
            # Newer compilers write .b32 for every type; the C++ type says which number is meant.
            element = element_type(c_type)
            dtype = _ptx_type(element[0]) if element is not None and element[1] == 1 else param.type
        name = written.name or None if written is not None else None
        infos.append(ParamInfo(index, param.name, name, c_type, kind, dtype, param.size))
    return tuple(infos)


def _is_pointer(ptx_type: str, marked: str | None, c_type: str | None, touched: str | None) -> bool:
    if _WIDE.fullmatch(ptx_type) is None:
        return False
    if marked is not None or touched is not None:
        return True
    return c_type is not None and ("*" in c_type or "&" in c_type)


def _ptx_type(dtype: str) -> str:
    for kind, letter in (("uint", "u"), ("int", "s"), ("bfloat", "bf"), ("float", "f")):
        if dtype.startswith(kind):
            return letter + dtype.removeprefix(kind)
    return dtype


def _usage(function: Function) -> dict[str, str]:
    """Parameters that are used as an address, with the numpy name of what is first accessed through each.

    Follows moves, address conversions and additions. A sum of two parameters is an address made of the
    one that was converted to an address, if one of the two was.
    """
    roots: dict[str, set[str]] = {}
    converted: set[str] = set()
    names = {param.name for param in function.params}
    for _ in range(4):  # registers of unrolled loops may be read above where they are written
        before = sum(map(len, roots.values()))
        for instruction in function.instructions:
            _follow(instruction, names, roots, converted)
        if sum(map(len, roots.values())) == before:
            break
    read_as = _reads(function.instructions)
    found: dict[str, str] = {}
    for instruction in function.instructions:
        if instruction.base not in _ACCESS or ".param" in instruction.opcode:
            continue
        for operand in instruction.operands:
            if not isinstance(operand, Address) or not isinstance(operand.base, Register):
                continue
            owners = roots.get(operand.base.name, set())
            for name in (owners & converted) or owners:
                kind = _accessed(instruction, read_as)
                if found.get(name, "uint8") == "uint8":
                    found[name] = kind
    return found


def _follow(
    instruction: Instruction, names: set[str], roots: dict[str, set[str]], converted: set[str]
) -> None:
    if not instruction.operands or not isinstance(instruction.operands[0], Register):
        return
    target = instruction.operands[0].name
    base = instruction.base
    if base == "ld" and ".param" in instruction.opcode:
        source = instruction.operands[1] if len(instruction.operands) > 1 else None
        if isinstance(source, Address) and isinstance(source.base, Symbol) and source.base.name in names:
            roots.setdefault(target, set()).add(source.base.name)
        return
    if base not in {"mov", "cvta", *_ADDS} or (base in _ADDS and not _WIDE.search(instruction.opcode)):
        return
    owners: set[str] = set()
    for operand in instruction.operands[1:3]:
        if isinstance(operand, Register):
            owners |= roots.get(operand.name, set())
    if base == "cvta":
        converted |= owners
    if owners:
        roots.setdefault(target, set()).update(owners)


def _reads(instructions: Iterable[Instruction]) -> dict[str, str]:
    """For each register the floating-point type that some instruction reads it as."""
    found: dict[str, str] = {}
    for instruction in instructions:
        kind = next(
            (part for part in reversed(instruction.parts) if part in ("f32", "f64", "f16", "bf16")), None
        )
        if kind is not None:
            for operand in instruction.operands[1:]:
                if isinstance(operand, Register):
                    found.setdefault(operand.name, kind)
    return found


def _accessed(instruction: Instruction, read_as: Mapping[str, str]) -> str:
    """The numpy name of one element that a load or store moves."""
    kind = next((part for part in reversed(instruction.parts) if part in NUMPY_TYPES), None)
    if kind is None:
        return "uint8"
    if kind.startswith("b"):
        moved: Operand | None = (
            instruction.operands[1] if instruction.base == "st" else instruction.operands[0]
        )
        if isinstance(moved, Vector) and moved.elements:
            moved = moved.elements[0]
        if isinstance(moved, Register) and moved.name in read_as:
            kind = read_as[moved.name]
    return NUMPY_TYPES[kind][0]

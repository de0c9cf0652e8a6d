"""A kernel known only as machine code, in the form that launch planning reads: its name and parameters."""

from __future__ import annotations

from warpglass import ptx, sass
from warpglass.inputs.demangle import demangled

__all__ = ["signature"]

_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


#: Bytes of the C++ types that a mangled name spells out, pointers apart.
_BUILTIN = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "float": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8,
    "double": 8,
}  # fmt: skip


def _named(function: sass.Function) -> tuple[ptx.Param, ...]:
    """Parameters of a listed kernel by its mangled name; none where a type has no known size."""
    sizes = []
    for text in demangled(function.name).params or ():
        size = 8 if text.removesuffix(" const").endswith("*") else _BUILTIN.get(text)
        if size is None:
            return ()
        sizes.append(size)
    return tuple(
        ptx.Param(
            name=f"{function.name}_param_{n}",
            type=_TYPES[size],
            align=size,
            count=1,
            size=size,
            is_array=False,
        )
        for n, size in enumerate(sizes)
    )


def signature(function: sass.Function) -> ptx.Function:
    """An entry without a body whose parameters have the sizes that the image records.

    Names are ``param_0`` and so on; which of them are pointers follows from the mangled name as far as it
    tells, and from nothing else: machine code does not type its parameters.
    """
    params = tuple(
        ptx.Param(
            name=f"{function.name}_param_{param.ordinal}",
            type=_TYPES.get(param.size, "b8"),
            align=1 << param.log_alignment if param.log_alignment else min(param.size, 8) or 1,
            count=1 if param.size in _TYPES else param.size,
            size=param.size,
            is_array=param.size not in _TYPES,
        )
        for param in sorted(function.params, key=lambda p: p.ordinal)
    )
    if not params and function.param_bytes is None:
        params = _named(function)
    directives: dict[str, tuple[int, ...]] = {}
    if function.required_threads:
        directives["reqntid"] = function.required_threads
    if function.max_threads:
        directives["maxntid"] = function.max_threads
    return ptx.Function(
        name=function.name,
        is_entry=True,
        linkage="visible",
        params=params,
        returns=(),
        registers={},
        variables=(),
        instructions=(),
        labels={},
        line=function.line,
        end_line=function.line + len(function.instructions),
        has_body=False,
        directives=directives,
    )

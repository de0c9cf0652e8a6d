"""A kernel known only as machine code, in the form that launch planning reads: its name and parameters."""

from __future__ import annotations

from warpglass import ptx, sass

__all__ = ["signature"]

_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


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

"""A listing made for reading: one line an instruction, labels between, nothing else."""

from __future__ import annotations

from dataclasses import replace

from warpglass.sass.cfg import code_length
from warpglass.sass.model import Function, Instruction, Module

__all__ = ["compact"]


def compact(module: Module) -> Module:
    """The module with its text written anew, and every line number counting in that text.

    Encodings, indentation and the padding behind a function's code are left out of the text; the
    instructions themselves stay as they are.
    """
    lines: list[str] = []
    functions: list[Function] = []
    for function in module.functions:
        if lines:
            lines.append("")
        lines.append(f"// {function.name}")
        start = len(lines)
        names: dict[int, list[str]] = {}
        for name, offset in function.labels.items():
            if name != function.name:
                names.setdefault(offset, []).append(name)
        written: list[Instruction] = []
        end = code_length(function)
        for index, instruction in enumerate(function.instructions):
            if index < end:
                lines.extend(f"{name}:" for name in names.get(instruction.offset, ()))
                lines.append(f"/*{instruction.offset:04x}*/  {instruction.text} ;")
            written.append(replace(instruction, line=len(lines)))
        functions.append(replace(function, instructions=tuple(written), line=start))
    return replace(module, functions=tuple(functions), text="\n".join(lines) + "\n")

"""The pipes of a streaming multiprocessor in a few words, and their colour in figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["OTHER", "PIPES", "Pipe"]


@dataclass(frozen=True, slots=True)
class Pipe:
    """``what`` the pipe executes; ``series`` is the number of a page colour, 1 to 6."""

    what: str
    series: int


PIPES: Mapping[str, Pipe] = {
    "fma": Pipe("float multiply and add, integer multiply", 1),
    "alu": Pipe("integer, logic, comparison, selection", 3),
    "fp16": Pipe("packed half precision", 1),
    "fp64": Pipe("double precision", 1),
    "xu": Pipe("special functions, conversions", 4),
    "tensor": Pipe("matrix products", 4),
    "lsu": Pipe("global, local and shared memory, atomics, shuffles", 2),
    "tex": Pipe("textures and surfaces", 2),
    "tma": Pipe("bulk copies", 2),
    "cbu": Pipe("branches, barriers, convergence", 5),
    "uniform": Pipe("once for the whole warp", 6),
}
OTHER = "no source says which pipe"

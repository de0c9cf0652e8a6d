"""What is launched: grid, block, cluster, dynamic shared memory and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warpglass.errors import LaunchError
from warpglass.ptx.model import Function

__all__ = ["MOST_PARAMETERS", "Argument", "Dim3", "Launch", "check_parameters"]

Dim3 = tuple[int, int, int]

#: Bytes of parameters of a kernel (PTX ISA 8.1, "Kernel Function Parameters": 32,764 from sm_70 on).
MOST_PARAMETERS = 32764


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument as given.

    ``value`` is a Python number or bytes for scalars and structs, an array for a buffer, or None for the
    default. ``fill`` names the content where no array was given: ``default`` (seeded per address), ``iota``,
    ``zeros``, ``ones``, ``random``. ``count`` is the number of elements that was given, or None: only then
    are accesses beyond it out of bounds. ``origin`` says who gave it (``command line``, ``default`` …).
    Arguments that hold the same array object share one buffer.
    """

    name: str
    kind: str  # "scalar" | "buffer"
    dtype: str  # numpy name ("float32"), or a PTX/C type for scalars
    value: int | float | bytes | npt.NDArray[np.generic] | None = None
    count: int | None = None
    fill: str = "default"
    origin: str = "default"


def check_parameters(kernel: Function) -> None:
    """Raise :class:`LaunchError` where a kernel declares more parameters than any GPU takes."""
    total = sum(param.size for param in kernel.params)
    if total > MOST_PARAMETERS:
        raise LaunchError(
            f"{kernel.name[:80]} declares {total} bytes of parameters; CUDA allows {MOST_PARAMETERS}"
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch. ``args`` maps the PTX parameter name to its argument, in parameter order.

    ``origin`` says for each of ``grid``, ``block``, ``cluster``, ``shared_bytes`` which rule decided it.
    ``shared_bytes`` is the dynamic shared memory of a block, in bytes.
    """

    grid: Dim3
    block: Dim3
    cluster: Dim3 = (1, 1, 1)
    shared_bytes: int = 0
    args: Mapping[str, Argument] = field(default_factory=dict)
    label: str = ""
    origin: Mapping[str, str] = field(default_factory=dict)
    cooperative: bool = False

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        """Warps of a block, the last one possibly partial."""
        return (self.threads_per_block + 31) // 32

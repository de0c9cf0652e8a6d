"""Small PTX kernels written by hand, and how the machine's tests run them."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpglass.api_run import run
from warpglass.machine import RunOptions, RunResult

HEAD = ".version 8.8\n.target sm_90\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<16>;
    .reg .f64 %fd<8>;
"""

#: %r1 = global thread index, %rd1 = out, %rd2 = &out[%r1] as 32-bit words.
PROLOGUE = """
    ld.param.u64 %rd1, [out];
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
    mad.lo.s32 %r1, %r2, %r3, %r4;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd1, %rd3;
"""


def text(
    body: str, params: str = ".param .u64 .ptr .global .align 4 out", before: str = "", head: str = HEAD
) -> str:
    """A module with one kernel ``k``; every statement stands on a line of its own."""
    lines = "\n".join(part.strip() for part in body.replace(";", ";\n").splitlines() if part.strip())
    return f"{head}{before}\n.visible .entry k({params})\n{{{REGISTERS}{PROLOGUE}{lines}\n}}\n"


def launch(
    body: str,
    args: Any,
    *,
    grid: Any = 1,
    block: Any = 32,
    shared_bytes: int = 0,
    params: str = ".param .u64 .ptr .global .align 4 out",
    before: str = "",
    options: RunOptions | None = None,
    **more: Any,
) -> RunResult:
    """Run a body with the prologue."""
    return run(
        text(body, params, before),
        grid=grid,
        block=block,
        shared_bytes=shared_bytes,
        args=args,
        options=options,
        **more,
    )


def words(count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """A buffer of zeros."""
    return np.zeros(count, dtype=np.uint32)


def out(result: RunResult, which: int = 0) -> list[int]:
    """Values of a buffer after a run that came to its end."""
    assert result.stopped is None, result.stopped
    buffer = result.buffers[which]
    assert buffer is not None
    return list(buffer.array.tolist())


def by_opcode(result: RunResult, source: str, opcode: str, counter: str) -> int:
    """Sum of a counter over the instructions of the kernel whose opcode starts so."""
    from warpglass import ptx

    kernel = ptx.parse(source).kernels[0]
    places = [n for n, i in enumerate(kernel.instructions) if i.opcode.startswith(opcode)]
    assert places
    return sum(int(result.counters[counter][pc]) for pc in places)


def kinds(result: RunResult) -> set[str]:
    """Kinds of findings."""
    return {finding.kind for finding in result.findings}

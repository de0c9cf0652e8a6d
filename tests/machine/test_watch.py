"""Who wrote a byte last: plain and vector stores, atomics, several stores to one place, guarded lanes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from machine.kernelkit import text, words
from warpglass import run
from warpglass.machine import RunOptions

BODIES = {
    "a store": ("st.global.u32 [%rd2], %r1; ret;", 70, (1, 6)),
    "the later of two": (
        "st.global.u32 [%rd2], %r1; setp.ne.u32 %p1, %r1, 9; @%p1 bra done; "
        "st.global.u32 [%rd1+280], %r1; done: ret;",
        70,
        (0, 9),
    ),
    "the last lane of one store": ("st.global.u32 [%rd1+280], %r1; ret;", 70, (1, 63)),
    "an atomic": (
        "setp.ne.u32 %p1, %r1, 77; @%p1 bra done; red.global.add.u32 [%rd1+280], 1; done: ret;",
        70,
        (1, 13),
    ),
    "the second half of a vector": (
        "shl.b32 %r5, %r1, 3; cvt.u64.u32 %rd5, %r5; add.s64 %rd6, %rd1, %rd5; "
        "st.global.v2.u32 [%rd6], {%r1, %r2}; ret;",
        71,
        (0, 35),
    ),
    "generic addresses": ("cvta.global.u64 %rd5, %rd2; st.u32 [%rd5], %r1; ret;", 70, (1, 6)),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_last_writer(name: str) -> None:
    body, element, (block, thread) = BODIES[name]
    shape = {"grid": 2, "block": 64, "args": [words(300)]}
    plain = run(text(body), **shape)
    assert plain.complete
    buffer = plain.buffers[0]
    assert buffer is not None
    for byte in (0, 3):
        options = replace(RunOptions(), watch=buffer.base + element * 4 + byte)
        writer = run(text(body), options=options, **shape).writer
        assert writer is not None
        assert (writer.block, writer.thread) == ((block, 0, 0), (thread, 0, 0))
        assert text(body).splitlines()[writer.line - 1].strip().startswith(("st", "red"))
    untouched = replace(RunOptions(), watch=buffer.base + 299 * 4)
    assert run(text(body), options=untouched, **shape).writer is None
    assert plain.writer is None

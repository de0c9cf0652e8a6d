"""``cp.async``: reads before the wait, waits after the barrier, and pipelines that do both right."""

from __future__ import annotations

import numpy as np
import pytest

from machine.kernelkit import HEAD, REGISTERS
from warpglass import run
from warpglass.machine import RunOptions, RunResult

COPY = "cp.async.{kind}.shared.global [%r{to}], [%rd{source}], {size}; cp.async.commit_group;"


def _run(body: str, size: int = 4, block: int = 64) -> RunResult:
    """Each thread copies ``size`` bytes to its place (%r5, a second one at %r6); %r7 is its neighbour's."""
    kind = "cg" if size == 16 else "ca"
    body = body.replace("COPY1", COPY.format(kind=kind, to=5, source=4, size=size))
    body = body.replace("COPY2", COPY.format(kind=kind, to=6, source=5, size=size))
    lines = "\n".join(part.strip() for part in body.replace(";", ";\n").splitlines() if part.strip())
    source = f"""{HEAD}
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out)
{{{REGISTERS}
    .shared .align 16 .b8 tile[4096];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r4, tile;
    mad.lo.s32 %r5, %r1, {size}, %r4;
    add.s32 %r6, %r5, 2048;
    xor.b32 %r3, %r1, 33;
    mad.lo.s32 %r7, %r3, {size}, %r4;
    mul.wide.u32 %rd3, %r1, {size};
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd4, 1024;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd6, %rd2, %rd3;
{lines}
    st.global.u32 [%rd6], %r8;
    ret;
}}
"""
    data = np.arange(1024, dtype=np.uint32)
    out = np.zeros(64, dtype=np.uint32)
    return run(source, grid=2, block=block, args=[data, out], options=RunOptions())


def _races(result: RunResult) -> list[tuple[object, int]]:
    assert result.complete
    return [(f.detail.get("hazard"), f.count) for f in result.findings if f.kind == "racecheck"]


@pytest.mark.parametrize("size", [4, 8, 16])
def test_waits_and_barriers_in_order_are_no_race(size: int) -> None:
    body = "COPY1 COPY2 cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %r8, [%r7];"
    result = _run(body, size)
    assert _races(result) == []
    np.testing.assert_array_equal(
        result.buffers[1].array[:64], (np.arange(64, dtype=np.uint32) ^ 33) * (size // 4)
    )


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("wait", ["", "cp.async.wait_group 2;", "cp.async.wait_group 7;"])
def test_a_read_before_its_copy_is_waited_for(wait: str, size: int) -> None:
    result = _run(f"COPY1 COPY2 {wait} bar.sync 0; ld.shared.u32 %r8, [%r7];", size)
    assert _races(result) == [("read-before-copy", 128)]
    (finding,) = (f for f in result.findings if f.kind == "racecheck")
    assert finding.severity == "critical"
    assert "cp.async at line" in finding.message


def test_a_wait_that_covers_the_older_copy_only() -> None:
    body = "COPY1 COPY2 cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %r8, [%r7+2048];"
    assert _races(_run(body)) == [("read-before-copy", 128)]
    assert _races(_run(body.replace("wait_group 1", "wait_group 0"))) == []
    assert _races(_run(body.replace("wait_group 1", "wait_all"))) == []


def test_a_wait_behind_the_barrier_orders_nothing() -> None:
    result = _run("COPY1 bar.sync 0; cp.async.wait_all; ld.shared.u32 %r8, [%r7];")
    assert _races(result) == [("read-after-write", 128)]
    own = _run("COPY1 bar.sync 0; cp.async.wait_all; ld.shared.u32 %r8, [%r5];")
    assert _races(own) == []


@pytest.mark.parametrize(
    "load", ["ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r4];", "ld.shared.u8 %r8, [%r4];"]
)
def test_reads_of_other_widths(load: str) -> None:
    assert _races(_run(f"COPY1 bar.sync 0; {load}")) == [("read-before-copy", 128)]
    assert _races(_run(f"COPY1 cp.async.wait_all; bar.sync 0; {load}")) == []


def test_lanes_that_copy_to_one_place_land_once() -> None:
    """Both lanes' copies count as one while they are under way; none is left when both have landed."""
    body = "shr.u32 %r9, %r1, 1; mad.lo.s32 %r5, %r9, 4, %r4; COPY1 cp.async.wait_all; bar.sync 0;"
    result = _run(body + "ld.shared.u32 %r8, [%r4];")
    assert ("read-before-copy", 128) not in _races(result)

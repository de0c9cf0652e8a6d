"""What a bulk copy moves through device memory: every sector of it, read or written."""

from __future__ import annotations

import numpy as np
import pytest

from machine.kernelkit import HEAD, REGISTERS
from warpglass import run
from warpglass.machine import RunResult


def _copy(size: int, count: int) -> RunResult:
    """Each of two blocks copies ``size`` bytes in and out again; both buffers hold ``count`` words."""
    source = f"""{HEAD}
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out)
{{{REGISTERS}
    .shared .align 128 .b8 tile[4096];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, tile; mov.u32 %r3, bar;
    mul.wide.u32 %rd3, %r1, {size};
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.arrive.expect_tx.shared.b64 %rd6, [%r3], {size};
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd4], {size}, [%r3];
wait:
    mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0;
    @!%p1 bra wait;
    cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r2], {size};
    ret;
}}
"""
    data = np.arange(count, dtype=np.uint32)
    return run(source, grid=2, block=1, args=[data, np.zeros(count, dtype=np.uint32)])


@pytest.mark.parametrize("size", [16, 48, 64, 1024, 4096])
def test_all_sectors_of_a_copy_are_touched(size: int) -> None:
    result = _copy(size, size // 2)
    assert result.complete
    assert result.findings == ()
    into, out = result.buffers
    assert into is not None
    assert out is not None
    sectors = (2 * size + 31) // 32
    assert into.sectors == (sectors, 0)
    assert out.sectors == (0, sectors)
    np.testing.assert_array_equal(out.array, into.array)


def _memory_findings(result: RunResult) -> set[str]:
    return {f.message for f in result.findings if f.kind == "memcheck"}


def test_a_copy_beyond_its_buffer_is_out_of_bounds_and_nothing_else() -> None:
    messages = _memory_findings(_copy(1024, 256))
    assert messages
    assert all("out of bounds" in message for message in messages)


def test_a_copy_of_a_size_that_is_no_multiple_says_so() -> None:
    assert _memory_findings(_copy(24, 256)) == {
        "bulk copy of 24 bytes: size and addresses must be multiples of 16"
    }

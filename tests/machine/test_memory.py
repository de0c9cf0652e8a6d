"""State spaces, windows of the generic address space, faults, default buffers."""

from __future__ import annotations

import numpy as np
import pytest

from machine.kernelkit import by_opcode, kinds, launch, out, text, words
from warpglass.api_run import run
from warpglass.machine import RunOptions


def test_out_of_bounds_stores_are_dropped_and_named() -> None:
    result = launch("st.global.u32 [%rd2], %r4; ret;", [words(20)])
    assert out(result) == list(range(20))
    (finding,) = result.findings
    assert (finding.kind, finding.severity, finding.count) == ("memcheck", "critical", 12)
    assert finding.thread == (20, 0, 0)
    assert finding.block == (0, 0, 0)
    buffer = result.buffers[0]
    assert buffer is not None
    assert finding.address == buffer.base + 80
    assert finding.line is not None
    assert "out of bounds, 0 bytes after out of 80 bytes" in finding.message


def test_out_of_bounds_loads_give_zero() -> None:
    body = "ld.global.u32 %r5, [%rd2+64]; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5; ret;"
    result = launch(body, [np.arange(32, dtype=np.uint32)])
    assert out(result) == [17 + t if t < 16 else 1 for t in range(32)]


def test_default_buffers_have_no_end_to_be_out_of() -> None:
    body = "mul.wide.u32 %rd4, %r4, 65536; add.s64 %rd4, %rd4, %rd1; st.global.u32 [%rd4], 1; ret;"
    assert kinds(launch(body, None)) == set()


@pytest.mark.parametrize("address", [0, 8, 1 << 40, 2**63 - 4, 2**64 - 4])
def test_unmapped_addresses(address: int) -> None:
    body = f"""
        mov.u64 %rd4, {address}; ld.global.u32 %r5, [%rd4]; st.u32 [%rd4], %r5;
        st.global.u32 [%rd2], %r5; ret;
    """
    result = launch(body, [np.ones(32, np.uint32)])
    assert out(result) == [0] * 32
    assert [f.count for f in result.findings if f.kind == "memcheck"] == [32, 32]


def test_a_pointer_loaded_from_a_default_buffer_is_unmapped() -> None:
    result = launch("ld.global.u64 %rd4, [%rd1]; ld.global.u32 %r5, [%rd4]; ret;", None)
    assert {"memcheck", "default-data"} <= kinds(result)


def test_misaligned_accesses() -> None:
    body = "add.s64 %rd4, %rd2, 2; ld.global.v2.u32 {%r5, %r6}, [%rd2]; st.global.u16 [%rd4], 7; ret;"
    result = launch(body, [words(64)])
    (finding,) = result.findings
    assert finding.count == 16
    assert "misaligned" in finding.message
    assert finding.thread == (1, 0, 0)


def test_vectors_and_the_sink_leave_what_they_skip() -> None:
    body = """
        mul.wide.u32 %rd4, %r4, 16; add.s64 %rd4, %rd1, %rd4; mov.u32 %r5, 1; mov.u32 %r6, 2;
        st.global.v4.u32 [%rd4], {%r5, _, %r6, %r4};
        ld.global.v4.u32 {%r7, %r8, _, %r9}, [%rd4]; add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9;
        st.global.u32 [%rd4], %r7; ret;
    """
    got = np.array(out(launch(body, [np.full(128, 9, np.uint32)]))).reshape(32, 4)
    assert got.tolist() == [[10 + t, 9, 2, t] for t in range(32)]


def test_narrow_loads_extend_by_their_type() -> None:
    body = """
        add.s64 %rd4, %rd1, 128; ld.global.s8 %r5, [%rd4]; ld.global.u8 %r6, [%rd4];
        ld.global.s16 %r7, [%rd4];
        sub.s32 %r8, %r6, %r5; add.s32 %r8, %r8, %r7; st.global.u32 [%rd2], %r8; ret;
    """
    data = words(33)
    data[32] = 0x8080
    assert out(launch(body, [data]))[:32] == [(256 - (0x10000 - 0x8080)) % 2**32] * 32


def test_generic_addresses_reach_every_space() -> None:
    body = """
        .shared .align 4 .b32 s[32]; .local .align 4 .b32 l[2];
        mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4; mul.wide.u32 %rd5, %r4, 4; add.s64 %rd4, %rd4, %rd5;
        mov.u64 %rd6, l; cvta.local.u64 %rd6, %rd6;
        st.u32 [%rd4], 10; st.u32 [%rd6], 20; st.u32 [%rd2], 30;
        rem.u32 %r5, %r4, 3; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;
        selp.b64 %rd7, %rd4, %rd6, %p1; selp.b64 %rd7, %rd2, %rd7, %p2;
        ld.u32 %r6, [%rd7]; isspacep.shared %p3, %rd7; isspacep.local %p4, %rd7; isspacep.global %p5, %rd7;
        selp.u32 %r7, 1, 0, %p3; @%p4 add.u32 %r7, %r7, 2; @%p5 add.u32 %r7, %r7, 4;
        add.u32 %r6, %r6, %r7; ld.shared.u32 %r8, [s]; ld.local.u32 %r9, [l];
        add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r9; st.global.u32 [%rd2], %r6; ret;
    """
    got = out(launch(body, [words(32)]))
    assert got == [{0: 11, 1: 34, 2: 22}[t % 3] + 30 for t in range(32)]


def test_shared_memory_belongs_to_a_block_and_starts_as_zero() -> None:
    body = """
        .shared .align 4 .b32 s[32]; .reg .b32 %a; mov.u32 %a, s; mad.lo.u32 %a, %r4, 4, %a;
        ld.shared.u32 %r5, [%a]; add.u32 %r5, %r5, %r1; st.shared.u32 [%a], %r5; ld.shared.u32 %r6, [%a];
        st.global.u32 [%rd2], %r6; ret;
    """
    result = launch(body, [words(640)], grid=20, options=RunOptions(batch_lanes=64))
    assert out(result) == list(range(640))
    assert "initcheck" in kinds(result)


def test_dynamic_shared_memory_is_as_large_as_launched() -> None:
    body = """
        .reg .b32 %a; mov.u32 %a, dyn; mad.lo.u32 %a, %r4, 4, %a; st.shared.u32 [%a], %r4;
        mov.u32 %r5, %dynamic_smem_size; st.global.u32 [%rd2], %r5; ret;
    """
    before = ".extern .shared .align 16 .b8 dyn[];"
    assert kinds(launch(body, [words(32)], shared_bytes=128, before=before)) == set()
    result = launch(body, [words(32)], shared_bytes=64, before=before)
    assert out(result) == [64] * 32
    (finding,) = result.findings
    assert finding.count == 16
    assert "outside the block's 64 bytes of shared memory" in finding.message


def test_local_memory_counts_as_it_is_interleaved() -> None:
    body = """
        .local .align 16 .b8 l[64]; st.local.u32 [l+4], %r4; ld.local.u32 %r5, [l+4];
        mov.u32 %r6, 1; st.local.v4.u32 [l+16], {%r5, %r6, %r5, %r6}; st.global.u32 [%rd2], %r5; ret;
    """
    source = text(body)
    result = run(source, grid=1, block=64, args=[words(64)])
    assert out(result) == list(range(64))
    assert by_opcode(result, source, "st.local.u32", "sectors") == 2 * 4
    assert by_opcode(result, source, "st.local.v4", "sectors") == 2 * 16
    assert by_opcode(result, source, "st.local.v4", "sectors_ideal") == 2 * 16


def test_constants_and_globals_with_initialisers_and_addresses() -> None:
    before = """
    .const .align 4 .b32 table[4] = {5, 6, 7, 8};
    .global .align 8 .u64 where = generic(table);
    .global .align 4 .f32 scale = 0f40000000;
    """
    body = """
        and.b32 %r5, %r4, 3; mul.wide.u32 %rd4, %r5, 4; ld.global.u64 %rd5, [where]; add.s64 %rd5, %rd5, %rd4;
        ld.u32 %r6, [%rd5]; ld.const.u32 %r7, [table+4]; ld.global.f32 %f1, [scale]; cvt.rzi.u32.f32 %r8, %f1;
        mad.lo.u32 %r6, %r6, %r8, %r7; st.global.u32 [%rd2], %r6; ret;
    """
    assert out(launch(body, [words(32)], before=before)) == [2 * (5 + t % 4) + 6 for t in range(32)]


def test_default_content_does_not_depend_on_the_order_of_touching() -> None:
    up = "ld.global.f32 %f1, [%rd2]; st.global.f32 [%rd2], %f1; ret;"
    down = """
        sub.u32 %r5, 65535, %r1; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd4, %rd1, %rd4;
        ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd4], %f1; ret;
    """
    arrays = []
    for body in (up, down):
        result = launch(body, None, grid=256, block=256, options=RunOptions(batch_lanes=512))
        assert result.buffers[0] is not None
        arrays.append(result.buffers[0].array)
    assert arrays[0].dtype == np.float32
    assert np.array_equal(*arrays)
    assert 0.49 < float(arrays[0].mean()) < 0.51


def test_memory_is_bounded() -> None:
    body = "mul.wide.u32 %rd4, %r1, 65536; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %f1, [%rd4]; ret;"
    result = launch(body, None, grid=64, block=256, options=RunOptions(memory_limit=16 << 20))
    assert result.stopped is not None
    assert result.stopped.kind == "memory"
    assert result.stopped.message.startswith("stopped at line")


def test_alloca_grows_the_frame_of_the_caller() -> None:
    before = """
    .func (.param .b32 r) total(.param .b64 at, .param .b32 n)
    {
        .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .local .align 4 .b32 sum;
        ld.param.b64 %rd1, [at];
        ld.param.b32 %r1, [n];
        st.local.u32 [sum], 0;
    NEXT:
        ld.u32 %r2, [%rd1];
        ld.local.u32 %r3, [sum];
        add.u32 %r3, %r3, %r2;
        st.local.u32 [sum], %r3;
        add.s64 %rd1, %rd1, 4;
        sub.u32 %r1, %r1, 1;
        setp.ne.u32 %p1, %r1, 0;
        @%p1 bra NEXT;
        ld.local.u32 %r3, [sum];
        st.param.b32 [r], %r3;
        ret;
    }
    """
    body = """
        .param .b64 a; .param .b32 b; .param .b32 c; .reg .b64 %mark;
        stacksave.u64 %mark; add.u32 %r5, %r4, 1; mul.wide.u32 %rd4, %r5, 4; alloca.u64 %rd5, %rd4, 16;
        alloca.u64 %rd6, 8; st.local.u64 [%rd6], -1;
        mov.u32 %r6, 0; mov.u64 %rd7, %rd5;
        FILL: st.local.u32 [%rd7], %r6; add.s64 %rd7, %rd7, 4; add.u32 %r6, %r6, 1;
        setp.lt.u32 %p1, %r6, %r5; @%p1 bra FILL;
        cvta.local.u64 %rd8, %rd5; st.param.b64 [a], %rd8; st.param.b32 [b], %r5;
        call (c), total, (a, b); ld.param.b32 %r7, [c]; ld.local.u32 %r8, [%rd6];
        add.u32 %r8, %r8, 1; add.u32 %r7, %r7, %r8; stackrestore.u64 %mark;
        alloca.u64 %rd9, 4; sub.s64 %rd9, %rd9, %rd5; cvt.u32.u64 %r9, %rd9;
        add.u32 %r7, %r7, %r9; st.global.u32 [%rd2], %r7; ret;
    """
    result = launch(body, [words(32)], grid=1, before=before)
    assert out(result) == [t * (t + 1) // 2 for t in range(32)]
    assert kinds(result) == set()

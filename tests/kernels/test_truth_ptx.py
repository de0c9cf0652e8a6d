"""What compilers rarely write: jump tables, calls through prototypes, and other corners of PTX, by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warpglass

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def run(text: str, *args: object, block: int = 32) -> list[np.ndarray]:
    result = warpglass.run(HEAD + text, grid=1, block=block, args=list(args))
    assert result.stopped is None, result.stopped
    assert not [f for f in result.findings if f.severity == "critical"], result.findings
    return [buffer.array for buffer in result.buffers if buffer is not None]


STORE = """
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
"""


def test_jump_table() -> None:
    out = run(
        """
    .visible .entry k(.param .u64 out) {
        .reg .b32 %r<8>; .reg .b64 %rd<4>;
        mov.u32 %r1, %tid.x;
        rem.u32 %r3, %r1, 5;
        mov.u32 %r2, 0;
    ts: .branchtargets L0, L1, L2, L1, L4;
        brx.idx %r3, ts;
    L0: add.u32 %r2, %r1, 100; bra done;
    L1: mul.lo.u32 %r2, %r1, 3; bra done;
    L2: not.b32 %r2, %r1;
    L4: xor.b32 %r2, %r2, 5;
    done:"""
        + STORE
        + "}",
        np.zeros(32, np.uint32),
    )[0]
    cases = [lambda i: i + 100, lambda i: 3 * i, lambda i: ~i ^ 5, lambda i: 3 * i, lambda i: 5]
    assert out.tolist() == [cases[i % 5](i) % 2**32 for i in range(32)]


def test_indirect_calls_through_a_prototype() -> None:
    out = run(
        """
    .func (.param .b32 r) twice(.param .b32 a) {
        .reg .b32 %r<3>;
        ld.param.b32 %r1, [a];
        shl.b32 %r2, %r1, 1;
        st.param.b32 [r], %r2;
        ret;
    }
    .func (.param .b32 r) square(.param .b32 a) {
        .reg .b32 %r<3>;
        ld.param.b32 %r1, [a];
        mul.lo.s32 %r2, %r1, %r1;
        st.param.b32 [r], %r2;
        ret;
    }
    .global .align 8 .u64 table[2] = {twice, square};
    .visible .entry k(.param .u64 out) {
        .reg .b32 %r<8>; .reg .b64 %rd<8>;
        mov.u32 %r1, %tid.x;
        and.b32 %r3, %r1, 1;
        mul.wide.u32 %rd4, %r3, 8;
        mov.u64 %rd5, table;
        add.s64 %rd6, %rd5, %rd4;
        ld.global.u64 %rd7, [%rd6];
        {
            .param .b32 p0; .param .b32 q0;
            st.param.b32 [p0], %r1;
            proto: .callprototype (.param .b32 _) _ (.param .b32 _);
            call (q0), %rd7, (p0), proto;
            ld.param.b32 %r2, [q0];
        }"""
        + STORE
        + "}",
        np.zeros(32, np.uint32),
    )[0]
    assert out.tolist() == [i * i if i & 1 else 2 * i for i in range(32)]


def test_register_parameters_and_vectors() -> None:
    out = run(
        """
    .func (.reg .u32 r) add3(.reg .u32 a, .reg .u32 b) {
        add.u32 r, a, b;
        add.u32 r, r, 3;
        ret;
    }
    .visible .entry k(.param .u64 out) {
        .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .v4 .u32 %v; .reg .u32 sum;
        .local .align 16 .v4 .u32 box;
        mov.u32 %r1, %tid.x;
        mov.v4.u32 %v, {%r1, 2, %r1, 7};
        st.local.v4.u32 [box], {%v.w, %v.x, %v.y, %v.z};
        ld.local.v2.u32 {%r3, %r4}, [box+8];
        call (sum), add3, (%r3, %r4);
        mov.u32 %r2, sum;"""
        + STORE
        + "}",
        np.zeros(32, np.uint32),
    )[0]
    assert out.tolist() == [2 + i + 3 for i in range(32)]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        # @!p guards, nested predicates, setp with two destinations and a boolean operator
        (
            "setp.lt.and.u32 %p1|%p2, %r1, 20, 1; @%p1 mov.u32 %r2, 1; @!%p1 mov.u32 %r2, 2;"
            "@%p2 add.u32 %r2, %r2, 10;",
            lambda i: 1 if i < 20 else 12,
        ),
        ("set.gt.u32.s32 %r3, %r1, 15; and.b32 %r2, %r3, %r1;", lambda i: i if i > 15 else 0),
        ("slct.u32.s32 %r3, 7, 9, %r4; mov.u32 %r2, %r3;", lambda i: 7),
        ("mad.hi.u32 %r2, %r1, 0x80000000, 5;", lambda i: i // 2 + 5),
        ("mul24.lo.u32 %r2, %r1, 0x1000003; ", lambda i: 3 * i),
        ("szext.wrap.u32 %r2, %r1, 3;", lambda i: i & 7),
        ("bmsk.clamp.b32 %r2, %r1, 4;", lambda i: (((1 << 4) - 1) << i) & 0xFFFFFFFF),
        ("fns.b32 %r2, 0xf0f0f0f0, %r1, 1;", lambda i: next(k for k in range(i, 32) if 0xF0F0F0F0 >> k & 1)),
        ("lop3.b32 %r2, %r1, 12, 10, 0x96;", lambda i: i ^ 12 ^ 10),
        ("shf.l.wrap.b32 %r2, %r1, 1, 4;", lambda i: 16 + (i >> 28)),
        ("sad.s32 %r2, %r1, 20, 1;", lambda i: abs(i - 20) + 1),
        ("copysign.f32 %f1, 0f80000000, 0f40400000; mov.b32 %r2, %f1;", lambda i: 0xC0400000),
        ("testp.subnormal.f32 %p1, 0f00000001; selp.u32 %r2, 4, 5, %p1;", lambda i: 4),
        ("cvta.shared.u64 %rd1, 16; isspacep.global %p1, %rd1; selp.u32 %r2, 4, 5, %p1;", lambda i: 5),
        ("cvta.shared.u64 %rd1, 16; isspacep.shared %p1, %rd1; selp.u32 %r2, 4, 5, %p1;", lambda i: 4),
        ("mov.b64 %rd1, {%r1, 9}; mov.b64 {%r3, %r2}, %rd1;", lambda i: 9),
        ("cnot.b32 %r2, %r1;", lambda i: int(i == 0)),
    ],
)
def test_rare_instructions(body: str, want: Callable[[int], int]) -> None:
    text = f"""
    .visible .entry k(.param .u64 out) {{
        .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .f32 %f<4>;
        mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r4, 0; mov.u64 %rd1, 0;
        {body}{STORE}}}"""
    out = run(text, np.zeros(32, np.uint32))[0]
    assert out.tolist() == [want(i) for i in range(32)]

"""Small PTX kernels that need no compiler."""

import pytest

SCALE = """\
.version 8.0
.target sm_80
.address_size 64
// warpglass: grid=2 block=64 n=100
.visible .entry _Z5scaleiPKfPf(
    .param .u32 _Z5scaleiPKfPf_param_0,
    .param .u64 _Z5scaleiPKfPf_param_1,
    .param .u64 _Z5scaleiPKfPf_param_2
)
{
    .reg .pred %p<2>;
    .reg .f32 %f<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u32 %r2, [_Z5scaleiPKfPf_param_0];
    ld.param.u64 %rd1, [_Z5scaleiPKfPf_param_1];
    ld.param.u64 %rd2, [_Z5scaleiPKfPf_param_2];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r1, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    add.f32 %f2, %f1, %f1;
    cvta.to.global.u64 %rd6, %rd2;
    add.s64 %rd7, %rd6, %rd4;
    st.global.f32 [%rd7], %f2;
DONE:
    ret;
}
"""

PLAIN = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry plain(
    .param .u64 a, .param .u64 b, .param .u64 count, .param .align 8 .b8 s[24], .param .f64 d, .param .u8 flag
)
.maxntid 96, 1, 1
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [count];
    cvta.to.global.u64 %rd4, %rd1;
    add.s64 %rd5, %rd4, %rd3;
    ld.global.b32 %r1, [%rd5];
    add.s64 %rd6, %rd2, 8;
    st.global.u16 [%rd6], %r1;
    ret;
}
.visible .entry fixed() .reqntid 32, 2, 1 .reqnctapercluster 2, 1, 1 { ret; }
"""


@pytest.fixture
def scale_text():
    return SCALE


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(SCALE)
    return path


@pytest.fixture
def plain_text():
    return PLAIN

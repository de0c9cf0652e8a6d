"""What nvcc writes, and what ptxas thinks of what this parser accepts and refuses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from warpglass import ptx
from warpglass.flow import ptx_cfg, ptx_liveness

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH"),
]

SOURCE = r"""
#include <cassert>
#include <cstdio>
#include <cuda_fp16.h>
struct S { int a; float b[3]; };
__constant__ float cc[4] = {1, 2, 3, 4};
__constant__ struct { char c; double d; int *p; const char *s; } cst = {'x', 3.25, nullptr, "hi;{}//"};
__device__ int gtab[3][2] = {{1, 2}, {3, 4}, {5, 6}};
__device__ int *gptr = &gtab[1][1];
__managed__ int mg = 5;
extern __shared__ float dyn[];
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int f1(int x) { return x + 1; }
__device__ int f2(int x) { return x * 2; }
typedef int (*fp)(int);
__device__ fp table[2] = {f1, f2};
__device__ inline float sq(float x) { return x * x + 1.f; }
__device__ inline float sq2(float x) { return sq(x) * sq(x + 1); }
template <int N> __global__ void __launch_bounds__(128, 2) k(float *a, const S s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float sm[N];
  sm[threadIdx.x % N] = a[i];
  __syncthreads();
  if (i < n) {
    a[i] = sq2(sm[(threadIdx.x + 1) % N]) + s.b[n % 3] + cc[n & 3];
    printf("hi %d %f\n", i, a[i]);
  }
  dyn[threadIdx.x] = i;
  assert(n > 0);
  a[2] = table[n & 1](i) + fib(n) + *gptr + mg + cst.s[n];
  unsigned r, q;
  asm volatile("{ .reg .pred p; .reg .u32 t; setp.gt.s32 p, %1, 4; mov.u32 t, 7; selp.u32 %0, t, 1, p; }"
               : "=r"(r) : "r"(n));
  asm volatile("{\n .reg .pred p; .reg .u32 t;\n setp.gt.s32 p, %1, 5;\n mov.u32 t, 8;\n"
               " L1: selp.u32 %0, t, 1, p; @p bra L1;\n }" : "=r"(q) : "r"(n));
  a[7] = r + q;
}
template __global__ void k<32>(float *, const S, int);
template __global__ void k<64>(float *, const S, int);
__global__ void h(__half2 *x, cudaTextureObject_t t, cudaSurfaceObject_t s) {
  x[threadIdx.x] = __hfma2(x[0], x[1], x[2]);
  float4 v = tex2D<float4>(t, 1.f, 2.f);
  x[3] = __floats2half2_rn(v.x, v.y);
  float4 *q = (float4 *)x;
  q[9] = q[2];
  int y;
  surf2Dread(&y, s, 4, 0);
  if (__any_sync(~0u, y)) __trap();
}
__global__ void sw(int *a) {
  int i = threadIdx.x;
  switch (a[i]) {
  case 0: a[1] = 8; break;
  case 1: a[2] = 3; __syncthreads(); break;
  case 2: a[3] = a[1] / 3; break;
  case 3: atomicAdd(a + 7, 2); break;
  case 4: a[6] = a[9]; break;
  case 5: a[11] = __shfl_xor_sync(~0u, a[4], 1); break;
  case 6: a[12] = 1; break;
  }
}
"""

HOPPER = r"""
#include <cstdint>
__global__ void wg(float *o, uint64_t da, uint64_t db) {
  float d[4] = {0};
  __shared__ uint64_t mb;
  uint32_t m = (uint32_t)__cvta_generic_to_shared(&mb);
  asm volatile("wgmma.fence.sync.aligned;\n");
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db), "r"(1));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned %0;\n" ::"n"(0));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(m), "r"(256));
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];" ::"r"(m), "l"(o), "r"(1), "r"(2), "r"(m));
  for (int i = 0; i < 2; i++)
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
                 "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" ::"r"(m), "r"(i));
  o[threadIdx.x] = d[0] + d[3];
}
"""

BLACKWELL = r"""
#include <cstdint>
__global__ void tc(float *o, uint64_t da, uint64_t db, uint32_t id) {
  __shared__ uint32_t tp;
  uint32_t s = (uint32_t)__cvta_generic_to_shared(&tp), r[2];
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(s), "r"(64));
  uint32_t t = tp;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, {%5, %6, %7, %8}, p;\n}"
               ::"r"(t), "l"(da), "l"(db), "r"(id), "r"(1), "r"(0), "r"(0), "r"(0), "r"(0));
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(t));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(t), "r"(64));
  o[0] = r[0] + r[1];
}
"""


def compiled(folder: Path, source: str, *flags: str) -> ptx.Module:
    """PTX of a source through nvcc, parsed without a diagnostic."""
    (folder / "a.cu").write_text(source, encoding="utf-8")
    command = ["nvcc", "-std=c++17", "-lineinfo", *flags, "-ptx", "a.cu", "-o", "a.ptx"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    module = ptx.load(folder / "a.ptx")
    assert module.diagnostics == ()
    for function in module.functions:
        if function.has_body:
            assert ptx_cfg(function).blocks
            assert ptx_liveness(function) is not None
    return module


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_ordinary_code(tmp_path: Path, arch: str) -> None:
    m = compiled(tmp_path, SOURCE, f"-arch={arch}")
    assert m.target[0] == arch
    names = [k.name for k in m.kernels]
    assert names == ["_Z1kILi32EEvPf1Si", "_Z1kILi64EEvPf1Si", "_Z1hP7__half2yy", "_Z2swPi"]
    k = m.kernels[0]
    assert k.directives["maxntid"][0] == 128
    assert [p.size for p in k.params] == [8, 16, 4]
    assert any(v.space == "shared" and v.size == 128 for v in k.variables)
    assert k.prototypes
    chains = [i.loc for i in k.instructions if i.loc and i.loc.inlined_at and i.loc.inlined_at.inlined_at]
    assert any(c.function == "_Z2sqf" and c.inlined_at and c.inlined_at.function == "_Z3sq2f" for c in chains)
    variables = {v.name: v for v in m.variables}
    assert variables["gptr"].relocations == ((0, "gtab", 12, True),)
    assert [r[1] for r in variables["table"].relocations] == ["_Z2f1i", "_Z2f2i"]
    assert (variables["gtab"].initializer or b"")[16:24] == bytes([5, 0, 0, 0, 6, 0, 0, 0])
    assert variables["dyn"].is_extern_array
    assert m.files[1].endswith("a.cu")


def test_debug_and_relocatable_code(tmp_path: Path) -> None:
    debug = compiled(tmp_path, SOURCE, "-arch=sm_80", "-G")
    assert debug.target == ("sm_80", "debug")
    assert ".debug_info" in debug.sections
    separate = compiled(tmp_path, SOURCE, "-arch=sm_80", "-rdc=true")
    assert any(f.linkage == "visible" and not f.is_entry for f in separate.functions)


def test_warpgroup_and_tensor_core_asm(tmp_path: Path) -> None:
    hopper = compiled(tmp_path, HOPPER, "-arch=sm_90a").kernels[0]
    opcodes = [i.opcode for i in hopper.instructions]
    assert "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" in opcodes
    waits = [i for i in hopper.instructions if i.base == "bra"]
    assert len({i.operands[0] for i in waits}) == len(waits) == 4
    blackwell = compiled(tmp_path, BLACKWELL, "-arch=sm_100a").kernels[0]
    assert "tcgen05.mma.cta_group::1.kind::f16" in [i.opcode for i in blackwell.instructions]


HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
BOTH = [
    (True, "ld.global.u32 %r1, a[2]; ld.global.u32 %r1, a[%r2]; mov.u64 %rd1, a[1];"),
    (True, "ld .global .u32 %r1, [%rd1]; ld.u32.global %r1, [%rd1]; ld.global.u32 %r1, [%rd1+4*2];"),
    (True, "{ .reg .u32 t; mov.u32 t, 1; { .reg .u64 t; mov.u64 t, 2; } add.u32 %r1, t, 1; }"),
    (True, "{ L: mov.u32 %r1, 1; bra L; } { L: mov.u32 %r2, 2; bra L; }"),
    (True, "mov.u32 %r1, (1+2)*3; mov.u32 %r2, 5>3?7:9; mov.u32 %r3, WARP_SZ-1; mov.u32 %r4, 017;"),
    (True, "/* } { */ mov.u32 // ; }\n %r1, /* { */ 1 /* ; */ ; // {\n"),
    (True, "ts: .branchtargets A, B; @%p1 brx.idx.uni %r1, ts; A: mov.u32 %r1, 1; B: mov.u32 %r2, 1;"),
    (True, "setp.eq.u32 %p1|_, %r1, 3; mov.b64 {%r1, _}, %rd1;"),
    (False, "mov.u32 %r99, 1;"),
    (False, "bra NOWHERE;"),
    (False, "mov.u64 %rd1, nothing;"),
    (False, "L: L: ret;"),
    (False, ".reg .b32 %r1;"),
    (False, "add.u32 %r1 %r2;"),
    (False, "ld.global.u32 %r1, a[1][1];"),
]


@pytest.mark.parametrize(("accepted", "text"), BOTH)
def test_same_verdict_as_the_assembler(tmp_path: Path, accepted: bool, text: str) -> None:
    whole = (
        f"{HEAD}.global .u32 a[4];\n.visible .entry k() {{\n"
        f".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n"
        f"{text}\nret;\n}}\n"
    )
    (tmp_path / "a.ptx").write_text(whole, encoding="utf-8")
    command = ["ptxas", "-c", "-arch=sm_90a", "a.ptx", "-o", "a.o"]
    if shutil.which("ptxas") is None:
        pytest.skip("ptxas is not on PATH")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert (done.returncode == 0) == accepted
    assert (not any(d.severity == "error" for d in ptx.parse(whole).diagnostics)) == accepted

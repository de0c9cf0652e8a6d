#include <cstdint>
#define M4(op, A, B) asm volatile(op " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#define M2(op) asm volatile(op " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
extern "C" __global__ void fragments(uint32_t *p, double *dp, uint32_t s) {
    uint32_t a[4], b[4], d[4]; for (int i = 0; i < 4; ++i) { a[i] = p[i * 32 + threadIdx.x]; b[i] = p[i * 32 + 128 + threadIdx.x]; d[i] = p[256 + threadIdx.x + i * 32]; }
    M4("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",,) M2("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    M4("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",,) M2("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
    M2("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32") M4("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32",,)
    M2("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc") M4("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",,)
    M2("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32") M4("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",,)
#if __CUDA_ARCH__ >= 890
    M4("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",,)
#endif
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(s));
    asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0;" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(s));
    double x[8]; for (int i = 0; i < 8; ++i) x[i] = dp[i * 32 + threadIdx.x];
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%4,%5,%6,%7}, {%4,%5,%6,%7}, {%0,%1,%2,%3};" : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3]) : "d"(x[4]), "d"(x[5]), "d"(x[6]), "d"(x[7]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, {%0,%1,%2,%3};" : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3]) : "d"(x[4]), "d"(x[5]), "d"(x[6]), "d"(x[7]));
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%4}, {%0,%1,%2,%3};" : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3]) : "d"(x[4]), "d"(x[5]));
#endif
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(x[0]), "+d"(x[1]) : "d"(x[4]), "d"(x[5]));
    for (int i = 0; i < 4; ++i) p[i * 32 + threadIdx.x] = d[i];
    for (int i = 0; i < 4; ++i) dp[i * 32 + threadIdx.x] = x[i];
}

#include <cstdint>
extern "C" __global__ void blackwell(float *out, uint64_t da, uint64_t db, uint32_t id, int n, float2 *v) {
    __shared__ uint32_t addr[4]; __shared__ __align__(8) uint64_t bar[2];
    uint32_t a = (uint32_t)__cvta_generic_to_shared(addr), b = (uint32_t)__cvta_generic_to_shared(bar);
    if (threadIdx.x < 32) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" :: "r"(a));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
    __syncthreads();
    uint32_t t = addr[0];
    if (threadIdx.x == 0) {
        for (int k = 0; k < n; ++k)
            asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" :: "r"(t), "l"(da + k), "l"(db + k), "r"(id), "r"(k));
        asm volatile("tcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, 1;" :: "r"(t), "r"(t + 64), "l"(db), "r"(id));
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" :: "r"(t), "l"(da));
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(b));
    }
    asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra L;\n}" :: "r"(b));
    uint32_t r0, r1, r2, r3;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(t));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1,%2};" :: "r"(t + 8), "r"(r0), "r"(r1));
    asm volatile("tcgen05.wait::st.sync.aligned;");
    out[threadIdx.x] = __uint_as_float(r0) + __uint_as_float(r1) + __uint_as_float(r2) + __uint_as_float(r3);
    float2 x = v[threadIdx.x], y = v[threadIdx.x + 1];
    unsigned long long *px = (unsigned long long *)&x, *py = (unsigned long long *)&y, z;
    asm volatile("fma.rn.f32x2 %0, %1, %2, %1;" : "=l"(z) : "l"(*px), "l"(*py));
    asm volatile("add.rn.f32x2 %0, %0, %1;" : "+l"(z) : "l"(*px));
    asm volatile("mul.rn.f32x2 %0, %0, %1;" : "+l"(z) : "l"(*px));
    v[threadIdx.x] = *(float2 *)&z;
    uint32_t q0,q1,q2,q3,q4,q5,q6,q7;
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(q0),"=r"(q1),"=r"(q2),"=r"(q3),"=r"(q4),"=r"(q5),"=r"(q6),"=r"(q7) : "l"(out + threadIdx.x * 8));
    asm volatile("st.global.v8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" :: "r"(q7),"r"(q6),"r"(q5),"r"(q4),"r"(q3),"r"(q2),"r"(q1),"r"(q0), "l"(out + threadIdx.x * 8 + 4096));
    if (threadIdx.x < 32) { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"); asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" :: "r"(t)); }
}

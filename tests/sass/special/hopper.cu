#include <cstdint>
#include <cuda.h>
extern "C" __global__ void hopper(const __grid_constant__ CUtensorMap tm, const float *in, float *out, uint64_t da, uint64_t db, int n) {
    extern __shared__ __align__(1024) char smem[];
    __shared__ __align__(8) uint64_t bar[4];
    uint32_t b = (uint32_t)__cvta_generic_to_shared(bar), s = (uint32_t)__cvta_generic_to_shared(smem);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" :: "r"(b));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(s), "l"(&tm), "r"(n), "r"(n + 1), "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" :: "r"(s + 8192), "l"(in), "r"(b) : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra L;\n}" :: "r"(b));
    float d[32];
    for (int i = 0; i < 32; ++i) d[i] = in[i * 128 + threadIdx.x];
    asm volatile("wgmma.fence.sync.aligned;");
    for (int k = 0; k < n; ++k) {
    asm volatile("{\n.reg .pred p; setp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 1;\n}"
      : "+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]),"+f"(d[4]),"+f"(d[5]),"+f"(d[6]),"+f"(d[7]),"+f"(d[8]),"+f"(d[9]),"+f"(d[10]),"+f"(d[11]),"+f"(d[12]),"+f"(d[13]),"+f"(d[14]),"+f"(d[15]),"+f"(d[16]),"+f"(d[17]),"+f"(d[18]),"+f"(d[19]),"+f"(d[20]),"+f"(d[21]),"+f"(d[22]),"+f"(d[23]),"+f"(d[24]),"+f"(d[25]),"+f"(d[26]),"+f"(d[27]),"+f"(d[28]),"+f"(d[29]),"+f"(d[30]),"+f"(d[31])
      : "l"(da + k), "l"(db + k), "r"(1));
    }
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]),"+f"(d[31]) :: "memory");
    unsigned e0 = 1, e1 = 2; unsigned a0 = threadIdx.x;
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, %6, 1, 1, 1, 0;" : "+r"(e0), "+r"(e1) : "r"(a0), "r"(a0+1), "r"(a0+2), "r"(a0+3), "l"(db));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+r"(e0),"+r"(e1) :: "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(s + threadIdx.x * 16), "r"(e0), "r"(e1));
    asm volatile("fence.proxy.async.shared::cta;");
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&tm), "r"(n), "r"(n), "r"(s) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 512;" :: "l"(out), "r"(s) : "memory");
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" :: "l"(in));
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;");
    }
    asm volatile("barrier.cluster.arrive.aligned;"); asm volatile("barrier.cluster.wait.aligned;");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    uint32_t r; asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(r) : "r"(s));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(r), "r"(n), "r"(r + 64));
    unsigned pr; asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(pr));
    float sum = 0; for (int i = 0; i < 32; ++i) sum += d[i];
    out[threadIdx.x] = sum + e0 + pr;
}

// Products in tensor memory: columns allocated, filled, read and given back.
#include <cstdint>
extern "C" __global__ void tcgen05_tile(float* out, uint64_t da, uint64_t db, uint32_t idesc, int steps) {
  __shared__ uint32_t where; __shared__ alignas(8) uint64_t bar;
  uint32_t w = (uint32_t)__cvta_generic_to_shared(&where), b = (uint32_t)__cvta_generic_to_shared(&bar);
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(w) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b)); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  __syncthreads();
  uint32_t tmem = where; int phase = 0;
  for (int k = 0; k < steps; ++k) {
    if (threadIdx.x == 0) {
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" :: "r"(tmem), "l"(da), "l"(db), "r"(idesc), "r"(k) : "memory");
      asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "l"((uint64_t)b) : "memory");
    }
    uint32_t ok;
    do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p; }" : "=r"(ok) : "r"(b), "r"(phase) : "memory"); } while (!ok);
    phase ^= 1;
  }
  uint32_t r[8];
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]),"=r"(r[4]),"=r"(r[5]),"=r"(r[6]),"=r"(r[7]) : "r"(tmem + ((threadIdx.x / 32) << 21)));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  for (int i = 0; i < 8; ++i) out[(blockIdx.x * blockDim.x + threadIdx.x) * 8 + i] = __uint_as_float(r[i]);
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" :: "r"(tmem));
}

// Tiles that a tensor map describes: two barriers in turn, and a store.
#include <cstdint>
struct alignas(64) Map { char b[128]; };
extern "C" __global__ void tma_tile(const __grid_constant__ Map map, float* out, int n) {
  __shared__ alignas(128) float tile[2][256];
  __shared__ alignas(8) uint64_t bar[2];
  uint32_t b0 = (uint32_t)__cvta_generic_to_shared(bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b0));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b0 + 8));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  float sum = 0; int phase = 0;
  for (int k = 0; k < n; ++k) {
    uint32_t b = b0 + 8 * (k & 1), s = (uint32_t)__cvta_generic_to_shared(tile[k & 1]);
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(b));
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        :: "r"(s), "l"(&map), "r"(k * 16), "r"(int(blockIdx.x) * 16), "r"(b) : "memory");
    }
    uint32_t ok;
    do { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p; }" : "=r"(ok) : "r"(b), "r"(phase) : "memory"); } while (!ok);
    if (k & 1) phase ^= 1;
    sum += tile[k & 1][threadIdx.x];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void tma_store(const __grid_constant__ Map map, float v) {
  __shared__ alignas(128) float tile[256];
  tile[threadIdx.x] = v * threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t s = (uint32_t)__cvta_generic_to_shared(tile);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&map), "r"(0), "r"(int(blockIdx.x)), "r"(s) : "memory");
    asm volatile("cp.async.bulk.commit_group;"); asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

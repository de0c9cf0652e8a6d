// One warp-group product a step, its tiles stored by ordinary instructions.
#include <cuda_fp16.h>
#include <cstdint>
__device__ inline uint64_t desc(const void* p, uint32_t lbo, uint32_t sbo) {
  uint32_t a = (uint32_t)__cvta_generic_to_shared(p);
  return (uint64_t)((a & 0x3FFFF) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32;
}
extern "C" __global__ void wgmma_tile(const __half* a, const __half* b, float* c, int steps) {
  __shared__ alignas(128) __half sa[64 * 16];
  __shared__ alignas(128) __half sb[16 * 8];
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < steps; ++k) {
    for (int i = threadIdx.x; i < 64 * 16; i += 128) sa[i] = a[k * 1024 + i];
    if (threadIdx.x < 128) sb[threadIdx.x] = b[k * 128 + threadIdx.x];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    uint64_t da = desc(sa, 128, 256), db = desc(sb, 128, 256);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(da), "l"(db));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  int t = threadIdx.x; float* o = c + t * 4;
  o[0] = d0; o[1] = d1; o[2] = d2; o[3] = d3;
}
// A branch that depends on the product.
extern "C" __global__ void needs_product(float* c) {
  __shared__ alignas(128) __half sa[64 * 16];
  __shared__ alignas(128) __half sb[16 * 8];
  uint64_t da = desc(sa, 128, 256), db = desc(sb, 128, 256);
  for (int i = threadIdx.x; i < 64 * 16; i += 128) sa[i] = __float2half(1.0f);
  sb[threadIdx.x] = __float2half(1.0f);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(da), "l"(db));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (d0 > 0)
    for (int i = 0; i < int(d1); ++i) c[threadIdx.x + i] += d2;
}

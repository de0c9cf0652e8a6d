#include <cuda_pipeline.h>
extern "C" __global__ void async_copy(const float4 *in, float4 *out, int n) {
    extern __shared__ float4 buf[];
    int t = threadIdx.x;
#if __CUDA_ARCH__ >= 800
    for (int s = 0; s < 2; ++s) { __pipeline_memcpy_async(&buf[s * blockDim.x + t], &in[s * blockDim.x + t], 16); __pipeline_commit(); }
    for (int s = 2; s < n; ++s) {
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = buf[(s % 3) * blockDim.x + (t ^ 1)];
        out[s * blockDim.x + t] = make_float4(v.x + 1, v.y * 2, v.z - v.w, v.w);
        __pipeline_memcpy_async(&buf[(s % 3) * blockDim.x + t], &in[s * blockDim.x + t], 16);
        __pipeline_commit();
    }
    __pipeline_wait_prior(0);
#else
    buf[t] = in[t]; __syncthreads(); out[t] = buf[t ^ 1];
#endif
}

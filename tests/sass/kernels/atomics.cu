#include <cuda_fp16.h>
extern "C" __global__ void atomics(int *h, unsigned long long *w, float *f, double *d, __half2 *hh, const int *in) {
    __shared__ int bins[64];
    __shared__ unsigned long long wide[2];
    int t = threadIdx.x;
    if (t < 64) bins[t] = 0;
    if (t < 2) wide[t] = 0;
    __syncthreads();
    int v = in[blockIdx.x * blockDim.x + t];
    atomicAdd(&bins[v & 63], 1);
    atomicMax(&bins[(v + 1) & 63], v);
    atomicCAS(&bins[(v + 2) & 63], v, t);
    atomicAdd(&wide[v & 1], (unsigned long long)v);
    atomicCAS(&wide[v & 1], 5ull, (unsigned long long)v);
#if __CUDA_ARCH__ >= 800
    int lane_sum = __reduce_add_sync(0xffffffff, v);
#else
    int lane_sum = v;
#endif
    lane_sum += __popc(__match_any_sync(0xffffffff, v)) + __ballot_sync(0xffffffff, v > 3);
    lane_sum += __shfl_xor_sync(0xffffffff, v, 5) + __any_sync(0xffffffff, v == 7);
    __syncthreads();
    if (t < 64) atomicAdd(&h[t], bins[t]);
    f[t] = atomicAdd(&f[512 + (v & 3)], 1.5f) + lane_sum;
    atomicAdd(&d[v & 3], 2.5);
    atomicExch(&w[v & 3], wide[0]);
    w[8 + t] = atomicCAS(&w[4], 1ull, 2ull) + atomicMin(&h[70], v);
    atomicAdd(&hh[v & 3], __half2half2(__float2half(1.f)));
    __threadfence();
    if (__syncthreads_or(v) && __syncthreads_count(v & 1) > 3) h[80] = 1;
}

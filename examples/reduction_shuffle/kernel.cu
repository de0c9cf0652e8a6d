// Sum of an array in three stages: grid-stride loop, warp shuffles, one atomic a block.
//
// What to look at: the five shuffles of a warp need neither shared memory nor a barrier; the only barrier
// separates the per-warp sums from the warp that adds them up. Step through warp 0: the lane values of `value`
// fold in half at every shuffle.

constexpr unsigned kFullMask = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        value += __shfl_down_sync(kFullMask, value, distance);
    }
    return value;  // the whole sum in lane 0, partial sums elsewhere
}

__global__ void reduce_sum(const float* __restrict__ data, float* __restrict__ total, int n) {
    __shared__ float warp_sums[32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    float value = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        value += data[i];
    }

    value = warp_sum(value);
    if (lane == 0) {
        warp_sums[warp] = value;
    }
    __syncthreads();

    // Only the first warp goes on. It reads one sum a warp; lanes without one add zero.
    if (warp == 0) {
        const int warps = (blockDim.x + 31) / 32;
        value = lane < warps ? warp_sums[lane] : 0.0f;
        value = warp_sum(value);
        if (lane == 0) {
            atomicAdd(total, value);
        }
    }
}

// The textbook version for comparison: a tree in shared memory, a barrier a level. Half of the threads leave
// at every level, and with the interleaved index those that stay are spread over all warps.
__global__ void reduce_sum_interleaved(const int* __restrict__ data, int* __restrict__ total, int n) {
    __shared__ int sums[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? data[i] : 0;
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0) {
            sums[threadIdx.x] += sums[threadIdx.x + stride];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(total, sums[0]);
    }
}

// Inclusive prefix sum of 1024 integers by one block: scan each warp, scan the warps' totals, add.
//
// What to look at: at each `shfl.sync.up` the lowest lanes have no neighbour that far to the left; they get their
// own value back and must not add it. Two barriers in the whole kernel.

constexpr unsigned kFullMask = 0xffffffffu;

__device__ __forceinline__ int warp_scan(int value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const int left = __shfl_up_sync(kFullMask, value, distance);
        if (lane >= distance) {
            value += left;
        }
    }
    return value;
}

__global__ void __launch_bounds__(1024) scan_block(const int* __restrict__ in, int* __restrict__ out, int n) {
    __shared__ int totals[32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    int value = warp_scan(threadIdx.x < n ? in[threadIdx.x] : 0);
    if (lane == 31) {
        totals[warp] = value;
    }
    __syncthreads();
    if (warp == 0) {
        const int warps = blockDim.x / 32;
        totals[lane] = warp_scan(lane < warps ? totals[lane] : 0);
    }
    __syncthreads();
    if (warp > 0) {
        value += totals[warp - 1];
    }
    if (threadIdx.x < n) {
        out[threadIdx.x] = value;
    }
}

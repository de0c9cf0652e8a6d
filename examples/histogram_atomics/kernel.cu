// Counting bytes into 256 bins, twice.
//
// What to look at: atomics per address in the memory table. The direct kernel sends every lane's increment to
// global memory; lanes that hit the same bin queue up. The privatised kernel counts in shared memory first and
// adds each block's 256 bins to global memory once, one bin a thread, 32 different addresses a warp.

constexpr int kBins = 256;

__global__ void histogram_global(const unsigned char* __restrict__ data, unsigned* __restrict__ bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[data[i]], 1u);
    }
}

__global__ void histogram_shared(const unsigned char* __restrict__ data, unsigned* __restrict__ bins, int n) {
    __shared__ unsigned local[kBins];
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
        local[bin] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[data[i]], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
        if (local[bin] != 0) {
            atomicAdd(&bins[bin], local[bin]);
        }
    }
}

// When the data is skewed, a warp can count before it touches memory at all: lanes with the same byte find each
// other with match, and one of them adds for all.
__global__ void histogram_matched(const unsigned char* __restrict__ data, unsigned* __restrict__ bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned byte = data[i];
        const unsigned peers = __match_any_sync(__activemask(), byte);
        const int leader = __ffs(peers) - 1;
        if (threadIdx.x % 32 == leader) {
            atomicAdd(&bins[byte], static_cast<unsigned>(__popc(peers)));
        }
    }
}

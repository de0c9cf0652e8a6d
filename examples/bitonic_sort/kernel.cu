// Bitonic sort of 512 keys in shared memory: a network of compare-and-swap steps, a barrier after each.
//
// What to look at: shared memory in the stepper, bank by bank, and how the distance of the partners decides
// whether a warp talks to itself (less than 32: the barrier could be a __syncwarp) or to other warps.

constexpr int kKeys = 512;

__global__ void __launch_bounds__(kKeys / 2) bitonic_sort(unsigned* keys) {
    __shared__ unsigned shared[kKeys];
    unsigned* block_keys = keys + blockIdx.x * kKeys;
    shared[threadIdx.x] = block_keys[threadIdx.x];
    shared[threadIdx.x + kKeys / 2] = block_keys[threadIdx.x + kKeys / 2];
    __syncthreads();
    for (int run = 2; run <= kKeys; run *= 2) {
#pragma unroll 1  // one copy of the step is easier to follow
        for (int distance = run / 2; distance > 0; distance /= 2) {
            const int low = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
            const int high = low + distance;
            const bool ascending = (low & run) == 0;
            const unsigned p = shared[low];
            const unsigned q = shared[high];
            if ((p > q) == ascending) {
                shared[low] = q;
                shared[high] = p;
            }
            __syncthreads();
        }
    }
    block_keys[threadIdx.x] = shared[threadIdx.x];
    block_keys[threadIdx.x + kKeys / 2] = shared[threadIdx.x + kKeys / 2];
}

// C = A x B with tiles in shared memory, all matrices row-major and square, n a multiple of the tile.
//
// What to look at: the two barriers of the k loop tie all warps of a block together in the schedule; between
// them every float that was read once from global memory is read 16 times from shared memory. `a_tile` is read
// by broadcast (all lanes of half a warp want the same word), `b_tile` by consecutive words: no conflicts.

constexpr int kTile = 16;

__global__ void tiled_matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                             int n) {
    __shared__ float a_tile[kTile][kTile];
    __shared__ float b_tile[kTile][kTile];
    const int column = blockIdx.x * kTile + threadIdx.x;
    const int row = blockIdx.y * kTile + threadIdx.y;

    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += kTile) {
        a_tile[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
        b_tile[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + column];
        __syncthreads();  // the tiles are full
#pragma unroll
        for (int k = 0; k < kTile; ++k) {
            sum = fmaf(a_tile[threadIdx.y][k], b_tile[k][threadIdx.x], sum);
        }
        __syncthreads();  // nobody reads them any more
    }
    c[row * n + column] = sum;
}

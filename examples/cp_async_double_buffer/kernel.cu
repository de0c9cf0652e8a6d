// C = A x B with cp.async: while one pair of tiles is multiplied, the next pair is already on its way.
//
// What to look at: the copies go from global to shared memory without passing through a register, 16 bytes a
// lane. `commit` closes a group, `wait_prior(1)` waits for all groups but the newest. Needs sm_80; n is a
// multiple of 32. A block of 256 threads computes a 32 x 32 tile, four results a thread.

#include <cuda_pipeline.h>

constexpr int kTile = 32;   // rows and columns of C a block
constexpr int kDepth = 16;  // steps of k a stage
constexpr int kStages = 2;

struct Stage {
    float a[kTile][kDepth];
    float b[kDepth][kTile];
};

// 256 threads, 16 bytes each: the first half brings the tile of A, the second half that of B.
__device__ __forceinline__ void fetch(Stage& stage, const float* a, const float* b, int n, int row0, int column0,
                                      int k0) {
    const int thread = threadIdx.x;
    if (thread < 128) {
        const int row = thread / 4;
        const int k = thread % 4 * 4;
        __pipeline_memcpy_async(&stage.a[row][k], &a[(row0 + row) * n + k0 + k], 16);
    } else {
        const int k = (thread - 128) / 8;
        const int column = thread % 8 * 4;
        __pipeline_memcpy_async(&stage.b[k][column], &b[(k0 + k) * n + column0 + column], 16);
    }
    __pipeline_commit();
}

__global__ void __launch_bounds__(256)
    matmul_cp_async(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ __align__(16) Stage stages[kStages];
    const int row0 = blockIdx.y * kTile;
    const int column0 = blockIdx.x * kTile;
    const int tx = threadIdx.x % 16;
    const int ty = threadIdx.x / 16;
    float sum[2][2] = {};

    fetch(stages[0], a, b, n, row0, column0, 0);
    const int steps = n / kDepth;
    for (int step = 0; step < steps; ++step) {
        if (step + 1 < steps) {
            fetch(stages[(step + 1) % kStages], a, b, n, row0, column0, (step + 1) * kDepth);
            __pipeline_wait_prior(1);  // this step's tiles are there, the next ones may still fly
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();  // a wait covers a thread's own copies; the barrier covers everybody's

        const Stage& stage = stages[step % kStages];
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            const float a0 = stage.a[ty][k];
            const float a1 = stage.a[ty + 16][k];
            const float b0 = stage.b[k][tx];
            const float b1 = stage.b[k][tx + 16];
            sum[0][0] = fmaf(a0, b0, sum[0][0]);
            sum[0][1] = fmaf(a0, b1, sum[0][1]);
            sum[1][0] = fmaf(a1, b0, sum[1][0]);
            sum[1][1] = fmaf(a1, b1, sum[1][1]);
        }
        __syncthreads();  // before the next fetch overwrites this stage
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            c[(row0 + ty + 16 * i) * n + column0 + tx + 16 * j] = sum[i][j];
        }
    }
}

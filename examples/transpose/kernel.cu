// Four ways to transpose a matrix, the classic lesson in memory access.
//
// What to look at: the memory table. The naive kernel reads 4 sectors a request and writes 32. A tile in
// shared memory makes both sides 4, but moves the problem: a column of a [32][32] tile lies in one bank, so
// each load takes 32 wavefronts. One column of padding, or an XOR of the index, brings them down to 1.

constexpr int kTile = 32;
constexpr int kRows = 8;  // each thread moves kTile / kRows elements

__global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int x = blockIdx.x * kTile + threadIdx.x;
    const int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        out[x * n + (y + j)] = in[(y + j) * n + x];
    }
}

__global__ void transpose_tile(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[kTile][kTile];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;  // the block's place is transposed too
    y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
    }
}

__global__ void transpose_padded(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[kTile][kTile + 1];  // rows start one bank apart
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
    }
}

// No padding, so the tile stays a power of two: the column is XORed with the row instead, which permutes
// the banks of every row differently.
__global__ void transpose_swizzled(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[kTile][kTile];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        const int row = threadIdx.y + j;
        tile[row][threadIdx.x ^ row] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        out[(y + j) * n + x] = tile[threadIdx.x][(threadIdx.y + j) ^ threadIdx.x];
    }
}

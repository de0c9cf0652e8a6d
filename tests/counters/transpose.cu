// Three transposes of a square matrix through a shared tile: conflicting, padded, swizzled.

constexpr int kTile = 32, kRows = 8;

template <int PITCH, bool SWIZZLE>
__device__ __forceinline__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[kTile][PITCH];
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        if (x < n && y + j < n) {
            const int row = threadIdx.y + j;
            tile[row][SWIZZLE ? threadIdx.x ^ row : threadIdx.x] = in[(y + j) * n + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    for (int j = 0; j < kTile; j += kRows) {
        if (x < n && y + j < n) {
            const int column = threadIdx.y + j;
            out[(y + j) * n + x] = tile[threadIdx.x][SWIZZLE ? column ^ threadIdx.x : column];
        }
    }
}

__global__ void transpose_plain(const float* in, float* out, int n) { transpose<32, false>(in, out, n); }
__global__ void transpose_padded(const float* in, float* out, int n) { transpose<33, false>(in, out, n); }
__global__ void transpose_swizzled(const float* in, float* out, int n) { transpose<32, true>(in, out, n); }

__global__ void saxpy(int n, float s, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = s * x[i] + y[i];
    }
}

__global__ void saxpy_offset(int n, float s, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = s * x[i + 1] + y[i];
    }
}

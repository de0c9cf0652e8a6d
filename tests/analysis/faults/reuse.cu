// Faults of reuse: each *_fault has one, its *_fixed twin does the same work without it.

// A direct 3 x 3 convolution over 16 channels: neighbouring threads read overlapping windows.
__global__ void convolution_fault(const float* in, const float* weight, float* out, int w, int h) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, k = blockIdx.z;
    float sum = 0.0f;
    for (int c = 0; c < 16; c++)
        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++)
                sum += in[(c * (h + 2) + y + r) * (w + 2) + x + s] * weight[((k * 16 + c) * 3 + r) * 3 + s];
    out[(k * h + y) * w + x] = sum;
}

// The same as an implicit GEMM: the window of a channel is gathered once for eight output channels.
__global__ void convolution_fixed(const float* in, const float* weight, float* out, int w, int h) {
    __shared__ float tile[10][34], factor[8][9];
    const int t = threadIdx.y * 32 + threadIdx.x, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
    float sum[8] = {};
    for (int c = 0; c < 16; c++) {
        for (int i = t; i < 340; i += 256)
            tile[i / 34][i % 34] = in[(c * (h + 2) + y0 + i / 34) * (w + 2) + x0 + i % 34];
        if (t < 72) factor[t / 9][t % 9] = weight[((blockIdx.z * 8 + t / 9) * 16 + c) * 9 + t % 9];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 3; r++)
#pragma unroll
            for (int s = 0; s < 3; s++)
#pragma unroll
                for (int k = 0; k < 8; k++) sum[k] += tile[threadIdx.y + r][threadIdx.x + s] * factor[k][r * 3 + s];
        __syncthreads();
    }
    for (int k = 0; k < 8; k++)
        out[((blockIdx.z * 8 + k) * h + y0 + threadIdx.y) * w + x0 + threadIdx.x] = sum[k];
}

// Three passes over the same row: each thread loads its values three times.
__global__ void passes_fault(const float* in, float* out) {
    const float* row = in + blockIdx.x * 1024;
    float sum = 0.0f, square = 0.0f;
    for (int i = threadIdx.x; i < 1024; i += 256) sum += __ldcg(&row[i]);
    for (int i = threadIdx.x; i < 1024; i += 256) square += (__ldcg(&row[i]) - sum) * (__ldcg(&row[i]) - sum);
    for (int i = threadIdx.x; i < 1024; i += 256) out[blockIdx.x * 1024 + i] = __ldcg(&row[i]) * square;
}

__global__ void passes_fixed(const float* in, float* out) {
    const float* row = in + blockIdx.x * 1024;
    float value[4], sum = 0.0f, square = 0.0f;
    for (int j = 0; j < 4; j++) sum += value[j] = __ldcg(&row[threadIdx.x + 256 * j]);
    for (int j = 0; j < 4; j++) square += (value[j] - sum) * (value[j] - sum);
    for (int j = 0; j < 4; j++) out[blockIdx.x * 1024 + threadIdx.x + 256 * j] = value[j] * square;
}

// A tree through shared memory: a barrier on each level, ever fewer lanes.
__global__ void tree_fault(const float* in, float* out) {
    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 1; k < 256; k *= 2) {
        if (t % (2 * k) == 0) part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void tree_fixed(const float* in, float* out) {
    __shared__ float part[8];
    const int t = threadIdx.x;
    float sum = in[blockIdx.x * 256 + t];
    for (int k = 16; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 8 ? part[t] : 0.0f;
        for (int k = 4; k; k /= 2) sum += __shfl_down_sync(~0u, sum, k);
        if (t == 0) out[blockIdx.x] = sum;
    }
}

// A product through 16 x 16 tiles with one result a thread: each multiply-add reads shared memory.
__global__ void one_result_fault(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int t = 0; t < n; t += 16) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// A scan of 512 values on nine levels through shared memory, and the same by shuffles.
__global__ void scan_fault(const int* in, int* out) {
    __shared__ int room[2][512];
    const int t = threadIdx.x;
    int now = 0;
    room[0][t] = in[blockIdx.x * 512 + t];
    __syncthreads();
    for (int k = 1; k < 512; k *= 2) {
        room[1 - now][t] = room[now][t] + (t >= k ? room[now][t - k] : 0);
        now = 1 - now;
        __syncthreads();
    }
    out[blockIdx.x * 512 + t] = room[now][t];
}

__device__ int scanned(int value) {
#pragma unroll
    for (int k = 1; k < 32; k *= 2) {
        const int below = __shfl_up_sync(0xffffffffu, value, k);
        if ((threadIdx.x & 31) >= k) value += below;
    }
    return value;
}

__global__ void scan_fixed(const int* in, int* out) {
    __shared__ int sums[16];
    const int t = threadIdx.x, warp = t / 32;
    int value = scanned(in[blockIdx.x * 512 + t]);
    if ((t & 31) == 31) sums[warp] = value;
    __syncthreads();
    if (t < 32) {
        const int all = scanned(t < 16 ? sums[t] : 0);
        if (t < 16) sums[t] = all;
    }
    __syncthreads();
    out[blockIdx.x * 512 + t] = value + (warp ? sums[warp - 1] : 0);
}

// Tiles filled by a loop of their own, and copied a turn ahead.
__global__ void filled_fault(const float* in, float* out, int tiles) {
    __shared__ float tile[1024];
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
#pragma unroll 1
        for (int j = threadIdx.x; j < 1024; j += blockDim.x) tile[j] = in[(blockIdx.x * tiles + t) * 1024 + j];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 64; k++) sum = fmaf(tile[(threadIdx.x + k) & 1023], 0.5f, sum);
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__device__ void fill_ahead(float* to, const float* from) {
#pragma unroll 1
    for (int j = threadIdx.x; j < 1024; j += blockDim.x)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to + j))), "l"(from + j));
    asm volatile("cp.async.commit_group;");
}

__global__ void filled_fixed(const float* in, float* out, int tiles) {
    __shared__ float tile[2][1024];
    const float* mine = in + blockIdx.x * tiles * 1024;
    float sum = 0.0f;
    fill_ahead(tile[0], mine);
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) fill_ahead(tile[(t + 1) & 1], mine + (t + 1) * 1024);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 64; k++) sum = fmaf(tile[t & 1][(threadIdx.x + k) & 1023], 0.5f, sum);
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

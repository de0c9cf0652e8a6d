// Kernels as they are written every day, for what the advice must and must not say about them.

__global__ void stencil(const float* a, float* b, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
}

__global__ void blur(const float* in, float* out) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 17; k++) sum += in[i + k];
    out[i] = sum / 17;
}

__global__ void bodies(const float4* p, float4* f, int n) {
    __shared__ float4 s[256];
    const float4 me = p[blockIdx.x * 256 + threadIdx.x];
    float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        s[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            const float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            r = r * r * r * s[j].w;
            ax += dx * r, ay += dy * r, az += dz * r;
        }
        __syncthreads();
    }
    f[blockIdx.x * 256 + threadIdx.x] = make_float4(ax, ay, az, 0);
}

// A thread a row of a sparse matrix: sixteen values a row.
__global__ void rows(const float* value, const int* column, const float* x, float* y) {
    const int r = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
    for (int i = r * 16; i < r * 16 + 16; i++) sum += value[i] * x[column[i]];
    y[r] = sum;
}

__global__ void naive(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];
    c[row * n + col] = sum;
}

__global__ void normalise(const float* in, const float* gain, const float* bias, float* out) {
    const float value = in[blockIdx.x * 256 + threadIdx.x];
    float sum = value;
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    for (int i = threadIdx.x; i < 1024; i += 256)
        out[blockIdx.x * 1024 + i] = (in[blockIdx.x * 1024 + i] - sum) * gain[i] + bias[i];
}

// A thread waits for another block's flag: what it reads again may have changed.
__global__ void waits(volatile int* flag, int* out) {
    if (blockIdx.x == 0) {
        for (int i = 0; i < 64; i++) out[threadIdx.x] = i;
        __threadfence();
        flag[threadIdx.x] = 1;
    } else {
        while (flag[threadIdx.x] == 0) {}
        out[256 + threadIdx.x] = flag[threadIdx.x];
    }
}

__global__ void bins(const unsigned* data, int* count, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&count[data[i] & 63], 1);
}

// A pass over two arrays that does next to nothing with them, and the same fused with what follows.
__global__ void pass_fault(const float* x, float* y, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = fmaf(a, x[i], y[i]);
}

__global__ void pass_fixed(const float* x, float* y, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float one = x[i], two = y[i], three = one + a, four = two + a;
#pragma unroll
    for (int k = 0; k < 128; k++) {
        one = fmaf(one, a, 1.0f), two = fmaf(two, a, 2.0f);
        three = fmaf(three, a, 3.0f), four = fmaf(four, a, 4.0f);
    }
    y[i] = one + two + three + four;
}

// Much arithmetic, for grids that give some SMs more blocks than others.
__global__ void busy_fault(const float* x, float* y, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = x[i] + j;
#pragma unroll
    for (int k = 0; k < 128; k++)
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = fmaf(v[j], a, 1.0f);
    y[i] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}

// Products and sums that the compiler may not fuse, and fused ones.
__global__ void unfused_fault(const float* x, float* y, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = x[i] + j;
#pragma unroll
    for (int k = 0; k < 64; k++)
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = __fadd_rn(__fmul_rn(v[j], a), 1.0f);
    y[i] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}

__global__ void unfused_fixed(const float* x, float* y, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = x[i] + j;
#pragma unroll
    for (int k = 0; k < 64; k++)
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = __fmaf_rn(v[j], a, 1.0f);
    y[i] = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}

// A lock that one lane of each block takes: loads in flight would not hurry it.
__global__ void lock(int* taken, int* sum) {
    if (threadIdx.x == 0) {
        while (atomicCAS(taken, 0, 1) != 0) {
        }
        __threadfence();
        *reinterpret_cast<volatile int*>(sum) = *reinterpret_cast<volatile int*>(sum) + 1;
        __threadfence();
        atomicExch(taken, 0);
    }
}

// A warp that fills tiles for the others: barriers and shared reads, but no tree.
__global__ void handover(const int* in, int* out, int tiles) {
    __shared__ int tile[2][32];
    int sum = 0;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
        if (threadIdx.x < 32) tile[t & 1][threadIdx.x] = in[(blockIdx.x * tiles + t) * 32 + threadIdx.x];
        __syncthreads();
        if (threadIdx.x >= 32) sum += tile[t & 1][threadIdx.x & 31];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

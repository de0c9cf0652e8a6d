// Kernels with one planted fault of arithmetic each, and their repaired twins.

#include <cuda_fp16.h>

// A literal without f.
__global__ void literal_fault(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < 16; k++) v = v * 1.0001 + 0.5;
    out[i] = v;
}

__global__ void literal_fixed(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < 16; k++) v = v * 1.0001f + 0.5f;
    out[i] = v;
}

// One accumulator, one warp a scheduler.
__global__ void chain_fault(float* out, float x, int n) {
    float a = threadIdx.x;
#pragma unroll 16
    for (int k = 0; k < n; k++) a = fmaf(a, x, 1.0f);
    out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

__global__ void chain_fixed(float* out, float x, int n) {
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
#pragma unroll 4
    for (int k = 0; k < n / 8; k++) {
        a = fmaf(a, x, 1.0f), b = fmaf(b, x, 1.0f), c = fmaf(c, x, 1.0f), d = fmaf(d, x, 1.0f);
        e = fmaf(e, x, 1.0f), f = fmaf(f, x, 1.0f), g = fmaf(g, x, 1.0f), h = fmaf(h, x, 1.0f);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}

// Lanes of one warp take different ways.
__global__ void lanes_fault(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    const int n = 1 << (threadIdx.x & 7);
#pragma unroll 1
    for (int k = 0; k < n; k++) v = v * v + 0.25f;
    out[i] = v;
}

__global__ void lanes_fixed(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    const int n = 1 << ((threadIdx.x >> 5) & 7);
#pragma unroll 1
    for (int k = 0; k < n; k++) v = v * v + 0.25f;
    out[i] = v;
}

// Division by a variable in the index.
__global__ void division_fault(const int* in, int* out, int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
#pragma unroll 1
    for (int k = 1; k <= n; k++) sum += (sum + k) / (rows + k) + (sum ^ k) % (rows - k);
    out[i] = sum;
}

__global__ void division_fixed(const int* in, int* out, int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
#pragma unroll 1
    for (int k = 1; k <= n; k++) sum += ((sum + k) >> 5) + ((sum ^ k) & 31) + rows;
    out[i] = sum;
}

// Correctly rounded divisions where the approximate ones would do.
__global__ void precise_fault(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < n; k++) v = 1.5f / (v + 1.0f) + v / 3.25f / (v + 2.0f);
    out[i] = v;
}

__global__ void precise_fixed(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < n; k++) v = __fdividef(1.5f, v + 1.0f) + __fdividef(v * 0.3f, v + 2.0f);
    out[i] = v;
}

// Half-precision matrix product on the scalar pipe.
__global__ void scalar_half_fault(const __half2* a, const __half2* b, __half2* c, int n) {
    __shared__ __half2 sa[64][33], sb[64][33];
    const int tx = threadIdx.x, ty = threadIdx.y;
    __half2 sum[8] = {};
    for (int k0 = 0; k0 < n; k0 += 32) {
        for (int j = 0; j < 64; j += 8) {
            sa[ty + j][tx] = a[(blockIdx.y * 64 + ty + j) * n + k0 + tx];
            sb[ty + j][tx] = b[(blockIdx.x * 64 + ty + j) * n + k0 + tx];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++)
#pragma unroll
            for (int j = 0; j < 8; j++) sum[j] = __hfma2(sa[ty + j * 8][k], sb[tx][k], sum[j]);
        __syncthreads();
    }
    for (int j = 0; j < 8; j++) c[(blockIdx.y * 64 + ty + j * 8) * n + blockIdx.x * 32 + tx] = sum[j];
}

__global__ void scalar_half_fixed(const __half* a, const __half* b, float* c, int n) {
    float d[4] = {};
    const int lane = threadIdx.x, warp = (blockIdx.x * blockDim.y + threadIdx.y);
    const unsigned* pa = reinterpret_cast<const unsigned*>(a) + warp * 128;
    const unsigned* pb = reinterpret_cast<const unsigned*>(b) + warp * 64;
    unsigned ra[4], rb[2];
    for (int j = 0; j < 4; j++) ra[j] = pa[j * 32 + lane];
    for (int j = 0; j < 2; j++) rb[j] = pb[j * 32 + lane];
#pragma unroll 8
    for (int k = 0; k < n; k++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int j = 0; j < 4; j++) c[warp * 128 + j * 32 + lane] = d[j];
}

// Fresh fragments from global memory for every tensor instruction.
__global__ void fragments_fault(const unsigned* a, const unsigned* b, float* c, int n) {
    float d[4] = {};
    const int lane = threadIdx.x, warp = blockIdx.x * blockDim.y + threadIdx.y;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        unsigned ra[4], rb[2];
        for (int j = 0; j < 4; j++) ra[j] = a[((warp * n + k) * 4 + j) * 32 + lane];
        for (int j = 0; j < 2; j++) rb[j] = b[((warp * n + k) * 2 + j) * 32 + lane];
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    }
    for (int j = 0; j < 4; j++) c[warp * 128 + j * 32 + lane] = d[j];
}

__global__ void fragments_fixed(const uint4* a, const uint2* b, float* c, int n) {
    float d[4] = {};
    const int lane = threadIdx.x, warp = blockIdx.x * blockDim.y + threadIdx.y;
#pragma unroll 1
    for (int k = 0; k < n / 64; k++) {
        const uint4 ra = a[(warp * n + k) * 32 + lane];
        const uint2 rb = b[(warp * n + k) * 32 + lane];
#pragma unroll
        for (int j = 0; j < 64; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(ra.x), "r"(ra.y), "r"(ra.z), "r"(ra.w), "r"(rb.x), "r"(rb.y));
    }
    for (int j = 0; j < 4; j++) c[warp * 128 + j * 32 + lane] = d[j];
}

// Scores of attention from scaled queries: one factor of each product comes from a register.
__global__ void scores(const float* queries, const float* keys, float* out, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 4
    for (int d = 0; d < 64; d++) {
        const float query = queries[row * 64 + d];
        sum += fmaxf(query * 0.125f, -1e30f) * keys[column * 64 + d];
    }
    out[row * n + column] = sum;
}

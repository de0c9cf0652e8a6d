// Kernels with one planted fault of memory each, and their repaired twins.

#include <cstdint>

// A column of the tile is read: all lanes of a warp meet in one bank.
__global__ void stride_shared_fault(const float* in, float* out) {
    __shared__ float tile[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(blockIdx.x * 32 + y + j) * 32 + x];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; k++) sum += tile[x][(k + y) & 31];
    out[(blockIdx.x * 8 + y) * 32 + x] = sum;
}

__global__ void stride_shared_fixed(const float* in, float* out) {
    __shared__ float tile[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(blockIdx.x * 32 + y + j) * 32 + x];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 32; k++) sum += tile[x][(k + y) & 31];
    out[(blockIdx.x * 8 + y) * 32 + x] = sum;
}

// float4 that starts 16 bytes past a sector: 17 sectors where 16 would do.
__global__ void header_offset_fault(const float4* in, float4* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = (in + 1)[i];
    v.x += 1.0f;
    out[i] = v;
}

__global__ void header_offset_fixed(const float4* in, float4* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = (in + 2)[i];
    v.x += 1.0f;
    out[i] = v;
}

// Each lane walks its own row of a matrix.
__global__ void strided_load_fault(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * 32] + 1.0f;
}

__global__ void strided_load_fixed(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1.0f;
}

// A field of a structure of 64 bytes.
struct Particle {
    float mass;
    float rest[15];
};
__global__ void array_of_structures_fault(const Particle* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i].mass * 2.0f;
}

__global__ void array_of_structures_fixed(const float* mass, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = mass[i] * 2.0f;
}

// The transposed store scatters each warp over 32 rows.
__global__ void scattered_store_fault(const float* in, float* out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

__global__ void scattered_store_fixed(const float* in, float* out, int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[y * n + x] = in[y * n + x];
}

// One counter for the whole grid.
__global__ void one_counter_fault(const int* in, int* counter) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counter[in[i] & 1], i);
}

__global__ void one_counter_fixed(const int* in, int* counter) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i + (in[i] & 1);
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if ((threadIdx.x & 31) == 0) counter[i >> 5] = sum;
}

// Every lane of a block adds to one shared word.
__global__ void shared_counter_fault(const int* in, int* out) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++) atomicAdd(&total + (in[i] & 0), k ^ i);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}

__global__ void shared_counter_fixed(const int* in, int* out) {
    __shared__ int total[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 16; k++) sum += (k ^ i) + (in[i] & 0);
    total[threadIdx.x] = sum;
    __syncthreads();
    out[i] = total[threadIdx.x ^ 1];
}

// One byte a lane at a time.
__global__ void bytes_fault(const unsigned char* in, unsigned char* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] ^ 255;
}

__global__ void bytes_fixed(const uint4* in, uint4* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 v = in[i];
        v.x = ~v.x, v.y = ~v.y, v.z = ~v.z, v.w = ~v.w;
        out[i] = v;
    }
}

// Matrix product straight from global memory.
__global__ void untiled_fault(const float* a, const float* b, float* c, int n) {
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k++) sum = fmaf(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}

__global__ void untiled_fixed(const float* a, const float* b, float* c, int n) {
    __shared__ float sa[16][16], sb[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        sa[ty][tx] = a[y * n + k0 + tx];
        sb[ty][tx] = b[(k0 + ty) * n + x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) sum = fmaf(sa[ty][k], sb[k][tx], sum);
        __syncthreads();
    }
    c[y * n + x] = sum;
}

// Tiles that go through registers and are waited for, against copies that fly two tiles ahead.
__global__ void staged_fault(const float* in, float* out, int tiles) {
    __shared__ float tile[256];
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
        tile[threadIdx.x] = in[(blockIdx.x * tiles + t) * 256 + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) sum += tile[(threadIdx.x + k) & 255] * 0.5f;
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

__device__ void copy_async(float* to, const float* from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;" ::"r"(address), "l"(from));
}

__global__ void staged_fixed(const float* in, float* out, int tiles) {
    __shared__ float tile[2][256];
    const float* mine = in + blockIdx.x * tiles * 256 + threadIdx.x;
    float sum = 0.0f;
    copy_async(&tile[0][threadIdx.x], mine);
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) copy_async(&tile[(t + 1) & 1][threadIdx.x], mine + (t + 1) * 256);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) sum += tile[t & 1][(threadIdx.x + k) & 255] * 0.5f;
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// The same small table read from beyond the SM by every thread, over and over.
__global__ void table_fault(const int4* table, int4* out, int n) {
    int4 sum = {};
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        const int4 v = __ldcg(&table[(threadIdx.x + k * 8) & 1023]);
        sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void table_fixed(const int4* table, int4* out, int n) {
    __shared__ int4 copy[1024];
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) copy[j] = table[j];
    __syncthreads();
    int4 sum = {};
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        const int4 v = copy[(threadIdx.x + k * 8) & 1023];
        sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Rows that asynchronous copies write as columns of a tile: every lane into the same bank, or a pitch of 33.
template <int kPitch>
__device__ void copied(const float* in, float* out, int tiles) {
    __shared__ float tile[2][32 * kPitch];
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; t++) {
        const float* mine = in + (blockIdx.x * tiles + t) * 1024 + threadIdx.x;
#pragma unroll
        for (int r = 0; r < 32; r += 8) {
            const int row = threadIdx.y + r;
            copy_async(&tile[t & 1][threadIdx.x * kPitch + row], mine + row * 32);
        }
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 32; r += 8) sum += tile[t & 1][(threadIdx.y + r) * kPitch + threadIdx.x];
    }
    out[blockIdx.x * 256 + threadIdx.y * 32 + threadIdx.x] = sum;
}

__global__ void copied_fault(const float* in, float* out, int tiles) { copied<32>(in, out, tiles); }
__global__ void copied_fixed(const float* in, float* out, int tiles) { copied<33>(in, out, tiles); }

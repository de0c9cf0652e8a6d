// C = A x B on the tensor cores: half-precision inputs, float sums, one 16 x 8 tile of C a warp.
//
// What to look at: `ldmatrix` hands each lane the fragment that `mma.sync` wants; every eight lanes give the
// addresses of one 8 x 8 matrix. The rows of the tiles are padded from 64 to 72 halfs (144 bytes), so that eight
// rows start in eight different groups of four banks and each 8 x 8 matrix takes a single wavefront.
// A is 64 x 64 row-major, B is 64 x 64 row-major, C likewise. A block of 8 warps computes 32 x 32.

#include <cuda_fp16.h>

constexpr int kSize = 64;      // k, and the row length of all matrices
constexpr int kBlock = 32;     // rows and columns of C a block
constexpr int kPitchA = 72;    // 64 + 8 halfs
constexpr int kPitchB = 40;    // 32 + 8 halfs

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void load_a(unsigned (&a)[4], const __half* tile) {
    const int lane = threadIdx.x % 32;
    const unsigned address = shared_address(tile + lane % 16 * kPitchA + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address));
}

__device__ __forceinline__ void load_b(unsigned (&b)[2], const __half* tile) {
    const int lane = threadIdx.x % 32;  // lanes 16 to 31 repeat the addresses of 0 to 15: .x2 ignores them
    const unsigned address = shared_address(tile + lane % 16 * kPitchB);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1])
                 : "r"(address));
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void __launch_bounds__(256)
    mma_tile(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c) {
    __shared__ __align__(16) __half a_tile[kBlock * kPitchA];
    __shared__ __align__(16) __half b_tile[kSize * kPitchB];
    const int row0 = blockIdx.y * kBlock;
    const int column0 = blockIdx.x * kBlock;

    // 32 x 64 and 64 x 32 halfs, 8 halfs (16 bytes) a thread: exactly one turn each.
    {
        const int row = threadIdx.x / 8;
        const int column = threadIdx.x % 8 * 8;
        *reinterpret_cast<uint4*>(&a_tile[row * kPitchA + column]) =
            *reinterpret_cast<const uint4*>(&a[(row0 + row) * kSize + column]);
    }
    {
        const int row = threadIdx.x / 4;
        const int column = threadIdx.x % 4 * 8;
        *reinterpret_cast<uint4*>(&b_tile[row * kPitchB + column]) =
            *reinterpret_cast<const uint4*>(&b[row * kSize + column0 + column]);
    }
    __syncthreads();

    const int warp = threadIdx.x / 32;
    const int warp_row = warp / 4 * 16;
    const int warp_column = warp % 4 * 8;
    float sum[4] = {};
#pragma unroll
    for (int k = 0; k < kSize; k += 16) {
        unsigned fragment_a[4];
        unsigned fragment_b[2];
        load_a(fragment_a, &a_tile[warp_row * kPitchA + k]);
        load_b(fragment_b, &b_tile[k * kPitchB + warp_column]);
        multiply(sum, fragment_a, fragment_b);
    }

    // A lane holds two neighbouring columns of two rows that lie eight apart.
    const int lane = threadIdx.x % 32;
    const int row = row0 + warp_row + lane / 4;
    const int column = column0 + warp_column + lane % 4 * 2;
    *reinterpret_cast<float2*>(&c[row * kSize + column]) = make_float2(sum[0], sum[1]);
    *reinterpret_cast<float2*>(&c[(row + 8) * kSize + column]) = make_float2(sum[2], sum[3]);
}

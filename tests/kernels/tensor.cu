// Tensor-core instructions: every fragment layout, one warp. Inputs are small whole numbers, so that sums are
// exact in any order and the results agree bit for bit.

#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

#define LANE (threadIdx.x & 31)
#define GROUP (LANE >> 2)
#define QUAD (LANE & 3)

__device__ __forceinline__ unsigned pack(const unsigned short* p, int stride) {
    return (unsigned)p[0] | (unsigned)p[stride] << 16;
}

// 16 x 8 x 16; a is 16 x 16 row-major, b 16 x 8 row-major, both 16-bit patterns.
#define FRAGMENTS_16816                                                                                  \
    const unsigned a0 = pack(&a[GROUP * 16 + QUAD * 2], 1), a1 = pack(&a[(GROUP + 8) * 16 + QUAD * 2], 1); \
    const unsigned a2 = pack(&a[GROUP * 16 + QUAD * 2 + 8], 1);                                          \
    const unsigned a3 = pack(&a[(GROUP + 8) * 16 + QUAD * 2 + 8], 1);                                    \
    const unsigned b0 = pack(&b[QUAD * 2 * 8 + GROUP], 8), b1 = pack(&b[(QUAD * 2 + 8) * 8 + GROUP], 8);

template <typename T>
__device__ __forceinline__ void store_c(T* c, const T (&d)[4]) {
    c[GROUP * 8 + QUAD * 2] = d[0], c[GROUP * 8 + QUAD * 2 + 1] = d[1];
    c[(GROUP + 8) * 8 + QUAD * 2] = d[2], c[(GROUP + 8) * 8 + QUAD * 2 + 1] = d[3];
}

extern "C" __global__ void mma_f16_f32(const unsigned short* a, const unsigned short* b, float* c) {
    FRAGMENTS_16816
    float d[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    store_c(c, d);
}

extern "C" __global__ void mma_f16_f16(const unsigned short* a, const unsigned short* b, unsigned* c) {
    FRAGMENTS_16816
    unsigned d0 = 0, d1 = 0x3c003c00u;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d0), "+r"(d1)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    c[GROUP * 4 + QUAD] = d0;
    c[(GROUP + 8) * 4 + QUAD] = d1;
}

extern "C" __global__ void mma_bf16(const unsigned short* a, const unsigned short* b, float* c) {
    FRAGMENTS_16816
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    store_c(c, d);
}

// 16 x 8 x 8 with half of the k range.
extern "C" __global__ void mma_f16_k8(const unsigned short* a, const unsigned short* b, float* c) {
    FRAGMENTS_16816
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(b0));
    (void)a2, (void)a3, (void)b1;
    store_c(c, d);
}

extern "C" __global__ void mma_tf32(const float* a, const float* b, float* c) {
    const unsigned* ua = (const unsigned*)a;
    const unsigned* ub = (const unsigned*)b;
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ua[GROUP * 8 + QUAD]), "r"(ua[(GROUP + 8) * 8 + QUAD]), "r"(ua[GROUP * 8 + QUAD + 4]),
                   "r"(ua[(GROUP + 8) * 8 + QUAD + 4]), "r"(ub[QUAD * 8 + GROUP]), "r"(ub[(QUAD + 4) * 8 + GROUP]));
    store_c(c, d);
}

extern "C" __global__ void mma_f64(const double* a, const double* b, double* c) {
    double d0 = 0.5, d1 = 0.25;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d0), "+d"(d1)
                 : "d"(a[GROUP * 4 + QUAD]), "d"(b[QUAD * 8 + GROUP]));
    c[GROUP * 8 + QUAD * 2] = d0;
    c[GROUP * 8 + QUAD * 2 + 1] = d1;
}

// 16 x 8 x 32 bytes; a is 16 x 32 row-major, b is 8 x 32 (column-major), signs as asked.
#define BYTES_16832                                                                                  \
    const unsigned* ua = (const unsigned*)a;                                                         \
    const unsigned* ub = (const unsigned*)b;                                                         \
    const unsigned a0 = ua[GROUP * 8 + QUAD], a1 = ua[(GROUP + 8) * 8 + QUAD];                       \
    const unsigned a2 = ua[GROUP * 8 + QUAD + 4], a3 = ua[(GROUP + 8) * 8 + QUAD + 4];               \
    const unsigned b0 = ub[GROUP * 8 + QUAD], b1 = ub[GROUP * 8 + QUAD + 4];                         \
    int d[4] = {};

extern "C" __global__ void mma_s8(const signed char* a, const signed char* b, int* c) {
    BYTES_16832
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    store_c(c, d);
}

extern "C" __global__ void mma_u8_s8(const unsigned char* a, const signed char* b, int* c) {
    BYTES_16832
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    store_c(c, d);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
extern "C" __global__ void mma_e4m3(const unsigned char* a, const unsigned char* b, float* c) {
    const unsigned* ua = (const unsigned*)a;
    const unsigned* ub = (const unsigned*)b;
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ua[GROUP * 8 + QUAD]), "r"(ua[(GROUP + 8) * 8 + QUAD]), "r"(ua[GROUP * 8 + QUAD + 4]),
                   "r"(ua[(GROUP + 8) * 8 + QUAD + 4]), "r"(ub[GROUP * 8 + QUAD]), "r"(ub[GROUP * 8 + QUAD + 4]));
    store_c(c, d);
}
#endif

// ldmatrix in all its sizes, plain and transposed.
extern "C" __global__ void load_matrix(const unsigned short* in, unsigned* out) {
    __shared__ alignas(16) unsigned short tile[4][64];
    for (int k = LANE; k < 256; k += 32) (&tile[0][0])[k] = in[k];
    __syncwarp();
    const unsigned row = (unsigned)__cvta_generic_to_shared(&tile[LANE / 8][LANE % 8 * 8]);
    unsigned r[8];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[4]), "=r"(r[5]) : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[6]) : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[7]) : "r"(row));
    for (int k = 0; k < 8; ++k) out[8 * LANE + k] = r[k];
}

// The warp matrix API, half inputs and float sums, row- and column-major.
extern "C" __global__ void wmma_half(const __half* a, const __half* b, float* c) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(fa, a + k, 32);
        wmma::load_matrix_sync(fb, b + k, 32);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int k = 0; k < fc.num_elements; ++k) fc.x[k] *= 2.0f;
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_bytes(const signed char* a, const signed char* b, int* c) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> fc;
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 8);
    wmma::fill_fragment(fc, -7);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 32, wmma::mem_col_major);
}

#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void mma(const half *a, const half *b, float *c, half *h) {
    __shared__ half sa[256], sb[256];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 32) { sa[i] = a[i]; sb[i] = b[i]; }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> fh;
    wmma::fill_fragment(fc, 0.0f);
    wmma::fill_fragment(fh, __float2half(0.5f));
    for (int k = 0; k < 4; ++k) {
        wmma::load_matrix_sync(fa, sa, 16);
        wmma::load_matrix_sync(fb, b + k * 256, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::mma_sync(fh, fa, fb, fh);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(h, fh, 16, wmma::mem_row_major);
#if __CUDA_ARCH__ >= 800
    unsigned r0, r1, r2, r3, p = (unsigned)__cvta_generic_to_shared(sa + t * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(p));
    int d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r1), "r"(r2));
    double e0 = t, e1 = 1;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(e0), "+d"(e1) : "d"((double)d0), "d"((double)d1));
    c[256 + t] = d0 + d1 + d2 + d3 + (float)(e0 + e1);
#endif
}

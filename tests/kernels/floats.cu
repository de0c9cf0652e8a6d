// Floating point. Exact operations agree bit for bit; approximate ones within a stated number of ulp.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// Basic operations in all four rounding modes; 20 results an element.
extern "C" __global__ void float_rounding(const float* a, const float* b, const float* c, float* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const float x = a[i], y = b[i], z = c[i];
    float* r = out + 20 * i;
    r[0] = __fadd_rn(x, y), r[1] = __fadd_rz(x, y), r[2] = __fadd_rd(x, y), r[3] = __fadd_ru(x, y);
    r[4] = __fmul_rn(x, y), r[5] = __fmul_rz(x, y), r[6] = __fmul_rd(x, y), r[7] = __fmul_ru(x, y);
    r[8] = __fmaf_rn(x, y, z), r[9] = __fmaf_rz(x, y, z), r[10] = __fmaf_rd(x, y, z), r[11] = __fmaf_ru(x, y, z);
    r[12] = __fdiv_rn(x, y), r[13] = __fdiv_rz(x, y), r[14] = __fdiv_rd(x, y), r[15] = __fdiv_ru(x, y);
    const float w = fabsf(x);
    r[16] = __fsqrt_rn(w), r[17] = __fsqrt_rz(w), r[18] = __fsqrt_rd(w), r[19] = __fsqrt_ru(w);
}

extern "C" __global__ void double_rounding(const double* a, const double* b, const double* c, double* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const double x = a[i], y = b[i], z = c[i];
    double* r = out + 15 * i;
    r[0] = __dadd_rn(x, y), r[1] = __dadd_rz(x, y), r[2] = __dadd_rd(x, y), r[3] = __dadd_ru(x, y);
    r[4] = __dmul_rn(x, y), r[5] = __dmul_rz(x, y), r[6] = __dmul_rd(x, y), r[7] = __dmul_ru(x, y);
    r[8] = __fma_rn(x, y, z), r[9] = __fma_rz(x, y, z), r[10] = __fma_rd(x, y, z), r[11] = __fma_ru(x, y, z);
    r[12] = __ddiv_rn(x, y), r[13] = __dsqrt_rn(fabs(x)), r[14] = __drcp_rn(y);
}

// Minimum, maximum, absolute value, sign, comparison and classification, with NaN, infinities and zeros.
extern "C" __global__ void float_specials(const float* a, const float* b, float* out, unsigned* flags, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* r = out + 7 * i;
    r[0] = fminf(x, y);
    r[1] = fmaxf(x, y);
    r[2] = fabsf(x);
    r[3] = copysignf(x, y);
    r[4] = -x;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r[5]) : "f"(x), "f"(y));
    asm("add.sat.f32 %0, %1, %2;" : "=f"(r[6]) : "f"(x), "f"(y));
    unsigned f = 0;
    f |= (x < y) << 0 | (x <= y) << 1 | (x == y) << 2 | (x != y) << 3 | (x > y) << 4 | (x >= y) << 5;
    f |= (!(x < y)) << 6 | (isnan(x) != 0) << 7 | (isinf(x) != 0) << 8 | (signbit(x) != 0) << 9;
    f |= (isfinite(x) != 0) << 10;
    flags[i] = f;
}

// Flush-to-zero, asked for per instruction.
extern "C" __global__ void flush_to_zero(const float* a, const float* b, float* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(out[4 * i]) : "f"(a[i]), "f"(b[i]));
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(out[4 * i + 1]) : "f"(a[i]), "f"(b[i]));
    asm("fma.rn.ftz.f32 %0, %1, %2, %1;" : "=f"(out[4 * i + 2]) : "f"(a[i]), "f"(b[i]));
    asm("mul.f32 %0, %1, %2;" : "=f"(out[4 * i + 3]) : "f"(a[i]), "f"(b[i]));
}

// Float to integer in all modes, with clamping and NaN.
extern "C" __global__ void float_to_int(const float* a, int* out, long long* wide, unsigned* narrow, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const float x = a[i];
    int* r = out + 6 * i;
    r[0] = __float2int_rn(x), r[1] = __float2int_rz(x), r[2] = __float2int_rd(x), r[3] = __float2int_ru(x);
    r[4] = (int)__float2uint_rz(x);
    r[5] = __double2int_rn((double)x * 1.5);
    wide[2 * i] = __float2ll_rz(x);
    wide[2 * i + 1] = (long long)__float2ull_rn(x);
    asm("{ .reg .u16 t; cvt.rni.u8.f32 t, %1; cvt.u32.u16 %0, t; }" : "=r"(narrow[2 * i]) : "f"(x));
    asm("{ .reg .s16 t; cvt.rzi.s16.f32 t, %1; cvt.s32.s16 %0, t; }" : "=r"(narrow[2 * i + 1]) : "f"(x));
}

extern "C" __global__ void int_to_float(const int* a, const long long* b, float* out, double* wide, int n) {
    const int i = INDEX;
    if (i >= n) return;
    float* r = out + 7 * i;
    r[0] = __int2float_rn(a[i]), r[1] = __int2float_rz(a[i]), r[2] = __int2float_rd(a[i]), r[3] = __int2float_ru(a[i]);
    r[4] = __uint2float_rn((unsigned)a[i]);
    r[5] = __ll2float_rn(b[i]);
    r[6] = __ull2float_rz((unsigned long long)b[i]);
    wide[2 * i] = __ll2double_rn(b[i]);
    wide[2 * i + 1] = __ull2double_rd((unsigned long long)b[i]);
}

// Rounding to whole numbers.
extern "C" __global__ void round_to_whole(const float* a, float* out, double* wide, int n) {
    const int i = INDEX;
    if (i >= n) return;
    float* r = out + 5 * i;
    r[0] = floorf(a[i]), r[1] = ceilf(a[i]), r[2] = truncf(a[i]), r[3] = rintf(a[i]), r[4] = roundf(a[i]);
    wide[2 * i] = floor((double)a[i]);
    wide[2 * i + 1] = rint((double)a[i] * 0.5);
}

// Between the widths.
extern "C" __global__ void float_widths(const float* a, const double* b, float* out, double* wide, __half* half,
                                        __nv_bfloat16* brain, int n) {
    const int i = INDEX;
    if (i >= n) return;
    out[4 * i] = __double2float_rn(b[i]), out[4 * i + 1] = __double2float_rz(b[i]);
    out[4 * i + 2] = __double2float_rd(b[i]), out[4 * i + 3] = __double2float_ru(b[i]);
    wide[i] = a[i];
    half[2 * i] = __float2half_rn(a[i]), half[2 * i + 1] = __float2half_rz(a[i]);
    brain[2 * i] = __float2bfloat16_rn(a[i]), brain[2 * i + 1] = __float2bfloat16_rz(a[i]);
}

extern "C" __global__ void half_arith(const __half2* a, const __half2* b, const __half2* c, __half2* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    __half2* r = out + 7 * i;
    r[0] = __hadd2_rn(a[i], b[i]);
    r[1] = __hmul2_rn(a[i], b[i]);
    r[2] = __hfma2(a[i], b[i], c[i]);
    r[3] = __hmin2(a[i], b[i]);
    r[4] = __habs2(__hneg2(a[i]));
    r[5] = __hfma2_sat(a[i], b[i], c[i]);
    r[6] = __halves2half2(__hsub(__low2half(a[i]), __high2half(b[i])), __low2half(c[i]));
}

extern "C" __global__ void half_compare(const __half2* a, const __half2* b, unsigned* out, int* whole, int n) {
    const int i = INDEX;
    if (i >= n) return;
    out[3 * i] = __hlt2_mask(a[i], b[i]);
    const __half2 ge = __hge2(a[i], b[i]);
    out[3 * i + 1] = *reinterpret_cast<const unsigned*>(&ge);
    out[3 * i + 2] = __hbne2(a[i], b[i]) * 2 + __hgt(__low2half(a[i]), __low2half(b[i]));
    whole[2 * i] = __half2int_rn(__low2half(a[i]));
    whole[2 * i + 1] = __half2int_rz(__high2half(a[i]));
}

extern "C" __global__ void bfloat_arith(const __nv_bfloat162* a, const __nv_bfloat162* b, const __nv_bfloat162* c,
                                        __nv_bfloat162* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    __nv_bfloat162* r = out + 4 * i;
    r[0] = __hfma2(a[i], b[i], c[i]);
    r[1] = __hmax2(a[i], b[i]);
    r[2] = __hneg2(a[i]);
    r[3] = __hmul2_rn(a[i], b[i]);
}

// Eight-bit floats: in hardware from sm_89 on, in software before.
extern "C" __global__ void eight_bit_floats(const float2* a, unsigned short* e4m3, unsigned short* e5m2, __half2* back,
                                            int n) {
    const int i = INDEX;
    if (i >= n) return;
    e4m3[i] = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E4M3);
    e5m2[i] = __nv_cvt_float2_to_fp8x2(a[i], __NV_SATFINITE, __NV_E5M2);
    back[2 * i] = __half2(__nv_cvt_fp8x2_to_halfraw2(e4m3[i], __NV_E4M3));
    back[2 * i + 1] = __half2(__nv_cvt_fp8x2_to_halfraw2(e5m2[i], __NV_E5M2));
}

// Single-precision functions; 16 results an element. Inputs lie in (0, 10).
extern "C" __global__ void float_functions(const float* a, const float* b, float* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* r = out + 16 * i;
    r[0] = expf(x), r[1] = logf(x), r[2] = sinf(x), r[3] = cosf(x);
    r[4] = tanf(x), r[5] = tanhf(x), r[6] = powf(x, y), r[7] = rsqrtf(x);
    r[8] = cbrtf(x), r[9] = erff(x - 5.0f), r[10] = atan2f(x, y), r[11] = exp2f(x);
    r[12] = log2f(x), r[13] = log1pf(x), r[14] = hypotf(x, y), r[15] = asinf(x * 0.1f);
}

// The fast versions; 8 results an element.
extern "C" __global__ void fast_functions(const float* a, const float* b, float* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* r = out + 8 * i;
    r[0] = __expf(x), r[1] = __logf(x), r[2] = __sinf(x * 0.3f), r[3] = __cosf(x * 0.3f);
    r[4] = __powf(x, y), r[5] = __fdividef(x, y), r[6] = __frsqrt_rn(x), r[7] = __frcp_rn(x);
}

// The approximating instructions themselves.
extern "C" __global__ void approximate_instructions(const float* a, float* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    float* r = out + 9 * i;
    asm("ex2.approx.f32 %0, %1;" : "=f"(r[0]) : "f"(a[i]));
    asm("lg2.approx.f32 %0, %1;" : "=f"(r[1]) : "f"(a[i]));
    asm("rcp.approx.f32 %0, %1;" : "=f"(r[2]) : "f"(a[i]));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r[3]) : "f"(a[i]));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(r[4]) : "f"(a[i]));
    asm("sin.approx.f32 %0, %1;" : "=f"(r[5]) : "f"(a[i] * 0.3f));
    asm("cos.approx.f32 %0, %1;" : "=f"(r[6]) : "f"(a[i] * 0.3f));
    asm("tanh.approx.f32 %0, %1;" : "=f"(r[7]) : "f"(a[i]));
    asm("div.full.f32 %0, %1, %2;" : "=f"(r[8]) : "f"(a[i]), "f"(3.7f));
}

extern "C" __global__ void double_functions(const double* a, const double* b, double* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const double x = a[i], y = b[i];
    double* r = out + 10 * i;
    r[0] = exp(x), r[1] = log(x), r[2] = sin(x), r[3] = cos(x), r[4] = pow(x, y);
    r[5] = tanh(x), r[6] = atan(x), r[7] = rsqrt(x), r[8] = cbrt(x), r[9] = fmod(x * 7.0, y);
}

// Escape times of the Mandelbrot set, every operation rounded on its own.
extern "C" __global__ void mandelbrot(int* out, int width, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    const float cx = __fadd_rn(__fmul_rn((float)px, 0.05f), -2.1f), cy = __fadd_rn(__fmul_rn((float)py, 0.05f), -0.8f);
    float x = 0.0f, y = 0.0f;
    int k = 0;
    while (k < limit) {
        const float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, x), y), cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
        ++k;
    }
    out[py * width + px] = k;
}

// A matrix product with fused multiply-adds in a fixed order: exact, so bit for bit.
extern "C" __global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        ta[threadIdx.y][threadIdx.x] = a[y * n + k0 + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum = fmaf(ta[threadIdx.y][k], tb[k][threadIdx.x], sum);
        __syncthreads();
    }
    c[y * n + x] = sum;
}

// Kahan's sum: only right if nobody reorders or fuses.
extern "C" __global__ void kahan(const float* in, float* out, int count) {
    float sum = 0.0f, error = 0.0f;
    for (int k = 0; k < count; ++k) {
        const float y = __fsub_rn(in[threadIdx.x * count + k], error);
        const float t = __fadd_rn(sum, y);
        error = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    out[2 * threadIdx.x] = sum;
    out[2 * threadIdx.x + 1] = error;
}

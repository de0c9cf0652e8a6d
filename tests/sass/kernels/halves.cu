#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(const __half2 *a, const __half *b, __half2 *c, __nv_bfloat162 *d, float *f, signed char *q, unsigned char *u, short *s) {
    int i = threadIdx.x;
    __half2 x = a[i], y = a[i + 1];
    __half2 z = __hfma2(x, y, __hadd2(x, y));
    if (__hgt(b[i], b[i + 1])) z = __hmul2(z, x);
    z = __hmax2(z, y);
    c[i] = h2exp2(z);
#if __CUDA_ARCH__ >= 800
    d[i] = __hfma2(d[i], d[i + 1], d[i + 2]);
#endif
    f[i] = __half2float(b[i]) + __bfloat162float(d[i].x) + (float)q[i] + (float)u[i] + s[i] + floorf(f[i + 1]) + fminf(f[i], f[i + 2]);
    q[i] = (signed char)(f[i + 3] * 3.0f);
    u[i] = (unsigned char)__float2int_rn(f[i + 4]);
    s[i] = (short)__dp4a((int)q[i + 5], (int)u[i + 6], 7) + __clz(i) + __brev(i) + __ffs(s[i + 1]) + (short)__vabsdiffu4(i, 77);
}

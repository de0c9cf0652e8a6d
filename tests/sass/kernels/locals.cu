#include <cstdio>
__constant__ float table[64];
struct Big { int a[20]; double d; };
extern "C" __global__ void locals(const Big big, const int *idx, float *out, volatile int *flag) {
    float arr[40];
    int t = threadIdx.x;
    for (int i = 0; i < 40; ++i) arr[i] = table[i] * t + big.a[i % 20];
    for (int i = 0; i < 40; ++i) arr[idx[i] % 40] += arr[(idx[i] + t) % 40];
    float s = (float)big.d;
    for (int i = 0; i < 40; ++i) s += arr[i];
    while (*flag == 0) __nanosleep(100);
    out[t] = s;
    if (s != s) { printf("nan %d %f\n", t, s); __trap(); }
    asm volatile("" ::: "memory");
    out[t + 1] = clock() + (float)clock64();
}

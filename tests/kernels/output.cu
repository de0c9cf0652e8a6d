// What a kernel says: printf, assert, trap.

#include <cassert>
#include <cstdio>

extern "C" __global__ void hello(const float* in) {
    if (threadIdx.x < 3) printf("thread %d of %u: %6.2f %s %c %%\n", threadIdx.x, blockDim.x, in[threadIdx.x], "ok", 'a' + threadIdx.x);
    if (threadIdx.x == 0) printf("%5d|%-5d|%05d|%x|%X|%lld|%llu|%e|%g\n", 42, 42, -42, 255, 255, -5000000000ll, 1ull << 63, 12345.678, 0.5);
    if (threadIdx.x == 31) printf("no arguments\n");
}

extern "C" __global__ void checked(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];
    assert(in[threadIdx.x] >= 0);
    out[threadIdx.x] += 100;
}

extern "C" __global__ void trapped(int* out) {
    out[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 5) __trap();
    __syncthreads();
    out[threadIdx.x] = 2;
}

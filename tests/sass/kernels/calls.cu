__device__ __noinline__ int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
__device__ __noinline__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1) + gcd(n, 12); }
typedef int (*Op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
extern "C" __global__ void calls(const int *in, int *out, const unsigned *q, float *f) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    Op op = (in[i] & 1) ? add : mul;
    out[i] = fact(in[i]) + gcd(in[i], 360) + op(i, 7) + (int)(q[i] / q[i + 1]);
    f[i] = f[i] / f[i + 1] + sqrtf(f[i]) + sinf(f[i]);
}

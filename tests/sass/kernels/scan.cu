extern "C" __global__ void scan(const long long *in, long long *out, unsigned long long m, int n) {
    int t = threadIdx.x;
    long long v = in[t];
    for (int d = 1; d < 32; d <<= 1) {
        long long u = __shfl_up_sync(0xffffffff, v, d);
        if ((t & 31) >= d) v += u;
    }
    __shared__ long long part[32];
    if ((t & 31) == 31) part[t >> 5] = v;
    __syncthreads();
    if (t < 32) { long long p = part[t]; for (int d = 1; d < 32; d *= 2) { long long q = __shfl_up_sync(~0u, p, d); if (t >= d) p += q; } part[t] = p; }
    __syncthreads();
    if (t >> 5) v += part[(t >> 5) - 1];
    out[t] = v * 3 + (long long)((unsigned long long)v % m) + (v << n) + (v >> 3) + __popcll(v) + min(v, (long long)n) + __umul64hi(v, m);
    if (v > 100 && t != 3 || v < -5) out[t + 1024] = (v > 7) ? v : -v;
}

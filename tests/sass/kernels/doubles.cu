extern "C" __global__ void doubles(const double *a, const double2 *b, double *c, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    double s = 0, x = a[i];
    for (int k = 0; k < 7; ++k) {
        double2 v = b[i * 7 + k];
        s = fma(v.x, x, s) + sqrt(fabs(v.y)) / (1.0 + x * x);
        if (s > 1e10) s = -s;
    }
    c[i] = s + exp(x) + (double)n + (int)x;
}

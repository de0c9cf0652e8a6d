// Doubles and bytes: matrix products on the scalar pipes and on the tensor cores, a function by accident.

template <typename Value, typename Sum, typename Step>
__device__ void product(const Value* a, const Value* b, Sum* c, int n, Step step) {
    __shared__ Value sa[16][65], sb[16][65];
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
    Sum sum[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int j = thread; j < 1024; j += 256) {
            sa[j % 16][j / 16] = a[(blockIdx.y * 64 + j / 16) * n + k0 + j % 16];
            sb[j % 16][j / 16] = b[(blockIdx.x * 64 + j / 16) * n + k0 + j % 16];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = step(sa[k][ty + 16 * i], sb[k][tx + 16 * j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(blockIdx.y * 64 + ty + 16 * i) * gridDim.x * 64 + blockIdx.x * 64 + tx + 16 * j] = sum[i][j];
}

__global__ void doubles_fault(const double* a, const double* b, double* c, int n) {
    product(a, b, c, n, [](double x, double y, double sum) { return x * y + sum; });
}

__global__ void doubles_fixed(const double* a, const double* b, double* c, int n) {
    const int lane = threadIdx.x, warp = blockIdx.x * blockDim.y + threadIdx.y;
    const double ra = a[warp * 32 + lane], rb = b[warp * 32 + lane];
    double d0 = 0, d1 = 0;
#pragma unroll 8
    for (int k = 0; k < n; k++)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(d0), "+d"(d1) : "d"(ra), "d"(rb));
    c[warp * 64 + lane] = d0;
    c[warp * 64 + 32 + lane] = d1;
}

// Four bytes, packed along k, in each int.
__global__ void packed_bytes_fault(const int* a, const int* b, int* c, int n) {
    product(a, b, c, n, [](int x, int y, int sum) { return __dp4a(x, y, sum); });
}

__global__ void packed_bytes_fixed(const int* a, const int* b, int* c, int n) {
    const int lane = threadIdx.x, warp = blockIdx.x * blockDim.y + threadIdx.y;
    const int ra = a[warp * 64 + lane], rc = a[warp * 64 + 32 + lane], rb = b[warp * 32 + lane];
    int d[4] = {};
#pragma unroll 8
    for (int k = 0; k < n; k++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(ra), "r"(rc), "r"(rb));
    for (int j = 0; j < 4; j++) c[warp * 128 + j * 32 + lane] = d[j];
}

// A function of doubles between floats.
__global__ void function_fault(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 0.5 * in[i] * (1.0 + tanh(0.7978845608 * in[i]));
}

__global__ void function_fixed(const float* in, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 0.5f * in[i] * (1.0f + tanhf(0.7978845608f * in[i]));
}

// Points of a plane in doubles, though nothing that goes in or out is one.
template <typename Real>
__device__ int steps(Real x, Real y, int most) {
    Real a = 0, b = 0;
    int k = 0;
    for (; k < most && a * a + b * b < Real(4); k++) {
        const Real next = a * a - b * b + x;
        b = Real(2) * a * b + y;
        a = next;
    }
    return k;
}

__global__ void plane_fault(int* out, int most) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = steps(-0.2 + 1e-6 * (i & 1023), 0.1, most);
}

__global__ void plane_fixed(int* out, int most) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = steps(-0.2f + 1e-6f * (i & 1023), 0.1f, most);
}

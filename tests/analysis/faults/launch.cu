// Kernels whose launch or resources hold one planted fault each, and their repaired twins.

__device__ float work(const float* in, int i, int n) {
    const int all = gridDim.x * blockDim.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k++) sum += in[i + k * all];
    return sum;
}

// The same code for launches of different shapes: blocks too few, too small, uneven, not whole warps.
__global__ void shape_fault(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = work(in, i, n);
}

// Shared memory that no thread needs so much of.
__global__ void room_fault(const float* in, float* out, int n) {
    extern __shared__ float room[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    room[threadIdx.x] = work(in, i, n);
    __syncthreads();
    out[i] = room[threadIdx.x ^ 1];
}

// So many values at once that nearly all 255 registers are taken, while the loop only waits for its loads.
template <int N>
__device__ void held(const float* in, float* out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int all = gridDim.x * blockDim.x;
    float v[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
        v[j] = j ? fmaf(v[j ? j - 1 : 0], 0.75f, 1.5f) : in[i];
        asm volatile("" : "+f"(v[j]));  // the compiler may not work it out again behind the loop
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) sum += in[i + k * all];
#pragma unroll
    for (int j = 0; j < N; j++) sum = sum * 0.5f + v[j];
    out[i] = sum;
}

// All of the values change in each round.
template <int N>
__device__ void turned(const float* in, float* out, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[N];
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = j;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        const float x = in[i + k * 4096];
#pragma unroll
        for (int j = 0; j < N; j++) v[j] = fmaf(v[j], x, v[(j + 1) % N]);
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < N; j++) sum += v[j];
    out[i] = sum;
}

__global__ void registers_fault(const float* in, float* out, int rounds) { held<200>(in, out, rounds); }
__global__ void registers_fixed(const float* in, float* out, int rounds) { held<8>(in, out, rounds); }

// A bound that the kernel's values do not fit in.
__global__ void __launch_bounds__(256, 8) spills_fault(const float* in, float* out, int rounds) { turned<64>(in, out, rounds); }
__global__ void __launch_bounds__(256, 8) spills_fixed(const float* in, float* out, int rounds) { turned<8>(in, out, rounds); }

// A barrier in every iteration that guards nothing.
__global__ void barrier_fault(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        v = v * 0.5f + 1.0f;
        __syncthreads();
    }
    out[i] = v;
}

__global__ void barrier_fixed(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#pragma unroll 1
    for (int k = 0; k < n; k++) v = v * 0.5f + 1.0f;
    __syncthreads();
    out[i] = v;
}

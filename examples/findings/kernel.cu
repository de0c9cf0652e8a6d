// Kernels that are wrong on purpose. Each has one mistake that a test on real hardware may well miss.
//
// What to look at: the findings, and the line, thread and address each of them names.

// Reads a neighbour's value without a barrier in between: right within a warp by luck, wrong between warps.
__global__ void missing_barrier(int* out) {
    __shared__ int values[128];
    values[threadIdx.x] = threadIdx.x;
    out[blockIdx.x * blockDim.x + threadIdx.x] = values[127 - threadIdx.x];  // __syncthreads() belongs before
}

// The last thread reads one element past the end.
__global__ void off_by_one(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 0.5f * (in[i] + in[i + 1]);
    }
}

// Written for blocks of 128 threads: with 64, two of the four sums are read though nobody wrote them.
__global__ void uninitialised_sum(const int* in, int* out) {
    __shared__ int sums[4];
    const int sum = __reduce_add_sync(0xffffffffu, in[threadIdx.x]);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = sums[0] + sums[1] + sums[2] + sums[3];
    }
}

// The tail of an old reduction: it relies on the lanes of a warp moving in lockstep, which nobody promises
// since Volta. `volatile` alone does not order the lanes; __syncwarp() between the steps would.
__global__ void lockstep_tail(const int* in, int* out) {
    __shared__ volatile int sums[64];
    sums[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        sums[threadIdx.x] += sums[threadIdx.x + 32];
        if (threadIdx.x < 16) {
            sums[threadIdx.x] += sums[threadIdx.x + 16];
            sums[threadIdx.x] += sums[threadIdx.x + 8];
            sums[threadIdx.x] += sums[threadIdx.x + 4];
            sums[threadIdx.x] += sums[threadIdx.x + 2];
            sums[threadIdx.x] += sums[threadIdx.x + 1];
        }
    }
    if (threadIdx.x == 0) {
        out[0] = sums[0];
    }
}

// A four-byte pointer cast to sixteen: fine for every fourth element only.
__global__ void misaligned_vector(const float* in, float* out) {
    const float4 v = *reinterpret_cast<const float4*>(&in[threadIdx.x]);
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

// The kernels behind published profiler counters, written from their descriptions.

template <typename T, unsigned S>
__global__ void fill(T* data, const T val, const unsigned size) {
    const auto stride = blockDim.x * gridDim.x;
    const auto first = threadIdx.x + blockDim.x * blockIdx.x;
    for (auto i = 0u; i < S * stride && i < size - first; i += stride) {
        data[first + i] = val;
    }
}

#define FILL(S)                                                              \
    template __global__ void fill<char, S>(char*, const char, const unsigned); \
    template __global__ void fill<int, S>(int*, const int, const unsigned);
FILL(1)
FILL(2)
FILL(4)
FILL(8)
FILL(16)
FILL(32)

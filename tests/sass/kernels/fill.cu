template <typename T, int S> __device__ __forceinline__ void fill(T *data, const T val, const unsigned size) {
    const auto stride = blockDim.x * gridDim.x;
    const auto first = threadIdx.x + blockDim.x * blockIdx.x;
    for (auto i = 0u; i < S * stride && i < size - first; i += stride) data[first + i] = val;
}
extern "C" __global__ void fill_char8(char *data, const char val, const unsigned size) { fill<char, 8>(data, val, size); }
extern "C" __global__ void fill_int32(int *data, const int val, const unsigned size) { fill<int, 32>(data, val, size); }

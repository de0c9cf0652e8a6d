// Softmax over the rows of a matrix, one warp a row, in a single pass over the data.
//
// What to look at: the running maximum and the running sum travel together (the "online" form), so the row is
// read once for the statistics and once for the result. Two butterfly reductions leave the answer in all lanes,
// so nobody has to broadcast it.

#include <math_constants.h>

constexpr unsigned kFullMask = 0xffffffffu;

struct Statistics {
    float maximum;
    float sum;  // of exp(x - maximum)
};

__device__ __forceinline__ Statistics merge(Statistics p, Statistics q) {
    const float maximum = fmaxf(p.maximum, q.maximum);
    if (maximum == -CUDART_INF_F) {
        return {maximum, 0.0f};  // both empty: exp(-inf - -inf) would be NaN
    }
    return {maximum, p.sum * __expf(p.maximum - maximum) + q.sum * __expf(q.maximum - maximum)};
}

__global__ void softmax_rows(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    const int lane = threadIdx.x % 32;
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) {
        return;  // whole warps only
    }
    const float* x = in + row * columns;
    Statistics s = {-CUDART_INF_F, 0.0f};
    for (int column = lane; column < columns; column += 32) {
        s = merge(s, {x[column], 1.0f});
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const Statistics other = {__shfl_xor_sync(kFullMask, s.maximum, distance),
                                  __shfl_xor_sync(kFullMask, s.sum, distance)};
        s = merge(s, other);
    }
    const float scale = 1.0f / s.sum;
    for (int column = lane; column < columns; column += 32) {
        out[row * columns + column] = __expf(x[column] - s.maximum) * scale;
    }
}

// The smallest complete kernel: one thread, one element.
//
// What to look at: each warp reads 32 consecutive floats, so a load touches 4 sectors of 32 bytes, the least
// that 128 bytes can touch. The last block is the interesting one: n is not a multiple of the block size, so
// its warps 7 and 8 find lanes (or all of them) on the wrong side of the guard.

__global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ sum,
                           int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        sum[i] = a[i] + b[i];
    }
}

// The same work with 16 bytes a lane. One request now moves 512 bytes in 16 sectors: more per instruction,
// and just as close to the ideal.
__global__ void vector_add4(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ sum,
                            int n4) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        const float4 x = a[i];
        const float4 y = b[i];
        sum[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}

// What goes wrong when an array starts in the middle of a sector: the 128 bytes of a warp straddle five
// sectors instead of four, in the load of `a` only.
__global__ void vector_add_offset(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ sum, int n, int offset) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        sum[i] = a[i + offset] + b[i];
    }
}

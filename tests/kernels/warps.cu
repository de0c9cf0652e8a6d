// Kernels about what the lanes of a warp tell each other.

#define FULL 0xffffffffu
#define LANE (threadIdx.x & 31)

// All four modes of shfl, with widths; 12 results a thread.
extern "C" __global__ void shuffles(const int* in, int* out) {
    const int v = in[threadIdx.x];
    int* r = out + 12 * threadIdx.x;
    r[0] = __shfl_sync(FULL, v, 5);
    r[1] = __shfl_sync(FULL, v, v & 63);
    r[2] = __shfl_sync(FULL, v, 3, 8);
    r[3] = __shfl_up_sync(FULL, v, 1);
    r[4] = __shfl_up_sync(FULL, v, 9);
    r[5] = __shfl_up_sync(FULL, v, 2, 4);
    r[6] = __shfl_down_sync(FULL, v, 1);
    r[7] = __shfl_down_sync(FULL, v, 17);
    r[8] = __shfl_down_sync(FULL, v, 3, 16);
    r[9] = __shfl_xor_sync(FULL, v, 1);
    r[10] = __shfl_xor_sync(FULL, v, 21);
    r[11] = __shfl_xor_sync(FULL, v, 6, 8);
}

// The predicate that comes with a shuffle, and 64-bit and double values.
extern "C" __global__ void shuffle_predicate(const long long* in, long long* out, double* doubles) {
    const int i = threadIdx.x;
    unsigned value, ok;
    asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 4, 0x0, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(value), "=r"(ok)
                 : "r"(i));
    out[2 * i] = value * 2 + ok;
    out[2 * i + 1] = __shfl_xor_sync(FULL, in[i], 3);
    doubles[i] = __shfl_down_sync(FULL, in[i] * 0.25, 2);
}

extern "C" __global__ void votes(const int* in, unsigned* out) {
    const int v = in[threadIdx.x];
    unsigned* r = out + 6 * threadIdx.x;
    r[0] = __ballot_sync(FULL, v > 0);
    r[1] = __any_sync(FULL, v == 12345);
    r[2] = __all_sync(FULL, v > -1000);
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 0; vote.sync.uni.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
                 : "=r"(r[3])
                 : "r"(v));
    r[4] = 0;
    r[5] = 0;
    if (v & 1) {
        r[4] = __activemask();
        if (v & 2) r[5] = __ballot_sync(__activemask(), v & 4);
    }
}

extern "C" __global__ void matches(const int* in, unsigned* out) {
    const int v = in[threadIdx.x];
    int all = 7;
    out[4 * threadIdx.x] = __match_any_sync(FULL, v & 7);
    out[4 * threadIdx.x + 1] = __match_all_sync(FULL, v & 0, &all);
    out[4 * threadIdx.x + 2] = all;
    out[4 * threadIdx.x + 3] = __match_any_sync(FULL, (unsigned long long)(v & 3) << 40);
}

extern "C" __global__ void reductions(const int* in, int* out) {
    const int v = in[threadIdx.x];
    int* r = out + 9 * threadIdx.x;
    r[0] = __reduce_add_sync(FULL, v);
    r[1] = __reduce_min_sync(FULL, v);
    r[2] = __reduce_max_sync(FULL, v);
    r[3] = __reduce_min_sync(FULL, (unsigned)v);
    r[4] = __reduce_max_sync(FULL, (unsigned)v);
    r[5] = __reduce_and_sync(FULL, (unsigned)v | 0xff);
    r[6] = __reduce_or_sync(FULL, (unsigned)v & 0xff00);
    r[7] = __reduce_xor_sync(FULL, (unsigned)v);
    const unsigned half = LANE < 16 ? 0xffffu : 0xffff0000u;
    r[8] = LANE < 16 ? __reduce_add_sync(half, v) : __reduce_max_sync(half, v);
}

// Inclusive and exclusive scan.
extern "C" __global__ void warp_scan(const int* in, int* out) {
    int v = in[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        const int t = __shfl_up_sync(FULL, v, d);
        if (LANE >= d) v += t;
    }
    out[threadIdx.x] = v;
}

// Bitonic sort of the warp's 32 values.
extern "C" __global__ void warp_sort(int* data) {
    int v = data[threadIdx.x];
    for (int k = 2; k <= 32; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            const int other = __shfl_xor_sync(FULL, v, j);
            const bool up = (LANE & k) == 0, low = (LANE & j) == 0;
            v = (up == low) ? min(v, other) : max(v, other);
        }
    }
    data[threadIdx.x] = v;
}

// Lanes hand values to each other through shared memory, with a warp barrier and partial masks.
extern "C" __global__ void partial_masks(const int* in, int* out) {
    __shared__ int box[64];
    const int i = threadIdx.x;
    int v = in[i];
    if (LANE < 12) {
        box[i] = v;
        __syncwarp(0xfff);
        v += box[i ^ 3];
        __syncwarp(0xfff);
    } else {
        v = __shfl_sync(0xfffff000u, v, 12 + (LANE & 7));
    }
    __syncwarp();
    out[i] = v + __shfl_sync(FULL, v, 31 - LANE);
}

// Every lane leaves the loop at a different turn; those that stay vote.
extern "C" __global__ void shrinking_vote(unsigned* out) {
    unsigned mask = FULL, hash = 0;
    for (unsigned turn = 0; turn < 32; ++turn) {
        mask = __ballot_sync(mask, LANE >= turn);
        if (LANE < turn) break;
        hash = hash * 31 + __popc(mask) + __shfl_sync(mask, LANE, 31);
    }
    out[threadIdx.x] = hash;
}

// The special registers, lane masks included.
extern "C" __global__ void special_registers(unsigned* out) {
    unsigned r[10];
    asm("mov.u32 %0, %%laneid;" : "=r"(r[0]));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(r[1]));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r[2]));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(r[3]));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(r[4]));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(r[5]));
    asm("mov.u32 %0, %%ctaid.y;" : "=r"(r[6]));
    asm("mov.u32 %0, %%nctaid.y;" : "=r"(r[7]));
    asm("mov.u32 %0, %%ntid.x;" : "=r"(r[8]));
    asm("mov.u32 %0, WARP_SZ;" : "=r"(r[9]));
    const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    for (int k = 0; k < 10; ++k) out[10 * i + k] = r[k];
}

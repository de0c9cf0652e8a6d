// Barriers of every kind, and copies that run beside the program. Needs sm_80.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <cstdint>

namespace cg = cooperative_groups;

__device__ __forceinline__ uint32_t address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Barriers that also count and combine.
extern "C" __global__ void barrier_reductions(const int* in, int* out) {
    const int v = in[threadIdx.x];
    const int count = __syncthreads_count(v & 1);
    const int all = __syncthreads_and(v > 0);
    const int any = __syncthreads_or(v > 90);
    out[threadIdx.x] = count * 100 + (all != 0) * 10 + (any != 0);
}

// Two halves of a block go through their own barrier, then all meet.
extern "C" __global__ void named_barriers(const int* in, int* out) {
    __shared__ int box[128];
    const int i = threadIdx.x;
    int v = in[i];
    for (int turn = 0; turn < 3; ++turn) {
        box[i] = v;
        if (i < 64) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            v += box[63 - i];
            asm volatile("bar.sync 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 2, 64;" ::: "memory");
            v -= box[191 - i];
            asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    }
    __syncthreads();
    box[i] = v;
    __syncthreads();
    out[i] = box[127 - i];
}

// Warp 0 produces, warp 1 consumes, over one slot: bar.arrive on one side, bar.sync on the other.
extern "C" __global__ void producer_consumer(const int* in, int* out, int rounds) {
    __shared__ int slot[32];
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            if (r > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            slot[lane] = in[r * 32 + lane] * 2;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int r = 0; r < rounds; ++r) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum = sum * 3 + slot[31 - lane];
            if (r + 1 < rounds) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        out[lane] = sum;
    }
}

// The same over barriers in shared memory, with phases.
extern "C" __global__ void mbarrier_pipeline(const int* in, int* out, int rounds) {
    __shared__ int slots[2][32];
    __shared__ uint64_t full[2], empty[2];
    const int lane = threadIdx.x & 31;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; ++s) {
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&full[s])));
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(address(&empty[s])));
        }
    }
    __syncthreads();
    const auto wait = [](uint64_t* barrier, int parity) {
        unsigned over;
        do {
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(over)
                         : "r"(address(barrier)), "r"(parity)
                         : "memory");
        } while (!over);
    };
    const auto arrive = [](uint64_t* barrier) {
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(address(barrier)) : "memory");
    };
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
        const int s = r & 1, parity = (r >> 1) & 1;
        if (threadIdx.x < 32) {
            wait(&empty[s], parity ^ 1);
            slots[s][lane] = in[r * 32 + lane];
            arrive(&full[s]);
        } else {
            wait(&full[s], parity);
            sum = sum * 5 + slots[s][31 - lane];
            arrive(&empty[s]);
        }
    }
    if (threadIdx.x >= 32) out[lane] = sum;
}

// mbarrier by state instead of parity, with a count that is dropped.
extern "C" __global__ void mbarrier_state(int* out) {
    __shared__ uint64_t barrier;
    __shared__ int total;
    const int i = threadIdx.x;
    if (i == 0) {
        total = 0;
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(&barrier)), "r"(blockDim.x));
    }
    __syncthreads();
    atomicAdd(&total, i);
    uint64_t state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&barrier)) : "memory");
    unsigned over;
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(address(&barrier)), "l"(state)
                     : "memory");
    } while (!over);
    out[i] = total;
}

// All blocks meet, three times.
extern "C" __global__ void grid_barrier(int* x, int* y, int n) {
    cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank();
    for (int turn = 0; turn < 3; ++turn) {
        y[i] = x[(i + 1) % n] + x[(i + n - 1) % n];
        grid.sync();
        x[i] = y[(i + 64) % n] % 1000;
        grid.sync();
    }
}

// Tiles and coalesced groups of cooperative groups.
extern "C" __global__ void tiles(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = in[block.thread_rank()];
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    v = tile.shfl(v, 0);
    if (v & 1) {
        cg::coalesced_group odd = cg::coalesced_threads();
        v = v * 100 + odd.thread_rank() + 10000 * odd.size();
    }
    block.sync();
    out[block.thread_rank()] = v;
}

// cp.async with three groups in flight.
extern "C" __global__ void cp_async_stages(const float4* in, float4* out, int tiles) {
    __shared__ float4 stage[3][64];
    const int i = threadIdx.x;
    for (int t = 0; t < 2; ++t) {
        if (t < tiles) __pipeline_memcpy_async(&stage[t][i], &in[t * 64 + i], 16);
        __pipeline_commit();
    }
    for (int t = 0; t < tiles; ++t) {
        if (t + 2 < tiles) __pipeline_memcpy_async(&stage[(t + 2) % 3][i], &in[(t + 2) * 64 + i], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        const float4 v = stage[t % 3][63 - i];
        out[t * 64 + i] = make_float4(v.w, v.z + 1.0f, v.y * 2.0f, v.x);
        __syncthreads();
    }
}

// 4 and 8 bytes, zero-filled at the end of the data.
extern "C" __global__ void cp_async_zero_fill(const int* in, int* out, int n) {
    __shared__ int box[128];
    const int i = threadIdx.x;
    const unsigned target = address(&box[i]);
    const int bytes = i < n ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(target), "l"(in + (i < n ? i : 0)), "r"(bytes));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[i] = box[127 - i] + 1;
}

// cp.async that reports to an mbarrier.
extern "C" __global__ void cp_async_mbarrier(const int4* in, int* out) {
    __shared__ int4 box[64];
    __shared__ uint64_t barrier;
    const int i = threadIdx.x;
    if (i == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address(&barrier)));
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(&box[i])), "l"(in + i));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&barrier)) : "memory");
    unsigned over;
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(address(&barrier))
                     : "memory");
    } while (!over);
    const int4 v = box[63 - i];
    out[i] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
}

// Warps with different jobs: one brings tiles into shared memory, the others work on them.
//
// What to look at: the schedule. The producer runs ahead until both slots are full, then waits; the consumers
// wait for a full slot and give it back empty. Two ways to say so: barriers in shared memory (mbarrier, phases
// and parities), and the hardware's sixteen named barriers (bar.arrive for "I am done", bar.sync for "I wait").
// Needs sm_80.

#include <cstdint>

constexpr int kSlots = 2;
constexpr int kTile = 64;       // ints a tile
constexpr int kConsumers = 64;  // threads: warps 1 and 2; warp 0 is the producer
constexpr int kThreads = 32 + kConsumers;

__device__ __forceinline__ uint32_t address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(uint64_t* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t* barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address(barrier)) : "memory");
}

// Waits until the phase with this parity is over.
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, unsigned parity) {
    unsigned over = 0;
    while (!over) {
        asm volatile(
            "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(over)
            : "r"(address(barrier)), "r"(parity)
            : "memory");
    }
}

__global__ void __launch_bounds__(kThreads) pipeline_mbarrier(const int* __restrict__ in, int* __restrict__ out,
                                                              int tiles) {
    __shared__ int slots[kSlots][kTile];
    __shared__ uint64_t full[kSlots];
    __shared__ uint64_t empty[kSlots];
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < kSlots; ++slot) {
            barrier_init(&full[slot], 32);
            barrier_init(&empty[slot], kConsumers);
        }
    }
    __syncthreads();

    if (threadIdx.x < 32) {
        for (int tile = 0; tile < tiles; ++tile) {
            const int slot = tile % kSlots;
            const unsigned round = tile / kSlots;
            barrier_wait(&empty[slot], (round & 1) ^ 1);  // passes at once in round 0: no phase has run yet
            slots[slot][threadIdx.x] = in[tile * kTile + threadIdx.x];
            slots[slot][threadIdx.x + 32] = in[tile * kTile + threadIdx.x + 32];
            barrier_arrive(&full[slot]);
        }
    } else {
        const int consumer = threadIdx.x - 32;
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            const int slot = tile % kSlots;
            const unsigned round = tile / kSlots;
            barrier_wait(&full[slot], round & 1);
            sum += slots[slot][consumer] * (tile + 1);
            barrier_arrive(&empty[slot]);
        }
        out[consumer] = sum;
    }
}

// The same with named barriers 1 to 4. A barrier counts the threads that arrive and those that wait, so both
// sides name the whole block. For every wait on one side there is exactly one arrival on the other.
__device__ __forceinline__ void named_sync(int barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
__device__ __forceinline__ void named_arrive(int barrier) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}

__global__ void __launch_bounds__(kThreads) pipeline_named(const int* __restrict__ in, int* __restrict__ out,
                                                           int tiles) {
    __shared__ int slots[kSlots][kTile];
    const int full = 1;
    const int empty = 1 + kSlots;
    if (threadIdx.x < 32) {
        for (int tile = 0; tile < tiles; ++tile) {
            const int slot = tile % kSlots;
            if (tile >= kSlots) {
                named_sync(empty + slot);
            }
            slots[slot][threadIdx.x] = in[tile * kTile + threadIdx.x];
            slots[slot][threadIdx.x + 32] = in[tile * kTile + threadIdx.x + 32];
            __threadfence_block();
            named_arrive(full + slot);
        }
    } else {
        const int consumer = threadIdx.x - 32;
        int sum = 0;
        for (int tile = 0; tile < tiles; ++tile) {
            const int slot = tile % kSlots;
            named_sync(full + slot);
            sum += slots[slot][consumer] * (tile + 1);
            if (tile + kSlots < tiles) {
                named_arrive(empty + slot);
            }
        }
        out[consumer] = sum;
    }
}

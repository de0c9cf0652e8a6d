// Locks on a machine where 32 threads share a program counter.
//
// What to look at: before Volta the per-lane lock would hang, because the lane that holds it could wait for
// ever at the loop's exit for its 31 neighbours. Now lanes make progress on their own: the stepper shows the
// winner run its critical section while the others keep asking. The schedule shows what that costs.

// One thread a block takes the lock: contention between blocks only.
__global__ void lock_per_block(int* lock, int* counter, int* order) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();                                    // acquire
        const int turn = *(volatile int*)counter;           // the critical section: a plain read and write
        *(volatile int*)counter = turn + 1;
        order[turn] = blockIdx.x;
        __threadfence();                                    // release
        atomicExch(lock, 0);
    }
}

// Every lane takes the lock. The section lies inside the loop, so that the holder can leave it before the
// others have their turn.
__global__ void lock_per_lane(int* lock, int* counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int*)counter = *(volatile int*)counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The lock-free relative: every block adds its part, and the one that finishes last sums the parts.
__global__ void last_block_sums(const int* data, int* parts, unsigned* finished, int* total) {
    __shared__ bool last;
    const int part = __reduce_add_sync(0xffffffffu, data[blockIdx.x * 32 + threadIdx.x]);  // one warp a block
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence();  // the part must be visible before the ticket is
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int block = 0; block < gridDim.x; ++block) {
            sum += ((volatile int*)parts)[block];
        }
        *total = sum;
    }
}

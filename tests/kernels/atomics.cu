// Atomics. Where the result depends on the order, the reference checks what holds for every order.

typedef unsigned long long u64;
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void atomic_sums(const int* in, int* i32, u64* i64, float* f32, double* f64) {
    const int v = in[INDEX];
    const int bin = v & 7;
    atomicAdd(&i32[bin], v);
    atomicAdd(&i64[bin], (u64)(long long)v * 1000003u);
    atomicAdd(&f32[bin], (float)(v & 255));
    atomicAdd(&f64[bin], v * 0.5);
}

extern "C" __global__ void atomic_extremes(const int* in, int* out, u64* wide) {
    const int v = in[INDEX];
    const int bin = INDEX & 3;
    atomicMin(&out[bin], v);
    atomicMax(&out[4 + bin], v);
    atomicMin((unsigned*)&out[8 + bin], (unsigned)v);
    atomicMax((unsigned*)&out[12 + bin], (unsigned)v);
    atomicMin((long long*)&wide[bin], (long long)v << 20);
    atomicMax(&wide[4 + bin], (u64)(unsigned)v << 20);
}

extern "C" __global__ void atomic_bits(const unsigned* in, unsigned* out, u64* wide) {
    const unsigned v = in[INDEX];
    const int bin = INDEX & 3;
    atomicAnd(&out[bin], v | 0xff);
    atomicOr(&out[4 + bin], v & 0x0f0f0f0f);
    atomicXor(&out[8 + bin], v);
    atomicXor(&wide[bin], (u64)v << 16);
    atomicOr(&wide[4 + bin], (u64)v << 32);
}

// The values that the atomics return: each ticket is handed out once.
extern "C" __global__ void tickets(unsigned* counter, int* taken, unsigned* wrapped, unsigned* down) {
    const unsigned mine = atomicAdd(counter, 1u);
    taken[mine] = INDEX;
    atomicInc(wrapped, 6);
    atomicDec(down, 9);
}

// A float maximum by compare-and-swap.
extern "C" __global__ void cas_loop(const float* in, float* out) {
    const float v = in[INDEX];
    unsigned* slot = (unsigned*)&out[INDEX & 1];
    unsigned seen = *slot;
    while (v > __uint_as_float(seen)) {
        const unsigned before = atomicCAS(slot, seen, __float_as_uint(v));
        if (before == seen) break;
        seen = before;
    }
}

extern "C" __global__ void exchange_chain(unsigned* head, unsigned* next) {
    next[INDEX] = atomicExch(head, INDEX + 1);
}

extern "C" __global__ void shared_atomics(const unsigned* in, unsigned* out, u64* wide) {
    __shared__ unsigned bins[32];
    __shared__ u64 sum;
    __shared__ int lowest;
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum = 0, lowest = 1 << 30;
    __syncthreads();
    const unsigned v = in[INDEX];
    atomicAdd(&bins[v & 31], 1u);
    atomicAdd(&sum, (u64)v);
    atomicMin(&lowest, (int)(v & 0xffff));
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    if (threadIdx.x == 0) wide[2 * blockIdx.x] = sum, wide[2 * blockIdx.x + 1] = lowest;
}

// Open addressing: every key finds exactly one slot.
extern "C" __global__ void hash_insert(const unsigned* keys, unsigned* slots, unsigned* counts, unsigned mask) {
    const unsigned key = keys[INDEX];
    unsigned slot = key * 2654435761u & mask;
    while (true) {
        const unsigned seen = atomicCAS(&slots[slot], 0u, key);
        if (seen == 0u || seen == key) {
            atomicAdd(&counts[slot], 1u);
            return;
        }
        slot = (slot + 1) & mask;
    }
}

extern "C" __global__ void scopes(unsigned* out) {
    atomicAdd_block(&out[0], 1u);
    atomicAdd_system(&out[1], 2u);
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 3;" ::"l"(&out[2]));
    asm volatile("{ .reg .u32 t; atom.acq_rel.sys.global.max.u32 t, [%0], %1; }" ::"l"(&out[3]), "r"(threadIdx.x));
}

extern "C" __global__ void spin_lock(int* lock, int* counter) {
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

// First come, first served: a ticket lock between blocks.
extern "C" __global__ void ticket_lock(unsigned* next, volatile unsigned* serving, int* log) {
    if (threadIdx.x == 0) {
        const unsigned mine = atomicAdd(next, 1u);
        while (*serving != mine) {
        }
        log[mine] = blockIdx.x + 1;
        __threadfence();
        *serving = mine + 1;
    }
}

extern "C" __global__ void last_block(const int* in, int* parts, unsigned* finished, int* total) {
    __shared__ bool last;
    const int part = __reduce_add_sync(0xffffffffu, in[INDEX]);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += ((volatile int*)parts)[b];
        *total = sum;
    }
}

// What came with sm_90: clusters, distributed shared memory, bulk copies, elect, stmatrix.

#include <cooperative_groups.h>

#include <cstdint>

namespace cg = cooperative_groups;

__device__ __forceinline__ uint32_t address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_ring(const int* in, int* out) {
    __shared__ int box[32];
    cg::cluster_group cluster = cg::this_cluster();
    const int i = threadIdx.x;
    const unsigned rank = cluster.block_rank();
    box[i] = in[blockIdx.x * 32 + i];
    cluster.sync();
    const int* other = cluster.map_shared_rank(box, (rank + 1) % 4);
    const int v = other[31 - i];
    cluster.sync();
    out[blockIdx.x * 32 + i] = v * 10 + rank;
}

// Atomics on another block's shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const unsigned* in, unsigned* out) {
    __shared__ unsigned bins[16];
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    cluster.sync();
    const unsigned v = in[blockIdx.x * blockDim.x + threadIdx.x] & 31;
    unsigned* target = cluster.map_shared_rank(bins, v / 16);
    atomicAdd(&target[v % 16], 1u);
    cluster.sync();
    if (threadIdx.x < 16) out[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster_ids(unsigned* out) {
    unsigned r[7];
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(r[0]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(r[1]));
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(r[2]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r[3]));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(r[4]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(r[5]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r[6]));
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x < 7) out[7 * block + threadIdx.x] = r[threadIdx.x];
}

__device__ __forceinline__ void wait(uint64_t* barrier, unsigned parity) {
    unsigned over;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(address(barrier)), "r"(parity)
                     : "memory");
    } while (!over);
}

// A bulk copy in, counted in bytes by a barrier; a bulk copy out, awaited as a group.
extern "C" __global__ void bulk_copy(const int* in, int* out, int tiles) {
    __shared__ alignas(16) int tile[256];
    __shared__ alignas(16) int result[256];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int t = 0; t < tiles; ++t) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(address(&barrier)) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(
                             address(tile)),
                         "l"(in + 256 * t), "r"(address(&barrier))
                         : "memory");
        }
        wait(&barrier, t & 1);
        for (int k = threadIdx.x; k < 256; k += blockDim.x) result[k] = tile[255 - k] * 2 + t;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out + 256 * t),
                         "r"(address(result))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
    }
}

// One lane of a warp is chosen.
extern "C" __global__ void elect_one(unsigned* out) {
    unsigned lane, chosen;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(lane), "=r"(chosen));
    out[2 * threadIdx.x] = lane;
    out[2 * threadIdx.x + 1] = __popc(__ballot_sync(0xffffffffu, chosen)) * 100 + chosen * 0;
}

// stmatrix, plain and transposed, undone by ordinary loads.
extern "C" __global__ void store_matrix(unsigned short* out) {
    __shared__ alignas(16) unsigned short tile[2][2][64];
    const int lane = threadIdx.x;
    const unsigned a = (lane * 2) | (lane * 2 + 1) << 16;
    const unsigned b = a + 0x01000100u;
    const unsigned row = address(&tile[0][lane / 8 & 1][lane % 8 * 8]);
    const unsigned row_t = address(&tile[1][lane / 8 & 1][lane % 8 * 8]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(a), "r"(b) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row_t), "r"(a), "r"(b) : "memory");
    __syncwarp();
    for (int k = lane; k < 256; k += 32) out[k] = (&tile[0][0][0])[k];
}

// Another block's barrier is told from afar.
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_arrive(int* out) {
    __shared__ uint64_t barrier;
    __shared__ int value;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    if (threadIdx.x == 0) {
        value = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster.sync();
    if (rank == 1 && threadIdx.x == 0) {
        *cluster.map_shared_rank(&value, 0) = 77;
        uint32_t remote;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(remote) : "r"(address(&barrier)));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
    }
    if (rank == 0) {
        wait(&barrier, 0);
        out[threadIdx.x] = value + threadIdx.x;
    }
    cluster.sync();
}

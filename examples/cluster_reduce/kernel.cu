// warpglass: arch=sm_90
// A sum over the blocks of a cluster, through each other's shared memory. Needs sm_90.
//
// What to look at: block 0 of each cluster reads the sums of its neighbours with `ld.shared::cluster`, at
// addresses that `mapa` made. The second cluster barrier keeps every block alive until it has been read.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) cluster_reduce(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ int sum;
    cg::cluster_group cluster = cg::this_cluster();
    const int part = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);  // one warp a block
    if (threadIdx.x == 0) {
        sum = part;
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int total = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) {
            total += *cluster.map_shared_rank(&sum, rank);
        }
        out[blockIdx.x / 4] = total;
    }
    cluster.sync();
}

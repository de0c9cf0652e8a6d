// One step of the five-point stencil (heat on a plate), with a halo in shared memory.
//
// What to look at: the threads at the tile's rim load a second element, so the load of the halo runs with few
// lanes on, and its left and right columns touch one sector a lane. The inner part is read five times from
// shared memory and once from global memory.

constexpr int kTile = 16;

__global__ void heat_step(const float* __restrict__ now, float* __restrict__ next, int width, int height,
                          float rate) {
    __shared__ float tile[kTile + 2][kTile + 2];
    const int x = blockIdx.x * kTile + threadIdx.x;
    const int y = blockIdx.y * kTile + threadIdx.y;
    const int tx = threadIdx.x + 1;
    const int ty = threadIdx.y + 1;

    // Outside the plate the nearest inner point is repeated: no heat flows over the rim.
    const auto at = [&](int px, int py) {
        return now[min(max(py, 0), height - 1) * width + min(max(px, 0), width - 1)];
    };
    tile[ty][tx] = at(x, y);
    if (threadIdx.x == 0) tile[ty][0] = at(x - 1, y);
    if (threadIdx.x == kTile - 1) tile[ty][kTile + 1] = at(x + 1, y);
    if (threadIdx.y == 0) tile[0][tx] = at(x, y - 1);
    if (threadIdx.y == kTile - 1) tile[kTile + 1][tx] = at(x, y + 1);
    __syncthreads();

    if (x < width && y < height) {
        const float here = tile[ty][tx];
        const float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        next[y * width + x] = here + rate * (around - 4.0f * here);
    }
}

// What branches cost a warp, in four shapes.
//
// What to look at: the branch table says how often a branch was uniform and how often it split the warp, and
// the stepper shows the two halves of a split run one after the other until they meet at the join.
// `volatile` stores keep the compiler from turning short branches into selects.

// Splits every warp: even lanes go one way, odd lanes the other.
__global__ void split_by_lane(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int* slot = &out[i];
    if (threadIdx.x % 2 == 0) {
        *slot = i * 3;
        *slot = *slot + 1;
    } else {
        *slot = i * 5;
        *slot = *slot - 1;
    }
    *slot = *slot * 2;
}

// The same amount of work, split between warps: no divergence at all.
__global__ void split_by_warp(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int* slot = &out[i];
    if ((threadIdx.x / 32) % 2 == 0) {
        *slot = i * 3;
        *slot = *slot + 1;
    } else {
        *slot = i * 5;
        *slot = *slot - 1;
    }
    *slot = *slot * 2;
}

// Two levels: up to four paths a warp, each with eight lanes.
__global__ void nested(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int* slot = &out[i];
    if (i & 1) {
        if (i & 2) {
            *slot = i + 100;
        } else {
            *slot = i + 200;
        }
        *slot = *slot ^ 1;
    } else {
        if (i & 2) {
            *slot = i + 300;
        } else {
            *slot = i + 400;
        }
        *slot = *slot ^ 2;
    }
    *slot = *slot + 1;
}

// A loop whose length depends on the lane: the warp runs as long as its slowest lane, with fewer and fewer
// lanes on. The triangle can be seen in the active-lane histogram.
__global__ void ragged_loop(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int* slot = &out[i];
    *slot = 0;
#pragma unroll 1
    for (int k = 0; k <= threadIdx.x % 32; ++k) {
        *slot = *slot + k;
    }
}

// Eight cases side by side in every warp. The compiler makes a tree of comparisons of the switch;
// the warp walks down every branch of it, a few lanes at a time.
__global__ void switch_cases(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile int* slot = &out[i];
    switch (threadIdx.x % 8) {
        case 0: *slot = i; break;
        case 1: *slot = i * i; break;
        case 2: *slot = i << 3; break;
        case 3: *slot = i ^ 0x55; break;
        case 4: *slot = -i; break;
        case 5: *slot = i % 7; break;
        case 6: *slot = ~i; break;
        default: *slot = __popc(i); break;
    }
}

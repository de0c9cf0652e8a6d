// Steps until the Collatz sequence of i + 1 reaches 1: every lane goes its own way.
//
// What to look at: active lanes. A warp goes on until its longest sequence ends, and inside the loop lanes with
// even and odd numbers split. Compare with the version below, where a select takes the place of the branch.

__global__ void collatz(int* __restrict__ steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned long long value = i + 1;
    int count = 0;
    while (value != 1) {
        if (value % 2 == 0) {
            value /= 2;
        } else {
            value = 3 * value + 1;
        }
        ++count;
    }
    steps[i] = count;
}

// Odd numbers are followed by an even one, so both can be done in one turn without a branch.
__global__ void collatz_select(int* __restrict__ steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned long long value = i + 1;
    int count = 0;
    while (value != 1) {
        const bool odd = value & 1;
        value = (odd ? 3 * value + 1 : value) / 2;
        count += odd ? 2 : 1;
    }
    steps[i] = count;
}

// Steps until the Collatz sequence of i + 1 reaches 1: every lane goes its own way.
//
// What to look at: active lanes. A warp goes on until its longest sequence ends; within a turn, lanes whose
// number is divisible by 64 halve six times while their neighbours wait. Compare with the version below, where
// all lanes do the same in every turn and only its number differs.

__global__ void collatz(int* __restrict__ steps, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned long long value = i + 1;
    int count = 0;
    while (true) {
        while (value % 2 == 0) {  // as many turns as there are trailing zeros
            value /= 2;
            ++count;
        }
        if (value == 1) {
            break;
        }
        value = 3 * value + 1;
        ++count;
    }
    steps[i] = count;
}

// An odd number is followed by an even one, so both steps fit into one turn, and a select does without a branch.
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

extern "C" __global__ void divergent(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], steps = 0;
    while (v != 1) {
        if (v & 1) v = 3 * v + 1; else v >>= 1;
        ++steps;
        if (steps > 1000) break;
        for (int k = 0; k < (v & 7); ++k) if ((steps ^ k) % 11 == 3) { steps += out[k]; continue; }
    }
    switch (n & 15) {
        case 0: steps += 5; break; case 1: steps *= 7; break; case 2: steps ^= in[0]; break;
        case 3: steps -= in[1]; break; case 4: steps |= 12; break; case 5: steps = -steps; break;
        case 6: steps /= v; break; case 7: steps %= v; break; case 8: steps <<= v; break;
        case 9: steps += in[2] * in[3]; break; default: break;
    }
    __syncwarp();
    out[i] = steps;
}

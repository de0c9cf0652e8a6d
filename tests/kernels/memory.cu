// Kernels about memory: spaces, widths, addresses, structures.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// An array in local memory, indexed by data.
extern "C" __global__ void local_array(const int* in, int* out) {
    int bins[16];
    for (int k = 0; k < 16; ++k) bins[k] = k;
    for (int k = 0; k < 32; ++k) bins[in[(threadIdx.x + k) & 63] & 15] += k;
    int sum = 0;
    for (int k = 0; k < 16; ++k) sum = sum * 5 + bins[(k + threadIdx.x) & 15];
    out[threadIdx.x] = sum;
}

// Dynamic shared memory, cut into arrays of three types.
extern "C" __global__ void dynamic_shared(const int* in, double* out, int n) {
    extern __shared__ double pool[];
    double* doubles = pool;
    int* ints = reinterpret_cast<int*>(doubles + n);
    unsigned char* bytes = reinterpret_cast<unsigned char*>(ints + n);
    const int i = threadIdx.x;
    doubles[i] = in[i] * 0.5;
    ints[i] = in[i] * 3;
    bytes[i] = static_cast<unsigned char>(in[i] + 200);
    __syncthreads();
    const int j = n - 1 - i;
    out[i] = doubles[j] + ints[j] + bytes[j];
}

__constant__ float weights[8] = {0.5f, -1.0f, 2.0f, 0.25f, 8.0f, -0.125f, 3.0f, 1.0f};
__constant__ short offsets[4] = {-2, -1, 1, 2};
__device__ int counters[4] = {10, 20, 30, 40};
__device__ float zeros[4];
__device__ const char text[] = "warp";
__device__ const char* message = text;

extern "C" __global__ void constants_and_globals(float* out, int* letters) {
    const int i = threadIdx.x;
    out[i] = weights[i & 7] * 4.0f + offsets[i & 3] + counters[i & 3] + zeros[i & 3];
    letters[i] = message[i % 5] + text[(i + 1) % 4];
    if (i == 0) counters[0] = 99;
}

struct Inner {
    short s;
    double d;
};
struct Options {
    int scale;
    char flag;
    Inner inner[2];
    float table[3];
    long long big;
};

extern "C" __global__ void struct_by_value(Options options, double* out) {
    const int i = threadIdx.x;
    double r = options.scale * i + options.inner[i & 1].d + options.inner[(i + 1) & 1].s;
    if (options.flag == 'x') r += options.table[i % 3];
    out[i] = r + static_cast<double>(options.big >> 20);
}

__device__ __noinline__ Options changed(Options options, int by) {
    options.scale += by;
    options.inner[1].d *= 2.0;
    options.table[by % 3] = -1.0f;
    return options;
}

// Structures in and out of a call that is not inlined.
extern "C" __global__ void struct_through_call(Options options, double* out) {
    const int i = threadIdx.x;
    const Options other = changed(options, i);
    out[i] = other.scale + other.inner[1].d + other.table[0] + other.table[2] + options.scale;
}

extern "C" __global__ void vector_types(const int4* a, const float2* b, const double2* c, const short4* d,
                                        const uchar4* e, int4* oa, float2* ob, double2* oc, short4* od, uchar4* oe) {
    const int i = INDEX;
    const int4 x = a[i];
    oa[i] = make_int4(x.w, x.z, x.y, x.x);
    const float2 y = b[i];
    ob[i] = make_float2(y.y * 2.0f, y.x);
    const double2 z = c[i];
    oc[i] = make_double2(z.y, z.x - 1.0);
    const short4 s = d[i];
    od[i] = make_short4(s.y, s.x, s.w, s.z);
    const uchar4 u = e[i];
    oe[i] = make_uchar4(u.w, u.z + 1, u.y, u.x ^ 0x80);
}

// One pointer that may point to shared, local or global memory: generic loads and stores.
extern "C" __global__ void generic_pointers(int* global, int* out) {
    __shared__ int shared[32];
    int local[4] = {7, 8, 9, 10};
    const int i = threadIdx.x;
    shared[i] = 1000 + i;
    __syncthreads();
    int* p = i % 3 == 0 ? &shared[31 - i] : i % 3 == 1 ? &global[i] : &local[i & 3];
    const int value = *p;
    __syncthreads();
    *p = value + 1;
    __syncthreads();
    out[i] = value * 10 + local[i & 3] + shared[i] - 1000;
}

union Bits {
    float f;
    unsigned u;
    unsigned char b[4];
};

extern "C" __global__ void unions(const float* in, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    Bits bits;
    bits.f = in[i];
    bits.b[i & 3] ^= 0x40;
    out[i] = bits.u + (unsigned)__float_as_int(in[i]);
}

struct __attribute__((packed)) Packed {
    char c;
    int i;
    short s;
    double d;
};

// Fields that lie across their alignment are read byte by byte.
extern "C" __global__ void packed_struct(const Packed* in, double* out) {
    const Packed p = in[threadIdx.x];
    out[threadIdx.x] = p.c + p.i + p.s + p.d;
}

extern "C" __global__ void grid_3d(int* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    const int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    out[(z * height + y) * width + x] = x + 100 * y + 10000 * z + 1000000 * (int)(blockIdx.z + gridDim.y);
}

// Pointer chasing by index, a different number of steps each.
extern "C" __global__ void linked_list(const int* next, const int* value, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    int sum = 0, hops = 0;
    for (int node = i; node >= 0 && hops < 100; node = next[node], ++hops) sum += value[node];
    out[i] = sum * 1000 + hops;
}

extern "C" __global__ void volatile_flags(volatile int* data, int* out) {
    const int i = threadIdx.x;
    data[i] = i;
    data[i] = data[i] + data[i];
    __syncthreads();
    out[i] = data[(i + 1) % blockDim.x] + data[i];
}

// memcpy and memset of odd sizes between local and global memory.
extern "C" __global__ void copies(const char* in, char* out) {
    char buffer[24];
    memset(buffer, 0x5a, sizeof buffer);
    memcpy(buffer + 3, in + threadIdx.x, 13);
    memcpy(out + 24 * threadIdx.x, buffer, 24);
}

// Game of life on a torus: two-dimensional shared tile with a halo, several generations in one block.
extern "C" __global__ void life(const unsigned char* in, unsigned char* out, int generations) {
    __shared__ unsigned char board[2][16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    board[0][y][x] = in[y * 16 + x];
    __syncthreads();
    int now = 0;
    for (int g = 0; g < generations; ++g) {
        int around = 0;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
                if (dx != 0 || dy != 0) around += board[now][(y + dy) & 15][(x + dx) & 15];
        board[now ^ 1][y][x] = around == 3 || (around == 2 && board[now][y][x]);
        now ^= 1;
        __syncthreads();
    }
    out[y * 16 + x] = board[now][y][x];
}

extern "C" __global__ void transpose_odd(const float* in, float* out, int width, int height) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

// Cache modifiers and the non-coherent path change nothing in the result.
extern "C" __global__ void cache_modifiers(const int* in, int* out) {
    const int i = INDEX;
    const int a = __ldg(&in[i]) + __ldcg(&in[i]) + __ldca(&in[i]) + __ldcs(&in[i]) + __ldlu(&in[i]) + __ldcv(&in[i]);
    __stcs(&out[3 * i], a);
    __stwt(&out[3 * i + 1], a + 1);
    __stcg(&out[3 * i + 2], a + 2);
}

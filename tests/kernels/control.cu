// Kernels about control flow: calls, recursion, tables of functions, jump tables, loops with several exits.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void dense_switch(const int* in, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    int x = in[i];
    switch (x & 15) {
        case 0: x = x * 3; break;
        case 1: x = x + 17; break;
        case 2: x = ~x; break;
        case 3: x = x ^ 0x1234; break;
        case 4: x = x - 1000;  // falls through
        case 5: x = x << 2; break;
        case 6: x = -x; break;
        case 7: x = x >> 3; break;
        case 9: x = x | 0xf00; break;
        case 11: x = x & 0xff; break;
        case 13: x = x * x; break;
        default: x = 42; break;
    }
    out[i] = x;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 11); }

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void deep_recursion(int* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5); }

// Mutual recursion.
__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n == 0 ? false : is_even(n - 1); }

extern "C" __global__ void mutual_recursion(int* out) { out[threadIdx.x] = is_even(threadIdx.x % 9) ? 1 : -1; }

// A table of functions, called by index: lanes of one warp call different functions.
typedef int (*Function)(int, int);
__device__ __noinline__ int f_add(int a, int b) { return a + b; }
__device__ __noinline__ int f_mul(int a, int b) { return a * b; }
__device__ __noinline__ int f_sub(int a, int b) { return a - b; }
__device__ __noinline__ int f_xor(int a, int b) { return a ^ b; }
__device__ Function table[4] = {f_add, f_mul, f_sub, f_xor};

extern "C" __global__ void function_table(const int* a, const int* b, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    out[i] = table[(a[i] + i) & 3](a[i], b[i]);
}

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Rectangle : Shape {
    int width, height;
    __device__ Rectangle(int w, int h) : width(w), height(h) {}
    __device__ int area() const override { return width * height; }
};

extern "C" __global__ void virtual_calls(int* out) {
    const int i = threadIdx.x;
    Square square(i + 1);
    Rectangle rectangle(i, 3);
    const Shape* shapes[2] = {&square, &rectangle};
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        sum = sum * 3 + shapes[(i + k) & 1]->area();
    }
    out[i] = sum;
}

// Several exits, a continue, and a goto that leaves two loops at once.
extern "C" __global__ void tangled_loops(const int* in, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    int sum = 0;
    for (int a = 0; a < 8; ++a) {
        for (int b = 0; b < 8; ++b) {
            const int x = in[(i * 7 + a * 3 + b) % n];
            if (x % 5 == 0) continue;
            if (x % 97 == 13) break;
            if (sum > 2000) goto done;
            sum += x & 63;
        }
        sum ^= a;
    }
    sum += 100000;
done:
    out[i] = sum;
}

extern "C" __global__ void collatz(int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    unsigned long long x = i + 1;
    int steps = 0;
    while (x != 1) {
        x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        ++steps;
    }
    out[i] = steps;
}

// Threads return early, the rest meets at a barrier: exited threads count as arrived.
extern "C" __global__ void early_exit(int* out) {
    __shared__ int values[64];
    values[threadIdx.x] = threadIdx.x * 3;
    __syncthreads();
    if (threadIdx.x % 4 == 3) return;
    values[threadIdx.x] += 1;
    __syncthreads();
    out[threadIdx.x] = values[threadIdx.x ^ 1] + values[threadIdx.x];
}

template <typename F>
__device__ int fold(const int* data, int n, int start, F f) {
    for (int k = 0; k < n; ++k) start = f(start, data[k]);
    return start;
}

extern "C" __global__ void lambdas(const int* in, int* out, int scale) {
    const int i = threadIdx.x;
    const int a = fold(in, 16, i, [=](int s, int x) { return s * 31 + x * scale; });
    const int b = fold(in, 16, i, [&](int s, int x) { return x > s ? x : s - a % 3; });
    out[i] = a ^ b;
}

template <int N>
struct Power {
    static __device__ unsigned of(unsigned x) { return x * Power<N - 1>::of(x); }
};
template <>
struct Power<0> {
    static __device__ unsigned of(unsigned) { return 1; }
};

extern "C" __global__ void templates(unsigned* out) {
    const unsigned x = threadIdx.x + 2;
    out[threadIdx.x] = Power<7>::of(x) + Power<3>::of(x) * Power<1>::of(x);
}

// Quicksort with an explicit stack in local memory; each thread sorts its own 24 numbers.
extern "C" __global__ void quicksort(int* data) {
    int* x = data + 24 * INDEX;
    int stack[64];
    int top = 0;
    stack[top++] = 0;
    stack[top++] = 23;
    while (top > 0) {
        const int high = stack[--top];
        const int low = stack[--top];
        if (low >= high) continue;
        const int pivot = x[high];
        int k = low;
        for (int j = low; j < high; ++j) {
            if (x[j] < pivot) {
                const int t = x[j];
                x[j] = x[k];
                x[k++] = t;
            }
        }
        x[high] = x[k];
        x[k] = pivot;
        stack[top++] = low;
        stack[top++] = k - 1;
        stack[top++] = k + 1;
        stack[top++] = high;
    }
}

// A small machine: an interpreter loop whose program counter differs from lane to lane.
extern "C" __global__ void interpreter(const unsigned char* code, int* out) {
    int accumulator = threadIdx.x, counter = 0, pc = threadIdx.x % 4;
    for (int step = 0; step < 200; ++step) {
        const int op = code[pc++];
        if (op == 0) break;
        switch (op) {
            case 1: accumulator += code[pc++]; break;
            case 2: accumulator *= code[pc++]; break;
            case 3: accumulator ^= counter; break;
            case 4:
                if (++counter < 5) pc = code[pc]; else ++pc;
                break;
            case 5: accumulator -= 3; break;
            default: accumulator = -1; break;
        }
    }
    out[threadIdx.x] = accumulator * 100 + counter;
}

// Short-circuit conditions guard a division and an access.
extern "C" __global__ void short_circuit(const int* a, const int* b, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const int x = a[i], y = b[i];
    int r = 0;
    if (y != 0 && x / y > 2) r |= 1;
    if (i > 0 && a[i - 1] > x) r |= 2;
    if (x > 0 || y > 0) r |= 4;
    if (!(x > 0 && y > 0) && (x ^ y) < 0) r |= 8;
    out[i] = r;
}

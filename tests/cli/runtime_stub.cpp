// Stands in for the CUDA runtime where no GPU is: launches are counted, events tell made-up times. The name of
// the device says what was seen, so that a test reads it from the harness's own output.
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Extent {
    unsigned x, y, z;
};
struct Configuration {
    Extent grid, block;
    size_t shared;
    void* stream;
};

static Configuration pushed;
static int launches, warm, timed, records, reads;
static bool between;
static void* handles[64];

static void launched() {
    launches++;
    if (records == 0) warm++;
    if (between) timed++;
}

extern "C" {
void** __cudaRegisterFatBinary(void*) { return handles; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*) {}
char __cudaInitModule(void**) { return 1; }
int __cudaGetKernel(void** kernel, const void*) { return *kernel = handles, 0; }
unsigned __cudaPushCallConfiguration(Extent grid, Extent block, size_t shared, void* stream) {
    pushed = {grid, block, shared, stream};
    return 0;
}
int __cudaPopCallConfiguration(Extent* grid, Extent* block, size_t* shared, void* stream) {
    *grid = pushed.grid, *block = pushed.block, *shared = pushed.shared;
    memcpy(stream, &pushed.stream, sizeof pushed.stream);
    return 0;
}
int __cudaLaunchKernel(void*, Extent, Extent, void**, size_t, void*) { return launched(), 0; }
int cudaLaunchKernel(const void*, Extent, Extent, void**, size_t, void*) { return launched(), 0; }
int cudaMalloc(void** to, size_t size) { return *to = malloc(size), *to == nullptr; }
int cudaMemcpy(void* to, const void* from, size_t size, int) { return memcpy(to, from, size), 0; }
int cudaFuncSetAttribute(const void*, int, int) { return 0; }
int cudaDeviceSynchronize() { return 0; }
int cudaGetLastError() { return getenv("STUB_FAILS") ? 719 : 0; }
const char* cudaGetErrorString(int) { return "the stand-in was told to fail"; }
int cudaEventCreate(void** event) { return *event = handles, 0; }
int cudaEventRecord(void*, void*) { return records++, between = !between, 0; }
int cudaEventSynchronize(void*) { return 0; }
int cudaEventElapsedTime(float* ms, void*, void*) {
    // 0.5, 1.0 … 10 in a muddled order: the median of twenty is 5.25.
    return *ms = 0.5f * (reads++ * 7 % 20 + 1), 0;
}
int cudaGetDeviceProperties(void* into, int) {
    char name[256];
    snprintf(name, sizeof name, "a stand-in: %d warm, %d timed of %d, block %u", warm, timed, launches, pushed.block.x);
    return strcpy(static_cast<char*>(into), name), 0;
}
int cudaGetDeviceProperties_v2(void* into, int device) { return cudaGetDeviceProperties(into, device); }
}

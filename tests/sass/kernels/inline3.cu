struct Point { float x, y, z; };
__device__ __forceinline__ float square(float v) {
    return v * v;
}
__device__ __forceinline__ float norm2(Point p) {
    return square(p.x) + square(p.y)
         + square(p.z);
}
__device__ __forceinline__ float weight(Point p, float s) {
    float d = norm2(p);
    return s * rsqrtf(d + 1e-9f);
}
extern "C" __global__ void inline3(const Point *p, const float *s, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float w = weight(p[i], s[i]);
    out[i] = w;
}

extern "C" __global__ void textures(cudaTextureObject_t t2, cudaTextureObject_t t1, cudaSurfaceObject_t s2, float4 *out, int n) {
    int i = threadIdx.x, j = threadIdx.y;
    float4 a = tex2D<float4>(t2, i * 0.5f, j * 0.25f);
    float b = tex1Dfetch<float>(t1, i);
    float4 c = tex2Dgather<float4>(t2, i, j, 1);
    float4 d = surf2Dread<float4>(s2, i * 16, j);
    a.x += b + c.y + d.z; a.w *= c.w;
    surf2Dwrite(a, s2, i * 16, j);
    float4 e = tex2DLod<float4>(t2, i, j, 1.5f);
    out[j * n + i] = make_float4(a.x + e.x, b, c.z + d.x, e.w);
}

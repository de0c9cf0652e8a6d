// Answers of the host's own arithmetic, and of the CUDA headers' host paths, for arrays of operands.
// usage: oracle OPERATION MODE < operands > results; all little-endian, operands interleaved.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#ifdef WITH_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#endif

template <typename T> static std::vector<T> read_all() {
    std::vector<T> data;
    T buffer[4096];
    size_t n;
    while ((n = fread(buffer, sizeof(T), 4096, stdin)) > 0) data.insert(data.end(), buffer, buffer + n);
    return data;
}

template <typename T> static void put(T value) { fwrite(&value, sizeof(T), 1, stdout); }

template <typename T> static int arithmetic(const std::string &op) {
    std::vector<T> x = read_all<T>();
    for (size_t i = 0; i + 2 < x.size(); i += 3) {
        volatile T a = x[i], b = x[i + 1], c = x[i + 2];
        volatile T r = 0;
        if (op == "add") r = a + b;
        else if (op == "mul") r = a * b;
        else if (op == "div") r = a / b;
        else if (op == "sqrt") r = std::sqrt(a);
        else if (op == "fma") r = std::fma(a, b, c);
        else return 2;
        put<T>(r);
    }
    return 0;
}

static int integers(const std::string &op) {
    std::vector<uint32_t> x = read_all<uint32_t>();
    for (size_t i = 0; i + 2 < x.size(); i += 3) {
        uint32_t a = x[i], b = x[i + 1], c = x[i + 2];
        int32_t sa = (int32_t)a, sb = (int32_t)b;
        uint32_t r;
        if (op == "mulhi") r = (uint32_t)(((int64_t)sa * sb) >> 32);
        else if (op == "umulhi") r = (uint32_t)(((uint64_t)a * b) >> 32);
        else if (op == "div") r = (sb == 0 || (sb == -1 && sa == INT32_MIN)) ? 0 : (uint32_t)(sa / sb);
        else if (op == "rem") r = (sb == 0 || sb == -1) ? 0 : (uint32_t)(sa % sb);
        else if (op == "popc") r = (uint32_t)__builtin_popcount(a);
        else if (op == "clz") r = a ? (uint32_t)__builtin_clz(a) : 32;
        else if (op == "expression") r = ((a * b + c) ^ (a >> (b & 31))) - (c << (a & 31)) + (uint32_t)(sa >> (c & 31));
        else return 2;
        put<uint32_t>(r);
    }
    return 0;
}

template <typename From, typename To> static int conversion() {
    std::vector<From> x = read_all<From>();
    for (From v : x) {
        volatile From from = v;
        put<To>((To)from);
    }
    return 0;
}

#ifdef WITH_CUDA
static int headers(const std::string &op) {
    std::vector<float> x = read_all<float>();
    for (float v : x) {
        uint32_t r;
        if (op == "e4m3") r = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
        else if (op == "e5m2") r = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E5M2);
        else if (op == "e2m3") r = __nv_cvt_float_to_fp6(v, __NV_E2M3, cudaRoundNearest);
        else if (op == "e3m2") r = __nv_cvt_float_to_fp6(v, __NV_E3M2, cudaRoundNearest);
        else if (op == "e2m1") r = __nv_cvt_float_to_fp4(v, __NV_E2M1, cudaRoundNearest);
        else if (op == "ue8m0-rz") r = __nv_cvt_float_to_e8m0(v, __NV_SATFINITE, cudaRoundZero);
        else if (op == "ue8m0-rp") r = __nv_cvt_float_to_e8m0(v, __NV_SATFINITE, cudaRoundPosInf);
        else if (op == "ue8m0-nosat") r = __nv_cvt_float_to_e8m0(v, __NV_NOSAT, cudaRoundZero);
        else if (op == "f16-rn") r = __half_raw(__float2half_rn(v)).x;
        else if (op == "f16-rz") r = __half_raw(__float2half_rz(v)).x;
        else if (op == "f16-rm") r = __half_raw(__float2half_rd(v)).x;
        else if (op == "f16-rp") r = __half_raw(__float2half_ru(v)).x;
        else if (op == "bf16-rn") r = __nv_bfloat16_raw(__float2bfloat16_rn(v)).x;
        else if (op == "bf16-rz") r = __nv_bfloat16_raw(__float2bfloat16_rz(v)).x;
        else if (op == "bf16-rm") r = __nv_bfloat16_raw(__float2bfloat16_rd(v)).x;
        else if (op == "bf16-rp") r = __nv_bfloat16_raw(__float2bfloat16_ru(v)).x;
        else return 2;
        put<uint32_t>(r);
    }
    return 0;
}
#endif

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    std::string kind = argv[1], mode = argv[2];
    size_t dot = kind.find('.');
    std::string group = kind.substr(0, dot), op = kind.substr(dot + 1);
    int rounding = mode == "rz"   ? FE_TOWARDZERO
                   : mode == "rm" ? FE_DOWNWARD
                   : mode == "rp" ? FE_UPWARD
                                  : FE_TONEAREST;
    if (group == "int") return integers(op);
#ifdef WITH_CUDA
    if (group == "cuda") return headers(op);
#endif
    std::fesetround(rounding);
    if (group == "f32") return arithmetic<float>(op);
    if (group == "f64") return arithmetic<double>(op);
    if (op == "s64.f32") return conversion<int64_t, float>();
    if (op == "u64.f32") return conversion<uint64_t, float>();
    if (op == "s64.f64") return conversion<int64_t, double>();
    if (op == "f64.f32") return conversion<double, float>();
    return 2;
}

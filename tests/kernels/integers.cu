// Integer kernels. Every result is exact, so numpy must agree bit for bit.

typedef unsigned long long u64;
typedef long long s64;

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// 32-bit arithmetic, 14 results an element.
extern "C" __global__ void int_arith(const int* a, const int* b, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const int x = a[i];
    const int y = b[i];
    const unsigned ux = x, uy = y;
    int* r = out + 14 * i;
    r[0] = (int)(ux + uy);
    r[1] = (int)(ux - uy);
    r[2] = (int)(ux * uy);
    r[3] = __mulhi(x, y);
    r[4] = (int)__umulhi(ux, uy);
    r[5] = y == 0 ? -1 : x / (y == -1 ? 1 : y);
    r[6] = y == 0 ? -2 : x % (y == -1 ? 1 : y);
    r[7] = (int)(uy == 0 ? 7u : ux / uy);
    r[8] = (int)(uy == 0 ? 9u : ux % uy);
    r[9] = min(x, y);
    r[10] = (int)max(ux, uy);
    r[11] = (int)__sad(x, y, 5u);
    r[12] = __mul24(x, y);
    r[13] = (int)__umul24(ux, uy);
}

// 64-bit arithmetic, 11 results an element.
extern "C" __global__ void long_arith(const s64* a, const s64* b, s64* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const s64 x = a[i], y = b[i];
    const u64 ux = x, uy = y;
    s64* r = out + 11 * i;
    r[0] = ux + uy;
    r[1] = ux * uy;
    r[2] = __mul64hi(x, y);
    r[3] = __umul64hi(ux, uy);
    r[4] = x / (y | 1);
    r[5] = x % (y | 1);
    r[6] = ux / (uy | 1);
    r[7] = ux % (uy | 1);
    r[8] = x >> (y & 63);
    r[9] = ux >> (uy & 63);
    r[10] = ux << (uy & 63);
}

// A product of two 64-bit numbers as 128 bits, plus a third: carry chains.
extern "C" __global__ void wide_mad(const u64* a, const u64* b, const u64* c, u64* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    unsigned __int128 p = (unsigned __int128)a[i] * b[i];
    p += ((unsigned __int128)c[i] << 64) | a[i];
    p -= b[i];
    out[2 * i] = (u64)p;
    out[2 * i + 1] = (u64)(p >> 64);
}

// Four-limb addition and subtraction with explicit carries.
extern "C" __global__ void limb_add(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const unsigned* x = a + 4 * i;
    const unsigned* y = b + 4 * i;
    unsigned* r = out + 10 * i;
    asm("add.cc.u32 %0, %5, %9; addc.cc.u32 %1, %6, %10; addc.cc.u32 %2, %7, %11; addc.cc.u32 %3, %8, %12; "
        "addc.u32 %4, 0, 0;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
    asm("sub.cc.u32 %0, %5, %9; subc.cc.u32 %1, %6, %10; subc.cc.u32 %2, %7, %11; subc.cc.u32 %3, %8, %12; "
        "subc.u32 %4, 0, 0;"
        : "=&r"(r[5]), "=&r"(r[6]), "=&r"(r[7]), "=&r"(r[8]), "=&r"(r[9])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
}

// Counting, reversing, permuting and inserting bits; 14 results an element.
extern "C" __global__ void bit_tricks(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i];
    unsigned* r = out + 14 * i;
    r[0] = __popc(x);
    r[1] = __clz(x);
    r[2] = __brev(x);
    r[3] = __ffs(x);
    r[4] = __byte_perm(x, y, 0x5240);
    r[5] = __byte_perm(x, y, y & 0xffff);
    r[6] = __funnelshift_l(x, y, x);
    r[7] = __funnelshift_rc(x, y, x);
    r[8] = (x & y) | (~x & (y >> 3));
    r[9] = x ^ y ^ (x << 7);
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r[10]) : "r"(x), "r"(y & 0xff), "r"((y >> 8) & 0xff));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[11]) : "r"(x), "r"(y & 0xff), "r"((y >> 8) & 0xff));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[12]) : "r"(x), "r"(y), "r"(y & 0xff), "r"((y >> 8) & 0xff));
    asm("bfind.u32 %0, %1;" : "=r"(r[13]) : "r"(x));
}

// Shifts whose distance goes beyond the width: PTX clamps, C does not say.
extern "C" __global__ void shift_clamp(const int* a, const unsigned* distance, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    asm("shl.b32 %0, %1, %2;" : "=r"(out[3 * i]) : "r"(a[i]), "r"(distance[i]));
    asm("shr.s32 %0, %1, %2;" : "=r"(out[3 * i + 1]) : "r"(a[i]), "r"(distance[i]));
    asm("shr.u32 %0, %1, %2;" : "=r"(out[3 * i + 2]) : "r"(a[i]), "r"(distance[i]));
}

// Dot products of bytes and shorts with every mix of signs.
extern "C" __global__ void dot_bytes(const int* a, const int* b, int* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    const int x = a[i], y = b[i];
    int* r = out + 7 * i;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r[0]) : "r"(x), "r"(y), "r"(100));
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(x), "r"(y), "r"(100));
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r[2]) : "r"(x), "r"(y), "r"(-5));
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r[3]) : "r"(x), "r"(y), "r"(7));
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r[4]) : "r"(x), "r"(y), "r"(1));
    asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"(x), "r"(y), "r"(2));
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(r[6]) : "r"(x), "r"(y), "r"(3));
}

// Bytes side by side in a register.
extern "C" __global__ void simd_bytes(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    out[6 * i] = __vadd4(a[i], b[i]);
    out[6 * i + 1] = __vsub4(a[i], b[i]);
    out[6 * i + 2] = __vmaxu4(a[i], b[i]);
    out[6 * i + 3] = __vmins2(a[i], b[i]);
    out[6 * i + 4] = __vabsdiffu4(a[i], b[i]);
    out[6 * i + 5] = __vcmpgtu4(a[i], b[i]);
}

// Narrow types: sign extension on load, truncation on store, promotion in between.
extern "C" __global__ void narrow_types(const signed char* a, const unsigned char* b, const short* c,
                                        const unsigned short* d, signed char* o8, short* o16, int* o32, int n) {
    const int i = INDEX;
    if (i >= n) return;
    o8[i] = (signed char)(a[i] * b[i]);
    o16[i] = (short)(c[i] + d[i] - a[i]);
    o32[i] = (a[i] >> 2) ^ (c[i] * d[i]) ^ (int)(unsigned char)(b[i] << 3);
}

// CRC-32 with a table in constant memory; each thread hashes its own 16 bytes.
__constant__ unsigned crc_table[16] = {
    0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
    0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};

extern "C" __global__ void crc32_nibbles(const unsigned char* data, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    unsigned crc = 0xffffffffu;
    for (int k = 0; k < 16; ++k) {
        crc ^= data[16 * i + k];
        crc = (crc >> 4) ^ crc_table[crc & 15];
        crc = (crc >> 4) ^ crc_table[crc & 15];
    }
    out[i] = ~crc;
}

// Counter-based random numbers: ten rounds of two 32 x 32 -> 64 products.
extern "C" __global__ void philox(unsigned* out, unsigned seed, int n) {
    const int i = INDEX;
    if (i >= n) return;
    unsigned c0 = i, c1 = 1, c2 = 2, c3 = 3, k0 = seed, k1 = ~seed;
    for (int round = 0; round < 10; ++round) {
        const unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        const unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[4 * i] = c0;
    out[4 * i + 1] = c1;
    out[4 * i + 2] = c2;
    out[4 * i + 3] = c3;
}

extern "C" __global__ void gcd(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    while (y != 0) {
        const unsigned t = x % y;
        x = y;
        y = t;
    }
    out[i] = x;
}

// base^exponent mod modulus with 64-bit products and remainders.
extern "C" __global__ void power_modulo(const unsigned* base, const unsigned* exponent, unsigned* out, unsigned m,
                                        int n) {
    const int i = INDEX;
    if (i >= n) return;
    u64 result = 1, x = base[i] % m;
    for (unsigned e = exponent[i]; e != 0; e >>= 1) {
        if (e & 1) result = result * x % m;
        x = x * x % m;
    }
    out[i] = (unsigned)result;
}

// 64-bit population count, leading zeros, reversal and find-first-set.
extern "C" __global__ void long_bits(const u64* a, u64* out, int n) {
    const int i = INDEX;
    if (i >= n) return;
    out[4 * i] = __popcll(a[i]);
    out[4 * i + 1] = __clzll(a[i]);
    out[4 * i + 2] = __brevll(a[i]);
    out[4 * i + 3] = __ffsll(a[i]);
}

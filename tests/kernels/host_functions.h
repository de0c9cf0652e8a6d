// Functions without anything from the GPU: compiled for the device by nvcc and for the host by g++, and compared.
#pragma once

#ifdef __CUDACC__
#define BOTH __device__ __noinline__
#else
#define BOTH static
#endif

// 0: a mixing hash (Murmur's finaliser)
BOTH unsigned mix(unsigned x, unsigned seed) {
    x ^= seed;
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

// 1: integer square root by Newton's steps
BOTH unsigned whole_root(unsigned x, unsigned) {
    if (x < 2) return x;
    unsigned r = x / 2;
    unsigned next = (r + x / r) / 2;
    while (next < r) {
        r = next;
        next = (r + x / r) / 2;
    }
    return r;
}

// 2: edit distance of the two words' hexadecimal digits
BOTH unsigned edit_distance(unsigned x, unsigned y) {
    unsigned char row[9];
    for (int j = 0; j <= 8; ++j) row[j] = (unsigned char)j;
    for (int i = 1; i <= 8; ++i) {
        unsigned char diagonal = row[0];
        row[0] = (unsigned char)i;
        for (int j = 1; j <= 8; ++j) {
            const unsigned char above = row[j];
            const unsigned change = diagonal + ((x >> 4 * (i - 1) & 15) != (y >> 4 * (j - 1) & 15));
            unsigned best = above < row[j - 1] ? above + 1u : row[j - 1] + 1u;
            if (change < best) best = change;
            row[j] = (unsigned char)best;
            diagonal = above;
        }
    }
    return row[8];
}

// 3: signed division and remainder by constants and by a variable
BOTH unsigned divisions(unsigned x, unsigned y) {
    const int a = (int)x, b = (int)(y % 1000) - 500;
    int r = a / 7 + a % 10 - a / -3;
    if (b != 0 && b != -1) r ^= a / b + a % b;
    const long long w = (long long)a * (int)y;
    return (unsigned)(r ^ (int)(w / 1000003) ^ (int)(w % 97));
}

// 4: calendar date of a day number
BOTH unsigned civil_date(unsigned x, unsigned) {
    const long long z = (long long)(x % 4000000u) + 719468;
    const long long era = z / 146097;
    const unsigned doe = (unsigned)(z - era * 146097);
    const unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    const unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    const unsigned mp = (5 * doy + 2) / 153;
    const unsigned day = doy - (153 * mp + 2) / 5 + 1;
    const unsigned month = mp < 10 ? mp + 3 : mp - 9;
    return (unsigned)((long long)yoe + era * 400 + (month <= 2)) * 10000u + month * 100u + day;
}

// 5: float to half precision by hand, round to nearest even
BOTH unsigned to_half(unsigned x, unsigned) {
    const unsigned sign = x >> 16 & 0x8000u;
    const int exponent = (int)(x >> 23 & 255) - 112;
    unsigned mantissa = x & 0x7fffffu;
    if ((x & 0x7fffffffu) > 0x7f800000u) return sign | 0x7e00u;
    if (exponent >= 31) return sign | 0x7c00u;
    if (exponent <= 0) {
        if (exponent < -10) return sign;
        mantissa |= 0x800000u;
        const int shift = 14 - exponent;
        const unsigned kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
        return sign | (kept + (rest > middle || (rest == middle && (kept & 1))));
    }
    const unsigned kept = (unsigned)exponent << 10 | mantissa >> 13, rest = mantissa & 0x1fffu;
    return sign | (kept + (rest > 0x1000u || (rest == 0x1000u && (kept & 1))));
}

// 6: a longest common substring length of two bit strings, 64-bit state
BOTH unsigned common_run(unsigned x, unsigned y) {
    unsigned best = 0;
    for (int shift = -31; shift <= 31; ++shift) {
        const unsigned long long wide = shift < 0 ? (unsigned long long)y >> -shift : (unsigned long long)y << shift;
        unsigned same = ~(x ^ (unsigned)wide);
        if (shift > 0) same &= ~((1u << shift) - 1);
        if (shift < 0) same &= ~0u >> -shift;
        unsigned run = 0;
        while (same != 0) {
            same &= same << 1;
            ++run;
        }
        if (run > best) best = run;
    }
    return best;
}

// 7: double arithmetic, basic operations only (each rounded once on both sides)
BOTH unsigned polynomial(unsigned x, unsigned y) {
    const double t = x / 4294967296.0;
    double s = 0.0;
    for (int k = 0; k < 8; ++k) {
        const double product = s * t;  // kept apart from the sum: the host must not fuse them
        s = product + (y >> k & 255);
    }
    return (unsigned)(s * 1000.0 / (1.0 + t));
}

constexpr int kFunctions = 8;

BOTH unsigned host_or_device(int which, unsigned x, unsigned y) {
    switch (which) {
        case 0: return mix(x, y);
        case 1: return whole_root(x, y);
        case 2: return edit_distance(x, y);
        case 3: return divisions(x, y);
        case 4: return civil_date(x, y);
        case 5: return to_half(x, y);
        case 6: return common_run(x, y);
        default: return polynomial(x, y);
    }
}

/* XXH3-64, implemented from Collet's specification of xxHash 0.2, section "XXH3".
 *
 * Inputs of up to 240 bytes are mixed 16 bytes at a time by 128-bit products, in ways that depend on the length. Longer
 * inputs go through eight lanes, one stripe of 64 bytes at a time; the lanes are scrambled after each block of 16
 * stripes. The last stripe consists of the last 64 bytes of the input, wherever blocks end; the main loop never
 * consumes a stripe that ends the input. Words are little-endian.
 */
#include "base/hash.h"

#include <string.h>

#include "base/base.h"

#define P32_1 UINT64_C(0x9E3779B1)
#define P32_2 UINT64_C(0x85EBCA77)
#define P32_3 UINT64_C(0xC2B2AE3D)
#define P64_1 UINT64_C(0x9E3779B185EBCA87)
#define P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define P64_3 UINT64_C(0x165667B19E3779F9)
#define P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define P64_5 UINT64_C(0x27D4EB2F165667C5)
#define MIX_1 UINT64_C(0x165667919E3779F9)
#define MIX_2 UINT64_C(0x9FB21C651E98DF25)

enum { LANES = 8, STRIPE = 64, BLOCK = 16 /* stripes */, SECRET = 192, SHORT = 240 };

/* clang-format off */
static const unsigned char default_secret[SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};
/* clang-format on */

static inline uint64_t swap(uint64_t x) {
    x = (x & UINT64_C(0x00FF00FF00FF00FF)) << 8 | (x >> 8 & UINT64_C(0x00FF00FF00FF00FF));
    x = (x & UINT64_C(0x0000FFFF0000FFFF)) << 16 | (x >> 16 & UINT64_C(0x0000FFFF0000FFFF));
    return x << 32 | x >> 32;
}

static inline uint64_t word(const unsigned char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = swap(x);
#endif
    return x;
}

static inline void put_word(unsigned char *p, uint64_t x) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = swap(x);
#endif
    memcpy(p, &x, sizeof x);
}

static inline uint64_t half_word(const unsigned char *p) {
    return (uint32_t)(p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

static inline uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static inline uint64_t fold(uint64_t a, uint64_t b) {
    uint64_t low, high = pv__multiply(a, b, &low);
    return low ^ high;
}

static inline uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 37) * MIX_1;
    return h ^ h >> 32;
}

static inline uint64_t avalanche_short(uint64_t h) {
    h = (h ^ h >> 33) * P64_2;
    h = (h ^ h >> 29) * P64_3;
    return h ^ h >> 32;
}

static inline uint64_t mix16(const unsigned char *p, const unsigned char *secret, uint64_t seed) {
    return fold(word(p) ^ (word(secret) + seed), word(p + 8) ^ (word(secret + 8) - seed));
}

/* ---- up to 240 bytes ----------------------------------------------------------------------------------------------
 */

static inline uint64_t up_to_16(const unsigned char *p, size_t size, uint64_t seed) {
    const unsigned char *s = default_secret;
    if (size > 8) {
        uint64_t low = word(p) ^ ((word(s + 24) ^ word(s + 32)) + seed);
        uint64_t high = word(p + size - 8) ^ ((word(s + 40) ^ word(s + 48)) - seed);
        return avalanche(size + swap(low) + high + fold(low, high));
    }
    if (size >= 4) {
        seed ^= swap(seed & UINT32_MAX);
        uint64_t h = (half_word(p + size - 4) + (half_word(p) << 32)) ^ ((word(s + 8) ^ word(s + 16)) - seed);
        h ^= rotate(h, 49) ^ rotate(h, 24);
        h *= MIX_2;
        h = (h ^ ((h >> 35) + size)) * MIX_2;
        return h ^ h >> 28;
    }
    if (size == 0)
        return avalanche_short(seed ^ word(s + 56) ^ word(s + 64));
    uint64_t all = (uint64_t)p[0] << 16 | (uint64_t)p[size / 2] << 24 | p[size - 1] | (uint64_t)size << 8;
    return avalanche_short(all ^ ((half_word(s) ^ half_word(s + 4)) + seed));
}

static uint64_t up_to_240(const unsigned char *p, size_t size, uint64_t seed) {
    const unsigned char *s = default_secret;
    uint64_t h = size * P64_1;
    if (size <= 128) { /* from both ends inwards */
        for (size_t i = (size - 1) / 32 + 1; i-- > 0;) {
            h += mix16(p + 16 * i, s + 32 * i, seed);
            h += mix16(p + size - 16 * (i + 1), s + 32 * i + 16, seed);
        }
        return avalanche(h);
    }
    for (size_t i = 0; i < 8; i++)
        h += mix16(p + 16 * i, s + 16 * i, seed);
    h = avalanche(h);
    for (size_t i = 8; i < size / 16; i++)
        h += mix16(p + 16 * i, s + 16 * (i - 8) + 3, seed);
    return avalanche(h + mix16(p + size - 16, s + 136 - 17, seed));
}

/* ---- longer input ------------------------------------------------------------------------------------------------ */

static const uint64_t first_lanes[LANES] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};

static inline void take_stripe(uint64_t *restrict lane, const unsigned char *restrict p,
                               const unsigned char *restrict secret) {
    for (size_t i = 0; i < LANES; i += 2) {
        uint64_t a = word(p + 8 * i), b = word(p + 8 * i + 8);
        uint64_t ka = a ^ word(secret + 8 * i), kb = b ^ word(secret + 8 * i + 8);
        lane[i] += b + (ka & UINT32_MAX) * (ka >> 32);
        lane[i + 1] += a + (kb & UINT32_MAX) * (kb >> 32);
    }
}

/* Consumes count stripes. *stripe is the index of the next one within its block. */
static void take_stripes(uint64_t *lane, size_t *stripe, const unsigned char *p, size_t count,
                         const unsigned char *secret) {
    uint64_t own[LANES];
    memcpy(own, lane, sizeof own);
    while (count > 0) {
        size_t n = count < BLOCK - *stripe ? count : BLOCK - *stripe;
        for (size_t i = 0; i < n; i++)
            take_stripe(own, p + STRIPE * i, secret + 8 * (*stripe + i));
        p += STRIPE * n;
        count -= n;
        *stripe = (*stripe + n) % BLOCK;
        for (size_t i = 0; *stripe == 0 && i < LANES; i++)
            own[i] = (own[i] ^ own[i] >> 47 ^ word(secret + SECRET - STRIPE + 8 * i)) * P32_1;
    }
    memcpy(lane, own, sizeof own);
}

static uint64_t merge(uint64_t *lane, const unsigned char *last, uint64_t total, const unsigned char *secret) {
    take_stripe(lane, last, secret + SECRET - STRIPE - 7);
    uint64_t h = total * P64_1;
    for (size_t i = 0; i < LANES; i += 2)
        h += fold(lane[i] ^ word(secret + 11 + 8 * i), lane[i + 1] ^ word(secret + 11 + 8 * i + 8));
    return avalanche(h);
}

static uint64_t long_hash(const unsigned char *p, size_t size, const unsigned char *secret) {
    uint64_t lane[LANES];
    size_t stripe = 0;
    memcpy(lane, first_lanes, sizeof lane);
    take_stripes(lane, &stripe, p, (size - 1) / STRIPE, secret);
    return merge(lane, p + size - STRIPE, size, secret);
}

uint64_t pv__hash_seeded(const void *bytes, size_t size, uint64_t seed) {
    const unsigned char *p = bytes;
    if (size <= 16)
        return up_to_16(p, size, seed);
    if (size <= SHORT)
        return up_to_240(p, size, seed);
    if (seed == 0)
        return long_hash(p, size, default_secret);
    unsigned char secret[SECRET];
    for (size_t i = 0; i < SECRET; i += 16) {
        put_word(secret + i, word(default_secret + i) + seed);
        put_word(secret + i + 8, word(default_secret + i + 8) - seed);
    }
    return long_hash(p, size, secret);
}

uint64_t pv__hash(const void *bytes, size_t size) {
    return pv__hash_seeded(bytes, size, 0);
}

/* ---- streaming --------------------------------------------------------------------------------------------------- */

void pv__hasher_begin(pv__hasher *h) {
    memcpy(h->lane, first_lanes, sizeof h->lane);
    h->total = 0;
    h->held = h->stripe = 0;
}

void pv__hasher_add(pv__hasher *h, const void *bytes, size_t size) {
    const unsigned char *p = bytes;
    const size_t room = sizeof h->buffer;
    h->total += size;
    if (size > room - h->held) { /* keeps at least one byte back, because the last stripe is special */
        size_t more = room - h->held;
        if (h->held > 0) {
            memcpy(h->buffer + h->held, p, more);
            take_stripes(h->lane, &h->stripe, h->buffer, room / STRIPE, default_secret);
            p += more;
            size -= more;
            h->held = 0;
        }
        if (size > room) {
            size_t stripes = (size - 1) / STRIPE;
            take_stripes(h->lane, &h->stripe, p, stripes, default_secret);
            p += STRIPE * stripes;
            size -= STRIPE * stripes;
            memcpy(h->buffer + room - STRIPE, p - STRIPE, STRIPE); /* the last stripe may reach back into these bytes */
        }
    }
    if (size > 0)
        memcpy(h->buffer + h->held, p, size);
    h->held += size;
}

void pv__hasher_add_numbers(pv__hasher *h, const void *numbers, size_t size, size_t n) {
    const unsigned char *from = numbers;
    unsigned char piece[512];
    if (!PV_BIG_ENDIAN) {
        pv__hasher_add(h, numbers, n * size);
        return;
    }
    for (size_t at = 0, room = sizeof piece / size; at < n; at += room) {
        size_t m = n - at < room ? n - at : room;
        pv__hasher_add(h, pv__little_endian(from + at * size, size, m, piece), m * size);
    }
}

uint64_t pv__hasher_end(const pv__hasher *h) {
    if (h->total <= SHORT)
        return pv__hash(h->buffer, (size_t)h->total);
    uint64_t lane[LANES];
    size_t stripe = h->stripe;
    memcpy(lane, h->lane, sizeof lane);
    unsigned char last[STRIPE];
    if (h->held >= STRIPE) {
        take_stripes(lane, &stripe, h->buffer, (h->held - 1) / STRIPE, default_secret);
        memcpy(last, h->buffer + h->held - STRIPE, STRIPE);
    } else {
        size_t before = STRIPE - h->held;
        memcpy(last, h->buffer + sizeof h->buffer - before, before);
        memcpy(last + before, h->buffer, h->held);
    }
    return merge(lane, last, h->total, default_secret);
}

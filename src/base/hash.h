/* src/base/hash.h: XXH3-64 as xxHash's specification 0.2 defines it, the hash of files, columns and dictionaries.
 *
 * The value of the same bytes is the same on every machine; numbers whose hash is kept go through
 * pv__hasher_add_numbers or pv__little_endian. It does not protect against deliberate collisions, except with a secret
 * seed.
 */
#ifndef PV_SRC_BASE_HASH_H
#define PV_SRC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t pv__hash(const void *bytes, size_t size);
uint64_t pv__hash_seeded(const void *bytes, size_t size, uint64_t seed);

/* The same hash for bytes that arrive in pieces. */
typedef struct pv__hasher {
    uint64_t lane[8];
    uint64_t total;
    size_t held;   /* number of bytes in buffer that are not yet in lane */
    size_t stripe; /* index of the next stripe within its block */
    unsigned char buffer[256];
} pv__hasher;

void pv__hasher_begin(pv__hasher *hasher);
void pv__hasher_add(pv__hasher *hasher, const void *bytes, size_t size);
/* n numbers of size bytes each, as the bytes that they have on a little-endian machine. */
void pv__hasher_add_numbers(pv__hasher *hasher, const void *numbers, size_t size, size_t n);
uint64_t pv__hasher_end(const pv__hasher *hasher); /* the hash of all bytes added so far */

/* Returns the high word of the product; *low is the low word. */
static inline uint64_t pv__multiply(uint64_t a, uint64_t b, uint64_t *low) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide both = (wide)a * b;
    *low = (uint64_t)both;
    return (uint64_t)(both >> 64);
#else
    const uint64_t half = UINT32_MAX;
    uint64_t first = (a & half) * (b & half), second = (a >> 32) * (b & half) + (first >> 32),
             third = (a & half) * (b >> 32) + (second & half);
    *low = a * b;
    return (a >> 32) * (b >> 32) + (second >> 32) + (third >> 32);
#endif
}

#endif

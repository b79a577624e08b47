/* Random streams: Philox 4x32-10 (Salmon et al. 2011; Random123), keyed by seed, with (position, purpose, index) as the
 * counter. A stream's draws depend only on its own key and position, so results do not depend on the number of threads.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "prevail/core.h"

const char *pv_stream_name(pv_stream stream) {
    switch (stream) { /* a switch makes duplicate numbers a compile error */
#define NAME(name, number, index)                                                                                      \
    case PV_STREAM_##name:                                                                                             \
        return #name;
        PV_STREAM_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

pv_rng pv_rng_stream(uint64_t seed, uint32_t purpose, uint64_t index) {
    return (pv_rng){.seed = seed, .purpose = purpose, .index = index};
}

static void philox(uint32_t counter[4], const uint32_t key[2]) {
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter[0], b = (uint64_t)0xCD9E8D57u * counter[2];
        counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ k0;
        counter[1] = (uint32_t)b;
        counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ k1;
        counter[3] = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

uint64_t pv_rng_bits(pv_rng *rng) {
    if (rng->left == 0) {
        uint32_t block[4] = {rng->position++, rng->purpose, (uint32_t)rng->index, (uint32_t)(rng->index >> 32)};
        const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
        philox(block, key);
        rng->word[1] = (uint64_t)block[0] << 32 | block[1];
        rng->word[0] = (uint64_t)block[2] << 32 | block[3];
        rng->left = 2;
    }
    return rng->word[--rng->left];
}

double pv_rng_uniform(pv_rng *rng) {
    double u = ((double)(pv_rng_bits(rng) >> 11) + 0.5) * 0x1p-53;
    return u < 1 ? u : 1 - 0x1p-53; /* the largest value would round up to 1 */
}

/* Box and Muller. The second value of each pair is kept for the next call. */
double pv_rng_normal(pv_rng *rng) {
    if (rng->has_spare) {
        rng->has_spare = false;
        return rng->spare;
    }
    double radius = sqrt(-2 * log(pv_rng_uniform(rng)));
    double angle = 2 * 3.14159265358979323846 * pv_rng_uniform(rng);
    rng->spare = radius * sin(angle);
    rng->has_spare = true;
    return radius * cos(angle);
}

/* Lemire (2019), with rejection. */
size_t pv_rng_below(pv_rng *rng, size_t n) {
    uint64_t range = n, floor = (0 - range) % range;
    for (;;) {
        uint64_t low, high = pv__multiply(pv_rng_bits(rng), range, &low);
        if (low >= floor)
            return (size_t)high;
    }
}

/* Marsaglia and Tsang (2000); shapes below 1 use the power of a uniform. */
double pv_rng_gamma(pv_rng *rng, double shape) {
    if (shape < 1)
        return pv_rng_gamma(rng, shape + 1) * exp(log(pv_rng_uniform(rng)) / shape);
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = pv_rng_normal(rng), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(pv_rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v;
    }
}

void pv_rng_shuffle(pv_rng *rng, size_t n, size_t *items) {
    for (size_t i = n; i > 1; i--) {
        size_t j = pv_rng_below(rng, i), held = items[i - 1];
        items[i - 1] = items[j];
        items[j] = held;
    }
}

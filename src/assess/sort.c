/* A stable radix sort of scores that carry a number each: eleven bits a pass from the lowest on, passes in which
 * all keys agree left out. Each pass counts digits block by block, then moves every block to its places; the order is
 * that of a stable sort for any number of threads.
 */
#include <string.h>

#include "assess/assess.h"
#include "core/vector.h"

enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 6 };

typedef struct items {
    uint64_t *key;
    uint32_t *carried;
} items;

/* Bits whose order as unsigned numbers is that of the doubles; -0 counts as 0. */
static uint64_t to_key(double score) {
    uint64_t bits;
    score += 0.0;
    memcpy(&bits, &score, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double from_key(uint64_t key) {
    double score;
    key = key >> 63 ? key & ~(1ull << 63) : ~key;
    memcpy(&score, &key, sizeof score);
    return score;
}

static size_t digit(uint64_t key, int pass) {
    return (size_t)(key >> (BITS * pass)) & (DIGITS - 1);
}

/* places [blocks][DIGITS]: first counts, then where each block's next item of a digit goes. */
static void run_pass(size_t n, int blocks, int pass, const items *from, const items *to, size_t *places) {
#pragma omp parallel for num_threads(pv_threads_ready(blocks)) schedule(static) if (blocks > 1)
    for (int b = 0; b < blocks; b++) {
        size_t *own = places + (size_t)b * DIGITS, end = (size_t)(b + 1) * n / (size_t)blocks;
        memset(own, 0, DIGITS * sizeof *own);
        for (size_t i = (size_t)b * n / (size_t)blocks; i < end; i++)
            own[digit(from->key[i], pass)]++;
    }
    size_t place = 0;
    for (size_t d = 0; d < DIGITS; d++)
        for (int b = 0; b < blocks; b++) {
            size_t *at = &places[(size_t)b * DIGITS + d], count = *at;
            *at = place;
            place += count;
        }
#pragma omp parallel for num_threads(pv_threads_ready(blocks)) schedule(static) if (blocks > 1)
    for (int b = 0; b < blocks; b++) {
        size_t *own = places + (size_t)b * DIGITS, end = (size_t)(b + 1) * n / (size_t)blocks;
        for (size_t i = (size_t)b * n / (size_t)blocks; i < end; i++) {
            size_t at = own[digit(from->key[i], pass)]++;
            to->key[at] = from->key[i];
            to->carried[at] = from->carried[i];
        }
    }
}

pv_status pv__sort_scores(pv_ctx *ctx, size_t n, double *score, uint32_t *carried) {
    int blocks = pv__team(ctx, pv__chunks(n));
    items one = {0}, other = {0};
    size_t *places = NULL;
    uint64_t differ = 0;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *one.key, &one.key));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *other.key, &other.key));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *other.carried, &other.carried));
    PV_GOTO(done, pv__alloc(ctx, (size_t)blocks * DIGITS, sizeof *places, &places));
    one.carried = carried;
    for (size_t i = 0; i < n; i++) {
        one.key[i] = to_key(score[i]);
        differ |= one.key[i] ^ one.key[0];
    }
    items from = one, to = other;
    for (int pass = 0; pass < PASSES; pass++) {
        if (digit(differ, pass) == 0)
            continue;
        run_pass(n, blocks, pass, &from, &to, places);
        items swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++)
        score[i] = from_key(from.key[i]);
    if (from.carried != carried)
        memcpy(carried, from.carried, n * sizeof *carried);
done:
    pv__free(ctx, one.key);
    pv__free(ctx, other.key);
    pv__free(ctx, other.carried);
    pv__free(ctx, places);
    return status;
}

/* A stable radix sort of scores, each of which carries a number: eleven bits per pass from the lowest on, skipping
 * passes in which all keys agree. Each pass counts digits per block, then moves every block to its places; the result
 * is that of a stable sort for any number of threads.
 *
 * If that would access more rows at random than fit the context's memory, runs of rows that do fit are sorted one by
 * one and merged, both by sequential passes. Equal scores of an earlier run come first, so the order is the same.
 */
#include <string.h>

#include "assess/assess.h"
#include "core/vector.h"

enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 6 };

typedef struct items {
    uint64_t *key;
    uint32_t *carried;
} items;

/* Converts a double to bits whose unsigned order is that of the doubles; -0 counts as 0. */
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

/* places [blocks][DIGITS]: first counts, then the position of each block's next item with a digit. */
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

/* Returns the bits in which keys differ. */
static uint64_t make_keys(size_t n, int blocks, const double *score, uint64_t *key) {
    uint64_t differ = 0, first = to_key(score[0]);
#pragma omp parallel for num_threads(pv_threads_ready(blocks)) schedule(static) reduction(| : differ) if (blocks > 1)
    for (int b = 0; b < blocks; b++) {
        size_t end = (size_t)(b + 1) * n / (size_t)blocks;
        for (size_t i = (size_t)b * n / (size_t)blocks; i < end; i++) {
            key[i] = to_key(score[i]);
            differ |= key[i] ^ first;
        }
    }
    return differ;
}

static pv_status sort_run(pv_ctx *ctx, size_t n, double *score, uint32_t *carried) {
    int blocks = pv__team(ctx, pv__chunks(n));
    items one = {0}, other = {0};
    size_t *places = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *one.key, &one.key));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *other.key, &other.key));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *other.carried, &other.carried));
    PV_GOTO(done, pv__alloc(ctx, (size_t)blocks * DIGITS, sizeof *places, &places));
    one.carried = carried;
    uint64_t differ = make_keys(n, blocks, score, one.key);
    items from = one, to = other;
    for (int pass = 0; pass < PASSES; pass++) {
        if (digit(differ, pass) == 0)
            continue;
        run_pass(n, blocks, pass, &from, &to, places);
        items swap = from;
        from = to;
        to = swap;
    }
    bool moved = from.carried != carried;
    PV__EACH_CHUNK_BY(blocks, pv__chunks(n), c, {
        size_t begin = c * PV_CHUNK, end = begin + pv__chunk_rows(n, c);
        for (size_t i = begin; i < end; i++)
            score[i] = from_key(from.key[i]);
        if (moved)
            memcpy(carried + begin, from.carried + begin, (end - begin) * sizeof *carried);
    });
done:
    pv__free(ctx, one.key);
    pv__free(ctx, other.key);
    pv__free(ctx, other.carried);
    pv__free(ctx, places);
    return status;
}

/* ---- more rows than fit memory ----------------------------------------------------------------------------------- */

/* Merges runs: the next row of each run, and heap [runs], the unfinished runs, with the one whose row comes first on
 * top. */
typedef struct merging {
    const double *score;
    size_t *next, *end; /* [runs] */
    size_t *heap, left;
} merging;

static bool comes_first(const merging *m, size_t a, size_t b) {
    double x = m->score[m->next[a]], y = m->score[m->next[b]];
    return x < y || (x == y && a < b);
}

static void sink(merging *m, size_t at) {
    for (size_t child; (child = 2 * at + 1) < m->left; at = child) {
        if (child + 1 < m->left && comes_first(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!comes_first(m, m->heap[child], m->heap[at]))
            return;
        size_t run = m->heap[at];
        m->heap[at] = m->heap[child];
        m->heap[child] = run;
    }
}

static void merge(const pv_ctx *ctx, merging *m, const uint32_t *carried, double *to, uint32_t *to_carried) {
    enum { LOOK = 1 << 16 };
    for (size_t r = m->left / 2; r-- > 0;)
        sink(m, r);
    for (size_t i = 0; m->left > 0; i++) {
        size_t run = m->heap[0], from = m->next[run]++;
        if (i % LOOK == 0)
            pv__spill_breathe(ctx);
        to[i] = m->score[from];
        to_carried[i] = carried[from];
        if (m->next[run] == m->end[run])
            m->heap[0] = m->heap[--m->left];
        sink(m, 0);
    }
}

static pv_status sort_runs(pv_ctx *ctx, size_t n, size_t rows, double *score, uint32_t *carried) {
    size_t runs = (n + rows - 1) / rows;
    merging m = {.score = score, .left = runs};
    double *to = NULL;
    uint32_t *to_carried = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 3 * runs, sizeof *m.next, &m.next));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *to, &to));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *to_carried, &to_carried));
    m.end = m.next + runs;
    m.heap = m.end + runs;
    for (size_t r = 0; r < runs; r++) {
        m.next[r] = r * rows;
        m.end[r] = n - r * rows < rows ? n : (r + 1) * rows;
        m.heap[r] = r;
        PV_GOTO(done, sort_run(ctx, m.end[r] - m.next[r], score + m.next[r], carried + m.next[r]));
        PV_GOTO(done, pv__go_on(ctx));
    }
    merge(ctx, &m, carried, to, to_carried);
    memcpy(score, to, n * sizeof *score);
    memcpy(carried, to_carried, n * sizeof *carried);
done:
    pv__free(ctx, m.next);
    pv__free(ctx, to);
    pv__free(ctx, to_carried);
    return status;
}

pv_status pv__sort_scores(pv_ctx *ctx, size_t n, double *score, uint32_t *carried) {
    enum { FEWEST = 1 << 16 };
    const size_t row = 2 * (sizeof(uint64_t) + sizeof(uint32_t)); /* memory for sorting in addition to the rows */
    size_t rows = pv__spill_room(ctx) / row;
    rows = rows < FEWEST ? FEWEST : rows;
    return n <= rows ? sort_run(ctx, n, score, carried) : sort_runs(ctx, n, rows, score, carried);
}

/* Keys of rows, which define a random order that depends on the rows alone: not on their order in the table, nor on the
 * order of columns or their units.
 *
 *   key_i = sum_j mix(q(2^20 x_ij) ^ s_j),   s_j = sum_i mix(q(2^10 x_ij)),   mod 2^64
 *
 * q rounds to a whole number, mix is the finaliser of SplitMix64, and s_j distinguishes columns. x is standardised, so
 * that rounding errors of mean and scale, which depend on the order of rows, are far below a step of q. Rows that
 * differ by less than a step count as equal and keep their order in the table, which makes no difference to results.
 */
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"

enum { ROWS = 256 };
static const double CELL_STEPS = 1 << 20, COLUMN_STEPS = 1 << 10;

static uint64_t mix(uint64_t v) {
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
    v = (v ^ v >> 27) * 0x94d049bb133111eb;
    return v ^ v >> 31;
}

/* Adding and subtracting 1.5 * 2^52 rounds to a whole number; beyond 2^51 to a coarser grid, which is good enough. */
static uint64_t rounded(double x) {
    const double large = 6755399441055744.0;
    double whole = (x + large) - large + 0.0; /* -0 becomes 0 */
    uint64_t bits;
    memcpy(&bits, &whole, sizeof bits);
    return bits;
}

/* Adds to each row's key or, if key is NULL, to each column's sum. */
static void add_rows(const pv__key_rows *rows, double *buffer, uint64_t *column, uint64_t *key) {
    size_t d = rows->features;
    for (size_t begin = 0; begin < rows->n; begin += ROWS) {
        size_t n = rows->n - begin < ROWS ? rows->n - begin : ROWS;
        const double *x = rows->x ? rows->x + begin * d : pv_dataset_rows(NULL, rows->data, begin, n, buffer);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++) {
                if (key)
                    key[begin + i] += mix(rounded(CELL_STEPS * x[i * d + j]) ^ column[j]);
                else
                    column[j] += mix(rounded(COLUMN_STEPS * x[i * d + j]));
            }
    }
}

pv_status pv__row_keys(pv_ctx *ctx, const pv__key_rows *rows, uint64_t seed, uint64_t *key) {
    double *buffer = NULL;
    uint64_t *column = NULL;
    pv_status status;
    memset(key, 0, rows->n * sizeof *key);
    if (!rows->x && rows->data->images) { /* rows of images are keyed by their order in the file */
        for (size_t i = 0; i < rows->n; i++)
            key[i] = mix(seed ^ mix(rows->data->table_row ? rows->data->table_row[i] : i));
        return PV_OK;
    }
    PV_GOTO(done, pv__alloc(ctx, ROWS * rows->features, sizeof *buffer, &buffer));
    PV_GOTO(done, pv__alloc(ctx, rows->features, sizeof *column, &column));
    add_rows(rows, buffer, column, NULL);
    add_rows(rows, buffer, column, key);
    for (size_t i = 0; i < rows->n; i++)
        key[i] = mix(key[i] ^ seed);
done:
    pv__free(ctx, column);
    pv__free(ctx, buffer);
    return status;
}

static int by_key(const void *a, const void *b) {
    const pv__keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

void pv__keyed_sort(size_t n, pv__keyed *rows) {
    qsort(rows, n, sizeof *rows, by_key);
}

/* Discretises inputs into at most 256 bins, which limits a tree's candidate splits: with at most that many distinct
 * values each has its own bin, otherwise bins have about equal numbers of people.
 */
#include "model/trees.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cell {
    double value, people;
} cell;

static int by_value(const void *a, const void *b) {
    const cell *p = a, *q = b;
    return (p->value > q->value) - (p->value < q->value);
}

/* A number above `low`, at most `high`, in the middle if possible. */
static double between(double low, double high) {
    double middle = low + (high - low) / 2;
    return middle > low && middle < high ? middle : high;
}

static bool is_present(const pv__tree_bins *bins, const double *x, size_t input) {
    return bins->absent[input] < 0 || !(x[bins->absent[input]] > 0.5);
}

/* Computes the edges of one input from its values in order; returns the number of bins. */
static size_t cut(size_t n, cell *cells, double *edge) {
    size_t distinct = 0, bins = 1;
    double total = 0, below = 0;
    for (size_t i = 0; i < n; i++) { /* merges equal values */
        total += cells[i].people;
        if (distinct > 0 && cells[distinct - 1].value == cells[i].value)
            cells[distinct - 1].people += cells[i].people;
        else
            cells[distinct++] = cells[i];
    }
    edge[0] = -DBL_MAX;
    for (size_t i = 1; i < distinct && bins < PV__TREES_BINS; i++) {
        below += cells[i - 1].people;
        if (distinct <= PV__TREES_BINS || below * PV__TREES_BINS >= total * (double)bins)
            edge[bins++] = between(cells[i - 1].value, cells[i].value);
    }
    edge[bins] = DBL_MAX;
    return bins;
}

pv_status pv__tree_bins_new(pv_ctx *ctx, size_t n, size_t inputs, const double *x, const double *weight,
                            const int32_t *absent, pv__tree_bins **bins) {
    pv__tree_bins *made;
    cell *cells = NULL;
    pv_status status;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->inputs = inputs;
    made->absent = absent;
    PV_GOTO(done, pv__alloc(ctx, inputs, sizeof *made->count, &made->count));
    PV_GOTO(done, pv__alloc(ctx, inputs, (PV__TREES_BINS + 1) * sizeof *made->edge, &made->edge));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *cells, &cells));
    for (size_t j = 0; j < inputs; j++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (is_present(made, x + i * inputs, j))
                cells[m++] = (cell){x[i * inputs + j], weight ? weight[i] : 1};
        qsort(cells, m, sizeof *cells, by_value);
        made->count[j] = cut(m, cells, made->edge + j * (PV__TREES_BINS + 1));
    }
done:
    pv__free(ctx, cells);
    if (status != PV_OK)
        pv__tree_bins_free(ctx, made);
    else
        *bins = made;
    return status;
}

void pv__tree_bins_free(pv_ctx *ctx, pv__tree_bins *bins) {
    if (!bins)
        return;
    pv__free(ctx, bins->count);
    pv__free(ctx, bins->edge);
    pv__free(ctx, bins);
}

static size_t bin_of(const double *edge, size_t count, double value) {
    size_t low = 0, high = count; /* edge[low] <= value < edge[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (value < edge[middle])
            high = middle;
        else
            low = middle;
    }
    return low;
}

void pv__tree_bins_code(const pv__tree_bins *bins, size_t n, const size_t *row, const double *x, float *code) {
    size_t d = bins->inputs;
    for (size_t i = 0; i < n; i++) {
        const double *own = x + (row ? row[i] : i) * d;
        for (size_t j = 0; j < d; j++)
            code[i * d + j] = is_present(bins, own, j)
                                  ? (float)bin_of(bins->edge + j * (PV__TREES_BINS + 1), bins->count[j], own[j])
                                  : (float)NAN;
    }
}
